"""The CPUs of a machine and the CPU sets that jobs get of them, as text. Pure: it shows what the launcher found."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from gpd.records.node import Core
from gpd.text.cpu_lists import format_cpus
from gpd.text.formats import counted

NAMES = {"socket": "package", "numa": "NUMA node", "l3": "L3 group"}  # coarsest first, where machines do not differ


@dataclass(frozen=True)
class Policy:
    """What a job asks for: `threads` CPUs, chosen by `binding` within a `boundary`; `smt`: hyperthreads are CPUs."""

    threads: int
    binding: str
    boundary: str
    smt: bool


@dataclass(frozen=True)
class Layout:
    """Cores that may be allocated, and the CPU sets, in the order in which jobs would get them."""

    policy: Policy
    cores: tuple[Core, ...]
    cpu_sets: tuple[frozenset[int], ...]


def known_levels(cores: Sequence[Core]) -> list[str]:
    """The levels that the machine reports, coarsest first: on some an L3 spans several NUMA nodes."""
    known = [level for level in NAMES if any(getattr(core, level) is not None for core in cores)]
    return sorted(known, key=lambda level: _count(cores, level))


def _count(cores: Sequence[Core], level: str) -> int:
    return len({getattr(core, level) for core in cores})


def crosses(cpus: frozenset[int], layout: Layout) -> bool:
    """Whether a CPU set lies in more than one group of its boundary."""
    return _count([core for core in layout.cores if cpus & {*core.cpus}], layout.policy.boundary) > 1


def unused(layout: Layout) -> list[int]:
    """The CPUs of cores that no CPU set touches: too few for another one."""
    taken = frozenset().union(*layout.cpu_sets)
    whole = not layout.policy.smt
    return [cpu for core in layout.cores for cpu in core.cpus if not (taken & {*core.cpus} if whole else cpu in taken)]


def remarks(layout: Layout) -> list[str]:
    """What is not as one would expect: CPU sets across a boundary or too small, CPUs without one."""
    found = []
    if any(crosses(cpus, layout) for cpus in layout.cpu_sets):
        found.append(f"* in more than one {NAMES[layout.policy.boundary]}")
    if granted := {len(cpus) for cpus in layout.cpu_sets} - {layout.policy.threads}:
        found.append(f"{counted(max(granted), 'CPU')} granted: a job with more threads gets the whole machine")
    if left := unused(layout):
        found.append(f"in no CPU set: {format_cpus(left)}")
    return found


def _counts(cores: Sequence[Core]) -> str:
    """Packages, NUMA nodes, L3 groups, cores and CPUs of a machine."""
    known = known_levels(cores)
    parts = [
        counted(_count(cores, level), name) if level in known else f"{name}s unknown" for level, name in NAMES.items()
    ]
    siblings = sorted({len(core.cpus) for core in cores})
    smt = "no SMT" if siblings == [1] else f"{' or '.join(map(str, siblings))} a core"
    cpus = sum(len(core.cpus) for core in cores)
    return ", ".join([*parts, counted(len(cores), "core"), f"{counted(cpus, 'CPU')} ({smt})"])


def _groups(cores: Sequence[Core]) -> list[str]:
    """Each finest group, with those that it lies in, and its CPUs."""
    levels = known_levels(cores)
    found: dict[tuple[int, ...], list[int]] = {}
    for core in cores:
        numbers = (getattr(core, level) for level in levels)
        found.setdefault(tuple(-1 if number is None else number for number in numbers), []).extend(core.cpus)
    names = [NAMES[level].removesuffix(" group") for level in levels]
    return [
        f"{', '.join(f'{name} {n}' for name, n in zip(names, numbers, strict=True))}: {format_cpus(cpus)}"
        for numbers, cpus in sorted(found.items())
    ]


def show(layout: Layout, title: str, console: Console) -> None:
    """Print the finest groups of CPUs, each with those that it lies in, then the CPU sets."""
    policy, count = layout.policy, len(layout.cpu_sets)
    held = "hyperthreads are CPUs" if policy.smt else "whole cores"
    console.print(Text(title, "bold"))
    for line in (_counts(layout.cores), *_groups(layout.cores)):
        console.print(Text(line))
    jobs = f"{counted(count, 'CPU set')} for jobs of {counted(policy.threads, 'thread')}"
    console.print(Text(f"\n{jobs} ({policy.binding}, {NAMES[policy.boundary]}, {held})"))
    sets = (
        f"{number:{len(str(count))}}: {format_cpus(cpus)}{' *' if crosses(cpus, layout) else ''}"
        for number, cpus in enumerate(layout.cpu_sets, 1)
    )
    console.print(Columns(map(Text, sets), padding=(0, 3), equal=True))
    for remark in remarks(layout):
        console.print(Text(remark))


def to_json(layout: Layout) -> str:
    """Policy, groups, cores and CPU sets as JSON; a group that the machine does not report is null."""
    known = known_levels(layout.cores)
    described = {
        "policy": asdict(layout.policy),
        "counts": {level: _count(layout.cores, level) if level in known else None for level in NAMES}
        | {"cores": len(layout.cores), "cpus": sum(len(core.cpus) for core in layout.cores)},
        "cores": [asdict(core) for core in layout.cores],
        "cpu_sets": [{"cpus": format_cpus(cpus), "crosses": crosses(cpus, layout)} for cpus in layout.cpu_sets],
        "unused": format_cpus(unused(layout)),
    }
    return json.dumps(described, indent=2)
