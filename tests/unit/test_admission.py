"""Which jobs the scheduler `admission` lets start: jobs are made up, files and the free space are the test's."""

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from snakemake_interface_common.exceptions import WorkflowError

import snakemake_scheduler_plugin_admission as admission
from snakemake_scheduler_plugin_admission import Scheduler, SchedulerSettings

KB = 1000
RULES = {"map_and_sort": [100 * KB, 0], "mark_duplicates": [200 * KB, 0], "haplotype_caller": [80 * KB, 0]}


@dataclass(eq=False)
class Job:
    """A job as the scheduler sees it."""

    name: str
    wildcards: dict[str, str]
    priority: int = 0
    output: Sequence[str] = ()
    input: Sequence[str] = ()
    scheduler_resources: dict[str, int] = field(default_factory=lambda: {"_cores": 1})

    @property
    def rule(self):
        return SimpleNamespace(name=self.name)

    def is_group(self):
        return False


class Run:
    """A run of samples through three jobs each, on a disk of so many bytes; what a job makes appears when it ends."""

    def __init__(self, folder, monkeypatch, samples, free, cores=4, rules=RULES, margin=1):
        self.folder, self.free, self.cores = folder, free, cores
        self.finished, self.failed, self.running = set(), set(), []
        self.jobs = [
            Job(rule, {"sample": name}, -number, [str(folder / f"{rule}-{name}")])
            for number, name in enumerate(samples)
            for rule in rules
        ]
        predicted = {"results": str(folder), "temporary": str(folder), "margin": margin}
        predicted["samples"] = {name: {"kept": 80 * KB, "rules": rules} for name in samples}
        (folder / "disk.json").write_text(json.dumps(predicted))
        monkeypatch.setattr(admission, "PREDICTED", folder / "disk.json")
        monkeypatch.setattr(admission, "free_bytes", lambda path: self.free)
        dag = SimpleNamespace(
            jobs=self.jobs,
            needrun_jobs=lambda: [job for job in self.jobs if job not in self.finished],
            finished=self.finished.__contains__,
            workflow=SimpleNamespace(
                scheduler=SimpleNamespace(failed=self.failed, running=self.running),
                scheduling_settings=SimpleNamespace(max_jobs_per_timespan=None),
            ),
        )
        self.scheduler = Scheduler(dag, SchedulerSettings(), logging.getLogger("admission"))

    def ready(self):
        """The first job of each sample that has not ended, as far as it does not run."""
        left = {}
        for job in self.jobs:
            if job not in self.finished:
                left.setdefault(job.wildcards["sample"], job)
        failed = {job.wildcards["sample"] for job in self.failed}
        return [job for name, job in left.items() if job not in self.running and name not in failed]

    def select(self):
        """The samples whose next job is started."""
        available = {"_cores": self.cores - len(self.running), "_job_count": 1000}
        selected = self.scheduler.select_jobs(self.ready(), [], available, {})
        self.running += selected
        return [job.wildcards["sample"] for job in selected]

    def end(self, sample, size=0):
        """The sample's job ends, and leaves a file of that size."""
        (job,) = [job for job in self.running if job.wildcards["sample"] == sample]
        self.running.remove(job)
        self.finished.add(job)
        self.folder.joinpath(f"{job.name}-{sample}").write_bytes(bytes(size))
        self.free -= size


@pytest.fixture
def run(tmp_path, monkeypatch):
    return lambda samples, free, **given: Run(tmp_path, monkeypatch, samples, free, **given)


def test_with_room_for_all_greedy_chooses(run):
    of = run(["S1", "S2", "S3"], 1000 * KB, cores=2)
    assert of.select() == ["S1", "S2"]
    of.end("S1")
    assert of.select() == ["S1"], "depth first, by their priorities"


def test_samples_that_do_not_fit_beside_others_wait(run, caplog):
    of = run(["S1", "S2", "S3"], 450 * KB)
    assert of.select() == ["S1", "S2"]
    (printed,) = [record.message for record in caplog.records]
    assert printed.startswith(f"disk: S3 waits: S3 takes up to 0.2 MB more, and 0.5 MB are free in {of.folder}, 0.4 MB")
    of.select()
    assert len(caplog.records) == 1, "it is said once"
    of.end("S1", 80 * KB)
    of.end("S2", 80 * KB)
    assert of.select() == ["S1", "S2"]


