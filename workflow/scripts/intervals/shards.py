"""Split a genome, or the regions that are called of it, into shards. Pure: it looks at lines of a BED file alone."""

from collections import namedtuple
from itertools import groupby
from pathlib import Path

Line = namedtuple("Line", "contig start end interval bases")
Line.__doc__ = "A part of an N-free interval (n_free.py), counted from 0, the end exclusive; bases: how much work it is"
OVERLAP = 5000  # bases beyond a border within an interval: HaplotypeCaller's regions fall into step within these


def read_lines(path):
    """Return the lines of a file that n_free.py wrote."""
    rows = (line.split("\t") for line in Path(path).read_text().splitlines())
    return [Line(contig, *map(int, numbers)) for contig, *numbers in rows]


def split(lines, count):
    """Split between N-free intervals into at most `count` shards, in order, the largest as small as can be."""
    intervals = [list(group) for _, group in groupby(lines, lambda line: line.interval)]
    low, high = max(map(work, intervals)), sum(map(work, intervals))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(filled(intervals, middle)) <= count else (middle + 1, high)
    return filled(intervals, low)


def work(interval):
    """Return how much work the lines of an interval are, 1 at least."""
    return max(1, sum(line.bases for line in interval))


def filled(intervals, most):
    """Return shards, filled one after the other with up to `most` work each."""
    shards, load = [], most
    for interval in intervals:
        load += work(interval)
        if load > most:
            shards.append([])
            load = work(interval)
        shards[-1] += interval
    return shards


def split_anywhere(lines, count):
    """Split into `count` shards of equal work, within intervals too."""
    total, shards, done = sum(line.bases for line in lines), [[]], 0
    for line in lines:
        start = line.start
        while len(shards) < count and done + bases_of(line, start, line.end) > total * len(shards) // count:
            end = start + (total * len(shards) // count - done) * (line.end - line.start) // max(1, line.bases)
            if end > start:
                shards[-1].append(line._replace(start=start, end=end, bases=bases_of(line, start, end)))
                done, start = done + bases_of(line, start, end), end
            shards.append([])
        if start < line.end:
            shards[-1].append(line._replace(start=start, bases=bases_of(line, start, line.end)))
            done += bases_of(line, start, line.end)
    return [shard for shard in shards if shard]


def bases_of(line, start, end):
    """Return the share of a line's bases that a part of it has."""
    return line.bases * (end - start) // (line.end - line.start)


def padded(shard, lines):
    """Return a shard with OVERLAP bases more on both sides, no further than the lines that it is of reach."""
    first, last = shard[0], shard[-1]
    start = next(line.start for line in lines if holds(line, first))
    end = next(line.end for line in lines if holds(line, last))
    wider = [*shard[:-1], last._replace(end=min(end, last.end + OVERLAP))]
    return [wider[0]._replace(start=max(start, first.start - OVERLAP)), *wider[1:]]


def holds(line, part):
    """Tell whether a line holds a part of one."""
    return line.contig == part.contig and line.start <= part.start and part.end <= line.end


def spans(shard):
    """Return (contig, start, end) of a shard, those that touch as one."""
    joined = []
    for contig, start, end, *_ in shard:
        if joined and joined[-1][0] == contig and joined[-1][2] == start:
            start = joined.pop()[1]
        joined.append((contig, start, end))
    return joined
