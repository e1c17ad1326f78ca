"""Count reads on their way through the mapping pipe, and fail where one got lost.

bwa ends quietly at the first end of file it meets: at the end of a truncated gzip stream, and at the end of the
shorter of two files. A sample then loses reads and the job still exits with 0. So the FASTQ files are counted while
bwa reads them, the alignments while the sorter does, and both are compared when the pipe is done, without a second
pass over the data.

    count_reads.py stream --counts DIR FASTQ               decompress FASTQ to stdout, leave its record count in DIR;
                                                           with --reference FASTA, take the reads of a BAM or CRAM
                                                           file; with --names, leave a digest of the reads' names, too
    count_reads.py unit --counts DIR --output O FASTQ ...  compare a unit's counts with its alignments, write both to O;
                                                           with --lanes N, those of N units that were mapped at once
                                                           with --trimmed JSON, one a lane, they hold what trimming left
    count_reads.py trimmed --counts DIR --report FASTP.json --output O FASTQ ...
                                                           compare a lane's counts with fastp's, write what it left to O
    count_reads.py mapped --least 0.2 NAME UNIT.json ...   fail where a smaller share of a sample's reads maps, or of a
                                                           unit's
    count_reads.py sample --bam BAM UNIT.json ...          compare an indexed BAM or CRAM with what its units counted

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 17  # larger ones cost more: each is new memory from the kernel
LINES_PER_RECORD = 4  # as sequencers write FASTQ
NO_BASES = re.compile(rb"\n(\r?\n\+[^\n]*\n)(?=\r?\n|\Z)")  # no other lines of records follow each other like this


class ReadsLostError(Exception):
    """Reads went missing, or do not map; the message says where, and how many."""


def count_file(counts: Path, fastq: str) -> Path:
    """Where in the folder `counts` the record count of `fastq` stands (two folders may hold one file name)."""
    return counts / hashlib.md5(os.fsencode(fastq), usedforsecurity=False).hexdigest()


def size_of(fastq: str) -> str:
    """Bytes, or none where it is gone."""
    path = Path(fastq)
    return str(path.stat().st_size) if path.exists() else "none"


class Mended:
    """FASTQ text as every tool takes it: a read without bases is one N, and mates bear one name.

    bwa takes /1 and /2 off names, and no other number; GATK leaves reads without bases out in silence, and other tools
    end. The text is given out by whole records, the last of which may be cut off.
    """

    def __init__(self) -> None:
        self.rest, self.without_bases = b"", 0
        self.number: bytes | None = (
            None  # .1 or .2 where all names of the first records close with it, as of fastq-dump -I
        )

    def take(self, text: bytes, feeds: int) -> bytes:
        """The records that the text completes, up to which there were so many line feeds."""
        text = self.rest + text
        end = len(text)
        for _ in range(feeds % LINES_PER_RECORD + 1):
            end = text.rfind(b"\n", 0, end)
        self.rest = text[end + 1 :]
        return self.mend(text[: end + 1])

    def mend(self, records: bytes) -> bytes:
        if self.number is None and records:
            self.number = number_of(records)
        if NO_BASES.search(records):
            records, found = NO_BASES.subn(rb"\nN\1!", records)
            self.without_bases += found
        return without_number(records, self.number) if self.number else records


def number_of(records: bytes) -> bytes:
    """The .1 or .2 with which the names of all records close; empty where there is none."""
    closing = {name[-2:] for name in names_of(records)}
    return closing.pop() if len(closing) == 1 and closing <= {b".1", b".2"} else b""


def without_number(records: bytes, number: bytes) -> bytes:
    lines = records.split(b"\n")
    first = (line.partition(b" ") for line in lines[::LINES_PER_RECORD])
    lines[::LINES_PER_RECORD] = [name.removesuffix(number) + b"".join(rest) for name, *rest in first]
    return b"\n".join(lines)


def names_of(records: bytes) -> list[bytes]:
    """What stands before the first blank of each record's first line; blank lines at the end have none."""
    return [word for line in records.split(b"\n")[::LINES_PER_RECORD] for word in line.split(None, 1)[:1]]


