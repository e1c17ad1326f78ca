"""What is measured of a node, from its cores, caches and memory alone. Pure."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from gpd.records.host import Host
from gpd.records.node import SAME, Block, Core, Level, Scope, block_of, nearest
from gpd.text.cpu_lists import parse_cpus

# A working set that no cache helps with: this many times the L3 caches in reach, and for each core's own L2, of which
# none in sight has more than 3 MiB, as many times 4 MiB.
FACTOR = 4
L2_MIB = 4
SET_WITHOUT_L3_MIB = 1024.0  # where the size of the L3 is not known
MEMORY_SHARE = 0.5  # of what is available, or of a NUMA node: more could push others out
REPEATS = 4
SEED = 1
MOST_PAIRS = 8500  # of CPUs: all of two sockets with 64 cores each


@dataclass(frozen=True)
class PlacePlan:
    """A scope to be measured: its CPUs, how many cores they are, and how many CPUs its cores have: several numbers on a
    hybrid processor, or where halves of cores may be used. `same_as`: a scope of the same CPUs before it."""

    scope: Scope
    cpus: frozenset[int]
    cores: int
    siblings: frozenset[int]
    cache_mib: float | None
    set_mib: float
    bounded: bool = False
    same_as: Scope | None = None


@dataclass(frozen=True)
class RemotePlan:
    """The cores of one NUMA node against the memory of another, which is known by its CPUs."""

    cpus_of: int
    memory_of: int
    cpus: frozenset[int]
    memory_cpus: frozenset[int]
    cores: int
    siblings: frozenset[int]
    set_mib: float


@dataclass(frozen=True)
class NodePlan:
    """All that is measured, in order. `unknown`: the scopes that the machine does not report."""

    cores: tuple[Core, ...]
    places: tuple[PlacePlan, ...]
    remotes: tuple[RemotePlan, ...]
    repeats: int
    pairs: tuple[tuple[int, int], ...]
    of_pairs: int
    unknown: tuple[Scope, ...]


def make(cores: Sequence[Core], host: Host, available_mib: float, repeats: int = REPEATS) -> NodePlan:
    """Plan for cores that may be used; `available_mib` is what memory this process may still take."""
    pairs, of_pairs = draw_pairs(cores)
    return NodePlan(
        cores=tuple(cores),
        places=tuple(_places(cores, host, available_mib)),
        remotes=tuple(_remotes(cores, host, available_mib)),
        repeats=repeats,
        pairs=pairs,
        of_pairs=of_pairs,
        unknown=tuple(level for level in SAME if not _groups(cores, level)),
    )


def _groups(cores: Iterable[Core], level: Level) -> dict[int, list[Core]]:
    """The cores by the number of their group."""
    groups: dict[int, list[Core]] = {}
    for core in cores:
        if (number := getattr(core, level)) is not None:
            groups.setdefault(number, []).append(core)
    return groups


# ---- bandwidth -------------------------------------------------------------------------------------------------


def _places(cores: Sequence[Core], host: Host, available_mib: float) -> Iterable[PlacePlan]:
    """One core, then the largest group of each level, of equal ones the first, finest first; then all."""
    own: dict[Scope, Sequence[Core]] = {"core": cores[:1]}
    for level in SAME:
        if groups := _groups(cores, level):
            own[level] = max(groups.values(), key=len)
    own["node"] = cores
    seen: dict[frozenset[int], Scope] = {}
    for scope, members in own.items():
        cpus = _cpus(members)
        cache, wanted = _working_set(host, cpus, len(members))
        allowed = _allowed_mib(host, members, available_mib)
        sizes = cache, min(wanted, allowed), allowed < wanted
        yield PlacePlan(scope, cpus, len(members), _siblings(members), *sizes, seen.get(cpus))
        seen.setdefault(cpus, scope)


def _remotes(cores: Sequence[Core], host: Host, available_mib: float) -> Iterable[RemotePlan]:
    """Each NUMA node against each, where there are two."""
    nodes = _groups(cores, "numa")
    for one in sorted(nodes) if len(nodes) > 1 else ():
        for other in sorted(nodes):
            own, cpus, memory = nodes[one], _cpus(nodes[one]), nodes[other]
            size = min(_working_set(host, cpus, len(own))[1], _allowed_mib(host, memory, available_mib))
            yield RemotePlan(one, other, cpus, _cpus(memory), len(own), _siblings(own), size)


def _cpus(cores: Iterable[Core]) -> frozenset[int]:
    return frozenset(cpu for core in cores for cpu in core.cpus)


def _siblings(cores: Iterable[Core]) -> frozenset[int]:
    return frozenset(len(core.cpus) for core in cores)


def _working_set(host: Host, cpus: frozenset[int], cores: int) -> tuple[float | None, float]:
    """The L3 caches in reach together (MiB), None where a size is not known; and a working set that exceeds them."""
    sizes = [cache.mib for cache in host.l3 if cpus & parse_cpus(cache.cpus)]
    if not sizes or None in sizes:
        return None, SET_WITHOUT_L3_MIB + FACTOR * L2_MIB * cores
    reach = sum(size for size in sizes if size)
    return reach, FACTOR * (reach + L2_MIB * cores)


def _allowed_mib(host: Host, cores: Iterable[Core], available_mib: float) -> float:
    """A share of what is available, and of the memory of these cores' NUMA nodes."""
    own = {core.numa for core in cores}
    beside = sum(node.memory_mib or 0 for node in host.numa if node.node in own)
    return MEMORY_SHARE * min(available_mib, beside or available_mib)


# ---- latency ---------------------------------------------------------------------------------------------------


def draw_pairs(
    cores: Sequence[Core], most: int = MOST_PAIRS, seed: int = SEED
) -> tuple[tuple[tuple[int, int], ...], int]:
    """The pairs of CPUs to be measured, and how many there are: the first CPU of every two cores, and two of each core.

    Where there are more than `most`, as many are drawn of each block, and all of a block that has fewer.
    """
    levels = nearest(cores)
    blocks: dict[Block, list[tuple[int, int]]] = {}
    for core in cores:
        if len(core.cpus) > 1:
            blocks.setdefault("same core", []).append((core.cpus[0], core.cpus[1]))
    for one, other in combinations(cores, 2):
        blocks.setdefault(block_of(one, other, levels), []).append((one.cpus[0], other.cpus[0]))
    every = sum(map(len, blocks.values()))
    if every > most:
        draw = random.Random(seed)
        share = most // len(blocks)
        blocks = {name: draw.sample(pairs, min(share, len(pairs))) for name, pairs in blocks.items()}
    return tuple(sorted(pair for pairs in blocks.values() for pair in pairs)), every
