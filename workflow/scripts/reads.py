"""Count reads on their way through the mapping pipe, and fail where one got lost.

bwa ends quietly at the first end of file it meets: at the end of a truncated gzip stream, and at the end of the
shorter of two files. A sample then loses reads and the job still exits with 0. So the FASTQ files are counted while
bwa reads them, the alignments while the sorter does, and both are compared when the pipe is done, without a second
pass over the data.

    reads.py stream --counts DIR FASTQ [--stdin]     decompress FASTQ to stdout, leave its record count in DIR
    reads.py unit --counts DIR --output O FASTQ ...  compare a unit's counts with its alignments, write both to O;
                                                     with --lanes N, those of N units that were mapped at once
    reads.py sample --bam BAM UNIT.json ...          compare an indexed BAM with what its units counted

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
LINES_PER_RECORD = 4  # as sequencers write FASTQ
COUNTS_BIN = 37450  # of BAI: where a contig's reads lie, then how many are mapped and how many are not


class ReadsLostError(Exception):
    """Reads went missing; the message says where, and how many each side has."""


def count_file(counts: Path, fastq: str) -> Path:
    """Where in the folder `counts` the record count of `fastq` stands (two folders may hold one file name)."""
    return counts / hashlib.md5(os.fsencode(fastq), usedforsecurity=False).hexdigest()


def copy(source: BinaryIO, sink: BinaryIO) -> int:
    """Copy FASTQ text from `source` to `sink`; the number of its lines."""
    lines, last = 0, b"\n"
    while chunk := source.read(CHUNK_BYTES):
        lines += chunk.count(b"\n")
        last = chunk[-1:]
        sink.write(chunk)
    sink.flush()
    return lines + (last != b"\n")


def copy_file(fastq: str, sink: BinaryIO) -> int:
    """`copy` a file, gzip or plain, and be sure that it is whole."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["gzip", "-cdf", "--", fastq], stdout=pipe, stderr=pipe) as gzip:
        lines = copy(gzip.stdout, sink)
        said = gzip.stderr.read().decode(errors="replace").strip()
    if gzip.returncode != 0:
        raise ReadsLostError(f"{fastq}: damaged or truncated: {said}")
    return lines


def stream(fastq: str, counts: Path, from_stdin: bool) -> None:
    """Feed bwa, and leave the number of records in `counts`, unless the file is damaged or bwa stopped before its end.

    The count is there before stdout is closed, so whoever has seen the end of the stream finds it.
    """
    sink = sys.stdout.buffer
    lines = copy(sys.stdin.buffer, sink) if from_stdin else copy_file(fastq, sink)
    if lines % LINES_PER_RECORD:
        raise ReadsLostError(f"{fastq}: its last record is incomplete ({lines} lines)")
    count_file(counts, fastq).write_text(f"{lines // LINES_PER_RECORD}\n")


def counted(counts: Path, fastq: str) -> int | None:
    """What `stream` counted, or None where it did not get to the end."""
    path = count_file(counts, fastq)
    return int(path.read_text()) if path.exists() else None


def read_flagstat(path: Path) -> dict:
    """samtools' JSON of that name, which a full disk may have cut off."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        full = path.parent.exists() and not os.statvfs(path.parent).f_bavail
        raise ReadsLostError(
            f"{path}: the alignments were not counted to their end{': No space left on device' if full else ''}"
        ) from None


def compare_unit(fastq: dict[str, int | None], flagstat: dict, lanes: int = 1) -> dict:
    """The unit's counts, checked: R1 and R2 alike and read to their ends, and one primary alignment a read.

    `fastq` maps each file to its records, lane by lane where there are several; `flagstat` is samtools' JSON of that
    name.
    """
    records, mates = list(fastq.values()), max(1, len(fastq) // lanes)
    if None in records or any(len(set(records[i : i + mates])) > 1 for i in range(0, len(records), mates)):
        each = [f"{name} {'was not read to its end' if n is None else f'has {n} reads'}" for name, n in fastq.items()]
        raise ReadsLostError(f"R1 and R2 must be whole and hold the same reads: {', '.join(each)}")
    groups = (flagstat["QC-passed reads"], flagstat["QC-failed reads"])
    primary = sum(group["primary"] for group in groups)
    if fastq and sum(fastq.values()) != primary:
        raise ReadsLostError(f"{sum(fastq.values())} reads in {', '.join(fastq)}, but {primary} in the alignment")
    return {"fastq": fastq, "reads": primary, "alignments": sum(group["total"] for group in groups)}


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


def compare_sample(bam: Path, units: list[Path]) -> None:
    """Fail unless BAM holds exactly the alignments that its units counted."""
    expected = sum(json.loads(unit.read_text())["alignments"] for unit in units)
    found = indexed_alignments(bam)
    if found != expected:
        raise ReadsLostError(f"{bam} holds {found} alignments, its units {expected}")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("stream")
    verb.add_argument("--counts", type=Path, required=True)
    verb.add_argument("--stdin", action="store_true")
    verb.add_argument("fastq")
    verb = verbs.add_parser("unit")
    verb.add_argument("--counts", type=Path, required=True)
    verb.add_argument("--output", type=Path, required=True)
    verb.add_argument("--lanes", type=int, default=1)
    verb.add_argument("fastq", nargs="*")
    verb = verbs.add_parser("sample")
    verb.add_argument("--bam", type=Path, required=True)
    verb.add_argument("units", nargs="+", type=Path)
    return parser.parse_args(argv)


def run(arguments: argparse.Namespace) -> None:
    if arguments.verb == "stream":
        stream(arguments.fastq, arguments.counts, arguments.stdin)
    elif arguments.verb == "unit":
        fastq = {name: counted(arguments.counts, name) for name in arguments.fastq}
        unit = compare_unit(fastq, read_flagstat(arguments.counts / "flagstat"), arguments.lanes)
        arguments.output.write_text(json.dumps(unit) + "\n")
    else:
        compare_sample(arguments.bam, arguments.units)


def main(argv: list[str]) -> int:
    try:
        run(parse(argv))
    except ReadsLostError as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # bwa ended first, and has said why
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
