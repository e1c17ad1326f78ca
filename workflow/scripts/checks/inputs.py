"""The files that the configuration and the tables name, opened and checked before any job starts.

Every fault is a phrase that follows the file's path ("does not exist"); functions return all lines they find.
They never print, never exit and start no process. Small files are read whole; of larger ones only the head
and the tail are, and the job that maps them checks the rest as it reads. The workflow loads this file by its
path, so it imports no sibling and nothing beyond the standard library.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path

MIB = 1 << 20
WHOLE_FILE = 8 * MIB  # a file up to this size, as stored, is read whole ...
WHOLE_TOTAL = 64 * MIB  # ... as long as the read files of one start stay below this sum
HEAD_READS = 1000  # of larger read files, so many reads are looked at
MAX_LINE = 16 * MIB  # longer lines are no sequence data; keeps memory bounded
BUFFER = 1 << 17  # unpacked bytes held at once: a buffer in C makes reading lines twice as fast
MOST_HEADER = 512 * MIB  # of BAM and CRAM
LONGEST_CONTIG = 2**29 - 1  # that BAI and TBI hold
BLOCK = 8 * MIB  # a reference is scanned in blocks of this size

GZIP = b"\x1f\x8b"
BGZF_BLOCK = b"\x1f\x8b\x08\x04"
BGZF_FIELD = b"BC\x02\x00"
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
CRAM_ENDS = (
    bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),  # version 3
    bytes.fromhex("0b000000ffffffff0fe0454f460000000001000001000606010001000100"),  # version 2.1
)
CRAM_METHODS = (bytes, gzip.decompress, bz2.decompress, lzma.decompress)

PLAIN = re.compile("[ -~]+")  # a value of a read group, as SAM has it

Contigs = dict[str, int]
# of the index, by mapper
INDEX_ENDINGS = {"bwa": ("amb", "ann", "bwt", "pac", "sa"), "bwa-mem2": ("amb", "ann", "0123", "bwt.2bit.64", "pac")}


class InputError(Exception):
    """A file is not what it should be; the message is the fault."""


def check(
    config: dict, units: dict[str, dict[str, dict]], cached_fai: str = "", warn: Callable[[str], object] = str
) -> list[str]:
    """Everything wrong with the files that a configuration (complete with its defaults) and the units name.

    `units` are those of tables.read_cohort; `cached_fai` may name an index that an earlier run made; `warn` is called
    with each line about what works, but hardly as it is meant.
    """
    contigs, errors = read_reference(config["reference"], cached_fai, INDEX_ENDINGS[config["mapper"]])
    if config["pipeline"] == "germline":
        errors += index_errors(config["reference"], contigs)
        errors += duplicates_errors(config, units)
        errors += alt_errors(config["reference"], contigs)
        for warning in alt_warnings(config["reference"], contigs) + depth_warnings(config):
            warn(warning)
    if (jar := config["gatk3_jar"]) and (fault := path_fault(jar)):
        errors.append(f"config: gatk3_jar {jar} {fault}")
    errors += vcf_errors(config, contigs)
    errors += interval_errors(config, contigs)
    errors += ploidy_errors(config, contigs)
    return errors + file_errors(units, config, contigs)


def duplicates_errors(config: dict, units: dict[str, dict[str, dict]]) -> list[str]:
    """What samtools markdup cannot do: mates without fixmate's tags, and several libraries, which it takes for one."""
    if config["duplicates"] != "samtools":
        return []
    advice, errors = "set duplicates: sambamba", []
    for sample, rows in units.items():
        which = f"config: duplicates: samtools: sample {sample}"
        aligned = [unit for unit, row in rows.items() if row["bam"] and config["bam_input"] == "keep"]
        if aligned:
            lack = f"unit {aligned[0]}: alignments that are kept lack what it goes by"
            errors.append(f"{which}, {lack}: {advice}, or bam_input: remap")
        libraries = sorted({row["library"] or sample for row in rows.values()})
        if len(libraries) > 1:
            errors.append(f"{which}: it takes libraries ({', '.join(libraries)}) for one: {advice}")
    return errors


# --- any file ---


