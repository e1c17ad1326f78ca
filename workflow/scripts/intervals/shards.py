"""Split a genome, or the regions that are called of it, into shards. Pure: it looks at lines of a BED file alone."""

from collections import namedtuple
from itertools import groupby
from pathlib import Path

Line = namedtuple("Line", "contig start end interval bases")
Line.__doc__ = "A part of an N-free interval (n_free.py), counted from 0, the end exclusive; bases: how much work it is"


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


def spans(shard):
    """Return (contig, start, end) of a shard, those that touch as one."""
    joined = []
    for contig, start, end, *_ in shard:
        if joined and joined[-1][0] == contig and joined[-1][2] == start:
            start = joined.pop()[1]
        joined.append((contig, start, end))
    return joined
