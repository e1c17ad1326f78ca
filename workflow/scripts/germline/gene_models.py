"""Genes for bcftools csq: GFF3 of Ensembl, GENCODE or RefSeq in the form that it reads, which is Ensembl's.

    gene_models.py --fai GENOME.fai < GFF3 > GENE_MODELS.gff3

It knows genes and transcripts by the prefix of their IDs, what they are by `biotype`, and exons and coding sequences by
their transcript. Contigs get the names that they have in the reference: with or without chr, MT or M. Lines on contigs
that it has not, and of other features, are left out.

Standard library only; the workflow loads this file by its path as well.
"""

import argparse
import gzip
import itertools
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

COLUMNS = 9
PARTS = ("CDS", "exon", "five_prime_UTR", "three_prime_UTR")
BIOTYPES = ("biotype", "gene_biotype", "gene_type", "transcript_biotype", "transcript_type")
NAMES = ("Name", "gene_name", "gene")
GENE, TRANSCRIPT = "gene:", "transcript:"
LOOKED_AT = 200_000  # lines, of which some must tell of a coding sequence


def convert(lines: Iterable[str], contigs: Iterable[str]) -> Iterator[str]:
    """The lines that bcftools csq needs. A feature comes after the one that it is a part of."""
    there, genes, transcripts = set(contigs), dict[str, str](), set[str]()
    names: dict[str, str] = {}
    yield "##gff-version 3"
    for contig, source, kind, *place, text in fields_of(lines):
        contig = names.setdefault(contig, named_here(contig, there))
        found = attributes_of(text)
        own, parents = bare(found.get("ID", "")), [bare(name) for name in found.get("Parent", "").split(",")]
        if not contig:
            continue
        if kind in PARTS:
            known = [parent for parent in parents if parent in transcripts]
            made = [f"Parent={TRANSCRIPT}{parent}" for parent in known]
        elif parents[0] in genes:
            transcripts.add(own)
            biotype = biotype_of(found) or ("protein_coding" if kind == "mRNA" else genes[parents[0]])
            made = [f"ID={TRANSCRIPT}{own};Parent={GENE}{parents[0]};biotype={biotype}"]
        elif own and "gene" in kind:
            genes[own] = biotype_of(found) or "gene"
            name = next((found[key] for key in NAMES if key in found), own)
            made = [f"ID={GENE}{own};Name={name};biotype={genes[own]}"]
        else:
            made = []
        yield from ("\t".join([contig, source, kind, *place, attributes]) for attributes in made)


def fields_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The columns of each feature, up to the sequences that may follow."""
    for line in lines:
        if line.startswith("##FASTA"):
            return
        if not line.startswith("#") and line.strip():
            yield line.rstrip("\n").split("\t")


def attributes_of(text: str) -> dict[str, str]:
    return dict(pair.strip().split("=", 1) for pair in text.split(";") if "=" in pair)


def bare(name: str) -> str:
    """An ID without Ensembl's prefix."""
    return name.removeprefix(GENE).removeprefix(TRANSCRIPT)


def biotype_of(found: Mapping[str, str]) -> str:
    return next((found[key] for key in BIOTYPES if key in found), "")


def named_here(contig: str, there: set[str]) -> str:
    """A contig's name in the reference; empty where that has it not."""
    short = contig.removeprefix("chr")
    other = {"MT": "M", "M": "MT"}.get(short, short)
    return next((name for name in (contig, short, f"chr{short}", other, f"chr{other}") if name in there), "")


def fault(path: str, contigs: Iterable[str]) -> str:
    """What is wrong with an annotation, as a phrase that follows its path; empty where nothing is.

    Its first lines are looked at: there must be a coding sequence of a gene on a contig of the reference.
    """
    try:
        with Path(path).open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8") as lines:
            head = list(itertools.islice(lines, LOOKED_AT))
    except UnicodeDecodeError:
        return "is not a text file in UTF-8"
    except (EOFError, zlib.error):
        return "is cut off or damaged: its compressed data cannot be read; copy or create it again"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    features, there = list(fields_of(head)), set(contigs)
    if any(len(columns) != COLUMNS for columns in features) or not any("Parent=" in each[-1] for each in features):
        return "is no GFF3: consequences want GFF3 of Ensembl, GENCODE or RefSeq"
    if not any(named_here(contig, there) for contig in {columns[0] for columns in features}):
        return f"has no contig of the reference: its first one is {features[0][0]}"
    made = convert(head, there)
    if not any(line.split("\t")[2:3] == ["CDS"] for line in made):
        return "has no CDS of a transcript of a gene, for which consequences could be told"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fai", type=Path, required=True)
    given = parser.parse_args()
    contigs = [line.partition("\t")[0] for line in given.fai.read_text(encoding="utf-8").splitlines()]
    sys.stdout.writelines(f"{line}\n" for line in convert(sys.stdin, contigs))


if __name__ == "__main__":
    main()
