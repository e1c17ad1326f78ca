"""Split the genome, or the contigs of what is called of it, into the intervals that a cohort is called in.

    joint_calling.py GENOME.bed CALLED.bed COUNT FOLDER

Both BED files are those of n_free.py. For each interval two BED files go into FOLDER: NofCOUNT.bed, its spans, one
a contig, and NofCOUNT.wide.bed, which begins LEAD bases earlier where the interval begins within an N-free one. A
cohort is imported and genotyped over the wide one, and records belong to the interval that they start in: where a
deletion reaches over a border, GATK gives what lies in it the allele `*` only if it has genotyped the deletion before.

Intervals have about as many bases to call each. They end at the end of a contig or in a long run of N where one is
near, else anywhere. An interval of more than MANY contigs has whole ones alone, for GenomicsDBImport joins whole
contigs only, and takes long over many that it cannot join. Standard library only.
"""

import bisect
import math
import sys
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

SHORTEST, LONGEST, MOST = 1_000_000, 30_000_000, 100  # bases of an interval; intervals of a small cohort
OF_ALL, MOST_OF_ALL = 6_000_000_000, 500  # bases times samples of an interval, some five hours; intervals
NOVEL, GROWTH, BYTES_A_SITE = 700, 0.37, 300  # bases; a power of the samples; annotations, position, score
LEAD = 5000  # bases: far more than the longest deletion that HaplotypeCaller assembles
MANY = 25  # contigs
NEAR = 0.1  # of an interval


class Contig:
    """A contig; what is called of it, (start, end, bases that are no N) in order; places within its long runs of N."""

    def __init__(self, name, length, called, gaps):
        self.name, self.length, self.called, self.gaps = name, length, called, gaps
        self.sums = [0, *accumulate(bases for *_, bases in called)]

    def work_before(self, place):
        """How many bases there are to call before a place."""
        number = bisect.bisect_right(self.called, place, key=lambda region: region[0]) - 1
        if number < 0:
            return 0
        start, end, bases = self.called[number]
        return self.sums[number] + bases * (min(place, end) - start) // (end - start)


@dataclass(frozen=True)
class Part:
    """What an interval has of a contig."""

    contig: Contig
    start: int
    end: int

    @property
    def work(self):
        """How many bases there are to call."""
        return self.contig.work_before(self.end) - self.contig.work_before(self.start)

    def split(self, wanted):
        """Two parts, the first with so much work and a base at least, or a little less and up to a run of N."""
        before = self.contig.work_before
        done = before(self.start)
        places = range(self.start + 1, self.end - 1)
        place = self.start + 1 + bisect.bisect_left(places, done + wanted, key=before)
        near = [gap for gap in self.contig.gaps if self.start < gap <= place]
        if near and before(near[-1]) - done >= (1 - NEAR) * wanted:
            place = near[-1]
        return Part(self.contig, self.start, place), Part(self.contig, place, self.end)

    def lead(self):
        """Where to begin so that whatever reaches over the start is known."""
        borders_within = self.start > 0 and self.start not in self.contig.gaps
        return max(0, self.start - LEAD) if borders_within else self.start


def how_many(bases, samples):
    """Return how many intervals serve where so many bases are called; in small genomes both their number and they grow.

    Each costs the starts of a few JVMs. From SHORTEST on it is worth that to have two cores at work at the end.
    Of large cohorts there are as many as it takes for the jobs of one to last hours.
    """
    two = 2 if bases >= SHORTEST else 1
    few = min(MOST, max(two, round(math.sqrt(bases / SHORTEST)), math.ceil(bases / LONGEST)))
    return min(MOST_OF_ALL, max(few, math.ceil(bases * samples / OF_ALL)))


def number_there(folder):
    """Return into how many intervals the last call set here was split, None before the first."""
    last = max(Path(folder).glob("1of*.wide.bed"), key=lambda path: path.stat().st_mtime, default=None)
    return last and int(last.name.split(".")[0].removeprefix("1of"))


def sites_mb(bases, samples):
    """Return about how much memory VQSR takes for the sites of a call set; not measured.

    A genome differs from the reference at one base in NOVEL, and each further one brings fewer new sites: with GROWTH
    as here, 1,000 human genomes have some 60 million, as public call sets do.
    """
    return round(bases / NOVEL * samples**GROWTH * BYTES_A_SITE / 1e6)


def read_contigs(genome, called):
    """Return the contigs of which anything is called."""
    intervals, wanted = {}, {}
    for found, path in ((intervals, genome), (wanted, called)):
        for line in Path(path).read_text().splitlines():
            name, start, end, _, bases = line.split("\t")
            found.setdefault(name, []).append((int(start), int(end), int(bases)))
    return [
        Contig(name, found[-1][1], wanted[name], [start for start, *_ in found[1:]])
        for name, found in intervals.items()
        if name in wanted
    ]


def split(contigs, count):
    """Split into exactly `count` intervals, lists of parts, so that the largest is about as small as can be."""
    whole = [Part(contig, 0, contig.length) for contig in contigs]
    total = sum(part.work for part in whole)
    sizes = range(max(1, -(-total // count)), max(1, total))
    most = sizes.start + bisect.bisect_left(sizes, True, key=lambda size: len(filled(whole, size)) <= count)
    intervals = filled(whole, most)
    while len(intervals) < count:
        intervals = halved(intervals)
    return intervals


def filled(whole, most):
    """Return intervals, filled one after the other with up to `most` work each; contigs with no more stay whole."""
    intervals, load, has_part = [[]], 0, False
    for part in whole:
        is_long = part.work > most
        crowded = len(intervals[-1]) >= MANY and (is_long or has_part)
        full = load + part.work > most and (load >= most or not is_long)
        if intervals[-1] and (crowded or full):
            intervals.append([])
            load, has_part = 0, False
        while load + part.work > most and part.end - part.start > 1:
            first, part = part.split(most - load)
            intervals[-1].append(first)
            intervals.append([])
            load, has_part = 0, True
        intervals[-1].append(part)
        load += part.work
    return intervals


def halved(intervals):
    """Return intervals, of those that have more than one base the one with most work split in two."""
    number = max(range(len(intervals)), key=lambda number: size(intervals[number]))
    parts = intervals[number]
    if len(parts) > 1:
        done = list(accumulate(part.work for part in parts))
        at = 1 + bisect.bisect_right(done[:-2], done[-1] / 2)
        halves = [parts[:at], parts[at:]]
    else:
        halves = [[part] for part in parts[0].split(parts[0].work // 2)]
    return [*intervals[:number], *halves, *intervals[number + 1 :]]


def size(parts):
    """Return whether an interval can be halved, its work, and its length."""
    length = sum(part.end - part.start for part in parts)
    return length > 1, sum(part.work for part in parts), length


def main(genome, called, count, folder):
    """Be the command line."""
    contigs, count = read_contigs(genome, called), int(count)
    bases = sum(contig.length for contig in contigs)
    if bases < count:
        print(f"error: joint_intervals: {count}: there are {bases} bases to call; ask for fewer", file=sys.stderr)
        return 1
    Path(folder).mkdir(parents=True, exist_ok=True)
    for number, parts in enumerate(split(contigs, count), 1):
        own = (f"{part.contig.name}\t{part.start}\t{part.end}\n" for part in parts)
        wide = (f"{part.contig.name}\t{part.lead()}\t{part.end}\n" for part in parts)
        Path(folder, f"{number}of{count}.bed").write_text("".join(own))
        Path(folder, f"{number}of{count}.wide.bed").write_text("".join(wide))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
