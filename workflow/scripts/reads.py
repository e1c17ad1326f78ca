"""Count reads on their way through the mapping pipe, and fail where one got lost.

bwa ends quietly at the first end of file it meets: at the end of a truncated gzip stream, and at the end of the
shorter of two files. A sample then loses reads and the job still exits with 0. So the FASTQ files are counted while
bwa reads them, the alignments while the sorter does, and both are compared when the pipe is done, without a second
pass over the data.

    reads.py stream --counts DIR FASTQ               decompress FASTQ to stdout, leave its record count in DIR; with
                                                     --reference FASTA, take the reads of a BAM or CRAM file; with
                                                     --names, leave a digest of the reads' names, too
    reads.py chunk --counts DIR --chunk 2of4 FASTQ ... -- bwa mem ...
                                                     feed bwa with one of four chunks of the reads; what is not of it is
                                                     counted, and has placeholders (see `batches`)
    reads.py unit --counts DIR --output O FASTQ ...  compare a unit's counts with its alignments, write both to O;
                                                     with --lanes N, those of N units that were mapped at once,
                                                     with --chunk 2of4, those of a chunk
    reads.py sample --bam BAM UNIT.json ...          compare an indexed BAM with what its units counted

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
LINES_PER_RECORD = 4  # as sequencers write FASTQ
BLOCK_RECORDS = 4096
PLACEHOLDERS = (b">~\n", b">~~\n")  # reads of no bases; their names differ, so that `bwa mem -p` takes none for mates
TAKEN = ""  # the name under which the reads of a chunk are counted, which no file has
COUNTS_BIN = 37450  # of BAI: where a contig's reads lie, then how many are mapped and how many are not


class ReadsLostError(Exception):
    """Reads went missing; the message says where, and how many each side has."""


def count_file(counts: Path, fastq: str) -> Path:
    """Where in the folder `counts` the record count of `fastq` stands (two folders may hold one file name)."""
    return counts / hashlib.md5(os.fsencode(fastq), usedforsecurity=False).hexdigest()


class Names:
    """A digest of the names of reads in their order: HISAT2 pairs mates by their place, whatever they are called."""

    def __init__(self) -> None:
        self.digest, self.lines, self.rest = hashlib.blake2b(digest_size=16), 0, b""

    def take(self, text: bytes) -> None:
        """Go on with the FASTQ text; what follows a blank, and the number of a mate, are not part of a name."""
        *lines, self.rest = (self.rest + text).split(b"\n")
        words = (line.split(None, 1)[:1] for line in lines[-self.lines % LINES_PER_RECORD :: LINES_PER_RECORD])
        names = (word[:-2] if word[-2:] in (b"/1", b"/2") else word for (word,) in filter(None, words))
        self.digest.update(b"".join(b"%s\n" % name for name in names))
        self.lines += len(lines)


def copy(source: BinaryIO, sink: BinaryIO, names: Names | None = None) -> int:
    """Copy FASTQ text from `source` to `sink`; the number of its lines."""
    lines, last = 0, b"\n"
    while chunk := source.read(CHUNK_BYTES):
        if names:
            names.take(chunk)
        lines += chunk.count(b"\n")
        last = chunk[-1:]
        sink.write(chunk)
    sink.flush()
    return lines + (last != b"\n")


@contextmanager
def unpacked(fastq: str) -> Iterator[BinaryIO]:
    """The text of a file, gzip or plain, and at its end the certainty that it is whole."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["gzip", "-cdf", "--", fastq], CHUNK_BYTES, stdout=pipe, stderr=pipe) as gzip:
        yield gzip.stdout
        said = gzip.stderr.read().decode(errors="replace").strip()
    if gzip.returncode < 0:
        raise ReadsLostError(f"{fastq}: not read to its end: {signal.Signals(-gzip.returncode).name} to gzip")
    if gzip.returncode != 0:
        raise ReadsLostError(f"{fastq}: damaged or truncated: {said}")


