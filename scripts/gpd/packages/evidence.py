"""What checks look at: what a package says, and what follows from its ledgers. Gathered here, judged elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpd.comparison import agreement
from gpd.comparison.agreement import Disagreement
from gpd.comparison.comparability import counted_records
from gpd.errors import GpdError
from gpd.packages import manifest as described
from gpd.packages import read
from gpd.packages.pack import Package, as_files
from gpd.records import ledger, old_names, study
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import Place
from gpd.records.run import RunRecord
from gpd.records.study import Start, StudyRecord
from gpd.tables import collect
from gpd.tables.collect import Tables

MOST_SHOWN = 5  # differences of a kind


@dataclass(frozen=True)
class Recomputed:
    """A study as its ledgers tell it: tables, records and what else lies in its folder.

    `differing` are figures that the package has otherwise, `not_held` columns of another version; `node_name` is the
    host that node.json is of. `lines` has what each ledger holds, by the name of its run.
    """

    tables: Tables
    differing: tuple[str, ...]
    not_held: tuple[str, ...]
    lines: Mapping[str, tuple[tuple[Place, Attempt], ...]]
    starts: tuple[Start, ...] | None
    node_name: str | None
    disagreements: tuple[Disagreement, ...]
    compared: int

    @property
    def plan(self) -> StudyRecord | None:
        return self.tables.plan

    @property
    def counted(self) -> list[RunRecord]:
        """The records that are in statistics."""
        return counted_records(self.tables.records)


@dataclass(frozen=True)
class Evidence:
    """`altered`: members that are not what the manifest says; `study` is None where its records do not fit together,
    and `broken` says how."""

    altered: tuple[str, ...]
    study: Recomputed | None
    broken: str = ""


def gather(package: Package) -> Evidence:
    """Lay a package out in a private folder and compute everything anew."""
    altered = tuple(described.differences(package.manifest, package.members))
    try:
        with read.laid_out(package) as folder:
            return Evidence(altered, _recompute(package, folder))
    except GpdError as error:
        return Evidence(altered, None, str(error))


def _recompute(package: Package, folder: Path) -> Recomputed:
    tables = collect.collect(folder)
    anew = as_files(tables)
    return Recomputed(
        tables=tables,
        differing=tuple(line for name in anew for line in _differing(name, _stored(package, name), anew[name])),
        not_held=tuple(line for name in anew for line in _not_held(name, _stored(package, name), anew[name])),
        lines=dict(_lines(folder, tables.records)),
        starts=study.read_starts(folder),
        node_name=tables.node.host.hostname if tables.node else None,
        disagreements=tuple(agreement.disagreements(tables.records)),
        compared=agreement.compared(tables.records),
    )


def _stored(package: Package, name: str) -> bytes | None:
    """A table as the package has it, which an earlier version may have called otherwise."""
    return package.members.get(name, package.members.get(described.OLD_TABLES.get(name, name)))


def _differing(name: str, stored: bytes | None, anew: bytes) -> Iterator[str]:
    """Say where a table is another one than the ledgers give, in the columns that both have."""
    if stored is None or stored == anew:
        yield from [f"{name}: it is not there"] if stored is None else []
        return
    told, follows = old_names.table(_rows(stored)), _rows(anew)
    if len(told) != len(follows) or any(len(row) != len(set(told[0])) for row in told):
        yield f"{name}: has another number of rows or columns than it says, or than the ledgers give"
        return
    shared = [(head, told[0].index(head), at) for at, head in enumerate(follows[0]) if head in told[0]]
    found = [
        f"line {number}: {head}: {one[theirs] or 'nothing'} in the package, {other[ours] or 'nothing'} from the ledgers"
        for number, (one, other) in enumerate(zip(told, follows, strict=True), 1)
        for head, theirs, ours in shared
        if one[theirs] != other[ours]
    ]
    yield from (f"{name} {line}" for line in found[:MOST_SHOWN])
    if len(found) > MOST_SHOWN:
        yield f"{name}: and {len(found) - MOST_SHOWN:,} more"


def _not_held(name: str, stored: bytes | None, anew: bytes) -> Iterator[str]:
    """Name the columns that one of two versions alone has: of the package, or of who checks it."""
    if stored is not None and (alone := set(old_names.table(_rows(stored)[:1])[0]) ^ set(_rows(anew)[0])):
        yield f"{name}: not held, for columns of another version: {', '.join(sorted(alone))}"


def _rows(table: bytes) -> list[list[str]]:
    return [line.split("\t") for line in table.decode().removesuffix("\n").split("\n")]


def _lines(folder: Path, records: Sequence[RunRecord]) -> Iterator[tuple[str, tuple[tuple[Place, Attempt], ...]]]:
    """What the ledgers of each run hold, each line with the place where it stands."""
    for record in records:
        own = folder / record.spec.name
        paths = [path for each in record.processes for path in ledger.files(own / each.directory / "ledger.jsonl")]
        yield (
            record.spec.name,
            tuple(
                (Place(path.relative_to(folder), number), ledger.parse_attempt(line))
                for path in paths
                for number, line in enumerate(ledger.read_lines(path), 1)
            ),
        )
