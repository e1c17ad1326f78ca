"""Expression by gene, from Cuffnorm's tables: matrices for what compares samples.

    expression.py sample FOLDER > SAMPLE.tsv
    expression.py matrices --counts COUNTS.tsv --tpm TPM.tsv --genes GENES.tsv SAMPLE.tsv ...

Cuffnorm was given one sample, twice for it wants two, so that nothing is scaled: counts are Cuffquant's own, estimated
fragments. The matrix has them rounded, for DESeq2 and edgeR take whole ones. TPM are FPKM over their sum. GENES has the
name and place of each gene. Standard library only.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

COLUMNS = ("gene_id", "gene_name", "locus", "fragments", "tpm")
SAMPLE = "sample_0"  # Cuffnorm's name of the first one


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def values(folder: Path, kind: str) -> dict[str, float]:
    """By gene; 0 of a sample without fragments, where Cuffnorm divides by 0."""
    mass = next(float(row["total_mass"]) for row in rows(folder / "samples.table") if row["sample_id"] == SAMPLE)
    found = rows(folder / f"genes.{kind}_table")
    return {row["tracking_id"]: float(row[SAMPLE]) if mass else 0.0 for row in found}


def sample(folder: Path) -> Iterator[Sequence[object]]:
    counts, fpkm = values(folder, "count"), values(folder, "fpkm")
    total = sum(fpkm.values()) or 1.0
    for row in rows(folder / "genes.attr_table"):
        gene = row["tracking_id"]
        yield gene, row["gene_short_name"], row["locus"], f"{counts[gene]:.6g}", f"{1e6 * fpkm[gene] / total:.6g}"


def matrices(paths: Sequence[Path], counts: Path, tpm: Path, genes: Path) -> None:
    """A line of each sample's table at a time: they have the same genes."""
    names = [path.stem for path in paths]
    with ExitStack() as stack:
        outs = [stack.enter_context(path.open("w", encoding="utf-8")) for path in (counts, tpm, genes)]
        of_counts, of_tpm, of_genes = outs
        for out, columns in ((of_counts, names), (of_tpm, names), (of_genes, COLUMNS[1:3])):
            print("gene_id", *columns, sep="\t", file=out)
        for of_samples in zip(*map(rows, paths), strict=True):
            first = of_samples[0]
            if {row["gene_id"] for row in of_samples} != {first["gene_id"]}:
                sys.exit(
                    f"error: samples differ in their genes at {first['gene_id']}: make results/gene_expression again"
                )
            print(first["gene_id"], *(round(float(row["fragments"])) for row in of_samples), sep="\t", file=of_counts)
            print(first["gene_id"], *(row["tpm"] for row in of_samples), sep="\t", file=of_tpm)
            print(first["gene_id"], first["gene_name"], first["locus"], sep="\t", file=of_genes)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommands.add_parser("sample").add_argument("folder", type=Path)
    subcommand = subcommands.add_parser("matrices")
    for name in ("counts", "tpm", "genes"):
        subcommand.add_argument(f"--{name}", type=Path, required=True)
    subcommand.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args(argv)
    if given.subcommand == "sample":
        for line in (COLUMNS, *sample(given.folder)):
            print(*line, sep="\t")
    else:
        matrices(given.paths, given.counts, given.tpm, given.genes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
