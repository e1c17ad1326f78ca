"""Run a command over a genome, whole or in shards that run at once, and gather what the shards make.

    scatter.py --over IN.bam --intervals CALLED.bed --suffix .g.vcf.gz --gather gvcf --out OUT.g.vcf.gz [...] \\
        -- gatk HaplotypeCaller -I IN.bam @regions --native-pair-hmm-threads @threads -O @shard

What stands behind `--` is a command, no text for a shell. In it @shard is the file to write, @regions the words
`-L FILE` (none of the whole without --regions), and @threads how many threads it may have, one in a shard.

With --shards auto, as many shards as CPUs are idle when the step starts, but none smaller than --shard-mib of --over,
for each pays for the start of its tool. A step of LARGEST times that size is scattered whatever is idle, so that CPUs
which come free before its end can help: its shards run one after another until then. Not so with --copied: such a step
writes as much as it reads, and gathering copies that, which costs more than such CPUs bring.

Shards are parts of the job that calls this, if that is one of the executor `pinned` ($PINNED_LAUNCH). Without it,
which CPUs are idle is not known, and the command is run whole. Shards that are done stay in OUT.shards until all are:
the next attempt at the same work makes those that are missing. With --short-from, shards that are so many are short
walks: their JVMs have FIRST_ALONE of the compilers where the whole has SECOND_ALONE. Standard library only.
"""

import argparse
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import namedtuple
from itertools import groupby
from pathlib import Path

LARGEST = 2048  # times --shard-mib: some hours of HaplotypeCaller, and the starts of the tool a 500th of them
MIB = 1024 * 1024
HEAP = re.compile(r"-Xmx\d+\w")  # a retry has more memory
FIRST_ALONE, SECOND_ALONE = "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"
JOIN_GVCF = Path(__file__).resolve().parent / "intervals/join_gvcf.py"

Line = namedtuple("Line", "contig start end interval bases")
Line.__doc__ = "A part of an N-free interval (n_free.py), counted from 0, the end exclusive; bases: how much work it is"


def parse(arguments):
    """Return the options, and the command behind `--`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--over", required=True, help="the file that is walked over: its size says how much work it is")
    add("--intervals", required=True, help="the N-free intervals (n_free.py), between which shards are cut")
    add("--regions", default="", help="the file of regions (-L) where the command runs whole")
    add("--suffix", required=True, help="how the names of shards end")
    add("--gather", required=True, choices=GATHERS, help="of what kind the shards are")
    add("--out", required=True)
    add("--shards", type=auto_or_count, default="auto", help="auto, none or a number")
    add("--shard-mib", type=float, default=0.0, help="the smallest shard worth a job, in MiB of --over; 0: no limit")
    add("--short-from", type=float, default=math.inf, help="from how many shards on a walk over each is short")
    add("--unmapped", action="store_true", help="the last shard has the reads without a place, too")
    add("--copied", action="store_true", help="what is made is as large as --over: scatter on idle CPUs alone")
    add("--threads", type=int, default=1, help="of the whole, where GPD_THREADS does not say what was granted")
    add("--log", default="", help="the job's log: it names a shard that failed; shards' own are beside it")
    add("--join-gvcf", metavar="PATH", default=str(JOIN_GVCF), help="our script, where it is not beside this")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:at]), arguments[at + 1 :]
    if not command:
        parser.error("there is no command behind --")
    return options, command


def auto_or_count(text):
    """Read how many shards."""
    if text in ("auto", "none"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: auto, none, or a number from 1")
    return int(text)


def filled(command, shard, regions, threads):
    """Return the command's words for the whole or a shard."""
    values = {"@regions": [word for path in regions for word in ("-L", path)], "@shard": [shard]}
    values["@threads"] = [str(threads)]
    return [word for each in command for word in values.get(each, [each])]


def of_short_walk(command):
    """Return the command's words with the JVM's first compiler alone, where they have the second one alone."""
    return [word.replace(SECOND_ALONE, FIRST_ALONE) for word in command]


# ---- how many shards --------------------------------------------------------------------------------


