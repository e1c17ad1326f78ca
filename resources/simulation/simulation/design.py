"""What is to be simulated: a folder with design.yaml, and a table of samples beside it. Tables of contigs and gaps are
there, too, or in the folder that `genome` names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from simulation.contigs import Contig, contigs, gaps, rows_of

ONCE_IN_MEN = ("chrX", "chrY")


@dataclass(frozen=True)
class Sample:
    """A sample of DNA: its sex, the mean depth of the chromosome that is called in earnest, and that of all others. One
    of RNA has a condition instead."""

    name: str
    number: int
    sex: str = ""
    deep: float = 0.0
    depth: float = 0.0
    condition: str = ""

    def copies(self, contig: Contig) -> int:
        """How many copies of a chromosome the sample has."""
        if contig.name in ONCE_IN_MEN:
            return {"male": 1, "female": 2 if contig.name == "chrX" else 0}[self.sex]
        return 1 if contig.name == "chrM" else 2


@dataclass(frozen=True)
class Genes:
    """Genes of which RNA is sequenced: one in each `every_bp` of a chromosome, `pairs` of reads a sample."""

    every_bp: int
    pairs: int


@dataclass(frozen=True)
class Design:
    """`genome` is the folder of the tables of contigs and gaps, `deep` the chromosome that is called in earnest,
    `known_share` the part of the variants of the population that are known sites, `also` what is made beside the
    reference, known sites, tables and reads. Where there are `genes`, samples are of RNA."""

    genome: Path
    seed: int
    scale: float
    deep: str
    known_share: float
    also: tuple[str, ...]
    genes: Genes | None
    contigs: Mapping[str, Contig]
    samples: Mapping[str, Sample]

    @property
    def chromosomes(self) -> list[Contig]:
        return [contig for contig in self.contigs.values() if contig.is_chromosome]

    @property
    def has_copies(self) -> bool:
        """Whether there are ALT or HLA contigs."""
        return any(contig.is_copy for contig in self.contigs.values())

    @property
    def once_in_men(self) -> list[Contig]:
        return [self.contigs[name] for name in ONCE_IN_MEN if name in self.contigs]

    def depth(self, sample: Sample, contig: Contig) -> float:
        return sample.deep if contig.name == self.deep else sample.depth

    def gaps(self, contig: Contig) -> list[tuple[int, int]]:
        """A contig's runs of N, bp from 0."""
        return gaps(self.genome, contig, self.scale)


def read(folder: Path, scale: float = 1.0, samples: int | None = None, seed: int | None = None) -> Design:
    """The design in a folder, at a scale of its contigs, with the first so many of its samples; None: all of them."""
    given = yaml.safe_load((folder / "design.yaml").read_text(encoding="utf-8"))
    rows = rows_of(folder / "samples.tsv")[:samples]
    genome = folder / given.get("genome", ".")
    return Design(
        genome=genome,
        seed=given["seed"] if seed is None else seed,
        scale=scale,
        deep=given.get("deep", ""),
        known_share=given.get("known_share", 0.0),
        also=tuple(given.get("also", ())),
        genes=Genes(**given["genes"]) if "genes" in given else None,
        contigs=contigs(genome, scale),
        samples={row["name"]: _sample(row, number) for number, row in enumerate(rows, 1)},
    )


def _sample(row: Mapping[str, str], number: int) -> Sample:
    depths = {key: float(row[key]) for key in ("deep", "depth") if key in row}
    return Sample(row["name"], number, row.get("sex", ""), condition=row.get("condition", ""), **depths)
