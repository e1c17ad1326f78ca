"""Memory bandwidth by likwid-bench: its command lines and its words. Pure but for `measure`.

likwid-bench knows groups of CPUs by tags of its own (S0, C3, M1): those are taken whose CPUs are the wanted ones, so
that nothing hangs on how it counts. In a cpuset some of its tags name CPUs that it may not use; they match nothing.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gpd.node.plan import NodePlan, PlacePlan, RemotePlan
from gpd.node.running import NotMeasuredError, run
from gpd.records.node import Bandwidth, Kernel, Place, Remote
from gpd.text.cpu_lists import format_cpus
from gpd.text.formats import some

TOOL = "likwid-bench"
KERNELS: tuple[Kernel, ...] = ("triad", "copy")
VECTORS = (("_avx512", "avx512f"), ("_avx", "avx"), ("_sse", "sse2"), ("", ""))  # widest first, with the CPU's flag
TIMEOUT_S = 120.0
MOST_NAMED = 3
RUN_S = 1  # at least as long it walks through its working set
WALKS = 10  # through the memory of another NUMA node
MATRIX_S = 200.0  # no pair of NUMA nodes is begun after that
KB_PER_MIB = 1024**2 / 1000  # likwid-bench counts in thousands


@dataclass(frozen=True)
class Tool:
    """What likwid-bench can do here: its version, its groups of CPUs by tag, the kernels that it takes, their streams.

    A stream is an array that a kernel walks through.
    """

    version: str
    domains: Mapping[str, Sequence[int]]
    kernels: Mapping[Kernel, str]
    streams: int  # of the triad


@dataclass
class Measured:
    """The figures so far, by scope and by pair of NUMA nodes."""

    places: dict[tuple[str, Kernel], list[float]] = field(default_factory=dict)
    ran_on: dict[str, frozenset[int]] = field(default_factory=dict)
    remotes: dict[RemotePlan, list[float]] = field(default_factory=dict)


# ---- its words -------------------------------------------------------------------------------------------------


def parse_domains(text: str) -> dict[str, tuple[int, ...]]:
    """Read what `likwid-bench -p` prints: `Tag S0: 0 2 1 3`, the CPUs of a core side by side."""
    return {
        tag: tuple(map(int, cpus.split())) for tag, cpus in re.findall(r"^\s*Tag (\w+):((?: \d+)*)\s*$", text, re.M)
    }


def parse_kernels(text: str) -> set[str]:
    """Read the names that `likwid-bench -a` lists."""
    return set(re.findall(r"^(\w+) - ", text, re.M))


def widest(kernel: Kernel, flags: Collection[str], known: Collection[str]) -> str:
    """The kernel for the widest vectors that CPU and likwid-bench have. Raises NotMeasuredError where there is none."""
    names = [f"{kernel}{suffix}" for suffix, flag in VECTORS if not flag or flag in flags]
    found = next((name for name in names if name in known), None)
    if found is None:
        raise NotMeasuredError(f"{TOOL} has no kernel {kernel}")
    return found


def parse_rate(text: str) -> float:
    """The bandwidth in 10^6 bytes a second. Raises NotMeasuredError where the text tells none."""
    found = re.search(r"^MByte/s:\s+([\d.]+)\s*$", text, re.M)
    if not found or not float(found[1]) > 0:
        raise NotMeasuredError(f"{TOOL} told no bandwidth")
    return float(found[1])


def parse_cpus_used(text: str) -> frozenset[int]:
    """The CPUs that its threads ran on."""
    return frozenset(map(int, re.findall(r"Global Thread \d+ running on (?:hwthread|core) (\d+)", text)))


# ---- its command lines -----------------------------------------------------------------------------------------


def tag_of(cpus: frozenset[int], domains: Mapping[str, Sequence[int]]) -> str:
    """The tag of the group that has these CPUs. Raises NotMeasuredError where there is none."""
    found = next((tag for tag, members in domains.items() if frozenset(members) == cpus), None)
    if found is None:
        raise NotMeasuredError(f"{TOOL} has no group of the CPUs {format_cpus(cpus)}")
    return found


def group_of(place: PlacePlan, domains: Mapping[str, Sequence[int]]) -> str:
    """The tag to be used for a scope: its own; for one core any group that it is the first of."""
    if place.scope != "core":
        return tag_of(place.cpus, domains)
    found = next((tag for tag, members in domains.items() if members and members[0] in place.cpus), None)
    if found is None:
        raise NotMeasuredError(f"{TOOL} has no group that starts with CPU {min(place.cpus)}")
    return found


def workgroup(tag: str, plan: PlacePlan | RemotePlan) -> str:
    """The threads and their working set: one a core, of whose CPUs the list has one beside the other.

    Raises NotMeasuredError where cores have unlike numbers of CPUs: threads are placed at one distance in the list.
    """
    if len(plan.siblings) > 1:
        counts = " and ".join(map(str, sorted(plan.siblings)))
        raise NotMeasuredError(f"{TOOL} cannot place one thread a core on cores with {counts} CPUs")
    return f"{tag}:{int(plan.set_mib * KB_PER_MIB)}kB:{plan.cores}:1:{min(plan.siblings)}"


def place_command(place: PlacePlan, kernel: str, domains: Mapping[str, Sequence[int]]) -> list[str]:
    """Each thread touches its own part of the working set first, so that it lies beside it."""
    return [TOOL, "-t", kernel, "-s", str(RUN_S), "-W", workgroup(group_of(place, domains), place)]


def remote_command(remote: RemotePlan, tool: Tool) -> list[str]:
    """All streams lie in the other node's memory, where a thread of that node touched them first."""
    memory = tag_of(remote.memory_cpus, tool.domains)
    group = workgroup(tag_of(remote.cpus, tool.domains), remote)
    streams = ",".join(f"{stream}:{memory}" for stream in range(tool.streams))
    return [TOOL, "-t", tool.kernels["triad"], "-i", str(WALKS), "-w", f"{group}-{streams}"]


