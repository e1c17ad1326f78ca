"""Hold the calls of each preset against the truth, with the CPU time of calling, and show what each hard filter takes.

    python scripts/bench/presets.py [--cohorts germline_chr20 repeats] [--seed 1] [--smallest]

Reads are mapped once; each configuration goes on from there, or from the one before it as far as both do the same.
`found`, `missed` and `false` are alleles after filters, added up over samples; their genotypes do not count. Recall and
precision have 95% intervals (Wilson). `CPU s` are those of all steps after duplicates are marked, `a Gb` of reads: of
small samples, much of it is starts of Java. The real reads are held against GIAB: of chr20 inside its
confident regions; of chr22 there are none, so that an allele that GIAB lacks may be true. Without ../shared/data they
are left out. In the simulated reads polymerases slip in short tandem repeats, in a profile of this project's own
(resources/demo/germline/demo_germline/slippage.py), and the samples have duplications that the reference lacks, which
give false SNPs. The last table has the filters of `gatk-best-practices`, of samples called alone: the alleles that each
took, and those of them that no other filter took.

On 2 cores it takes some 5 to 15 minutes, and up to 40 more for `repeats_large`.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from benches import cohorts
from benches.cohorts import Real, Simulated
from benches.filtering import FilteredAlleles, taken
from benches.measurements import Measurement
from benches.runs import BenchRun, Runner, arguments_of, cpu_s, run_bench
from benches.truth import COUNTS, GENOME, Counts, held_against_truth, total, truth_of
from scipy.stats import binomtest

from gpd.lab.pool import Source
from gpd.pipelines import GERMLINE
from gpd.processes import output_of

BEST_PRACTICES, DRAGEN = "gatk-best-practices", "dragen-gatk"
SINGLE, JOINT = {"calling": "per_sample", "filter": "hard"}, {"calling": "joint", "filter": "hard"}


class CalledConfiguration(NamedTuple):
    """A preset and other settings; `after` is the configuration whose results it goes on from, else mapped reads."""

    preset: str
    settings: Mapping[str, object]
    after: str = ""


VIA_JOINT, VIA_GVCFS = f"{BEST_PRACTICES}, joint", f"{DRAGEN}, joint"
CONFIGURATIONS = {
    BEST_PRACTICES: CalledConfiguration(BEST_PRACTICES, SINGLE),
    f"{BEST_PRACTICES}, filter: none": CalledConfiguration(BEST_PRACTICES, SINGLE | {"filter": "none"}, BEST_PRACTICES),
    f"{BEST_PRACTICES}, filter: vets": CalledConfiguration(BEST_PRACTICES, SINGLE | {"filter": "vets"}, BEST_PRACTICES),
    VIA_JOINT: CalledConfiguration(BEST_PRACTICES, JOINT, BEST_PRACTICES),
    f"{VIA_JOINT}, filter: vets": CalledConfiguration(BEST_PRACTICES, JOINT | {"filter": "vets"}, VIA_JOINT),
    f"{VIA_JOINT}, filter: vqsr": CalledConfiguration(BEST_PRACTICES, JOINT | {"filter": "vqsr"}, VIA_JOINT),
    f"{BEST_PRACTICES}, gvcf: false": CalledConfiguration(BEST_PRACTICES, SINGLE | {"gvcf": False}),
    f"{DRAGEN}, gvcf: false": CalledConfiguration(DRAGEN, SINGLE | {"gvcf": False}),
    VIA_GVCFS: CalledConfiguration(DRAGEN, JOINT),
    f"{VIA_GVCFS}, no extra": CalledConfiguration(DRAGEN, JOINT | {"extra": {"genotype_gvcfs": ""}}, VIA_GVCFS),
}
LEAST_BP = {"vets": 0, "vqsr": 1_000_000}  # of a simulated genome; real regions are too small for a model
FILTERED = BEST_PRACTICES  # whose filters are looked at
MAPPED = ("results/map_and_sort/{sample}/{unit}.bam", "results/map_and_sort/{sample}/{unit}.bam.bai")
AFTER = frozenset(GERMLINE.steps) - {"map_and_sort", "mark_duplicates"}
FILTERS = "hard_filter"  # the step that every configuration has of its own
LARGE = replace(cohorts.REPEATS, name="repeats_large", length=5_000_000)
COHORTS: Mapping[str, Simulated | Real] = {
    each.name: each for each in (cohorts.CHR20, cohorts.CHR22, cohorts.REPEATS, LARGE, cohorts.TINY)
}
TABLES: dict[str, list[str]] = {}  # of the page: by cohort, and all filters
FILTER_ROWS: list[dict[str, object]] = []


def share(part: int, whole: int) -> str:
    """A share with its 95% interval; empty where it is of nothing."""
    if not whole:
        return ""
    found = binomtest(part, whole).proportion_ci(method="wilson")
    return f"{part / whole:.4f} ({found.low:.4f} to {found.high:.4f})"


def rows_of(configuration: str, counts: Mapping[str, Counts]) -> Iterator[dict[str, object]]:
    """A row a kind of variant."""
    for kind, of_kind in counts.items():
        numbers = {name: getattr(of_kind, field) for name, field in COUNTS.items()}
        true = of_kind.true_positives + of_kind.false_negatives
        called = of_kind.true_positives + of_kind.false_positives
        yield {
            "configuration": configuration,
            "kind": kind,
            "true": true,
            **numbers,
            "recall": share(of_kind.true_positives, true),
            "precision": share(of_kind.true_positives, called),
        }


def cpu_s_by_step(run: BenchRun) -> Mapping[str, float]:
    """Of the steps that come after duplicates are marked."""
    found: Counter[str] = Counter()
    for each in run.attempts:
        if each.step in AFTER:
            found[each.step] += cpu_s(each)
    return found


def gigabases(alignments: Iterable[Path]) -> float:
    """Those of all reads, by samtools stats."""
    reports = (output_of(["samtools", "stats", str(bam)], timeout_s=None) for bam in alignments)
    return sum(int(re.search(r"^SN\ttotal length:\t(\d+)", report, re.MULTILINE)[1]) for report in reports) / 1e9


def filter_rows(cohort: Simulated | Real, run: Path, called: Mapping[str, Path]) -> Iterator[dict[str, object]]:
    """What each filter took of the cohort's alleles, added up over samples."""
    sums: dict[str, Counter[str]] = {}
    for sample, vcf in called.items():
        truth, regions = truth_of(cohort, run.parent / "pool", sample)
        for name, counts in taken(vcf, truth, run / GENOME, sample, regions).items():
            sums.setdefault(name, Counter()).update(counts._asdict())
    for name, counts in sums.items():
        yield {"cohort": cohort.name, "filter": name} | {
            field.replace("_", ", "): counts[field] for field in FilteredAlleles._fields
        }


