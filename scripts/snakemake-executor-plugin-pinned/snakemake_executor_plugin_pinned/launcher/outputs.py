"""Whether files are whole: what a job leaves behind, and what an earlier one left for it.

    outputs.py FILE ...    print what is wrong with each that is not, as JSON; exit code 1 if any

A JVM may swallow a failed write, and a power cut can take the end of a finished file, or blocks of it. So the launcher
checks that a file is there, is not empty, has no hole and ends as its kind does, in less than a millisecond; it reads
small files alone. The launcher imports this, so that most imports stand where they are used.
"""

import os
import stat
import struct
import sys

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
CRAM_END = bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b")
PNG_END = bytes.fromhex("0000000049454e44ae426082")
LINES = (".table", ".recal", ".tranches", ".vcf", ".intervals", ".bed", ".gtf", ".diff", "_tracking", ".info", ".fpkm")
LINES += (".txt", ".tsv", ".dict", ".fai", ".alt", ".ann", ".amb")
ENDS = dict.fromkeys((".bam", ".vcf.gz", ".tbi"), BGZF_END) | dict.fromkeys(LINES, b"\n")
ENDS |= {".cram": CRAM_END, ".png": PNG_END, ".pdf": b"%%EOF", ".html": b"</html>", ".pkl": b"."}
INDEXES = (".bai", ".crai", ".tbi", ".idx")
# a sample may have nothing to realign or no transcripts, a genome no alternative contigs or introns
MAY_BE_EMPTY = (".intervals", ".gtf", ".alt", "splice_sites.tsv", ".tdb")
ZEROS = (".bai", ".pac", ".bwt", ".sa", ".0123", ".64", ".ht2", ".bt2", ".tdb")  # kinds that may have long runs of them
OLDER_S = 60  # an index may be closed before its file is, and clocks of file servers differ
FULL = 1 << 16  # bytes: with less room than this, whatever was written last may be cut off
CUT = "is cut off"
NO_SPACE = "No space left on device"  # as the kernel says it


