"""Ledgers of several nodes are one, and no duration is taken across the clocks of two hosts."""

import json
from datetime import UTC, datetime

import pytest
import recording
from test_ledger_command import clock, gpd, record

from gpd.commands import run_display
from gpd.records.ledger import Attempt, last_attempts, one_clock, read_ledger
from gpd.tables import rows
from gpd.tables.disturbances import waited_for_cpus_s
from gpd.tables.summary import summarize

BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the ledgers of nodes by their names, "" for the one of none; return the one that people name."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))

    def write(**ledgers):
        for name, records in ledgers.items():
            path = tmp_path / ("ledger.jsonl" if name == "none" else f"ledger.{name}.jsonl")
            path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        return tmp_path / "ledger.jsonl"

    return write


def samples(path):
    return [attempt.wildcards["sample"] for attempt in read_ledger(path)]


def test_ledgers_of_nodes_are_read_with_the_one_that_is_named(write):
    path = write(
        none=[record(1, recorded=clock(1)), record(4, recorded=clock(8))],
        n1=[record(3, recorded=clock(5))],
        n2=[record(2, recorded=clock(3)), record(5, recorded=clock(9))],
    )
    assert samples(path) == ["S1", "S2", "S3", "S4", "S5"]
    assert samples(path.with_name("ledger.n2.jsonl")) == ["S2", "S5"], "one node's alone, by its name"


def test_a_ledger_of_one_file_is_in_the_order_of_its_lines(write):
    assert samples(write(none=[record(1, recorded=clock(9)), record(2, recorded=clock(1)), record(3)])) == [
        *("S1", "S2", "S3")
    ]


def test_the_lines_of_a_node_stay_in_their_order_though_its_clock_was_set_back(write):
    back = [record(1, recorded=clock(9)), record(2, recorded=clock(1)), record(3)]
    assert samples(write(n1=back, n2=[record(4, recorded=clock(10))])) == ["S1", "S2", "S3", "S4"]


def test_a_run_whose_jobs_were_all_batch_jobs_has_a_ledger(write):
    path = write(n1=[record(1, node="n1")], n2=[record(2, cpus="2-3", node="n2")])
    assert not path.exists()
    assert gpd("check", path.parent).output.startswith("2 attempts at 2 jobs, 0 failed; no two jobs shared a CPU")
    _, heading, first, second = gpd("show", path.parent).output.splitlines()
    assert heading.split()[4:6] == ["node", "CPUs"]
    assert [row.split()[5:7] for row in (first, second)] == [["n1", "0-1"], ["n2", "2-3"]]


def test_a_cpu_that_jobs_of_two_virtual_nodes_held_is_named(write):
    path = write(n1=[record(1, cpus="0")], n2=[record(2, cpus="0")])
    done = gpd("check", path)
    assert done.exit_code == 1
    both = " and ".join(f"{path.with_name(f'ledger.{node}.jsonl')} line 1" for node in ("n1", "n2"))
    assert done.output == f"{both}: both held CPU 0 of node1 at 2026-11-20 12:00:00+00:00\n"


def test_an_attempt_in_two_ledgers_is_named(write):
    path = write(none=[record(1)], n1=[record(1)])
    assert f"{path.with_name('ledger.n1.jsonl')} line 1: the same attempt as {path} line 1" in gpd("check", path).output


# ---- clocks


def attempt(sample, begin_s=0.0, wall_s=10.0, host="h1", exit_code=0, **told):
    return recording.attempt("map", sample, begin_s, wall_s, exit_code, host=host, **told)


TWO_HOSTS = [attempt("A"), attempt("B", 3600, host="h2")]  # whose clock is an hour ahead


def test_one_clock():
    assert one_clock([])
    assert one_clock([attempt("A"), attempt("B", node="n2")]), "two virtual nodes of a host"
    assert not one_clock(TWO_HOSTS)
    never = Attempt("map", "map", {}, 1, None, None, None, 0, None, "log", host="h3")
    assert one_clock([attempt("A"), never])


def test_a_makespan_over_hosts_is_by_the_clock_of_who_started_the_run():
    summary = summarize(TWO_HOSTS, ["map"], wall_s=30.0)
    assert summary.makespan_s == 30
    assert run_display.finished_lines(summary) == [
        "2 of 2 samples finished in 30.0 s",
        "jobs ran on several hosts, whose clocks differ: the time is the whole run's, by this one's clock",
    ]


def test_a_makespan_over_hosts_that_nobody_timed_is_not_known():
    summary = summarize(TWO_HOSTS, ["map"])
    assert summary.makespan_s is None
    assert summarize(TWO_HOSTS[:1], ["map"], wall_s=30.0).makespan_s == 10, "one host: from first start to last end"


def test_waits_are_not_laid_over_those_of_another_host():
    jobs = [attempt("A", 100, wait_s=40), attempt("B", 130, wait_s=60, host="h2"), attempt("C", 300, wait_s=10)]
    assert waited_for_cpus_s(jobs) == 60


def test_memory_at_one_time_is_that_of_one_host():
    jobs = [
        attempt("A", peak_rss_mib=100),
        attempt("B", 5, peak_rss_mib=50),
        attempt("C", 5, host="h2", peak_rss_mib=120),
    ]
    assert rows.peak_memory_mib(jobs) == 150


def test_the_attempt_that_slurm_started_later_counts_though_that_clock_is_behind():
    later = attempt("A", -60, host="h2", attempt=2, slurm_job_id="7")
    earlier = attempt("A", 0, exit_code=1, attempt=1, slurm_job_id="7")
    assert last_attempts([later, earlier]) == [later]
    retried = attempt("A", 0, exit_code=1, attempt=1, slurm_job_id="8")
    assert last_attempts([later, retried]) == [retried], "another Slurm job: a run of its own"
