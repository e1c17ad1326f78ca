"""Memory bandwidth by likwid-bench.

likwid-bench names groups of CPUs by tags of its own (S0, C3, M1). Those with exactly the wanted CPUs are used, however
it numbers them. In a cpuset some of its tags have CPUs that it may not use; they match nothing.
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gpd.errors import GpdError
from gpd.node.node_plan import NodePlan, PlacePlan, RemotePlan
from gpd.processes import output_of
from gpd.records.node import Bandwidth, Kernel, Place, Remote, Scope
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
class Likwid:
    """likwid-bench here: its version, its groups of CPUs by tag, its kernels, and how many arrays the triad has."""

    version: str
    domains: Mapping[str, Sequence[int]]
    kernels: Mapping[Kernel, str]
    streams: int


# ---- its output ------------------------------------------------------------------------------------------------


def parse_domains(text: str) -> dict[str, tuple[int, ...]]:
    """Read what `likwid-bench -p` prints: `Tag S0: 0 2 1 3`, the CPUs of a core side by side."""
    return {
        tag: tuple(map(int, cpus.split())) for tag, cpus in re.findall(r"^\s*Tag (\w+):((?: \d+)*)\s*$", text, re.M)
    }


def parse_kernels(text: str) -> set[str]:
    """Read the names that `likwid-bench -a` lists."""
    return set(re.findall(r"^(\w+) - ", text, re.M))


def widest(kernel: Kernel, flags: Collection[str], known: Collection[str]) -> str:
    """The kernel for the widest vectors that CPU and likwid-bench have. Raises GpdError where there is none."""
    for suffix, flag in VECTORS:
        if f"{kernel}{suffix}" in known and (not flag or flag in flags):
            return f"{kernel}{suffix}"
    raise GpdError(f"{TOOL} has no kernel {kernel}")


def parse_rate(text: str) -> float:
    """The bandwidth in 10^6 bytes a second. Raises GpdError where there is none."""
    found = re.search(r"^MByte/s:\s+([\d.]+)\s*$", text, re.M)
    if not found or not float(found[1]) > 0:
        raise GpdError(f"{TOOL} printed no bandwidth")
    return float(found[1])


def parse_cpus_used(text: str) -> frozenset[int]:
    """The CPUs that its threads ran on."""
    return frozenset(map(int, re.findall(r"Global Thread \d+ running on (?:hwthread|core) (\d+)", text)))


# ---- its command lines -----------------------------------------------------------------------------------------


def tag_of(cpus: frozenset[int], domains: Mapping[str, Sequence[int]]) -> str:
    """The tag of the group that has these CPUs. Raises GpdError where there is none."""
    found = next((tag for tag, members in domains.items() if frozenset(members) == cpus), None)
    if found is None:
        raise GpdError(f"{TOOL} has no group of the CPUs {format_cpus(cpus)}")
    return found


def workgroup(tag: str, plan: PlacePlan | RemotePlan) -> str:
    """The threads and their working set: one a core, of whose CPUs the list has one beside the other.

    Raises GpdError where cores differ in their CPUs: threads are placed at one distance in the list.
    """
    if len(plan.siblings) > 1:
        counts = " and ".join(map(str, sorted(plan.siblings)))
        raise GpdError(f"{TOOL} cannot place one thread a core on cores with {counts} CPUs")
    return f"{tag}:{int(plan.set_mib * KB_PER_MIB)}kB:{plan.cores}:1:{min(plan.siblings)}"


def place_command(place: PlacePlan, kernel: str, domains: Mapping[str, Sequence[int]]) -> list[str]:
    """Each thread touches its own part of the working set first, so that it lies beside it.

    One core is in any group that it is the first of.
    """
    if place.scope == "core":
        tag = next((tag for tag, members in domains.items() if members and members[0] in place.cpus), None)
        if tag is None:
            raise GpdError(f"{TOOL} has no group that starts with CPU {min(place.cpus)}")
    else:
        tag = tag_of(place.cpus, domains)
    return [TOOL, "-t", kernel, "-s", str(RUN_S), "-W", workgroup(tag, place)]


def remote_command(remote: RemotePlan, tool: Likwid) -> list[str]:
    """All streams lie in the other node's memory, where a thread of that node touched them first."""
    memory = tag_of(remote.memory_cpus, tool.domains)
    group = workgroup(tag_of(remote.cpus, tool.domains), remote)
    streams = ",".join(f"{stream}:{memory}" for stream in range(tool.streams))
    return [TOOL, "-t", tool.kernels["triad"], "-i", str(WALKS), "-w", f"{group}-{streams}"]


