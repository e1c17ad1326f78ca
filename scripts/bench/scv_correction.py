"""Show what Cuffdiff's correction of its model of dispersions takes, and what genes are significant with and without.

    python scripts/bench/scv_correction.py [--cohorts three ten rnaseq_yeast_chrI] [--repeats 5] [--seed 1] [--smallest]

Samples of two conditions go to Cuffdiff's tables with the correction, as published, and from the same counts once more
without (cuffdiff.scv_correction), at a rate of false discoveries of 5%. Simulated replicates vary by 8% beyond chance;
each repeat has other ones. `false` genes are significant and were not changed. Of genes that were not changed a
twentieth should have p-values below 0.05. Of genes that were changed two fold, a run may find some: they count nowhere.
The real reads of yeast have no truth, and are compared once; without ../shared/data they are left out. The tables have
the genes that are significant one way alone.

On 2 cores a repeat takes some 2 minutes of `three`, and 5 of `ten`. `--smallest` takes 40 genes.
"""

import csv
import runpy
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benches import cohorts, measurements
from benches.cohorts import Experiment, RealExperiment
from benches.measurements import Measurement
from benches.runs import BenchRun, Runner, cpu_s, run_bench

from gpd.paths import ROOT

COHORTS: Mapping[str, Experiment | RealExperiment] = {
    each.name: each
    for each in (
        Experiment("three", replicates=3, genes=400),
        Experiment("ten", replicates=10, genes=400),
        cohorts.YEAST,
        Experiment("tiny", replicates=2, genes=40),
    )
}
FDR = LEVEL = 0.05
COMPARED, QUANTIFIED = "results/differential_expression/gene_exp.diff", "results/quantify/{sample}.cxb"
STEP = "differential_expression"
WAYS = {"corrected": True, "uncorrected": False}  # cuffdiff.scv_correction
COMPARE = runpy.run_path(str(ROOT / "resources/demo/tuxedo/compare_expression.py"))["compare_expression"]
HEAD = f"{'gene':24} {'found by':12} {'p corrected':>12} {'uncorrected':>12}"
TABLES: dict[str, list[str]] = {}  # of the page: by cohort, the genes that are significant one way alone


@dataclass(frozen=True)
class TestedGene:
    """What Cuffdiff says of a gene that it tested; `name` lists the annotated genes that overlap it."""

    name: str
    p_value: float
    significant: bool


def tested(table: Path) -> dict[str, TestedGene]:
    """The genes of gene_exp.diff that were tested, by Cuffdiff's own name of each."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["status"] == "OK"]
    return {row["test_id"]: TestedGene(row["gene"], float(row["p_value"]), row["significant"] == "yes") for row in rows}


def unchanged(truth: Path) -> frozenset[str]:
    """The names of genes, in small letters, that the second condition has as many of as the first."""
    with truth.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return frozenset(row["gene_id"].lower() for row in rows if float(row["fold_change"]) == 1)


def below_level(genes: Mapping[str, TestedGene], same: frozenset[str]) -> float:
    """Of the tested genes that were not changed, the share with a p-value below LEVEL."""
    below = [gene.p_value < LEVEL for gene in genes.values() if same.issuperset(gene.name.lower().split(","))]
    return statistics.mean(below)


def only_one_way(genes: Mapping[str, Mapping[str, TestedGene]]) -> list[str]:
    """A line for each gene that one way has significant and the other has not, with both p-values."""
    corrected, uncorrected = (genes[way] for way in WAYS)
    return [
        f"{gene.name:24} {way:12} {corrected[test].p_value:12.5f} {uncorrected[test].p_value:12.5f}"
        for test, gene in corrected.items()
        if test in uncorrected and gene.significant != uncorrected[test].significant
        for way in ["corrected" if gene.significant else "uncorrected"]
    ]


def compared(cohort: Experiment | RealExperiment, folder: Path, seed: int) -> dict[str, tuple[Path, BenchRun]]:
    """By way, the folder of a run, and what it took from the samples' counts on."""
    source = cohort.write(folder / "pool", seed)
    settings = {way: {"cuffdiff": {"fdr": FDR, "scv_correction": corrected}} for way, corrected in WAYS.items()}
    samples = tuple(member.name for member in source.members)
    Runner(source, samples, settings["corrected"]).begin(folder / "counts", [QUANTIFIED])
    return {
        way: (folder / way, Runner(source, samples, of_way).go_on(folder / "counts", folder / way, [COMPARED]))
        for way, of_way in settings.items()
    }


def figures_of(cohort: Experiment | RealExperiment, folder: Path, seed: int) -> Iterator[tuple[str, float]]:
    """The figures of a repeat by their names; the genes that differ go to TABLES."""
    runs = compared(cohort, folder, seed)
    genes = {way: tested(run / COMPARED) for way, (run, _) in runs.items()}
    for way, (run, taken) in runs.items():
        yield f"{way}: Cuffdiff, CPU seconds", sum(cpu_s(each) for each in taken.attempts if each.step == STEP)
        yield f"{way}: genes tested", len(genes[way])
        yield f"{way}: significant genes", sum(gene.significant for gene in genes[way].values())
        if isinstance(cohort, Experiment):
            truth = folder / "pool/truth/genes.tsv"
            against = COMPARE(run / COMPARED, truth)
            yield f"{way}: found of genes changed four fold and more", len(against.found) / len(against.strong)
            yield f"{way}: false of significant genes", len(against.false) / max(1, against.significant)
            yield f"{way}: p-values below {LEVEL}, of unchanged genes", below_level(genes[way], unchanged(truth))
    lines = only_one_way(genes)
    yield "genes significant one way alone", len(lines)
    TABLES.setdefault(cohort.name, [HEAD]).extend(lines)


def measure(cohort: Experiment | RealExperiment, folder: Path, seed: int, repeats: int) -> Iterator[Measurement]:
    """Each figure with a value for each repeat."""
    found: dict[str, list[float]] = {}
    for repeat in range(repeats if isinstance(cohort, Experiment) else 1):
        (folder / str(repeat)).mkdir()
        for what, value in figures_of(cohort, folder / str(repeat), seed + repeat):
            found.setdefault(what, []).append(value)
    for what, values in found.items():
        most = FDR if "false of" in what else None
        decimals = 3 if " of " in what else 1 if "seconds" in what else 0
        yield Measurement(f"{cohort.name}, {what}", tuple(values), most=most, decimals=decimals)
    print(*TABLES[cohort.name], sep="\n", flush=True)


def main() -> int:
    """Print the figures; return 1 where more than 5% of significant genes are false."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=list(COHORTS), default=["three", "ten", cohorts.YEAST.name])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cohorts, arguments.repeats = ["tiny"], 1
    seed, repeats = arguments.seed, arguments.repeats

    def of_cohort(name: str, folder: Path) -> Iterator[Measurement]:
        return measure(COHORTS[name], folder, seed, repeats)

    return run_bench(arguments, COHORTS, of_cohort, TABLES, pipeline="tuxedo")


if __name__ == "__main__":
    sys.exit(main())
