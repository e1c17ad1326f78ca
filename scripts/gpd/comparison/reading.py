"""Which sides a comparison has: studies, parts of them and published figures, by the names that users give them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from gpd.comparison.comparability import told
from gpd.comparison.compared import Side, curves_of, published_side, study_side
from gpd.errors import GpdError
from gpd.published import curves, figures
from gpd.records import old_names
from gpd.records.binding import is_binding
from gpd.records.run_spec import CurveKey, Mode
from gpd.tables import collect
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import listed

PUBLISHED = "published"


class SideError(GpdError):
    """An argument that can't be compared; the message is one line."""


@dataclass(frozen=True)
class _Asked:
    """A study that was named, `name` is its own: which modes and bindings of it, none: all of them.

    `path` is what was named, `folder` where the study is.
    """

    path: Path
    folder: Path
    name: str
    parts: tuple[str, ...]

    def has(self, curve_key: CurveKey) -> bool:
        return set(self.parts) <= {curve_key.mode, curve_key.binding}


def read_sides(names: Sequence[str], folder: Callable[[Path], Path] = Path) -> list[Side]:
    """Read what is to be compared, in order. Raises SideError, and as collect() and figures.read() do.

    A study that is the only one is compared within itself: each of its modes and bindings is a side. `folder` gives
    that of a study, which may be somewhere else than in the path that was named: in a package.
    """
    studies = _named([name for name in names if not _is_published(name)], folder)
    sides: list[Side] = []
    for name in names:
        if _is_published(name):
            sides += _read_published(name)
        else:
            sides += _read_study(studies[name], alone=len(studies) == 1)
    _check(sides)
    return sides


def _named(names: Sequence[str], folder: Callable[[Path], Path]) -> dict[str, _Asked]:
    """Return what was asked for by what was said; studies of one name are told apart by their paths."""
    asked = {name: _split(name) for name in names}
    if len(asked) < len(names):
        raise SideError(f"{', '.join(name for name, count in Counter(names).items() if count > 1)}: named twice")
    folders = {path.resolve(): folder(path).resolve() for path in {path for path, _ in asked.values()}}
    called = Counter(own.name for own in folders.values())
    return {
        name: _Asked(path, own, own.name if called[own.name] == 1 else str(path), parts)
        for name, (path, parts) in asked.items()
        for own in (folders[path.resolve()],)
    }


def _split(name: str) -> tuple[Path, tuple[str, ...]]:
    """Return the path and the parts of the study that a name such as `runs/study:shared:scatter` asks for."""
    head, *parts = name.split(":")
    while parts and not _is_part(parts[0]):  # a folder may have a colon in its name
        head = f"{head}:{parts.pop(0)}"
    parts = [old_names.value_of("mode", part) for part in parts]
    return (Path(name), ()) if Path(name).exists() else (Path(head), tuple(parts))


def _is_part(name: str) -> bool:
    """Tell whether it says which part of a study: a mode or a binding."""
    return name in get_args(Mode) or is_binding(name)


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
    published = curves.by_sku(figures.read())
    sku = name.partition(":")[2]
    if sku and sku not in (known := [curve.sku for curve in published]):
        raise SideError(f"{name}: the SKUs are {', '.join(known)}")
    return [published_side(curve) for curve in published if sku in ("", curve.sku)]


def _read_study(asked: _Asked, alone: bool) -> list[Side]:
    if not any(old_names.spec_paths(asked.folder)):
        raise SideError(f"{asked.path}: not a study: no run in it; name the folder of a study")
    tables = collect.collect(asked.folder)
    finished = curves_of(tables)
    if not finished:
        raise SideError(f"{asked.path}: no finished run but warm-ups; 'gpd throughput run' goes on where it stopped")
    curves = [curve_key for curve_key in finished if asked.has(curve_key)]
    if not curves:
        there = ", ".join(dict.fromkeys(f"{curve_key.mode}:{curve_key.binding}" for curve_key in finished))
        raise SideError(f"{asked.path}: no finished run is {':'.join(asked.parts)}; there are {there}")
    _one_processor(asked.path, [point for point in tables.configurations if point.curve_key in curves])
    whole = {":".join((asked.name, *asked.parts)): curves}
    parts = dict(_parts(asked.name, curves)) if alone else {}
    return [study_side(name, tables, of, asked.name) for name, of in (parts if len(parts) > 1 else whole).items()]


def _one_processor(path: Path, points: Sequence[ConfigurationRow]) -> None:
    """Refuse repeats of one configuration on several processors: the tables do not pool these."""
    skus: dict[tuple[CurveKey, int], list[str]] = {}
    for point in points:
        skus.setdefault((point.curve_key, point.n), []).append(point.sku or "unknown")
    for (curve, n), found in skus.items():
        if len(found) > 1:
            raise SideError(f"{path}: {told(curve, n)}: its repeats ran on different processors: {listed(found)}")


def _parts(study: str, curves: Sequence[CurveKey]) -> Iterator[tuple[str, list[CurveKey]]]:
    """Split a study's curves by mode and binding, under names that can be asked for."""
    kinds = list(dict.fromkeys((curve_key.mode, curve_key.binding) for curve_key in curves))
    modes = Counter(mode for mode, _ in kinds)
    for mode, binding in kinds:
        name = ":".join((study, mode, *([binding] if modes[mode] > 1 else [])))
        yield name, [curve_key for curve_key in curves if (curve_key.mode, curve_key.binding) == (mode, binding)]
