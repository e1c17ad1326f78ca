"""Look at what cuffdiff left behind.

    cuffdiff_tables.py A,B FOLDER     fail unless the tables of these conditions are whole

Builds of cuffdiff that were linked with a recent Boost crash after the last result is computed: tables are then empty,
or end where a block of the file system ends. Standard library only.
"""

import sys
from math import comb
from pathlib import Path

LEVELS = {"gene": "genes", "isoform": "isoforms", "tss_group": "tss_groups", "cds": "cds"}


def refuse(fault: str) -> None:
    sys.exit(
        f"error: cuffdiff did not finish its tables: {fault}. If it crashed at its end: make setup cures that, make "
        "doctor shows it"
    )


def rows(path: Path) -> int:
    """Rows below the header of a table that is whole."""
    if not path.exists() or not path.stat().st_size:
        refuse(f"{path} is {'empty' if path.exists() else 'missing'}")
    with path.open(encoding="utf-8", newline="\n") as file:
        columns, number = file.readline().count("\t"), 0
        for number, line in enumerate(file, 1):
            if line.count("\t") != columns or not line.endswith("\n"):
                refuse(f"{path} is cut off in line {number + 1}")
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
                refuse(f"{folder}/{table} has {found} rows, not {expected} x {each}")
    if not rows(folder / "genes.fpkm_tracking"):
        refuse(f"{folder}/genes.fpkm_tracking has no genes")
    for name in ("splicing.diff", "promoters.diff", "cds.diff", "run.info"):
        rows(folder / name)


if __name__ == "__main__":
    check(Path(sys.argv[2]), len(sys.argv[1].split(",")))
