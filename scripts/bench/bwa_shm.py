"""Measure what one shared index of bwa's saves, in memory and time, for 1 to 8 processes side by side.

    python scripts/bench/bwa_shm.py [--megabases 300] [--processes 1 2 4 8] [--reads 20000] [--smallest]

The reference is random; its index takes 10 minutes and more for 300 Mb. All processes of a round start at once, each
with an index of its own or all with one that is loaded for the round, map the same reads on one thread, and wait at
their end until memory was looked at: what is theirs alone, and the shared index once. Exits with 1 where alignments
differ, or where the most processes with one index take more than half of the memory of those with their own;
`--smallest` only shows that it works.
"""

import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from benches import measurements
from benches.measurements import Measurement

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
SHM = Path("/dev/shm")
BASES = bytes(b"ACGT"[value % 4] for value in range(256))
READ = 100
MOST_MEMORY = 0.5


def write_genome_and_reads(folder: Path, megabases: float, reads: int, seed: int) -> None:
    """A random genome of one contig, and reads from all over it."""
    draw = random.Random(seed)
    genome = b"".join(draw.randbytes(10_000) for _ in range(round(megabases * 100))).translate(BASES)
    (folder / "genome.fa").write_bytes(b">chr1\n%s\n" % genome)
    with (folder / "reads.fq").open("wb") as out:
        for number in range(reads):
            start = draw.randrange(len(genome) - READ)
            out.write(b"@r%d\n%s\n+\n%s\n" % (number, genome[start : start + READ], b"I" * READ))


def map_reads(folder: Path, count: int, shared: bool) -> tuple[float, float, float, set[str]]:
    """Run so many processes side by side: wall and CPU seconds, MiB, and the digests of their alignments."""
    launcher, prefix = SCRIPTS / "launcher" / "__main__.py", str(folder / "genome.fa")
    environment = os.environ | {"GPD_RUNTIME_DIR": f"{folder}/runtime", "GPD_LAUNCH": str(launcher)}
    script = [sys.executable, "-S", "-E", str(SCRIPTS / "germline" / "bwa_shm.py")]
    bwa = ["bwa", "mem", "-t", "1", "-v", "1", prefix, "/dev/stdin"]
    command = [*script, "run", prefix, *bwa] if shared else bwa
    outputs = [folder / f"{number}.sam" for number in range(count)]
    settings = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": environment}
    reads = (folder / "reads.fq").read_bytes()
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


def measure(folder: Path, counts: list[int]) -> Iterator[Measurement]:
    map_reads(folder, 1, shared=False)  # the page cache is warm in all rounds
    digests, memory = set(), {}
    for count in counts:
        for index, shared in (("its own", False), ("one for all", True)):
            wall_s, cpu_s, memory[shared], found = map_reads(folder, count, shared)
            digests |= found
            what = f"processes {count}, index {index}"
            yield Measurement(f"{what}: wall time, s", (wall_s,), decimals=1)
            yield Measurement(f"{what}: CPU seconds", (cpu_s,), decimals=1)
            yield Measurement(f"{what}: memory, MiB", (memory[shared],), decimals=0)
    yield Measurement("different alignments", (len(digests),), most=1, decimals=0, of_results=True)
    what = f"memory of {counts[-1]} processes with one index to that with their own"
    yield Measurement(what, (memory[True] / memory[False],), most=MOST_MEMORY)


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--megabases", type=float, default=300)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--reads", type=int, default=20_000)
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.megabases, arguments.processes, arguments.reads = 0.2, [1, 2], 2000
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as name:
        folder = Path(name)
        write_genome_and_reads(folder, arguments.megabases, arguments.reads, arguments.seed)
        subprocess.run(["bwa", "index", folder / "genome.fa"], check=True, capture_output=True)
        holds = measurements.show(measure(folder, arguments.processes), arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