class Names:
    """A digest of the names of reads in their order: HISAT2 pairs mates by their place, whatever they are called."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)

    def take(self, records: bytes) -> None:
        """Go on with whole records; the number of a mate is not part of a name."""
        names = (name[:-2] if name[-2:] in (b"/1", b"/2") else name for name in names_of(records))
        self.digest.update(b"".join(b"%s\n" % name for name in names))


def copy(source: BinaryIO, sink: BinaryIO, names: Names | None = None, mended: Mended | None = None) -> int:
    """Copy FASTQ text from `source` to `sink`, mended; the number of its lines, without blank ones after its records.

    A read without bases ends in a blank line that is its record's.
    """
    mended = mended or Mended()
    feeds = after = 0  # line feeds, and those of them after the last line with a character
    empty = True
    while chunk := source.read(CHUNK_BYTES):
        text = chunk.rstrip(b"\r\n")
        feeds += chunk.count(b"\n")
        after = chunk.count(b"\n", len(text)) + (0 if text else after)
        empty = empty and not text
        give(mended.take(chunk, feeds), sink, names)
    give(mended.mend(mended.rest), sink, names)
    sink.flush()
    lines = 0 if empty else feeds - after + 1
    return lines + (lines % LINES_PER_RECORD == LINES_PER_RECORD - 1 and after > 1)


def give(records: bytes, sink: BinaryIO, names: Names | None) -> None:
    if names:
        names.take(records)
    sink.write(records)


@contextmanager
def unpacked(fastq: str) -> Iterator[BinaryIO]:
    """The text of a file, gzip or plain, and at its end the certainty that it is whole."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["gzip", "-cdf", "--", fastq], CHUNK_BYTES, stdout=pipe, stderr=pipe) as gzip:
        yield gzip.stdout
        complaint = gzip.stderr.read().decode(errors="replace").strip()
    if gzip.returncode < 0:
        raise ReadsLostError(f"{fastq}: not read to its end: {signal.Signals(-gzip.returncode).name} to gzip")
    if gzip.returncode != 0:
        raise ReadsLostError(f"{fastq}: damaged or truncated: {complaint}")


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
            how = f"exit code {code}" if (code := process.returncode) > 0 else signal.Signals(-code).name
            raise ReadsLostError(f"{alignments}: damaged or truncated, or not read to its end: samtools {name}: {how}")


def require_whole(fastq: str, lines: int) -> None:
    if lines % LINES_PER_RECORD:
        raise ReadsLostError(f"{fastq}: its last record is incomplete ({lines} lines)")


