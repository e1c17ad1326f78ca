"""Cut a genome, or the regions that are called of it, into pieces. Pure: it looks at lines of a BED file alone."""

from collections import namedtuple

Line = namedtuple("Line", "contig start end stretch bases")
Line.__doc__ = "A part of a stretch (see n_free.py), counted from 0, the end exclusive; bases: how much work it is."
Stretch = namedtuple("Stretch", "lines work")
Stretch.__doc__ = "The lines of a stretch, how much work they are (1 at least)."
OVERLAP = 5000  # bases on each side of a cut within a stretch: HaplotypeCaller's regions fall into step within these


def read_lines(path):
    """Return the lines of a file that n_free.py wrote."""
    with open(path) as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [Line(contig, *map(int, numbers)) for contig, *numbers in rows]


def cut(lines, count):
    """Cut between stretches into at most `count` pieces, in order, so that the largest is as small as can be."""
    stretches = by_stretch(lines)
    low, high = max(stretch.work for stretch in stretches), sum(stretch.work for stretch in stretches)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(filled(stretches, middle)) <= count else (middle + 1, high)
    return [[line for stretch in piece for line in stretch.lines] for piece in filled(stretches, low)]


def by_stretch(lines):
    """Return the stretches that lines belong to."""
    found = {}
    for line in lines:
        found.setdefault(line.stretch, []).append(line)
    return [Stretch(own, max(1, sum(line.bases for line in own))) for own in found.values()]


def filled(stretches, most):
    """Return lists of stretches, filled one after the other with up to `most` work each."""
    pieces, load = [], 0
    for stretch in stretches:
        if not pieces or load + stretch.work > most:
            pieces.append([])
            load = 0
        pieces[-1].append(stretch)
        load += stretch.work
    return pieces


def cut_anywhere(lines, count):
    """Cut into `count` pieces of equal work, within stretches too."""
    total, pieces, done = sum(line.bases for line in lines), [[]], 0
    for line in lines:
        start = line.start
        while len(pieces) < count and done + bases_of(line, start, line.end) > total * len(pieces) // count:
            end = start + (total * len(pieces) // count - done) * (line.end - line.start) // max(1, line.bases)
            if end > start:
                pieces[-1].append(line._replace(start=start, end=end, bases=bases_of(line, start, end)))
                done, start = done + bases_of(line, start, end), end
            pieces.append([])
        if start < line.end:
            pieces[-1].append(line._replace(start=start, bases=bases_of(line, start, line.end)))
            done += bases_of(line, start, line.end)
    return [piece for piece in pieces if piece]


def bases_of(line, start, end):
    """Return the share of a line's bases that a part of it has."""
    return line.bases * (end - start) // (line.end - line.start)


def padded(piece, lines):
    """Return a piece with OVERLAP bases more on both sides, no further than the lines that it was cut from reach."""
    first, last = piece[0], piece[-1]
    start = next(line.start for line in lines if holds(line, first))
    end = next(line.end for line in lines if holds(line, last))
    wider = [*piece[:-1], last._replace(end=min(end, last.end + OVERLAP))]
    return [wider[0]._replace(start=max(start, first.start - OVERLAP)), *wider[1:]]


def holds(line, part):
    """Tell whether a part was cut from a line."""
    return line.contig == part.contig and line.start <= part.start and part.end <= line.end


def spans(piece):
    """Return (contig, start, end) of a piece, those that touch as one."""
    joined = []
    for contig, start, end, *_ in piece:
        if joined and joined[-1][0] == contig and joined[-1][2] == start:
            start = joined.pop()[1]
        joined.append((contig, start, end))
    return joined
