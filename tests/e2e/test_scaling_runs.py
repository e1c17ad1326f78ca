"""Scaling studies with the real tools: what is measured is what ran, and what was cut off or failed is run again."""

import json
import os
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from conftest import SHORT_JVMS, Cohort, snakemake, tiny_cohort
from launching import wait_until
from subcommands import gpd
from tuxedo_cohort import tiny_experiment

from gpd.records.ledger import read_ledger
from gpd.text.cpu_lists import parse_cpus

pytestmark = pytest.mark.e2e


class Scaling:
    """A cohort and the studies of its steps, with allocations that no other test's jobs share."""

    def __init__(self, cohort: Cohort) -> None:
        self.folder, self.study = cohort.folder, cohort.folder / "scaling"
        cohort.write()
        self.environment = {**os.environ, **SHORT_JVMS, "GPD_RUNTIME_DIR": str(self.folder / "allocations")}

    def start(self, *words: str, subcommand: str = "run") -> subprocess.Popen:
        fixed = ["--directory", str(self.folder), "--folder", str(self.study), "--repeats", "1"]
        command = [sys.executable, "-m", "gpd", "scaling", subcommand, *fixed, *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=self.environment, **pipes)

    def gpd(self, *words: str, subcommand: str = "run") -> subprocess.CompletedProcess:
        with self.start(*words, subcommand=subcommand) as process:
            output, errors = process.communicate(timeout=900)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def plan(self, *words: str) -> dict:
        return json.loads(self.gpd(*words, "--json", subcommand="plan").stdout)

    def records(self) -> dict[str, int]:
        """When the record of each run that ended was written."""
        return {path.parent.name: path.stat().st_mtime_ns for path in self.study.glob("*/run.json")}

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.study / "tables" / f"{name}.tsv", sep="\t")

    def jobs(self, spec: str) -> list:
        return [job for path in sorted((self.study / spec).glob("copies/*/ledger.jsonl")) for job in read_ledger(path)]


