"""Allocations and memory on a machine of 2 sockets, 4 L3 groups, 4 NUMA nodes and 16 CPUs: each promise."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from itertools import chain

import pytest
from machine import Shape
from visit import Seen, Visit, visit

from gpd.records import ledger_check
from gpd.text.cpu_lists import format_cpus, parse_cpus

pytestmark = pytest.mark.numa

SHAPE = Shape()
EVERY = frozenset(range(SHAPE.cpus))
NEARLY_ALL = 0.98  # of what is counted: a few pages are of its program's file, and lie where that was read first


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    return visit("places", SHAPE, tmp_path_factory.mktemp("places"))


def disjoint(jobs: list[Seen]) -> bool:
    return len(list(chain.from_iterable(job.allocation for job in jobs))) == len(
        frozenset().union(*(j.allocation for j in jobs))
    )


def nodes_of(job: Seen) -> set[int]:
    return set(map(SHAPE.numa, job.allocation))


# ---- what was built


def built() -> set[tuple]:
    """The cores of the machine: CPUs, and the groups that they share with others, as sets of CPUs."""
    levels = (SHAPE.l3, SHAPE.numa, SHAPE.socket)
    return {
        ((cpu,), *(frozenset(c for c in EVERY if level(c) == level(cpu)) for level in levels)) for cpu in sorted(EVERY)
    }


def described(cores: list[dict]) -> set[tuple]:
    """The same, of cores whose groups have numbers."""
    found = set()
    for core in cores:
        groups = (
            frozenset(cpu for c in cores if c[level] == core[level] for cpu in c["cpus"])
            for level in ("l3", "numa", "socket")
        )
        found.add((tuple(core["cpus"]), *groups))
    return found


def test_the_topology_by_sysfs_is_what_was_built(guest: Visit) -> None:
    cores = guest.scenario("topology")["sysfs"]["cores"]
    assert described(cores) == built()
    assert all(core["numa"] == SHAPE.numa(core["cpus"][0]) for core in cores), "numbers of nodes are the kernel's"


def test_gpd_topology_says_the_same_by_hwloc(guest: Visit, figure: Callable[[str], None]) -> None:
    """Of the file that lstopo wrote there: in emulation gpd's imports take minutes."""
    guest.scenario("topology")
    if not (guest.folder / "lstopo.xml").exists():
        pytest.skip("hwloc's lstopo-no-graphics is not installed")
    asking = [sys.executable, "-m", "gpd", "topology", "--json", "--xml", guest.folder / "lstopo.xml"]
    told = json.loads(subprocess.run(asking, check=True, capture_output=True).stdout)
    assert described(told["cores"]) == built()
    assert told["counts"] == {"socket": 2, "numa": 4, "l3": 4, "cores": 16, "cpus": 16}
    assert [cpu_set["cpus"] for cpu_set in told["cpu_sets"]] == ["0-3", "4-7", "8-11", "12-15"]
    scenarios = ", ".join(f"{name} {each['seconds']}" for name, each in guest.told.items() if "seconds" in each)
    figure(f"machine of 4 NUMA nodes: {guest.seconds:.0f} s, {guest.cpu_seconds:.0f} CPU s ({scenarios})")


def test_the_distances_are_what_was_built(guest: Visit) -> None:
    nodes = range(SHAPE.nodes)
    told = guest.scenario("topology")["distances"]
    assert told == {str(one): [SHAPE.distance(one, other) for other in nodes] for one in nodes}


# ---- allocations


def test_sixteen_jobs_at_once_have_a_cpu_each(guest: Visit) -> None:
    jobs = guest.jobs("singles")
    assert sorted(format_cpus(job.allocation) for job in jobs) == sorted(map(str, EVERY))
    assert guest.scenario("singles")["allocated"] == sorted(EVERY)


def test_four_jobs_of_four_threads_lie_within_an_l3_group_and_a_numa_node(guest: Visit) -> None:
    jobs = guest.jobs("fours")[:4]
    assert disjoint(jobs)
    assert [len(job.allocation) for job in jobs] == [4] * 4
    assert {guest.spans(job.allocation) for job in jobs} == {(1, 1, 1)}
    assert not any(job.record["split"] for job in jobs)


