"""What a cluster takes from a run: a node, a job, its controller, Snakemake itself. README.md has the table."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from launching import wait_until
from running import HOLD, RUN_S, Cohort, cluster_for_tests, submitted

from gpd.execution import workflow
from gpd.execution.snakemake.__main__ import SILENT

pytestmark = pytest.mark.slurm


# as `gpd run` starts Snakemake; a shell's background has made it deaf for SIGINT, which a terminal would send
AS_GPD = """
import sys
from pathlib import Path
from gpd.execution import interruption, workflow
workflow.FORGET_LOOK_S, workflow.FORGET_PATIENCE_S = 1.0, 10.0
with interruption.catching():
    workflow.run(sys.argv[2:], Path(sys.argv[1]), lambda state: None, elsewhere=True)
"""
# the plugin's question after its jobs is answered when the test says so
HELD_SQUEUE = """#!/bin/sh
while [ -e {folder}/held ]; do
    case "$*" in *--name*) touch {folder}/asked; sleep 0.1;; *) break;; esac
done
exec {squeue} "$@"
"""
THROUGH_GPD = ("env", "--default-signal=INT", sys.executable, "-c", AS_GPD, "as_gpd.log")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_for_tests() as made:
        yield made


@pytest.fixture
def cohort(cluster: Cluster, tmp_path: Path) -> Iterator[Cohort]:
    """A goes on until it is let go, B ends at once."""
    made = Cohort.made(tmp_path, cluster, {"A": HOLD, "B": "true"})
    made.hold("A")
    yield made
    made.end()


def test_a_node_goes_down_and_its_job_runs_again(cohort: Cohort, figure: Callable[[str], None]) -> None:
    run = cohort.start()
    job, node = cohort.begun("A")
    cohort.cluster.cut_off(node)
    again, _ = cohort.begun("A", times=2)
    cohort.let_go()
    cohort.cluster.bring_back(node)
    assert run.end() == 0, run.output
    assert again == job  # requeued by Slurm; Snakemake did not see it fail
    first, second = cohort.attempts("A")
    figure(
        f"Slurm, a node down: {first['cause']}: {first['message']}; attempts {first['attempt']}, {second['attempt']}"
    )
    assert (first["cause"], second["cause"]) == ("killed", None)
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert [record["cause"] for record in cohort.attempts("B")] == [None]


def test_a_cancelled_job_fails_its_sample_alone(cohort: Cohort, figure: Callable[[str], None]) -> None:
    run = cohort.start()
    job, _ = cohort.begun("A")
    cohort.cluster.run("scancel", job)
    assert run.end() == 1, run.output
    (record,) = cohort.attempts("A")
    figure(f"Slurm, scancel: {record['cause']}: {record['message']}")
    assert record["cause"] == "killed"
    assert "cancelled" in record["message"]
    assert [record["cause"] for record in cohort.attempts("B")] == [None]
    assert not cohort.is_done()

    cohort.let_go()
    again = cohort.run()
    assert again.process.returncode == 0, again.output
    assert len(submitted(again)) == 1  # A's alone
    assert cohort.is_done()


def test_ctrl_c_of_gpd_ends_its_jobs(cohort: Cohort, figure: Callable[[str], None]) -> None:
    run = cohort.start(through=THROUGH_GPD)
    cohort.begun("A")
    run.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert run.end() != 0
    wait_until(lambda: not cohort.cluster.running())
    figure(f"Slurm, Ctrl-C of gpd: no job left after {time.monotonic() - began:.0f} s")
    (record,) = cohort.attempts("A")
    assert record["cause"] == "killed"
    assert not (cohort.folder / "results/write/A.txt").exists()

    cohort.let_go()
    again = cohort.run("--unlock")
    assert again.process.returncode == 0, again.output
    again = cohort.run()
    assert again.process.returncode == 0, again.output
    assert cohort.is_done()


def test_ctrl_c_while_snakemake_asks_what_became_of_its_jobs(cohort: Cohort) -> None:
    """Its plugin has none on its list of active jobs meanwhile, and cancels none."""
    squeue = cohort.folder / "bin" / "squeue"
    squeue.parent.mkdir()
    squeue.write_text(HELD_SQUEUE.format(folder=cohort.folder, squeue=shutil.which("squeue")))
    squeue.chmod(0o755)
    path = f"PATH={squeue.parent}{os.pathsep}{cohort.cluster.environment['PATH']}"
    held = cohort.folder / "held"
    run = cohort.start(through=(*THROUGH_GPD[:2], path, *THROUGH_GPD[2:]))
    cohort.begun("A")
    held.touch()
    wait_until(lambda: (cohort.folder / "asked").exists(), timeout_s=RUN_S)
    run.process.send_signal(signal.SIGINT)
    time.sleep(2)  # it cancels jobs at once, and then waits for the answer
    held.unlink()
    assert run.end() != 0
    assert not cohort.cluster.running()


def test_slurmctld_is_killed_and_started_again(cohort: Cohort) -> None:
    """Meanwhile Snakemake asks what became of its jobs."""
    run = cohort.start()
    cohort.begun("A")

    def asked() -> None:
        wait_until(lambda: SILENT in run.output or run.process.poll() is not None, timeout_s=RUN_S)

    cohort.cluster.restart_slurmctld(signal.SIGKILL, meanwhile=asked)
    cohort.let_go()
    assert run.end() == 0, run.output
    assert [record["cause"] for sample in "AB" for record in cohort.attempts(sample)] == [None, None]


def test_snakemake_is_killed_and_started_again(cohort: Cohort, figure: Callable[[str], None]) -> None:
    """The first run's job goes on, for Slurm knows nothing of Snakemake: the second's must not write what it writes."""
    run = cohort.start()
    old, _ = cohort.begun("A")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    unlocked = cohort.run("--unlock")
    assert unlocked.process.returncode == 0, unlocked.output

    second = cohort.start()
    wait_until(lambda: len(cohort.cluster.running()) == 2 or second.process.poll() is not None, timeout_s=RUN_S)
    wait_until(lambda: second.process.poll() is not None or (cohort.folder / "logs/write/A.log").exists())
    cohort.let_go()
    second.end()
    figure(f"Slurm, Snakemake killed: job {old} was at work; the second run ended with {second.process.returncode}")
    last = cohort.run()
    assert last.process.returncode == 0, last.output
    assert cohort.is_done()
    assert cohort.doubled() == []


def test_jobs_that_slurm_forgets_end_the_run_with_a_line(cohort: Cohort) -> None:
    """Snakemake's plugin would wait for them for ever. The last test: their numbers are given again."""
    run = cohort.start(through=THROUGH_GPD)
    cohort.begun("A")
    time.sleep(3)  # so that the job is seen in the queue
    cohort.cluster.forget_jobs()
    run.end()
    assert (cohort.folder / "as_gpd.log").read_text().endswith(workflow.FORGOTTEN)
    wait_until(lambda: not cohort.cluster.running())

    cohort.let_go()
    unlocked = cohort.run("--unlock")
    assert unlocked.process.returncode == 0, unlocked.output
    again = cohort.run()
    assert again.process.returncode == 0, again.output
    assert cohort.is_done()
