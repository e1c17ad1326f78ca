"""How many more jobs a run may start, and when a step looks: no job runs, and the clock is ours."""

import fcntl
import os
from ast import literal_eval
from types import SimpleNamespace

import pytest
from launcher import free_cpus
from launcher.free_cpus import SETTLED_S, TURN_S, WATCH_S, SpareCpus, allocated, requested_mb, settled_spare, spare

OWN, OTHER, THIRD = "own/ledger.jsonl", "other/ledger.jsonl", "third/ledger.jsonl"


def job(cpus="0-1", ledger=OWN, awaits=None, **known):
    """The notes of a job that has two of the node's CPUs and 1,000 MB, as they are read from its journal."""
    record = {"id": f"{ledger} {cpus}", "step": "call", "cpus": cpus, "binding": "compact", "mem_mb": 1000}
    return literal_eval(repr({"ledger": ledger, "awaits": awaits, "record": record | known}))


def asked(**changed):
    usual = {"ledger": OWN, "allowed": set(range(8)), "smt": False, "mem_mb": 100, "run_cores": 0, "run_mem_mb": 0}
    return SimpleNamespace(**usual | changed)


@pytest.fixture
def node(monkeypatch):
    """A node of 8 CPUs, of which 4 are free; its run has one job."""
    found = SimpleNamespace(free=4, jobs=[job()], cpus=8, memory_mib=10_000, slurm_job=None)
    monkeypatch.setattr(free_cpus, "open_file", lambda path, access: os.open(os.devnull, access))
    monkeypatch.setattr(free_cpus, "machine_cores", lambda runtime, allowed: ())
    monkeypatch.setattr(free_cpus, "free_units", lambda fd, every: list(range(found.free)))
    monkeypatch.setattr(free_cpus, "unfinished", lambda runtime: found.jobs)
    monkeypatch.setattr(free_cpus, "slurm_job_id", lambda: found.slurm_job)
    monkeypatch.setattr(free_cpus, "limits", lambda affinity: {"cpus": found.cpus, "memory_mib": found.memory_mib})
    return found


@pytest.mark.parametrize(
    ("changed", "settings", "expected"),
    [
        ({}, {}, 4),  # the CPUs that no job has
        ({"cpus": 3.5}, {}, 1),  # a quota of time, of which jobs have 2
        ({"cpus": 1}, {}, 0),
        ({}, {"run_cores": 5}, 3),
        ({"jobs": [job(), job("4", OTHER), job("5", THIRD)]}, {"run_cores": 5}, 3),  # others have cores of their own
        ({"memory_mib": 1350}, {}, 3),
        ({"memory_mib": 1350}, {"mem_mb": 0}, 4),  # a rule that asks for no memory
        ({"memory_mib": 2350, "jobs": [job(), job("4-5", OTHER)]}, {}, 3),  # all runs share the node's
        ({}, {"run_mem_mb": 1250}, 2),
        ({"jobs": [job(), job("4-5", OTHER)]}, {"run_mem_mb": 1250}, 2),
        ({}, {"run_mem_mb": 900}, 0),
        ({"jobs": [job(), job(None)]}, {}, 0),  # a job waits for CPUs
        ({"jobs": [job(), job(None, OTHER)]}, {}, 0),
        ({"jobs": [job(), job(None, binding="none")]}, {}, 4),  # a job that takes none
        ({"jobs": [job(), job(None, binding="scatter")]}, {}, 0),
        ({"jobs": [job(), job(None, awaits="another run's job at its outputs")]}, {}, 4),
        ({"jobs": [job(slurm_job_id="7"), job("2-5", slurm_job_id="8")], "cpus": 4, "slurm_job": "7"}, {}, 2),
        ({"jobs": [job(slurm_job_id="7"), job("2-5", slurm_job_id="8")], "cpus": 7}, {}, 1),
    ],
)
def test_free_cpus_within_what_the_run_may_use(node, changed, settings, expected):
    vars(node).update(changed)
    assert spare("runtime", asked(**settings)) == expected