def test_jobs_wider_than_an_l3_group_lie_within_a_socket(guest: Visit) -> None:
    six, eight, two = guest.jobs("widths")
    assert disjoint([six, eight, two])
    assert [(len(job.allocation), guest.spans(job.allocation)) for job in (six, eight, two)] == [
        (6, (2, 2, 1)),
        (8, (2, 2, 1)),
        (2, (1, 1, 1)),
    ]
    assert {SHAPE.socket(min(six.allocation)), SHAPE.socket(min(eight.allocation))} == {0, 1}
    assert not any(job.record["split"] for job in (six, eight, two))


def test_a_job_as_wide_as_the_machine_gets_it(guest: Visit) -> None:
    (job,) = guest.jobs("whole")
    assert job.allocation == EVERY


def test_scattered_jobs_spread_as_far_as_their_boundary(guest: Visit) -> None:
    jobs = guest.jobs("scatter")
    assert disjoint(jobs)
    assert {job.record["boundary"]: guest.spans(job.allocation) for job in jobs} == {
        "socket": (2, 2, 1),
        "l3": (1, 1, 1),
        "numa": (1, 1, 1),
    }
    halves = [SHAPE.l3(cpu) for cpu in jobs[0].allocation]
    assert {halves.count(half) for half in halves} == {2}, "dealt round"


def test_kill_9_frees_allocations(guest: Visit, figure: Callable[[str], None]) -> None:
    """Of one job the launcher alone, of another every process."""
    told = guest.scenario("fours")
    *first, one, other = guest.jobs("fours")
    killed = {job.allocation for job in first if job.record["cause"] == "killed"}
    assert killed == {one.allocation, other.allocation} == {job.allocation for job in first[:2]}
    assert {job.record["cause"] for job in (*first[2:], one, other)} == {None}
    assert told["freed_s"] < 15, "emulated on a machine that has much else to do"
    figure(f"kill -9 of two jobs: their CPUs were free after {told['freed_s']:.1f} s")


# ---- memory


def test_local_memory_is_on_the_allocations_own_node(guest: Visit) -> None:
    jobs = [job for job in guest.jobs("singles") + guest.jobs("fours") if job.record["memory"] == "local"]
    assert len(jobs) == 20
    for job in jobs:
        (node,) = nodes_of(job)
        assert job.shares()[node] > NEARLY_ALL, (job.allocation, job.pages)


def test_local_memory_of_a_allocation_on_two_nodes_is_on_these(guest: Visit) -> None:
    (eight,) = [job for job in guest.jobs("widths") if job.record["memory"] == "local"]
    assert sum(eight.shares().get(node, 0) for node in nodes_of(eight)) > NEARLY_ALL, eight.pages


def test_interleaved_memory_is_dealt_over_the_allocations_nodes_alone(guest: Visit) -> None:
    jobs = [job for job in guest.every_job() if job.record["memory_applied"] == "interleave"]
    assert {len(nodes_of(job)) for job in jobs} == {1, 2, 4}
    for job in jobs:
        fair = 1 / len(nodes_of(job))
        shares = {node: job.shares().get(node, 0) for node in nodes_of(job)}
        assert sum(shares.values()) > NEARLY_ALL, (job.allocation, job.pages)
        assert all(0.6 * fair < share < 1.4 * fair for share in shares.values()), (job.allocation, job.pages)


def test_a_full_node_gives_way_to_the_next(guest: Visit, figure: Callable[[str], None]) -> None:
    """The nearest one first; the job lives, and its record has the policy, not where the memory went."""
    (job,) = guest.jobs("full")
    (own,) = nodes_of(job)
    near, *far = sorted(set(range(SHAPE.nodes)) - {own}, key=lambda node: SHAPE.distance(own, node))
    assert job.record["cause"] is None
    assert (job.record["memory_applied"], job.policy) == ("local", f"prefer (many):{own}")
    assert job.pages[own] * 4 // 1024 > guest.scenario("full")["free_mib"][str(own)] / 2
    assert job.pages.get(near, 0) > 64 * 256, job.pages
    assert sum(job.pages.get(node, 0) for node in far) < 0.1 * sum(job.pages.values()), job.pages
    figure(f"memory of a job on node {own}, larger than that: {in_mib(job.pages)}")