def copies_held(told: dict, mem_mb: int, threads: int = 1) -> int:
    """How many copies the node of a plan holds of a job that asks for so much memory."""
    return max(1, min(told["cores"] // threads, told["memory_mb"] // mem_mb))


@pytest.fixture
def scaling(tmp_path) -> Scaling:
    return Scaling(tiny_cohort(tmp_path, lanes=1))


def test_a_step_is_measured_alone(scaling):
    ran = scaling.gpd("--step", "map_and_sort", "--threads", "1", "--alone")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (point,) = scaling.table("configurations").itertuples()
    (job,) = scaling.jobs("map_and_sort-t1-compact-alone-r1")
    assert (job.rule, job.threads, job.succeeded) == ("map_and_sort", 1, True)
    assert point.step_s_mean == pytest.approx(job.wall_s)
    assert (scaling.study / "report.html").exists()


@pytest.mark.long
def test_a_steps_widths_are_measured_alone_and_with_the_node_full_whatever_ctrl_c_cut_off(scaling):
    words = ("--step", "mark_duplicates", "--threads", "1,2")
    with scaling.start(*words) as process:
        wait_until(lambda: scaling.records(), 600)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 130, output + errors
    assert "the same command goes on" in errors
    ended = scaling.records()
    assert len(scaling.table("runs")) == len(ended)

    ran = scaling.gpd(*words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ended.items() <= scaling.records().items(), "what ended stays as it is"
    points = scaling.table("configurations").set_index(["occupancy", "threads"])
    told = json.loads(invoke("plan", scaling.folder, *words, "--json").stdout)
    assert {key: row["copies"] for key, row in points.iterrows()} == {
        **{("alone", 1): 1, ("alone", 2): 1},
        **{("full", threads): copies_held(told, 8000, threads) for threads in (1, 2)},
    }
    for (occupancy, threads), point in points.iterrows():
        jobs = scaling.jobs(f"mark_duplicates-t{threads}-compact-{occupancy}-r1")
        assert {(job.rule, job.threads, job.succeeded) for job in jobs} == {("mark_duplicates", threads, True)}
        assert point["step_s_mean"] == pytest.approx(sum(job.wall_s for job in jobs) / point["copies"])
        assert point["cpu_s_mean"] == pytest.approx(sum(job.cpu_s for job in jobs) / point["copies"])
        allocations = [parse_cpus(job.cpus) for job in jobs]
        assert all(len(allocation) == threads for allocation in allocations)
        for (one, its), (other, others) in combinations(zip(jobs, allocations, strict=True), 2):
            assert one.end < other.start or other.end < one.start or not its & others, "copies at once share no CPU"
    # what was made up to the step was made once, and the step itself not at all
    rules = {job.rule for job in read_ledger(scaling.study / "reference/germline/ledger.jsonl")}
    assert "map_and_sort" in rules
    assert "mark_duplicates" not in rules
    assert not [*scaling.study.glob("mark_duplicates-*/copies/*/results")]
    for name in ("profile-throughput", "profile-single-sample"):
        assert snakemake(scaling.folder, "--workflow-profile", str(scaling.study / name), "--dry-run").exit_code == 0
    assert "Amdahl" in (scaling.study / "report.html").read_text()
    before = scaling.records()
    again = scaling.gpd(*words)
    assert (again.returncode, scaling.records()) == (0, before)


@pytest.mark.long
def test_what_was_killed_goes_on_and_what_ended_stays(scaling):
    words = ("--step", "map_and_sort", "--threads", "1", "--bindings", "compact,none")
    with scaling.start(*words) as process:
        wait_until(lambda: len(scaling.records()) >= 2, 600)
        process.kill()
        process.communicate()
    before = scaling.records()
    planned = scaling.plan(*words)
    assert sum(point["runs"] for point in planned["configurations"]) == 1 + 2 * 2
    ran = scaling.gpd(*words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    after = scaling.records()
    assert {name: after[name] for name in before} == before
    assert len(after) == 1 + 2 * 2
    assert set(scaling.table("configurations")["binding"]) == {"compact", "none"}


@pytest.mark.long
def test_a_run_that_fails_is_named_with_its_cause_and_run_again(scaling):
    words = ("--step", "mark_duplicates", "--threads", "1", "--alone")
    assert scaling.gpd("--step", "mark_duplicates", "--threads", "1", "--full").returncode == 0
    made = scaling.study / "reference/germline/results/map_and_sort/S1/L1.bam"
    whole = made.read_bytes()
    times = made.stat()
    made.write_bytes(whole[: len(whole) // 2])
    os.utime(made, ns=(times.st_atime_ns, times.st_mtime_ns))  # so that it is not made again
    ran = scaling.gpd(*words)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (line,) = [
        line for line in ran.stdout.splitlines() if line.startswith("mark_duplicates-t1-compact-alone-r1 failed")
    ]
    assert "logs/mark_duplicates/S1.log" in line
    assert "failed: mark_duplicates-t1-compact-alone-r1" in ran.stdout
    assert "mark_duplicates-t1-compact-alone-r1" in (scaling.study / "report.html").read_text()
    made.write_bytes(whole)
    os.utime(made, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert scaling.gpd(*words).returncode == 0
    assert "mark_duplicates-t1-compact-alone-r1" in scaling.records()


@pytest.mark.long
def test_steps_of_a_cohort_have_all_samples_and_copies_too(tmp_path):
    scaling = Scaling(tiny_experiment(tmp_path, lanes=1))
    told = scaling.plan()
    assert {point["step"] for point in told["configurations"]} >= {
        "align",
        "quantify",
        "merge",
        "differential_expression",
    }
    ran = scaling.gpd("--step", "align", "--step", "merge", "--threads", "1", "--full")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    held = copies_held(told, 16_000), copies_held(told, 8000)
    assert [job.owner for job in scaling.jobs("align-t1-compact-full-r1")] == ["A1"] * held[0]
    assert len(scaling.jobs("merge-t1-compact-full-r1")) == held[1]


def invoke(subcommand: str, folder: Path, *words: str) -> Result:
    """A subcommand that starts no run, in this process."""
    fixed = ["--directory", str(folder), "--folder", str(folder / "scaling"), "--repeats", "1"]
    return gpd("scaling", subcommand, *fixed, *words)


def test_what_cannot_be_run_is_a_line(scaling):
    for words, line in (
        (("--step", "exome"), "gpd scaling run: --step exome: steps of germline are map_and_sort,"),
        (("--sample", "S9"), "gpd scaling run: --sample S9: no such sample; there are S1, S2"),
        (("--threads", "none"), "gpd scaling run: --threads none: 'none' is no whole number from 1"),
        (("--bindings", "near"), "gpd scaling run: --bindings near: 'near' is no binding"),
        (("--config", "nothing.yaml"), "gpd scaling run: "),
    ):
        ran = invoke("run", scaling.folder, *words)
        assert ran.exit_code == 2, ran.output
        assert ran.stderr.startswith(line)
    assert not scaling.study.exists()


@pytest.mark.long
@pytest.mark.usefixtures("gatk3_command")
def test_gatk_3_is_planned(tmp_path):
    cohort = tiny_cohort(tmp_path, samples=("S1",), lanes=1)
    cohort.config |= {"gatk": "gatk3", "realigner": "gatk3"}
    cohort.write()
    assert invoke("run", tmp_path, "--dry-run", "--threads", "1,2").exit_code == 0
    told = json.loads(invoke("plan", tmp_path, "--threads", "1,2", "--json").stdout)
    thread_counts: dict[str, set[int]] = {}
    for point in told["configurations"]:
        thread_counts.setdefault(point["step"], set()).add(point["threads"])
    both = ("map_and_sort", "mark_duplicates", "realigner_targets", "base_recalibration", "haplotype_caller")
    assert {step for step, of_step in thread_counts.items() if of_step == {1, 2}} == {*both, "genotype_gvcfs"}
    assert thread_counts["realign_indels"] == {1}
    assert not (tmp_path / "scaling").exists()
