"""Whether files are whole: what a job leaves behind, and what an earlier one left for it.

    outputs.py [--json] FILE ...    name those that are not, as JSON with what is wrong by name; exit code 1 if any

On a full disk some tools write half of a file and end with 0, and a power cut can take the end of a file whose job had
ended well. To Snakemake both count as finished. So the launcher looks at a job's files by their kind: at the head and
the tail of data, at the whole of indexes and small tables, and at one against the other (an index names the last block
of its file), and asks the file system for holes, which lost blocks leave. It reads no data twice: less than a
millisecond a file. A file of no known kind must not be empty.

Standard library only; the launcher imports this, so that most imports stand where they are used.
"""

import os
import struct
import sys
import zlib

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
CRAM_ENDS = (
    bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),  # version 3
    bytes.fromhex("0b000000ffffffff0fe0454f460000000001000001000606010001000100"),  # version 2.1
)
PNG_END = bytes.fromhex("0000000049454e44ae426082")
BGZF_MAGIC = b"\x1f\x8b\x08\x04"
BLOCK = 1 << 16  # the most that a BGZF block holds, and as much of a file's ends as is looked at
LINEAR = 1  # the kind of GATK's indexes whose parts have known sizes
METADATA_BIN = 37450  # of an index: counts, not positions
OLDER_S = 60  # an index may be closed before its file is, and clocks of file servers differ
FULL = 1 << 16  # bytes: with less room than this, whatever was written last may be cut off
CUT = "is cut off"
LOST = "has a hole, where blocks of it were lost"
ZEROS = (".bai", ".pac", ".bwt", ".sa", ".0123", ".64", ".ht2", ".bt2", ".tdb")  # kinds that may have long runs of them
NO_SPACE = "No space left on device"  # as the kernel says it


class DamagedError(Exception):
    """A file is not whole; the message is a phrase that follows its path."""


# --- parts of files ---


def head(path, size=BLOCK):
    """Return the beginning of a file."""
    with open(path, "rb") as file:
        return file.read(size)


def tail(path, size=BLOCK):
    """Return the end of a file."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read()


def whole(path):
    """Return a small file."""
    with open(path, "rb") as file:
        return file.read()


def unpacked(data):
    """Return the contents of gzip or BGZF data, all of its members."""
    parts = []
    while data:
        member = zlib.decompressobj(31)
        try:
            parts.append(member.decompress(data))
        except zlib.error:
            raise DamagedError("is damaged: it cannot be unpacked") from None
        if not member.eof:
            raise DamagedError(f"{CUT}: its compressed data end too early")
        data = member.unused_data
    return b"".join(parts)


def require(condition, fault):
    """Raise DamagedError with a fault, unless the condition holds."""
    if not condition:
        raise DamagedError(fault)


def has_hole(path):
    """Tell whether blocks of a file were never written: a power cut may leave its size on the disk, and not its data.

    A file system that compresses may keep written zeros as holes, too.
    """
    with open(path, "rb") as file:
        try:
            return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < os.fstat(file.fileno()).st_size
        except OSError:  # it does not know
            return False


def last_block(path):
    """Return what the last block of a BGZF file holds, before the empty one that ends it."""
    data = tail(path, BLOCK + len(BGZF_END))[: -len(BGZF_END)]
    at = len(data)
    while (at := data.rfind(BGZF_MAGIC, 0, at)) >= 0:
        if data[at + 12 : at + 14] == b"BC" and at + struct.unpack_from("<H", data, at + 16)[0] + 1 == len(data):
            return unpacked(data[at:])
    require(not data, "is damaged: it does not end with a whole block")
    return b""


def last_line(path):
    """Return the last line of a text, which must end with a line feed."""
    end = tail(path)
    require(end.endswith(b"\n"), f"{CUT}: its last line is incomplete")
    return end[:-1].rpartition(b"\n")[2]


# --- alignments and variants ---


def bam(path):
    """A BAM file ends with an empty block, after a whole one."""
    require(head(path, 4)[:2] == b"\x1f\x8b", "is not BAM")
    require(tail(path, len(BGZF_END)) == BGZF_END, f"{CUT}: the end marker of BAM is missing")
    last_block(path)


def cram(path):
    """A CRAM file ends with an empty container."""
    require(head(path, 4) == b"CRAM", "is not CRAM")
    require(tail(path, 64).endswith(CRAM_ENDS), f"{CUT}: the end marker of CRAM is missing")


def vcf_gz(path):
    """A bgzipped VCF starts with its header and ends with a whole line and an empty block."""
    start = zlib.decompressobj(31).decompress(head(path), 64) if head(path, 2) == b"\x1f\x8b" else b""
    require(start.startswith(b"##fileformat=VCF"), "is not bgzipped VCF")
    require(tail(path, len(BGZF_END)) == BGZF_END, f"{CUT}: the end marker of bgzip is missing")
    require(last_block(path).endswith(b"\n"), f"{CUT}: its last line is incomplete")


def vcf(path):
    """A plain VCF, such as VQSR's model: every record has eight columns."""
    require(head(path, 16).startswith(b"##fileformat=VCF"), "is not VCF")
    line = last_line(path)
    require(line.startswith(b"#") or line.count(b"\t") >= 7, f"{CUT}: its last record has fewer than 8 columns")


