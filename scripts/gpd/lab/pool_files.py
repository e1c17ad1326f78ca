"""Reads that a study makes of its pool's, once and before any timing: a seeded share of each sample's, and copies.

They stay in the study's folder. Later runs take them as they are where inputs, fraction and seed are the same.
"""

import gzip
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BufferedReader
from itertools import islice
from pathlib import Path

from gpd import files
from gpd.execution import interruption
from gpd.lab import digests
from gpd.lab.pool import READS as ROLES
from gpd.lab.pool import Source
from gpd.lab.study_runs import StudyError, copied
from gpd.records.study import Study
from gpd.text.formats import in_gigabytes

FOLDER, RECIPE = "reads", "made.json"
LINES = 4  # of a FASTQ record
AT_ONCE = 4
SLACK = 1.1  # a share is drawn at random, and compressed by another program than the whole was
TRIAL_LINES, TRIAL_BYTES = 1_000_000, 16 * 1024**2


@dataclass(frozen=True)
class MadeFile:
    """A file that is made of `origin`: a share of its reads, all of them where that is 1; `of_pool` are the whole ones.

    Files of one unit have one seed. `fasta` is what CRAM is decoded with.
    """

    path: Path
    origin: Path
    share: float
    seed: str
    of_pool: Path
    fraction: float
    fasta: str = ""

    @property
    def bytes(self) -> float:
        """About how large it is. Raises OSError."""
        return self.fraction * self.of_pool.stat().st_size * SLACK

    @property
    def aligned(self) -> bool:
        return self.path.suffix in (".bam", ".cram")


def drawn_from(study: Study, source: Source) -> Source:
    """A pool as runs draw from it: with the files that are made of its own, and each genome as often as it is to be."""
    if study.fraction == 1 and study.copies == 1:
        return source
    numbers = range(1, study.copies + 1)
    samples = [{**row, "sample_name": copied(row["sample_name"], at)} for row in source.samples for at in numbers]
    units = [
        {
            **row,
            "sample_name": copied(row["sample_name"], at),
            **{role: str(_place(study, source, row, role, at)) for role in ROLES if row.get(role)},
        }
        for row in source.units
        for at in numbers
    ]
    copies = {copied(row["sample_name"], at): at for row in source.samples for at in numbers if at > 1}
    return Source(source.config, tuple(samples), tuple(units), copies)


def made_files(study: Study, source: Source) -> list[MadeFile]:
    """The files that a study makes of a pool's, those first of which others are copies."""
    found = []
    for at in range(1 if study.fraction < 1 else 2, study.copies + 1):
        for row in source.units:
            seed = f"{study.seed}/{source.config['pipeline']}/{row['sample_name']}/{row['unit_name']}/reads"
            for role in (role for role in ROLES if row.get(role)):
                path, of_pool = _place(study, source, row, role, at), Path(row[role])
                origin = of_pool if at == 1 else _place(study, source, row, role, 1)
                share, fasta = study.fraction if at == 1 else 1.0, cram_fasta(source.config)
                found.append(MadeFile(path, origin, share, seed, of_pool, study.fraction, fasta))
    return found


def cram_fasta(config: Mapping) -> str:
    """The FASTA that CRAM files are decoded with, as the workflow does (rules/germline/mapping.smk)."""
    mapped_again = config.get("bam_input") == "remap" and config.get("cram_reference")
    return mapped_again or config["reference"]["fasta"]


def _place(study: Study, source: Source, row: dict[str, str], role: str, number: int) -> Path:
    """Where a file of a sample or of one of its copies lies."""
    path = Path(row[role])
    if number == 1 and study.fraction == 1:
        return path
    folder = study.folder.resolve() / FOLDER / source.config["pipeline"]
    return folder / copied(row["sample_name"], number) / row["unit_name"] / role / path.name


def missing(wanted: Iterable[MadeFile]) -> list[MadeFile]:
    """Those that are not there, or were made of another file, with another share or seed."""
    digest = cache(digests.sampled_digest)
    return [file for file in wanted if not _is_made(file, digest)]