@contextmanager
def unaligned(alignments: str, reference: str, scratch: Path) -> Iterator[BinaryIO]:
    """The reads of a BAM or CRAM file as FASTQ, mates side by side, and at its end the certainty that it was whole."""
    collate = ["samtools", "collate", "--reference", reference, "-u", "-O", alignments, str(scratch / "collate")]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(collate, stdout=pipe) as first,
        subprocess.Popen(["samtools", "fastq", "-n", "-"], CHUNK_BYTES, stdin=first.stdout, stdout=pipe) as second,
    ):
        first.stdout.close()  # the other one's alone, whose end it is to notice
        yield second.stdout
    for name, process in (("collate", first), ("fastq", second)):
        if process.returncode != 0:
            raise ReadsLostError(f"{alignments}: damaged or truncated: samtools {name} failed ({process.returncode})")


def require_whole(fastq: str, lines: int) -> None:
    """Fail where a file ends within a record."""
    if lines % LINES_PER_RECORD:
        raise ReadsLostError(f"{fastq}: its last record is incomplete ({lines} lines)")


def stream(fastq: str, counts: Path, reference: str = "", with_names: bool = False) -> None:
    """Feed bwa, and leave the number of records in `counts`, unless the file is damaged or bwa stopped before its end.

    With a reference it is a file of alignments. The count is there before stdout is closed, so whoever has seen the end
    of the stream finds it.
    """
    names = Names() if with_names else None
    with unaligned(fastq, reference, counts) if reference else unpacked(fastq) as source:
        lines = copy(source, sys.stdout.buffer, names)
    require_whole(fastq, lines)
    found = [str(lines // LINES_PER_RECORD), *([names.digest.hexdigest()] if names else [])]
    count_file(counts, fastq).write_text(f"{' '.join(found)}\n")


class Records:
    """The records of a FASTQ file, as lists of lines, and how many lines were read so far."""

    def __init__(self, fastq: str, text: BinaryIO) -> None:
        self.fastq, self.text, self.lines = fastq, text, 0

    def __iter__(self) -> Iterator[list[bytes]]:
        while record := list(islice(self.text, LINES_PER_RECORD)):
            self.lines += len(record)
            if len(record) == LINES_PER_RECORD:
                yield record

    def count(self) -> int:
        """The number of records, once all were read."""
        require_whole(self.fastq, self.lines)
        return self.lines // LINES_PER_RECORD


def batches(files: Sequence[Records], bases: int) -> Iterator[tuple[int, tuple[list[bytes], ...]]]:
    """What bwa reads at once, a record of each file, with the number of its batch, as `bwa mem -K bases` counts.

    A batch ends with the read that fills it, at an even number of reads. bwa learns from each batch of pairs how far
    mates lie apart, and draws among alignments that are equally good by a read's number in the whole. So chunks of
    whole batches, where each read that is left out leaves a placeholder, are aligned exactly as the whole is.
    """
    batch = reads = room = 0
    for mates in zip(*files):  # noqa: B905 of unequal files bwa, too, ends with the shorter
        if room <= 0 and reads % 2 == 0:
            batch, room = batch + (reads > 0), bases
        yield batch, mates
        reads += len(mates)
        room -= sum(len(record[1].rstrip(b"\r\n")) for record in mates)


class Feed(Thread):
    """Writes to one of bwa's pipes: bwa reads two in turns, so one thread that wrote to both would wait for ever."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(daemon=True)
        self.pipe, self.blocks, self.whole = pipe, Queue(maxsize=4), False
        self.start()

    def run(self) -> None:
        try:
            with self.pipe:
                while block := self.blocks.get():
                    self.pipe.write(block)
            self.whole = True
        except BrokenPipeError:  # bwa ended first, and has said why
            while self.blocks.get():
                continue

    def end(self) -> bool:
        """Whether all was written."""
        self.blocks.put(b"")
        self.join()
        return self.whole


def feed_chunk(files: Sequence[Records], chunk: str, bases: int, feeds: Sequence[Feed]) -> int:
    """Write chunk 2of4, that is batches 2, 6, 10 and so on, and placeholders of those before; how many reads it has."""
    number, chunks = map(int, chunk.split("of"))
    taken = skipped = 0
    blocks: list[list[bytes]] = [[] for _ in files]

    def write() -> None:
        for feed, block in zip(feeds, blocks, strict=True):
            if text := b"".join(block):
                feed.blocks.put(text)
            block.clear()

    for batch, mates in batches(files, bases):
        if batch % chunks != number - 1:
            skipped += 1
            continue
        taken += len(mates)
        for block, record in zip(blocks, mates, strict=True):
            block.extend(islice(cycle(PLACEHOLDERS), skipped))
            block.extend(record)
        skipped = 0
        if len(blocks[0]) >= BLOCK_RECORDS * LINES_PER_RECORD:
            write()
    write()
    for file in files:  # of unequal files one is not at its end
        for _ in file:
            continue
    return taken


def map_chunk(fastq: list[str], counts: Path, chunk: str, bases: int, from_stdin: bool, mapper: list[str]) -> int:
    """Run the mapper on a chunk of the reads, and leave in `counts` how many reads all and the chunk have.

    Its pipes follow its own arguments. Return its exit status.
    """
    pipes = [os.pipe() for _ in fastq]
    ends = [end for end, _ in pipes]
    command = [*mapper, *(f"/dev/fd/{end}" for end in ends)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=ends) as process:
        for end in ends:
            os.close(end)
        feeds = [Feed(os.fdopen(end, "wb")) for _, end in pipes]
        try:
            with ExitStack() as stack:
                texts = [sys.stdin.buffer] if from_stdin else [stack.enter_context(unpacked(name)) for name in fastq]
                files = [Records(name, text) for name, text in zip(fastq, texts, strict=True)]
                taken = feed_chunk(files, chunk, bases, feeds)
            found = {TAKEN: taken, **{file.fastq: file.count() for file in files}}
        finally:
            whole = [feed.end() for feed in feeds]
    if process.returncode == 0 and all(whole):
        for name, count in found.items():
            count_file(counts, name).write_text(f"{count}\n")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def counted(counts: Path, fastq: str) -> int | None:
    """What `stream` counted, or None where it did not get to the end."""
    path = count_file(counts, fastq)
    return int(path.read_text().split()[0]) if path.exists() else None


def names_of(counts: Path, fastq: str) -> str:
    """The digest of names that `stream` left, "" where it left none."""
    path = count_file(counts, fastq)
    return "".join(path.read_text().split()[1:]) if path.exists() else ""


def compare_names(digests: dict[str, str], lanes: int) -> None:
    """Fail where the mates of a lane, as many reads as each other, are not called alike one by one."""
    files, mates = list(digests), max(1, len(digests) // lanes)
    for lane in (files[i : i + mates] for i in range(0, len(files), mates)):
        if len({digests[name] for name in lane}) > 1:
            raise ReadsLostError(f"R1 and R2 must hold the same reads in the same order: {' and '.join(lane)} do not")


def read_flagstat(path: Path) -> dict:
    """samtools' JSON of that name, which a full disk may have cut off."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        full = path.parent.exists() and not os.statvfs(path.parent).f_bavail
        raise ReadsLostError(
            f"{path}: the alignments were not counted to their end{': No space left on device' if full else ''}"
        ) from None


def compare_unit(fastq: dict[str, int | None], flagstat: dict, lanes: int = 1, taken: int | None = None) -> dict:
    """The unit's counts, checked: R1 and R2 alike and read to their ends, and one primary alignment a read.

    `fastq` maps each file to its records, lane by lane where there are several; `flagstat` is samtools' JSON of that
    name; `taken` is how many of the reads were mapped, where it is not all.
    """
    records, mates = list(fastq.values()), max(1, len(fastq) // lanes)
    if None in records or any(len(set(records[i : i + mates])) > 1 for i in range(0, len(records), mates)):
        each = [f"{name} {'was not read to its end' if n is None else f'has {n} reads'}" for name, n in fastq.items()]
        raise ReadsLostError(f"R1 and R2 must be whole and hold the same reads: {', '.join(each)}")
    groups = (flagstat["QC-passed reads"], flagstat["QC-failed reads"])
    primary = sum(group["primary"] for group in groups)
    expected = sum(fastq.values()) if taken is None else taken
    if fastq and expected != primary:
        part = "" if taken is None else "the chunk of "
        raise ReadsLostError(f"{expected} reads in {part}{', '.join(fastq)}, but {primary} in the alignment")
    mapped, alignments = (sum(group[kind] for group in groups) for kind in ("primary mapped", "total"))
    return {"fastq": fastq, "reads": primary, "mapped": mapped, "alignments": alignments}


def indexed_alignments(bam: Path) -> int:
    """Alignment records in a BAM file, from its BAI alone; GATK's environments have no samtools to ask.

    A bin of its own counts those of each contig, and a number at the end those without a place.
    """
    index = next(path for path in (bam.with_suffix(".bai"), bam.with_name(f"{bam.name}.bai")) if path.exists())
    data = index.read_bytes()
    records, at = 0, 8
    for _ in range(*struct.unpack_from("<i", data, 4)):
        (bins,) = struct.unpack_from("<i", data, at)
        at += 4
        for _ in range(bins):
            number, chunks = struct.unpack_from("<Ii", data, at)
            if number == COUNTS_BIN:
                records += sum(struct.unpack_from("<QQ", data, at + 24))
            at += 8 + 16 * chunks
        (windows,) = struct.unpack_from("<i", data, at)
        at += 4 + 8 * windows
    return records + (struct.unpack_from("<Q", data, at)[0] if at < len(data) else 0)


def require_all_chunks(units: dict[Path, dict]) -> None:
    """Fail unless the chunks of each unit, which have a folder of their own, hold all of its reads."""
    for folder in {path.parent for path, unit in units.items() if "chunk" in unit}:
        chunks = [unit for path, unit in units.items() if path.parent == folder]
        mapped, counts = sum(unit["reads"] for unit in chunks), {sum(unit["fastq"].values()) for unit in chunks}
        if counts != {mapped}:
            files = ", ".join(chunks[0]["fastq"])
            raise ReadsLostError(f"{' or '.join(map(str, counts))} reads in {files}, but {mapped} in all of its chunks")


def compare_sample(bam: Path, units: dict[Path, dict]) -> None:
    """Fail unless BAM holds exactly the alignments that its units counted."""
    require_all_chunks(units)
    expected = sum(unit["alignments"] for unit in units.values())
    found = indexed_alignments(bam)
    if found != expected:
        raise ReadsLostError(f"{bam} holds {found} alignments, its units {expected}")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("stream")
    verb.add_argument("--counts", type=Path, required=True)
    verb.add_argument("--reference", default="")
    verb.add_argument("--names", action="store_true")
    verb.add_argument("fastq")
    verb = verbs.add_parser("chunk")
    verb.add_argument("--counts", type=Path, required=True)
    verb.add_argument("--chunk", required=True)
    verb.add_argument("--batch-bases", type=int, required=True)
    verb.add_argument("--stdin", action="store_true")
    verb.add_argument("fastq", nargs="+")
    verb = verbs.add_parser("unit")
    verb.add_argument("--counts", type=Path, required=True)
    verb.add_argument("--output", type=Path, required=True)
    verb.add_argument("--lanes", type=int, default=1)
    verb.add_argument("--chunk")
    verb.add_argument("fastq", nargs="*")
    verb = verbs.add_parser("sample")
    verb.add_argument("--bam", type=Path, required=True)
    verb.add_argument("units", nargs="+", type=Path)
    end = argv.index("--") if "--" in argv else len(argv)
    return parser.parse_args(argv[:end], argparse.Namespace(mapper=argv[end + 1 :]))


def run(arguments: argparse.Namespace) -> int:
    counts = getattr(arguments, "counts", None)
    if arguments.verb == "stream":
        stream(arguments.fastq, counts, arguments.reference, arguments.names)
    elif arguments.verb == "chunk":
        a = arguments
        return map_chunk(a.fastq, counts, a.chunk, a.batch_bases, a.stdin, a.mapper)
    elif arguments.verb == "unit":
        fastq = {name: counted(counts, name) for name in arguments.fastq}
        taken = counted(counts, TAKEN) if arguments.chunk else None
        unit = compare_unit(fastq, read_flagstat(counts / "flagstat"), arguments.lanes, taken)
        compare_names({name: names_of(counts, name) for name in arguments.fastq}, arguments.lanes)
        part = {"chunk": arguments.chunk} if arguments.chunk else {}
        arguments.output.write_text(json.dumps(unit | part) + "\n")
    else:
        compare_sample(arguments.bam, {path: json.loads(path.read_text()) for path in arguments.units})
    return 0


def main(argv: list[str]) -> int:
    try:
        return run(parse(argv))
    except ReadsLostError as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # bwa ended first, and has said why
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
