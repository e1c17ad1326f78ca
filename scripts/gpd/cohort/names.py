"""Names of samples and units that the workflow takes, made of those that files and sheets have."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gpd.cohort.notes import Notes, few
from gpd.cohort.read_lanes import ALIGNED, NO_LANE, Lane
from gpd.errors import GpdError
from gpd.text.formats import brief

# as workflow/schemas/units.schema.yaml has it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ENDLESS = re.compile(r"(.+)\1{19}$")
RESERVED = "cohort"  # all samples together


def with_usable_names(lanes: Sequence[Lane], notes: Notes) -> list[Lane]:
    """The lanes by the names that samples and units get. Raises GpdError where samples cannot be told apart by them."""
    samples = {lane.sample: usable(lane.sample) for lane in lanes}
    if wrong := [name for name, made in samples.items() if not made]:
        raise GpdError(f"sample {brief(wrong[0])!r}: no name can be made of it: rename it ({len(wrong)} are such)")
    by_name = defaultdict(list)
    for name, made in samples.items():
        by_name[made.lower()].append(name)
    if clashing := [names for names in by_name.values() if len(names) > 1]:
        made = "names of results must differ in more than case, and hold letters, digits, '.', '_' and '-' alone"
        alike = (" and ".join(repr(brief(name)) for name in names) for names in clashing)
        advice = "rename the files of one, or use a sheet (--from)"
        raise GpdError("\n".join(f"samples {names}: {made}: {advice}" for names in alike))
    if renamed := [f"{made} for {name!r}" for name, made in samples.items() if made != name]:
        notes.guessed.append(f"names of samples, which hold letters, digits, '.', '_' and '-' alone: {few(renamed)}")
    units = _unit_names(lanes)
    return [
        replace(lane, sample=samples[lane.sample], unit=unit, library=usable(lane.library))
        for lane, unit in zip(lanes, units, strict=True)
    ]


def usable(name: str) -> str:
    """The name with `-` for what the workflow does not take; "" where nothing is left, or it names no sample."""
    made = re.sub(r"[^A-Za-z0-9._-]+", "-", name.strip()).strip("-").lstrip("._-")
    return "" if made == RESERVED or not NAME.fullmatch(made) or ENDLESS.search(made) else made


def _unit_names(lanes: Sequence[Lane]) -> list[str]:
    """A name for each unit, which no other of its sample has: the lane's, with what else is needed before it."""
    by_sample = defaultdict(list)
    for number, lane in enumerate(lanes):
        by_sample[lane.sample].append(number)
    names = [""] * len(lanes)
    for numbers in by_sample.values():
        units = next(found for found in _choices([lanes[number] for number in numbers]) if _differ(found))
        for number, unit in zip(numbers, units, strict=True):
            names[number] = unit
    return names


def _choices(lanes: Sequence[Lane]) -> Iterable[list[str]]:
    """Names for the units of one sample, the plainest first; the last ones always differ."""
    lane_names = [usable(lane.unit) or (ALIGNED if lane.is_alignment else NO_LANE) for lane in lanes]
    yield lane_names
    yield [_joined(lane.named.part if lane.named else "", name) for lane, name in zip(lanes, lane_names, strict=True)]
    for parts in (_flowcell, _stem, lambda lane: f"{lane.files[0].parent.name}-{_stem(lane)}"):
        yield [_joined(parts(lane), name) for lane, name in zip(lanes, lane_names, strict=True)]
    yield [f"unit{number}" for number in range(1, len(lanes) + 1)]


def _flowcell(lane: Lane) -> str:
    """Flowcell and barcode, or the folder."""
    tells = lane.named
    known = [tells.flowcell, tells.tag] if tells and tells.flowcell else [lane.files[0].parent.name]
    return "-".join(filter(None, [*known, tells.part if tells else ""]))


def _stem(lane: Lane) -> str:
    return lane.named.stem if lane.named else Path(lane.files[0]).stem


def _joined(before: str, name: str) -> str:
    return usable(f"{before}-{name}") if before else name


def _differ(names: Sequence[str]) -> bool:
    return all(names) and max(Counter(map(str.lower, names)).values()) == 1
