"""Run a step on pieces of the genome side by side where that serves, and gather what they leave; else run it whole.

The command on stdin has three parts, with the lines GATHER and FINISH between them: what is run for the whole or for a
piece, what makes the step's outputs of the pieces, and what comes last in either case.

The first finds what it works on in bash variables: `piece` (the file to write), `regions` (GATK's -L arguments) and
`number` (1 for the whole). The second finds `list`, a file that names the pieces' files, in their order.

How many pieces: with --scatter none, one; with a number, so many, where the genome can be cut so often. With auto it is
decided here, when the step starts: as many as there are CPUs to spare, but none smaller than --piece-mib of input, for
each pays for the start of its tool. So a step is run whole while samples keep all CPUs busy, and in pieces where fewer
samples are left than CPUs. A step of LARGEST times that size is cut whatever is spare, so that CPUs which come free
before its end, when a cohort runs out of samples, can help: its pieces run one after another until then. Not so with
--copied: such a step writes as much as it reads, and gathering copies that, which costs more than such CPUs bring.

Each piece is a job like any other, with CPUs, a measurement and a record (its shard) of its own. One always runs,
others while CPUs are spare. Pieces that are done stay until all are: where the step was cut off or a piece failed, the
next attempt makes those that are missing.
"""

import os
import shutil
import signal
import sys
from collections import namedtuple

from launcher.free_cpus import Lookout, settled_spare
from launcher.journal import recover
from launcher.requester import ENDINGS
from launcher.runtime import runtime_dir
from launcher.shards import cut, cut_anywhere, padded, read_lines, spans
from launcher.system import MIB
from launcher.wrapper import LOOK_S, as_owner, begun, read_command, run_attempt

GATHER, FINISH = "\nGATHER\n", "\nFINISH\n"
LARGEST = 2048  # times --piece-mib: some hours of HaplotypeCaller, and the starts of the tool a 500th of them
Piece = namedtuple("Piece", "number lines")


def scatter(settings):
    """Run a step, whole or in pieces, its commands on stdin; return the exit code."""
    return as_owner(begun(settings, read_command()), run_step)


def run_step(attempt):
    """Run a step as the owner of its outputs. What makes them, the whole or what gathers, is the attempt at it."""
    attempt.journal.drop()  # it asks for no CPUs itself
    settings = attempt.settings
    settings.id = attempt.record["id"]
    command, gather = attempt.command.split(GATHER)
    gather, finish = gather.split(FINISH)
    folder = Folder(settings, command)
    left = folder.left()
    pieces = left or plan(settings)
    if not pieces:
        folder.remove()
        arguments = f"-L {quoted(settings.intervals)}" if settings.intervals else ""
        whole = f"piece={quoted(settings.piece)} regions=({arguments}) number=1\n"
        return run_attempt(attempt.again(f"{whole}{command}\n{finish}"))
    if not left:
        folder.lay_out(pieces)
    return Crew(attempt, folder, pieces).run(command, f"{gather}\n{finish}")


# --- which pieces ---


def plan(settings):
    """Return the pieces; none where the step is to be run whole."""
    lines = read_lines(settings.stretches)
    count = how_many(settings)
    if count < 2 or not lines:
        return []
    anywhere = settings.scatter_cuts == "anywhere" and not settings.exact
    found = cut_anywhere(lines, count) if anywhere else cut(lines, count)
    return [Piece(number, piece) for number, piece in enumerate(found, 1)] if len(found) > 1 else []


def how_many(settings):
    """Return how many pieces a step should have."""
    if settings.scatter != "auto":
        return 1 if settings.scatter == "none" else int(settings.scatter)
    if settings.binding == "none" or not settings.piece_mib:
        return 1  # nobody knows which CPUs are spare
    size_mib = os.path.getsize(settings.over) / MIB
    most, least = size_mib // settings.piece_mib, size_mib // (settings.piece_mib * LARGEST) + 1
    if settings.copied:
        least = 1
    if most < 2:
        return 1
    runtime = runtime_dir()
    recover(runtime)  # what a killed launcher left is no job that waits for CPUs
    return int(min(most, max(least, settled_spare(runtime, settings))))


