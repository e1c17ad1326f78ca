"""Keep of a shard's VCF what is the shard's own: records that start in it, and its part of reference blocks.

    clip.py OWN.bed FASTA VCF.gz

Shards that border within an N-free interval are called over some more bases than their own, so that at their ends the
caller sees what it would see in the whole. The file is replaced when its successor is whole; its index is removed.
"""

import bisect
import gzip
import operator
import re
import subprocess
import sys
from pathlib import Path

LAST = operator.itemgetter(1)
END = re.compile(r"(?<![^;])END=(\d+)")


def read_spans(path):
    """Return {contig: [(first, last)]} of a BED file in order, counted from 1, both inclusive; none overlap."""
    spans = {}
    for line in Path(path).read_text().splitlines():
        contig, start, end, *_ = line.split("\t")
        spans.setdefault(contig, []).append((int(start) + 1, int(end)))
    return spans


def clipped(fields, spans, base):
    """Yield the parts of a record (its columns) that lie in the spans; `base` gives a base of the reference."""
    contig, position, info = fields[0], int(fields[1]), fields[7]
    block = fields[4] == "<NON_REF>" and END.search(info)
    last = int(block[1]) if block else position
    own = spans.get(contig, ())
    for number in range(bisect.bisect_left(own, position, key=LAST), len(own)):
        first, end = own[number]
        if first > last:
            return
        if not block:
            yield fields
            continue
        begin, stop = max(position, first), min(last, end)
        reference = fields[3] if begin == position else base(contig, begin)
        yield [contig, str(begin), fields[2], reference, *fields[4:7], END.sub(f"END={stop}", info), *fields[8:]]


def kept(lines, spans, base):
    """Yield the lines of a VCF that stay, header and all."""
    for line in lines:
        if line.startswith("#"):
            yield line
        else:
            yield from ("\t".join(part) + "\n" for part in clipped(line.rstrip("\n").split("\t"), spans, base))


def bases(fasta):
    """Return a function that gives a base of a reference, by its index."""
    rows = (line.split("\t") for line in Path(f"{fasta}.fai").read_text().splitlines())
    places = {name: tuple(map(int, numbers[1:4])) for name, *numbers in rows}

    def base(contig, position):
        offset, per_line, width = places[contig]
        with Path(fasta).open("rb") as file:
            file.seek(offset + (position - 1) // per_line * width + (position - 1) % per_line)
            return file.read(1).decode().upper()

    return base


def main(own, fasta, vcf):
    """Replace the VCF by what is the shard's own."""
    partial = Path(f"{vcf}.partial")
    with (
        partial.open("wb") as out,
        gzip.open(vcf, "rt") as records,
        subprocess.Popen(["bgzip", "-c"], stdin=subprocess.PIPE, stdout=out, text=True) as bgzip,
    ):
        bgzip.stdin.writelines(kept(records, read_spans(own), bases(fasta)))
    if bgzip.returncode:
        return f"clip.py: {vcf}: bgzip ended with {bgzip.returncode}"
    partial.replace(vcf)
    Path(f"{vcf}.tbi").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
