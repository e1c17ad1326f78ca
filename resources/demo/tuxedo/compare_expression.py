#!/usr/bin/env python3
"""Hold the significant genes of a Tuxedo demo against the changes that were simulated; print a table as JSON.

Cuffmerge gives genes names of its own and joins what overlaps, so a test stands for the annotated genes whose names
its `gene` column lists.
"""

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path

STRONG_FOLD = 4.0
FLOOR_FRAGMENTS = 100.0  # expected a sample, in the condition that has more of the gene
ROUNDING = 1e-3  # the table of truth has four digits, and 6 down is written 0.1667

Row = dict[str, str]


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


def compare_expression(gene_exp: Path, truth: Path) -> ExpressionComparison:
    """Compare cuffdiff's gene_exp.diff with the truth of a simulated experiment."""
    folds = {row["gene_id"].lower(): float(row["fold_change"]) for row in _rows(truth)}  # second condition over first
    strong = {row["gene_id"].lower() for row in _rows(truth) if _is_strong(row)}
    tests = [row for row in _rows(gene_exp) if row["significant"] == "yes"]
    found, false = set(), set()
    for test in tests:
        genes = [name for name in test["gene"].lower().split(",") if name in folds]
        rises = float(test["log2(fold_change)"]) > 0
        found |= {name for name in genes if name in strong and (folds[name] > 1) == rises}
        if all(folds[name] == 1 for name in genes):
            false.add(test["gene"] if test["gene"] != "-" else test["gene_id"])
    return ExpressionComparison(tuple(sorted(strong)), tuple(sorted(found)), tuple(sorted(false)), len(tests))


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _is_strong(row: Row) -> bool:
    """Whether a run has to find this gene."""
    change = float(row["fold_change"])
    fold = max(change, 1 / change) if change else float("inf")
    fragments = max(float(row["control_fragments"]), float(row["treated_fragments"]))
    return fold >= STRONG_FOLD * (1 - ROUNDING) and fragments >= FLOOR_FRAGMENTS


def compare_demo(folder: Path) -> ExpressionComparison:
    """The significant genes against those that were changed."""
    return compare_expression(
        folder / "results" / "differential_expression" / "gene_exp.diff", folder / "truth" / "genes.tsv"
    )


def table(comparison: ExpressionComparison) -> dict[str, object]:
    """Significant genes against the simulated changes."""
    heads = ("changed 4 fold or more", "found", "missed", "false", "significant in all")
    counts = (comparison.strong, comparison.found, comparison.missed, comparison.false)
    rows = [(*(str(len(names)) for names in counts), str(comparison.significant))]
    return {"caption": "Significant genes against the simulated truth", "heads": heads, "rows": rows, "words": 0}


if __name__ == "__main__":
    print(json.dumps(table(compare_demo(Path(sys.argv[1])))))