def how_many(options):
    """Return how many shards to make."""
    if options.shards == "none" or "PINNED_LAUNCH" not in os.environ:
        return 1
    if options.shards != "auto":
        return options.shards
    if not options.shard_mib:
        return 1
    size_mib = Path(options.over).stat().st_size / MIB
    most, least = size_mib // options.shard_mib, size_mib // (options.shard_mib * LARGEST) + 1
    if most < 2:
        return 1
    spare = ask_spare()
    if not spare:
        return 1  # which CPUs are idle is not known
    # in whole rounds: 10 shards on 8 CPUs would leave 6 of these idle for half of the time
    return int(min(most, spare if options.copied else -(-least // spare) * spare))


def launcher(*words):
    """Return the words that start the launcher of the job around."""
    return [*shlex.split(os.environ["PINNED_LAUNCH"]), *words]


def ask_spare():
    """Return how many shards could run at once now, 0 where it is not known."""
    asked = subprocess.run(launcher("spare"), stdout=subprocess.PIPE, text=True, close_fds=False, check=False)
    return int(asked.stdout) if asked.returncode == 0 else 0


# ---- the shards -------------------------------------------------------------------------------------


def read_lines(path):
    """Return the lines of a file that n_free.py wrote."""
    rows = (line.split("\t") for line in Path(path).read_text().splitlines())
    return [Line(contig, *map(int, numbers)) for contig, *numbers in rows]


def split(lines, count):
    """Split between N-free intervals into at most `count` shards, in order, the largest as small as can be."""
    intervals = [list(group) for _, group in groupby(lines, lambda line: line.interval)]
    low, high = max(map(work, intervals)), sum(map(work, intervals))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(grouped(intervals, middle)) <= count else (middle + 1, high)
    return grouped(intervals, low)


def work(interval):
    """Return how much work the lines of an interval are, 1 at least."""
    return max(1, sum(line.bases for line in interval))


def grouped(intervals, most):
    """Return shards, filled one after the other with up to `most` work each."""
    shards, load = [], most
    for interval in intervals:
        load += work(interval)
        if load > most:
            shards.append([])
            load = work(interval)
        shards[-1] += interval
    return shards


def spans(shard):
    """Return (contig, start, end) of a shard, those that touch as one."""
    joined = []
    for contig, start, end, *_ in shard:
        if joined and joined[-1][0] == contig and joined[-1][2] == start:
            start = joined.pop()[1]
        joined.append((contig, start, end))
    return joined


class Folder:
    """The folder beside the output that holds shards until they are gathered.

    For each: N.regions.bed (what it is called in), the file that it makes, and N.done once that is whole.
    """

    def __init__(self, options, command):
        self.options, self.command = options, command
        self.path = f"{options.out}.shards"
        self.key_path, self.list_path = f"{self.path}/key", f"{self.path}/shards.list"

    def file(self, number, suffix=None):
        """Return the path of a shard's file, of what it makes without a suffix."""
        return f"{self.path}/{number}{suffix or self.options.suffix}"

    def key(self):
        """Return what shards depend on: the command, but for its JVM and temporary folder; inputs as they are."""
        folder = os.environ.get("TMPDIR")
        words = [HEAP.sub("", word) for word in of_short_walk(self.command)]
        paths = [self.options.over, self.options.intervals, *filter(os.path.isfile, words)]
        files = [(path, found.st_size, found.st_mtime_ns) for path in paths for found in [Path(path).stat()]]
        words = [word.replace(folder, "@tmpdir") if folder else word for word in words]
        return repr((words, files))

    def left(self):
        """Return how many shards an earlier attempt at the same work has laid out."""
        try:
            is_same = Path(self.key_path).read_text() == f"{self.key()}\n"
            return len(read_list(self.list_path)) if is_same else 0
        except FileNotFoundError:
            return 0

    def lay_out(self, count):
        """Make the folder anew, with up to so many shards; return how many. Of one shard there is none."""
        self.remove()
        if count < 2:
            return 1
        lines = read_lines(self.options.intervals)
        found = split(lines, count) if lines else []
        if len(found) < 2:
            return 1
        Path(self.path).mkdir()
        for number, shard in enumerate(found, 1):
            write_lines(self.file(number, ".regions.bed"), spans(shard))
        write_lines(self.list_path, [[self.file(number)] for number in range(1, len(found) + 1)])
        write_lines(self.key_path, [[self.key()]])  # last: without it the folder counts for nothing
        return len(found)

    def parts(self, count):
        """Return the shards as the launcher's parts."""
        return [self.part(number, count) for number in range(1, count + 1)]

    def part(self, number, count):
        """Return a shard as a part of the job around."""
        made, regions = self.file(number), [self.file(number, ".regions.bed")]
        command = of_short_walk(self.command) if count >= self.options.short_from else self.command
        if self.options.unmapped and number == count:
            regions.append("unmapped")
        return {
            "name": f"{number}/{count}",
            "title": f"shard {number}",
            "commands": [filled(command, made, regions, threads=1)],
            "log": self.log(number),
            "output": made,
            "done": self.file(number, ".done"),
        }

    def log(self, number):
        """Return the path of a shard's log."""
        log = self.options.log
        return f"{log.removesuffix('.log')}.shards/{number}.log" if log else self.file(number, ".log")

    def remove(self):
        """Remove the folder and all shards in it."""
        shutil.rmtree(self.path, ignore_errors=True)


def read_list(path):
    """Return the shards' files, in their order."""
    return Path(path).read_text().splitlines()


def write_lines(path, lines):
    """Write lines of columns to a new file."""
    with Path(path).open("x") as file:
        file.writelines("\t".join(map(str, line)) + "\n" for line in lines)


# ---- what gathers them: their order is the genome's, so nothing is sorted or decoded ----------------


def run(*words):
    """Run a program to its end; end with its exit code unless that means success."""
    code = subprocess.run(words, close_fds=False, check=False).returncode  # its launcher's locks are for all processes
    if code:
        sys.exit(128 - code if code < 0 else code)


def gather_vcf(listed, options, _command):
    """VCF files, compressed, of one header."""
    run("bcftools", "concat", "--naive", "-f", listed, "-O", "z", "-o", options.out)
    run("bcftools", "index", "--force", "--tbi", options.out)


def gather_gvcf(listed, options, _command):
    """GVCFs, in which a reference block may span a border."""
    run(sys.executable, "-S", "-E", options.join_gvcf, listed, options.out)
    run("bcftools", "index", "--force", "--tbi", options.out)


def gather_bam(listed, options, _command):
    """Alignments."""
    run("samtools", "cat", "--no-PG", "-b", listed, "-o", options.out)
    run("samtools", "index", "-o", f"{options.out.removesuffix('.bam')}.bai", options.out)


def gather_report(listed, options, command):
    """GATK's tables of recalibration, by the same GATK with the same memory of its JVM."""
    at = command.index("--java-options") if "--java-options" in command else len(command)
    folder = os.environ.get("TMPDIR") or "/tmp"
    words = of_short_walk(command[at : at + 2])
    run(command[0], *words, "GatherBQSRReports", "-I", listed, "--tmp-dir", folder, "-O", options.out)


def gather_lines(listed, options, _command):
    """Files of lines without a header."""
    with Path(options.out).open("wb") as joined:
        for path in read_list(listed):
            with Path(path).open("rb") as file:
                shutil.copyfileobj(file, joined)


GATHERS = {
    "vcf": gather_vcf,
    "gvcf": gather_gvcf,
    "bam": gather_bam,
    "report": gather_report,
    "lines": gather_lines,
}


# ---- the command line -------------------------------------------------------------------------------


def run_whole(options, command):
    """Become the command over all of the genome."""
    regions = [options.regions] if options.regions else []
    threads = os.environ.get("GPD_THREADS") or options.threads
    words = filled(command, options.out, regions, threads)
    try:
        os.execvp(words[0], words)
    except FileNotFoundError:
        print(f"scatter.py: {words[0]}: command not found", file=sys.stderr)
        sys.exit(127)


def run_shards(options, folder, count):
    """Have the shards made that are missing, and gather them."""
    listed = Path(folder.path) / "parts.json"
    listed.write_text(json.dumps({"parts": folder.parts(count), "log": options.log}))
    run(*launcher("parts", str(listed)))
    GATHERS[options.gather](folder.list_path, options, folder.command)
    folder.remove()


def main(arguments):
    """Be the command line; return the exit code."""
    options, command = parse(arguments)
    folder = Folder(options, command)
    try:
        left = folder.left() if "PINNED_LAUNCH" in os.environ else 0
        count = left or folder.lay_out(how_many(options))
        if count > 1:
            run_shards(options, folder, count)
        else:
            run_whole(options, command)
    except OSError as error:
        print(f"error: scatter.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