def stream(fastq: str, counts: Path, reference: str = "", with_names: bool = False) -> None:
    """Feed bwa, and leave the number of records in `counts`, unless the file is damaged or bwa stopped before its end.

    With a reference it is a file of alignments. The count is there before stdout is closed, with the file's bytes.
    """
    size = size_of(fastq)
    names, mended = Names() if with_names else None, Mended()
    with unaligned(fastq, reference, counts) if reference else unpacked(fastq) as source:
        lines = copy(source, sys.stdout.buffer, names, mended)
    require_whole(fastq, lines)
    if mended.without_bases:
        print(f"{fastq}: {mended.without_bases} reads hold no bases: each is mapped as one N", file=sys.stderr)
    found = [str(lines // LINES_PER_RECORD), size, *([names.digest.hexdigest()] if names else [])]
    count_file(counts, fastq).write_text(f"{' '.join(found)}\n")


def counted(counts: Path, fastq: str) -> tuple[int | None, str]:
    """The records, and the digest of their names, that `stream` left; None where it did not get to the end.

    A file that is still being copied may have ended with a record: that it has grown since tells.
    """
    path = count_file(counts, fastq)
    records, size, digest = [*(path.read_text().split() if path.exists() else []), "", "", ""][:3]
    if size and (now := size_of(fastq)) != size:
        raise ReadsLostError(
            f"{fastq}: it had {size} bytes when it was read and has {now}: start again when it is whole"
        )
    return int(records) if records else None, digest


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


def require_alike(fastq: dict[str, int | None], lanes: int) -> None:
    """Fail where files were not read to their ends, or mates of a lane hold other numbers of reads."""
    records, mates = list(fastq.values()), max(1, len(fastq) // lanes)
    if None in records or any(len(set(records[i : i + mates])) > 1 for i in range(0, len(records), mates)):
        each = [f"{name} {'was not read to its end' if n is None else f'has {n} reads'}" for name, n in fastq.items()]
        raise ReadsLostError(f"R1 and R2 must be whole and hold the same reads: {', '.join(each)}")


def compare_unit(fastq: dict[str, int | None], flagstat: dict, lanes: int = 1) -> dict:
    """The unit's counts, checked: R1 and R2 alike and read to their ends, and one primary alignment a read.

    `fastq` maps each file to its records, lane by lane; `flagstat` is samtools' JSON.
    """
    require_alike(fastq, lanes)
    groups = (flagstat["QC-passed reads"], flagstat["QC-failed reads"])
    primary = sum(group["primary"] for group in groups)
    if fastq and (expected := sum(fastq.values())) != primary:
        raise ReadsLostError(f"{expected} reads in {', '.join(fastq)}, but {primary} in the alignment")
    mapped, alignments = (sum(group[kind] for group in groups) for kind in ("primary mapped", "total"))
    return {"fastq": fastq, "reads": primary, "mapped": mapped, "alignments": alignments}


def compare_trimmed(fastq: dict[str, int | None], lanes: Sequence[Mapping]) -> None:
    """Fail where a lane's files, of which R1 and R2 are alike, do not hold what trimming left of it."""
    files = list(fastq.items())
    mates = max(1, len(files) // max(1, len(lanes)))
    for at, lane in enumerate(lanes):
        for name, records in files[at * mates : (at + 1) * mates]:
            if records is not None and records * mates != lane["kept"]["reads"]:
                raise ReadsLostError(
                    f"{name} has {records} reads, but fastp left {lane['kept']['reads'] // mates} in it"
                )


def trimmed(fastq: dict[str, int | None], report: Mapping) -> dict:
    """What fastp found in a lane, and what it left, checked: it read R1 and R2, alike, to their ends."""
    require_alike(fastq, 1)
    found, kept = (
        {kind: report["summary"][when][f"total_{kind}"] for kind in ("reads", "bases")}
        for when in ("before_filtering", "after_filtering")
    )
    if (expected := sum(filter(None, fastq.values()))) != found["reads"]:
        raise ReadsLostError(f"{expected} reads in {', '.join(fastq)}, but fastp read {found['reads']}")
    return {"fastq": fastq, "found": found, "kept": kept}


def require_mapped(sample: str, units: Mapping[str, dict], least: float) -> None:
    """Fail where less than this share of the reads of a sample or of a unit maps.

    Counts of earlier versions say nothing of it.
    """
    known = {name: unit for name, unit in units.items() if "mapped" in unit}
    reads, mapped = (sum(unit[kind] for unit in known.values()) for kind in ("reads", "mapped"))
    counts = {sample: (reads, mapped)} | {
        f"{sample}, unit {name}": (unit["reads"], unit["mapped"]) for name, unit in known.items()
    }
    for name, (reads, mapped) in counts.items():
        if mapped < least * reads:
            raise ReadsLostError(
                f"{name}: {mapped / reads:.1%} of its {reads} reads map, and min_mapped in the config wants "
                f"{least:.1%}; usual causes: reads or a reference of another species, swapped files, adapters or "
                "contamination; min_mapped: 0 lets it pass"
            )


def indexed_alignments(bam: Path) -> int:
    """Alignment records in a BAM file, by its index; in a CRAM file, whose index has no counts, by reading it."""
    done = subprocess.run(["samtools", "idxstats", bam], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReadsLostError(f"{bam}: samtools idxstats failed: {' '.join(done.stderr.split())}")
    return sum(int(count) for row in done.stdout.splitlines() for count in row.split("\t")[2:])


def compare_sample(bam: Path, units: dict[Path, dict]) -> None:
    """Fail unless BAM holds exactly the alignments that its units counted."""
    expected = sum(unit["alignments"] for unit in units.values())
    found = indexed_alignments(bam)
    if found != expected:
        raise ReadsLostError(f"{bam} holds {found} alignments, its units {expected}")


def counts_of(given: argparse.Namespace) -> tuple[dict[str, int | None], dict[str, str]]:
    """The records of each file, and the digests of their names."""
    found = {name: counted(given.counts, name) for name in given.fastq}
    return {name: count for name, (count, _) in found.items()}, {name: digest for name, (_, digest) in found.items()}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommand = subcommands.add_parser("stream")
    subcommand.add_argument("--counts", type=Path, required=True)
    subcommand.add_argument("--reference", default="")
    subcommand.add_argument("--names", action="store_true")
    subcommand.add_argument("fastq")
    subcommand = subcommands.add_parser("unit")
    subcommand.add_argument("--counts", type=Path, required=True)
    subcommand.add_argument("--output", type=Path, required=True)
    subcommand.add_argument("--lanes", type=int, default=1)
    subcommand.add_argument("--trimmed", type=Path, action="append", default=[])
    subcommand.add_argument("fastq", nargs="*")
    subcommand = subcommands.add_parser("trimmed")
    subcommand.add_argument("--counts", type=Path, required=True)
    subcommand.add_argument("--report", type=Path, required=True)
    subcommand.add_argument("--output", type=Path, required=True)
    subcommand.add_argument("fastq", nargs="+")
    subcommand = subcommands.add_parser("mapped")
    subcommand.add_argument("--least", type=float, required=True)
    subcommand.add_argument("name")
    subcommand.add_argument("units", nargs="+", type=Path)
    subcommand = subcommands.add_parser("sample")
    subcommand.add_argument("--bam", type=Path, required=True)
    subcommand.add_argument("units", nargs="+", type=Path)
    given = parser.parse_args(argv)
    try:
        if given.subcommand == "stream":
            stream(given.fastq, given.counts, given.reference, given.names)
        elif given.subcommand == "unit":
            records, digests = counts_of(given)
            compare_trimmed(records, [json.loads(path.read_text()) for path in given.trimmed])
            unit = compare_unit(records, read_flagstat(given.counts / "flagstat"), given.lanes)
            compare_names(digests, given.lanes)
            given.output.write_text(json.dumps(unit) + "\n")
        elif given.subcommand == "trimmed":
            records, digests = counts_of(given)
            lane = trimmed(records, json.loads(given.report.read_text()))
            compare_names(digests, lanes=1)
            given.output.write_text(json.dumps(lane) + "\n")
        elif given.subcommand == "mapped":
            require_mapped(given.name, {path.stem: json.loads(path.read_text()) for path in given.units}, given.least)
        else:
            compare_sample(given.bam, {path: json.loads(path.read_text()) for path in given.units})
    except ReadsLostError as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # bwa ended first, and has said why
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
