"""Jobs that wait for CPUs which other jobs hold."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
import recording

from gpd.commands import run_display
from gpd.execution import cpu_waits
from gpd.machines import launcher
from gpd.machines.launcher import OpenJob
from gpd.tables.disturbances import waited, waited_for_cpus_s
from gpd.tables.summary import summarize

THERE = Path("/data/their run")
BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_runs_beside_this_one_are_named(monkeypatch, tmp_path):
    jobs = [OpenJob("map S1", folder, False, 0.0) for folder in (THERE, THERE)]
    monkeypatch.setattr(launcher, "jobs", lambda: jobs)
    with pytest.warns(UserWarning, match=r"^/data/their run: a run is at work there and holds CPUs"):
        cpu_waits.await_former(tmp_path)


def attempt(sample, start_s, wall_s, wait_s):
    return recording.attempt("map", sample, start_s, wall_s, wait_s=wait_s)


def test_seconds_in_which_any_job_waited_count_once():
    jobs = [attempt("A", 100, 10, 40), attempt("B", 90, 10, 10), attempt("C", 200, 5, 20), attempt("D", 0, 1, None)]
    assert waited_for_cpus_s(jobs) == 60


def test_a_figure_of_a_run_that_waited_long_is_qualified():
    jobs = [attempt("A", 0, 77, 0.0), attempt("B", 100, 77, 50.0)]
    summary = summarize(jobs, ["map"])
    last = run_display.finished_lines(summary, waited(jobs, summary.makespan_s))[-1]
    assert last.startswith("jobs waited 50.0 of its 177 s for CPUs that other runs held: this is no figure of")
    assert waited([attempt("A", 0, 77, 0.0), attempt("B", 100, 77, 3.0)], 177.0) == ""


@pytest.mark.deep
def test_a_waiting_job_is_told_from_one_at_work(node, monkeypatch):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(node.runtime))
    every = len(os.sched_getaffinity(0))
    first = node.start("echo > begun; until [ -e go ]; do sleep 0.02; done", threads=every, name="a")
    while not (node.folder / "begun").exists():
        first.poll()
    second = node.start("true", threads=1, name="b")
    while len(found := launcher.jobs()) < 2:
        second.poll()
    (node.folder / "go").touch()
    assert {each.name: each.waits for each in found} == {"rule a": False, "rule b": True}
    assert {each.folder for each in found} == {node.folder}
    assert (first.wait(), second.wait()) == (0, 0)
    assert launcher.jobs() == []