def read(path, last=None):
    """Return a small file, or the last bytes of a file."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - last) if last else 0)
        return file.read()


def has_hole(path):
    """Tell whether blocks of a file were never written, as after a power cut, or are zeros that are compressed."""
    with open(path, "rb") as file:
        try:
            return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < os.fstat(file.fileno()).st_size
        except OSError:  # it does not know
            return False


# --- kinds whose end tells too little: each returns a fault, or None, or raises what reading it raises ---


def gatk_report(path):
    """A table of recalibration: its first line says how many tables there are, and each table how many rows."""
    lines = read(path).decode("utf-8", "replace").split("\n")
    try:
        at = 1
        for _ in range(int(lines[0].rpartition(":")[2])):
            at += 3 + int(lines[at].split(":")[3]) + 1  # what it is, its name, its columns, its rows, an empty line
        return None if at < len(lines) and lines[at - 1] == "" else CUT
    except (IndexError, ValueError):
        return CUT


def bwt(path):
    """The largest file of bwa's index, which bwa loads whatever its size: its head says how many bases it is of."""
    with open(path, "rb") as file:
        (bases,) = struct.unpack_from("<32xq", file.read(40))  # of both strands
    expected = 40 + 4 * ((bases + 15) // 16) + 32 * ((bases + 127) // 128 + 1)
    return None if os.path.getsize(path) == expected else f"{CUT}: its {bases} bases need {expected} bytes"


def fai(path):
    """An index of FASTA tells how long its file is, which has no end of its own."""
    length, offset, bases, width = map(int, read(path).splitlines()[-1].split(b"\t")[1:])
    fasta = path.removesuffix(".fai")
    end = offset + (length - 1) // bases * width + (length - 1) % bases + 1
    short = os.path.exists(fasta) and os.path.getsize(fasta) < end
    return f"names more sequence than {fasta} has: that file {CUT}" if short else None


def cxb(path):
    """Cuffquant's archive ends with a locus, without counts or with one of a read group, as Boost 18 writes them."""
    data = read(path)
    no_counts, one_count = struct.pack("<QIQI", 0, 1, 0, 0), struct.pack("<QI", 1, 0)
    other = data[30:32] != b"\x12\0" and len(data) > 32  # of another Boost no end is known
    return None if other or data.endswith(no_counts) or data[-26:].startswith(one_count) else CUT


def hdf5(path):
    """HDF5 says at its start where it ends; GATK and h5py write version 0 of that."""
    with open(path, "rb") as file:
        head = file.read(48)
    (end,) = struct.unpack_from("<Q", head, 40)
    return None if head[8] or os.path.getsize(path) >= end else CUT


def json_text(path):
    import json

    json.loads(read(path))


def gzipped(path):
    import gzip

    gzip.decompress(read(path))


CHECKS = {".table": gatk_report, ".bwt": bwt, ".fai": fai, ".cxb": cxb, ".hdf5": hdf5}
CHECKS |= {".json": json_text, ".crai": gzipped, ".tdb.gz": gzipped}


# --- any file ---


def file_fault(path):
    """Return what is wrong with a file or folder, as a phrase that follows its path, or None."""
    try:
        if os.path.isdir(path):
            return folder_fault(path)
        passing = stat.S_ISFIFO(os.stat(path).st_mode) or stat.S_ISSOCK(os.stat(path).st_mode)
        return None if passing else plain_fault(path)  # of what passes through a pipe nothing is left to look at
    except EOFError:
        return f"{CUT}: its compressed data end too early"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except Exception as error:  # of zlib, JSON, numbers
        return f"is damaged or cut off: {error}"


def folder_fault(path):
    """Every file of a folder must be whole."""
    files = [f"{where}/{name}" for where, _, names in os.walk(path) for name in names if not name.startswith(".")]
    faults = (f"is not whole: {file} {fault}" for file in files if (fault := file_fault(file)))
    return next(faults, None) if files else "holds no files"


def plain_fault(path):
    """Return what is wrong with a file; raise what reading it raises."""
    if os.path.getsize(path) == 0:
        return None if path.endswith(MAY_BE_EMPTY) else "is empty (0 bytes)"
    if not path.endswith(ZEROS) and has_hole(path):
        return "has a hole, where blocks of it were lost"
    end = next((ENDS[kind] for kind in ENDS if path.endswith(kind)), b"")
    last = read(path, last=64)
    if not last.endswith(end) and not last.rstrip(b" \n").endswith(end):
        return f"{CUT}: its {'last line is incomplete' if path.endswith(LINES) else 'end marker is missing'}"
    data = data_of(path)
    if data and os.path.getmtime(path) < os.path.getmtime(data) - OLDER_S:
        return f"is older than {data}"
    return next((look(path) for kind, look in CHECKS.items() if path.endswith(kind)), None)


def data_of(path):
    """Return the file of which this is the index, None where it is none or that is not there."""
    stem = os.path.splitext(path)[0]
    places = (stem, f"{stem}.bam") if path.endswith(INDEXES) else ()
    return next(filter(os.path.isfile, places), None)


# --- jobs ---


def is_full(place, room):
    """Tell whether a file system that can be written to has less room than this, or none for another file.

    Root has more room than others are told of; how much, only trying tells: ext4 keeps blocks even from root.
    """
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    if found.f_flag & os.ST_RDONLY:
        return False
    scarce = found.f_blocks and found.f_bavail * found.f_frsize < room
    full = scarce and (os.geteuid() != 0 or not takes(place, room))
    return bool(full or (found.f_files and not found.f_ffree))


def takes(place, room):
    """Tell whether a file of so many bytes can be made here; it has no name, and is gone at once."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=place) as file:
            os.posix_fallocate(file.fileno(), 0, room)
    except OSError:
        return False
    return True


def full_place(places, room=FULL):
    """Return the first of some places whose file system is full, or None."""
    return next((place for place in dict.fromkeys(places) if is_full(place, room)), None)


def full_disk(places):
    """Return a phrase about the first of some places whose disk is full, or None."""
    full = full_place(places)
    return full and f"{NO_SPACE}: make room where {full} lies, and start again"


def first_output_fault(paths):
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


def first_input_fault(paths):
    """Return what is wrong with results that a job starts from, in one line, or None; users' own files are not ours."""
    for path in listed(paths):
        ours = not path.startswith("/") and "results" in path.split("/")
        if ours and os.path.exists(path) and (fault := file_fault(path)):
            return f"{path} {fault}. A full disk, a crash or an earlier version left it so: delete it and start again"
    return None


def main(paths):
    import json

    faults = {path: fault for path in paths if (fault := file_fault(path))}
    print(json.dumps(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
