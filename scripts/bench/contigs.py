"""Measure what calling the primary assembly alone saves (`calling_contigs`), of a genome with all contigs of GRCh38's.

    python scripts/bench/contigs.py [--scale 0.1] [--sample SHALLOW1] [--repeats 2] [--smallest]

The rehearsal's genome of 3,366 contigs is simulated at a scale, with one of its samples, which is mapped once. From
there the workflow goes on with all contigs and with the primary assembly alone, in turns, each step in one job. Saved
is what is between the two of a turn. ApplyBQSR passes all contigs in any case: what it saves is noise. The sample is
shallow, so that what contigs cost stands out: seconds of a deeper one grow with its reads in both. JVMs compile for
long walks, as a genome's do.

At a tenth it takes some 40 minutes on one core, and 3 GB of disk. `--smallest` takes a thousandth, and ends before the
call set: GenotypeGVCFs takes minutes for its contigs, however short.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benches import measurements
from benches.jvms import ALONE, jvm_options
from benches.measurements import Measurement
from benches.runs import CALLS, Runner, cpu_s, recorded

from gpd.lab.pool import read_pool
from gpd.lab.snakemake_process import LEDGER
from gpd.paths import ROOT
from gpd.records.ledger import Attempt, read_ledger
from gpd.records.study import Pool

SIMULATOR, DESIGN = ROOT / "resources/simulation/Snakefile", ROOT / "resources/rehearsal"
MODES = {"all": "all contigs", "auto": "the primary assembly"}
SETTINGS: dict[str, object] = {
    **{"calling": "joint", "joint_intervals": 1, "scatter": "none", "filter": "hard"},
    **{"alignment_format": "bam", "common_sites": "", "ploidy_regions": ""},
}
MARKED = "results/mark_duplicates/{sample}.bam"
DEPTH, CALLED = "results/depth/{sample}.txt", "results/haplotype_caller/{sample}.g.vcf.gz"
STEPS = {
    "base_recalibrator": "BaseRecalibrator",
    "base_recalibration": "ApplyBQSR",
    "haplotype_caller": "HaplotypeCaller",
    "genomics_db_import": "GenomicsDBImport",
    "genotype_interval": "GenotypeGVCFs",
    "hard_filter_interval": "hard filters",
    "depth": "mosdepth",
}


def simulate(folder: Path, sample: str, scale: float, seed: int) -> None:
    """The genome, its known sites, and the reads of one sample."""
    reads = [f"reads/{sample}_R{mate}.fastq.gz" for mate in (1, 2)]
    made = [*reads, "genome.fa", "known_sites.vcf.gz", "samples.tsv"]
    command = [sys.executable, "-m", "snakemake", "--snakefile", SIMULATOR, "--directory", folder]
    given = ["--config", f"design={DESIGN}", f"scale={scale}", f"seed={seed}"]
    subprocess.run([*command, "--cores", "all", "--quiet", "all", *given, "--", *made], check=True)
    (folder / "config.yaml").write_text((DESIGN / "config.yaml").read_text())


def taken(folder: Path) -> dict[str, Attempt]:
    """Each step's one job."""
    jobs = {job.rule: job for job in read_ledger(folder / LEDGER) if job.succeeded}
    return {step: jobs[rule] for rule, step in STEPS.items() if rule in jobs}


def measure(folder: Path, sample: str, repeats: int, calls: str) -> Iterator[Measurement]:
    """Each step up to the calls with all contigs and with those of the primary assembly, in turns."""
    runner = Runner(read_pool("germline", Pool(str(folder / "pool"), "config.yaml")), (sample,), SETTINGS)
    runner.begin(folder / "before", (MARKED, f"{MARKED}.bai"))
    targets = [path.format(sample=sample, callset="cohort") for path in (calls, DEPTH)]
    turns: list[dict[str, dict[str, Attempt]]] = []
    for turn in range(repeats):
        found = {}
        for mode in list(MODES)[:: -1 if turn % 2 else 1]:
            print(f"turn {turn + 1}: {MODES[mode]}", file=sys.stderr)
            runner.go_on(folder / "before", folder / mode, targets, calling_contigs=mode)
            found[mode] = taken(folder / mode)
        turns.append(found)
    for step in turns[0]["all"]:
        for mode, name in MODES.items():
            jobs = [turn[mode][step] for turn in turns]
            yield Measurement(f"{step}, {name}: CPU seconds", tuple(cpu_s(job) for job in jobs), decimals=1)
            walls = tuple(recorded(job, "wall_s") for job in jobs)
            yield Measurement(f"{step}, {name}: wall time, s", walls, decimals=1)
            peaks = tuple(recorded(job, "peak_rss_mib") / 1024 for job in jobs)
            yield Measurement(f"{step}, {name}: peak memory, GiB", peaks, decimals=2)
        saved = tuple(cpu_s(turn["all"][step]) - cpu_s(turn["auto"][step]) for turn in turns)
        yield Measurement(f"{step}: CPU seconds saved", saved, decimals=1)
    totals = {mode: [sum(cpu_s(job) for job in turn[mode].values()) for turn in turns] for mode in MODES}
    for mode, name in MODES.items():
        yield Measurement(f"these steps, {name}: CPU seconds", tuple(totals[mode]), decimals=0)
    saved = tuple(every - auto for every, auto in zip(totals["all"], totals["auto"], strict=True))
    yield Measurement("these steps: CPU seconds saved", saved, decimals=0)
    every_job = [job for turn in turns for jobs in turn.values() for job in jobs.values()]
    other, wall = (sum(recorded(job, name) for job in every_job) for name in ("other_cpu_s", "wall_s"))
    yield Measurement("CPUs of these jobs that other programs used meanwhile", (other / wall,), decimals=2)


def main() -> int:
    """Print the figures; none has a bound."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="of the contigs' lengths (%(default)s)")
    parser.add_argument("--sample", default="SHALLOW1", help="of resources/rehearsal (%(default)s)")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.scale, arguments.repeats = 0.001, 1
    measurements.show_machine()
    # by its few reads alone, a shallow sample's walk would count as short
    options = ALONE["C1" if arguments.smallest else "C2"]
    with TemporaryDirectory(prefix="gpd-bench-") as made, jvm_options(options):
        simulate(Path(made) / "pool", arguments.sample, arguments.scale, arguments.seed)
        found = measure(Path(made), arguments.sample, arguments.repeats, CALLED if arguments.smallest else CALLS)
        holds = measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
