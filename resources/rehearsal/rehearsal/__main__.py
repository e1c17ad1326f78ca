"""Makes one file, or a pair: `python -m rehearsal STEP`; the Snakefile beside this package has the command lines."""

import argparse

from rehearsal import steps
from rehearsal.contigs import contigs


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rehearsal", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scale", type=float, required=True, help="1: a whole genome")
    parser.add_argument("--chromosomes", default="chromosomes", help="folder of their arrays")
    subparsers = parser.add_subparsers(dest="step", required=True)
    arguments = {
        "chromosome": ("contig", "output"),
        "genome": ("fasta", "alt"),
        "known_sites": ("output",),
        "truth": ("sample", "output"),
        "deal_reads": ("sample", "contig", "output"),
        "shuffle_reads": ("sample", "first", "second"),
        "tables": ("samples", "units", "ploidy"),
    }
    for step, names in arguments.items():
        subparser = subparsers.add_parser(step)
        for name in names:
            subparser.add_argument(name)
    subparsers.choices["shuffle_reads"].add_argument("folders", nargs="+")
    return parser.parse_args()


def main() -> None:
    given = parse()
    seed, scale, folder = given.seed, given.scale, given.chromosomes
    every = contigs(scale)
    match given.step:
        case "chromosome":
            steps.write_chromosome(seed, every[given.contig], scale, given.output)
        case "genome":
            steps.write_genome(seed, every, scale, folder, given.fasta, given.alt)
        case "known_sites":
            steps.write_known_sites(seed, every, folder, given.output)
        case "truth":
            steps.write_truth(seed, steps.SAMPLES[given.sample], every, folder, given.output)
        case "deal_reads":
            steps.deal_reads(seed, steps.SAMPLES[given.sample], every[given.contig], folder, given.output)
        case "shuffle_reads":
            steps.shuffle_reads(seed, steps.SAMPLES[given.sample], given.folders, (given.first, given.second))
        case "tables":
            steps.write_tables(every, given.samples, given.units, given.ploidy)


if __name__ == "__main__":
    main()
