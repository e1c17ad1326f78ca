"""What the recorded rehearsal took is within what rules ask for now: memory, time, and the share of quality."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from conftest import ROOT, script
from recording import attempt

sys.path.insert(0, str(ROOT / "scripts/bench"))
sys.path.insert(0, str(ROOT / "workflow/scripts/resources"))

import runtimes

from gpd.pipelines import FIXED, GERMLINE, HUMAN_30X_GIGABASES
from gpd.sizing import rehearsal_machine
from gpd.sizing.rehearsal_machine import Genome, Rehearsal, RehearsedJob

BENCH = script(ROOT / "scripts/bench/rehearsal.py")
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
    assert (none, whole) == pytest.approx((2_645, 332_148), abs=0.5)
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
    (tmp_path / "early.json").write_bytes(msgspec.json.encode(early))
    monkeypatch.setattr(BENCH, "RECORDED", tmp_path / "early.json")
    monkeypatch.setattr(BENCH, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["rehearsal.py", "--smallest"])
    assert BENCH.main() == 0
    shown = capsys.readouterr().out
    assert f"early.json: commit {recorded.commit}" in shown
    assert "too alike to tell what reads take" in shown
    assert "share of quality in CPU time" in shown
    assert "foretells" not in shown
    assert "extrapolated" not in shown


def test_each_job_has_the_reference_and_the_reads_of_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sample all, a shard of it, or, of a call set, an interval with the reads of all samples; chrA has N."""
    files = {
        "ledger.jsonl": "",
        "results/reference/n_free_intervals.bed": "chrA\t0\t2000000\t1\t1000000\nchrB\t0\t1000000\t2\t1000000\n",
        "results/reference/intervals/1of2.bed": "chrA\t0\t2000000\nchrB\t0\t250000\n",
        "results/reference/intervals/2of2.bed": "chrB\t250000\t1000000\n",
        "results/samtools_stats/S3.txt": "SN\ttotal length:\t5\n",  # whose depth is not there yet
    }
    for sample, total in (("S1", 4_000_000), ("S2", 400_000)):
        files[f"results/samtools_stats/{sample}.txt"] = f"SN\ttotal length:\t{total}\n"
        files[f"results/depth/{sample}.txt"] = "chrom\tbases\nchrA\t300\nchrB\t100\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    jobs = [
        attempt("map", "S1"),
        attempt("call", "S1", shard="2/2"),
        attempt("merge", None),
        attempt("map", "S2", exit_code=1),
    ]
    jobs += [attempt("joint", None, wildcards={"interval": f"{number}of2"}) for number in (1, 2)]
    monkeypatch.setattr(BENCH, "read_ledger", lambda path: [replace(each, cpu_s=1.0) for each in jobs])
    found = BENCH.RehearsedFolder(tmp_path).record()
    assert found.gigabases == {"S1": 0.004, "S2": 0.0004}
    assert found.reference_gb == 0.002
    assert [(job.step, job.sample, job.shard, job.reference_gb, job.gigabases) for job in found.jobs] == [
        ("map", "S1", None, 0.002, 0.004),
        ("call", "S1", "2/2", 0.001, 0.001),
        ("merge", None, None, 0.002, 0.0),
        ("joint", None, "1/2", 0.00125, 0.0033 + 0.000275),
        ("joint", None, "2/2", 0.00075, 0.000825),
    ]
