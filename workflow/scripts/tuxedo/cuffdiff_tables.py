"""Look at what cuffdiff left behind.

    cuffdiff_tables.py check --conditions A,B FOLDER     fail unless its tables are whole

Builds of cuffdiff that were linked with a recent Boost crash after the last result is computed: tables are then empty,
or end where a block of the file system ends. Standard library only.
"""

import sys
from math import comb
from pathlib import Path

LEVELS = {"gene": "genes", "isoform": "isoforms", "tss_group": "tss_groups", "cds": "cds"}


class TableBrokenError(Exception):
    """A table is missing, empty or cut off; the message says which, and what to do."""


def rows(path: Path) -> int:
    """Rows below the header of a table that is whole."""
    if not path.exists() or not path.stat().st_size:
        raise TableBrokenError(f"{path} is {'empty' if path.exists() else 'missing'}")
    with path.open(encoding="utf-8", newline="\n") as file:
        columns, number = file.readline().count("\t"), 0
        for number, line in enumerate(file, 1):
            if line.count("\t") != columns or not line.endswith("\n"):
                raise TableBrokenError(f"{path} is cut off in line {number + 1}")
    return number


def check(folder: Path, conditions: int) -> None:
    """Every level has its tables: each of its features once, once a replicate, tested for each pair of conditions."""
    replicates = rows(folder / "read_groups.info")
    for level, features in LEVELS.items():
        expected = rows(folder / f"{features}.fpkm_tracking")
        times = {
            f"{features}.count_tracking": 1,
            f"{features}.read_group_tracking": replicates,
            f"{level}_exp.diff": comb(conditions, 2),
        }
        for table, each in times.items():
            if (found := rows(folder / table)) != expected * each:
                raise TableBrokenError(f"{folder}/{table} has {found} rows, not {expected} x {each}")
    if not rows(folder / "genes.fpkm_tracking"):
        raise TableBrokenError(f"{folder}/genes.fpkm_tracking has no genes")
    for name in ("splicing.diff", "promoters.diff", "cds.diff", "run.info"):
        rows(folder / name)


def main(argv: list[str]) -> int:
    _, _, conditions, folder = argv
    try:
        check(Path(folder), len(conditions.split(",")))
    except TableBrokenError as broken:
        cure = "If it crashed at its end: make setup cures that, make doctor shows it"
        print(f"error: cuffdiff did not finish its tables: {broken}. {cure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
