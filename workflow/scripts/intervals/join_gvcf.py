"""Join the GVCFs of shards of a genome as the whole would have been written.

    join_gvcf.py LIST OUT.g.vcf.gz        LIST names the shards' files, one a line, in the order of the genome

A reference block that spans a border comes from both sides as two blocks that say the same: they become one again. All
else is copied as it is, still compressed: of each file only the ends are unpacked. The header is that of the first
shard. Standard library only.
"""

import gzip
import re
import struct
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

BGZF = struct.Struct("<4sIBBHBBHH")  # a block's head: magic, time, flags, system, length of extra, "BC", 2, size less 1
BGZF_MAGIC = b"\x1f\x8b\x08\x04"
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
MOST_BYTES = 0xFF00  # that go into one block
TAIL_BLOCKS = 2  # of a file, in which its last record lies: records of one sample are shorter than a block
REFERENCE_BLOCK = re.compile(rb"END=(\d+)")


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of a BGZF file as they are, but for empty ones."""
    while head := file.read(BGZF.size):
        magic, *_, size = BGZF.unpack(head)
        if magic != BGZF_MAGIC:
            raise ValueError("no block of BGZF")
        block = head + file.read(size + 1 - BGZF.size)
        if block[-4:] != bytes(4):
            yield block


def packed(text: bytes) -> Iterator[bytes]:
    """Yield blocks of BGZF that hold a text."""
    for at in range(0, len(text), MOST_BYTES):
        part = text[at : at + MOST_BYTES]
        deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        data = deflate.compress(part) + deflate.flush()
        size = BGZF.size + len(data) + 8
        yield BGZF.pack(BGZF_MAGIC, 0, 0, 255, 6, ord("B"), ord("C"), 2, size - 1)
        yield data + struct.pack("<II", zlib.crc32(part), len(part))


def joined(one: bytes, two: bytes) -> bytes | None:
    """Two records as one, where they are reference blocks that say the same of places side by side; else None."""
    first, second = one.split(b"\t"), two.split(b"\t")
    ends = [REFERENCE_BLOCK.fullmatch(fields[7]) for fields in (first, second) if len(fields) > 8]
    if len(ends) < 2 or None in ends or first[0] != second[0] or first[4] != second[4] or first[8:] != second[8:]:
        return None
    if int(second[1]) != int(ends[0][1]) + 1:
        return None
    return b"\t".join([*first[:7], second[7], *first[8:]])


def without_header(text: bytes) -> bytes | None:
    """The records of a VCF's beginning; None where the header is not over."""
    start = 0
    while text[start : start + 1] == b"#":
        start = text.find(b"\n", start) + 1
        if not start:
            return None
    return text[start:]


class Joined:
    """The file that is written; its last record waits for what comes next."""

    def __init__(self, out: BinaryIO) -> None:
        self.out, self.last = out, b""

    def write(self, text: bytes) -> None:
        self.out.writelines(packed(text))

    def add(self, file: BinaryIO, keep_header: bool) -> None:
        """Add a file: the text at its ends, and what lies between as it is."""
        parts = blocks(file)
        head = self.head(parts)
        records = head if keep_header else without_header(head) or b""
        tail = deque(islice(parts, TAIL_BLOCKS))
        if len(tail) < TAIL_BLOCKS:
            self.add_lines(records + unpacked(tail))
            return
        whole = records.rfind(b"\n") + 1
        self.add_lines(records[:whole])
        self.write(self.last + records[whole:])
        for block in parts:
            self.out.write(tail.popleft())
            tail.append(block)
        self.last = b""
        self.add_lines(unpacked(tail))

    @staticmethod
    def head(parts: Iterator[bytes]) -> bytes:
        """A file's first blocks, up to the one in which its first record ends."""
        text = b""
        for block in parts:
            text += gzip.decompress(block)
            if b"\n" in (without_header(text) or b""):
                break
        return text

    def add_lines(self, text: bytes) -> None:
        """Add whole lines, the first of which may belong to the record that waits."""
        if not text:
            return
        first, rest = text[: text.find(b"\n") + 1], text[text.find(b"\n") + 1 :]
        text = (joined(self.last, first) or self.last + first) + rest
        start = text.rfind(b"\n", 0, -1) + 1
        self.write(text[:start])
        self.last = text[start:]

    def close(self) -> None:
        """Write what waits, and the mark of the end."""
        self.write(self.last)
        self.out.write(BGZF_END)


def unpacked(some: Iterable[bytes]) -> bytes:
    """The text of blocks."""
    return b"".join(map(gzip.decompress, some))


def main(listed: str, out: str) -> int:
    """Be the command line."""
    with Path(out).open("wb") as sink:
        result = Joined(sink)
        for number, path in enumerate(Path(listed).read_text().splitlines()):
            with Path(path).open("rb") as file:
                try:
                    result.add(file, keep_header=number == 0)
                except (ValueError, OSError, EOFError, zlib.error) as error:
                    print(f"error: {path}: damaged, or not compressed as bgzip does: {error}", file=sys.stderr)
                    return 1
        result.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
