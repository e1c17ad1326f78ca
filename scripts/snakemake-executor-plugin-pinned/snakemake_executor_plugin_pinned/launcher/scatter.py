"""Scatter a step over intervals of the genome where that serves, and gather its shards; else run it whole.

The command on stdin has three parts, with the lines GATHER and FINISH between them: what is run for the whole or for a
shard, what makes the step's outputs of the shards, and what comes last in either case. The first finds what it works on
in bash variables: `shard` (the file to write), `regions` (GATK's -L arguments) and `number` (1 for the whole). The
second finds `list`, a file that names the shards' files, in their order.

With --scatter auto, as many shards as there are CPUs to spare when the step starts, but none smaller than --shard-mib
of input, for each pays for the start of its tool. A step of LARGEST times that size is scattered whatever is spare, so
that CPUs which come free before its end can help: its shards run one after another until then. Not so with --copied:
such a step writes as much as it reads, and gathering copies that, which costs more than such CPUs bring.

Each shard is a job like any other, with CPUs, a measurement and a record of its own. One always runs, others while CPUs
are spare. Shards that are done stay until all are: the next attempt makes those that are missing.
"""

import os
import shutil
import signal
import sys
from shlex import quote

from .free_cpus import SpareCpus, settled_spare
from .journal import recover
from .requester import ENDINGS
from .shards import padded, read_lines, spans, split, split_anywhere
from .system import MIB, LauncherError, open_plain
from .wrapper import LOOK_S, as_owner, begun, run_attempt

GATHER, FINISH = "\nGATHER\n", "\nFINISH\n"
LARGEST = 2048  # times --shard-mib: some hours of HaplotypeCaller, and the starts of the tool a 500th of them
WAKING = ENDINGS | {signal.SIGCHLD, signal.SIGIO}


def scatter(settings):
    """Run a step, whole or scattered, its commands on stdin; return the exit code."""
    return as_owner(begun(settings), run_step)


def run_step(attempt):
    """Run a step as the owner of its outputs. What makes them, the whole or what gathers, is the attempt at it."""
    attempt.journal.drop()  # it asks for no CPUs itself
    settings = attempt.settings
    settings.id = attempt.record["id"]
    command, gather = attempt.command.split(GATHER)
    gather, finish = gather.split(FINISH)
    folder = Folder(settings, command)
    count = folder.left() or folder.lay_out(how_many(settings, attempt.runtime))
    if count > 1:
        return Scattered(attempt, folder, count).run(command, f"{gather}\n{finish}")
    folder.remove()
    arguments = f"-L {quote(settings.intervals)}" if settings.intervals else ""
    whole = f"shard={quote(settings.whole)} regions=({arguments}) number=1\n"
    return run_attempt(attempt.go_on(f"{whole}{command}\n{finish}"))


