"""Hold the significant genes of a Tuxedo run against the changes that were simulated.

Cuffmerge gives genes names of its own and joins what overlaps, so a test stands for the annotated genes whose names
its `gene` column lists.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

STRONG_FOLD = 4.0
FLOOR_FRAGMENTS = 100.0  # expected a sample, in the condition that has more of the gene
ROUNDING = 1e-3  # the table of truth has four digits, and 6 down is written 0.1667


@dataclass(frozen=True)
class ExpressionComparison:
    """Names of genes: `strong` ones that change by STRONG_FOLD or more and are expressed above the floor, those of them
    that were `found` significant in the right direction, and `false` ones that are significant and do not change."""

    strong: tuple[str, ...]
    found: tuple[str, ...]
    false: tuple[str, ...]
    significant: int

    @property
    def missed(self) -> tuple[str, ...]:
        """The strong ones that were not found."""
        return tuple(sorted(set(self.strong) - set(self.found)))


@dataclass(frozen=True)
class TrueGene:
    """Expected fragments a sample in each condition, and the second over the first."""

    name: str
    fragments: tuple[float, float]
    fold_change: float

    @property
    def strong(self) -> bool:
        """Whether a run has to find it."""
        fold = max(self.fold_change, 1 / self.fold_change) if self.fold_change else float("inf")
        return fold >= STRONG_FOLD * (1 - ROUNDING) and max(self.fragments) >= FLOOR_FRAGMENTS

    @property
    def changed(self) -> bool:
        """Whether it differs between the conditions at all."""
        return self.fold_change != 1.0


def read_truth(path: Path) -> dict[str, TrueGene]:
    """The simulated genes by name, in lower case as in the annotation's gene_name."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        genes = [
            TrueGene(
                row["gene_id"].lower(),
                (float(row["control_fragments"]), float(row["treated_fragments"])),
                float(row["fold_change"]),
            )
            for row in rows
        ]
    return {gene.name: gene for gene in genes}


def compare_expression(gene_exp: Path, truth: Path) -> ExpressionComparison:
    """Compare cuffdiff's gene_exp.diff with the truth of a simulated experiment."""
    genes = read_truth(truth)
    with gene_exp.open(encoding="utf-8", newline="") as file:
        tests = [row for row in csv.DictReader(file, delimiter="\t") if row["significant"] == "yes"]
    found, false = set(), set()
    for test in tests:
        members = [genes[name] for name in named(test["gene"]) if name in genes]
        rises = float(test["log2(fold_change)"]) > 0
        found |= {gene.name for gene in members if gene.strong and (gene.fold_change > 1) == rises}
        if not any(gene.changed for gene in members):
            false.add(test["gene"] if test["gene"] != "-" else test["gene_id"])
    strong = sorted(gene.name for gene in genes.values() if gene.strong)
    return ExpressionComparison(tuple(strong), tuple(sorted(found)), tuple(sorted(false)), len(tests))


def named(cell: str) -> Iterable[str]:
    """The genes that a cell of cuffdiff's gene column lists."""
    return cell.lower().split(",")