@pytest.mark.parametrize(("free", "begun"), [(599, ["S1"]), (600, ["S1", "S2"])])
def test_samples_beside_others_take_a_margin(run, free, begun):
    """Of 200 kB each, half more."""
    assert run(["S1", "S2"], free * KB, margin=1.5).select() == begun


def test_a_sample_that_begins_while_nothing_runs_takes_none(run):
    of = run(["S1", "S2"], 200 * KB, margin=1.5)
    assert of.select() == ["S1"]
    of.finished.update(job for job in of.jobs if job.wildcards["sample"] == "S1")
    of.running.clear()
    assert of.select() == ["S2"]


def test_a_begun_sample_that_waits_for_others_asks_for_no_margin_of_theirs(run):
    """As where transcripts are quantified once those of all samples are merged: S2 has room, or nothing ever runs."""
    of = run(["S1", "S2"], 280 * KB, margin=1.5)
    last = of.jobs[2]
    assert of.select() == ["S1"]
    of.end("S1")
    assert of.select() == ["S1"]
    of.end("S1")
    usual = of.ready
    of.ready = lambda: [job for job in usual() if job is not last]
    assert of.select() == ["S2"], "the last of S1 lacks 80 kB, and S2 takes 200"


def test_what_is_there_and_what_no_job_will_make_any_more_is_not_kept_free(run):
    of = run(["S1", "S2"], 330 * KB)
    assert of.select() == ["S1"]
    of.end("S1")
    assert of.select() == ["S1"]
    of.end("S1", 80 * KB)
    assert of.free == 250 * KB
    assert of.select() == ["S1", "S2"], "of S1 haplotype_caller is left alone, whose 80 kB are there"


def test_a_begun_sample_is_never_held_back(run):
    of = run(["S1"], 200 * KB)
    assert of.select() == ["S1"]
    of.free = 0
    of.end("S1")
    assert of.select() == ["S1"]


def test_a_smaller_sample_passes_one_that_does_not_fit(run):
    of = run(["S1", "S2"], 150 * KB)
    of.scheduler._begin()
    of.scheduler.cores = of.cores
    of.scheduler.samples["S2"].rules = {"map_and_sort": [100 * KB, 0]}
    assert of.select() == ["S2"]


def test_where_nothing_runs_and_nobody_fits_it_ends_with_one_line(run):
    of = run(["S1", "S2"], 150 * KB)
    with pytest.raises(WorkflowError) as raised:
        of.select()
    assert str(raised.value) == (
        f"disk: S1 takes up to 0.2 MB more, and 0.1 MB are free in {of.folder}: free some, or try it nonetheless with "
        "--scheduler greedy"
    )


def test_the_room_of_a_failed_sample_is_given_back(run):
    of = run(["S1", "S2"], 350 * KB)
    assert of.select() == ["S1"]
    of.failed.add(of.running.pop())
    assert of.select() == ["S2"]


def test_a_failed_sample_whose_other_lanes_go_on_keeps_room_for_them(run):
    of = run(["S1", "S2"], 350 * KB)
    other = Job("map_and_sort", {"sample": "S1"}, 0, [str(of.folder / "other lane")])
    of.jobs.insert(1, other)
    assert of.select() == ["S1"]
    of.failed.add(of.running.pop())
    of.running.append(other)
    of.free = 250 * KB
    assert of.select() == [], "100 kB of it are kept for the lane"
    of.free = 300 * KB
    assert of.select() == ["S2"], "but not the 200 of a whole sample"


def test_temporary_files_elsewhere_count_apart(run, monkeypatch):
    of = run(
        ["S1", "S2"], 10_000 * KB, rules={"map_and_sort": [100 * KB, 6_000 * KB], "haplotype_caller": [80 * KB, 0]}
    )
    of.scheduler._begin()
    of.scheduler.cores, of.scheduler.one_disk = of.cores, False
    assert of.select() == ["S1"]
    of.end("S1", 80 * KB)
    assert of.select() == ["S1", "S2"]


def test_shards_of_a_step_count_as_what_its_sample_holds(run):
    of = run(["S1"], 1000 * KB)
    of.select()
    (sample,) = of.scheduler.samples.values()
    before = sample.held()
    (of.folder / "map_and_sort-S1.shards").mkdir()
    (of.folder / "map_and_sort-S1.shards" / "1.bam").write_bytes(bytes(40_960))
    assert sample.held() - before == 40_960


