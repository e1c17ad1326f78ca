"""Hold the calls of each choice that may change calls against the truth, and show what the choice stores.

    python scripts/bench/accuracy.py [--cohorts germline_chr20 germline_chr22 small] [--seed 1] [--smallest]

The samples are called jointly from their reads with the default of each key, then with one choice changed. `found`,
`missed` and `false` are alleles after filters, added up over samples; their genotypes do not count. `differ` are
records whose alleles, filter or genotypes are not those with the defaults. Bytes are shares of those with the defaults,
of CRAM files shares of the BAM files with the defaults. The real reads are held against GIAB: of chr20 inside its
confident regions; of chr22 there are none, so that an allele that GIAB lacks may be true. Without ../shared/data they
are left out. The simulated samples have duplications that the reference lacks, which give false SNPs.

On 2 cores it takes some 15 minutes.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from benches import calls, cohorts
from benches.cohorts import Real, Simulated
from benches.measurements import Measurement
from benches.runs import Runner, arguments_of, run_bench
from benches.truth import COUNTS, GENOME, Counts, held_against_truth, total

from gpd.processes import output_of

SETTINGS = {"calling": "joint", "filter": "hard"}
BANDS = " ".join(f"-GQB {band}" for band in range(10, 100, 10))
DEFAULTS = "defaults"
CHOICES: Mapping[str, Mapping[str, object]] = {
    DEFAULTS: {},
    "bqsr: none": {"bqsr": "none"},
    "quantize: [10, 20, 30]": {"quantize": [10, 20, 30]},
    "duplicates: samtools": {"duplicates": "samtools"},
    "pcr_free: true": {"pcr_free": True},
    "reblock: true": {"reblock": True},
    "haplotype_caller: -GQB 10 to 90": {"extra": {"haplotype_caller": BANDS}},
}
# of each the first that a run has
GVCFS = ("results/reblock_gvcf", "results/haplotype_caller")
ALIGNMENTS = ("results/base_recalibration", "results/mark_duplicates")
COHORTS: Mapping[str, Simulated | Real] = {
    each.name: each for each in (cohorts.CHR20, cohorts.CHR22, replace(cohorts.SMALL, samples=2), cohorts.TINY)
}
LEAST = {"germline_chr20": 0.99}  # of true alleles that are found, and of called ones that are true
TABLES: dict[str, list[str]] = {}  # of the page, by cohort


def files(run: Path, folders: Sequence[str], pattern: str) -> list[Path]:
    """Those of the first folder that has some."""
    return next(filter(None, (sorted((run / folder).glob(pattern)) for folder in folders)))


def stored(run: Path) -> dict[str, int]:
    """Bytes of the GVCFs and of the final alignments, as BAM and as the rule `alignment` makes CRAM of it."""
    gvcfs, bams = files(run, GVCFS, "*.g.vcf.gz"), files(run, ALIGNMENTS, "*.bam")
    crams = [bam.with_suffix(".cram") for bam in bams]
    for bam, cram in zip(bams, crams, strict=True):
        output_of(["samtools", "view", "-C", "-T", str(run / GENOME), "-o", str(cram), str(bam)])
    return {
        name: sum(path.stat().st_size for path in paths)
        for name, paths in {"GVCF": gvcfs, "BAM": bams, "CRAM": crams}.items()
    }


def row_of(choice: str, counts: Mapping[str, Counts], differ: int, size: Mapping[str, float]) -> dict[str, object]:
    alleles = {f"{kind}s {name}": getattr(of, field) for kind, of in counts.items() for name, field in COUNTS.items()}
    return {"choice": choice, **alleles, "differ": differ, **{name: f"{share:.2f}" for name, share in size.items()}}


def measure(name: str, folder: Path, seed: int) -> Iterator[Measurement]:
    """Call with the defaults, then with each choice."""
    cohort, rows = COHORTS[name], []
    source = cohort.write(folder / "pool", seed)
    samples = tuple(member.name for member in source.members)
    usual: dict[str, int] = {}
    for choice, settings in CHOICES.items():
        run, runner = folder / f"run-{len(rows)}", Runner(source, samples, SETTINGS | settings)
        runner.begin(run, runner.calls)
        called, size = run / runner.calls[0], stored(run)
        if choice == DEFAULTS:
            defaults, usual = called, size | {"CRAM": size["BAM"]}
        counts = held_against_truth(cohort, run, dict.fromkeys(samples, called))
        shares = {file: size[file] / usual[file] for file in size}
        rows.append(row_of(choice, counts, calls.compare(defaults, called).in_results, shares))
        every, least = total([*counts.values()]), LEAST.get(name)
        for what, share in {
            "true ones that are found": every.recall,
            "called ones that are true": every.precision,
        }.items():
            yield Measurement(f"{name}, {choice}: alleles, {what}", (share,), least, of_results=True)
    TABLES[name] = [str(cohort), *pd.DataFrame(rows).to_string(index=False).splitlines()]
    print(*TABLES[name], sep="\n", flush=True)


def main() -> int:
    arguments = arguments_of(__doc__, COHORTS)
    return run_bench(arguments, COHORTS, lambda cohort, folder: measure(cohort, folder, arguments.seed), TABLES)


if __name__ == "__main__":
    sys.exit(main())
