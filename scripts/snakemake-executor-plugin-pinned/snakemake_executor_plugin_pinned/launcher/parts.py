"""Commands as parts of the job that calls this: each on one CPU, measured, and with a record of its own.

    eval "$PINNED_LAUNCH spare"         print how many parts could run at once; 0: not known, for CPUs are not allocated
    eval "$PINNED_LAUNCH parts FILE"    run them; end with the exit code of the first that fails

FILE is JSON: {"parts": [PART, ...], "log": "where to say which part failed, if not stderr"}. Of each part:

    name        in the record's field `shard`: "3/8"
    commands    lists of words, run one after the other; where they name the job's TMPDIR, a part finds its own
    log         where its output goes
    output      optional: the file that it makes, which must be whole then, and is on the disk before `done` is made
    done        optional: an empty file that says so; such a part is not run again while its output is there
    title       optional: what people call it: "shard 3"

Parts run on the job's own CPUs first, further ones on others while these are spare; each is granted the memory of the
job. One always runs. Without allocations as many run at once as the job has threads. When one fails no further one is
started, and those that run come to their end. A second list of the same job waits until the first is through.
"""

import fcntl
import json
import marshal
import os
import resource
import signal
import sys
from shlex import quote

from .free_cpus import SpareCpus, settled_spare
from .journal import Journal, recover
from .ledger import beside, recorded
from .options import parse
from .own_parts import GATHER
from .processes import has_children, reap, reaped_io
from .requester import ENDINGS, Requester, Starter
from .runtime import FULL, runtime_dir
from .supervisor import Ending
from .system import PDEATHSIG, SUBREAPER, LauncherError, open_plain, prctl, say
from .topology import parse_cpus
from .wrapper import LOOK_S, as_owner, begun

OF_RECORD = ("step", "rule", "wildcards", "attempt", "threads", "mem_mb", "binding", "boundary", "memory", "smt", "run")
OF_JOB = ("GPD_JOB", "GPD_CPUS", "GPD_THREADS", "GPD_MEM_MB", "PINNED_LAUNCH")  # in its environment; a part has its own
WAKING = ENDINGS | {signal.SIGCHLD, signal.SIGIO}


def show_spare():
    """Print how many parts the job that calls this could run at once; return the exit code."""
    job = JobAround(runtime_dir())
    found = 0
    if job.settings.binding != "none":
        recover(job.runtime)  # what a killed launcher left is no job that waits for CPUs
        found = 1 + settled_spare(job.runtime, job.settings, held=len(job.cpus) - 1)
    print(found)
    return 0


def run_parts(path):
    """Run the parts that a file lists; return the exit code."""
    parts, log = read_parts(path)
    return Parts(JobAround(runtime_dir()), parts, log).run()


def read_parts(path):
    """Return the parts that a file lists, and the log that is told of those that fail."""
    try:
        with open(path, encoding="utf-8") as file:
            listed = json.load(file)
        parts = [{"output": "", "done": "", "title": f"part {part['name']}", **part} for part in listed["parts"]]
        [(part["log"], [word + "" for words in part["commands"] for word in words]) for part in parts]
        return parts, listed.get("log")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LauncherError(f"{path}: no list of parts ({type(error).__name__}: {error}); see parts.py") from error


class JobAround:
    """The job that this process is part of, by its journal: what its parts have of it."""

    def __init__(self, runtime):
        job_id = os.environ.get("GPD_JOB")
        try:
            self.journal = Journal.of(runtime, job_id or "")
        except OSError as error:
            why = f"GPD_JOB={job_id or ''} is no job of the launcher that is at work here"
            raise LauncherError(f"{why}: call it as $PINNED_LAUNCH in the command of one") from error
        self.runtime, self.notes = runtime, self.journal.notes()
        self.record, given = self.notes["record"], self.notes["for_parts"]
        self.settings, _ = parse([])
        known = {name: self.record[name] for name in OF_RECORD if self.record[name] is not None}
        # what is not set for the job may be so in its environment
        vars(self.settings).update(known | {name: value for name, value in given.items() if value})
        self.settings.ledger, self.settings.allowed = self.notes["ledger"], parse_cpus(given["allowed"])
        self.cpus = sorted(parse_cpus(self.record["cpus"] or ""))
        self.gang = self.record["gang"] or self.record["id"]

    def wait_for_turn(self):
        """Wait until no other process runs parts of the job: its CPUs are for one list of them."""
        self.turn = os.open(f"{self.notes['folder']}/parts", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self.turn, fcntl.LOCK_EX)

    def begin_parts(self):
        """Note that it has parts; should all of its launchers be killed, its record tells so, too."""
        self.journal.say(f"parts {os.getpid()}")
        record = {**self.record, "shard": self.record["shard"] or GATHER, "gang": self.gang}
        self.journal.write(record, *(self.notes[name] for name in ("ledger", "folder", "awaits", "for_parts")))

    def environment(self):
        """Return the environment of a part's launcher: the job's, without what is the job's own."""
        folder = os.path.dirname(self.notes["folder"])
        own = {name: value for name, value in os.environ.items() if name not in OF_JOB}
        return own | dict.fromkeys(("TMPDIR", "TMP", "TEMP", "TEMPDIR"), folder)


