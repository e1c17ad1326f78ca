"""What is measured of a node, from its cores, caches and memory alone. Pure."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from gpd.machines.topology import Core as Told
from gpd.records.host import Cache, Host
from gpd.records.node import SAME, Block, Core, Scope, block_of, nearest
from gpd.text.cpu_lists import parse_cpus

# A working set that no cache helps with: this many times the L3 caches in reach, and for each core's own L2, of which
# none in sight has more than 3 MiB, as many times 4 MiB.
FACTOR = 4
L2_MIB = 4
SET_WITHOUT_L3_MIB = 1024.0  # where nobody tells how large the L3 is
MEMORY_SHARE = 0.5  # of what is available, or of a NUMA node: more could push others out
REPEATS = 4
SEED = 1
MOST_PAIRS = 8500  # of CPUs: all of two sockets with 64 cores each


@dataclass(frozen=True)
class PlacePlan:
    """A scope to be measured: its CPUs, and the CPUs of each core. `same_as`: a scope of the same CPUs before it."""

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
    """All that is measured, in order. `untold`: the scopes that the machine does not tell."""

    cores: tuple[Core, ...]
    places: tuple[PlacePlan, ...]
    remotes: tuple[RemotePlan, ...]
    repeats: int
    pairs: tuple[tuple[int, int], ...]
    of_pairs: int
    untold: tuple[Scope, ...]


def make(told: Sequence[Told], host: Host, available_mib: float, repeats: int = REPEATS) -> NodePlan:
    """Plan for cores that may be used; `available_mib` is what memory this process may still take."""
    cores = tuple(map(_core, told))
    pairs, of_pairs = draw_pairs(cores)
    return NodePlan(
        cores=cores,
        places=tuple(_places(cores, host, available_mib)),
        remotes=tuple(_remotes(cores, host, available_mib)),
        repeats=repeats,
        pairs=pairs,
        of_pairs=of_pairs,
        untold=tuple(level for level in SAME if all(getattr(core, level) is None for core in cores)),
    )


def _core(told: Told) -> Core:
    groups = {level: number for level in SAME if (number := getattr(told, level)) >= 0}
    return Core(cpus=told.cpus, **groups)


# ---- bandwidth -------------------------------------------------------------------------------------------------


def _places(cores: Sequence[Core], host: Host, available_mib: float) -> Iterable[PlacePlan]:
    """One core, then the first whole group of each level that is told, finest first, then all."""
    groups: dict[Scope, Sequence[Core]] = {"core": cores[:1]}
    for level in nearest(cores):
        if any(getattr(core, level) is not None for core in cores):
            groups[level] = _largest(cores, level)
    groups["node"] = cores
    seen: dict[frozenset[int], Scope] = {}
    for scope in ("core", "l3", "numa", "socket", "node"):
        if scope not in groups:
            continue
        own = groups[scope]
        cpus = _cpus(own)
        cache = cache_in_reach(host.l3, cpus)
        wanted = _wanted_mib(cache, len(own))
        allowed = MEMORY_SHARE * min([available_mib, *_memory_beside(host, own)])
        yield PlacePlan(
            scope, cpus, len(own), _siblings(own), cache, min(wanted, allowed), allowed < wanted, seen.get(cpus)
        )
        seen.setdefault(cpus, scope)


def _largest(cores: Sequence[Core], level: str) -> list[Core]:
    """The group of most cores, of equal ones the first: where some CPUs may not be used, others may be whole."""
    groups: dict[int, list[Core]] = {}
    for core in cores:
        if getattr(core, level) is not None:
            groups.setdefault(getattr(core, level), []).append(core)
    return max(groups.values(), key=len)


def _cpus(cores: Iterable[Core]) -> frozenset[int]:
    return frozenset(cpu for core in cores for cpu in core.cpus)


def _siblings(cores: Iterable[Core]) -> frozenset[int]:
    """How many CPUs its cores have: several numbers on a hybrid processor, or where halves of cores may be used."""
    return frozenset(len(core.cpus) for core in cores)


def cache_in_reach(caches: Iterable[Cache], cpus: frozenset[int]) -> float | None:
    """The L3 caches that these CPUs have any part in, together; None where nobody tells their sizes."""
    sizes = [cache.mib for cache in caches if cpus & parse_cpus(cache.cpus)]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _wanted_mib(cache_mib: float | None, cores: int) -> float:
    return FACTOR * (cache_mib + L2_MIB * cores) if cache_mib else SET_WITHOUT_L3_MIB + FACTOR * L2_MIB * cores


def _memory_beside(host: Host, cores: Sequence[Core]) -> list[float]:
    """The memory of the NUMA nodes of these cores, where that is told."""
    own = {core.numa for core in cores}
    sizes = [node.memory_mib for node in host.numa if node.node in own and node.memory_mib is not None]
    return [sum(sizes)] if sizes else []


def _remotes(cores: Sequence[Core], host: Host, available_mib: float) -> list[RemotePlan]:
    """Each NUMA node against each. Nothing where there is but one."""
    nodes: dict[int, list[Core]] = {}
    for core in cores:
        if core.numa is not None:
            nodes.setdefault(core.numa, []).append(core)
    if len(nodes) < 2:
        return []
    return [_remote(one, other, nodes, host, available_mib) for one in sorted(nodes) for other in sorted(nodes)]


def _remote(one: int, other: int, nodes: dict[int, list[Core]], host: Host, available_mib: float) -> RemotePlan:
    own, cpus, memory = nodes[one], _cpus(nodes[one]), nodes[other]
    wanted = _wanted_mib(cache_in_reach(host.l3, cpus), len(own))
    allowed = MEMORY_SHARE * min([available_mib, *_memory_beside(host, memory)])
    return RemotePlan(one, other, cpus, _cpus(memory), len(own), _siblings(own), min(wanted, allowed))


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
