"""What Snakemake does as `gpd run` starts it, and does not otherwise."""

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin

from gpd.execution.snakemake import __main__ as as_run
from gpd.execution.snakemake_log import Progress


def still_at_work(jobs: list[SimpleNamespace]) -> list[SimpleNamespace]:
    """Which of these jobs Slurm's plugin goes on with, once it has asked what became of them."""
    settings = SimpleNamespace(status_attempts=2, init_seconds_before_status_checks=1)
    executor = SimpleNamespace(
        workflow=SimpleNamespace(executor_settings=settings),
        logger=logging.getLogger(__name__),
        run_uuid="run",
        get_status_command=lambda: "squeue",
        status_rate_limiter=AsyncExitStack(),
        next_seconds_between_status_checks=1,
        _status_query_calls=0,
        _status_query_failures=0,
        _status_query_total_seconds=0.0,
        _status_query_min_seconds=None,
        _status_query_max_seconds=0.0,
        _status_query_cycle_rows=[],
    )

    async def ask() -> list[SimpleNamespace]:
        return [job async for job in plugin.Executor.check_active_jobs(executor, jobs)]

    return asyncio.run(ask())


def test_jobs_are_kept_where_slurm_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for command in ("scontrol", "squeue", "sacct"):
        (tmp_path / command).write_text("#!/bin/sh\necho Unable to contact slurm controller >&2\nexit 1\n")
        (tmp_path / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(plugin, "query_job_status", plugin.query_job_status)  # as it was, after this test
    jobs = [SimpleNamespace(external_jobid=number, aux={}) for number in ("12", "13")]
    assert still_at_work(jobs) == [], "the plugin forgets none any more: wait_for_slurm() can go"
    as_run.wait_for_slurm()
    assert still_at_work(jobs) == jobs
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [as_run.SILENT]


def test_gpd_run_shows_that_slurm_does_not_answer() -> None:
    progress = Progress()
    progress.read(as_run.SILENT)
    assert progress.notes == [as_run.SILENT]


def test_what_slurm_answers_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(*_: object) -> tuple[dict[str, str], float]:
        return {"12": "RUNNING"}, 0.25

    monkeypatch.setattr(plugin, "query_job_status", answer)
    as_run.wait_for_slurm()
    assert asyncio.run(plugin.query_job_status("squeue", logging.getLogger())) == ({"12": "RUNNING"}, 0.25)