class Part:
    """A part of a job: what is to be run, and on which of the job's CPUs, if on one of these."""

    def __init__(self, listed, cpu=None):
        self.listed, self.cpu, self.id = listed, cpu, os.urandom(8).hex()

    def described(self, job):
        """Return what its launcher is told: its settings, its command, and on which CPUs it may look for one."""
        settings = vars(job.settings) | {"threads": 1, "id": self.id, "asked_by": os.getpid(), "retries": "all"}
        settings |= {"shard": self.listed["name"], "log": self.listed["log"], "inputs": []}
        settings["outputs"] = [self.listed["output"]] if self.listed["output"] else []
        if self.cpu is not None:
            settings |= {"cpus": str(self.cpu), "gang": job.gang}
        return settings, self.command()

    def command(self):
        """Return its commands as bash has them."""
        folder, commands = os.environ.get("TMPDIR"), self.listed["commands"]
        return "".join(" ".join(in_own_folder(word, folder) for word in words) + "\n" for words in commands)

    def is_done(self):
        """Tell whether an earlier attempt has made it, and it is there."""
        done, output = self.listed["done"], self.listed["output"]
        return bool(done) and os.path.exists(done) and (not output or os.path.exists(output))

    def set_done(self):
        """Note that it is made, once that is on the disk: a power cut must not leave the note alone."""
        if self.listed["done"]:
            if self.listed["output"]:
                with open(self.listed["output"], "rb") as file:
                    os.fsync(file.fileno())
            os.close(open_plain(self.listed["done"], os.O_WRONLY | os.O_CREAT))


def in_own_folder(word, folder):
    """Quote a word for bash, with a part's own folder in the place of the job's."""
    if not folder or folder not in word:
        return quote(word)
    return '"$TMPDIR"'.join(quote(text) if text else "" for text in word.split(folder))


def run_part():
    """Be the launcher of a part, which stdin describes; return its exit code."""
    described, command = marshal.load(sys.stdin.buffer)
    settings, _ = parse([])
    vars(settings).update(described)
    if not settings.cpus:
        os.sched_setaffinity(0, settings.allowed)  # we were started on the CPUs of the job around
    return as_owner(begun(settings, command, Starter(settings.asked_by)))