def how_many(settings, runtime):
    """Return how many shards a step should have."""
    if settings.scatter != "auto":
        return 1 if settings.scatter == "none" else int(settings.scatter)
    if settings.binding == "none" or not settings.shard_mib:
        return 1  # nobody knows which CPUs are spare
    size_mib = os.path.getsize(settings.over) / MIB
    most, least = size_mib // settings.shard_mib, size_mib // (settings.shard_mib * LARGEST) + 1
    if most < 2:
        return 1
    recover(runtime)  # what a killed launcher left is no job that waits for CPUs
    spare = max(1, settled_spare(runtime, settings))
    # in whole rounds: 10 shards on 8 CPUs would leave 6 of these idle for half of the time
    return int(min(most, spare if settings.copied else -(-least // spare) * spare))


class Folder:
    """The folder beside a step's first output that holds its shards until they are gathered.

    For each shard: N.bed (its own lines), N.regions.bed (what it is called in, wider where it borders within an
    interval), the file that it makes, and N.done once that is whole.
    """

    def __init__(self, settings, command):
        self.settings, self.command = settings, command
        self.anywhere = settings.clip and settings.scatter_cuts == "anywhere"
        self.path = f"{settings.outputs[0]}.shards"
        self.key_path, self.list_path = f"{self.path}/key", f"{self.path}/shards.list"

    def file(self, number, suffix=None):
        """Return the path of a shard's file, of what it makes without a suffix."""
        return f"{self.path}/{number}{suffix or self.settings.suffix}"

    def key(self):
        """Return what shards depend on: the command, and the inputs as they are."""
        paths = [path.removeprefix("@") for path in (*self.settings.inputs, self.settings.over)]
        files = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths]
        return repr((self.command, self.settings.scatter_cuts, files))

    def left(self):
        """Return how many shards an earlier attempt at the same work has laid out."""
        try:
            with open(self.key_path) as key, open(self.list_path) as listed:
                return len(list(listed)) if key.read() == self.key() else 0
        except FileNotFoundError:
            return 0

    def lay_out(self, count):
        """Make the folder anew, with up to so many shards; return how many. Of one shard there is none."""
        lines = read_lines(self.settings.n_free) if count > 1 else []
        shards = (split_anywhere if self.anywhere else split)(lines, count) if lines else []
        if len(shards) < 2:
            return 0
        self.remove()
        os.makedirs(self.path)
        for number, shard in enumerate(shards, 1):
            write_lines(self.file(number, ".bed"), shard)
            regions = spans(padded(shard, lines) if self.anywhere else shard)
            write_lines(self.file(number, ".regions.bed"), regions)
        write_lines(self.list_path, [[self.file(number)] for number in range(1, len(shards) + 1)])
        with open(self.key_path, "w", opener=open_plain) as file:  # last: without it the folder counts for nothing
            file.write(self.key())
        return len(shards)

    def is_done(self, number):
        """Tell whether a shard was made, and is there: gathering may have moved it before it was killed."""
        return os.path.exists(self.file(number, ".done")) and os.path.exists(self.file(number))

    def set_done(self, number):
        """Note that a shard was made, once it is on the disk: a power cut must not leave the note alone."""
        with open(self.file(number), "rb") as file:
            os.fsync(file.fileno())
        write_lines(self.file(number, ".done"), [])

    def remove(self):
        """Remove the folder and all shards in it."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_lines(path, lines):
    """Write lines of columns."""
    with open(path, "w", opener=open_plain) as file:
        file.writelines("\t".join(map(str, line)) + "\n" for line in lines)


class Scattered:
    """Runs the shards as jobs of their own: one at least, more while CPUs are spare."""

    def __init__(self, attempt, folder, count):
        self.settings, self.folder, self.count = attempt.settings, folder, count
        self.requester = attempt.requester
        self.running, self.code, self.signum, self.error = {}, 0, None, None
        self.spare = SpareCpus(attempt.runtime, self.settings, count)

    def run(self, command, gather):
        """Make what is missing, then gather; return the exit code."""
        signal.pthread_sigmask(signal.SIG_BLOCK, WAKING)
        waiting = [number for number in range(1, self.count + 1) if not self.folder.is_done(number)]
        while self.running or waiting:
            if self.code or self.signum:
                waiting = []  # those that run come to their end: what they make is kept
            room = self.room() if waiting else 0
            for number in waiting[:room]:
                try:
                    self.start_shard(number, command)
                except (LauncherError, OSError) as error:
                    self.fail(error)
                    break
            waiting = waiting[room:]
            if not waiting:
                self.spare.rest()
            self.attend(min(LOOK_S, self.spare.next_s()) if waiting and self.settings.binding != "none" else LOOK_S)
        self.spare.leave()
        if self.error:
            raise self.error
        if not self.code and not self.signum:
            self.start_gathering(gather)
            while self.running:
                self.attend(LOOK_S)
        if not self.code and not self.signum:
            self.folder.remove()
        return 128 + self.signum if self.signum else self.code

    def room(self):
        """Return how many more shards may run: one always, and without allocations as many as the step has threads."""
        if self.settings.binding == "none":
            return max(0, self.settings.threads - len(self.running))
        return max(self.spare.room(), 0 if self.running else 1)

    def attend(self, seconds):
        """Wait for the end of a job, for a signal, or so long; pass signals on, and look who has ended."""
        caught = signal.sigtimedwait(WAKING, seconds)
        if caught and caught.si_signo == signal.SIGIO:
            self.spare.released()
        ending = caught and caught.si_signo in ENDINGS
        if ending or self.requester.gone():
            self.signum = self.signum or (caught.si_signo if ending else signal.SIGTERM)
            for pid in self.running:
                os.kill(pid, signal.SIGTERM)
        for pid in list(self.running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self.note_end(self.running.pop(pid), os.waitstatus_to_exitcode(status))

    def note_end(self, number, code):
        """Note what became of a shard, or of the gathering (None), which has the step's own log."""
        if code:
            self.code = self.code or (128 - code if code < 0 else code)
        if code and number:
            os.makedirs(os.path.dirname(self.settings.log) or ".", exist_ok=True)
            with open(self.settings.log, "w", opener=open_plain) as log:
                log.write(f"shard {number} failed with exit code {code}: see {self.log_of(number)}\n")
        elif number:
            try:
                self.folder.set_done(number)
            except (LauncherError, OSError) as error:
                self.fail(error)
            self.spare.ended += 1

    def fail(self, error):
        """Note why no more shards are started; it is told once those that run have come to their end."""
        self.error, self.code = self.error or error, self.code or 1

    def log_of(self, number):
        """Return the path of a shard's log."""
        return f"{self.settings.log.removesuffix('.log')}.shards/{number}.log"

    def start_shard(self, number, command):
        """Start the job that makes a shard."""
        settings, made = self.settings, self.folder.file(number)
        regions = ["-L", self.folder.file(number, ".regions.bed")]
        if settings.unmapped and number == self.count:
            regions += ["-L", "unmapped"]
        variables = f"shard={quote(made)} regions=({' '.join(map(quote, regions))}) number={number}\n"
        if self.folder.anywhere:
            own = self.folder.file(number, ".bed")
            command += f'\n"$GPD_PYTHON" -S -E "$GPD_CLIP" {quote(own)} {quote(settings.clip)} "$shard"'
        options = "--shard", f"{number}/{self.count}", "--log", self.log_of(number), "--outputs", made
        self.start(number, variables + command, *options)

    def start_gathering(self, gather):
        """Start the job that makes the step's outputs of the shards."""
        settings = self.settings
        options = "--shard", "gather", "--log", settings.log, "--id", settings.id, "--outputs", *settings.outputs
        self.start(None, f"list={quote(self.folder.list_path)}\n{gather}", *options)

    def start(self, number, command, *options):
        """Start a job of this step, on one CPU, its command on stdin; the last of its options name its outputs."""
        settings = self.settings
        wildcards = ",".join(f"{name}={value}" for name, value in settings.wildcards.items())
        words = [sys.executable, "-S", "-E", sys.argv[0], "run", "--step", settings.step, "--rule", settings.rule]
        words += [f"--wildcards={wildcards}", "--threads", "1", "--mem-mb", str(settings.mem_mb)]
        words += ["--attempt", str(settings.attempt), f"--binding={settings.binding}", "--asked-by", str(os.getpid())]
        words += [*options, "--inputs", *settings.inputs]
        script = self.folder.file(number or "gather", ".sh")
        with open(script, "wb", opener=open_plain) as file:
            file.write(os.fsencode(command))
        stdin = [(os.POSIX_SPAWN_OPEN, 0, script, os.O_RDONLY, 0)]
        self.running[os.posix_spawn(words[0], words, os.environ, file_actions=stdin, setsigmask=())] = number
