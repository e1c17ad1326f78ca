"""The contigs of a design, at a scale, and their gaps: a human genome's have the names of the GRCh38 analysis set."""

import csv
from dataclasses import dataclass
from pathlib import Path

SHORTEST = 200  # bp, or the contig's own length: what a scale leaves of it
TELOMERE = 10_000
MHC = ("chr6", 29_600_000, 33_100_000)  # where HLA genes lie, bp


@dataclass(frozen=True)
class Contig:
    """A contig: `number` in its order, length in bp, and whether it is a copy of a chromosome's region."""

    number: int
    name: str
    length: int

    @property
    def is_copy(self) -> bool:
        return self.name.endswith("_alt") or self.name.startswith("HLA-")

    @property
    def is_chromosome(self) -> bool:
        """Whether samples differ in it; of the rest they have what the reference has."""
        return self.name.startswith("chr") and "_" not in self.name and self.name != "chrEBV"

    @property
    def origin(self) -> str:
        """The chromosome that it is a copy of."""
        return MHC[0] if self.name.startswith("HLA-") else self.name.partition("_")[0]


def scaled(length: int, scale: float) -> int:
    return max(min(length, SHORTEST), round(length * scale))


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(newline="") as table:
        return list(csv.DictReader(table, delimiter="\t"))


def contigs(design: Path, scale: float) -> dict[str, Contig]:
    """All contigs of the design in this folder, in their order."""
    rows = rows_of(design / "contigs.tsv")
    found = (Contig(number, row["contig"], scaled(int(row["length"]), scale)) for number, row in enumerate(rows))
    return {contig.name: contig for contig in found}


def gaps(design: Path, contig: Contig, scale: float) -> list[tuple[int, int]]:
    """Runs of N as (start, end), bp from 0: those that the design names, and telomeres."""
    rows = [row for row in rows_of(design / "gaps.tsv") if row["contig"] == contig.name]
    found = [(round(int(row["start"]) * scale), round(int(row["end"]) * scale)) for row in rows]
    if contig.is_chromosome and contig.name != "chrM":
        end = round(TELOMERE * scale)
        found += [(0, end), (contig.length - end, contig.length)]
    return sorted((start, end) for start, end in found if end > start)
