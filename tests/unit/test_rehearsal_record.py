"""What the recorded rehearsal took is within what rules ask for now: memory, time, and the share of quality."""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts/bench"))
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


@pytest.mark.parametrize("shards", [0, 1, 2])
def test_a_run_cut_off_early_shows_what_it_has(
    recorded: Rehearsal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shards: int,
) -> None:
    """Of one sample, with so few shards that they tell no law yet."""
    deepest = max(recorded.gigabases, key=lambda sample: recorded.gigabases[sample])
    own = [job for job in recorded.jobs if job.sample == deepest]
    whole, parts = [job for job in own if not job.shard], [job for job in own if job.rule == "haplotype_caller"]
    early = msgspec.structs.replace(
        recorded, gigabases={deepest: recorded.gigabases[deepest]}, jobs=(*whole, *parts[:shards])
    )
    bench = script(ROOT / "scripts/bench/rehearsal.py")
    (tmp_path / "early.json").write_bytes(msgspec.json.encode(early))
    monkeypatch.setattr(bench, "RECORDED", tmp_path / "early.json")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["rehearsal.py", "--smallest"])
    assert bench.main() == 0
    shown = capsys.readouterr().out
    assert "too alike to tell what reads take" in shown
    assert "share of quality in CPU time" in shown
    assert "foretells" not in shown
    assert "extrapolated" not in shown