# ---- measuring -------------------------------------------------------------------------------------------------


def find_tool(flags: Collection[str]) -> Tool:
    """Ask likwid-bench what it can do on a CPU with these flags. Raises NotMeasuredError."""
    version = re.search(r"Version ([\d.]+)", run([TOOL, "-v"], TIMEOUT_S))
    known = parse_kernels(run([TOOL, "-a"], TIMEOUT_S))
    kernels = {kernel: widest(kernel, flags, known) for kernel in KERNELS}
    streams = re.search(r"Number of streams: (\d+)", run([TOOL, "-l", kernels["triad"]], TIMEOUT_S))
    if streams is None:
        raise NotMeasuredError(f"{TOOL} does not tell the streams of {kernels['triad']}")
    domains = parse_domains(run([TOOL, "-p"], TIMEOUT_S))
    return Tool(version[1] if version else "", domains, kernels, int(streams[1]))


def measure(plan: NodePlan, tool: Tool, missing: dict[str, str], tell: Callable[[str], None]) -> Bandwidth:
    """Measure what is planned, one repeat of everything after the other; what can't be goes to `missing`."""
    found, failed = Measured(), dict[str, str]()
    for repeat in range(plan.repeats):
        tell(f"memory bandwidth, repeat {repeat + 1} of {plan.repeats}")
        for place in plan.places:
            for kernel in KERNELS if place.same_as is None else ():
                _try(f"bandwidth of {place.scope}", missing, partial(_place, place, kernel, tool, found))
    if plan.remotes:
        tell(f"memory of other NUMA nodes, for {MATRIX_S:g} s at most")
    end = time.monotonic() + MATRIX_S
    for remote in plan.repeats * plan.remotes:
        if time.monotonic() < end:
            name = f"NUMA node {remote.cpus_of} on memory of {remote.memory_of}"
            _try(name, failed, partial(_remote, remote, tool, found))
    if failed:
        missing["remote memory"] = f"{some(list(failed), MOST_NAMED)}: {next(iter(failed.values()))}"
    return Bandwidth(
        tool=f"{TOOL} {tool.version}",
        kernels=tool.kernels,
        places=tuple(_described(place, found) for place in plan.places),
        matrix=tuple(
            Remote(cpus_of=remote.cpus_of, memory_of=remote.memory_of, mb_s=tuple(rates))
            for remote, rates in found.remotes.items()
        ),
    )


def _try(name: str, missing: dict[str, str], attempt: Callable[[], None]) -> None:
    """What failed once is not tried again."""
    if name in missing:
        return
    try:
        attempt()
    except NotMeasuredError as error:
        missing[name] = str(error)


def _place(place: PlacePlan, kernel: Kernel, tool: Tool, found: Measured) -> None:
    said = run(place_command(place, tool.kernels[kernel], tool.domains), TIMEOUT_S)
    _check_cpus(parse_cpus_used(said), place.cpus, place.cores)
    found.places.setdefault((place.scope, kernel), []).append(parse_rate(said))
    found.ran_on[place.scope] = parse_cpus_used(said)


def _remote(remote: RemotePlan, tool: Tool, found: Measured) -> None:
    said = run(remote_command(remote, tool), TIMEOUT_S)
    _check_cpus(parse_cpus_used(said), remote.cpus, remote.cores)
    found.remotes.setdefault(remote, []).append(parse_rate(said))


def _check_cpus(used: frozenset[int], allowed: frozenset[int], threads: int) -> None:
    """A figure of other CPUs than those that were meant is none."""
    if not used <= allowed or len(used) != threads:
        where = f"{format_cpus(used) or 'none that it told'}, not on {threads} of {format_cpus(allowed)}"
        raise NotMeasuredError(f"{TOOL} ran on CPUs {where}")


def _described(place: PlacePlan, found: Measured) -> Place:
    rates = {
        kernel: tuple(found.places[place.scope, kernel]) for kernel in KERNELS if (place.scope, kernel) in found.places
    }
    return Place(
        scope=place.scope,
        cpus=format_cpus(place.cpus),
        ran_on=format_cpus(found.ran_on.get(place.scope, ())),
        cache_mib=place.cache_mib,
        working_set_mib=round(place.set_mib, 1),
        bounded=place.bounded,
        same_as=place.same_as,
        mb_s=rates,
    )
