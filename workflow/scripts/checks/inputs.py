"""The files that the configuration and the tables name, opened and checked before any job starts.

A fault is a phrase that follows the file's path. Of large files only the head and the tail are read: jobs check the
rest as they read. The workflow loads this file by its path, so it imports no sibling.
"""

import functools
import gzip
import hashlib
import io
import os
import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice, zip_longest
from pathlib import Path

HEAD_READS = 1000  # so many reads of each file are looked at
MORE_READS = 9000  # and so many more, where all of these are marked as bad
LOWEST_64, HIGHEST_64 = 59, 106  # the characters of base qualities with offset 64: Solexa's -5 to 42
BAD_64 = ord("B")  # all bases of a read that Illumina 1.5 marked as bad
USUAL_33 = 80  # with offset 33 sequencers write none above: 47
MATE_NUMBERS = (b"/1", b"/2", b".1", b".2")  # the last two of fastq-dump -I
BUFFER = 1 << 17  # unpacked bytes held at once: a buffer in C makes reading lines twice as fast
LONGEST_CONTIG = 2**29 - 1  # that BAI and TBI hold
# the pseudoautosomal regions of Y, counted from 0, by its length: of GRCh37, GRCh38 and T2T-CHM13
PARS_OF_Y = {
    59_373_566: ((10_000, 2_649_520), (59_034_049, 59_363_566)),
    57_227_415: ((10_000, 2_781_479), (56_887_902, 57_217_415)),
    62_460_029: ((0, 2_458_320), (62_122_808, 62_460_029)),
}

GZIP = b"\x1f\x8b"
HEAD_BYTES = 1 << 20  # of the text of a VCF
TAIL_BYTES = 1 << 18  # of a VCF, as it lies on the disk
BASES, POSITION = re.compile(rb"[ACGTNacgtn]+"), re.compile(rb"[0-9]{1,18}")
BGZF_BLOCK = re.compile(rb"\x1f\x8b\x08\x04.{8}BC\x02\x00(..)", re.DOTALL)  # its size less one
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
CRAM_ENDS = (
    bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),  # version 3
    bytes.fromhex("0b000000ffffffff0fe0454f460000000001000001000606010001000100"),  # version 2.1
)
LOOKED_UP = {"REF_PATH", "REF_CACHE"}  # variables by which samtools finds contigs that a FASTA lacks
CRAM_METHODS = (bytes, gzip.decompress)  # of which headers are

PLAIN = re.compile("[ -~]+")  # a value of a read group, as SAM has it
INTERVAL_FORMATS = (".bed", ".interval_list", ".list", ".intervals")
INTERVAL_COMMENTS = ("#", "@", "track ", "browser ")
PLOIDY_COLUMNS = {".bed": 4, ".interval_list": 5}  # formats of which GATK reads a ploidy, and where
SEXES = ("male", "m", "xy", "female", "f", "xx")  # that quality/verdicts.py compares

Contigs = dict[str, int]
Index = dict[str, tuple[int, ...]]  # by contig: length, offset, bases and bytes a line
Header = list[tuple[str, dict[str, str]]]  # each line's type and fields


class InputError(Exception):
    """A file is not what it should be; the message is the fault."""


def check(
    config: dict,
    units: dict[str, dict[str, dict]],
    cached_fai: str = "",
    index_endings: Iterable[str] = (),
    warn: Callable[[str], object] = str,
    sex_contigs: Callable[[Iterable[str]], Collection[str]] = list,
) -> list[str]:
    """Errors of all files that a complete configuration and the units of tables.read_cohort name.

    `cached_fai` may name an index that an earlier run made; `index_endings` are those of the mapper's files; `warn` is
    called with each warning; `sex_contigs` finds X and Y by their names.
    """
    contigs, errors = read_reference(config["reference"], cached_fai, index_endings)
    if config["pipeline"] == "germline":
        errors += index_errors(config["reference"], contigs)
        errors += alt_errors(config["reference"], contigs)
        errors += duplicates_errors(config, units)
        errors += sex_contig_errors(config, contigs)
        if unjudged := unjudged_sex(config, contigs, sex_contigs):
            errors.append(unjudged) if config["failed_samples"].endswith("_on_quality") else warn(unjudged)
        for warning in (
            alt_warnings(config["reference"], contigs)
            + par_warnings(config["reference"], contigs, cached_fai)
            + depth_warnings(config)
        ):
            warn(warning)
    for key in ("gatk3_jar", "cram_reference"):
        if (path := config[key]) and (fault := path_fault(path)):
            errors.append(f"config: {key} {path} {fault}")
    errors += vcf_errors(config, contigs, warn) + known_genotypes_errors(config, units)
    return errors + interval_errors(config, contigs) + read_file_errors(units, config, contigs)


