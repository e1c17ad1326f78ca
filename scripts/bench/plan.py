"""How long Snakemake plans cohorts, and how much memory that takes: dry runs of 100 to 10,000 samples, half an hour.

Each beside a workflow of the same jobs whose rules say nothing but their files: what Snakemake takes for itself. Times
are of the whole process, its start among it, and its CPU seconds, which other work on the machine changes less; memory
is its peak. `--smallest` only shows that it works: one sample.
"""

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import SNAKEFILE, tiny_cohort  # noqa: E402

SIZES = ((100, 4, 3), (1_000, 4, 3), (1_000, 1, 3), (5_000, 1, 1), (10_000, 1, 1))  # samples, lanes, runs
PER_SAMPLE = ("mark_duplicates", "base_recalibrator", "base_recalibration", "samtools_stats", "haplotype_caller")
CALLS = ("genotype_gvcfs", "hard_filter", "bcftools_stats")


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
    pid = os.posix_spawn(
        sys.executable, [*words, "--cores", "2", "--dry-run", "--quiet", "all"], os.environ, file_actions=to_file
    )
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(said.read_text())
    return Planned(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def bare(folder: Path, samples: list[str], lanes: int) -> Path:
    """A workflow of the same jobs and files, and nothing else."""
    lane = [f"map/{{sample}}/L{number}.bam" for number in range(1, lanes + 1)]
    chain = zip(
        PER_SAMPLE, ("mark_duplicates", *PER_SAMPLE[:2], "base_recalibration", "base_recalibration"), strict=True
    )
    rules = [
        *(
            f"rule {name}:\n  input: {lane if name == of else f'{of}/{{sample}}'!r}\n  output: '{name}/{{sample}}'"
            for name, of in chain
        ),
        *(
            f"rule {name}:\n  input: '{of}/{{sample}}'\n  output: '{name}/{{sample}}'"
            for name, of in zip(CALLS, (PER_SAMPLE[-1], *CALLS), strict=False)
        ),
        "rule map:\n  output: temp('map/{sample}/{unit}.bam')",
    ]
    wanted = [f"{name}/{{sample}}" for name in (PER_SAMPLE[3], CALLS[-1])]
    first = f"rule all:\n  input: expand({wanted!r}, sample={samples!r})"
    path = folder / "bare.smk"
    path.write_text("\n\n".join([first, *(f"{text}\n  shell: 'true'" for text in rules)]) + "\n")
    return path


def measure(count: int, lanes: int, runs: int) -> None:
    samples = [f"S{number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        cohort = tiny_cohort(Path(folder), samples, lanes)
        cohort.write()
        for name, snakefile in (("", SNAKEFILE), (", Snakemake alone", bare(Path(folder), samples, lanes))):
            planned = [plan(Path(folder), snakefile) for _ in range(runs)]
            times = [each.wall_s for each in planned]
            cpu_s = statistics.median(each.cpu_s for each in planned)
            peak_mib = max(each.peak_mib for each in planned)
            print(
                f"plan {count} samples x {lanes} lanes{name}: median {statistics.median(times):.1f} s (n = {runs}, "
                f"{min(times):.1f} to {max(times):.1f} s), {cpu_s:.1f} CPU s, {peak_mib:.0f} MiB",
                flush=True,
            )


def main() -> None:
    for size in ((1, 1, 1),) if "--smallest" in sys.argv[1:] else SIZES:
        measure(*size)


if __name__ == "__main__":
    main()