def _is_made(file: MadeFile, digest: Callable[[Path], str]) -> bool:
    try:
        known = json.loads((file.path.parent / RECIPE).read_text(encoding="utf-8"))
        same = known["share"] == file.share and known["seed"] == file.seed
        return same and known["bytes"] == file.path.stat().st_size and known["origin"] == digest(file.origin)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def make(folder: Path, wanted: Sequence[MadeFile]) -> None:
    """Make what is missing. Raises StudyError where there is no room, or what is read is damaged or out of step."""
    folder.mkdir(parents=True, exist_ok=True)
    left = missing(wanted)
    with _readable():
        needed, free = sum(file.bytes for file in left), shutil.disk_usage(folder).free
        if needed > free:
            raise StudyError(
                f"{folder}: no room on the disk: the reads that the study makes take about {in_gigabytes(needed)}, "
                f"{in_gigabytes(free)} are free: set another directory, a smaller fraction or fewer copies"
            )
        for is_copy in (False, True):  # of what was made before
            some = [file for file in wanted if (file.share == 1) == is_copy]
            with ThreadPoolExecutor(AT_ONCE) as pool:
                deque(pool.map(_make, missing(some)), maxlen=0)
    _refuse_out_of_step(wanted)


@contextmanager
def _readable() -> Iterator[None]:
    """Within, a file of the pool that is not there is said in a line."""
    try:
        yield
    except FileNotFoundError as error:
        raise StudyError(f"{error.filename}: does not exist") from error


def _make(file: MadeFile) -> None:
    folder = files.own_folder(file.path.parent)
    for cut_off in folder.glob(".*.tmp"):  # of a study that was killed
        cut_off.unlink()
    origin, reads = digests.sampled_digest(file.origin), 0

    def write(target: Path) -> None:
        nonlocal reads
        reads = _write(file, target)

    files.replace(file.path, write)
    recipe = {"origin": origin, "share": file.share, "seed": file.seed, "reads": reads}
    files.write_text(folder / RECIPE, json.dumps({**recipe, "bytes": file.path.stat().st_size}) + "\n")


def _write(file: MadeFile, target: Path) -> int:
    if file.share == 1:
        return _copy(file.origin, target)
    return _draw_aligned(file, target) if file.aligned else _draw(file, target)


def _copy(origin: Path, target: Path) -> int:
    """Copy byte by byte: links and extents that files share would be read from the disk, and kept in memory, once."""
    with origin.open("rb") as read, target.open("wb") as written:
        while chunk := read.read(digests.CHUNK_BYTES):
            interruption.check()
            written.write(chunk)
    return 0


def _draw(file: MadeFile, target: Path) -> int:
    """Write a share of a FASTQ file's reads; how many there were in all.

    Which are drawn follows from the seed and their numbers alone: so both files of pairs keep in step.
    """
    reads = 0
    try:
        with file.origin.open("rb") as raw, _unpacked(raw) as stream, target.open("wb") as written:
            packed = isinstance(stream, gzip.GzipFile)
            # neither name nor time, so that the same reads are the same bytes
            with gzip.GzipFile("", "wb", 6, written, mtime=0) if packed else written as output:
                for so_far, read in _some_reads(stream, file):
                    interruption.check()
                    output.write(read)
                    reads = so_far
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise StudyError(f"{file.origin}: damaged or cut short: {error}") from error
    return reads


def _some_reads(stream: Iterable[bytes], file: MadeFile) -> Iterator[tuple[int, bytes]]:
    """The reads that are drawn, each after how many; the last is empty, after all."""
    dice, one_passed_over = random.Random(file.seed), math.log1p(-file.share)
    lines, last = enumerate(stream, 1), 0
    while True:
        passed_over = int(math.log(1 - dice.random()) / one_passed_over)  # which costs less than a draw for each
        if skipped := deque(islice(lines, LINES * passed_over), maxlen=1):
            last = skipped[0][0]
        read = list(islice(lines, LINES))
        last = read[-1][0] if read else last
        if read and (len(read) < LINES or read[0][1][:1] != b"@" or read[2][1][:1] != b"+"):
            raise StudyError(f"{file.origin}: is not FASTQ with four lines a read near line {last:,}")
        yield last // LINES, b"".join(line for _, line in read)
        if not read:
            return


