"""The simulated node: no work lost or made up, no makespan that work, cores and chains do not allow."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpd.sizing.simulate import Node, SimulationError, Task, dealt, simulate

SECONDS = st.floats(0.5, 1000)


@st.composite
def task_lists(draw, widest=4):
    """Jobs of some samples, each a chain of up to four."""
    found = []
    for sample in range(draw(st.integers(1, 5))):
        before = ()
        for step in range(draw(st.integers(1, 4))):
            name = f"{step} of {sample}"
            width = draw(st.integers(1, widest))
            found.append(Task(name, str(step), draw(SECONDS), draw(SECONDS), width, before, priority=-sample))
            before = (name,)
    return found


def seconds_alone(task, cores):
    return task.serial_s + task.parallel_core_s / min(task.width, cores)


def chain_s(tasks, cores):
    """How long the longest chain takes on an empty machine."""
    ends = {}
    for task in tasks:
        ends[task.name] = max((ends[name] for name in task.after), default=0.0) + seconds_alone(task, cores)
    return max(ends.values())


@settings(deadline=None, max_examples=50)
@given(task_lists(), st.integers(1, 8), st.booleans())
def test_no_makespan_is_shorter_than_the_longest_chain_or_the_work_on_all_cores(tasks, cores, leased):
    found = simulate(tasks, Node(cores, leased=leased))
    work_core_s = sum(task.serial_s + task.parallel_core_s for task in tasks)
    assert found.makespan_s >= chain_s(tasks, cores) * (1 - 1e-6)
    assert found.makespan_s >= work_core_s / cores * (1 - 1e-6)


@settings(deadline=None, max_examples=50)
@given(task_lists(), st.integers(1, 8))
def test_no_schedule_is_longer_than_all_jobs_one_after_the_other(tasks, cores):
    found = simulate(tasks, Node(cores))
    assert found.makespan_s <= sum(seconds_alone(task, cores) for task in tasks) * (1 + 1e-6)


@settings(deadline=None, max_examples=50)
@given(task_lists(), st.integers(1, 8))
def test_jobs_hold_their_cores_for_as_long_as_they_run(tasks, cores):
    found = simulate(tasks, Node(cores))
    held = sum(min(task.width, cores) * seconds_alone(task, cores) for task in tasks)
    assert found.held_core_s == pytest.approx(held, rel=1e-6)
    assert found.full_s <= found.makespan_s * (1 + 1e-6)


@settings(deadline=None, max_examples=50)
@given(task_lists(), st.integers(1, 8))
def test_jobs_without_leases_do_no_more_and_no_less_than_their_work(tasks, cores):
    found = simulate(tasks, Node(cores, leased=False))
    ends = {name: span.end_s for name, span in found.spans.items()}
    assert len(ends) == len(tasks)
    assert all(ends[name] <= found.spans[task.name].start_s + 1e-6 for task in tasks for name in task.after)
    assert found.held_core_s >= sum(task.serial_s + task.parallel_core_s for task in tasks) * (1 - 1e-6)


@settings(deadline=None, max_examples=50)
@given(task_lists(widest=1), st.integers(1, 7))
def test_at_no_moment_do_jobs_hold_more_cores_than_there_are(tasks, cores):
    spans = list(simulate(tasks, Node(cores)).spans.values())
    for moment in {span.start_s for span in spans}:
        assert sum(span.start_s <= moment < span.end_s for span in spans) <= cores


@pytest.mark.deep
@settings(deadline=None, max_examples=50)
@given(st.lists(SECONDS, min_size=1, max_size=20), st.integers(1, 8))
def test_twice_the_cores_take_no_longer_for_jobs_that_wait_for_nothing(works, cores):
    """One core more may (Graham's anomalies are of chains), yet never beyond his bound for lists."""
    tasks = [Task(str(at), "", work) for at, work in enumerate(works)]
    few, many = (simulate(tasks, Node(number)).makespan_s for number in (cores, 2 * cores))
    assert many <= few * (1 + 1e-6)
    assert few <= (sum(works) / cores + max(works)) * (1 + 1e-6)


@settings(deadline=None, max_examples=50)
@given(task_lists(), st.integers(1, 4), st.floats(0.01, 0.5))
def test_jobs_that_slow_each_other_take_no_less_time(tasks, cores, slowdown):
    slowed = [replace(task, slowdown=slowdown) for task in tasks]
    node = Node(cores, leased=False)
    assert simulate(slowed, node).makespan_s >= simulate(tasks, node).makespan_s * (1 - 1e-6)


def test_a_slowdown_is_a_share_for_each_other_job_that_runs():
    tasks = [Task(str(at), "", 100.0, slowdown=0.1) for at in range(3)]
    assert simulate(tasks, Node(3)).makespan_s == pytest.approx(120)
    assert simulate(tasks, Node(1)).makespan_s == pytest.approx(300)


def test_what_starts_first_is_what_has_the_highest_priority_and_fits():
    tasks = [Task("wide", "", 10, width=2, priority=2), Task("first", "", 10, priority=3), Task("gap", "", 10)]
    spans = simulate(tasks, Node(2)).spans
    assert [spans[name].start_s for name in ("first", "gap", "wide")] == [0, 0, 10]


def test_memory_keeps_jobs_waiting_and_its_peak_is_what_ran_at_once():
    tasks = [Task(str(at), "", 10, memory_mib=600) for at in range(4)]
    free, tight = (simulate(tasks, Node(4, memory)) for memory in (None, 1300))
    assert (free.makespan_s, free.peak_memory_mib) == (10, 2400)
    assert (tight.makespan_s, tight.peak_memory_mib) == (20, 1200)
    assert simulate(tasks, Node(4, 100)).makespan_s == 40, "larger than the node: one at a time"


def test_a_job_starts_when_it_is_seen_that_the_one_before_ended():
    tasks = [Task("a", "", 10), Task("b", "", 10, after=("a",), delay_s=3)]
    assert simulate(tasks, Node(1)).spans["b"].start_s == 13


CUT = Task("a", "", 50, memory_mib=600, pieces=3, piece_s=lambda pieces: 8 + 42 / pieces)


def test_a_job_is_cut_where_cores_are_free_and_each_piece_has_its_start():
    assert [simulate([CUT], Node(cores)).makespan_s for cores in (1, 2, 8)] == [50, 8 + 42 / 2, 8 + 42 / 3]
    assert simulate([CUT], Node(8)).peak_memory_mib == 1800
    assert simulate([CUT], Node(8, 1300)).makespan_s == 8 + 42 / 2, "memory for two pieces"
    assert simulate([CUT], Node(8, leased=False)).makespan_s == 50, "without leases nobody knows which cores are free"


def test_cores_that_others_want_or_will_within_a_moment_are_not_free_for_pieces():
    others = [Task("b", "", 5), Task("c", "", 50, after=("b",), delay_s=0.2)]
    first = Task("before", "", 5)
    later = replace(CUT, after=("before",), delay_s=0.1)
    assert simulate([CUT, Task("b", "", 50)], Node(2)).makespan_s == 50
    assert simulate([first, later, *others], Node(2)).spans["a"].end_s == pytest.approx(55.1), "c is about to start"


def test_cores_of_jobs_of_no_step_are_soon_free_for_pieces():
    statistics = Task("statistics", "", 1, timed=False)
    assert simulate([CUT, statistics], Node(2)).makespan_s == 8 + 42 / 2
    assert simulate([CUT, replace(statistics, timed=True)], Node(2)).makespan_s == 50


def test_jobs_of_no_step_take_cores_and_are_in_no_makespan():
    tasks = [Task("a", "", 10), Task("quality", "", 30, timed=False)]
    assert simulate(tasks, Node(2)).makespan_s == 10
    assert simulate(tasks, Node(1)).makespan_s == 10


def test_jobs_that_wait_for_what_never_ends_are_named():
    with pytest.raises(SimulationError, match="never ends: a"):
        simulate([Task("a", "", 1, after=("nothing",))], Node(1))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 64), min_size=1, max_size=20), st.integers(1, 128))
def test_cores_are_dealt_out_to_the_last_and_to_none_more_than_it_wants(wanted, cores):
    shares = dealt(wanted, cores)
    assert all(share <= want + 1e-9 for share, want in zip(shares, wanted, strict=True))
    assert sum(shares) == pytest.approx(min(sum(wanted), cores))
    lacking = [share for share, want in zip(shares, wanted, strict=True) if share < want - 1e-9]
    assert all(share >= max(shares) - 1e-9 for share in lacking), "who lacks has as much as anybody"
