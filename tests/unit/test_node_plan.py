"""What is measured of a node: which CPUs, how much memory, which pairs."""

from collections import Counter

import pytest
import recorded_studies

from gpd.node import node_plan
from gpd.records.host import Cache, Host, NumaNode
from gpd.records.node import Core, block_of, nearest

synthetic = recorded_studies.script("nodes")

PLENTY_MIB = 1024.0 * 1024
TWO = [Core((0,), 0, 0, 0), Core((1,), 0, 0, 0)]
TWO_HOST = Host(l3=(Cache("0-1", 260.0),), numa=(NumaNode(0, "0-1", 24_000.0),))


def planned(name, **more):
    return node_plan.make(synthetic.cores_of(name), synthetic.host_of(name), PLENTY_MIB, **more)


def places(made):
    return {place.scope: place for place in made.places}


def test_each_scope_is_a_group_of_the_topology():
    found = places(planned("epyc-2x64"))
    assert {scope: place.cores for scope, place in found.items()} == {
        **{"core": 1, "l3": 8, "numa": 16, "socket": 64, "node": 128},
    }
    assert found["l3"].cpus == {*range(8), *range(128, 136)}
    assert [place.same_as for place in found.values()] == [None] * 5


def test_scopes_of_the_same_cpus_are_measured_once():
    found = places(node_plan.make(TWO, TWO_HOST, 20_000.0))
    assert {scope: place.same_as for scope, place in found.items()} == {
        **{"core": None, "l3": None, "numa": "l3", "socket": "l3", "node": "l3"},
    }


def test_the_working_set_is_four_times_the_caches_in_reach():
    found = places(planned("epyc-2x64"))
    assert found["core"].set_mib == 4 * (32 + 4)  # one core reaches a whole L3
    assert found["node"].set_mib == 4 * (16 * 32 + 4 * 128)
    assert not found["node"].bounded


def test_memory_bounds_the_working_set_and_that_is_said():
    found = places(node_plan.make(TWO, TWO_HOST, available_mib=1000.0))
    assert (found["core"].set_mib, found["core"].bounded) == (500.0, True)


def test_the_memory_of_the_numa_node_bounds_it_too():
    host = Host(l3=(Cache("0-1", 260.0),), numa=(NumaNode(0, "0-1", 800.0),))
    assert places(node_plan.make(TWO, host, PLENTY_MIB))["core"].set_mib == 400.0


def test_an_unknown_cache_is_not_taken_for_none():
    found = places(node_plan.make(TWO, Host(), PLENTY_MIB))
    assert found["core"].cache_mib is None
    assert found["core"].set_mib > 1000


def test_a_level_that_is_not_told_is_named():
    told = [Core((0,), None, 0, 0), Core((1,), None, 0, 0)]
    made = node_plan.make(told, Host(), PLENTY_MIB)
    assert made.unknown == ("l3",)
    assert "l3" not in places(made)


def test_where_some_cpus_may_not_be_used_the_fullest_group_stands_for_its_level():
    told = [Core((1,), 0, 0, 0), Core((2,), 1, 0, 0), Core((3,), 1, 0, 0)]
    found = places(node_plan.make(told, Host(), PLENTY_MIB))
    assert found["l3"].cpus == {2, 3}
    assert found["core"].cpus == {1}


def test_every_numa_node_against_every_other():
    made = planned("epyc-2x64")
    assert {(remote.cpus_of, remote.memory_of) for remote in made.remotes} == {
        (a, b) for a in range(8) for b in range(8)
    }


def test_one_numa_node_has_no_matrix():
    made = node_plan.make(TWO, TWO_HOST, 20_000.0)
    assert made.remotes == ()


def test_all_pairs_of_128_cores_and_their_siblings():
    pairs, every = node_plan.draw_pairs(planned("epyc-2x64").cores)
    assert len(set(pairs)) == len(pairs) == every == 128 * 127 // 2 + 128
    assert (0, 128) in pairs


def test_beyond_that_pairs_are_drawn_of_every_block_with_a_seed():
    cores = planned("epyc-2x64").cores
    pairs, every = node_plan.draw_pairs(cores, most=1000)
    again, _ = node_plan.draw_pairs(cores, most=1000)
    other, _ = node_plan.draw_pairs(cores, most=1000, seed=2)
    assert pairs == again != other
    core_of = {cpu: core for core in cores for cpu in core.cpus}
    blocks = Counter(block_of(core_of[a], core_of[b], nearest(cores)) for a, b in pairs)
    assert blocks == {
        **{"same core": 128, "same L3": 200, "same NUMA node": 200, "same socket": 200, "across sockets": 200},
    }
    assert every == 8256


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "first", "second", "block"),
    [
        ("epyc-2x64", 0, 7, "same L3"),
        ("epyc-2x64", 0, 8, "same NUMA node"),
        ("epyc-2x64", 0, 16, "same socket"),
        ("epyc-2x64", 0, 64, "across sockets"),
        ("epyc-2x64", 0, 128, "same core"),
        ("xeon-2x32-4numa", 0, 1, "same NUMA node"),  # an L3 spans two NUMA nodes there
        ("xeon-2x32-4numa", 0, 16, "same L3"),
    ],
)
def test_a_block_is_the_nearest_thing_that_cores_share(name, first, second, block):
    cores = planned(name).cores
    core_of = {cpu: core for core in cores for cpu in core.cpus}
    assert block_of(core_of[first], core_of[second], nearest(cores)) == block


def test_cores_of_which_nothing_is_told_are_apart():
    cores = [Core(cpus=(0,)), Core(cpus=(1,))]
    assert block_of(*cores, nearest(cores)) == "apart"