def configurations(cohort: Simulated | Real) -> Mapping[str, CalledConfiguration]:
    """Those that can be tried on the cohort."""
    length = cohort.length if isinstance(cohort, Simulated) else -1
    of_models = {name: LEAST_BP.get(str(each.settings["filter"])) for name, each in CONFIGURATIONS.items()}
    return {name: CONFIGURATIONS[name] for name, least in of_models.items() if least is None or length >= least}


def with_preset(pool: Path, preset: str) -> Source:
    """The pool as it is with the preset, whose defaults are in place of others only where a configuration is read."""
    sets = {"vets": cohorts.VETS} if (pool / "known").is_dir() else {}
    return cohorts.configured(pool, preset=preset, **sets)


def measure(name: str, folder: Path, seed: int) -> Iterator[Measurement]:
    """Map, then call with each configuration."""
    cohort, rows = COHORTS[name], []
    pool, mapped = folder / "pool", folder / "mapped"
    samples = tuple(member.name for member in cohort.write(pool, seed).members)
    Runner(with_preset(pool, BEST_PRACTICES), samples, SINGLE).begin(mapped, MAPPED)
    bases = gigabases(mapped.glob("results/map_and_sort/*/*.bam"))
    folders, cpu_s = {"": mapped}, {"": {}}
    for number, (configuration, (preset, settings, after)) in enumerate(configurations(cohort).items()):
        run, runner = folder / f"run-{number}", Runner(with_preset(pool, preset), samples, settings)
        anew = cpu_s_by_step(runner.go_on(folders[after], run))
        folders[configuration] = run
        cpu_s[configuration] = {step: s for step, s in cpu_s[after].items() if step != FILTERS} | anew
        paths = [run / path for path in runner.calls]
        called = dict(zip(samples, paths if len(paths) > 1 else paths * len(samples), strict=True))
        counts = held_against_truth(cohort, run, called)
        rows += rows_of(configuration, counts)
        if configuration == FILTERED:
            FILTER_ROWS.extend(filter_rows(cohort, run, called))
        every = total([*counts.values()])
        for what, value in {"found of true ones": every.recall, "true of called ones": every.precision}.items():
            yield Measurement(f"{name}, {configuration}: alleles, {what}", (value or 0.0,), of_results=True)
    times = [
        {"configuration": each, "CPU s": f"{sum(of.values()):.0f}", "CPU s a Gb": f"{sum(of.values()) / bases:.0f}"}
        for each, of in cpu_s.items()
        if each
    ]
    TABLES[name] = [f"{cohort}, {bases:.4f} Gb of reads", *lines(rows), "", *lines(times)]
    TABLES["filters"] = lines(FILTER_ROWS)
    print(*TABLES[name], "", *TABLES["filters"], sep="\n", flush=True)


def lines(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The lines of a table."""
    return pd.DataFrame(rows).to_string(index=False).splitlines()


def main() -> int:
    arguments = arguments_of(__doc__, COHORTS)
    return run_bench(arguments, COHORTS, lambda cohort, folder: measure(cohort, folder, arguments.seed), TABLES)


if __name__ == "__main__":
    sys.exit(main())