# --- what lies in the folder of pieces ---


class Folder:
    """The folder beside a step's first output that holds its pieces until they are gathered.

    For each piece: N.bed (its own lines), N.regions.bed (what it is called in, wider where it was cut within a
    stretch), the file that it makes, and N.done once that is whole.
    """

    def __init__(self, settings, command):
        self.settings, self.command = settings, command
        self.path = f"{settings.outputs[0]}.pieces"

    def file(self, number, suffix=""):
        """Return the path of a piece's file."""
        return f"{self.path}/{number}{suffix}"

    def result(self, number):
        """Return the path of what a piece makes."""
        return self.file(number, self.settings.suffix)

    def key(self):
        """Return what pieces depend on, as one word: the command, and the inputs as they are."""
        import hashlib

        paths = [path.removeprefix("@") for path in (*self.settings.inputs, self.settings.over)]
        found = [(path, os.stat(path)) for path in paths]
        seen = [(path, stat.st_size, stat.st_mtime_ns) for path, stat in found]
        return hashlib.sha256(repr((self.command, seen, self.settings.scatter_cuts)).encode()).hexdigest()

    def left(self):
        """Return the pieces of an earlier attempt at the same work, [] where there are none."""
        try:
            with open(self.file("key")) as file:
                if file.read() != self.key():
                    return []
        except FileNotFoundError:
            return []
        with open(self.file("numbers")) as file:
            numbers = list(map(int, file))
        return [Piece(number, read_lines(self.file(number, ".bed"))) for number in numbers]

    def lay_out(self, pieces):
        """Make the folder anew."""
        self.remove()
        os.makedirs(self.path)
        whole = read_lines(self.settings.stretches)
        anywhere = self.settings.scatter_cuts == "anywhere" and not self.settings.exact
        for number, lines in pieces:
            write_lines(self.file(number, ".bed"), lines)
            write_lines(self.file(number, ".regions.bed"), spans(padded(lines, whole) if anywhere else lines))
        with open(self.file("pieces.list"), "w") as file:
            file.writelines(f"{self.result(number)}\n" for number, _ in pieces)
        with open(self.file("numbers"), "w") as file:
            file.writelines(f"{number}\n" for number, _ in pieces)
        with open(self.file("key"), "w") as file:  # last: without it the folder counts for nothing
            file.write(self.key())

    def is_done(self, number):
        """Tell whether a piece was made, and is there: gathering may have moved it before it was cut off."""
        return os.path.exists(self.file(number, ".done")) and os.path.exists(self.result(number))

    def set_done(self, number):
        """Note that a piece was made, once it is on the disk: a power cut must not leave the note alone."""
        with open(self.result(number), "rb") as file:
            os.fsync(file.fileno())
        with open(self.file(number, ".done"), "w") as done:
            done.write("")

    def remove(self):
        """Remove the folder and all pieces in it."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_lines(path, lines):
    """Write lines of a BED file."""
    with open(path, "w") as file:
        file.writelines("\t".join(map(str, line)) + "\n" for line in lines)


# --- who makes them ---


class Crew:
    """Runs the pieces as jobs of their own: one at least, more while CPUs are spare."""

    def __init__(self, attempt, folder, pieces):
        self.settings, self.folder, self.pieces = attempt.settings, folder, pieces
        self.requester, self.runtime = attempt.requester, attempt.runtime
        self.running, self.code, self.signum = {}, 0, None
        self.lookout = Lookout(self.runtime, self.settings, len(pieces))

    def run(self, command, gather):
        """Make what is missing, then gather; return the exit code."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS | {signal.SIGCHLD, signal.SIGIO})
        waiting = [piece for piece in self.pieces if not self.folder.is_done(piece.number)]
        while self.running or waiting:
            if self.code or self.signum:
                waiting = []  # those that run come to their end: what they make is kept
            elif waiting and (room := self.room()):
                for piece in waiting[:room]:
                    self.start_piece(piece, command)
                waiting = waiting[room:]
            if not waiting:
                self.lookout.rest()
            allocated = self.settings.binding != "none"
            self.attend(min(LOOK_S, self.lookout.next_s()) if waiting and allocated else LOOK_S)
        self.lookout.leave()
        if not self.code and not self.signum:
            self.start_gathering(gather)
            while self.running:
                self.attend(LOOK_S)
        if not self.code and not self.signum:
            self.folder.remove()
        return 128 + self.signum if self.signum else self.code

    def room(self):
        """Return how many more pieces may run: one always, and without allocations as many as the step has threads."""
        if self.settings.binding == "none":
            return max(0, self.settings.threads - len(self.running))
        return max(self.lookout.room(), 0 if self.running else 1)

    def attend(self, seconds):
        """Wait for the end of a job, for a signal, or so long; pass signals on, and look who has ended."""
        caught = signal.sigtimedwait(ENDINGS | {signal.SIGCHLD, signal.SIGIO}, seconds)
        if caught and caught.si_signo == signal.SIGIO:
            self.lookout.released()
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
        """Note what became of a piece, or of the gathering (None), which has the step's own log."""
        if code == 0 and number:
            self.folder.set_done(number)
            self.lookout.places += 1
        elif code:
            self.code = self.code or (128 - code if code < 0 else code)
            if number:
                os.makedirs(os.path.dirname(self.settings.log) or ".", exist_ok=True)
                with open(self.settings.log, "w") as log:
                    log.write(f"piece {number} failed with exit code {code}: see {self.log_of(number)}\n")

    def log_of(self, number):
        """Return the path of a piece's log."""
        return f"{self.settings.log.removesuffix('.log')}.pieces/{number}.log"

    def start_piece(self, piece, command):
        """Start the job that makes a piece."""
        number, settings = piece.number, self.settings
        regions = ["-L", self.folder.file(number, ".regions.bed")]
        if settings.unmapped and piece is self.pieces[-1]:
            regions += ["-L", "unmapped"]
        made = self.folder.result(number)
        variables = f"piece={quoted(made)} regions=({' '.join(map(quoted, regions))}) number={number}\n"
        if settings.clip and settings.scatter_cuts == "anywhere":
            own = self.folder.file(number, ".bed")
            command += f'\n"$GPD_PYTHON" -S -E "$GPD_CLIP" {quoted(own)} {quoted(settings.clip)} "$piece"'
        shard = f"{number}/{self.pieces[-1].number}"
        self.start(number, shard, variables + command, self.log_of(number), [made], settings.inputs)

    def start_gathering(self, gather):
        """Start the job that makes the step's outputs of the pieces."""
        settings = self.settings
        variables = f"list={quoted(self.folder.file('pieces.list'))}\n"
        files = settings.outputs, settings.inputs
        self.start(None, "gather", variables + gather, settings.log, *files, "--id", settings.id)

    def start(self, number, shard, command, log, outputs, inputs, *options):
        """Start a job of this step, on one CPU, its command on stdin."""
        settings = self.settings
        wildcards = ",".join(f"{name}={value}" for name, value in settings.wildcards.items())
        words = [sys.executable, "-S", "-E", sys.argv[0], "run", "--step", settings.step, "--rule", settings.rule]
        words += [f"--wildcards={wildcards}", "--threads", "1", "--mem-mb", str(settings.mem_mb), "--shard", shard]
        words += ["--attempt", str(settings.attempt), f"--binding={settings.binding}", "--log", log, *options]
        words += ["--asked-by", str(os.getpid())]
        words += ["--outputs", *outputs, "--inputs", *inputs]
        told = self.folder.file(f"{number or 'gather'}.sh")
        with open(told, "wb") as file:
            file.write(os.fsencode(command))
        stdin = [(os.POSIX_SPAWN_OPEN, 0, told, os.O_RDONLY, 0)]
        self.running[os.posix_spawn(words[0], words, os.environ, file_actions=stdin, setsigmask=())] = number


def quoted(text):
    """Return a word for bash that is this text, whatever it holds."""
    return "'" + str(text).replace("'", "'\"'\"'") + "'"
