"""How long Snakemake plans cohorts, and how much memory that takes: dry runs of 100 to 10,000 samples, half an hour.

Each beside a workflow of the same jobs whose rules say nothing but their files: what Snakemake takes for itself. Times
are of the whole process, its start among it, and its CPU seconds, which other work on the machine changes less; memory
is its peak. `--smallest` only shows that it works: one sample.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benches import figures  # noqa: E402
from benches.figures import Figure  # noqa: E402
from conftest import SNAKEFILE, tiny_cohort  # noqa: E402

SIZES = ((100, 4, 3), (1_000, 4, 3), (1_000, 1, 3), (5_000, 1, 1), (10_000, 1, 1))  # samples, lanes, runs
AFTER = {  # a rule of one sample: the rule whose file it reads
    "base_recalibrator": "mark_duplicates",
    "base_recalibration": "base_recalibrator",
    "samtools_stats": "base_recalibration",
    "haplotype_caller": "base_recalibration",
    "genotype_gvcfs": "haplotype_caller",
    "hard_filter": "genotype_gvcfs",
    "bcftools_stats": "hard_filter",
}
LAST = ("samtools_stats", "bcftools_stats")


@dataclass(frozen=True)
class Planned:
    """What a dry run took."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def plan(folder: Path, snakefile: Path) -> Planned:
    words = [sys.executable, "-m", "snakemake", "--snakefile", str(snakefile), "--directory", str(folder)]
    said = folder / "said.txt"
    start = time.perf_counter()
    to_file = [(os.POSIX_SPAWN_OPEN, fd, str(said), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) for fd in (1, 2)]
    words += ["--cores", "2", "--dry-run", "--quiet"]
    pid = os.posix_spawn(sys.executable, words, os.environ, file_actions=to_file)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(said.read_text())
    return Planned(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def bare(folder: Path, samples: list[str], lanes: int) -> Path:
    """A workflow of the same jobs, a file each, and nothing else."""
    read = {"mark_duplicates": [f"map/{{sample}}/L{lane}" for lane in range(1, lanes + 1)]}
    read |= {name: [f"{before}/{{sample}}"] for name, before in AFTER.items()}
    wanted = [f"{name}/{{sample}}" for name in LAST]
    rules = [
        *(f"rule {name}:\n  input: {files!r}\n  output: '{name}/{{sample}}'" for name, files in read.items()),
        "rule map:\n  output: temp('map/{sample}/{unit}')",
    ]
    first = f"rule all:\n  input: expand({wanted!r}, sample={samples!r})"
    path = folder / "bare.smk"
    path.write_text("\n\n".join([first, *(f"{rule}\n  shell: 'true'" for rule in rules)]) + "\n")
    return path


def measure(count: int, lanes: int, runs: int) -> Iterator[Figure]:
    samples = [f"S{number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        cohort = tiny_cohort(Path(folder), samples, lanes)
        cohort.write()
        for name, snakefile in (("", SNAKEFILE), (", Snakemake alone", bare(Path(folder), samples, lanes))):
            planned = [plan(Path(folder), snakefile) for _ in range(runs)]
            what = f"plan {count} samples x {lanes} lanes{name}"
            yield Figure(f"{what}: wall time, s", tuple(each.wall_s for each in planned), decimals=1)
            yield Figure(f"{what}: CPU seconds", tuple(each.cpu_s for each in planned), decimals=1)
            yield Figure(f"{what}: peak memory, MiB", tuple(each.peak_mib for each in planned), decimals=0)


def main() -> int:
    arguments = figures.parser(__doc__).parse_args()
    sizes = ((1, 1, 1),) if arguments.smallest else SIZES
    holds = [figures.show(measure(*size)) for size in sizes]
    return figures.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