def _draw_aligned(file: MadeFile, target: Path) -> int:
    """Write a share of the templates of a BAM or CRAM file, by a hash of their names: mates stay together."""
    seed = random.Random(file.seed).randrange(1, 1_000_000)
    share = f"{file.share:.9f}".lstrip("0")
    form = ["-C", "-T", file.fasta] if file.path.suffix == ".cram" else ["-b"]
    command = ["samtools", "view", *form, "-s", f"{seed}{share}", "-o", str(target), str(file.origin)]
    try:
        with (
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True, process_group=0) as process,
            interruption.reaching(process.pid),
        ):
            _, error = process.communicate()
    except FileNotFoundError as missing_tool:
        raise StudyError(f"{file.origin}: samtools, which draws a share of it, is not installed") from missing_tool
    if process.returncode:
        raise StudyError(f"{file.origin}: samtools view: {' '.join(error.split())}")
    return 0


def _refuse_out_of_step(wanted: Iterable[MadeFile]) -> None:
    """Raise StudyError where the two files of a unit's pairs have not as many reads, or nothing was drawn."""
    reads: dict[str, tuple[int, MadeFile]] = {}
    for file in (file for file in wanted if file.share < 1 and not file.aligned):
        count = json.loads((file.path.parent / RECIPE).read_text(encoding="utf-8"))["reads"]
        other_count, other = reads.setdefault(file.seed, (count, file))
        if count != other_count:
            raise StudyError(f"{other.origin} has {other_count:,} reads, and {file.origin} {count:,}: no pairs")
        with file.path.open("rb") as raw, _unpacked(raw) as stream:
            if not stream.read(1):
                raise StudyError(f"{file.origin}: none of its {count:,} reads was drawn: set a larger fraction")


def _unpacked(raw: BufferedReader) -> BufferedReader | gzip.GzipFile:
    """What a file holds."""
    return gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == digests.GZIP_MAGIC else raw


@dataclass(frozen=True)
class Outlook:
    """What making files takes: bytes of the disk, and seconds at most; None: nothing tells."""

    bytes: float
    seconds: float | None


def outlook(folder: Path, left: Sequence[MadeFile]) -> Outlook:
    """What is to be expected, by a trial on the first lines of what is read. Raises StudyError."""
    with _readable():
        shares, copies = ([file for file in left if (file.share == 1) == is_copy] for is_copy in (False, True))
        read = sum(file.of_pool.stat().st_size for file in shares)
        written = sum(file.bytes for file in copies)
        fastq = next((file.of_pool for file in shares if not file.aligned), None)
        if fastq is None and shares:
            return Outlook(sum(file.bytes for file in left), None)
        seconds = (read / _reading_rate(fastq) if fastq else 0) + (written / _writing_rate(folder) if copies else 0)
        return Outlook(sum(file.bytes for file in left), seconds)


def _reading_rate(path: Path) -> float:
    """Bytes on the disk that are unpacked and looked through in a second."""
    began = time.monotonic()
    try:
        with path.open("rb") as raw, _unpacked(raw) as stream:
            deque(islice(stream, TRIAL_LINES), maxlen=0)
            taken = raw.tell()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise StudyError(f"{path}: damaged or cut short: {error}") from error
    return max(taken, 1) / max(time.monotonic() - began, 1e-6)


def _writing_rate(folder: Path) -> float:
    """Bytes that reach the disk of a folder, which need not be there yet, in a second."""
    there = next(each for each in (folder.resolve(), *folder.resolve().parents) if each.is_dir())
    with tempfile.TemporaryFile(dir=there) as file:
        began = time.monotonic()
        file.write(os.urandom(TRIAL_BYTES))
        file.flush()
        os.fsync(file.fileno())
        return TRIAL_BYTES / max(time.monotonic() - began, 1e-6)
