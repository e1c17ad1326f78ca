"""One table of genes: what Cuffdiff found, under the annotation's names, with the counts of each sample.

    gene_table.py --tests gene_exp.diff --transcripts TRANSCRIPTS.gtf --annotation GENES.gtf --genes GENES.tsv
        --counts COUNTS.tsv > TABLE.tsv

A row is a gene in a comparison of two conditions. Where transcripts were assembled Cuffdiff has loci of its own
(XLOC_000001): a locus of several genes has a row for each, with the same figures, and one of no gene has no counts.
GENES and COUNTS are what expression.py writes. Standard library only.
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ATTRIBUTE = re.compile(r'(\w+) "([^"]*)"')
OF_A_GENE = frozenset("=cjoe")  # class codes of transcripts that share exons with one of the annotation, on its strand
# columns of Cuffdiff, and their names here
OF_TESTS = {
    **{"sample_1": "condition_1", "sample_2": "condition_2", "status": "status"},
    **{"value_1": "fpkm_1", "value_2": "fpkm_2", "log2(fold_change)": "log2_fold_change"},
    **{"p_value": "p_value", "q_value": "q_value", "significant": "significant"},
}


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def attributes(path: Path) -> Iterator[dict[str, str]]:
    """Those of each exon of a GTF."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns[2:3] == ["exon"]:
                yield dict(ATTRIBUTE.findall(columns[8]))


def genes_of_loci(
    transcripts: Iterable[Mapping[str, str]], annotation: Iterable[Mapping[str, str]]
) -> dict[str, list[str]]:
    """The annotation's genes of each gene of the transcripts; that itself, where the annotation has it."""
    gene_of = {found.get("transcript_id", ""): own_gene(found) for found in annotation}
    known, loci = set(gene_of.values()), dict[str, dict[str, None]]()
    for found in transcripts:
        locus = own_gene(found)
        genes = loci.setdefault(locus, {})
        if locus in known:
            genes[locus] = None
        elif found.get("class_code") in OF_A_GENE and found.get("nearest_ref") in gene_of:
            genes[gene_of[found["nearest_ref"]]] = None
    return {locus: list(genes) for locus, genes in loci.items()}


def own_gene(found: Mapping[str, str]) -> str:
    """An exon without a gene_id is of a gene that has the name of its transcript, as expression.py has it."""
    return found.get("gene_id") or found.get("transcript_id", "")


def table(
    tests: Iterable[Mapping[str, str]],
    loci: Mapping[str, list[str]],
    genes: Mapping[str, Mapping[str, str]],
    counts: Mapping[str, Mapping[str, str]],
    samples: Iterable[str],
) -> Iterator[list[str]]:
    """The rows, the header first."""
    samples = list(samples)
    yield ["gene_id", "gene_name", "cuffdiff_id", "locus", *OF_TESTS.values(), *samples]
    for test in tests:
        figures = [test[column] for column in OF_TESTS]
        for gene in loci.get(test["gene_id"]) or [""]:
            name = genes[gene]["gene_name"] if gene in genes else ""
            own = counts.get(gene, {})
            yield [gene, name, test["gene_id"], test["locus"], *figures, *(own.get(sample, "") for sample in samples)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("tests", "transcripts", "annotation", "genes", "counts"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    loci = genes_of_loci(attributes(given.transcripts), attributes(given.annotation))
    genes = {row["gene_id"]: row for row in read_rows(given.genes)}
    counts = {row["gene_id"]: row for row in read_rows(given.counts)}
    samples = given.counts.open(encoding="utf-8").readline().rstrip("\n").split("\t")[1:]
    rows = table(read_rows(given.tests), loci, genes, counts, samples)
    sys.stdout.writelines("\t".join(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