class Parts:
    """Runs parts: one at least, more while there are CPUs."""

    def __init__(self, job, listed, log):
        self.job, self.log = job, log
        self.waiting = [each for each in listed if not Part(each).is_done()]
        self.is_bound = job.settings.binding != "none"
        self.idle, self.unused = job.cpus[:1], job.cpus[1:]  # of the job's CPUs; for the latter there may be no memory
        self.running, self.code, self.signum, self.error = {}, 0, None, None
        self.here_s, self.requester = 0.0, Requester()
        self.spare = SpareCpus(job.runtime, job.settings, len(self.waiting))

    def run(self):
        """Run them; return the exit code."""
        self.job.wait_for_turn()
        signal.pthread_sigmask(signal.SIG_BLOCK, WAKING)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would make children vanish unmeasured
        prctl(PDEATHSIG, signal.SIGTERM)
        prctl(SUBREAPER, 1)  # what a killed launcher of a part leaves is not the job's
        self.job.begin_parts()
        while self.running or self.waiting:
            if self.code or self.signum:
                self.waiting = []  # those that run come to their end: what they make is kept
            self.start_some()
            if not self.waiting:
                self.spare.rest()
            self.attend(min(LOOK_S, self.spare.next_s()) if self.waiting and self.is_bound else LOOK_S)
        self.spare.leave()
        self.end_leftovers()
        if self.error:
            say(f"launcher: {self.error}")
        return 128 + self.signum if self.signum else self.code

    def start_some(self):
        """Start as many of those that wait as there is room for."""
        for _ in range(self.room() if self.waiting else 0):
            if not self.waiting:
                return
            try:
                self.start(self.waiting.pop(0))
            except (LauncherError, OSError) as error:
                self.fail(error)
                return

    def room(self):
        """Return how many more may run: without allocations as many as the job has threads."""
        if not self.is_bound:
            return max(0, self.job.settings.threads - len(self.running))
        return len(self.idle) + self.spare.room(held=len(self.unused))

    def start(self, listed):
        """Start the launcher of a part, on an idle CPU of the job's if there is one."""
        idle = self.idle or self.unused
        part = Part(listed, idle.pop(0) if idle and self.is_bound else None)
        path = f"{self.job.notes['folder']}/part-{part.id}"
        with open(path, "wb", opener=open_plain) as file:
            marshal.dump(part.described(self.job), file)
        words = [sys.executable, "-S", "-E", sys.argv[0], "part"]
        stdin = [(os.POSIX_SPAWN_OPEN, 0, path, os.O_RDONLY, 0)]
        pid = os.posix_spawn(words[0], words, self.job.environment(), file_actions=stdin, setsigmask=())
        self.job.journal.say(f"part {pid}")
        self.running[pid] = part
        os.unlink(path)

    def attend(self, seconds):
        """Wait for the end of a part, for a signal, or so long; pass signals on, and note parts that have ended."""
        caught = signal.sigtimedwait(WAKING, seconds)
        if caught and caught.si_signo == signal.SIGIO:
            self.spare.released()
        ending = caught and caught.si_signo in ENDINGS
        if ending or self.requester.gone():
            self.signum = self.signum or (caught.si_signo if ending else signal.SIGTERM)
            for pid in self.running:
                os.kill(pid, signal.SIGTERM)
        self.reap()

    def reap(self):
        """Note the parts that have ended, and what all that have ended used: it is not the job's."""
        for pid, status, usage in reap():
            part = self.running.pop(pid, None)
            if part and part.cpu is not None:
                self.here_s += usage.ru_utime + usage.ru_stime
            self.note_used()
            self.job.journal.say(f"over {pid}")
            if part:
                self.note_end(part, os.waitstatus_to_exitcode(status))

    def note_used(self):
        """Note what the parts used so far, for their job's launcher: this process may be killed."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        numbers = (used.ru_utime, used.ru_stime, self.here_s, used.ru_maxrss, *reaped_io())
        self.job.journal.say(f"used {os.getpid()} {' '.join(map(str, numbers))}")

    def note_end(self, part, code):
        """Note what became of a part."""
        if part.cpu is None:
            self.spare.ended += 1
        else:
            self.idle.append(part.cpu)
        if code and not self.signum:
            self.note_failure(part, 128 - code if code < 0 else code)
        elif not code:
            try:
                part.set_done()
            except (LauncherError, OSError) as error:
                self.fail(error)

    def note_failure(self, part, code):
        """Say that a part failed; what the first of them failed of is what the job fails of."""
        title, log = part.listed["title"], part.listed["log"]
        self.tell(f"{title} failed with exit code {code}: see {log}")
        cause, message = self.why(part.id)
        self.end_with(code, cause, f"{title}: {message}")

    def end_with(self, code, cause, message):
        """Note what the job is to end with, once: what comes later may follow from the first failure."""
        if not self.code:
            self.job.journal.say(f"failed {(cause, message)!r}")
        self.code = self.code or code

    def why(self, part_id):
        """Return (cause, message) as a part's record has them."""
        found = filter(None, (recorded(path, part_id) for path in beside(self.job.settings.ledger)))
        record = next(found, {"cause": None})
        return (record["cause"], record["message"]) if record["cause"] else ("killed", "its launcher was killed")

    def tell(self, line):
        """Add a line to the log; where stderr goes there, too, by that: what comes after must not overwrite it."""
        if not self.log or (os.path.exists(self.log) and os.path.samestat(os.stat(self.log), os.fstat(2))):
            say(line)
            return
        os.makedirs(os.path.dirname(self.log) or ".", exist_ok=True)
        fd = open_plain(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        say(line, fd)
        os.close(fd)

    def fail(self, error):
        """Note why no more parts are started; it is told once those that run have come to their end."""
        self.error = self.error or error
        full = getattr(error, "errno", None) in FULL
        self.end_with(1, "disk_full" if full else "launcher_error", str(error))

    def end_leftovers(self):
        """End what launchers of parts have left that were killed; each that is left itself ends first, and records."""
        ending = Ending()
        while has_children():
            ending.begin(None)
            signal.sigtimedwait({signal.SIGCHLD}, min(0.1, ending.next_s()))
            self.reap()
            ending.press()
