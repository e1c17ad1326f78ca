"""Which sides a comparison has: studies, parts of them and published results, by the names that users give them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from gpd.comparison.comparability import counted_records
from gpd.comparison.keys import keys_of
from gpd.comparison.results import Side, curves_of, published_side, study_side
from gpd.errors import GpdError
from gpd.published import curves
from gpd.records.binding import is_binding
from gpd.records.host import machine_differences
from gpd.records.run import SPEC, RunRecord
from gpd.records.run_spec import CurveKey, Mode
from gpd.tables import collect
from gpd.tables.collect import Tables

PUBLISHED = "published"


class SideError(GpdError):
    """An argument that can't be compared; the message is one line."""


@dataclass(frozen=True)
class _StudyArgument:
    """A study that was named, `name` is its own: which modes and bindings of it, none: all of them.

    `path` is what was named, `folder` where the study is.
    """

    path: Path
    folder: Path
    name: str
    parts: tuple[str, ...]

    def has(self, key: CurveKey) -> bool:
        return set(self.parts) <= {key.mode, key.binding}


def read_sides(
    names: Sequence[str], folder: Callable[[Path], Path] = Path, labels: Mapping[str, str] = MappingProxyType({})
) -> list[Side]:
    """Read what is to be compared, in order. Raises SideError, and as collect() does.

    A study that is the only one is compared within itself: each of its modes and bindings is a side. `folder` gives
    that of a study, which may be somewhere else than in the path that was named: in a package. `labels` has the names
    of sides in place of their own.
    """
    studies = _study_arguments([name for name in names if not _is_published(name)], folder, labels)
    sides: list[Side] = []
    for name in names:
        if _is_published(name):
            sides += _read_published(name)
        else:
            sides += _read_study(studies[name], alone=len(studies) == 1)
    _check(sides)
    return sides


def _study_arguments(
    names: Sequence[str], folder: Callable[[Path], Path], labels: Mapping[str, str]
) -> dict[str, _StudyArgument]:
    """Return the studies that are named; those of one name are told apart by their paths."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise SideError(f"{', '.join(twice)}: named twice")
    split = {name: _split(name) for name in names}
    folders = {path.resolve(): folder(path).resolve() for path in {path for path, _ in split.values()}}
    same_name = Counter(own.name for own in folders.values())
    found = {}
    for name, (path, parts) in split.items():
        own = folders[path.resolve()]
        label = labels.get(name) or (own.name if same_name[own.name] == 1 else str(path))
        found[name] = _StudyArgument(path, own, label, parts)
    return found


def _split(name: str) -> tuple[Path, tuple[str, ...]]:
    """Return the path and the parts of the study that a name such as `runs/study:shared:scatter` asks for."""
    head, *parts = name.split(":")
    while parts and not (parts[0] in get_args(Mode) or is_binding(parts[0])):  # a folder's name may have a colon
        head = f"{head}:{parts.pop(0)}"
    return (Path(name), ()) if Path(name).exists() else (Path(head), tuple(parts))


def _check(sides: Sequence[Side]) -> None:
    if twice := [name for name, count in Counter(side.name for side in sides).items() if count > 1]:
        raise SideError(f"{', '.join(twice)}: named twice")
    for at, side in enumerate(sides):
        for other in sides[:at]:
            if side.study and side.study == other.study and set(side.curves) & set(other.curves):
                raise SideError(f"{other.name} and {side.name}: the same runs would be on both sides")
    if len(sides) < 2:
        modes = " with one mode and one binding" if sides else ""
        what = f", and this is a study{modes}" if sides and not sides[0].published else ""
        raise SideError(f"two at least are needed: folders or packages of studies, published or published:SKU{what}")


def _is_published(name: str) -> bool:
    return name.partition(":")[0] == PUBLISHED


def _read_published(name: str) -> list[Side]:
    known = curves.by_sku()
    sku = name.partition(":")[2]
    if sku and sku not in [curve.sku for curve in known]:
        raise SideError(f"{name}: the SKUs are {', '.join(curve.sku for curve in known)}")
    return [published_side(curve) for curve in known if sku in ("", curve.sku)]


def _read_study(argument: _StudyArgument, alone: bool) -> list[Side]:
    path, name = argument.path, argument.name
    if not any(argument.folder.glob(f"*/{SPEC}")):
        raise SideError(f"{path}: not a study: no run in it; name the folder of a study")
    tables = collect.collect(argument.folder)
    finished = curves_of(tables)
    if not finished:
        raise SideError(f"{path}: no finished batch but warm-ups; 'gpd throughput run' goes on where it stopped")
    curves = [key for key in finished if argument.has(key)]
    if not curves:
        there = ", ".join(dict.fromkeys(f"{key.mode}:{key.binding}" for key in finished))
        raise SideError(f"{path}: no finished run is {':'.join(argument.parts)}; there are {there}")
    _one_machine(path, _records(tables, curves))
    parts = _parts(name, curves) if alone else {}
    whole = {":".join((name, *argument.parts)): curves}
    return [
        replace(study_side(part, tables, own, name), keys=keys_of(argument.folder, _records(tables, own)[0]))
        for part, own in (parts if len(parts) > 1 else whole).items()
    ]


def _records(tables: Tables, curves: Collection[CurveKey]) -> list[RunRecord]:
    """The records of these curves that are in statistics."""
    return [record for record in counted_records(tables.records) if record.spec.curve_key in curves]


def _one_machine(path: Path, records: Iterable[RunRecord]) -> None:
    """Refuse a study of several machines: the tables do not pool these."""
    if found := machine_differences(record.host for record in records if record.host):
        raise SideError(f"{path}: its runs ran on different machines: {found}")


def _parts(study: str, curves: Sequence[CurveKey]) -> dict[str, list[CurveKey]]:
    """Split a study's curves by mode and binding, under names that can be asked for."""
    kinds = list(dict.fromkeys((key.mode, key.binding) for key in curves))
    modes = Counter(mode for mode, _ in kinds)
    return {
        ":".join((study, mode, *([binding] if modes[mode] > 1 else []))): [
            key for key in curves if (key.mode, key.binding) == (mode, binding)
        ]
        for mode, binding in kinds
    }
