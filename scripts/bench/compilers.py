"""Measure which of the JVM's two compilers takes less CPU time for each walker of GATK, from small samples to larger.

    python scripts/bench/compilers.py [--cohorts mb0.1 mb1 mb5] [--repeats 2] [--from-gvcfs] [--smallest]

Simulated samples at 30x, a variant a kilobase. The workflow maps them once; then it runs from there to joint calls with
hard filters, and on from these with other filters, with the first compiler alone (C1) and with the second alone (C2),
in turns. CPU seconds are those of a rule's jobs, over all samples, each on one thread: a rule starts one walker, or
those named. A walker's border in workflow/compilers.tsv lies where the ratio crosses 1: at as many megabases as its
jobs have of one genome, a sample's for those of a sample, else those of all. Models of `filter: vqsr` need more
variants than 0.1 Mb has.

On 2 cores it takes some 25 minutes. `mb40` takes hours, and 40 minutes with --from-gvcfs, which begins with
recalibrated reads and their GVCFs, as the workflow makes them. `--smallest` takes 20 kb.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benches import cohorts, measurements
from benches.cohorts import Simulated
from benches.jvms import ALONE, jvm_options
from benches.measurements import Measurement
from benches.runs import CALLS_OF, BenchRun, Runner, cpu_s, run_bench

COHORTS: Mapping[str, Simulated] = {
    **{f"mb{mb}": Simulated(f"mb{mb}", samples=2, length=round(mb * 1e6), coverage=30) for mb in (0.1, 1, 5)},
    "mb40": Simulated("mb40", samples=1, length=40_000_000, coverage=30),
    "tiny": replace(cohorts.TINY, samples=2),
}
WALKERS = {  # by rule
    "base_recalibrator": "BaseRecalibrator",
    "base_recalibration": "ApplyBQSR",
    "haplotype_caller": "HaplotypeCaller",
    "contamination": "GetPileupSummaries, CalculateContamination",
    "genomics_db_import": "GenomicsDBImport",
    "genotype_interval": "GenotypeGVCFs",
    "hard_filter_interval": "VariantFiltration",
    "extract_variant_annotations": "ExtractVariantAnnotations",
    "train_variant_annotations": "TrainVariantAnnotationsModel",
    "score_interval": "VariantFiltration, ScoreVariantAnnotations twice",
    "variant_recalibration": "VariantRecalibrator",
    "recalibrate_interval": "VariantFiltration, ApplyVQSR twice",
    "reblock_gvcf": "ReblockGVCF",
    "compose_str_table": "ComposeSTRTableFile",
    "calibrate_dragstr_model": "CalibrateDragstrModel",
}
SETTINGS: dict[str, object] = {"calling": "joint", "filter": "hard", "scatter": "none", "joint_intervals": 1}
MARKED, FINAL = "results/mark_duplicates/{sample}.bam", "results/base_recalibration/{sample}.bam"
GVCF = "results/haplotype_caller/{sample}.g.vcf.gz"
BEFORE = (MARKED, f"{MARKED}.bai")
GVCFS = (*BEFORE, FINAL, FINAL.replace(".bam", ".bai"), GVCF, f"{GVCF}.tbi")
BEGUN, FIRST = "begun", "hard"  # folders
LEAST_BP = 1_000_000  # for the models of `filter: vqsr`


@dataclass(frozen=True)
class Route:
    """Settings, and files of each sample that are made with them; beside those, the calls where these differ."""

    settings: Mapping[str, object]
    files: tuple[str, ...] = ()
    calls: bool = True
    least_bp: int = 0


def routes(folder: Path) -> dict[str, Route]:
    """FIRST goes on from what was made before the turns, the others from what it made."""
    return {
        FIRST: Route({"common_sites": str(folder / "common.vcf.gz")}, ("results/contamination/{sample}.tsv",)),
        "vets": Route({"filter": "vets"}),
        "vqsr": Route({"filter": "vqsr"}, least_bp=LEAST_BP),
        "reblocked": Route({"reblock": True}, ("results/reblock_gvcf/{sample}.g.vcf.gz",), calls=False),
        "dragen": Route({"dragen_mode": True}, ("results/calibrate_dragstr_model/{sample}.txt",), calls=False),
    }


def cpu_s_by_rule(run: BenchRun) -> Counter[str]:
    found = Counter[str]()
    for attempt in run.attempts:
        if attempt.rule in WALKERS:
            found[attempt.rule] += cpu_s(attempt)
    return found


def targets(route: Route, runner: Runner) -> list[str]:
    calls = CALLS_OF[str(route.settings.get("filter", SETTINGS["filter"]))].format(callset="cohort")
    of_samples = [file.format(sample=sample) for file in route.files for sample in runner.samples]
    return [*([calls] if route.calls else []), *of_samples]


def one_turn(cohort: Simulated, runner: Runner, folder: Path) -> Counter[str]:
    """CPU seconds by rule, of all routes."""
    taken = Counter[str]()
    for name, route in routes(folder).items():
        if cohort.length >= route.least_bp:
            start = folder / (BEGUN if name == FIRST else FIRST)
            run = runner.go_on(start, folder / name, targets(route, runner), **route.settings)
            of_route = cpu_s_by_rule(run)
            if again := taken.keys() & of_route.keys():
                sys.exit(f"{name}: made once more: {', '.join(sorted(again))}")
            taken.update(of_route)
    return taken


def measure(cohort: Simulated, folder: Path, seed: int, repeats: int, from_gvcfs: bool) -> Iterator[Measurement]:
    """All routes with each compiler, in turns."""
    cohort.write(folder / "pool", seed)
    source = cohorts.configured(folder / "pool", vets=cohorts.VETS)
    cohorts.write_common_sites(source, folder / "common.vcf.gz")
    runner = Runner(source, tuple(member.name for member in source.members), SETTINGS)
    runner.begin(folder / BEGUN, GVCFS if from_gvcfs else BEFORE)
    taken: dict[str, list[Counter[str]]] = {name: [] for name in ALONE}
    for _ in range(repeats):
        for name, options in ALONE.items():
            with jvm_options(options):
                taken[name].append(one_turn(cohort, runner, folder))
    for rule in sorted(taken["C1"][0], key=list(WALKERS).index):
        first, second = (tuple(turn[rule] for turn in taken[name]) for name in ALONE)
        yield Measurement(f"{cohort.name}: {WALKERS[rule]}: CPU seconds with C1", first, decimals=1)
        ratios = tuple(c2 / c1 for c1, c2 in zip(first, second, strict=True))
        yield Measurement(f"{cohort.name}: {WALKERS[rule]}: CPU time with C2 to that with C1", ratios)


def main() -> int:
    """Print the figures; none has a bound."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=COHORTS, default=["mb0.1", "mb1", "mb5"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--from-gvcfs", action="store_true", help="no walk over reads but for contamination and models")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cohorts, arguments.repeats = ["tiny"], 1
    words = arguments.seed, arguments.repeats, arguments.from_gvcfs
    return run_bench(arguments, COHORTS, lambda name, folder: measure(COHORTS[name], folder, *words))


if __name__ == "__main__":
    sys.exit(main())
