"""Who works at a job's outputs: one launcher at a time, on whatever node.

Locks of the kernel end at the node, and not every shared file system has others. So the launcher that works at a job
has a file beside the job's log, LOG.owner, which says who it is. It is made with O_EXCL, touched again and again (the
heartbeat) and removed once the job is recorded. Another launcher that finds it waits, and says for whom; then it takes
what was made meanwhile, where that is whole and was made of the same inputs by the same command, or does the job.

Whether an owner lives, its process tells on the same boot of the same host, elsewhere the heartbeat. That is held
against no clock: what counts is how often one looked and it had not moved. A silent owner whose Slurm job is at work is
waited for all the same (it may be suspended); one whose Slurm job is over is given less time than where nobody knows.

In a Slurm job that failed the file stays, marked: the next try under the same id, wherever Slurm starts it again, finds
the number of its attempt there.
"""

import errno
import os
import signal
import time
from collections import namedtuple

from launcher.files import is_whole
from launcher.journal import is_held, recover, survivors
from launcher.ledger import append, recorded
from launcher.node import slurm_job_id
from launcher.processes import stat_fields
from launcher.requester import end_if_gone
from launcher.system import boot_id, digest, say, unlink

LOOKS_A_BEAT = 5
SILENT, DEAD = 2 * LOOKS_A_BEAT, 6 * LOOKS_A_BEAT  # looks at a heartbeat that does not move
NEAR_S = 0.2  # between looks at an owner on this host
UNKNOWN_BEAT_S, SLOWEST_BEAT_S = 10.0, 3600.0  # of an owner whose file does not say; the most that is believed
TOLD = {"record": dict, "started": str, "work": str, "ledger": str, "beat_s": (int, float)}
TOLD_OF_JOB = dict.fromkeys(("id", "rule", "host", "node"), str) | dict.fromkeys(("attempt", "pid"), int)
TOLD_OF_JOB["slurm_job_id"] = (str, type(None))
ENDED = "ended"
AT_WORK = ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "CONFIGURING", "SIGNALING", "STAGE_OUT", "RESIZING")
Found = namedtuple("Found", "text beat")
Found.__doc__ = "What an owner's file holds, and when it was last touched, by whatever clock."