def walk_bins(data, at, references):
    """Walk through the bins of BAI or tabix; return where they end, and the furthest place in the file they name."""
    furthest = 0
    try:
        for _ in range(references):
            (bins,) = struct.unpack_from("<i", data, at)
            at += 4
            for _ in range(bins):
                number, chunks = struct.unpack_from("<Ii", data, at)
                at += 8 + 16 * chunks
                if number != METADATA_BIN and chunks:
                    furthest = max(furthest, *struct.unpack_from("<Q", data, at - 8))
            (windows,) = struct.unpack_from("<i", data, at)
            at += 4 + 8 * windows
    except struct.error:
        raise DamagedError(CUT) from None
    require(at in (len(data), len(data) - 8), CUT)  # a count of reads without a place may follow
    return furthest >> 16


def data_of(index, endings):
    """Return the file that an index belongs to, where it is there, and its size; an index must not be older."""
    for path in (index.rpartition(".")[0], *(index.rpartition(".")[0] + ending for ending in endings)):
        if path.endswith(endings) and os.path.exists(path):
            data, own = os.stat(path), os.stat(index)
            require(own.st_mtime >= data.st_mtime - OLDER_S, f"is older than {path}")
            return path, data.st_size
    return None, 0


def bai(path):
    """An index of BAM, up to its last reference."""
    data = whole(path)
    require(data[:4] == b"BAI\1" and len(data) >= 8, "is not an index of BAM")
    furthest = walk_bins(data, 8, *struct.unpack_from("<i", data, 4))
    of, size = data_of(path, (".bam",))
    require(not of or furthest <= size, f"does not fit {of}, which is shorter")


def crai(path):
    """An index of CRAM: lines of six columns, compressed."""
    lines = unpacked(whole(path)).split(b"\n")
    require(lines[-1] == b"" and all(line.count(b"\t") == 5 for line in lines[:-1]), CUT)
    of, size = data_of(path, (".cram",))
    furthest = max((int(line.split(b"\t")[3]) for line in lines[:-1]), default=0)
    require(not of or furthest <= size, f"does not fit {of}, which is shorter")


def tbi(path):
    """An index of tabix, which reaches the end of its file."""
    data = unpacked(whole(path))
    require(data[:4] == b"TBI\1" and len(data) >= 36, "is not an index of tabix")
    references, names = struct.unpack_from("<i", data, 4)[0], struct.unpack_from("<i", data, 32)[0]
    furthest = walk_bins(data, 36 + names, references)
    of, size = data_of(path, (".gz",))
    if of and furthest:
        require(size - 2 * BLOCK - len(BGZF_END) <= furthest <= size, f"does not fit {of}: one of the two {CUT}")