def in_mib(pages: dict[int, int]) -> str:
    return ", ".join(f"node {node} {count / 256:.0f} MiB" for node, count in sorted(pages.items()))


# ---- what a machine takes away


def test_offline_cpus_are_never_allocated(guest: Visit) -> None:
    told = guest.scenario("absent")
    without, back = guest.jobs("absent")
    there = EVERY - {5, 6}
    assert {cpu for core in told["cores"] for cpu in core["cpus"]} == there
    assert without.allocation == without.cpus == there
    assert back.allocation == back.cpus == EVERY, "given back, they are"


def test_a_cpuset_and_a_memory_group_bound_what_is_seen_and_allocated(guest: Visit) -> None:
    told = guest.scenario("box")
    *pairs, wide = guest.jobs("box")
    inside = frozenset(range(4, 10))
    assert told["limits"]["cpus"] == 6
    assert told["limits"]["memory_limit_mib"] == 256
    assert told["limits"]["memory_available_mib"] < 256
    assert {cpu for core in told["cores"] for cpu in core["cpus"]} == inside
    assert disjoint(pairs)
    assert frozenset().union(*(job.allocation for job in pairs)) == inside == wide.allocation
    assert {guest.spans(job.allocation) for job in pairs} == {(1, 1, 1)}
    for job in (*pairs, wide):
        assert sum(job.shares().get(node, 0) for node in (1, 2)) > NEARLY_ALL, job.pages


def test_a_job_that_outgrows_its_memory_group_is_recorded_so(guest: Visit) -> None:
    guest.scenario("box")
    record = guest.records()["hungry0"]
    assert (record["cause"], record["signal"]) == ("out_of_memory", 9), record["message"]


def test_memory_that_a_cpuset_forbids_is_not_said_to_be_used(guest: Visit) -> None:
    """CPUs of node 1, memory of node 3: the policy in force is recorded, not the one asked for."""
    local, interleave = guest.jobs("far")
    assert {SHAPE.numa(cpu) for job in (local, interleave) for cpu in job.allocation} == {1}
    for job in (local, interleave):
        assert job.shares()[3] > NEARLY_ALL, job.pages
    assert (local.record["memory_applied"], local.policy) == ("local", "local")
    assert (interleave.record["memory_applied"], interleave.policy) == ("default", "default")


# ---- the record


def test_a_clock_that_is_set_meanwhile_changes_no_duration(guest: Visit) -> None:
    """Back by an hour in one job, forward by a day in the next: allocations are freed all the same."""
    records, lasted_s = guest.records(), guest.scenario("clock")["lasted_s"]
    assert set(lasted_s) == {"set-back0", "set-forward0"}
    for name, most_s in lasted_s.items():
        record = records[name]
        start, end = (datetime.fromisoformat(record[at]) for at in ("start", "end"))
        assert 1 <= record["wall_s"] <= most_s
        assert (end - start).total_seconds() == pytest.approx(record["wall_s"], abs=0.01)
        assert (record["exit_code"], record["cause"], record["binding_ok"]) == (0, None, True)
    began = [datetime.fromisoformat(records[name]["start"]) for name in ("set-back0", "set-forward0")]
    assert began[1] < began[0]


def test_the_record_agrees_with_an_outside_look(guest: Visit) -> None:
    jobs = guest.every_job()
    assert len(jobs) == 40
    for job in jobs:
        record = job.record
        assert job.cpus == job.allocation, record
        if record["cause"] == "killed":
            continue  # nobody was left to look at it again
        assert record["binding_ok"] is True, record
        assert record["cpus_allowed"] == record["cpus"], record
        policy, _, nodes = job.policy.partition(":")
        assert policy in KERNELS_WORDS[record["memory_applied"]], (job.policy, record)
        assert not nodes or parse_cpus(nodes) == nodes_of(job), (job.policy, record)


KERNELS_WORDS = {"default": ["default"], "local": ["prefer (many)", "local"], "interleave": ["interleave"]}


def test_the_ledger_holds_up_and_nothing_is_left(guest: Visit) -> None:
    assert ledger_check.check(guest.ledger).problems == ()
    assert guest.scenario("left") | {"seconds": 0} == {
        "allocations": [],
        "journals": [],
        "seconds": 0,
    }