class Owner:
    """This launcher as the owner of its job's outputs."""

    def __init__(self, attempt):
        self.attempt, self.settings, self.record = attempt, attempt.settings, attempt.record
        self.path = f"{os.path.abspath(self.record['log'])}.owner"
        self.work = work_of(attempt.command, self.settings.inputs)
        self.fd, self.text, self.turns = None, "", 0

    def claim(self):
        """Wait until nobody else works at the outputs, and own them; return the id of whose record tells that they are
        made, None where they are ours to make.

        Raises Ended and OSError.
        """
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        watch = None
        while not self.create():
            found = look(self.path)
            if found and (watch is None or watch.says != first_line(found.text)):
                watch = Watch(found)
                self.count(watch.owner)
            if found and watch.is_over(found):
                if self.succeed(found):
                    break
            elif found:
                watch.tell(self.attempt.name)
            end_if_gone(self.attempt.requester)
            time.sleep(watch.pause_s if watch else NEAR_S)
        return watch and self.made_by(watch)

    def count(self, owner):
        """Number our attempt: Slurm starts a job again under its id, and Snakemake knows nothing of it."""
        if owner and owner["record"]["slurm_job_id"] and owner["record"]["slurm_job_id"] == slurm_job_id():
            self.settings.attempt = max(self.settings.attempt, owner["record"]["attempt"] + 1)
            self.record["attempt"] = self.settings.attempt

    def made_by(self, watch):
        """Return the id of who was the owner before us, where we can take what it made."""
        owner = watch.owner
        record = recorded(owner["ledger"], owner["record"]["id"]) if owner else None
        ended_well = record is not None and record["exit_code"] == 0
        if ended_well and owner["work"] == self.work and is_whole(self.settings.outputs):
            return record["id"]
        if watch.lost and not record:
            recover(self.attempt.runtime)  # which knows more of it, where its journal is there
            self.record_lost(owner)
        if watch.told:
            time.sleep(self.settings.beat_s)  # the Snakemake behind it removes what a failed job leaves
        return None

    def record_lost(self, owner):
        """Record the attempt of an owner whose node may not come back to do it, or whose journal went with its /tmp."""
        lost = {"cause": "killed", "message": f"its launcher on {owner['record']['node']} is gone; when is not known"}
        try:
            append(self.settings.ledger, owner["record"] | lost, once=True)
        except OSError as error:
            say(f"{self.settings.ledger}: the record of a lost job could not be written: {error.strerror}")

    def describe(self):
        """Return the text of our file: what others may want to know of us; repr, for json would have to be loaded."""
        told = {"record": self.record, "started": start_of("self"), "place": place(), "work": self.work}
        return repr(told | {"ledger": self.settings.ledger, "beat_s": self.settings.beat_s}) + "\n"

    def create(self):
        """Make our file; tell whether there was none."""
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return False
        self.text = self.describe()
        try:
            os.write(fd, self.text.encode())
        except OSError as error:  # a full disk must not stop a job that does not need that disk
            say(f"launcher: {self.path}: {error.strerror}; other nodes do not see that this job is at work")
            unlink(self.path)
            self.text = ""
            return True
        finally:
            os.close(fd)  # only then other nodes see what it holds
        self.beat()
        return True

    def succeed(self, gone):
        """Put our file in the place of one whose owner is gone; tell whether it was still there, and nobody else did.

        Who holds the turn alone replaces the file, and looks first whether it is still the one that was judged.
        """
        turn, own = f"{self.path}.next", f"{self.path}.{self.record['id']}"
        try:
            os.close(os.open(turn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            self.turns += 1
            if self.turns > DEAD:  # held for the time of three calls, unless its launcher was killed between them
                unlink(turn)
            return False
        try:
            if look(self.path) != gone:
                return False
            self.text = self.describe()
            with open(own, "w") as file:
                file.write(self.text)
            os.rename(own, self.path)
        finally:
            unlink(own)  # there only if the disk is full
            unlink(turn)
        self.beat()
        return True

    def beat(self):
        """Touch our file from now on, again and again; the keeper begins anew, for a fork has no timers."""
        if not self.text:
            return
        self.fd = os.open(self.path, os.O_RDONLY) if self.fd is None else self.fd
        signal.signal(signal.SIGALRM, self.touch)
        signal.setitimer(signal.ITIMER_REAL, self.settings.beat_s, self.settings.beat_s)

    def touch(self, *_):
        """Touch our file, whatever its name is now; it has gone where another launcher took us for dead."""
        try:
            os.utime(self.fd)
        except OSError as error:
            say(f"launcher: {self.path}: {error.strerror}; other nodes do not see that this job is at work")

    def release(self, code):
        """Give up the outputs, once the job is recorded. In a Slurm job that failed the next try finds our number."""
        if self.fd is None:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(self.fd)
        found = look(self.path)
        if found is None or found.text != self.text:
            return  # another launcher took us for dead
        if not code or not self.record["slurm_job_id"]:
            unlink(self.path)
            return
        with open(self.path, "a") as file:
            file.write(f"{ENDED}\n")


class Watch:
    """What is known of an owner that stands in the way."""

    def __init__(self, found):
        self.says = first_line(found.text)
        self.owner = read_owner(self.says)
        self.near = self.owner.get("place") is not None and self.owner["place"] == place()
        self.pause_s = NEAR_S if self.near else self.owner.get("beat_s", UNKNOWN_BEAT_S) / LOOKS_A_BEAT
        self.beat, self.silent, self.state, self.told = found.beat, 0, None, None
        self.lost = False  # without a word

    def is_over(self, found):
        """Tell, by what was just found, whether the owner is gone or has ended."""
        if ENDED in found.text.split("\n"):
            return True
        if self.near:
            self.lost = not lives(self.owner)
            return self.lost
        self.silent = self.silent + 1 if found.beat == self.beat else 0
        self.beat = found.beat
        if self.silent and self.silent % SILENT == 0:
            self.state = slurm_state(self.owner and self.owner["record"]["slurm_job_id"])
        if self.silent < SILENT or self.state in AT_WORK:
            return False
        over = self.silent >= DEAD or self.state is not None
        self.lost = over and bool(self.owner)
        return over

    def tell(self, name):
        """Say for whom the job `name` waits, where that is news."""
        words = self.in_words()
        if words != self.told:
            say(f"{name}: {words}")
            self.told = words

    def in_words(self):
        """Say who works at the outputs, and how it is ended."""
        if not self.owner:
            return "waits for another launcher at the same outputs, which does not say who it is"
        owner = self.owner["record"]
        slurm_job = owner["slurm_job_id"]
        who = f"PID {owner['pid']} on {owner['node']}"
        if owner["node"] != owner["host"]:
            who += f" (host {owner['host']})"
        if slurm_job:
            who += f", Slurm job {slurm_job}"
            if self.silent >= SILENT and self.state in AT_WORK:
                who += f", {self.state} but silent"
        if slurm_job and slurm_job != slurm_job_id():
            how = f"scancel {slurm_job}"
        else:
            how = f"kill {owner['pid']}" + ("" if self.near else f" on {owner['host']}")
        return f"waits for another run's {owner['rule']}, which makes the same outputs: {who}; `{how}` ends it"


def look(path):
    """Return what there is of a file now, None where there is none.

    It is opened anew each time: for an open file, or its name, a network file system may not ask its server.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return Found(os.read(fd, 65536).decode(errors="replace"), os.fstat(fd).st_mtime_ns)
    except OSError as error:
        if error.errno == errno.ESTALE:
            return None
        raise
    finally:
        os.close(fd)


def first_line(text):
    """Return the line of an owner's file that says who it is; the file may just be written."""
    return text.partition("\n")[0]


def read_owner(line):
    """Return what an owner says of itself, {} where it is not whole or none: anybody may write there."""
    from ast import literal_eval

    try:
        told = literal_eval(line)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    known = has(told, TOLD) and has(told["record"], TOLD_OF_JOB) and 0 < told["beat_s"] <= SLOWEST_BEAT_S
    return told if known else {}


def has(told, types):
    """Tell whether something is a dictionary with values of these types."""
    return isinstance(told, dict) and all(name in told and isinstance(told[name], types[name]) for name in types)


def place():
    """Return what processes have in common that can look for each other by their ids, None where nothing tells."""
    boot = boot_id()
    return f"{boot} {os.uname().nodename} {os.readlink('/proc/self/ns/pid')} {os.geteuid()}" if boot else None


def start_of(pid):
    """Return when a process started, in clock ticks since the boot, as text; "" where it is gone."""
    fields = stat_fields(pid)
    return fields[19] if fields and fields[0] not in "ZX" else ""


def lives(owner):
    """Tell whether anything is left of an owner in this place: itself, its keeper, or processes of its job."""
    record = owner["record"]
    return start_of(record["pid"]) == owner["started"] or bool(survivors(record["id"])) or is_held(record["id"])


def slurm_state(job_id):
    """Return the state of a Slurm job, "" where it is over, None where nobody knows.

    Of our own we know that Slurm has ended what ran under its id before.
    """
    if not job_id:
        return None
    if job_id == slurm_job_id():
        return ""
    import subprocess

    try:
        asked = ["squeue", "--noheader", f"--jobs={job_id}", "--format=%T"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode and "Invalid job id" not in answer.stderr:
        return None
    states = answer.stdout.split()
    return next((state for state in states if state in AT_WORK), "")


def work_of(command, inputs):
    """Return a short name for what is done: the command, and the files that it starts from as they are."""
    return digest(repr((command, [stamp(path.removeprefix("@")) for path in inputs])))


def stamp(path):
    """Return by what a file is known to be the same."""
    try:
        stat = os.stat(path)
    except OSError:
        return path
    return path, stat.st_size, stat.st_mtime_ns
