"""Cut a genome, or the regions that are called of it, into pieces. Pure: it looks at lines of a BED file alone."""

from collections import namedtuple

Line = namedtuple("Line", "contig start end stretch bases")
Line.__doc__ = "A part of a stretch (see stretches.py), counted from 0, the end exclusive; bases: how much work it is."
Stretch = namedtuple("Stretch", "lines work is_part")
Stretch.__doc__ = "The lines of a stretch, how much work they are (1 at least), whether its contig has others, too."
OVERLAP = 5000  # bases on each side of a cut within a stretch: HaplotypeCaller's regions fall into step within these
MANY = 25  # contigs


def read_lines(path):
    """Return the lines of a file that stretches.py wrote."""
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
    found, contigs = {}, {}
    for line in lines:
        found.setdefault(line.stretch, []).append(line)
        contigs.setdefault(line.contig, set()).add(line.stretch)
    return [
        Stretch(own, max(1, sum(line.bases for line in own)), len(contigs[own[0].contig]) > 1) for own in found.values()
    ]


def filled(stretches, most):
    """Return lists of stretches, filled one after the other with up to `most` work each.

    A piece of MANY contigs and more has whole ones alone, for GenomicsDBImport joins contigs that it gets whole.
    """
    pieces, load, has_parts = [], 0, False
    for stretch in stretches:
        crowded = pieces and len(pieces[-1]) >= MANY and (has_parts or stretch.is_part)
        if not pieces or load + stretch.work > most or crowded:
            pieces.append([])
            load, has_parts = 0, False
        pieces[-1].append(stretch)
        load, has_parts = load + stretch.work, has_parts or stretch.is_part
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


def within(lines, places):
    """Return the parts of lines that lie within places, given as (contig, start, end)."""
    parts = []
    for line in lines:
        for contig, start, end in places:
            begin, stop = max(start, line.start), min(end, line.end)
            if contig == line.contig and begin < stop:
                parts.append(line._replace(start=begin, end=stop, bases=bases_of(line, begin, stop)))
    return parts


def has_whole_contigs(piece, lines):
    """Tell whether a piece has all lines of each contig that it has any of."""
    names = {line.contig for line in piece}
    return length(piece) == length(line for line in lines if line.contig in names)


def length(lines):
    """Return how many bases lines span."""
    return sum(line.end - line.start for line in lines)