def tribble(path):
    """GATK's index of a plain VCF, which holds that file's size."""
    data = whole(path)
    try:
        require(data[:4] == b"TIDX", "is not an index of GATK")
        (kind,) = struct.unpack_from("<i", data, 4)
        at = data.index(b"\0", 12) + 1
        (size,) = struct.unpack_from("<q", data, at)
        at = data.index(b"\0", at + 16) + 1
        _flags, properties = struct.unpack_from("<ii", data, at)
        at += 8
        for _ in range(2 * properties):
            at = data.index(b"\0", at) + 1
        (contigs,) = struct.unpack_from("<i", data, at)
        at += 4
        for _ in range(contigs if kind == LINEAR else 0):
            at = data.index(b"\0", at) + 1
            at += 28 + 8 * struct.unpack_from("<4xi", data, at)[0]  # five numbers, the bins, and the end of the last
    except (struct.error, ValueError):
        raise DamagedError(CUT) from None
    require(at <= len(data), CUT)
    of = path.removesuffix(".idx")
    fits = size <= 0 or not os.path.exists(of) or os.path.getsize(of) == size
    require(fits, f"does not fit {of}, which had {size} bytes when it was indexed")


# --- GATK's tables ---


def gatk_report(path):
    """A table of recalibration: all the tables that its first line promises, with all their rows."""
    lines = whole(path).decode("utf-8", "replace").split("\n")
    try:
        require(lines[0].startswith("#:GATKReport."), "is not a report of GATK")
        at = 1
        for _ in range(int(lines[0].rpartition(":")[2])):
            at += 3 + int(lines[at].split(":")[3]) + 1  # what it is, its name, its columns, its rows, an empty line
        require(at < len(lines) and lines[at - 1] == "", CUT)
    except (IndexError, ValueError):
        raise DamagedError(CUT) from None


def tranches(path):
    """VQSR's tranches: lines of as many values as there are columns."""
    rows = [line for line in whole(path).split(b"\n") if not line.startswith(b"#")]
    require(len(rows) > 2 and rows[-1] == b"" and rows[-2].count(b",") == rows[0].count(b","), CUT)


# --- reference ---


def fai(path):
    """An index of FASTA, and the sequences that it names."""
    fields = last_line(path).split(b"\t")
    require(len(fields) == 5, f"{CUT}: its last line has {len(fields)} columns, not 5")
    length, offset, bases, width = map(int, fields[1:])
    fasta = path.removesuffix(".fai")
    end = offset + length // bases * width + length % bases if bases else offset
    short = os.path.exists(fasta) and os.path.getsize(fasta) < end - width + bases
    require(not short, f"names more sequence than {fasta} has: that file {CUT}")


