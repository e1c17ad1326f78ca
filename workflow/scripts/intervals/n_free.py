"""Where a genome may be cut so that no call changes: between contigs, and within long runs of N.

    n_free.py FASTA FAI [--regions FILE] > stretches.bed

A stretch is what lies between two places to cut. Each line of the BED file that is written is a part of one:

    contig, start, end, number of the stretch, bases of the line that are not in such a run

Without --regions a stretch is one line, and the lines cover the genome. With a file of regions (.bed, .interval_list,
.list or .intervals, as GATK takes them) the lines are these regions, sorted and joined where they touch, and stretches
without any are left out.

A read never reaches over a run of LEAST_GAP bases, and HaplotypeCaller's assemblies reach 100 bases beyond their
region, so neither side of a cut in the middle of one knows of the other. Standard library only.
"""

import argparse
import re
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path

LEAST_GAP = 1000  # bases
GAP = re.compile(rb"[Nn][Nn\r\n]{%d,}" % (LEAST_GAP - 1))


def contigs(fai):
    """Yield (name, length, offset, bases a line, bytes a line) of each contig, as samtools faidx lists them."""
    for line in Path(fai).read_text().splitlines():
        name, *numbers = line.split("\t")
        yield name, *map(int, numbers[:4])


def gaps(sequence, length, offset, bases, width):
    """Yield (start, end) of each long run of N of a contig, counted from 0, the end exclusive."""

    def base(position):
        lines, rest = divmod(position - offset, width)
        return lines * bases + min(rest, bases)

    end = offset + length // bases * width + length % bases if length else offset
    for found in GAP.finditer(sequence, offset, end):
        start, stop = base(found.start()), base(found.end())
        if stop - start >= LEAST_GAP:
            yield start, stop


def stretches(length, found):
    """Yield (start, end, bases) of the stretches of a contig, given its gaps; those at its ends are no place to cut."""
    found = list(found)
    cuts = [(start + end) // 2 for start, end in found if start > 0 and end < length]
    for start, end in zip([0, *cuts], [*cuts, length], strict=True):
        missing = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in found)
        yield start, end, end - start - missing


def parse_region(line, suffix, lengths):
    """Return (contig, start, end) of a line of a file of regions, counted from 0."""
    if suffix == ".bed":
        contig, start, end, *_ = line.split()
        return contig, int(start), int(end)
    if suffix == ".interval_list":
        contig, start, end, *_ = line.split("\t")
        return contig, int(start) - 1, int(end)
    found = line not in lengths and re.fullmatch(r"(\S+):([\d,]+)(?:-([\d,]+))?", line)
    if not found:
        return line, 0, lengths[line]
    start, end = (int(text.replace(",", "")) for text in (found[2], found[3] or found[2]))
    return found[1], start - 1, end


def read_regions(path, lengths):
    """Return {contig: its regions, sorted, those that overlap or touch as one}."""
    regions = {}
    for line in Path(path).read_text().splitlines():
        if line.strip() and not line.startswith(("#", "@", "track ", "browser ")):
            contig, *region = parse_region(line.strip(), Path(path).suffix, lengths)
            regions.setdefault(contig, []).append(region)
    return {contig: merged(sorted(found)) for contig, found in regions.items()}


def merged(regions):
    """Join regions that overlap or touch."""
    joined = []
    for start, end in regions:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


def lines(fasta, fai, regions=None):
    """Yield the lines of the BED file, as tuples."""
    listed = list(contigs(fai))
    wanted = regions and read_regions(regions, {name: length for name, length, *_ in listed})
    number = 0
    with Path(fasta).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as sequence:
        for name, length, *place in listed:
            for start, end, bases in stretches(length, gaps(sequence, length, *place)):
                number += 1
                if not regions:
                    yield name, start, end, number, bases
                    continue
                for begin, stop in wanted.get(name, ()):
                    begin, stop = max(begin, start), min(stop, end)
                    if begin < stop:
                        yield name, begin, stop, number, stop - begin


def main():
    """Be the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fasta")
    parser.add_argument("fai")
    parser.add_argument("--regions")
    arguments = parser.parse_args()
    for line in lines(arguments.fasta, arguments.fai, arguments.regions):
        print(*line, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