def duplicates_errors(config: dict, units: dict[str, dict[str, dict]]) -> list[str]:
    """What samtools markdup cannot do: mates without fixmate's tags, and several libraries, which it takes for one."""
    if config["duplicates"] != "samtools":
        return []
    advice, errors = "set duplicates: sambamba", []
    for sample, rows in units.items():
        where = f"config: duplicates: samtools: sample {sample}"
        kept = [unit for unit, row in rows.items() if row["bam"] and config["bam_input"] == "keep"]
        if kept:
            lack = f"unit {kept[0]}: alignments that are kept lack what it goes by"
            errors.append(f"{where}, {lack}: {advice}, or bam_input: remap")
        libraries = sorted({library_of(sample, row) for row in rows.values()})
        if len(libraries) > 1:
            errors.append(f"{where}: it takes libraries ({', '.join(libraries)}) for one: {advice}")
    return errors


def library_of(sample: str, row: dict) -> str:
    """As the read group names it that is written (rules/germline/mapping.smk): by the table, file or sample."""
    own: dict[str, str] = {}
    if row["bam"] and not row["library"]:
        with suppress(InputError):  # said where all files are read
            own = next(iter(read_groups(row["bam"])), {})
    return row["library"] or own.get("LB") or sample


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
def opened(path: str) -> Iterator[io.BufferedIOBase]:
    """The file's bytes, unpacked where it is gzip or BGZF. Damage found while reading becomes InputError."""
    if fault := path_fault(path):
        raise InputError(fault)
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


def _start(path: str, size: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(size)


def _end(path: str, size: int) -> bytes:
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - size))
        return file.read(size)


def _is_bgzf(path: str) -> bool:
    return bool(BGZF_BLOCK.match(_start(path, 18)))


def _ends_inside_block(path: str) -> bool:
    tail = _end(path, 1 << 16)
    blocks = BGZF_BLOCK.finditer(tail)
    return all(block.start() + int.from_bytes(block[1], "little") + 1 != len(tail) for block in blocks)


def _text(data: bytes) -> str:
    return data.strip().decode("ascii", "backslashreplace")


def _name(line: bytes) -> str:
    """Of a contig, by the line of FASTA that begins it."""
    return _text((line[1:].split(None, 1) or [b""])[0])


def _shown(data: bytes) -> str:
    """The beginning of data of whatever kind, safe to print."""
    return ascii(data[:20].strip().decode("latin-1"))


def _few(names: Iterable[str]) -> str:
    shown = list(islice(names, 4))
    return ", ".join(shown[:3] + ["..."] * (len(shown) > 3))


# --- reads ---


