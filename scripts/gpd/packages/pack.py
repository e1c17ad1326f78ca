"""Make a package of a study: the files that its figures follow from, with other names for hosts, users and folders.

The same study gives the same bytes, but for what another version of zlib makes of them.
"""

import getpass
import gzip
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpd.files import read_text
from gpd.packages import manifest as described
from gpd.packages.manifest import (
    MOST_BYTES,
    MOST_MEMBER_BYTES,
    MOST_MEMBERS,
    TABLES,
    Manifest,
    PackageError,
    Replaced,
    may_be,
)
from gpd.packages.pseudonyms import Pseudonyms, hosts_in, users_in
from gpd.packages.untrusted_json import check, check_allocated, parse
from gpd.records import ledger, node, study
from gpd.records.run import SPEC, RecordError, read_spec
from gpd.records.run_spec import RunSpec
from gpd.tables import collect
from gpd.tables.collect import Tables
from gpd.text.formats import counted

LOGS_AND_MORE = "logs, configurations, profiles and results of runs, and what a report is made of beside the tables"
JSON = ".json"


@dataclass(frozen=True)
class Package:
    """A package in the making: its manifest, and its members without it."""

    manifest: Manifest
    members: Mapping[str, bytes]

    def to_bytes(self) -> bytes:
        return archive({**self.members, described.FILE: self.manifest.to_json()})


def make(folder: Path, host_names: bool = False) -> Package:
    """Package a study; `host_names`: they stay as they are. Raises PackageError, and as collect() does."""
    specs = [read_spec(path) for path in sorted(folder.glob(f"*/{SPEC}"))]
    if not specs:
        raise PackageError(f"{folder}: not a study: no run in it; name the folder of a study")
    torn: list[str] = []
    documents = {name: _documents(path, torn) for name, path in sorted(_files(folder, specs).items())}
    names = _pseudonyms(folder, specs, documents, host_names)
    members = {_renamed(name, names): _written(name, documents[name], names) for name in documents}
    members |= tables_of(members)
    try:  # as somebody who reads the package would refuse it
        attempts = []
        for name, content in members.items():
            if not may_be(name):
                raise ValueError(f"{name}: no name of a file in a package")
            attempts += check(name, content)
        check_allocated(attempts)
    except ValueError as error:
        raise PackageError(f"{folder}: can't be packed: {error}") from error
    manifest = Manifest(
        gpd_version=version("gpd"),
        study=specs[0].study,
        fraction=specs[0].fraction,
        samples_per_genome=specs[0].samples_per_genome,
        host_names=host_names,
        replaced=Replaced(
            hosts=len(names.used & set(names.hosts.values())),
            users=len(names.used & set(names.users.values())),
            paths=len(names.paths),
        ),
        left_out=(LOGS_AND_MORE, *([f"{counted(len(torn), 'line')} that are no records"] if torn else [])),
        members={name: described.describe(content) for name, content in sorted(members.items())},
    )
    package = Package(manifest, members)
    _within_bounds(folder, {**members, described.FILE: manifest.to_json()})
    return package


def _within_bounds(folder: Path, members: Mapping[str, bytes]) -> None:
    """Refuse what read.read() would refuse. Raises PackageError."""
    bounds = (
        ("files", len(members), MOST_MEMBERS),
        ("bytes in all", sum(map(tar_bytes, members.values())), MOST_BYTES),
        ("bytes in a file", max(map(len, members.values())), MOST_MEMBER_BYTES),
    )
    for what, found, most in bounds:
        if found > most:
            raise PackageError(f"{folder}: its package would have {found:,} {what}, and {most:,} are allowed")


def tar_bytes(content: bytes) -> int:
    """What a file takes in a tar file: its header, and whole blocks."""
    return tarfile.BLOCKSIZE * (1 + -(-len(content) // tarfile.BLOCKSIZE))


def tables_of(members: Mapping[str, bytes], check_clocks: bool = True) -> dict[str, bytes]:
    """The tables of the study that these files are. Raises as collect() does."""
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        lay_out(members, Path(scratch))
        return as_files(collect.collect(Path(scratch), check_clocks))


def as_files(tables: Tables) -> dict[str, bytes]:
    """The tables of a study, as `gpd report` writes them."""
    return {name: collect.to_tsv(tables.frame(table)) for table, name in TABLES.items()}


def lay_out(members: Mapping[str, bytes], folder: Path) -> None:
    """Write members, whose names were looked at, as files below a folder."""
    for name, content in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def archive(members: Mapping[str, bytes]) -> bytes:
    """One compressed tar file of these members, in the order of their names, that tells of no time and no owner."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            try:
                tar.addfile(info, io.BytesIO(content))
            except ValueError as error:
                raise PackageError(f"{name}: {error}: a package can't hold it") from error
    return gzip.compress(buffer.getvalue(), compresslevel=9, mtime=0)


# ---- what goes in --------------------------------------------------------------------------------------


def _files(folder: Path, specs: list[RunSpec]) -> dict[str, Path]:
    """What figures follow from, by the name that it has in the study's folder."""
    paths = [folder / name for name in (study.FILE, study.STARTS, node.FILE)]
    for spec in specs:
        own = folder / spec.name
        paths += [own / SPEC, own / "run.json", *ledger.files(own / "ledger.jsonl")]
        ran = sorted(path.name for path in (own / "samples").glob("*")) if spec.stream else spec.samples
        paths += [file for sample in ran for file in ledger.files(own / "samples" / sample / "ledger.jsonl")]
    return {path.relative_to(folder).as_posix(): path for path in paths if path.is_file()}


def _documents(path: Path, torn: list[str]) -> list[Any]:
    """What a file of JSON holds: one document, or one a line. Lines that a power cut left, no records, go to `torn`."""
    if path.suffix == JSON:
        try:
            return [parse(read_text(path))]
        except ValueError as error:
            raise RecordError(f"{path}: not a record: {error}") from error
    found = []
    for line in ledger.read_lines(path):
        try:
            if path.name != study.STARTS:
                ledger.parse_attempt(line)
            found.append(ledger.parse_line(line))
        except ValueError:
            torn.append(line)
    return found


def _pseudonyms(folder: Path, specs: list[RunSpec], documents: Mapping[str, list[Any]], host_names: bool) -> Pseudonyms:
    every = [document for of_file in documents.values() for document in of_file]
    hosts = [name for document in every for name in hosts_in(document)]
    users = [name for document in every for name in users_in(document)]
    with suppress(KeyError, OSError):  # where the machine does not know who makes the package
        users.append(getpass.getuser())
    folders = [str(folder.resolve()), str(Path.home()), *(spec.directory for spec in specs if spec.directory)]
    return Pseudonyms([*hosts, platform.node()], users, folders, host_names)


def _renamed(name: str, names: Pseudonyms) -> str:
    """A member's name; that of a node's ledger has the node's name in it."""
    head, _, last = name.rpartition("/")
    stem, _, rest = last.partition(".")
    host, _, suffix = rest.rpartition(".")
    own = f"{stem}.{names.host(host)}.{suffix}" if stem == ledger.STEM and host else last
    return f"{head}/{own}" if head else own


def _written(name: str, documents: list[Any], names: Pseudonyms) -> bytes:
    """A file's content with other names in it."""
    indent = 1 if name.endswith(JSON) else None
    lines = (json.dumps(names.replace(document), ensure_ascii=False, indent=indent) for document in documents)
    return "".join(f"{line}\n" for line in lines).encode()
