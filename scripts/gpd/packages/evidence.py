"""What checks look at: what a package says, and what follows from its ledgers. Gathered here, judged elsewhere."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from gpd.comparison.comparability import counted_records
from gpd.errors import GpdError
from gpd.outcomes import read_as
from gpd.packages import read
from gpd.packages.manifest import Manifest, differences
from gpd.packages.pack import Package, as_files
from gpd.records import ledger, study
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import LedgerLine
from gpd.records.run import RunRecord
from gpd.records.study import Start, StudyRecord
from gpd.tables import collect
from gpd.tables.collect import Tables

MOST_SHOWN = 5  # differences of a kind
CLOSE = 1e-6  # figures of two versions


@dataclass(frozen=True)
class Recomputed:
    """A study as its ledgers tell it: tables, records and what else lies in its folder.

    `differing` are figures that the package has otherwise, `not_held` columns of another version. `versions` says which
    made it and which checks it, where they are two. `lines` has what each ledger holds, by the name of its run.
    """

    tables: Tables
    differing: tuple[str, ...]
    not_held: tuple[str, ...]
    lines: Mapping[str, tuple[tuple[LedgerLine, Attempt], ...]]
    starts: tuple[Start, ...] | None
    versions: str = ""

    @property
    def plan(self) -> StudyRecord | None:
        return self.tables.plan

    @property
    def counted(self) -> list[RunRecord]:
        """The records that are in statistics, and those of streams."""
        return [*counted_records(self.tables.records), *self.streams]

    @property
    def streams(self) -> list[RunRecord]:
        return [record for record in self.tables.records if record.spec.stream]

    def lines_of(self, record: RunRecord) -> list[tuple[LedgerLine, Attempt]]:
        """What the ledgers hold of this run alone."""
        return [each for each in self.lines[record.spec.name] if record.run is None or each[1].run == record.run]


@dataclass(frozen=True)
class Evidence:
    """`altered`: members that are not what the manifest says; `study` is None where its records do not fit together,
    and `broken` says how."""

    altered: tuple[str, ...]
    study: Recomputed | None
    broken: str = ""


def gather(package: Package) -> Evidence:
    """Lay a package out in a private folder and compute everything anew."""
    altered = tuple(differences(package.manifest, package.members))
    try:
        with read.laid_out(package) as folder:
            return Evidence(altered, _recompute(package, folder))
    except GpdError as error:
        return Evidence(altered, None, str(error))


def versions(manifest: Manifest) -> str:
    """Which version made a package and which checks it; nothing where that is one."""
    made_by, here = manifest.gpd_version, version("gpd")
    return "" if made_by == here else f"made by gpd {made_by or 'of a version not named'}, checked by gpd {here}"


def _recompute(package: Package, folder: Path) -> Recomputed:
    tables = collect.collect(folder, check_clocks=False)
    anew = as_files(tables)
    two = versions(package.manifest)
    stored = {name: package.members.get(name) for name in anew}
    return Recomputed(
        tables=tables,
        differing=(
            *_not_as_named(package.manifest, tables),
            *(line for name in anew for line in _differing(name, stored[name], anew[name], not two)),
        ),
        not_held=tuple(line for name in anew for line in _not_held(name, stored[name], anew[name])),
        lines={record.spec.name: _lines(folder, record) for record in tables.records},
        starts=study.read_starts(folder),
        versions=two,
    )


def _not_as_named(manifest: Manifest, tables: Tables) -> Iterator[str]:
    """Say which runs read another share of the reads than the manifest says, or other copies."""
    for record in tables.records:
        named, read = (
            f"{of.fraction:g} of the reads, samples of a genome: {of.samples_per_genome}"
            for of in (manifest, record.spec)
        )
        if named != read:
            yield f"{record.spec.name}: {read} by its record, and {named} by the manifest"


def _differing(name: str, stored: bytes | None, anew: bytes, to_the_digit: bool = True) -> Iterator[str]:
    """Say where a table is another one than the ledgers give, in the columns that both have.

    Another version may have computed the last digits otherwise.
    """
    if stored is None or stored == anew:  # an earlier version had no table of what it had none of
        yield from [] if stored or anew.count(b"\n") == 1 else [f"{name}: it is not there"]
        return
    packaged, computed = _rows(stored), _rows(anew)
    if len(packaged) != len(computed) or any(len(row) != len(set(packaged[0])) for row in packaged):
        yield f"{name}: has another number of rows or columns than it says, or than the ledgers give"
        return
    shared = [(head, packaged[0].index(head), at) for at, head in enumerate(computed[0]) if head in packaged[0]]
    found = [
        f"line {number}: {head}: {one[theirs] or 'nothing'} in the package, {other[ours] or 'nothing'} from the ledgers"
        for number, (one, other) in enumerate(zip(packaged, computed, strict=True), 1)
        for head, theirs, ours in shared
        if one[theirs] != other[ours] and (to_the_digit or not _is_close(one[theirs], other[ours]))
    ]
    yield from (f"{name} {line}" for line in found[:MOST_SHOWN])
    if len(found) > MOST_SHOWN:
        yield f"{name}: and {len(found) - MOST_SHOWN:,} more"


def _is_close(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=CLOSE)
    except ValueError:
        return False


def _not_held(name: str, stored: bytes | None, anew: bytes) -> Iterator[str]:
    """Name the columns that only one version has: the one that made the package, or the one that checks it."""
    if stored is not None and (alone := set(_rows(stored)[0]) ^ set(_rows(anew)[0])):
        yield f"{name}: not held, for columns of another version: {', '.join(sorted(alone))}"


def _rows(table: bytes) -> list[list[str]]:
    return [line.split("\t") for line in table.decode(errors="replace").removesuffix("\n").split("\n")]


def _lines(folder: Path, record: RunRecord) -> tuple[tuple[LedgerLine, Attempt], ...]:
    """What the ledgers of a run hold, each line with the place where it stands."""
    own = folder / record.spec.name
    return tuple(
        (LedgerLine(path.relative_to(folder), number), attempt)
        for process in record.processes
        for path in ledger.files(own / process.directory / "ledger.jsonl")
        for number, line in enumerate(ledger.read_lines(path), 1)
        for attempt in read_as(record, process.samples, [ledger.parse_attempt(line)])
    )
