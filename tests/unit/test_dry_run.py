"""What a dry run shows: a table of its jobs, and two lines of what they will need."""

import sys

import pytest
from conftest import ROOT
from recording import write_pool
from subcommands import gpd

from gpd.commands import run_plan
from gpd.execution import configuration, snakemake_log, workflow
from gpd.execution.snakemake_log import PlannedJob
from gpd.machines import launcher

GB = 10**9
# core seconds a gigabase, by rule
ROWS = {
    line.split("\t")[0]: float(line.split("\t")[3])
    for line in (ROOT / "workflow/runtimes.tsv").read_text().splitlines()[1:]
    if line.split("\t")[1] in ("", "bwa", "gatk4")
}


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """Two samples of 5 gigabases, which take no room on the disk."""
    write_pool(tmp_path, 2)
    for name in ("S1", "S2"):
        with (tmp_path / f"{name}.fq.gz").open("wb") as file:
            file.truncate(5 * GB // 2)
    (tmp_path / "genome.fa").write_bytes(bytes(1000))
    units = tmp_path / "config/units.tsv"
    units.write_text(units.read_text().replace(".fq", ".fq.gz"))
    monkeypatch.setattr(launcher, "jobs", list)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(rule, threads=1, mem_mb=1000, **wildcards):
    return PlannedJob(rule, (), threads, mem_mb, wildcards)


def needs(pool, *jobs, cores=8):
    found = configuration.read([pool / "config/config.yaml"], pool, "germline")
    return run_plan.estimate(jobs, found, pool, cores)


def test_core_seconds_are_those_of_the_table_for_the_bases_that_jobs_read(pool):
    lanes = [job("map_and_sort", threads=4, sample=name, unit="L1") for name in ("S1", "S2")]
    whole = job("genotype_gvcfs", callset="cohort")
    found = needs(pool, *lanes, whole)
    mapping, calling = 5 * ROWS["map_and_sort"], 10 * ROWS["genotype_gvcfs"]
    assert found["core_s"] == pytest.approx(2 * mapping + calling)
    assert found["chain_s"] == pytest.approx(mapping / 4 + calling / 8), "samples go side by side, their cohort after"


def test_an_interval_has_its_part_and_a_rule_without_a_row_takes_nothing(pool):
    parts = [job("genotype_interval", interval=f"{number}of2") for number in (1, 2)]
    found = needs(pool, *parts, job("list_files", folder="qc"))
    assert found["core_s"] == pytest.approx(10 * ROWS["genotype_interval"])
    assert found["chain_s"] == pytest.approx(5 * ROWS["genotype_interval"])


def test_disk_is_that_of_samples_whose_alignments_are_to_be_made(pool):
    none, one, both = (
        needs(pool, *(job("mark_duplicates", sample=name) for name in names)) for names in ([], ["S1"], ["S1", "S2"])
    )
    assert (none["kept"], none["at_work"]) == (0, 0)
    assert both["kept"] == pytest.approx(2 * one["kept"]) and one["kept"] > 2 * GB
    assert both["at_work"] == one["at_work"] > 2 * GB


def test_a_reference_that_is_not_there_yet_is_no_error(pool):
    (pool / "genome.fa").unlink()
    assert needs(pool, job("reference"))["kept"] > 0


PRINTED = [
    *("SNAKEMAKE", "Building DAG of jobs...", "Job stats:", "job             count", "------------  -------"),
    *("map_and_sort         1", "total                1", ""),
    *("rule map_and_sort:", "    output: a.bam, a.bai", "    jobid: 3", "    wildcards: sample=S1, unit=L1"),
    *("    threads: 2", "    resources: tmpdir=<TBD>, mem_mb=4650, even_share=1", ""),
    *("Job stats:", "job             count", "total                1", "", "This was a dry-run (flag -n)."),
]


def dry_run(monkeypatch, *words):
    snakemake = [sys.executable, "-c", f"print({chr(10).join(PRINTED)!r})", "--cores", "2"]
    monkeypatch.setattr(workflow, "command", lambda *_, **__: snakemake)
    done = gpd("run", "germline", "--dry-run", *words)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_a_dry_run_is_a_table_and_two_lines(pool, monkeypatch):
    *table, disk, time, more = dry_run(monkeypatch)
    assert table == PRINTED[3:7]
    assert disk.startswith("disk: about 0 GB more in the end; ") and disk.endswith(" are free")
    core_hours = 5 * ROWS["map_and_sort"] / 3600
    assert time.startswith(f"time: about {core_hours:.1f} core hours, about {core_hours / 2:.1f} hours on 2 cores (")
    assert time.endswith("; memory: up to 4.65 GB a job")
    assert more == "--verbose shows each job"


@pytest.mark.parametrize("words", [("--verbose",), ("--printshellcmds",), ("-p",)], ids=" ".join)
def test_who_asks_for_jobs_sees_them(pool, monkeypatch, words):
    assert dry_run(monkeypatch, *words) == PRINTED[2:]


def test_the_wildcards_of_planned_jobs_are_read():
    (found,) = snakemake_log.planned_jobs(PRINTED)
    assert found == PlannedJob("map_and_sort", ("a.bam", "a.bai"), 2, 4650, {"sample": "S1", "unit": "L1"})
