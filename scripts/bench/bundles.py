"""Measure what Cufflinks and Cuffquant take of one locus with many fragments (`max_bundle_frags`), and where they end.

    python scripts/bench/bundles.py [--millions 0.1 0.5 1 5 20] [--limit-gib 14] [--minutes 45] [--repeats 2]

A contig of 16.6 kb, as mitochondria have, is one gene. Fragments of 250 bp lie on it at random, two reads of 100 bases
each. Both programs run as the workflow runs them, on one thread, and skip nothing. None may take more memory than the
limit, or more time: what ends for that is not repeated.

With a limit of 14 GiB it takes some 60 minutes, and 6 GB of disk. `--smallest` takes 1,000 fragments.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benches import measurements
from benches.measurements import Measurement

CONTIG, LENGTH, READ = "chrM", 16_600, 100
MEAN, DEVIATION, SHORTEST, LONGEST = 250, 30, 120, 400  # of fragments, bp
CHUNK = 100_000
COMMON = ("--quiet", "--no-update-check", "-p", "1", "--library-type", "fr-unstranded")
ALL = ("--max-bundle-frags", "2147483647")
GIB = 1 << 30


@dataclass(frozen=True)
class Taken:
    """What a program took, and why it ended early, if so."""

    cpu_s: float
    wall_s: float
    peak_gib: float
    ended: str


def write_annotation(folder: Path) -> None:
    attributes = 'gene_id "G1"; transcript_id "T1";'
    (folder / "genes.gtf").write_text(f"{CONTIG}\tx\texon\t1\t{LENGTH}\t.\t+\t.\t{attributes}\n")


def write_alignments(folder: Path, fragments: int, seed: int) -> None:
    """Pairs in the order of their places."""
    bases = "".join(random.Random(seed).choices("ACGT", k=LENGTH))
    words = ["samtools", "sort", "-l", "1", "-m", "1G", "-T", folder / "sort", "-o", folder / "reads.bam", "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sort:
        sort.stdin.write(f"@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:{CONTIG}\tLN:{LENGTH}\n")
        for first in range(0, fragments, CHUNK):
            sort.stdin.writelines(pairs(bases, first, min(CHUNK, fragments - first), seed))
    if sort.returncode:
        sys.exit("samtools sort failed")


def pairs(bases: str, first: int, count: int, seed: int) -> Iterator[str]:
    """Both records of each fragment."""
    rng, quality = np.random.default_rng([seed, first]), "I" * READ
    lengths = np.clip(rng.normal(MEAN, DEVIATION, count), SHORTEST, LONGEST).astype(int).tolist()
    starts = rng.integers(0, LENGTH - LONGEST, count).tolist()
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True), first):
        mate = start + length - READ
        one, two = bases[start : start + READ], bases[mate : mate + READ]
        fields = f"{CONTIG}\t{{}}\t60\t{READ}M\t=\t{{}}\t{{}}\t{{}}\t{quality}\tNH:i:1\n".format
        yield f"f{number}\t99\t{fields(start + 1, mate + 1, length, one)}"
        yield f"f{number}\t147\t{fields(mate + 1, start + 1, -length, two)}"


def limited(command: Sequence[str | Path], limit_gib: float, minutes: float) -> Taken:
    """Run a command that may take no more than so much address space and time."""
    most = round(limit_gib * GIB)
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (most, most))
    began = time.perf_counter()
    process = subprocess.Popen(
        ["timeout", "--signal=KILL", f"{minutes}m", *command], stderr=subprocess.PIPE, preexec_fn=limit
    )
    complaint = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    wall_s, process.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
    ended = ""
    if process.returncode:
        ended = "out of memory" if "bad_alloc" in complaint else "out of time" if wall_s > 60 * minutes else "failed"
    if ended == "failed":
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}: {complaint}")
    return Taken(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / (1 << 20), ended)


def measure(folder: Path, millions: Sequence[float], repeats: int, limits: tuple[float, float], seed: int):
    """Both programs, on ever more fragments."""
    write_annotation(folder)
    genes, reads = folder / "genes.gtf", folder / "reads.bam"
    programs = {
        "Cufflinks": ["cufflinks", *COMMON, "--GTF-guide", genes, *ALL, "-o", folder / "assembled", reads],
        "Cuffquant": ["cuffquant", *COMMON, *ALL, "-o", folder / "quantified", genes, reads],
    }
    for count in millions:
        write_alignments(folder, round(count * 1e6), seed)
        for program, command in programs.items():
            runs: list[Taken] = []
            while len(runs) < repeats and not (runs and runs[-1].ended):
                runs.append(limited(command, *limits))
            what = f"{program}, {count:g} million fragments"
            what += f", {runs[-1].ended}" if runs[-1].ended else ""
            yield Measurement(f"{what}: CPU seconds", tuple(run.cpu_s for run in runs), decimals=1)
            yield Measurement(f"{what}: wall time, s", tuple(run.wall_s for run in runs), decimals=1)
            yield Measurement(f"{what}: peak memory, GiB", tuple(run.peak_gib for run in runs), decimals=2)


def main() -> int:
    """Print the figures; none has a bound."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[0.1, 0.5, 1, 5, 20], help="fragments")
    parser.add_argument("--limit-gib", type=float, default=14, help="of address space (%(default)s)")
    parser.add_argument("--minutes", type=float, default=45, help="for one run (%(default)s)")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.millions, arguments.repeats = [0.001], 1
    if not shutil.which("cuffquant"):
        print("not measured: Cufflinks is not installed here")
        return measurements.finish(arguments, True, "tuxedo")
    measurements.show_machine()
    limits = arguments.limit_gib, arguments.minutes
    with TemporaryDirectory(prefix="gpd-bench-") as made:
        found = measure(Path(made), arguments.millions, arguments.repeats, limits, arguments.seed)
        holds = measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds, "tuxedo")


if __name__ == "__main__":
    sys.exit(main())