@pytest.mark.parametrize(
    ("changed", "settings", "expected"),
    [
        ({}, {}, 2),
        ({"jobs": [job(), job(None)]}, {}, 2),  # whoever waits, these are the caller's
        ({"free": 2}, {}, 4),
        ({"memory_mib": 1150}, {}, 1),  # for which there must be memory
        ({"memory_mib": 900}, {}, 0),
        ({"cpus": 1}, {}, 2),
    ],
)
def test_cpus_that_the_caller_has_and_leaves_idle_are_spare(node, changed, settings, expected):
    vars(node).update({"free": 0} | changed)
    assert spare("runtime", asked(**settings), held=2) == expected


@pytest.mark.parametrize(
    ("beside", "free", "memory_mib", "expected"),
    [
        (job("2-4", step="qc"), 0, 10_000, 3),
        (job("2-4", step="qc"), 1, 10_000, 4),
        (job("2-4", step="qc"), 0, 1200, 2),  # its memory is as good as free, too
        (job("2-4", OTHER, step="qc"), 0, 10_000, 0),  # other jobs of that run may be ready
        (job("2-4", THIRD, step="qc"), 0, 10_000, 0),
        (job("2-4", step="quantify"), 0, 10_000, 0),
    ],
)
def test_jobs_that_nothing_waits_for_count_as_over_soon(node, beside, free, memory_mib, expected):
    node.free, node.memory_mib = free, memory_mib
    node.jobs.append(beside)
    assert spare("runtime", asked(), soon=True) == expected
    assert spare("runtime", asked()) == (free if memory_mib > 2000 else 0)


def test_where_all_cpus_are_allocated_no_journal_is_read(node, monkeypatch):
    node.free = 0
    monkeypatch.delattr(free_cpus, "unfinished")
    assert spare("runtime", asked()) == 0


def part(job_id, mem_mb=100, cpus="0", gang=None):
    return {"record": {"id": job_id, "mem_mb": mem_mb, "cpus": cpus, "gang": gang}}


@pytest.mark.parametrize(
    ("jobs", "cpus", "mem_mb"),
    [
        ([part("a", cpus="0-1"), part("b", cpus="2")], 3, 200),
        ([part("a"), part("b", gang="a")], 1, 100),  # a part that runs in the memory of the job around
        ([part("b"), part("a", gang="b")], 1, 100),
        ([part("a", cpus="0-1"), part("b", cpus="0", gang="a"), part("c", cpus="1", gang="a")], 2, 200),
        ([part("a"), part("b", gang="a"), part("c", cpus="1")], 2, 200),
        ([part("a", gang="a"), part("b", gang="a")], 1, 100),  # once it knows that it has parts
        ([part("a", gang="pipe"), part("b", gang="pipe")], 1, 200),  # members of a pipe ask each for their own
        ([part("a", cpus=None, mem_mb=None)], 0, 0),
    ],
)
def test_what_a_job_and_its_parts_have_together_is_counted_once(jobs, cpus, mem_mb):
    assert (allocated(jobs), requested_mb(jobs)) == (cpus, mem_mb)


