"""Choose CPUs for an allocation. Pure: it looks at lists of cores alone."""

from collections import namedtuple

POLICIES = ("none", "compact", "scatter")
LEVELS = ("l3", "numa", "socket")
Unit = namedtuple("Unit", "cpu held l3 numa socket")
Unit.__doc__ = "What one thread is granted: a CPU, and the CPUs that are held for it (its core's, without SMT)."


def units(cores, smt=False):
    """Divide cores into units, in the order in which compact allocations fill the machine."""
    ordered = sorted(cores, key=lambda core: (core.socket, core.numa, core.l3, core.cpus))
    if smt:
        return [Unit(cpu, (cpu,), *core[1:]) for core in ordered for cpu in core.cpus]
    return [Unit(core.cpus[0], *core) for core in ordered]


def grouped(some, level):
    """Group units by level, in their order."""
    groups = {}
    for unit in some:
        groups.setdefault(getattr(unit, level), []).append(unit)
    return groups


def levels(every, boundary):
    """Return the levels that an allocation respects, finest first: on some machines an L3 spans NUMA nodes."""
    respected = LEVELS[LEVELS.index(boundary) :]
    return sorted(respected, key=lambda level: -len(grouped(every, level)))


def choose(every, free, count, policy, boundary):
    """Choose `count` of the free units, or return None where fewer are free.

    The finest respected level that has a group with room provides all of them. `compact` takes the group with
    the least room, to leave whole ones to others; `scatter` the one with the most. Where no group of any
    level has room, the allocation is split.
    """
    if len(free) < count:
        return None
    room = rooms(free)
    better = min if policy == "compact" else max

    def surroundings(group):
        return [len(group), *(room[level][getattr(group[0], level)] for level in LEVELS)]

    for level in levels(every, boundary):
        fitting = [group for group in grouped(free, level).values() if len(group) >= count]
        if fitting:  # among groups with equal room, the room around them decides
            free = better(fitting, key=surroundings)
            break
    return sorted(free, key=fill_order(free, policy))[:count]


def rooms(free):
    """Return how many free units each group of each level has."""
    return {level: {name: len(group) for name, group in grouped(free, level).items()} for level in LEVELS}


def fill_order(free, policy):
    """Order the units of a group: `compact` fills one L3 after the other, `scatter` deals them round."""
    room = rooms(free)
    rank = {unit: n for group in grouped(free, "l3").values() for n, unit in enumerate(group)}

    def key(unit):
        nest = [(-room[level][getattr(unit, level)], getattr(unit, level)) for level in reversed(LEVELS)]
        return (rank[unit], *nest) if policy == "scatter" else (*nest, rank[unit])

    return key


def is_split(chosen, every, boundary):
    """Tell whether an allocation lies in several groups of a respected level though one group could hold it."""
    return any(
        len(grouped(chosen, level)) > 1 and max(map(len, grouped(every, level).values())) >= len(chosen)
        for level in levels(every, boundary)
    )


def granted(chosen, every, cores, threads):
    """Return the CPUs of an allocation; one for more threads than there are cores gets their hyperthreads too."""
    if threads > len(every):
        return {cpu for core in cores for cpu in core.cpus}
    return {unit.cpu for unit in chosen}


def cpu_sets(cores, threads, policy, boundary, smt=False):
    """Return the CPU sets that jobs of so many threads would get, one after the other, on an idle machine."""
    every = units(cores, smt)
    free, found = list(every), []
    while free and (chosen := choose(every, free, min(threads, len(every)), policy, boundary)):
        found.append(granted(chosen, every, cores, threads))
        free = [unit for unit in free if unit not in chosen]
    return found
