"""Which strand of their genes a sample's reads come from; library_type.py says what follows.

    strandedness.py --declared auto --genes GENES.gtf --bam SAMPLE.bam > SAMPLE.json

Reads count where they start in an exon that has genes on one strand alone. `sense` is the share whose fragment, as the
first read tells it, lies on the gene's own strand: 1 for fr-secondstrand, 0 for fr-firststrand, a half for
fr-unstranded. Standard library only; samtools reads the alignments, and the workflow loads this file by its path.
"""

import json
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

READS = 200_000  # looked at, spread over the whole file
ENOUGH_READS = 200
STRANDED, UNSTRANDED = 0.8, 0.65  # shares of the larger side; between them the library is neither
REVERSE, SECOND_MATE = 0x10, 0x80
LEFT_OUT = 0x4 | 0x100 | 0x800  # unmapped, secondary, supplementary

Segments = dict[str, tuple[list[int], list[str]]]


def one_sided(lines: Iterable[str]) -> Segments:
    """Of a GTF's exons: where each stretch of a contig begins, and whose strand it is (empty: none, or both)."""
    edges: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for line in lines:
        contig, _, feature, start, end, _, strand, *_ = line.split("\t")
        if feature == "exon" and strand in "+-":
            edges[contig] += [(int(start), strand, 1), (int(end) + 1, strand, -1)]
    segments: Segments = {}
    for contig, changes in edges.items():
        starts, strands, open_exons = [], [], {"+": 0, "-": 0}
        for place, group in groupby(sorted(changes), key=lambda change: change[0]):
            for _, strand, step in group:
                open_exons[strand] += step
            here = [strand for strand, count in open_exons.items() if count]
            starts.append(place)
            strands.append(here[0] if len(here) == 1 else "")
        segments[contig] = (starts, strands)
    return segments


def sides(alignments: Iterable[str], segments: Segments) -> Iterator[bool]:
    """For each alignment on a gene of one strand: whether its fragment lies on the gene's own strand."""
    for line in alignments:
        _, flag, contig, place, _ = line.split("\t", 4)
        starts, strands = segments.get(contig, ([], []))
        at = bisect_right(starts, int(place)) - 1
        if at >= 0 and strands[at]:
            reverse = bool(int(flag) & REVERSE) != bool(int(flag) & SECOND_MATE)
            yield (strands[at] == "-") == reverse


def verdict(sense: int, total: int) -> str:
    """The library type that the reads speak for; empty where they are too few, or speak for none."""
    if total < ENOUGH_READS:
        return ""
    larger = max(sense, total - sense) / total
    if larger >= STRANDED:
        return "fr-secondstrand" if 2 * sense > total else "fr-firststrand"
    return "fr-unstranded" if larger <= UNSTRANDED else ""


def alignments(bam: Path) -> Iterator[str]:
    """Lines of SAM, of some READS primary alignments."""
    table = subprocess.run(["samtools", "idxstats", bam], check=True, text=True, stdout=subprocess.PIPE).stdout
    mapped = sum(int(line.split("\t")[2]) for line in table.splitlines())
    sampled = ["-s", f"{READS / mapped:.6f}"] if mapped > READS else []
    command = ["samtools", "view", "-F", str(LEFT_OUT), *sampled, str(bam)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as view:
        yield from view.stdout
    if view.returncode:
        raise subprocess.CalledProcessError(view.returncode, command)


def look_at(declared: str, genes: Path, bam: Path) -> dict[str, object]:
    """A sample's record."""
    with genes.open(encoding="utf-8") as lines:
        segments = one_sided(lines)
    found = list(sides(alignments(bam), segments))
    sense = sum(found) / len(found) if found else None
    return {"declared": declared, "found": verdict(sum(found), len(found)), "reads": len(found), "sense": sense}


if __name__ == "__main__":
    json.dump(look_at(sys.argv[2], Path(sys.argv[4]), Path(sys.argv[6])), sys.stdout)