# ---- when a step looks


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands, a node on which `spare` are spare, and the locks that were asked for."""
    known = SimpleNamespace(now=1000.0, spare=0, looks=0, locks=[], locked_by_another=False)

    def found(runtime, settings, soon=False, held=0):
        known.looks += 1
        return known.spare + held

    def releases(path, signals):
        assert (path, signals) == ("runtime/cpus", True)
        return SimpleNamespace(heard=lambda: None)

    def lock(fd, command, kind, byte):
        if known.locked_by_another:
            raise BlockingIOError
        known.locks.append(kind)

    def sleep(seconds):
        known.now += seconds

    monkeypatch.setattr(free_cpus, "time", SimpleNamespace(monotonic=lambda: known.now, sleep=sleep))
    monkeypatch.setattr(free_cpus, "spare", found)
    monkeypatch.setattr(free_cpus, "byte_lock", lock)
    monkeypatch.setattr(free_cpus, "open_file", lambda path: -1)
    monkeypatch.setattr(free_cpus, "Releases", releases)
    return known


def step(shards=0):
    return SpareCpus("runtime", asked(), shards)


def test_a_step_looks_at_once_for_its_first_shards_and_then_when_they_are_noted(clock):
    cpus, clock.spare = step(shards=2), 3
    assert cpus.room() == 2
    assert cpus.next_s() == SETTLED_S
    clock.now += SETTLED_S / 2
    assert (cpus.room(), clock.looks) == (0, 1)
    clock.now += SETTLED_S / 2
    assert (cpus.room(), clock.looks) == (3, 2)
    assert clock.locks == [fcntl.F_WRLCK]
    assert cpus.next_s() == SETTLED_S


def test_the_places_of_shards_that_ended_are_looked_at_before_it_is_time(clock):
    cpus, clock.spare = step(), 0
    assert cpus.room() == 0
    clock.spare, cpus.ended = 3, 1
    assert (cpus.room(), cpus.ended) == (1, 0)
    assert cpus.next_s() == WATCH_S, "no sooner and no later than before"


def test_a_step_watches_for_a_while_and_then_leaves_it_to_others(clock):
    cpus = step()
    assert (cpus.room(), cpus.next_s()) == (0, WATCH_S)
    clock.now += WATCH_S
    assert (cpus.room(), cpus.next_s(), clock.looks) == (0, TURN_S, 2)
    assert clock.locks == [fcntl.F_WRLCK, fcntl.F_UNLCK]
    clock.now += TURN_S
    assert (cpus.room(), cpus.next_s(), clock.looks) == (0, WATCH_S, 3)
    clock.now += WATCH_S + 1
    assert (cpus.room(), cpus.next_s(), clock.looks) == (0, TURN_S, 4), "late, it leaves it all the same"


def test_what_is_released_is_looked_at_once_others_had_time_to_take_it(clock):
    cpus = step()
    cpus.room()
    clock.now += 1
    cpus.released()
    assert cpus.next_s() == SETTLED_S
    clock.now += SETTLED_S / 2
    cpus.released()
    assert cpus.next_s() == SETTLED_S / 2, "one release after another puts nothing off"


def test_while_another_step_watches_there_is_no_look(clock):
    cpus, clock.spare, clock.locked_by_another = step(), 3, True
    assert (cpus.room(), cpus.next_s(), clock.looks) == (0, TURN_S, 0)
    clock.now, clock.locked_by_another = clock.now + TURN_S, False
    assert cpus.room() == 3


def test_a_step_with_no_shard_that_waits_leaves_the_watch(clock):
    cpus, clock.spare = step(), 1
    cpus.room()
    cpus.rest()
    assert cpus.is_watching, "what it started is not noted yet"
    clock.now += SETTLED_S + 1
    cpus.rest()
    assert (cpus.is_watching, clock.locks, cpus.next_s()) == (False, [fcntl.F_WRLCK, fcntl.F_UNLCK], TURN_S)


def test_cpus_that_the_step_leaves_idle_are_room_for_its_shards(clock):
    cpus, clock.spare = step(shards=9), 1
    assert cpus.room(held=2) == 3
    clock.now += SETTLED_S
    assert (cpus.room(held=2), cpus.room()) == (3, 0)
    clock.now += SETTLED_S
    assert cpus.room() == 1


def test_time_that_has_passed_is_none_to_wait(clock):
    cpus = step(shards=1)
    cpus.room()
    clock.now += 2 * SETTLED_S
    assert cpus.next_s() == 0


@pytest.mark.parametrize(("looks", "expected", "took_s"), [([3, 2], 2, SETTLED_S), ([2, 3], 2, SETTLED_S), ([0], 0, 0)])
def test_what_is_spare_between_two_jobs_of_snakemake_is_not_settled(clock, monkeypatch, looks, expected, took_s):
    def look(runtime, settings, soon, held):
        assert (soon, held) == (True, 1)
        return looks.pop(0)

    monkeypatch.setattr(free_cpus, "spare", look)
    assert settled_spare("runtime", asked(), held=1) == expected
    assert (clock.now, looks) == (1000.0 + took_s, [])