def path_fault(path: str) -> str | None:
    """Why the file cannot be read at all, or None."""
    file = Path(path)
    try:
        if file.is_dir():
            return "is a directory, not a file"
        if not file.is_file() and file.exists():
            return "is not a regular file"
        if not os.access(path, os.R_OK) and file.exists():
            return "cannot be read: permission denied"
        return None if file.stat().st_size else "is empty (0 bytes)"
    except FileNotFoundError:
        return "is a link to a file that does not exist" if file.is_symlink() else "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedIOBase]:
    """The file's bytes, unpacked where it is gzip or BGZF. Damage found while reading becomes InputError."""
    try:
        with Path(path).open("rb") as raw:
            packed = raw.peek(2)[:2] == GZIP
            if path.endswith(".gz") and not packed:
                raise InputError("is not gzip compressed, though its name ends in .gz")
            yield io.BufferedReader(gzip.GzipFile(fileobj=raw), BUFFER) if packed else raw
    except EOFError:
        raise InputError("is cut off: its compressed data ends too early; copy or create it again") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged: {error}; copy or create it again") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None


def _size(path: str) -> int:
    return Path(path).stat().st_size


def _is_current(index: str, path: str) -> bool:
    """Whether an index is there and no older than its file."""
    return Path(index).is_file() and Path(index).stat().st_mtime >= Path(path).stat().st_mtime


