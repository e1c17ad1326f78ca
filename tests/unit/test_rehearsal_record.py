"""What the recorded rehearsal took is within what rules ask for now: memory, time, and the share of quality."""

import sys
from collections.abc import Mapping

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow/scripts/resources"))

import runtimes

from gpd.pipelines import FIXED, GERMLINE, HUMAN_30X_GIGABASES
from gpd.sizing import rehearsal_machine
from gpd.sizing.rehearsal_machine import Genome, Rehearsal, RehearsedJob

MOST_QC = 0.03  # of the pipeline's CPU time


@pytest.fixture(scope="module")
def recorded() -> Rehearsal:
    return rehearsal_machine.read(ROOT / "tests/golden/rehearsal/rehearsal.json")


@pytest.fixture(scope="module")
def limits() -> Mapping[str, runtimes.Row]:
    return runtimes.read(ROOT / "workflow/runtimes.tsv", ("gatk4", "bwa"))


def minutes(job: RehearsedJob, limits: Mapping[str, runtimes.Row]) -> int:
    """What a scheduler is asked for; a shard's job has the time of the whole."""
    row = limits.get(job.rule, limits[runtimes.OTHERS])
    return row.runtime(job.gigabases, job.threads, scatters=job.shard is not None)


def test_no_job_took_more_memory_than_it_asks_for(recorded: Rehearsal) -> None:
    over = [job for job in recorded.jobs if job.mem_mb and (job.peak_rss_mib or 0) * 1.048576 > job.mem_mb]
    assert over == []


def test_no_job_took_longer_than_a_scheduler_lets_it(recorded: Rehearsal, limits: Mapping[str, runtimes.Row]) -> None:
    assert [job for job in recorded.jobs if job.wall_s > 60 * minutes(job, limits)] == []


def test_quality_takes_a_small_share(recorded: Rehearsal) -> None:
    jobs = [job for job in recorded.jobs if job.step in ("qc", *GERMLINE.steps)]
    assert sum(job.cpu_s for job in jobs if job.step == "qc") <= MOST_QC * sum(job.cpu_s for job in jobs)


def test_what_does_not_grow_with_bases_is_what_a_genome_without_reads_takes(recorded: Rehearsal) -> None:
    none, whole = (Genome(recorded, gigabases).seconds.value for gigabases in (0.0, HUMAN_30X_GIGABASES))
    assert (none, whole) == pytest.approx((2_707, 282_991), abs=0.5)
    assert none / whole == pytest.approx(FIXED, rel=1e-3)
