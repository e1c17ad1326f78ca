"""Topologies are read right, and allocations over them keep their promises, whatever the sequence."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launcher import cpu_choice as allocate
from launcher import topology
from launching import TOPOLOGIES

SHAPES = {  # name: cores, threads a core, L3 groups, NUMA nodes, sockets
    "epyc-2x64": (128, 2, 16, 8, 2),
    "xeon-2x32-2numa": (64, 2, 2, 2, 2),
    "xeon-2x32-4numa": (64, 2, 2, 4, 2),
    "smt-24": (24, 2, 4, 1, 1),
    "vm-flat-8": (8, 1, 1, 1, 1),
    "vm-recorded-2": (2, 1, 1, 1, 1),
}
CORES = {name: topology.cores_from_xml((TOPOLOGIES / f"{name}.xml").read_text()) for name in SHAPES}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    cores = CORES[name]
    groups = [len({getattr(core, level) for core in cores}) for level in allocate.LEVELS]
    threads = {len(core.cpus) for core in cores}
    assert (len(cores), *threads, *groups) == SHAPES[name]


def test_every_topology_is_tested():
    assert {path.stem for path in TOPOLOGIES.glob("*.xml")} == set(SHAPES)


def test_siblings_are_one_core():
    assert CORES["epyc-2x64"][0].cpus == (0, 128)
    assert CORES["smt-24"][23].cpus == (23, 47)


def test_hwloc_1_is_read():
    xml = """<topology><object type="Machine" cpuset="0xf"><object type="NUMANode" os_index="3" cpuset="0xf">
      <object type="Socket" cpuset="0xf">
      <object type="Cache" depth="3" cpuset="0x3"><object type="Core" cpuset="0x3">
      <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>
      </object></object>
      <object type="Cache" depth="3" cpuset="0xc"><object type="Core" cpuset="0xc"/></object>
      </object></object></object></topology>"""
    assert topology.cores_from_xml(xml) == [
        topology.Core((0, 1), 0, 3, 0),
        topology.Core((2, 3), 1, 3, 0),
    ]


def test_sysfs_agrees_with_hwloc(tmp_path):
    """Write the sysfs of the 24-core machine, and read it back."""
    cores = CORES["smt-24"]
    every = {cpu for core in cores for cpu in core.cpus}

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n")

    write("cpu/online", topology.format_cpus(every))
    write("node/online", "0")
    write("node/node0/cpulist", topology.format_cpus(every))
    for core in cores:
        shared = {cpu for other in cores if other.l3 == core.l3 for cpu in other.cpus}
        for cpu in core.cpus:
            write(f"cpu/cpu{cpu}/topology/thread_siblings_list", topology.format_cpus(core.cpus))
            write(f"cpu/cpu{cpu}/topology/physical_package_id", core.socket)
            write(f"cpu/cpu{cpu}/cache/index3/level", 3)
            write(f"cpu/cpu{cpu}/cache/index3/shared_cpu_list", topology.format_cpus(shared))
    assert topology.cores_from_sysfs(tmp_path) == cores


def test_restricted_to_what_is_allowed():
    cores = topology.restrict(CORES["smt-24"], {0, 1, 25, 40})
    assert [core.cpus for core in cores] == [(0,), (1, 25), (40,)]


@given(st.sets(st.integers(0, 1000)))
def test_cpu_lists(cpus):
    assert topology.parse_cpus(topology.format_cpus(cpus)) == cpus


def test_cpu_sets():
    def cpu_sets(name, threads, policy="compact", boundary="l3", smt=False):
        return [topology.format_cpus(cpus) for cpus in allocate.cpu_sets(CORES[name], threads, policy, boundary, smt)]

    assert cpu_sets("epyc-2x64", 8)[:3] == ["0-7", "8-15", "16-23"]
    assert cpu_sets("epyc-2x64", 8, "scatter")[:3] == ["0-7", "64-71", "16-23"]
    assert cpu_sets("epyc-2x64", 4, "scatter", "socket")[0] == "0,8,16,24"
    assert cpu_sets("epyc-2x64", 8, smt=True)[0] == "0-3,128-131"
    assert cpu_sets("xeon-2x32-4numa", 16) == ["0-15", "16-31", "32-47", "48-63"]
    assert cpu_sets("smt-24", 30) == ["0-47"], "wider than the cores: all hyperthreads"


# --------------------------------------------------------------------------------- random sequences of allocations


@st.composite
def sequences(draw):
    """A machine, allocations of random width that come, and whether one ends before the next comes."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    smt = draw(st.booleans())
    every = allocate.units(CORES[name], smt)
    widths = draw(st.lists(st.integers(1, max(1, len(every) // draw(st.integers(1, 8)))), min_size=1, max_size=60))
    return (
        name,
        every,
        widths,
        draw(st.sampled_from(allocate.POLICIES[1:])),
        draw(st.sampled_from(allocate.LEVELS)),
        draw(st.randoms(use_true_random=False)),
    )


def room(units, level):
    """Return the room in the roomiest group of a level."""
    return max((len(group) for group in allocate.grouped(units, level).values()), default=0)


@pytest.mark.deep
@settings(max_examples=300, deadline=None)
@given(sequences())
def test_allocations_keep_their_promises(sequence):
    _, every, widths, policy, boundary, dice = sequence
    free, held = list(every), []
    for width in widths:
        while (chosen := allocate.choose(every, free, width, policy, boundary)) is None:
            assert len(free) < width, "refused only where too few are free"
            free += held.pop(dice.randrange(len(held)))
        assert len(chosen) == width == len(set(chosen)), "right width"
        assert set(chosen) <= set(free), "disjoint from all that is held"
        for level in allocate.levels(every, boundary):
            if room(free, level) >= width:
                assert len(allocate.grouped(chosen, level)) == 1, f"split over {level} though one had room"
        assert allocate.is_split(chosen, every, boundary) <= any(
            len(allocate.grouped(chosen, level)) > 1 for level in allocate.LEVELS
        )
        free = [unit for unit in free if unit not in chosen]
        held.append(chosen)
        if dice.random() < 0.3:
            free += held.pop(dice.randrange(len(held)))
    for allocation in held:
        free += allocation
    assert sorted(free) == sorted(every), "all released"


@pytest.mark.deep
@settings(max_examples=100, deadline=None)
@given(sequences())
def test_queue_starves_nobody(sequence):
    """First come, first served: with every job ending some time, all are served, in the order of arrival."""
    _, every, widths, policy, boundary, dice = sequence
    free, held, served, queue = list(every), [], [], list(enumerate(widths))
    for _ in range(len(widths) * 3):
        while queue and (chosen := allocate.choose(every, free, queue[0][1], policy, boundary)):
            served.append(queue.pop(0)[0])
            free = [unit for unit in free if unit not in chosen]
            held.append(chosen)
        if held:
            free += held.pop(dice.randrange(len(held)))
    assert served == list(range(len(widths)))


@pytest.mark.deep
@given(sequences())
def test_compact_keeps_groups_whole(sequence):
    """An allocation that fits a group already broken into leaves the whole ones alone."""
    _, every, widths, _, boundary, _ = sequence
    first = allocate.choose(every, every, 1, "compact", boundary)
    free = [unit for unit in every if unit not in first]
    level = allocate.levels(every, boundary)[0]
    broken = len([unit for unit in free if getattr(unit, level) == getattr(first[0], level)])
    width = min(widths[0], broken)
    if width:
        second = allocate.choose(every, free, width, "compact", boundary)
        assert {getattr(unit, level) for unit in second} == {getattr(first[0], level)}


def test_scatter_spreads():
    every = allocate.units(CORES["epyc-2x64"])
    free, sockets = list(every), []
    for _ in range(16):
        chosen = allocate.choose(every, free, 8, "scatter", "l3")
        free = [unit for unit in free if unit not in chosen]
        sockets.append(chosen[0].socket)
    assert sockets == [0, 1] * 8


def test_choice_is_fast():
    """An allocation on 256 CPUs is chosen in a few ms: it is part of every job's overhead."""
    import time

    every = allocate.units(CORES["epyc-2x64"], smt=True)
    free = random.Random(1).sample(every, 200)
    took = []
    for _ in range(5):
        began = time.process_time()
        allocate.choose(every, free, 16, "compact", "l3")
        took.append(time.process_time() - began)
    assert min(took) < 0.02