MB = 1000 * KB
SPILLS = {"map_and_sort": [100 * KB, 300 * MB], "haplotype_caller": [80 * KB, 0]}


def in_memory(of, mem_mb):
    """The run on a machine of so much memory, in which temporary files lie; its jobs ask for 200 MB each."""
    noted = of.folder / "disk.json"
    noted.write_text(json.dumps(json.loads(noted.read_text()) | {"in_memory": True, "temporary": "/dev"}))
    for job in of.jobs:
        job.scheduler_resources = {"_cores": 1, "mem_mb": 200}

    def select():
        asked = 200 * len(of.running)
        available = {"_cores": of.cores - len(of.running), "_job_count": 1000, "mem_mb": mem_mb - asked}
        selected = of.scheduler.select_jobs(of.ready(), [], available, {})
        of.running += selected
        return [job.wildcards["sample"] for job in selected]

    return select


def test_temporary_files_in_memory_take_of_what_jobs_have(run, caplog):
    """Of 900 MB, files of 300 and a job of 200 leave 400; once they are gone, another sample may begin."""
    of = run(["S1", "S2", "S3"], 10_000 * MB, rules=SPILLS)
    select = in_memory(of, 900)
    assert select() == ["S1"]
    (printed,) = [record.message for record in caplog.records]
    assert printed.startswith("disk: S2 waits: S2 takes up to 0.3 GB more of memory for files in /dev, ")
    of.end("S1")
    assert select() == ["S1", "S2"], "S1 is mapped, so its files are gone"


def test_samples_that_wait_for_their_cohort_take_no_memory_of_others(run, monkeypatch):
    """What is left of each waits for all: it has no job that runs or may start."""
    names = [f"S{number}" for number in range(8)]
    of = run(names, 10_000 * MB, rules=SPILLS)
    select, ready = in_memory(of, 1200), of.ready
    monkeypatch.setattr(of, "ready", lambda: [job for job in ready() if job.name == "map_and_sort"])
    for pair in zip(names[::2], names[1::2], strict=True):
        assert tuple(select()) == pair
        for name in pair:
            of.end(name)


def test_where_no_job_fits_beside_files_in_memory_one_runs_alone(run):
    of = run(["S1", "S2"], 10_000 * MB, rules=SPILLS)
    select = in_memory(of, 250)
    assert select() == ["S1"]
    assert select() == []
    of.end("S1")
    assert select() == ["S1"]


def test_jobs_of_no_sample_and_without_predictions_start_as_ever(run, monkeypatch, tmp_path):
    of = run(["S1"], 0)
    of.jobs[0].wildcards = {"sample": "of no table"}
    assert of.select() == ["of no table"]
    of = run(["S1", "S2"], 0)
    monkeypatch.setattr(admission, "PREDICTED", tmp_path / "not there")
    assert of.select() == ["S1", "S2"]


def test_snakemake_looks_for_jobs_when_one_has_ended_and_not_by_the_clock(tmp_path, figure):
    jobs = 8
    (tmp_path / "Snakefile").write_text(
        f"rule all:\n    input: expand('{{i}}', i=range({jobs}))\n"
        "rule one:\n    output: '{i}'\n    shell: 'sleep 0.5; touch {output}'\n"
    )
    command = [sys.executable, "-m", "snakemake", "--scheduler", "admission", "--cores", "1", "--verbose"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    rounds = ran.stderr.count("Ready jobs: ")
    figure(f"Snakemake looked for jobs {rounds} times, with {jobs} of them")
    assert jobs <= rounds <= jobs + 2


def test_a_limit_of_jobs_that_was_asked_for_is_kept(tmp_path):
    (tmp_path / "Snakefile").write_text(
        "rule all:\n    input: expand('{i}', i=range(3))\nrule one:\n    output: '{i}'\n    shell: 'touch {output}'\n"
    )
    command = [sys.executable, "-m", "snakemake", "--scheduler", "admission", "--cores", "3"]
    limited = [*command, "--max-jobs-per-timespan", "1/1s"]
    ran = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Job rate limit reached" in ran.stderr
