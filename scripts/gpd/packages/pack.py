"""Make a package of a study: the files that its figures follow from, without what identifies people or hosts.

The same study gives the same bytes, but for what another version of zlib makes of them.
"""

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from gpd.packages import manifest as described
from gpd.packages.fields import NumberedNames
from gpd.packages.manifest import TABLES, Manifest, PackageError
from gpd.records import calibration, ledger, node, study
from gpd.records.calibration import Calibration
from gpd.records.decoding import decode
from gpd.records.run import SPEC, read_run, read_spec
from gpd.records.run_spec import RunSpec
from gpd.records.study import Start
from gpd.tables import collect
from gpd.tables.collect import Tables
from gpd.text.formats import counted

LOGS_AND_MORE = "logs, configurations, profiles and results of runs, and what a report is made of beside the tables"


@dataclass(frozen=True)
class Package:
    """A manifest, and the members without it. `stored`: the manifest as a file has it, of whatever version."""

    manifest: Manifest
    members: Mapping[str, bytes]
    stored: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def digest(self) -> str:
        """It stands for a whole package: the manifest has the digests of all its files."""
        return hashlib.sha256(self.stored or self.manifest.to_json()).hexdigest()

    def to_bytes(self) -> bytes:
        return archive({**self.members, described.FILE: self.manifest.to_json()})


def make(folder: Path) -> Package:
    """Package a study. Raises PackageError, and as collect() does."""
    specs = [read_spec(path) for path in sorted(folder.glob(f"*/{SPEC}"))]
    if not specs:
        raise PackageError(f"{folder}: not a study: no run in it; name the folder of a study")
    torn: list[str] = []
    members = dict(_of_study(folder, NumberedNames(), specs, torn))
    members |= tables_of(members)
    manifest = Manifest(
        gpd_version=version("gpd"),
        study=specs[0].study,
        fraction=specs[0].fraction,
        samples_per_genome=specs[0].samples_per_genome,
        left_out=(LOGS_AND_MORE, *([f"{counted(len(torn), 'line')} that are no records"] if torn else [])),
        members={name: described.describe(content) for name, content in sorted(members.items())},
    )
    return Package(manifest, members)


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


def _of_study(folder: Path, names: NumberedNames, specs: list[RunSpec], torn: list[str]) -> Iterator[tuple[str, bytes]]:
    """The files that figures follow from, each by its name in the study's folder, as they go out."""
    if plan := study.read_study_record(folder):
        yield study.FILE, names.outgoing(plan).to_json().encode()
    if (starts := folder / study.STARTS).is_file():
        yield study.STARTS, _lines(starts, _start, torn)
    if (calibrated := folder / calibration.FILE).is_file():
        yield calibration.FILE, _lines(calibrated, _calibration, torn)
    if (measured := folder / node.FILE).is_file():
        yield node.FILE, names.outgoing(node.read_node(measured)).to_json().encode()
    for spec in specs:
        own = folder / spec.name
        yield f"{spec.name}/{SPEC}", _json(names.outgoing(spec))
        if (ended := own / "run.json").is_file():
            yield f"{spec.name}/run.json", names.outgoing(read_run(ended)).to_json().encode()
        ran = sorted(path.name for path in (own / "samples").glob("*")) if spec.stream else spec.samples
        for place in (own, *(own / "samples" / sample for sample in ran)):
            for path in ledger.files(place / f"{ledger.STEM}.jsonl"):
                content = _lines(path, lambda line: _attempt(line, names), torn)
                yield _renamed(path, names).relative_to(folder).as_posix(), content


def _lines(path: Path, outgoing: Callable[[str], Any], torn: list[str]) -> bytes:
    """The lines of a file as they go out; those that a power cut left, no records, go to `torn`."""
    found = []
    for line in ledger.read_lines(path):
        try:
            found.append(f"{json.dumps(outgoing(line), ensure_ascii=False)}\n")
        except ValueError:
            torn.append(line)
    return "".join(found).encode()


def _start(line: str) -> dict[str, Any]:
    """Raises ValueError where the line does not belong into starts.jsonl."""
    start = decode(line, Start)
    moments = {study.BEGAN: start.began, study.ENDED: start.ended}
    return {"name": start.name, "run": start.run} | {key: at.isoformat() for key, at in moments.items() if at}


def _calibration(line: str) -> Any:
    """Raises ValueError where the line is not of calibration.jsonl."""
    return msgspec.to_builtins(decode(line, Calibration))


def _attempt(line: str, names: NumberedNames) -> dict[str, Any]:
    """Raises ValueError where the line is no record of a job."""
    document = msgspec.to_builtins(names.outgoing(ledger.parse_attempt(line)))
    document.pop("owned_by", None)  # it is in no ledger
    return {"schema": ledger.SCHEMA_VERSION} | document


def _renamed(path: Path, names: NumberedNames) -> Path:
    """Where a ledger stands in a package; a node's own has the node's name in its own."""
    host = path.name.removeprefix(f"{ledger.STEM}.").removesuffix("jsonl").rstrip(".")
    return path.with_name(f"{ledger.STEM}.{names.host(host)}.jsonl") if host else path


def _json(record: Any) -> bytes:
    return (json.dumps(msgspec.to_builtins(record), indent=1) + "\n").encode()
