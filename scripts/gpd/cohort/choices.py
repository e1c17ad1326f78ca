"""The keys of the configuration that a cohort begins with."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpd.cohort.notes import Notes
from gpd.cohort.read_lanes import Found
from gpd.cohort.read_search import as_written
from gpd.cohort.references import TRAITS, Reference
from gpd.cohort.written import CONFIG, FOLDER, SAMPLES, Choice
from gpd.text.formats import number


@dataclass(frozen=True)
class Basis:
    """What the user gives beside the reads; the run writes to `directory`."""

    pipeline: str
    directory: Path
    reference: Path | Reference | None = None  # a FASTA file, or one of those that are known by name
    known_sites: Sequence[Path] = ()
    annotation: Path | None = None

    @property
    def named(self) -> Reference | None:
        """The reference that is known by name."""
        return self.reference if isinstance(self.reference, Reference) else None

    def shown(self, path: Path) -> str:
        return as_written(path, self.directory)

    def of_reference(self, key: str) -> list[str]:
        """The files that a named reference has for a key."""
        return [self.shown(path) for path in self.named.of(key)] if self.named else []


def choices(given: Basis, found: Found, notes: Notes) -> Iterator[Choice]:
    """The keys; what they lack goes to the notes, and stands as a comment or an example in the configuration."""
    config = given.directory / FOLDER / CONFIG
    yield Choice("reference", {"fasta": _fasta(given)}, "FASTA file, plain or gzip compressed; indexes are made")
    if not given.reference:
        notes.to_do.append(f"name the FASTA file of your genome in {config}: reference.fasta")
    if given.named and given.named.missing:
        notes.to_do.append(
            f"fetch {given.named.name}, some {number(given.named.gb, 2)} GB: gpd reference {given.named.name} "
            f"--into {shlex.quote(str(given.named.folder.parent))}"
        )
    yield from (_of_rna if given.pipeline == "tuxedo" else _of_genomes)(given, found, notes)


def _fasta(given: Basis) -> str:
    if isinstance(given.reference, Path):
        return given.shown(given.reference)
    return (given.of_reference("reference.fasta") or ["GENOME.fa.gz"])[0]


def _of_genomes(given: Basis, found: Found, notes: Notes) -> Iterator[Choice]:
    known = [given.shown(path) for path in given.known_sites] or given.of_reference("known_sites")
    why = "VCF files of known variants, by which base qualities are recalibrated"
    yield Choice("known_sites", known or ["KNOWN_SITES.vcf.gz"], why, is_open=not known)
    if found.bqsr:
        yield Choice("bqsr", found.bqsr, "base qualities of the alignments are recalibrated already")
    elif not known:
        yield Choice("bqsr", "none", "take this out where known_sites are named")
        notes.guessed.append("bqsr: none, for no known sites are named, by which base qualities would be recalibrated")
    if found.bam_input:
        yield Choice("bam_input", found.bam_input)
    if given.named:
        yield from _of_named(given, given.named)


def _of_named(given: Basis, reference: Reference) -> Iterator[Choice]:
    """What else a reference brings that is known by name; what is a matter of choice as comments."""
    if indels := given.of_reference("known_indels"):
        yield Choice("known_indels", indels)
    for key in ("dbsnp", "common_sites"):
        yield from (Choice(key, path) for path in given.of_reference(key))
    for path in given.of_reference("intervals"):
        yield Choice("intervals", path, "to call the chromosomes alone", is_open=True)
    if men := reference.ploidy_of_men:
        regions = {"male": given.shown(men), "female": ""}
        yield Choice("ploidy_regions", regions, "X and Y of men; fill in the column sex of samples.tsv", is_open=True)
    models: dict[str, dict] = {}
    for kind, name, file in reference.training_sets():
        sets = models.setdefault(kind, {"resources": {}})["resources"]
        sets[name] = {"vcf": given.shown(file), **TRAITS[name]}
    if {"snps", "indels"} <= models.keys() and any(
        each.get("truth") for each in models["indels"]["resources"].values()
    ):
        yield Choice("vqsr", models, "training sets, for filter: vqsr")


def _of_rna(given: Basis, found: Found, notes: Notes) -> Iterator[Choice]:
    folder = given.directory / FOLDER
    genes = [given.shown(given.annotation)] if given.annotation else given.of_reference("annotation")
    yield Choice("annotation", (genes or ["GENES.gtf.gz"])[0], "the genes, GTF or GFF3", not genes)
    if not genes:
        notes.to_do.append(f"name the genes in {folder / CONFIG}: annotation")
    if found.strandedness:
        yield Choice("strandedness", found.strandedness)
    if not all(lane.condition for lane in found.lanes):
        notes.to_do.append(f"give each sample its condition in {folder / SAMPLES}, column condition")
