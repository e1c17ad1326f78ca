"""The CPUs of a machine and the slots that jobs get of them, as text. Pure: the launcher was asked before."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from gpd.text.cpu_lists import format_cpus
from gpd.text.formats import counted

NAMES = {"socket": "package", "numa": "NUMA node", "l3": "L3 group"}  # coarsest first, where machines do not differ
SHORT = NAMES | {"l3": "L3"}


@dataclass(frozen=True)
class Policy:
    """What a job asks for: `threads` CPUs, chosen by `binding` within a `boundary`; `smt`: hyperthreads are CPUs."""

    threads: int
    binding: str
    boundary: str
    smt: bool


@dataclass(frozen=True)
class Core:
    """One core: its CPU numbers and the numbers of its groups; negative where the machine does not tell them."""

    cpus: tuple[int, ...]
    l3: int
    numa: int
    socket: int


@dataclass(frozen=True)
class Layout:
    """Cores that may be allocated, and the CPUs of each slot, in the order in which jobs would get them."""

    policy: Policy
    cores: tuple[Core, ...]
    slots: tuple[frozenset[int], ...]


def told_levels(cores: Sequence[Core]) -> list[str]:
    """Return the levels that the machine tells, coarsest first: on some an L3 spans several NUMA nodes."""
    told = [level for level in NAMES if any(getattr(core, level) >= 0 for core in cores)]
    return sorted(told, key=lambda level: _count(cores, level))


def _count(cores: Sequence[Core], level: str) -> int:
    return len({getattr(core, level) for core in cores})


def crosses(slot: frozenset[int], layout: Layout) -> bool:
    """Tell whether a slot lies in more than one group of its boundary."""
    return len({getattr(core, layout.policy.boundary) for core in layout.cores if slot & {*core.cpus}}) > 1


def unused(layout: Layout) -> list[int]:
    """Return the CPUs of cores that no slot touches: too few for another slot."""
    taken = frozenset().union(*layout.slots)
    if layout.policy.smt:
        return [cpu for core in layout.cores for cpu in core.cpus if cpu not in taken]
    return [cpu for core in layout.cores if not taken & {*core.cpus} for cpu in core.cpus]


# ------------------------------------------------------------------------------------------------ in words


def counts(cores: Sequence[Core]) -> str:
    """Count what the machine has: packages, NUMA nodes, L3 groups, cores, CPUs."""
    told = told_levels(cores)
    parts = [
        counted(_count(cores, level), name) if level in told else f"{name}s not told" for level, name in NAMES.items()
    ]
    siblings = sorted({len(core.cpus) for core in cores})
    smt = "no SMT" if siblings == [1] else f"{' or '.join(map(str, siblings))} a core"
    return ", ".join(
        [*parts, counted(len(cores), "core"), f"{counted(sum(len(c.cpus) for c in cores), 'CPU')} ({smt})"]
    )


def group_names(cores: Sequence[Core]) -> list[str]:
    """Name each finest group, with those that it lies in, and its CPUs."""
    levels = told_levels(cores)
    found: dict[tuple[int, ...], list[int]] = {}
    for core in sorted(cores, key=lambda core: core.cpus):
        found.setdefault(tuple(getattr(core, level) for level in levels), []).extend(core.cpus)
    return [
        f"{', '.join(f'{SHORT[level]} {n}' for level, n in zip(levels, of, strict=True))}: {format_cpus(cpus)}"
        for of, cpus in sorted(found.items())
    ]


def heading(layout: Layout) -> str:
    """Say what the slots are for."""
    policy = layout.policy
    held = "hyperthreads are CPUs" if policy.smt else "whole cores"
    jobs = f"jobs of {counted(policy.threads, 'thread')}"
    return f"{counted(len(layout.slots), 'slot')} for {jobs} ({policy.binding}, {NAMES[policy.boundary]}, {held})"


def remarks(layout: Layout) -> list[str]:
    """Say what is not as one would expect: slots across a boundary, narrow slots, CPUs without a slot."""
    found = []
    if any(crosses(slot, layout) for slot in layout.slots):
        found.append(f"* in more than one {NAMES[layout.policy.boundary]}")
    if granted := {len(slot) for slot in layout.slots} - {layout.policy.threads}:
        found.append(f"{counted(max(granted), 'CPU')} granted: a job wider than the machine gets all of it")
    if left := unused(layout):
        found.append(f"in no slot: {format_cpus(left)}")
    return found


def slot_names(layout: Layout) -> list[str]:
    """Name each slot's number and CPUs, with a star where it crosses its boundary."""
    digits = len(str(len(layout.slots)))
    return [
        f"{number:{digits}}: {format_cpus(slot)}{' *' if crosses(slot, layout) else ''}"
        for number, slot in enumerate(layout.slots, 1)
    ]


# ------------------------------------------------------------------------------------------------ as text


def show(layout: Layout, title: str, console: Console) -> None:
    """Print the finest groups of CPUs, each with those that it lies in, then the slots."""
    console.print(Text(title, "bold"))
    console.print(Text(counts(layout.cores)))
    for name in group_names(layout.cores):
        console.print(Text(name))
    console.print(Text(f"\n{heading(layout)}"))
    console.print(Columns(map(Text, slot_names(layout)), padding=(0, 3), equal=True))
    for remark in remarks(layout):
        console.print(Text(remark))


def to_json(layout: Layout) -> str:
    """Return policy, groups, cores and slots as JSON; a group that the machine does not tell is null."""
    cores = [{name: _told(value) for name, value in asdict(core).items()} for core in layout.cores]
    told = told_levels(layout.cores)
    described = {
        "policy": asdict(layout.policy),
        "counts": {level: _count(layout.cores, level) if level in told else None for level in NAMES}
        | {"cores": len(layout.cores), "cpus": sum(len(core.cpus) for core in layout.cores)},
        "cores": cores,
        "slots": [{"cpus": format_cpus(slot), "crosses": crosses(slot, layout)} for slot in layout.slots],
        "unused": format_cpus(unused(layout)),
    }
    return json.dumps(described, indent=2)


def _told(value: int | tuple[int, ...]) -> int | tuple[int, ...] | None:
    return None if isinstance(value, int) and value < 0 else value
