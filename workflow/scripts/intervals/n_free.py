"""The N-free intervals of a genome: split between contigs and in long runs of N, no call changes.

    n_free.py FASTA FAI [REGIONS] > n_free_intervals.bed
    n_free.py FASTA FAI REGIONS PADDING > padded.bed

Each line of the BED file that is written is a part of an interval:

    contig, start, end, number of the interval, bases of the line that are not in such a run

Without regions an interval is one line, and the lines cover the genome. With a file of regions (.bed, .interval_list,
.list or .intervals, as GATK takes them) the lines are these regions, sorted and joined where they touch, and intervals
without any are left out. With a padding, the lines are the regions alone, each longer by so many bases on both sides.

A read never reaches over a run of LEAST_RUN bases, and HaplotypeCaller's assemblies reach 100 bases beyond their
region, so neither side of a border in the middle of one knows of the other. Standard library only.
"""

import re
import sys
from pathlib import Path

LEAST_RUN = 1000  # bases
RUN = re.compile(rb"[Nn][Nn\r\n]{%d,}" % (LEAST_RUN - 1))


def contigs(fai):
    """Yield (name, length, offset, bases a line, bytes a line) of each contig, as samtools faidx lists them."""
    for line in Path(fai).read_text().splitlines():
        name, *numbers = line.split("\t")
        yield name, *map(int, numbers[:4])


def runs(file, length, offset, bases, width):
    """Yield (start, end) of each long run of N of a contig, counted from 0, the end exclusive."""

    def base(position):
        lines, rest = divmod(position, width)
        return lines * bases + min(rest, bases)

    file.seek(offset)
    for found in RUN.finditer(file.read(length // bases * width + length % bases if length else 0)):
        start, stop = base(found.start()), base(found.end())
        if stop - start >= LEAST_RUN:
            yield start, stop


def intervals(length, found):
    """Yield (start, end, bases) of the intervals of a contig, given its runs of N; at its ends these are no border."""
    found = list(found)
    borders = [(start + end) // 2 for start, end in found if start > 0 and end < length]
    for start, end in zip([0, *borders], [*borders, length], strict=True):
        missing = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in found)
        yield start, end, end - start - missing


def parse_region(line, suffix, lengths):
    """Return (contig, start, end) of a line of a file of regions, counted from 0."""
    if suffix in (".bed", ".interval_list"):
        contig, start, end, *_ = line.split() if suffix == ".bed" else line.split("\t")
        return contig, int(start) - (suffix != ".bed"), int(end)
    found = line not in lengths and re.fullmatch(r"(\S+):([\d,]+)(?:-([\d,]+))?", line)
    if not found:
        return line, 0, lengths[line]
    start, end = (int(text.replace(",", "")) for text in (found[2], found[3] or found[2]))
    return found[1], start - 1, end


def read_regions(path, lengths, padding=0):
    """Return {contig: its regions, longer by so many bases on both sides, those that then overlap or touch as one}."""
    lines = map(str.strip, Path(path).read_text().splitlines())
    lines = (line for line in lines if line and not line.startswith(("#", "@", "track ", "browser ")))
    joined = {}
    for contig, start, end in sorted(parse_region(line, Path(path).suffix, lengths) for line in lines):
        start, end = max(0, start - padding), end + padding
        own = joined.setdefault(contig, [])
        if own and start <= own[-1][1]:
            own[-1][1] = max(end, own[-1][1])
        else:
            own.append([start, end])
    return joined


def lines(fasta, fai, regions=None):
    """Yield the lines of the BED file, as tuples."""
    listed = list(contigs(fai))
    wanted = regions and read_regions(regions, {name: length for name, length, *_ in listed})
    number = 0
    with Path(fasta).open("rb") as file:
        for name, length, *place in listed:
            for start, end, bases in intervals(length, runs(file, length, *place)):
                number += 1
                if not regions:
                    yield name, start, end, number, bases
                    continue
                for begin, stop in wanted.get(name, ()):
                    begin, stop = max(begin, start), min(stop, end)
                    if begin < stop:
                        yield name, begin, stop, number, stop - begin


def padded(_fasta, fai, regions, padding):
    """Yield (contig, start, end) of regions that are longer by so many bases on both sides; those that meet are one."""
    listed = {name: length for name, length, *_ in contigs(fai)}
    wanted = read_regions(regions, listed, int(padding))
    for name, length in listed.items():
        for start, end in wanted.get(name, ()):
            yield name, start, min(length, end)


if __name__ == "__main__":
    for line in (padded if len(sys.argv) > 4 else lines)(*sys.argv[1:]):
        print(*line, sep="\t")