def _start(path: str, size: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(size)


def _end(path: str, size: int) -> bytes:
    with Path(path).open("rb") as file:
        file.seek(max(0, _size(path) - size))
        return file.read(size)


def _is_bgzf(path: str) -> bool:
    start = _start(path, 16)
    return start.startswith(BGZF_BLOCK) and start[12:] == BGZF_FIELD


def _ends_in_block(path: str) -> bool:
    """Whether a BGZF file ends in the middle of a block."""
    tail = _end(path, 1 << 16)
    at = tail.rfind(BGZF_BLOCK)
    while at >= 0:
        size = int.from_bytes(tail[at + 16 : at + 18], "little") + 1
        if tail[at + 12 : at + 16] == BGZF_FIELD and at + size == len(tail):
            return False
        at = tail.rfind(BGZF_BLOCK, 0, at)
    return True


def _text(data: bytes) -> str:
    return data.strip().decode("ascii", "backslashreplace")


def _shown(data: bytes) -> str:
    """The beginning of data of whatever kind, safe to print."""
    return ascii(data[:20].strip().decode("latin-1"))


def _few(names: Iterable[str]) -> str:
    shown = list(islice(names, 4))
    return ", ".join(shown[:3] + ["..."] * (len(shown) > 3))


# --- reads ---


def file_errors(units: dict[str, dict[str, dict]], config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the units' read files. Without contigs, headers of BAM files are not compared."""
    errors, budget = [], WHOLE_TOTAL
    for row in chain.from_iterable(table.values() for table in units.values()):
        paths = {column: row[column] for column in ("fq1", "fq2", "bam") if row[column]}
        faults = [(column, fault) for column, path in paths.items() if (fault := path_fault(path))]
        if not faults and "bam" in paths:
            faults = [("bam", fault) for fault in _bam_faults(row, config, contigs)]
        elif not faults and "fq1" in paths:
            sizes = [_size(path) for path in paths.values()]
            whole = max(sizes) <= WHOLE_FILE and sum(sizes) <= budget
            budget -= sum(sizes) if whole else 0
            faults = _fastq_faults(paths, whole)
        place = f"{row['table']} line {row['line']}: sample {row['sample_name']}"
        errors += [f"{place}: {column} {paths[column]} {fault}" for column, fault in faults]
    return errors


def _fastq_faults(paths: dict[str, str], whole: bool) -> list[tuple[str, str]]:
    """Faults by column of one FASTQ file, or of two that must hold the same reads in the same order."""
    faults: list[tuple[str, str]] = []
    streams = [_read_names(column, path, whole, faults) for column, path in paths.items()]
    if len(streams) == 1:
        deque(streams[0], maxlen=0)
        return faults
    fault = _pair_fault(paths["fq1"], *streams, whole)
    return faults or ([("fq2", fault)] if fault else [])


def _pair_fault(fq1: str, first: Iterator[bytes], second: Iterator[bytes], whole: bool) -> str | None:
    """The fault of fq2 when the two streams of read names, whole or their beginnings, do not agree."""
    total, ended, differing = 0, None, None
    for total, (one, two) in enumerate(zip_longest(first, second), 1):
        if one == two:
            continue
        if one is None or two is None:
            ended = ended or ("fq1" if one is None else "fq2", total - 1)
        else:
            differing = differing or (total, _text(one), _text(two))
    if ended:
        counts = dict.fromkeys(("fq1", "fq2"), str(total) if whole else f"at least {total}") | {ended[0]: ended[1]}
        return f"has {counts['fq2']} reads, but fq1 {fq1} has {counts['fq1']}: they must hold the same reads"
    if differing:
        number, one, two = differing
        return f"has read {two} in record {number}, but fq1 {fq1} has {one}: they must be in the same order"
    return None


def _read_names(column: str, path: str, whole: bool, faults: list[tuple[str, str]]) -> Iterator[bytes]:
    """Names of all reads in a FASTQ file, or of the first; its first fault ends them and goes to `faults`."""
    try:
        with _opened(path) as stream:
            yield from islice(_fastq_names(stream), None if whole else HEAD_READS)
        if not whole and _is_bgzf(path) and _ends_in_block(path):
            raise InputError("is cut off: it ends inside a compressed block; copy or create it again")
    except InputError as error:
        faults.append((column, str(error)))


def _fastq_names(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """Each read's name up to the first blank, without a closing /1 or /2, which mates do not share."""
    lines = iter(partial(stream.readline, MAX_LINE), b"")
    number = 0
    for number, header in enumerate(lines, 1):
        sequence, plus, quality = next(lines, b""), next(lines, b""), next(lines, b"")
        if header[:1] != b"@" or plus[:1] != b"+" or len(sequence.rstrip()) != len(quality.rstrip()):
            if number > 1 and not any(map(bytes.strip, chain((header, sequence, plus, quality), lines))):
                return  # blank lines at the end
            raise InputError(_record_fault(number, header, sequence, plus, quality))
        name = (header[1:].split(None, 1) or [b""])[0]
        yield name[:-2] if name[-2:] in (b"/1", b"/2") else name
    if not number:
        raise InputError("holds no reads")


def _record_fault(number: int, header: bytes, sequence: bytes, plus: bytes, quality: bytes) -> str:
    if number == 1 and header[:1] == b">":
        return "is FASTA, not FASTQ: it holds no base qualities"
    if number == 1 and header[:1] != b"@":
        return f"is not FASTQ: it starts with {_shown(header)}"
    if not quality.endswith(b"\n"):
        return f"is cut off inside record {number}"
    if header[:1] != b"@":
        return f"is not FASTQ at record {number}, which starts with {_shown(header)}, not with @"
    if plus[:1] != b"+":
        return f"is not FASTQ at record {number}: its third line does not start with +, as in four-line FASTQ"
    bases, qualities = len(sequence.rstrip()), len(quality.rstrip())
    return f"has {bases} bases but {qualities} base qualities in record {number}"


def _bam_faults(row: dict, config: dict, contigs: Contigs) -> Iterator[str]:
    path = row["bam"]
    try:
        is_cram = _start(path, 4) == b"CRAM"
        whole = _end(path, 64).endswith(CRAM_ENDS if is_cram else BGZF_END)
        # a cut BAM file is told from what is none by its header, which a cut CRAM file may lack
        header, found = ([], {}) if is_cram and not whole else _read_header(path, is_cram)
        if not whole:
            form = "CRAM" if is_cram else "BAM"
            raise InputError(f"is cut off: the end marker of {form} is missing; copy or create it again")
    except InputError as error:
        yield str(error)
        return
    if config["bam_input"] == "keep":
        yield from _header_faults(header, row["sample_name"])
        if contigs:
            for fault in _all_contig_faults(found, contigs, config["reference"]["fasta"]):
                yield f"{fault}; or set bam_input: remap"
    elif len(groups := _groups(header)) > 1:
        yield (
            f"has {len(groups)} read groups ({_few(group.get('ID', '') for group in groups)}), of which bam_input: "
            "remap would make one: split it (samtools split) and make each part a unit of its own"
        )


def _read_header(path: str, is_cram: bool) -> tuple[list[list[str]], dict[str, int]]:
    return read_cram_header(path) if is_cram else read_bam_header(path)


def read_cram_header(path: str) -> tuple[list[list[str]], dict[str, int]]:
    """The header lines of a CRAM file (version 2 or 3), each split at its tabs, and its contigs with their lengths.

    The header is the first block of the first container.
    """
    try:
        with Path(path).open("rb") as file:
            version = file.read(26)[4]
            if version not in (2, 3):
                raise InputError(
                    f"is CRAM version {version}, of which no header can be read here: convert it to version 3"
                )
            file.read(4)
            *_, landmarks = [_itf8(file) for _ in range(8)]  # place, span, records, counters, blocks
            for _ in range(landmarks):
                _itf8(file)
            file.read(4 if version == 3 else 0)  # a checksum
            method, _kind, _id = file.read(3)
            packed, size = _itf8(file), _itf8(file)
            data = CRAM_METHODS[method](_taken(file, packed))
        (length,) = struct.unpack_from("<i", data)
        if len(data) != size or length > len(data) - 4:
            raise EOFError
        text = data[4 : 4 + length].rstrip(b"\0").decode("utf-8", "replace")
        header = [line.split("\t") for line in text.splitlines()]
        named = (dict(field.split(":", 1) for field in line[1:] if ":" in field) for line in header if line[0] == "@SQ")
        return header, {contig["SN"]: int(contig["LN"]) for contig in named}
    except (LookupError, ValueError, EOFError, OSError, struct.error, zlib.error, lzma.LZMAError):
        raise InputError("is damaged: its header cannot be read; copy or create it again") from None


def _taken(file: io.BufferedIOBase, size: int) -> bytes:
    """So many bytes. Raises EOFError where there are fewer: no memory is asked for on a damaged file's word."""
    if size > MOST_HEADER:
        raise EOFError
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _itf8(file: io.BufferedIOBase) -> int:
    """One of CRAM's integers: the bits set first say how many bytes follow; of the longest, none matters here."""
    (first,) = _taken(file, 1)
    more = next((bit for bit in range(4) if not first & 0x80 >> bit), 4)
    return int.from_bytes(bytes([first & 0xFF >> more + 1]) + _taken(file, more), "big")


def read_bam_header(path: str) -> tuple[list[list[str]], dict[str, int]]:
    """The header lines of a BAM file, each split at its tabs, and its contigs with their lengths in bases."""
    with _opened(path) as stream:

        def number() -> int:
            return struct.unpack("<I", _taken(stream, 4))[0]

        if stream.read(4) != b"BAM\1":
            raise InputError("is neither BAM nor CRAM")
        text = _taken(stream, number()).rstrip(b"\0").decode("utf-8", "replace")
        found = {}
        for _ in range(number()):
            name = _taken(stream, number())[:-1].decode("ascii", "replace")
            found[name] = number()
    return [line.split("\t") for line in text.splitlines()], found


def _header_faults(header: list[list[str]], sample: str) -> Iterator[str]:
    """What keeps the alignments of a BAM file from being taken as they are."""
    if not any(line[0] == "@HD" and "SO:coordinate" in line for line in header):
        yield "is not sorted by coordinate (its header lacks SO:coordinate): sort it, or set bam_input: remap"
    groups = _groups(header)
    if not groups:
        yield "has no read group (@RG): add one, or set bam_input: remap"
    for name in sorted({group.get("SM", "") for group in groups} - {sample}):
        yield f"has a read group of sample {name!r} (SM): rename one of the two, or set bam_input: remap"


def _groups(header: list[list[str]]) -> list[dict[str, str]]:
    """The read groups of a header, by field."""
    return [dict(field.split(":", 1) for field in line[1:] if ":" in field) for line in header if line[0] == "@RG"]


def read_groups(path: str) -> list[dict[str, str]]:
    """The read groups of a BAM or CRAM file, with the fields that a command line can take over."""
    header, _ = _read_header(path, _start(path, 4) == b"CRAM")
    return [{key: value for key, value in group.items() if PLAIN.fullmatch(value)} for group in _groups(header)]


# --- reference ---


def read_reference(
    reference: dict, cached_fai: str = "", endings: Iterable[str] = INDEX_ENDINGS["bwa"]
) -> tuple[Contigs, list[str]]:
    """The reference's contigs in order with their lengths in bases, and what is wrong with its files.

    An index, FASTA.fai or `cached_fai`, spares reading the FASTA file: 3 Gb take some 10 s.
    """
    fasta, prefix = reference["fasta"], reference["bwa_index"]
    errors = []
    for suffix in endings if prefix else ():
        if fault := path_fault(f"{prefix}.{suffix}"):
            errors.append(f"config: reference.bwa_index {prefix}.{suffix} {fault}")
    try:
        if fault := path_fault(fasta):
            raise InputError(fault)
        contigs = _indexed_contigs(fasta, cached_fai) or scan_fasta(fasta)
        if long := [f"{name} ({length:,})" for name, length in contigs.items() if length > LONGEST_CONTIG]:
            raise InputError(
                f"has contigs of more than {LONGEST_CONTIG:,} bases, which the indexes BAI and TBI cannot hold: "
                f"{_few(long)}; split them, as in runs of N, and name the parts in known sites and intervals, too"
            )
        return contigs, errors
    except InputError as error:
        return {}, [f"config: reference.fasta {fasta} {error}", *errors]


def alt_file(reference: dict) -> str:
    """The file that tells bwa which contigs are alternatives of others; empty where there is none.

    It lies beside an index that is named, or else beside the FASTA file, whose name it may take without its .gz.
    """
    fasta, prefix = reference["fasta"], reference["bwa_index"]
    beside = [f"{path}{suffix}" for path in (fasta, fasta.removesuffix(".gz")) for suffix in (".alt", ".64.alt")]
    return next((file for file in ([f"{prefix}.alt"] if prefix else beside) if Path(file).exists()), "")


def index_errors(reference: dict, contigs: Contigs) -> list[str]:
    """What tells an index of the mapper's that is named from one of this reference; its bases a job compares."""
    file = f"{reference['bwa_index']}.ann"
    if not reference["bwa_index"] or not contigs or path_fault(file):
        return []
    try:
        faults = list(_all_contig_faults(read_annotation(file), contigs, reference["fasta"]))
    except InputError as error:
        faults = [str(error)]
    return [f"config: reference.bwa_index {file} {fault}" for fault in faults]


def read_annotation(path: str) -> dict[str, int]:
    """The contigs of an index of bwa's, in order, with their lengths: two lines a contig, after a first one."""
    with _opened(path) as stream:
        first, *lines = iter(partial(stream.readline, MAX_LINE), b"")
    try:
        rows = zip(lines[::2], lines[1::2], strict=True)
        found = {_text(name.split(maxsplit=2)[1]): int(place.split()[1]) for name, place in rows}
        if int(first.split()[1]) == len(found):
            return found
    except (ValueError, LookupError):
        pass
    raise InputError("is not the .ann file of a whole index: make the index again")


def alt_errors(reference: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the file that goes into an index of ours: bwa passes over what it cannot use, in silence."""
    file = alt_file(reference)
    if not file or reference["bwa_index"]:
        return []
    try:
        if fault := path_fault(file):
            raise InputError(fault)
        with _opened(file) as lines:
            names = {_text(line.split(b"\t")[0]) for line in lines if line[:1] != b"@"}
    except InputError as error:
        return [f"config: reference {file} {error}"]
    if contigs and not names & contigs.keys():
        fasta = reference["fasta"]
        return [f"config: reference {file} names no contig of {fasta}: take the one of this genome, or remove it"]
    return []


def alt_warnings(reference: dict, contigs: Contigs) -> list[str]:
    """What alternative contigs do to calls where bwa takes them for further copies of the sequence."""
    alternatives = [name for name in contigs if name.endswith("_alt") or name.startswith("HLA-")]
    if not alternatives or alt_file(reference):
        return []
    missing = f"{reference['bwa_index'] or reference['fasta']}.alt"
    return [
        f"config: reference {reference['fasta']} has {len(alternatives)} ALT contigs ({_few(alternatives)}), but there "
        f"is no {missing}: reads that lie there and on a chromosome get a mapping quality of 0, and calls are lost"
    ]


def depth_warnings(config: dict) -> list[str]:
    """What depth tells VQSR's models where targets alone were sequenced; that they were, nobody but the user knows."""
    fitted = [f"vqsr.{kind}" for kind, model in config["vqsr"].items() if "DP" in model["annotations"]]
    if config["filter"] != "vqsr" or not config["intervals"] or not fitted:
        return []
    return [
        f"config: annotations of {' and '.join(fitted)} hold DP: where intervals are the targets of an exome or panel, "
        "depth tells of the capture and not of the variant: leave DP out"
    ]


def _indexed_contigs(fasta: str, cached_fai: str) -> Contigs | None:
    """Contigs from an index that is current and fits the file's size, if there is one.

    The size of a BGZF file's content is not known. An index beside it is believed all the same, but not one
    from an earlier run, whose reference may have been another.
    """
    size = None if _is_bgzf(fasta) else _size(fasta)
    if size and _start(fasta, 2) == GZIP:
        size = int.from_bytes(_end(fasta, 4), "little")
    for index in filter(None, (f"{fasta}.fai", cached_fai if size else "")):
        if _is_current(index, fasta) and (contigs := _read_fai(index, size)):
            return contigs
    return None


def _read_fai(path: str, size: int | None) -> Contigs | None:
    """Contigs of an index; None where it is damaged or its last base is not at the end of `size` bytes."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            rows = [line.split("\t") for line in file]
        contigs = {row[0]: int(row[1]) for row in rows}
        length, offset, bases, width = map(int, rows[-1][1:5])
        end = offset + (length - 1) // bases * width + (length - 1) % bases + 1
    except (OSError, ValueError, LookupError, ArithmeticError):
        return None
    fits = size is None or (size - end) % (1 << 32) <= len(b"\r\n")  # gzip keeps the size's lower 32 bits
    return contigs if fits and len(contigs) == len(rows) else None


def scan_fasta(path: str) -> Contigs:
    """The contigs of a FASTA file in order, with their lengths in bases."""
    contigs: Contigs = {}
    name = ""
    with _opened(path) as stream:
        line_end = b"\n"
        while block := stream.read(BLOCK):
            data = line_end + block
            last = data.rfind(b"\n>")
            if last >= 0 and data.find(b"\n", last + 1) < 0:
                data += stream.readline(MAX_LINE)  # the block ends inside this header line
            rest, *parts = data.split(b"\n>")
            if name:
                contigs[name] += _bases(rest)
            elif rest.strip():
                raise InputError(f"is not FASTA: it starts with {_shown(rest.lstrip())}")
            for part in parts:
                header, _, sequence = part.partition(b"\n")
                name = _text((header.split(None, 1) or [b""])[0])
                if not name or name in contigs:
                    raise InputError(f"has two contigs {name}" if name else "has a contig without a name")
                contigs[name] = _bases(sequence)
            line_end = b"\n" if data.endswith(b"\n") else b""
    for name, length in contigs.items():
        if not length:
            raise InputError(f"has a contig {name} without a sequence")
    if not contigs:
        raise InputError("holds no sequence")
    return contigs


def _bases(lines: bytes) -> int:
    return len(lines) - lines.count(b"\n") - lines.count(b"\r")


def _contig_faults(found: dict[str, int | None], contigs: Contigs, fasta: str) -> Iterator[str]:
    """How contigs of another file (lengths None where unknown) disagree with the reference's."""
    unknown = [name for name in found if name not in contigs]
    if unknown:
        noun = "contig" if len(unknown) == 1 else "contigs"
        yield (
            f"names {noun} {_few(unknown)} that the reference {fasta} lacks (it has {_few(contigs)}): "
            "use files of one genome build"
        )
    for name, length in found.items():
        if length is not None and length != contigs.get(name, length):
            yield (
                f"gives contig {name} a length of {length}, but the reference {fasta} {contigs[name]}: "
                "use files of one genome build"
            )
            break
    order, expected = [name for name in found if name in contigs], [name for name in contigs if name in found]
    if order != expected:
        at = next(number for number, (one, two) in enumerate(zip(order, expected, strict=True)) if one != two)
        yield (
            f"has contig {order[at]} where the reference {fasta} has {expected[at]}: "
            "sort it by the order of the reference"
        )


def _all_contig_faults(found: dict[str, int | None], contigs: Contigs, fasta: str) -> Iterator[str]:
    """How contigs of another file, which must be all of the reference, disagree with those."""
    yield from _contig_faults(found, contigs, fasta)
    if missing := [name for name in contigs if name not in found]:
        noun = "contig" if len(missing) == 1 else "contigs"
        yield f"lacks {noun} {_few(missing)} of the reference {fasta}: use files of one genome build"


# --- known sites, training sets, intervals ---


def named_vcfs(config: dict) -> Iterator[tuple[str, str]]:
    """Key and path of each VCF file that the chosen route through the pipeline reads."""
    for key in ("known_sites", "known_indels"):
        yield from ((key, path) for path in config[key])
    if config["filter"] == "vqsr":
        for kind, model in config["vqsr"].items():
            for name, resource in model["resources"].items():
                yield f"vqsr.{kind}.resources.{name}.vcf", resource["vcf"]


def vcf_errors(config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the VCF files, which need no index. Without contigs, they are not compared."""
    errors, seen = [], {}
    for key, path in named_vcfs(config):
        if path not in seen:
            seen[path] = list(_vcf_faults(path, contigs, config["reference"]["fasta"]))
        errors += [f"config: {key} {path} {fault}" for fault in seen[path]]
    return errors


def _vcf_faults(path: str, contigs: Contigs, fasta: str) -> Iterator[str]:
    if fault := path_fault(path):
        yield fault
        return
    try:
        found = read_vcf_contigs(path, contigs)
        if _is_bgzf(path) and _end(path, len(BGZF_END)) != BGZF_END:
            raise InputError("is cut off: the end marker of bgzip is missing; copy or create it again")
    except InputError as error:
        yield str(error)
        return
    if contigs:
        yield from _contig_faults(found, contigs, fasta)


def read_vcf_contigs(path: str, contigs: Contigs) -> dict[str, int | None]:
    """Contigs that have records, in their order, with the lengths that the header gives.

    They come from the index, or from a small file's own records. Of a large file without an index only the
    first record is read; besides its contig those of the header count that the reference has, since a header
    may well name contigs without records.
    """
    with _opened(path) as stream:
        header = _vcf_header(stream)
        index = f"{path}.tbi"
        if _is_current(index, path):
            names = read_tbi_contigs(index)
        elif _size(path) <= WHOLE_FILE:
            names = list(_record_contigs(stream))
        else:
            first = list(islice(_record_contigs(stream), 1))
            names = [name for name in header if name in contigs or name in first] or first
    return {name: header.get(name) for name in names}


def _vcf_header(stream: io.BufferedIOBase) -> dict[str, int | None]:
    """Contigs of the header with their lengths (None: not given); leaves the stream at the first record."""
    found: dict[str, int | None] = {}
    for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b"")):
        if number == 0 and not line.startswith(b"##fileformat=VCF"):
            raise InputError(f"is not VCF: it starts with {_shown(line)}")
        if line.startswith(b"#CHROM"):
            return found
        if not line.startswith(b"##"):
            break
        if match := re.match(r"##contig=<(?:.*,)?ID=([^,>]+)", line.decode("utf-8", "replace")):
            length = re.search(r"[<,]length=([0-9]{1,18})\b", match.string)
            found[match[1]] = int(length[1]) if length else None
    raise InputError("is not VCF: it has no line that starts with #CHROM")


def _record_contigs(stream: io.BufferedIOBase) -> Iterator[str]:
    """Contigs of the records, each when it first occurs."""
    seen = set()
    for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1):
        name = line[: line.find(b"\t")]
        if line.count(b"\t") < 7 and line.strip():
            raise InputError(f"is damaged or cut off: record {number} has fewer than 8 columns")
        if name not in seen and line.strip():
            seen.add(name)
            yield _text(name)


def read_tbi_contigs(path: str) -> list[str]:
    """Contigs that have records, from a tabix index; it may name others too, without bins."""
    try:
        with _opened(path) as stream:
            return list(_tbi_contigs(stream.read()))
    except (InputError, struct.error):
        raise InputError(f"has an index {path} that is damaged or not of tabix: delete the index") from None


def _tbi_contigs(data: bytes) -> Iterator[str]:
    if data[:4] != b"TBI\1":
        raise InputError("is not an index of tabix")
    count, *_, size = struct.unpack_from("<8i", data, 4)
    names, at = data[36 : 36 + size].split(b"\0"), 36 + size
    for name in names[:count]:
        (bins,) = struct.unpack_from("<i", data, at)
        at += 4
        for _ in range(bins):
            (chunks,) = struct.unpack_from("<4xI", data, at)  # unsigned: nothing damaged leads backwards
            at += 8 + 16 * chunks
        (windows,) = struct.unpack_from("<I", data, at)
        at += 4 + 8 * windows
        if bins:
            yield _text(name)


def interval_errors(config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the file of intervals, if one is named. Without contigs, they are not compared."""
    path = config["intervals"]
    if not path:
        return []
    try:
        if fault := path_fault(path):
            raise InputError(fault)
        faults = interval_faults(path, contigs, config["reference"]["fasta"])
    except InputError as error:
        faults = [str(error)]
    return [f"config: intervals {path} {fault}" for fault in faults]


def ploidy_files(config: dict) -> dict[str, str]:
    """Each file of ploidies with the key that names it."""
    regions = config["ploidy_regions"]
    named = regions if isinstance(regions, dict) else {"": regions}
    return {path: f"ploidy_regions.{sex}".rstrip(".") for sex, path in named.items() if path}


def ploidy_errors(config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the files of ploidies. Without contigs, they are not compared."""
    errors = []
    for path, key in ploidy_files(config).items():
        try:
            if fault := path_fault(path):
                raise InputError(fault)
            if Path(path).suffix not in PLOIDY_COLUMNS:
                raise InputError(f"has a name that GATK does not know: end it in {' or '.join(PLOIDY_COLUMNS)}")
            faults = [*interval_faults(path, contigs, config["reference"]["fasta"]), *_ploidy_faults(path)]
        except InputError as error:
            faults = [str(error)]
        errors += [f"config: {key} {path} {fault}" for fault in faults]
    return errors


def _ploidy_faults(path: str) -> Iterator[str]:
    """The first line whose ploidy GATK cannot use."""
    column = PLOIDY_COLUMNS[Path(path).suffix]
    with _opened(path) as stream:
        for number, line in enumerate(stream, 1):
            fields = _text(line).split()
            if not fields or _text(line).startswith(INTERVAL_COMMENTS):
                continue
            if not re.fullmatch("[1-9][0-9]*", fields[column - 1] if len(fields) >= column else ""):
                yield f"has no ploidy, a whole number from 1, in column {column} of line {number}"
                return


def interval_faults(path: str, contigs: Contigs, fasta: str) -> list[str]:
    """Faults of a file of intervals; like GATK it tells the format by the name."""
    suffix = Path(path).suffix
    if suffix not in INTERVAL_FORMATS:
        raise InputError(f"must end in what it is, as GATK expects: {', '.join(INTERVAL_FORMATS)}")
    unknown: dict[str, None] = {}
    outside, count = [], 0
    with _opened(path) as stream:
        for number, line in enumerate(stream, 1):
            text = _text(line)
            if not text or text.startswith(INTERVAL_COMMENTS):
                continue
            count += 1
            try:
                contig, start, end = INTERVAL_FORMATS[suffix](text, contigs)
            except ValueError:
                raise InputError(f"is not {suffix[1:]} in line {number}: {text[:60]!r}") from None
            if contigs and contig not in contigs:
                unknown[contig] = None
            elif not 1 <= start <= end <= contigs.get(contig, end):
                size = f" of {contigs[contig]} bases" if contigs else ""
                outside.append(f"has an empty interval or one outside of contig {contig}{size} in line {number}")
    if not count:
        raise InputError("holds no intervals")
    return [*_contig_faults(unknown, contigs, fasta), *outside[:1]]


def _parse_bed(text: str, contigs: Contigs) -> tuple[str, int, int]:
    contig, start, end, *_ = text.split()
    return contig, int(start) + 1, int(end)


def _parse_picard(text: str, contigs: Contigs) -> tuple[str, int, int]:
    contig, start, end, *_ = text.split("\t")
    return contig, int(start), int(end)


def _parse_gatk(text: str, contigs: Contigs) -> tuple[str, int, int]:
    if match := text not in contigs and re.fullmatch(r"(\S+):([\d,]+)(?:-([\d,]+))?", text):
        start = int(match[2].replace(",", ""))
        return match[1], start, int((match[3] or match[2]).replace(",", ""))
    if re.search(r"\s", text):
        raise ValueError(text)
    return text, 1, contigs.get(text, 1)


INTERVAL_FORMATS = {
    ".bed": _parse_bed,
    ".interval_list": _parse_picard,
    ".list": _parse_gatk,
    ".intervals": _parse_gatk,
}
INTERVAL_COMMENTS = ("#", "@", "track ", "browser ")
PLOIDY_COLUMNS = {".bed": 4, ".interval_list": 5}  # formats of which GATK reads a ploidy, and where