# ---- measuring -------------------------------------------------------------------------------------------------


def find_tool(flags: Collection[str]) -> Likwid:
    """What likwid-bench can do on a CPU with these flags. Raises GpdError."""
    version = re.search(r"Version ([\d.]+)", output_of([TOOL, "-v"]))
    known = parse_kernels(output_of([TOOL, "-a"]))
    kernels = {kernel: widest(kernel, flags, known) for kernel in KERNELS}
    streams = re.search(r"Number of streams: (\d+)", output_of([TOOL, "-l", kernels["triad"]]))
    if streams is None:
        raise GpdError(f"{TOOL} does not print the streams of {kernels['triad']}")
    return Likwid(version[1] if version else "", parse_domains(output_of([TOOL, "-p"])), kernels, int(streams[1]))


def measure(plan: NodePlan, tool: Likwid, missing: dict[str, str], progress: Callable[[str], None]) -> Bandwidth:
    """Measure what is planned, one repeat of everything after the other; what can't be goes to `missing`."""
    rates: dict[tuple, list[float]] = {}  # MB/s, by scope and kernel, or by two NUMA nodes
    ran_on: dict[Scope, str] = {}
    failed = dict[str, str]()
    for repeat in range(plan.repeats):
        progress(f"memory bandwidth, repeat {repeat + 1} of {plan.repeats}")
        for place in plan.places:
            for kernel in KERNELS if place.same_as is None else ():
                with _noted(f"bandwidth of {place.scope}", missing) as is_new:
                    if is_new:
                        printed = output_of(place_command(place, tool.kernels[kernel], tool.domains), TIMEOUT_S)
                        rates.setdefault((place.scope, kernel), []).append(_rate(printed, place))
                        ran_on[place.scope] = format_cpus(parse_cpus_used(printed))
    if plan.remotes:
        progress(f"memory of other NUMA nodes, for {MATRIX_S:g} s at most")
    end = time.monotonic() + MATRIX_S
    for remote in plan.repeats * plan.remotes:
        with _noted(f"NUMA node {remote.cpus_of} on memory of {remote.memory_of}", failed) as is_new:
            if is_new and time.monotonic() < end:
                printed = output_of(remote_command(remote, tool), TIMEOUT_S)
                rates.setdefault((remote.cpus_of, remote.memory_of), []).append(_rate(printed, remote))
    if failed:
        missing["remote memory"] = f"{some(list(failed), MOST_NAMED)}: {next(iter(failed.values()))}"
    return Bandwidth(
        tool=f"{TOOL} {tool.version}",
        kernels=tool.kernels,
        places=tuple(
            Place(
                scope=place.scope,
                cpus=format_cpus(place.cpus),
                ran_on=ran_on.get(place.scope, ""),
                cache_mib=place.cache_mib,
                working_set_mib=round(place.set_mib, 1),
                bounded=place.bounded,
                same_as=place.same_as,
                mb_s={kernel: tuple(mb_s) for kernel in KERNELS if (mb_s := rates.get((place.scope, kernel)))},
            )
            for place in plan.places
        ),
        matrix=tuple(
            Remote(cpus_of=remote.cpus_of, memory_of=remote.memory_of, mb_s=tuple(mb_s))
            for remote in plan.remotes
            if (mb_s := rates.get((remote.cpus_of, remote.memory_of)))
        ),
    )


@contextmanager
def _noted(name: str, missing: dict[str, str]) -> Iterator[bool]:
    """Within, note why something can't be measured; yields whether it did not fail before."""
    try:
        yield name not in missing
    except GpdError as error:
        missing[name] = str(error)


def _rate(printed: str, plan: PlacePlan | RemotePlan) -> float:
    """The bandwidth, unless it is of other CPUs than the planned ones."""
    used = parse_cpus_used(printed)
    if not used <= plan.cpus or len(used) != plan.cores:
        where = f"{format_cpus(used) or 'that it did not print'}, not on {plan.cores} of {format_cpus(plan.cpus)}"
        raise GpdError(f"{TOOL} ran on CPUs {where}")
    return parse_rate(printed)