def bwa_index(path):
    """One of the five files of bwa's index, by the length that .ann gives."""
    prefix, _, kind = path.rpartition(".")
    try:
        bases, contigs = map(int, head(f"{prefix}.ann").split(b"\n")[0].split()[:2])
    except (FileNotFoundError, ValueError):
        raise DamagedError(f"has no whole {prefix}.ann beside it") from None
    if kind in ("ann", "amb"):
        lines = whole(path).split(b"\n")
        expected = 2 * contigs if kind == "ann" else int((lines[0].split() or [b"0"])[-1])
        require(lines[-1] == b"" and len(lines) - 2 == expected, CUT)
        return
    both = 2 * bases  # strands
    expected = {
        "pac": (bases + 3) // 4 + (2 if bases % 4 == 0 else 1),
        "bwt": 40 + 4 * ((both + 15) // 16) + 32 * ((both + 127) // 128 + 1),
        "sa": 56 + 8 * ((both + 32) // 32 - 1),
    }[kind]
    size = os.path.getsize(path)
    require(size == expected, f"has {size} bytes, not {expected}, as {bases} bases need")


# --- text and pictures ---


def lines(path):
    """A text whose last line is complete."""
    last_line(path)


def table(path):
    """A table whose last line has as many columns as its first."""
    columns = head(path).split(b"\n")[0].count(b"\t") + 1
    found = last_line(path).count(b"\t") + 1
    require(found == columns, f"{CUT}: its last line has {found} columns, not {columns}")


def gtf(path):
    """Lines of nine columns."""
    found = last_line(path).count(b"\t") + 1
    require(found == 9, f"{CUT}: its last line has {found} columns, not 9")


def json_text(path):
    """JSON."""
    import json

    try:
        json.loads(whole(path))
    except ValueError:
        raise DamagedError("is not JSON, or is cut off") from None


CXB_HEAD = 48  # bytes: what boost writes, its version among it, and how many loci follow
KNOWN_BOOST = 18  # of its archives, whose loci end as here
LEAST_LOCUS = 172  # bytes: one without transcripts
UNCOUNTED = struct.pack("<QIQI", 0, 1, 0, 0)  # ends a locus: no read groups, no counts
COUNTED = struct.pack("<QI", 1, 0)  # or one count: class and number of its read group, and how many fragments


def cxb(path):
    """Cuffquant's archive, which says how many loci it holds, and numbers them from one: the last one is there, whole.

    How a locus ends was learned from files that Debian's Cufflinks wrote: of all beginnings of 70 of them, byte for
    byte, two passed. Of other versions' archives only the last number is looked for.
    """
    import mmap

    start = head(path, CXB_HEAD)
    require(start[8:30] == b"serialization::archive" and len(start) == CXB_HEAD, "is not CXB, or is cut off")
    (boost,), (loci,) = struct.unpack_from("<H", start, 30), struct.unpack_from("<Q", start, CXB_HEAD - 8)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if boost == KNOWN_BOOST:
            all_there = loci == 0 or (ends_locus(data, len(data)) and (loci == 1 or begins_locus(data, loci)))
        else:
            all_there = data.rfind(struct.pack("<I", loci), CXB_HEAD) > 0 or loci == 0
    require(all_there, f"{CUT}: not all {loci} loci are there")


def begins_locus(data, number):
    """Tell whether a locus of a CXB begins with this number, behind another's end."""
    mark, at = struct.pack("<I", number), len(data) - LEAST_LOCUS + 4
    while (at := data.rfind(mark, CXB_HEAD, at)) > 0:
        if ends_locus(data, at):
            return True
        at += 3  # the next one may overlap
    return False


def ends_locus(data, at):
    """Tell whether a locus of a CXB ends here."""
    if data[at - len(UNCOUNTED) : at] == UNCOUNTED:
        return True
    counted, (kind, group, count) = data[at - 26 : at - 14], struct.unpack_from("<HId", data, at - 14)
    return counted == COUNTED and kind < 32 and group < 1 << 24 and 0 <= count < 1e15


def ends(mark, fault):
    """Return the check of files that end with a mark, blanks aside."""
    return lambda path: require(tail(path, 1024).rstrip().endswith(mark), fault)


# --- folders ---


OPENS = {"callset.json", "vidmap.json", "vcfheader.vcf"}  # a workspace of GenomicsDB
NEEDED = (".json", "/__array_schema.tdb", "/__book_keeping.tdb.gz", ".vcf")  # for a GenomicsDB to be opened


def folder(path):
    """Every file of a folder, by its kind; in a GenomicsDB, what it needs to be opened."""
    found = [(where, [name for name in names if not name.startswith(".")]) for where, _, names in os.walk(path)]
    workspaces = tuple(f"{where}/" for where, names in found if "__tiledb_workspace.tdb" in names)
    files = [f"{where}/{name}" for where, names in found for name in names]
    require(files, "holds no files")
    for where, names in found:
        missing = OPENS.difference(names) if f"{where}/" in workspaces else ()
        require(not missing, f"is not whole: {where} lacks {', '.join(sorted(missing))}")
    for file in files:
        needed = not file.startswith(workspaces) or file.endswith(NEEDED)
        fault = file_fault(file) if needed else None
        require(not fault, f"is not whole: {file} {fault}")


KINDS = (  # how names end, the more special first: its check, and whether it may be empty
    (".bam", bam, False),
    (".bai", bai, False),
    (".cram", cram, False),
    (".crai", crai, False),
    (".vcf.gz", vcf_gz, False),
    (".tbi", tbi, False),
    (".recal", vcf, False),
    (".recal.idx", tribble, False),
    (".tranches", tranches, False),
    (".table", gatk_report, False),
    (".intervals", lines, True),  # a sample may have nothing to realign
    (".gtf", gtf, True),  # or no transcripts
    (".alt", lines, True),  # a genome may have no alternative contigs
    ("splice_sites.tsv", table, True),  # or a genome no introns
    (".cxb", cxb, False),
    *((ending, table, False) for ending in (".diff", "_tracking", ".info", ".fpkm", ".bed", ".significant.tsv")),
    *((ending, lines, False) for ending in (".txt", ".tsv", ".dict", ".vcf")),
    *((ending, bwa_index, False) for ending in (".amb", ".ann", ".bwt", ".pac", ".sa")),
    (".fai", fai, False),
    (".json", json_text, False),
    (".tdb.gz", lambda path: unpacked(whole(path)), False),
    (".html", ends(b"</html>", f"{CUT}: its last tag is missing"), False),
    (".png", ends(PNG_END, f"{CUT}: the end marker of PNG is missing"), False),
    (".pdf", ends(b"%%EOF", f"{CUT}: the end marker of PDF is missing"), False),
)


def file_fault(path):
    """Return what is wrong with a file or folder, as a phrase that follows its path, or None."""
    try:
        if os.path.isdir(path):
            folder(path)
            return None
        check, may_be_empty = next(
            ((check, empty) for ending, check, empty in KINDS if path.endswith(ending)), (None, False)
        )
        if os.path.getsize(path) == 0:
            return None if may_be_empty else "is empty (0 bytes)"
        require(path.endswith(ZEROS) or not has_hole(path), LOST)
        if check:
            check(path)
    except DamagedError as damage:
        return str(damage)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, IndexError, struct.error, zlib.error) as error:
        return f"is damaged: {error}"
    return None


# --- jobs ---


def is_full(place, room):
    """Tell whether a file system that can be written to has less room than this, or none for another file.

    Some network file systems do not know how much they have.
    """
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    free = found.f_bfree if os.geteuid() == 0 else found.f_bavail  # some is kept for root
    full = (found.f_blocks and free * found.f_frsize < room) or (found.f_files and not found.f_ffree)
    return bool(full) and not found.f_flag & os.ST_RDONLY


def full_place(places, room=FULL):
    """Return the first of some places whose file system is full, or None."""
    return next((place for place in dict.fromkeys(places) if is_full(place, room)), None)


def full_disk(places):
    """Return a phrase about the first of some places whose disk is full, or None."""
    full = full_place(places)
    return full and f"{NO_SPACE}: make room where {full} lies, and start again"


def made_fault(paths):
    """Return what is wrong with what a job made, in one line, or None."""
    places = [os.path.dirname(path) or "." for path in paths]
    for path in paths:
        fault = file_fault(path) if os.path.exists(path) else "is missing: the command ended well without making it"
        if fault:
            full = full_disk([*places, os.environ.get("TMPDIR") or "/tmp"])
            return f"{path} {fault}{f' ({full})' if full else ''}"
    full = full_disk(places)  # not every kind of file shows that it was cut off
    return full and f"{paths[0]} may be cut off ({full})"


def listed(paths):
    """Return paths with those in place of which a table stands: @TABLE, with a path in each line's last column."""
    for path in paths:
        if path.startswith("@"):
            with open(path[1:], encoding="utf-8") as rows:
                yield from (row.rstrip("\n").rpartition("\t")[2] for row in rows)
        else:
            yield path


def found_fault(paths):
    """Return what is wrong with results that a job starts from, in one line, or None; users' own files are not ours."""
    for path in listed(paths):
        ours = not path.startswith("/") and "results" in path.split("/")
        if ours and os.path.exists(path) and (fault := file_fault(path)):
            return f"{path} {fault}. A full disk, a crash or an earlier version left it so: delete it and start again"
    return None


def main(paths):
    """Name the files that are not whole; return the exit code."""
    as_json = paths[:1] == ["--json"]
    faults = {path: fault for path in paths[as_json:] if (fault := file_fault(path))}
    if as_json:
        import json

        print(json.dumps(faults))
    else:
        print("".join(f"{path} {fault}\n" for path, fault in faults.items()), end="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
