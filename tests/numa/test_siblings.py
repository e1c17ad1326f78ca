"""Allocations on a machine of 2 sockets, 4 L3 groups, 2 NUMA nodes, 8 cores and 16 hyperthreads."""

from collections.abc import Callable

import pytest
from machine import Shape
from visit import Visit, visit

from gpd.records import ledger_check

pytestmark = pytest.mark.numa

SHAPE = Shape(cores=2, threads=2, nodes=2, node_mib=1024)
EVERY = frozenset(range(SHAPE.cpus))
FIRST = frozenset(range(0, SHAPE.cpus, 2))  # threads of the cores


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    return visit("siblings", SHAPE, tmp_path_factory.mktemp("siblings"))


def test_the_topology_has_two_threads_a_core(guest: Visit, figure: Callable[[str], None]) -> None:
    cores = guest.scenario("topology")["sysfs"]["cores"]
    assert [core["cpus"] for core in cores] == [[cpu, cpu + 1] for cpu in sorted(FIRST)]
    for level, number in (("l3", SHAPE.l3), ("numa", SHAPE.numa), ("socket", SHAPE.socket)):
        assert [core[level] for core in cores] == [number(core["cpus"][0]) for core in cores], level
    figure(f"machine with siblings: {guest.seconds:.0f} s, {guest.cpu_seconds:.0f} CPU s")


def test_a_job_of_one_thread_holds_a_whole_core(guest: Visit) -> None:
    told = guest.scenario("whole_cores")
    jobs = guest.jobs("whole_cores")
    assert sorted(cpu for job in jobs for cpu in job.allocation) == sorted(FIRST)
    assert told["allocated"] == sorted(EVERY), "siblings stay idle"
    assert told["early"] is False, "a ninth job waits for a core"
    assert guest.records()[told["late"]]["wait_s"] > 1


def test_with_smt_hyperthreads_are_cpus(guest: Visit) -> None:
    one, other, six, eight = jobs = guest.jobs("siblings")
    assert sorted(cpu for job in jobs for cpu in job.allocation) == sorted(EVERY)
    assert [len(job.allocation) for job in jobs] == [1, 1, 6, 8]
    assert SHAPE.core(min(one.allocation)) == SHAPE.core(min(other.allocation)), "two jobs have a core's two threads"
    assert guest.spans(six.allocation) == guest.spans(eight.allocation) == (2, 1, 1)


def test_what_jobs_of_some_widths_get(guest: Visit) -> None:
    spread, near, four, eight, wider = guest.jobs("threads")
    assert (len(spread.allocation), guest.spans(spread.allocation)) == (2, (2, 1, 1)), (
        "scattered over the L3 groups of a node"
    )
    assert (len(near.allocation), guest.spans(near.allocation)) == (2, (1, 1, 1)), "scattered within an L3 group"
    assert spread.allocation | near.allocation <= FIRST
    assert {SHAPE.core(cpu) for cpu in four.allocation} == {
        SHAPE.core(min(four.allocation)),
        SHAPE.core(max(four.allocation)),
    }
    assert (len(four.allocation), guest.spans(four.allocation)) == (4, (1, 1, 1)), "two whole cores of an L3 group"
    assert eight.allocation == FIRST
    assert wider.allocation == EVERY, "a job wider than there are cores gets their hyperthreads"


def test_a_core_with_one_thread_offline_is_allocated_by_the_other(guest: Visit) -> None:
    told = guest.scenario("half_a_core")
    (job,) = guest.jobs("half_a_core")
    assert [core["cpus"] for core in told["cores"]][1:4] == [[3], [4, 5], [6]]
    assert job.allocation == job.cpus == FIRST - {2} | {3}
    assert told["allocated"] == sorted(EVERY - {2, 7})


def test_every_job_ran_on_its_allocation_as_seen_from_outside(guest: Visit) -> None:
    jobs = guest.every_job()
    assert len(jobs) == 18
    assert all(job.cpus == job.allocation for job in jobs)
    assert {job.record["binding_ok"] for job in jobs} == {True}
    assert ledger_check.check(guest.ledger).problems == ()


def test_memory_is_on_the_node_of_the_allocation(guest: Visit) -> None:
    for job in guest.jobs("whole_cores") + guest.jobs("siblings"):
        (node,) = set(map(SHAPE.numa, job.allocation))
        assert job.shares()[node] > 0.98, (job.allocation, job.pages)


def test_nothing_is_left(guest: Visit) -> None:
    assert guest.scenario("left") | {"seconds": 0} == {
        "allocations": [],
        "journals": [],
        "seconds": 0,
    }
