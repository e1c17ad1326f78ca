"""Read throughput.yaml, whatever it holds: its settings, or a line for each fault. Pure but for the file."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import yaml

from gpd.lab.study_runs import StudyError
from gpd.pipelines import PIPELINES
from gpd.records.binding import Binding
from gpd.records.study import OF_OURS, PROFILES, Pool, Study, Subsample
from gpd.text.formats import visible

SATURATION = "saturation"
MOST_VALUES = 10_000  # of the settings
LARGEST = 10**15  # number
LONGEST_LINE = 1000
MERGE = "tag:yaml.org,2002:merge"  # `<<`


def read_study(path: Path) -> Study:
    """Read throughput.yaml. Raises StudyError with a line for each fault, OSError where there is no such file."""
    given = _read_yaml(path)
    if not isinstance(given, dict):
        raise StudyError(
            f"{path}: {_printable(given)}: must be keys with values, at least `pipelines: {{germline: {{}}}}`"
        )
    values, faults = _values(given)
    if faults:
        raise StudyError("\n".join(f"{path}: {_printable(fault)}" for fault in faults))
    return Study(**values)


def _values(given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings as their types have them, and a line for each fault."""
    values: dict[str, Any] = {}
    faults = [*_unknown("settings", given, Study)]
    if "pipelines" not in given:
        faults.append("settings: pipelines is needed, at least `pipelines: {germline: {}}`")
    for key, kind in get_type_hints(Study, include_extras=True).items():
        if key in given:
            try:
                values[key] = msgspec.convert(FROM_YAML[key](given[key]) if key in FROM_YAML else given[key], kind)
            except (TypeError, ValueError):  # msgspec's own are ValueErrors
                wanted = next(meta.description for meta in kind.__metadata__ if meta.description)
                faults.append(f"{key}: {given[key]!r}: must be {wanted}")
                continue
            if isinstance(values[key], tuple) and len(set(values[key])) < len(values[key]):
                faults.append(f"{key}: {given[key]!r}: names one twice")
    for name, pool in values.get("pipelines", {}).items():
        faults += _faults_of_pool(name, pool, given["pipelines"][name])
    if values.get("subsample"):
        faults += _unknown("subsample", given["subsample"], Subsample)
    return values, faults


def _faults_of_pool(name: str, pool: Pool, given: Mapping[Any, Any]) -> Iterator[str]:
    """Lines about a pipeline: of ours with what is a workflow's alone, or unknown and without a workflow."""
    where, ours = f"pipelines.{name}", name in PIPELINES
    if ours and pool.workflow:
        yield f"{where}: workflow: {name} is a pipeline of ours: give yours another name"
    elif not ours and not pool.workflow:
        known = " and ".join(PIPELINES)
        yield f"{where}: pipelines of ours are {known}: for your own set `workflow: PATH/TO/Snakefile`"
    else:
        yield from _unknown(where, given, Pool, OF_OURS if ours else ())


def _unknown(
    where: str,
    given: Mapping[Any, Any],
    kind: type[Study | Pool | Subsample],
    only: Collection[str] = (),
) -> Iterator[str]:
    known = [field.name for field in fields(kind) if not only or field.name in only]
    if unknown := sorted(str(key) for key in given if key not in known):
        yield f"{where}: unknown: {', '.join(unknown)}; known are {', '.join(known)}"


def _numbers(given: Any) -> Any:
    """Of `concurrent_samples`: a study has none where the saturation point is sought."""
    if given == []:
        raise ValueError(given)
    return [] if given == SATURATION else given


def _bindings(given: Any) -> list[str]:
    """The names of bindings, each its policy alone or what it sets of policy, boundary and memory."""
    return [entry if isinstance(entry, str) else Binding(**entry).name for entry in given]


def _profiles(given: Any) -> dict[str, str]:
    """The profile of each mode, named or not."""
    if given.keys() - PROFILES.keys():
        raise ValueError(given)
    return {**PROFILES, **given}


# where the file has another form than the record of a study
FROM_YAML = {"concurrent_samples": _numbers, "bindings": _bindings, "profiles": _profiles}


class UniqueKeys(yaml.SafeLoader):
    """PyYAML, which else takes the last of the keys that stand twice in one mapping, in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                line, first = key.start_mark.line + 1, lines.get((key.tag, key.value))
                if first:
                    raise StudyError(
                        f"line {line}: {_printable(repr(key.value))} is given twice, first in line {first}"
                    )
                lines[key.tag, key.value] = line
        return node


def _read_yaml(path: Path) -> Any:
    """What the file holds, of a size that can be checked. Raises StudyError."""
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error
    # of PyYAML: a 31st of February, `!!int x`, `!!bool x`
    except (yaml.YAMLError, LookupError, AttributeError, ValueError, RecursionError) as error:
        raise StudyError(f"{path}: not YAML: {_printable(error)}") from error
    if not _is_bounded(given):
        raise StudyError(f"{path}: more than {MOST_VALUES:,} values, or a number beyond {LARGEST:,}")
    return given


def _is_bounded(given: Any) -> bool:
    """Whether there are not too many values in it: a few lines with aliases unfold beyond any memory."""
    waiting = [given]
    for _ in range(MOST_VALUES):
        if not waiting:
            return True
        value = waiting.pop()
        if isinstance(value, int) and abs(value) > LARGEST:
            return False
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return False


def _printable(given: Any) -> str:
    """A line that can be printed."""
    return visible(" ".join(str(given).split()))[:LONGEST_LINE]
