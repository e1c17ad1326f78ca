"""What disturbed a run: each cause with its threshold and its sentence, and that all who show it say the same."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import recorded_studies
import recording
from recording import row_of, run_record
from subcommands import gpd

from gpd.comparison import also_different
from gpd.packages import checks, evidence, pack
from gpd.records.host import Host, Load
from gpd.records.machine_use import MachineUse
from gpd.tables import collect
from gpd.tables.columns import RunRow
from gpd.tables.disturbances import MOST_NAMED, disturbances, in_means, lines, waited

STUDY = recorded_studies.study()
BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)
MAKESPAN_S = 47.0


def attempt(wait_s=0.0, **others):
    """A job of 40 s on two CPUs."""
    return recording.attempt(wall_s=40.0, **{"cpus": "0-1", "wait_s": wait_s} | others)


def found(job=None, **told):
    jobs = [job or attempt()]
    return disturbances(replace(run_record({}), **told), jobs, jobs, MAKESPAN_S, 2)


SLOW = "on average, below their base frequency of 2,000 MHz"


def clocks(mhz):
    return {"machine_use": MachineUse(mhz_mean=mhz), "host": Host(base_mhz=2000.0)}


@pytest.mark.parametrize(
    ("job", "told", "sentence"),
    [
        (attempt(), {}, None),
        (attempt(wait_s=0.9), {}, None),
        (attempt(wait_s=4.0), {}, "jobs waited 4.00 of its 47.0 s for CPUs that other runs held"),
        (attempt(wait_s=6.0), {}, "jobs waited 6.00 of its 47.0 s for CPUs that other runs held"),
        (attempt(other_cpu_s=3.9), {}, None),
        (attempt(other_cpu_s=4.1), {}, "other processes took 4.10 s of its CPUs' time"),
        (attempt(steal_s=4.1), {}, "the hypervisor took 4.10 s of its CPUs' time"),
        (attempt(cpu_contention=True), {}, "other processes were at work on the CPUs of 1 job"),
        (attempt(paused_s=30.0), {}, "suspended for 30.0 s"),
        (None, {"machine_use": MachineUse(cpu_contention=False, other_cpu_s=9.0)}, None),
        (
            None,
            {"machine_use": MachineUse(cpu_contention=True, other_cpu_s=9.0, steal_s=2.0)},
            "other processes took 9.00 s of its CPUs' time and the hypervisor took 2.00 s of its CPUs' time",
        ),
        (None, {"machine_use": MachineUse(throttled_s=2.5)}, "a CPU quota held processes for 2.50 s"),
        (None, {"machine_use": MachineUse(thermal_throttles=3)}, "heat slowed its CPUs 3 times"),
        # 47 s of CPU time in 94 s: half of its CPUs were busy, and so 1,000 of 2,000 MHz are the least to be expected
        (attempt(cpu_s=47.0), clocks(951), None),
        (attempt(cpu_s=47.0), clocks(949), f"its CPUs ran at 949 MHz {SLOW}"),
        (attempt(cpu_s=94.0), clocks(1899), f"its CPUs ran at 1,899 MHz {SLOW}"),
        (attempt(), clocks(800), None),
        (None, {"machine_use": MachineUse(paused_s=30.0)}, "suspended for 30.0 s"),
        (None, {"host": Host(load=Load(busy=False, busy_cpus=0.05))}, None),
        (None, {"host": Host(load=Load(busy=True, busy_cpus=0.9))}, "0.900 CPUs were at work before its start"),
    ],
)
def test_each_cause_has_its_threshold_and_its_sentence(job, told, sentence):
    assert found(job, **told) == sentence


def test_a_job_that_waits_for_one_of_its_own_run_is_no_disturbance():
    """As independent instances do; where the other job holds one of three CPUs, two were held by other runs."""
    later = attempt(wait_s=30.0, cpus="0-1")
    later = replace(later, start=later.end, end=later.end + timedelta(seconds=10))
    assert waited([attempt(), later], MAKESPAN_S, 2) == ""
    assert "jobs waited 30.0 of its 47.0 s" in waited([attempt(cpus="2"), later], MAKESPAN_S, 3)
    half = replace(attempt(), end=BEGIN + timedelta(seconds=30))
    assert "jobs waited 10.0 of its 47.0 s" in waited([half, later], MAKESPAN_S, 2)


def test_several_causes_are_one_text():
    told = found(attempt(wait_s=5.0), machine_use=MachineUse(thermal_throttles=1))
    assert told == "jobs waited 5.00 of its 47.0 s for CPUs that other runs held; heat slowed its CPUs 1 time"


def row(number, what):
    return row_of(RunRow, run=f"r{number}", disturbances=what)


def test_the_first_runs_are_named_and_the_others_counted():
    told = list(lines(row(number, "suspended for 3 s") for number in range(MOST_NAMED + 3)))
    assert told[0] == "r0 was disturbed: suspended for 3 s"
    assert told[MOST_NAMED:] == ["3 more runs of 8 disturbed: column disturbances of tables/runs.tsv"]
    assert list(lines([row(1, None)])) == []


@pytest.mark.deep
def test_terminal_page_comparison_and_package_say_the_same(tmp_path):
    folder = shutil.copytree(STUDY, tmp_path / "study")
    tables = collect.collect(folder)
    told = list(lines(in_means(tables.runs)))
    assert told == ["tuxedo-n2-shared-compact-r1 was disturbed: 0.900 CPUs were at work before its start"]
    done = gpd("report", folder)
    assert set(told) <= set(done.stdout.splitlines())
    assert f"{told[0]}." in (folder / "report.html").read_text()
    assert f"study: {told[0]}" in also_different.disturbances("study", in_means(tables.runs))
    found = {verdict.check: verdict for verdict in checks.judge(evidence.gather(pack.make(folder)))}
    assert found["quiet"].why == (told[0].replace(" was disturbed", ""),)