def read_file_errors(units: dict[str, dict[str, dict]], config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the units' read files. Without contigs, headers of BAM files are not compared."""
    errors, sums = [], functools.cache(contig_sums)
    for row in chain.from_iterable(table.values() for table in units.values()):
        place = f"{row['table']} line {row['line']}: sample {row['sample_name']}"
        paths = {column: row[column] for column in ("fq1", "fq2", "bam") if row[column]}
        faults = [(column, fault) for column, path in paths.items() if (fault := path_fault(path))]
        if not faults and "bam" in paths:
            faults = [("bam", fault) for fault in _alignment_faults(row, config, contigs, sums)]
        elif not faults:
            faults = _fastq_faults(paths)
        errors += [f"{place}: {column} {paths[column]} {fault}" for column, fault in faults]
    return errors


def _fastq_faults(paths: dict[str, str]) -> list[tuple[str, str]]:
    """Faults by column of one FASTQ file, or of two that must hold the same reads in the same order."""
    faults, names = [], {}
    for column, path in paths.items():
        try:
            with opened(path) as stream:
                records = _fastq_records(stream)
                head = list(islice(records, HEAD_READS))
                if _has_offset_64(chain(head, islice(records, MORE_READS))):
                    raise InputError(
                        "has base qualities with offset 64, as Illumina wrote them before version 1.8, which would be "
                        "taken for 31 more than they are: convert it (seqtk seq -VQ64)"
                    )
            if _is_bgzf(path) and _ends_inside_block(path):
                raise InputError("is cut off: it ends inside a compressed block; copy or create it again")
        except InputError as error:
            faults.append((column, str(error)))
            continue
        names[column] = [name for name, _ in head]
    if faults or len(names) < 2:
        return faults
    for number, (one, two) in enumerate(zip_longest(names["fq1"], names["fq2"]), 1):
        if one != two:
            first, second = ("no read" if name is None else f"read {_text(name)}" for name in (one, two))
            fault = f"has {second} in record {number}, but fq1 {paths['fq1']} has {first}"
            return [("fq2", f"{fault}: they must hold the same reads in the same order")]
    return []


def _has_offset_64(records: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether qualities are those of offset 64: none that is low with offset 33, and some that are too high."""
    seen: set[int] = set()
    for number, (_, qualities) in enumerate(records, 1):
        seen.update(qualities)
        if min(seen, default=LOWEST_64) < LOWEST_64:
            return False
        if number >= HEAD_READS and seen != {BAD_64}:
            break
    return USUAL_33 < max(seen, default=0) <= HIGHEST_64


def _fastq_records(stream: io.BufferedIOBase) -> Iterator[tuple[bytes, bytes]]:
    """Each read's name up to the first blank, without the number that mates do not share, and its qualities."""
    lines = iter(stream)
    number = 0
    for number, header in enumerate(lines, 1):
        sequence, plus, quality = next(lines, b""), next(lines, b""), next(lines, b"")
        qualities = quality.rstrip()
        if header[:1] != b"@" or plus[:1] != b"+" or len(sequence.rstrip()) != len(qualities):
            if number > 1 and not any(map(bytes.strip, chain((header, sequence, plus, quality), lines))):
                return  # blank lines at the end
            raise InputError(_record_fault(number, header, sequence, plus, quality))
        name = (header[1:].split(None, 1) or [b""])[0]
        yield name[:-2] if name.endswith(MATE_NUMBERS) else name, qualities
    if not number:
        raise InputError("holds no reads")


def _record_fault(number: int, header: bytes, sequence: bytes, plus: bytes, quality: bytes) -> str:
    if header[:1] == b"@" and not quality.endswith(b"\n"):
        return f"is cut off inside record {number}"
    if header[:1] != b"@" or plus[:1] != b"+":
        return f"is not FASTQ of four lines a read at record {number}, which starts with {_shown(header)}"
    bases, qualities = len(sequence.rstrip()), len(quality.rstrip())
    return f"has {bases} bases but {qualities} base qualities in record {number}"


def _alignment_faults(
    row: dict, config: dict, contigs: Contigs, sums: Callable[[str, bool], dict[str, str]]
) -> Iterator[str]:
    """What keeps a BAM or CRAM file's alignments from being taken as they are, or its reads from being mapped again."""
    try:
        header = read_header(row["bam"])
    except InputError as error:
        yield str(error)
        return
    form, end = ("CRAM", CRAM_ENDS) if is_cram(row["bam"]) else ("BAM", BGZF_END)
    if not _end(row["bam"], 64).endswith(end):
        yield f"is cut off: the end marker of {form} is missing; copy or create it again"
        return
    if config["bqsr"] == "gatk" and (program := recalibrator(header)):
        yield (
            f"has base qualities that {program} recalibrated (@PG): set bqsr: none, or bqsr: again to recalibrate them "
            "once more"
        )
    groups = [fields for kind, fields in header if kind == "@RG"]
    keeps = config["bam_input"] == "keep"
    fasta = (not keeps and config["cram_reference"]) or config["reference"]["fasta"]
    expected = sums(fasta, form == "CRAM") if keeps or form == "CRAM" else {}
    if contig := _other_contig(header, expected, all_there=not keeps):
        yield (
            f"was made with another FASTA than {fasta}, which lacks contig {contig} or has other bases there (M5): set "
            "bam_input: remap; of CRAM, name the FASTA that it was made with in cram_reference, too"
        )
        return
    if not keeps:
        if len(groups) > 1:
            yield (
                f"has {len(groups)} read groups ({_few(group.get('ID', '') for group in groups)}), of which bam_input: "
                "remap would make one: split it (samtools split) and make each part a unit of its own"
            )
        return
    if not any(kind == "@HD" and fields.get("SO") == "coordinate" for kind, fields in header):
        yield "is not sorted by coordinate (its header lacks SO:coordinate): sort it, or set bam_input: remap"
    if not groups:
        yield "has no read group (@RG): add one, or set bam_input: remap"
    for name in sorted({group.get("SM", "") for group in groups} - {row["sample_name"]}):
        yield f"has a read group of sample {name!r} (SM): rename one of the two, or set bam_input: remap"
    if contigs:
        found = {fields["SN"]: int(fields["LN"]) for kind, fields in header if kind == "@SQ"}
        for fault in _contig_faults(found, contigs, config["reference"]["fasta"], complete=True):
            yield f"{fault}; or set bam_input: remap"


def _other_contig(header: Header, expected: dict[str, str], all_there: bool) -> str:
    """The first contig whose MD5 sum is another than expected, or which no FASTA has, where `all_there` must be."""
    all_there = all_there and bool(expected) and not LOOKED_UP & os.environ.keys()
    for name, own in ((fields["SN"], fields.get("M5", "").lower()) for kind, fields in header if kind == "@SQ"):
        if own and own != expected.get(name, "" if all_there else own):
            return name
    return ""


def contig_sums(fasta: str, is_read: bool) -> dict[str, str]:
    """The MD5 sum of each contig: of a current dictionary beside the FASTA, else of the FASTA itself if it `is_read`.

    Without a dictionary a job compares the headers of BAM files. A wrong FASTA decodes parts of CRAM in silence.
    """
    if path_fault(fasta):  # said elsewhere
        return {}
    plain = Path(fasta.removesuffix(".gz"))
    for path in (Path(f"{plain}.dict"), plain.with_suffix(".dict")):
        if path.is_file() and path.stat().st_mtime >= Path(fasta).stat().st_mtime:
            rows = (line.split("\t") for line in path.read_text(errors="replace").splitlines())
            named = [dict(field.split(":", 1) for field in row if ":" in field) for row in rows if row[0] == "@SQ"]
            return {fields.get("SN", ""): fields.get("M5", "").lower() for fields in named}
    with suppress(InputError):
        return fasta_sums(fasta) if is_read else {}
    return {}


def fasta_sums(path: str) -> dict[str, str]:
    digests = {}
    with opened(path) as lines:
        for line in lines:
            if line.startswith(b">"):
                digest = digests[_name(line)] = hashlib.md5(usedforsecurity=False)
            elif digests:
                digest.update(b"".join(line.split()).upper())
    return {name: digest.hexdigest() for name, digest in digests.items()}


def recalibrator(header: Header) -> str:
    """The program that recalibrated base qualities, by a header's lines about programs; empty where none did.

    GATK 3's PrintReads did so by an option that its line does not tell; GATK 4's has none.
    """
    for name, version in ((fields.get("ID", ""), fields.get("VN", "")) for kind, fields in header if kind == "@PG"):
        if "ApplyBQSR" in name or "BQSRPipeline" in name or ("PrintReads" in name and not version.startswith("4")):
            return name
    return ""


def is_cram(path: str) -> bool:
    return _start(path, 4) == b"CRAM"


def read_header(path: str) -> Header:
    """The header of a BAM or CRAM file."""
    try:
        text = (_cram_header if is_cram(path) else _bam_header)(path).rstrip(b"\0").decode("utf-8", "replace")
        rows = [line.split("\t") for line in text.splitlines()]
        header = [(kind, dict(field.split(":", 1) for field in fields if ":" in field)) for kind, *fields in rows]
        if any(not fields["LN"].isdecimal() or "SN" not in fields for kind, fields in header if kind == "@SQ"):
            raise ValueError
        return header
    except (LookupError, ValueError, EOFError, OSError, struct.error, zlib.error):
        raise InputError("is damaged or cut off: its header cannot be read; copy or create it again") from None


def _bam_header(path: str) -> bytes:
    with opened(path) as stream:
        if stream.read(4) != b"BAM\1":
            raise InputError("is neither BAM nor CRAM")
        return _taken(stream, struct.unpack("<I", _taken(stream, 4))[0])


def _cram_header(path: str) -> bytes:
    """The first block of the first container, of CRAM version 2 or 3."""
    with Path(path).open("rb") as file:
        version = file.read(26)[4]
        if version not in (2, 3):
            raise InputError(f"is CRAM version {version}, of which no header can be read here: convert it to version 3")
        file.read(4)
        *_, landmarks = [_itf8(file) for _ in range(8)]  # place, span, records, counters, blocks
        for _ in range(landmarks):
            _itf8(file)
        file.read(4 if version == 3 else 0)  # a checksum
        method, _kind, _id = file.read(3)
        packed, _unpacked = _itf8(file), _itf8(file)
        data = io.BytesIO(CRAM_METHODS[method](_taken(file, packed)))
        return _taken(data, struct.unpack("<I", _taken(data, 4))[0])


def _taken(file: io.BufferedIOBase, size: int) -> bytes:
    """So many bytes. Raises EOFError where there are fewer."""
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _itf8(file: io.BufferedIOBase) -> int:
    """One of CRAM's integers: the bits set first say how many bytes follow; of the longest, none matters here."""
    (first,) = _taken(file, 1)
    more = next((bit for bit in range(4) if not first & 0x80 >> bit), 4)
    return int.from_bytes(bytes([first & 0xFF >> more + 1]) + _taken(file, more), "big")


def read_groups(path: str) -> list[dict[str, str]]:
    """The read groups of a BAM or CRAM file, with the fields that a command line can take over."""
    groups = [fields for kind, fields in read_header(path) if kind == "@RG"]
    return [{key: value for key, value in group.items() if PLAIN.fullmatch(value)} for group in groups]


# --- reference ---


def read_reference(reference: dict, cached_fai: str = "", endings: Iterable[str] = ()) -> tuple[Contigs, list[str]]:
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
        contigs = read_contigs(fasta, cached_fai)
        if long := [f"{name} ({length:,})" for name, length in contigs.items() if length > LONGEST_CONTIG]:
            raise InputError(
                f"has contigs of more than {LONGEST_CONTIG:,} bases, which the indexes BAI and TBI cannot hold: "
                f"{_few(long)}; split them, as in runs of N, and name the parts in known sites and intervals, too"
            )
        return contigs, errors
    except InputError as error:
        return {}, [f"config: reference.fasta {fasta} {error}", *errors]


def read_contigs(fasta: str, cached_fai: str = "") -> Contigs:
    """The contigs of a reference that can be read."""
    return {name: row[0] for name, row in _read_index(fasta, cached_fai).items()} or scan_fasta(fasta)


def index_errors(reference: dict, contigs: Contigs) -> list[str]:
    """How the contigs of an index of the mapper's that is named disagree with the reference's; a job compares bases."""
    file = f"{reference['bwa_index']}.ann"
    if not reference["bwa_index"] or not contigs or path_fault(file):
        return []
    rows = [line.split() for line in Path(file).read_text(errors="replace").splitlines()[1:]]  # of a contig two
    try:
        found = {name[1]: int(place[1]) for name, place in zip(rows[::2], rows[1::2], strict=True)}
    except (ValueError, LookupError):
        return [f"config: reference.bwa_index {file} is not the .ann file of a whole index: make the index again"]
    faults = _contig_faults(found, contigs, reference["fasta"], complete=True)
    return [f"config: reference.bwa_index {file} {fault}" for fault in faults]


def alt_file(reference: dict) -> str:
    """The file that names ALT contigs to bwa, beside the named index, else beside the FASTA; "" if it is not there."""
    fasta, prefix = reference["fasta"], reference["bwa_index"]
    beside = [f"{path}{suffix}" for path in (fasta, fasta.removesuffix(".gz")) for suffix in (".alt", ".64.alt")]
    return next((file for file in ([f"{prefix}.alt"] if prefix else beside) if Path(file).exists()), "")


def alt_errors(reference: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the file of ALT contigs: bwa passes over names that it does not know, in silence."""
    file = alt_file(reference)
    if not file:
        return []
    try:
        with opened(file) as lines:
            names = {_text(line.split(b"\t")[0]) for line in lines if not line.startswith(b"@")}
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


def par_warnings(reference: dict, contigs: Contigs, cached_fai: str = "") -> list[str]:
    """What pseudoautosomal regions do to calls where Y has them, too; without an index, or of gzip, it is not known."""
    fasta, y = reference["fasta"], next((name for name, length in contigs.items() if length in PARS_OF_Y), "")
    index = _read_index(fasta, cached_fai) if y and _start(fasta, 2) != GZIP else {}
    if not index:
        return []
    _, offset, bases, width = index[y]
    quarters = [start + (end - start) * part // 4 for start, end in PARS_OF_Y[contigs[y]] for part in (1, 2, 3)]
    found = b""
    with Path(fasta).open("rb") as file:
        for place in quarters:
            file.seek(offset + place // bases * width + place % bases)
            found += file.read(1)
    if not found.strip(b"Nn"):
        return []
    return [
        f"config: reference {fasta} has bases in the pseudoautosomal regions of {y}, which X has, too: reads of them "
        "get a mapping quality of 0, and calls are lost: take a reference in which they are N, or mask them on Y "
        "(bedtools maskfasta)"
    ]


def sex_contig_errors(config: dict, contigs: Contigs) -> list[str]:
    lacking = [name for name in config["qc"]["sex_contigs"] if contigs and name not in contigs]
    fasta = config["reference"]["fasta"]
    return [f"config: qc.sex_contigs names {name}, which {fasta} lacks (it has {_few(contigs)})" for name in lacking]


def unjudged_sex(config: dict, contigs: Contigs, sex_contigs: Callable[[Iterable[str]], Collection[str]]) -> str:
    """What to say where the sex decides the ploidy, and no contigs are known by which it could be checked; else ""."""
    regions = config["ploidy_regions"]
    decides = isinstance(regions, dict) and any(sex.lower() in SEXES for sex in regions)
    if not decides or not contigs or config["qc"]["sex_contigs"] or len(sex_contigs(contigs)) == 2:
        return ""
    return (
        f"config: ploidy_regions go by the sex, which cannot be checked: no contigs of {config['reference']['fasta']} "
        f"are known as X and Y (it has {_few(contigs)}): name them in qc.sex_contigs"
    )


def models(config: dict) -> dict[str, dict]:
    """Of SNPs and of indels, where the filter has models of variants."""
    return config[config["filter"]] if config["filter"] in ("vqsr", "vets") else {}


def depth_warnings(config: dict) -> list[str]:
    """What depth tells models of variants where targets alone were sequenced; that they were, only the user knows."""
    fitted = [f"{config['filter']}.{kind}" for kind, model in models(config).items() if "DP" in model["annotations"]]
    if not config["intervals"] or not fitted:
        return []
    return [
        f"config: annotations of {' and '.join(fitted)} hold DP: where intervals are the targets of an exome or panel, "
        "depth tells of the capture and not of the variant: leave DP out"
    ]


def _read_index(fasta: str, cached_fai: str) -> Index:
    """The rows of an index that is current and fits the file's size; none without one.

    Of BGZF the size is not known. An index of an earlier run may be of another reference, so it must fit.
    """
    size = None if _is_bgzf(fasta) else Path(fasta).stat().st_size
    if size and _start(fasta, 2) == GZIP:
        size = int.from_bytes(_end(fasta, 4), "little")
    for path in map(Path, filter(None, (f"{fasta}.fai", cached_fai if size else ""))):
        is_current = path.is_file() and path.stat().st_mtime >= Path(fasta).stat().st_mtime
        if is_current and (index := _read_fai(path, size)):
            return index
    return {}


def _read_fai(path: Path, size: int | None) -> Index:
    """An index; empty where it is damaged or its last base is not at the end of `size` bytes."""
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        index = {name: tuple(map(int, numbers)) for name, *numbers in rows}
        length, offset, bases, width = index[rows[-1][0]]
        end = offset + (length - 1) // bases * width + (length - 1) % bases + 1
    except (OSError, ValueError, LookupError, ArithmeticError):
        return {}
    fits = size is None or (size - end) % (1 << 32) <= len(b"\r\n")  # gzip keeps the size's lower 32 bits
    is_whole = len(index) == len(rows) and all(len(row) == 4 and row[2] for row in index.values())
    return index if fits and is_whole else {}


def scan_fasta(path: str) -> Contigs:
    """The contigs of a FASTA file."""
    contigs: Contigs = {}
    name = ""
    with opened(path) as lines:
        for line in lines:
            if line.startswith(b">"):
                name = _name(line)
                if not name or name in contigs:
                    raise InputError(f"has two contigs {name}" if name else "has a contig without a name")
                contigs[name] = 0
            elif name:
                contigs[name] += len(line.strip())
            elif line.strip():
                raise InputError(f"is not FASTA: it starts with {_shown(line)}")
    for name, length in contigs.items():
        if not length:
            raise InputError(f"has a contig {name} without a sequence")
    if not contigs:
        raise InputError("holds no sequence")
    return contigs


def _contig_faults(found: dict[str, int | None], contigs: Contigs, fasta: str, complete: bool = False) -> Iterator[str]:
    """How contigs of another file, with lengths where known, disagree with the reference's; all if `complete`."""
    build = "use files of one genome build"
    if unknown := [name for name in found if name not in contigs]:
        yield f"names contig {_few(unknown)} that the reference {fasta} lacks (it has {_few(contigs)}): {build}"
    for name, length in found.items():
        if length is not None and length != contigs.get(name, length):
            yield f"gives contig {name} a length of {length}, but the reference {fasta} {contigs[name]}: {build}"
            break
    order, expected = [name for name in found if name in contigs], [name for name in contigs if name in found]
    for one, two in zip(order, expected, strict=True):
        if one != two:
            yield f"has contig {one} where the reference {fasta} has {two}: sort it by the order of the reference"
            break
    if complete and (missing := [name for name in contigs if name not in found]):
        yield f"lacks contig {_few(missing)} of the reference {fasta}: {build}"


# --- known sites, training sets, intervals ---


def vcf_errors(config: dict, contigs: Contigs, warn: Callable[[str], object] = str) -> list[str]:
    """What is wrong with the VCF files that the pipeline will read. Without contigs, they are not compared."""
    named = [(key, path) for key in ("known_sites", "known_indels") for path in config[key]]
    single = {key: config[key] for key in ("dbsnp", "common_sites")}
    single["qc.known_genotypes"] = config["qc"]["known_genotypes"]
    named += [(key, path) for key, path in single.items() if path]
    for kind, model in models(config).items():
        where = f"{config['filter']}.{kind}.resources"
        named += [(f"{where}.{name}.vcf", each["vcf"]) for name, each in model["resources"].items()]
    errors = []
    for key, path in named:
        try:
            found = read_vcf_contigs(path, contigs)
            tail = _end(path, 1 << 20)
            if _is_bgzf(path) and not tail.endswith(BGZF_END):
                raise InputError("is cut off: the end marker of bgzip is missing; copy or create it again")
            if _start(path, 2) != GZIP and tail.rstrip().rpartition(b"\n")[2].count(b"\t") < 7:
                raise InputError("is damaged or cut off: its last line has fewer than 8 columns")
            faults = _contig_faults(found, contigs, config["reference"]["fasta"]) if contigs else ()
            errors += [f"config: {key} {path} {fault}" for fault in faults]
            if key != "qc.known_genotypes" and (
                other := sum(map(_check_records, (_head_lines(path), _tail_lines(path))))
            ):
                warn(
                    f"config: {key} {path} has records whose REF is not made of A, C, G, T and N ({other} of those "
                    "looked at), which GATK refuses: they are left out"
                )
        except InputError as error:
            errors.append(f"config: {key} {path} {error}")
    return errors


def _head_lines(path: str) -> list[tuple[int, bytes]]:
    """The first lines of a VCF with their numbers; of a small one all."""
    with opened(path) as stream:
        text = stream.read(HEAD_BYTES)
        if stream.read(1):
            text = text.rpartition(b"\n")[0]
    return list(enumerate(text.split(b"\n"), 1))


def _tail_lines(path: str) -> list[tuple[int, bytes]]:
    """The last lines of a VCF that is larger than its head, without their numbers; none of gzip that is not BGZF."""
    tail = _end(path, TAIL_BYTES)
    if Path(path).stat().st_size <= len(tail) or (_start(path, 2) == GZIP and not _is_bgzf(path)):
        return []
    if _is_bgzf(path):
        block = BGZF_BLOCK.search(tail)
        try:
            tail = gzip.decompress(tail[block.start() :]) if block else b""
        except (EOFError, zlib.error, gzip.BadGzipFile):  # these bytes began no block
            return []
    return [(0, line) for line in tail.split(b"\n")[1:]]


def _check_records(lines: Iterable[tuple[int, bytes]]) -> int:
    """How many records have a REF that GATK refuses. Raises InputError where they are not sorted."""
    others, last, start, ended = 0, b"", 0, set()
    for number, line in lines:
        if not line.strip() or line.startswith(b"#"):
            continue
        contig, position, _, ref = (*line.split(b"\t", 4), b"", b"", b"", b"")[:4]
        if not POSITION.fullmatch(position):
            raise InputError(f"is not VCF in line {number}: {_shown(line)}" if number else "is not VCF at its end")
        if contig in ended or (contig == last and int(position) < start):
            at = f" in line {number}" if number else ""
            places = f"{_text(contig)}:{int(position)} stands after {_text(last)}:{start}"
            raise InputError(f"is not sorted: {places}{at}: sort it (bcftools sort)")
        if contig != last:
            ended.add(last)
        last, start = contig, int(position)
        others += not BASES.fullmatch(ref)
    return others


def known_genotypes_errors(config: dict, units: dict[str, dict[str, dict]]) -> list[str]:
    """Why the genotypes that are known tell of no sample, where the file is a VCF at all."""
    path = config["qc"]["known_genotypes"]
    try:
        _, columns, record = _vcf_head(path)
    except InputError:
        return []
    names = columns.rstrip(b"\r\n").decode("utf-8", "replace").split("\t")[9:]
    where = f"config: qc.known_genotypes {path}"
    if not record.split(b"\t")[8:9] or not re.match(rb"GT\b", record.split(b"\t")[8]):
        return [f"{where} has no genotypes: FORMAT of its first record does not begin with GT"]
    if units.keys().isdisjoint(names):
        advice = "name them as the sample sheet does (bcftools reheader)"
        return [f"{where} has none of the samples, but {_few(names)}: {advice}"]
    return []


def read_vcf_contigs(path: str, contigs: Contigs) -> dict[str, int | None]:
    """The first record's contig, and of the header's, which may have no records, those that the reference has."""
    header, _, record = _vcf_head(path)
    first = [_text(record.partition(b"\t")[0])] if record.strip() else []
    return {name: header.get(name) for name in chain(header, first) if name in contigs or name in first}


def _vcf_head(path: str) -> tuple[dict[str, int | None], bytes, bytes]:
    """The header's contigs, the line that names the columns, and the first record."""
    header: dict[str, int | None] = {}
    with opened(path) as stream:
        line = stream.readline()
        if not line.startswith(b"##fileformat=VCF"):
            raise InputError(f"is not VCF: it starts with {_shown(line)}")
        while (line := stream.readline()).startswith(b"##"):
            if match := re.match(r"##contig=<(?:.*,)?ID=([^,>]+)", line.decode("utf-8", "replace")):
                length = re.search(r"[<,]length=([0-9]{1,18})\b", match.string)
                header[match[1]] = int(length[1]) if length else None
        if not line.startswith(b"#CHROM"):
            raise InputError("is not VCF: it has no line that starts with #CHROM")
        return header, line, stream.readline()


def interval_errors(config: dict, contigs: Contigs) -> list[str]:
    """What is wrong with the files of intervals and of ploidies. Without contigs, they are not compared."""
    regions = config["ploidy_regions"]
    by_sex = regions.items() if isinstance(regions, dict) else [("", regions)]
    named = [("intervals", config["intervals"], False)]
    named += [(f"ploidy_regions.{sex}".rstrip("."), path, True) for sex, path in by_sex]
    errors = []
    for key, path, has_ploidies in named:
        try:
            faults = _interval_faults(path, contigs, config["reference"]["fasta"], has_ploidies) if path else []
        except InputError as error:
            faults = [str(error)]
        errors += [f"config: {key} {path} {fault}" for fault in faults]
    return errors


def _interval_faults(path: str, contigs: Contigs, fasta: str, has_ploidies: bool) -> list[str]:
    """Faults of a file of intervals; like GATK it tells the format by the name."""
    suffix = Path(path).suffix
    formats = PLOIDY_COLUMNS if has_ploidies else INTERVAL_FORMATS
    if suffix not in formats:
        raise InputError(f"must end in what it is, as GATK expects: {', '.join(formats)}")
    unknown: dict[str, None] = {}
    faults, count = {}, 0  # the first of each kind
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            text = _text(line)
            if not text or text.startswith(INTERVAL_COMMENTS):
                continue
            count += 1
            try:
                contig, start, end = _interval(suffix, text, contigs)
            except ValueError:
                raise InputError(f"is not {suffix[1:]} in line {number}: {text[:60]!r}") from None
            if contigs and contig not in contigs:
                unknown[contig] = None
            elif not 1 <= start <= end <= contigs.get(contig, end):
                size = f" of {contigs[contig]} bases" if contigs else ""
                fault = f"has an empty interval or one outside of contig {contig}{size} in line {number}"
                faults.setdefault("interval", fault)
            if has_ploidies and not re.fullmatch("[1-9][0-9]*", "".join(text.split()[formats[suffix] - 1 :][:1])):
                column = f"column {formats[suffix]} of line {number}"
                faults.setdefault("ploidy", f"has no ploidy, a whole number from 1, in {column}")
    if not count:
        raise InputError("holds no intervals")
    return [*_contig_faults(unknown, contigs, fasta), *faults.values()]


def _interval(suffix: str, text: str, contigs: Contigs) -> tuple[str, int, int]:
    """Contig, first and last base, from 1. Raises ValueError."""
    if suffix in (".bed", ".interval_list"):
        contig, start, end, *_ = text.split()
        return contig, int(start) + (suffix == ".bed"), int(end)
    if match := text not in contigs and re.fullmatch(r"(\S+):([\d,]+)(?:-([\d,]+))?", text):
        start, end = (int(place.replace(",", "")) for place in (match[2], match[3] or match[2]))
        return match[1], start, end
    if re.search(r"\s", text):
        raise ValueError(text)
    return text, 1, contigs.get(text, 1)
