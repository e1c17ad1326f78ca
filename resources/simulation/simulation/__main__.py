"""Makes one file, or a pair: `python -m simulation STEP`; the Snakefile beside this package has the command lines."""

import argparse
from pathlib import Path

from simulation import design, steps


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--design", type=Path, required=True, help="its folder")
    parser.add_argument("--scale", type=float, default=1.0, help="1: as it is")
    parser.add_argument("--samples", type=int, help="the first so many")
    parser.add_argument("--seed", type=int, help="another one than the design's")
    parser.add_argument("--chromosomes", default="chromosomes", help="folder of their arrays")
    subparsers = parser.add_subparsers(dest="step", required=True)
    arguments = {
        "chromosome": ("contig", "output"),
        "genome": ("fasta",),
        "known_sites": ("output",),
        "truth": ("sample", "output"),
        "deal_reads": ("sample", "contig", "output"),
        "shuffle_reads": ("sample", "first", "second"),
        "genes": ("output",),
        "rna_reads": ("sample", "first", "second"),
        "tables": ("sample_sheet", "unit_sheet"),
    }
    for step, names in arguments.items():
        subparser = subparsers.add_parser(step)
        for name in names:
            subparser.add_argument(name)
    subparsers.choices["genome"].add_argument("alt", nargs="?")
    subparsers.choices["tables"].add_argument("ploidy", nargs="?")
    subparsers.choices["shuffle_reads"].add_argument("folders", nargs="+")
    return parser.parse_args()


def main() -> None:
    given = parse()
    of, folder = design.read(given.design, given.scale, given.samples, given.seed), given.chromosomes
    match given.step:
        case "chromosome":
            steps.write_chromosome(of, of.contigs[given.contig], given.output)
        case "genome":
            steps.write_genome(of, folder, given.fasta, given.alt)
        case "known_sites":
            steps.write_known_sites(of, folder, given.output)
        case "truth":
            steps.write_truth(of, of.samples[given.sample], folder, given.output)
        case "deal_reads":
            steps.deal_reads(of, of.samples[given.sample], of.contigs[given.contig], folder, given.output)
        case "shuffle_reads":
            steps.shuffle_reads(of, of.samples[given.sample], given.folders, (given.first, given.second))
        case "genes":
            steps.write_genes(of, given.output)
        case "rna_reads":
            steps.write_rna_reads(of, of.samples[given.sample], folder, (given.first, given.second))
        case "tables":
            steps.write_tables(of, given.sample_sheet, given.unit_sheet, given.ploidy)


if __name__ == "__main__":
    main()
