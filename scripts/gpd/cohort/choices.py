"""The keys of the configuration that a cohort begins with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpd.cohort.lanes import Found
from gpd.cohort.notes import Notes
from gpd.cohort.search import as_written
from gpd.cohort.written import CONFIG, FOLDER, SAMPLES, Choice


@dataclass(frozen=True)
class Given:
    """What the user gives beside the reads; the run writes to `directory`."""

    pipeline: str
    directory: Path
    reference: Path | None = None
    known_sites: Sequence[Path] = ()
    annotation: Path | None = None

    def shown(self, path: Path) -> str:
        return as_written(path, self.directory)


def choices(given: Given, found: Found, notes: Notes) -> Iterator[Choice]:
    """The keys; what they lack goes to the notes, and stands as a comment or an example in the configuration."""
    config = given.directory / FOLDER / CONFIG
    fasta = given.shown(given.reference) if given.reference else "GENOME.fa.gz"
    yield Choice("reference", {"fasta": fasta}, "FASTA file, plain or gzip compressed; indexes are made")
    if not given.reference:
        notes.to_do.append(f"name the FASTA file of your genome in {config}: reference.fasta")
    yield from (_of_rna if given.pipeline == "tuxedo" else _of_genomes)(given, found, notes)


def _of_genomes(given: Given, found: Found, notes: Notes) -> Iterator[Choice]:
    known = [given.shown(path) for path in given.known_sites]
    why = "VCF files of known variants, by which base qualities are recalibrated"
    yield Choice("known_sites", known or ["KNOWN_SITES.vcf.gz"], why, is_open=not known)
    if found.bqsr:
        yield Choice("bqsr", found.bqsr, "base qualities of the alignments are recalibrated already")
    elif not known:
        yield Choice("bqsr", "none", "take this out where known_sites are named")
        notes.guessed.append("bqsr: none, for no known sites are named, by which base qualities would be recalibrated")
    if found.bam_input:
        yield Choice("bam_input", found.bam_input)


def _of_rna(given: Given, found: Found, notes: Notes) -> Iterator[Choice]:
    genes, folder = given.annotation, given.directory / FOLDER
    yield Choice("annotation", given.shown(genes) if genes else "GENES.gtf.gz", "the genes, GTF or GFF3", not genes)
    if not genes:
        notes.to_do.append(f"name the genes in {folder / CONFIG}: annotation")
    if found.strandedness:
        yield Choice("strandedness", found.strandedness)
    if not all(lane.condition for lane in found.lanes):
        notes.to_do.append(f"give each sample its condition in {folder / SAMPLES}, column condition")
