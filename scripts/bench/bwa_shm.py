"""Measure what one shared index of bwa's saves, in memory and time, for 1 to 8 processes side by side.

    python scripts/bench/bwa_shm.py [--megabases 300] [--processes 1 2 4 8] [--reads 20000] [--index PREFIX]
        [--smallest]

The reference is random, with the same seed the same one; its index takes 10 minutes and more for 300 Mb, so one that is
there may be named. All processes of a round start at once, each with an index of its own or all with one that is loaded
for the round, map the same reads on one thread, and wait at their end until memory was looked at: what is theirs alone,
and the shared index once. Alignments must be the same. Exits with 1 where they are not, or where the most processes
with one index take more than half of the memory of those with their own; `--smallest` only shows that it works.
"""

import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import figures
from benches.figures import Figure

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
SHM = Path("/dev/shm")
BASES = bytes(b"ACGT"[value % 4] for value in range(256))
CONTIG, LINE, READ = 100_000_000, 1_000_000, 100
MOST_MEMORY = 0.5


@dataclass(frozen=True)
class Round:
    """What processes side by side took: wall and CPU seconds, MiB, and a digest of each one's alignments."""

    wall_s: float
    cpu_s: float
    memory_mib: float
    digests: frozenset[str]

    def figures(self, what: str) -> Iterator[Figure]:
        yield Figure(f"{what}: wall time, s", (self.wall_s,), decimals=1)
        yield Figure(f"{what}: CPU seconds", (self.cpu_s,), decimals=1)
        yield Figure(f"{what}: memory, MiB", (self.memory_mib,), decimals=0)


def write_reference(path: Path, bases: int, seed: int) -> None:
    """A random genome, in contigs."""
    draw = random.Random(seed)
    with path.open("wb") as out:
        for start in range(0, bases, CONTIG):
            out.write(b">chr%d\n" % (start // CONTIG + 1))
            left = min(CONTIG, bases - start)
            while left:
                length = min(LINE, left)
                out.write(draw.randbytes(length).translate(BASES) + b"\n")
                left -= length


def write_reads(path: Path, fasta: Path, count: int, seed: int) -> None:
    """Reads from all over a genome, one in each of so many parts."""
    draw, step = random.Random(seed), fasta.stat().st_size // count
    with fasta.open("rb") as genome, path.open("wb") as out:
        for number in range(count):
            genome.seek(number * step + draw.randrange(max(1, step - 2 * READ)))
            bases = genome.read(2 * READ).replace(b"\n", b"")[:READ]
            if len(bases) == READ and b">" not in bases:
                out.write(b"@r%d\n%s\n+\n%s\n" % (number, bases, b"I" * READ))


class Bench:
    """An index, reads, and a runtime folder of its own."""

    def __init__(self, folder: Path, prefix: Path, reads: Path) -> None:
        self.folder, self.prefix, self.reads = folder, prefix, reads
        launcher = SCRIPTS / "launcher" / "__main__.py"
        self.environment = os.environ | {"GPD_RUNTIME_DIR": f"{folder}/runtime", "GPD_LAUNCH": str(launcher)}

    def script(self, *words: str) -> list[str]:
        return [sys.executable, "-S", "-E", str(SCRIPTS / "germline" / "bwa_shm.py"), *words]

    def run(self, count: int, shared: bool) -> Round:
        """Run so many processes side by side."""
        bwa = ["bwa", "mem", "-t", "1", "-v", "1", str(self.prefix), "/dev/stdin"]
        command = self.script("run", str(self.prefix), *bwa) if shared else bwa
        before = own_segments()
        outputs = [self.folder / f"{number}.sam" for number in range(count)]
        settings = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": self.environment}
        began, processes = time.perf_counter(), []
        for output in outputs:
            with output.open("wb") as sam:
                processes.append(subprocess.Popen(command, stdout=sam, **settings))
        for process in processes:
            process.stdin.write(self.reads.read_bytes())
            process.stdin.flush()
        # bwa takes its reads when its index is loaded, and waits for more: what a pipe holds is less than the rest
        memory_mib = sum(anonymous_mib(process.pid) for process in processes)
        memory_mib += sum((SHM / name).stat().st_size / 2**20 for name in own_segments() - before)
        for process in processes:
            process.stdin.close()
        cpu_s = 0.0
        for process in processes:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"bwa_shm.py: bwa ended with {process.returncode}")
            cpu_s += usage.ru_utime + usage.ru_stime
        wall_s = time.perf_counter() - began
        subprocess.run(self.script("free"), env=self.environment, check=True)
        if left := own_segments() - before:
            raise SystemExit(f"bwa_shm.py: {', '.join(left)} is left in {SHM}")
        return Round(wall_s, cpu_s, memory_mib, frozenset(map(digest, outputs)))


def own_segments() -> set[str]:
    return {path.name for path in SHM.glob("bwaidx-gpd-*")}


def anonymous_mib(pid: int) -> float:
    """What memory a process has for itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def digest(sam: Path) -> str:
    """What tells alignments apart; bwa's command line, which the header has, is another in each."""
    lines = [line for line in sam.read_bytes().splitlines() if not line.startswith(b"@PG")]
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    parser = figures.parser(__doc__)
    parser.add_argument("--megabases", type=float, default=300)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--reads", type=int, default=20_000)
    parser.add_argument("--index", type=Path, help="prefix of an index that is there, beside its FASTA file")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.megabases, arguments.processes, arguments.reads = 0.2, [1, 2], 2000
    holds = []
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as name:
        folder = Path(name)
        prefix = arguments.index or folder / "genome.fa"
        if not arguments.index:
            write_reference(prefix, round(arguments.megabases * 1e6), arguments.seed)
            subprocess.run(["bwa", "index", prefix], check=True, capture_output=True)
        write_reads(folder / "reads.fq", prefix, arguments.reads, arguments.seed)
        bench = Bench(folder, prefix, folder / "reads.fq")
        bench.run(1, shared=False)  # the page cache is warm in all rounds
        print(f"bwa, {prefix.stat().st_size / 1e6:.1f} Mb", flush=True)
        digests = set()
        for count in arguments.processes:
            rounds = {index: bench.run(count, index == "one for all") for index in ("its own", "one for all")}
            for index, found in rounds.items():
                holds.append(figures.show(found.figures(f"processes {count}, index {index}")))
                digests |= found.digests
        share = rounds["one for all"].memory_mib / rounds["its own"].memory_mib
        last = (
            Figure("different alignments", (len(digests),), most=1, decimals=0, of_results=True),
            Figure(f"memory of {count} processes with one index to that with their own", (share,), most=MOST_MEMORY),
        )
        holds.append(figures.show(last, arguments.smallest))
    return figures.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
