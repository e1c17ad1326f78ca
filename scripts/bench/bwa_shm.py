"""Measure what one shared index of bwa's saves, in memory and time, and an index on huge pages, in time.

    python scripts/bench/bwa_shm.py [--genome FASTA] [--processes 1 2 4 8] [--reads 20000] [--repeats 3] [--smallest]

FASTA is a genome with bwa's index; without it 300 random megabases are indexed, which takes 10 minutes. Reads come from
anywhere in it. All processes of a round start at once: each with an index of its own, as bwa loads it or on huge pages,
or all with one that is loaded for the round. They map the same reads on one thread and wait at their end until memory
was looked at: what is theirs alone, and the shared index once. Ratios are taken within a repeat.

Exits with 1 where alignments differ, or where the most processes with one index take more than half of the memory of
those with their own; `--smallest` only shows that it works.
"""

import hashlib
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
sys.path.insert(0, str(SCRIPTS))

from benches import measurements  # noqa: E402
from benches.measurements import Measurement  # noqa: E402
from build_launcher import build_library  # noqa: E402

HUGE_PAGES = SCRIPTS / "launcher" / "huge_pages.c"
SHM = Path("/dev/shm")
BASES = bytes(b"ACGT"[value % 4] for value in range(256))
MEGABASES = 300
READ = 100
OWN, HUGE, SHARED = "its own", "its own on huge pages", "one for all"
MOST_MEMORY = 0.5


def write_genome(folder: Path, megabases: float, seed: int) -> Path:
    """A random genome of one contig, with bwa's index."""
    draw = random.Random(seed)
    genome = b"".join(draw.randbytes(10_000) for _ in range(round(megabases * 100))).translate(BASES)
    fasta = folder / "genome.fa"
    fasta.write_bytes(b">chr1\n%s\n" % genome)
    subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
    return fasta


def draw_reads(fasta: Path, count: int, seed: int) -> bytes:
    """Reads from anywhere in a genome but its gaps."""
    draw, reads = random.Random(seed), []
    with fasta.open("rb") as lines, mmap.mmap(lines.fileno(), 0, access=mmap.ACCESS_READ) as genome:
        while len(reads) < count:
            start = draw.randrange(len(genome) - 2 * READ)
            bases = genome[start : start + 2 * READ].replace(b"\n", b"")[:READ].upper()
            if not bases.translate(None, b"ACGT"):
                reads.append(b"@r%d\n%s\n+\n%s\n" % (len(reads), bases, b"I" * READ))
    return b"".join(reads)


def map_reads(fasta: Path, reads: bytes, folder: Path, count: int, index: str) -> tuple[float, float, float, set[str]]:
    """Run so many processes side by side: wall and CPU seconds, MiB, and the digests of their alignments."""
    launcher, prefix = SCRIPTS / "launcher" / "__main__.py", str(fasta)
    environment = os.environ | {"GPD_RUNTIME_DIR": f"{folder}/runtime", "GPD_LAUNCH": str(launcher)}
    script = [sys.executable, "-S", "-E", str(SCRIPTS / "germline" / "bwa_shm.py")]
    bwa = ["bwa", "mem", "-t", "1", "-v", "1", prefix, "/dev/stdin"]
    command = [*script, "run", prefix, *bwa] if index == SHARED else bwa
    if index == HUGE:
        environment["LD_PRELOAD"] = str(folder / "huge_pages.so")
    outputs = [folder / f"{number}.sam" for number in range(count)]
    settings = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": environment}
    began = time.perf_counter()
    processes = [subprocess.Popen(command, stdout=output.open("wb"), **settings) for output in outputs]
    for process in processes:
        process.stdin.write(reads)
        process.stdin.flush()
    # bwa takes its reads when its index is loaded, and waits for more: what a pipe holds is less than the rest
    memory = [psutil.Process(process.pid).memory_info() for process in processes]
    memory_mib = sum((each.rss - each.shared) / 2**20 for each in memory)
    memory_mib += sum(segment.stat().st_size / 2**20 for segment in SHM.glob("bwaidx-gpd-*"))
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
    subprocess.run([*script, "free"], env=environment, check=True)
    return wall_s, cpu_s, memory_mib, set(map(digest, outputs))


def digest(sam: Path) -> str:
    """Of alignments, without bwa's command line in the header, which differs."""
    lines = [line for line in sam.read_bytes().splitlines() if not line.startswith(b"@PG")]
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def measure(fasta: Path, reads: bytes, folder: Path, counts: list[int], repeats: int) -> Iterator[Measurement]:
    """Map with each count of processes and each kind of index, in turns."""
    if why := build_library(shutil.which("cc"), HUGE_PAGES, folder / "huge_pages.so"):
        sys.exit(f"bwa_shm.py: no huge pages: {why}")
    map_reads(fasta, reads, folder, 1, OWN)  # the page cache is warm in all rounds
    digests: set[str] = set()
    for count in counts:
        rounds: dict[str, list[tuple[float, float, float]]] = {index: [] for index in (OWN, HUGE, SHARED)}
        for _ in range(repeats):
            for index, figures in rounds.items():
                *round_figures, found = map_reads(fasta, reads, folder, count, index)
                figures.append(tuple(round_figures))
                digests |= found
        by_index = {index: tuple(zip(*figures, strict=True)) for index, figures in rounds.items()}
        for index, (wall_s, cpu_s, memory) in by_index.items():
            what = f"processes {count}, index {index}"
            yield Measurement(f"{what}: wall time, s", wall_s, decimals=1)
            yield Measurement(f"{what}: CPU seconds", cpu_s, decimals=1)
            yield Measurement(f"{what}: memory, MiB", memory, decimals=0)
        for index in (HUGE, SHARED):
            cpu = ratios(by_index[index][1], by_index[OWN][1])
            yield Measurement(f"processes {count}: CPU time with index {index} to that with its own", cpu)
        memory = ratios(by_index[SHARED][2], by_index[OWN][2])
        most = MOST_MEMORY if count == counts[-1] and count > 2 else None
        yield Measurement(f"processes {count}: memory with one index to that with their own", memory, most=most)
    yield Measurement("different alignments", (len(digests),), most=1, decimals=0, of_results=True)


def ratios(ours: Sequence[float], others: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(ours, others, strict=True))


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--genome", type=Path)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--reads", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments, megabases = parser.parse_args(), MEGABASES
    if arguments.smallest:
        megabases, arguments.processes, arguments.reads, arguments.repeats = 0.2, [1, 2], 2000, 1
    measurements.show_machine()
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as name:
        folder = Path(name)
        fasta = arguments.genome or write_genome(folder, megabases, arguments.seed)
        reads = draw_reads(fasta, arguments.reads, arguments.seed)
        found = measure(fasta.absolute(), reads, folder, arguments.processes, arguments.repeats)
        holds = measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
