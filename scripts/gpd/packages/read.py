"""Read a package that may come from anybody: nothing in it is run, and nothing is written but to a folder of our own.

All of it is unpacked in memory, within the bounds of manifest.py; only then are its members looked at, one by one.
"""

import io
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from gpd.errors import GpdError
from gpd.files import read_bytes
from gpd.packages.bounds import bounded
from gpd.packages.manifest import (
    FILE,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_MEMBER_BYTES,
    MOST_MEMBERS,
    Manifest,
    PackageError,
    differences,
    may_be,
)
from gpd.packages.pack import Package, lay_out
from gpd.records import ledger
from gpd.records.ledger import Attempt
from gpd.records.run import SPEC, read_run, read_spec
from gpd.text.formats import counted

GZIP = 31  # zlib's number for gzip's format
MIB = 1024**2


def read(path: Path) -> Package:
    """Read a package. Whether it is what its manifest says, differences() tells. Raises PackageError, OSError."""
    if not path.is_file():
        raise PackageError(f"{path}: no such file; name a package, as gpd package writes it")
    try:
        return parse(read_bytes(path, MOST_FILE_BYTES))
    except ValueError as error:
        raise PackageError(f"{path}: no package: {error}") from error


def parse(packed: bytes) -> Package:
    """The package that a file holds; its records are looked at when they are read. Raises ValueError, in one line."""
    members = dict(_members(_unpacked(packed)))
    if FILE not in members:
        raise ValueError(f"it has no {FILE}")
    stored = members.pop(FILE)
    try:
        return Package(msgspec.json.decode(stored, type=Manifest), members, stored)
    except (ValueError, RecursionError) as error:  # of msgspec, too, and what is not UTF-8
        raise ValueError(f"{FILE}: {error}") from error


@contextmanager
def laid_out(package: Package) -> Iterator[Path]:
    """A private folder with the study, under its name, until the end. Raises PackageError where records do not fit."""
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch) / package.manifest.study
        lay_out(package.members, folder)
        try:
            _check_places(folder)
            yield folder
        except GpdError as error:
            if str(folder) not in str(error):
                raise
            raise PackageError(str(error).replace(f"{folder}/", "")) from error  # the folder is temporary


@contextmanager
def studies() -> Iterator[Callable[[Path], Path]]:
    """Yield a function that maps a path to the folder of its study; packages are unpacked until the exit.

    Raises PackageError where a package is not what its manifest says.
    """
    with ExitStack() as until_the_end:
        within_bounds: list[Path] = []

        def folder(path: Path) -> Path:
            if not path.is_file():
                return path
            if not within_bounds:
                until_the_end.enter_context(bounded(path))
            within_bounds.append(path)
            package = read(path)
            if changed := differences(package.manifest, package.members):
                raise PackageError("\n".join(f"{path}: {line}" for line in changed))
            return until_the_end.enter_context(laid_out(package))

        yield folder


# ---- the archive ---------------------------------------------------------------------------------------


def _unpacked(packed: bytes) -> bytes:
    """The tar file within, no larger than it may be. Raises ValueError."""
    if len(packed) > MOST_FILE_BYTES:
        raise ValueError(f"more than {MOST_FILE_BYTES // MIB} MiB")
    unzip = zlib.decompressobj(GZIP)
    try:
        unpacked = unzip.decompress(packed, MOST_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"not compressed by gzip: {error}") from error
    if len(unpacked) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES // MIB} MiB when it is unpacked")
    if not unzip.eof:
        raise ValueError("it is cut short")
    if unzip.unused_data:
        raise ValueError(f"{counted(len(unzip.unused_data), 'byte')} behind its end")
    return unpacked


def _members(unpacked: bytes) -> Iterator[tuple[str, bytes]]:
    """The names and contents of a tar file's members. Raises ValueError."""
    names: list[str] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
            for member in tar:
                _check_member(member, names[-1:])
                names.append(member.name)
                if len(names) > MOST_MEMBERS:
                    raise ValueError(f"more than {MOST_MEMBERS:,} members")
                content = tar.extractfile(member)
                yield member.name, content.read() if content else b""
            end = tar.offset
    except (tarfile.TarError, EOFError, OverflowError) as error:
        raise ValueError(f"not a tar file: {error}") from error
    except RecursionError as error:  # Python reads a header of a header by calling itself
        raise ValueError("not a tar file: too many headers before one member") from error
    if any(unpacked[end:]):
        raise ValueError("something stands behind its last member")


def _check_member(member: tarfile.TarInfo, before: list[str]) -> None:
    """Refuse a member that gpd package does not write: a link, a device, a name elsewhere. Raises ValueError."""
    name = repr(member.name[:100])
    if not member.isreg() or member.pax_headers or member.issparse():
        raise ValueError(f"{name}: not a plain file: a package has no links, devices and folders")
    if not may_be(member.name):
        raise ValueError(f"{name}: no name of a file in a package of this version")
    if member.size > MOST_MEMBER_BYTES:
        raise ValueError(f"{name}: more than {MOST_MEMBER_BYTES // MIB} MiB")
    if before and before[0] >= member.name:
        raise ValueError(f"{name}: twice, or not in the order of names")


def _check_places(folder: Path) -> None:
    """Refuse records without what they tell of: each process has a ledger, and each run its specification.

    Raises PackageError, RecordError.
    """
    attempts: list[Attempt] = []
    for path in sorted(folder.glob("*/run.json")):
        record = read_run(path)
        for process in record.processes:
            files = ledger.files(path.parent / process.directory / "ledger.jsonl")
            if not files:
                raise PackageError(f"{record.spec.name}: the ledger of {process.directory} is not there")
            attempts += (attempt for file in files for attempt in _attempts(file))
        if not (spec := path.parent / SPEC).is_file() or read_spec(spec) != record.spec:
            raise PackageError(f"{record.spec.name}: spec.json and run.json do not tell the same")
    try:
        ledger.check_allocated(attempt.cpus for attempt in attempts)
    except ValueError as error:
        raise PackageError(f"ledgers: {error}") from error


def _attempts(file: Path) -> Iterator[Attempt]:
    """The attempts of a ledger's file, of which every line is one. Raises PackageError."""
    for number, line in enumerate(ledger.read_lines(file), 1):
        try:
            yield ledger.parse_attempt(line)
        except ValueError as error:
            raise PackageError(f"{file} line {number}: {error}") from error
