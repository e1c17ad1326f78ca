"""A study on the node types of a cluster, with stand-ins for Slurm's commands that note what they were asked."""

import os
import shlex
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from recording import write_pool
from typer.testing import CliRunner

from gpd.cli import app
from gpd.cluster import slurm
from gpd.lab import batches, runner, single_run
from gpd.lab.batches import BatchError
from gpd.processes import ProcessError

# each takes what it says from the folder $STATE: sbatch counts jobs from 17, squeue says a job's next line each time
SBATCH = """#!/bin/bash
printf '%s\\0' "$@" >"$STATE/sbatch.$(ls "$STATE" | grep -c '^sbatch\\.')"
env >"$STATE/environment"
for word; do case $word in --partition=*) partition=${word#*=};; --job-name=*) name=${word#*=};; esac; done
if [ -e "$STATE/refuse.$partition" ]; then cat "$STATE/refuse.$partition" >&2; exit 1; fi
number=$((16 + $(ls "$STATE" | grep -c '^sbatch\\.')))
echo $number >"$STATE/queue.$name"
echo "$number"
"""
SQUEUE = """#!/bin/bash
for path in "$STATE"/queue.*; do
    [ -e "$path" ] || continue
    number=$(cat "$path")
    stands=$(head -n1 "$STATE/job.$number" 2>/dev/null)
    sed -i 1d "$STATE/job.$number" 2>/dev/null
    case $stands in error*) echo "squeue: $stands" >&2; exit 1;; over) rm "$path"; continue;; esac
    echo "$number|${stands:-PENDING (None)}|${path##*/queue.}"
done
"""
SCANCEL = """#!/bin/bash
for number; do rm -f $(grep -lx -- "$number" "$STATE"/queue.*); done
"""


class Cluster:
    """The stand-ins: what they were asked, and what they are to say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def says(self, number: int, *lines: str) -> None:
        (self.folder / f"job.{number}").write_text("".join(f"{line}\n" for line in lines))

    def refuses(self, partition: str, *lines: str) -> None:
        (self.folder / f"refuse.{partition}").write_text("".join(f"sbatch: error: {line}\n" for line in lines))

    def holds(self, **jobs: str) -> None:
        """Jobs in the queue, numbers by names."""
        for name, number in jobs.items():
            (self.folder / f"queue.{name}").write_text(f"{number}\n")

    @property
    def queue(self) -> set[str]:
        return {path.name.removeprefix("queue.") for path in self.folder.glob("queue.*")}

    def empty_queue(self) -> None:
        for path in self.folder.glob("queue.*"):
            path.unlink()

    @property
    def asked(self) -> list[list[str]]:
        """The words of each call of sbatch."""
        return [path.read_text().split("\0")[:-1] for path in sorted(self.folder.glob("sbatch.*"))]


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Cluster:
    commands, state = tmp_path / "bin", tmp_path / "state"
    commands.mkdir()
    state.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(state))
    monkeypatch.setattr(batches, "LOOK_S", 0.0)
    monkeypatch.setattr(single_run, "plan_dry", lambda source: None)
    return Cluster(state)


@pytest.fixture
def settings(tmp_path) -> Path:
    """The settings of a study whose folder has a blank, a percent sign and a quote in its name."""
    pool = write_pool(tmp_path / "pool", 2)
    given = {"name": "study", "directory": str(tmp_path / "50% of 'it'"), "concurrent_samples": [1, 2]}
    path = tmp_path / "my settings.yaml"
    path.write_text(yaml.safe_dump({**given, "pipelines": {"germline": {"directory": str(pool)}}}))
    return path


def one_batch(settings: Path, partition: str = "main") -> batches.Batch:
    (batch,) = batches.batches(*runner.read(settings), partition, "")
    return batch


def gpd(*words):
    return CliRunner().invoke(app, ["throughput", "run", *map(str, words)])


# ---- what is asked of Slurm --------------------------------------------------------------------------


def of_types(settings: Path, partitions: str, features: str) -> list[batches.Batch]:
    return batches.batches(*runner.read(settings), partitions, features)


def test_a_node_type_is_a_partition_a_feature_or_both(settings):
    assert [batch.name for batch in of_types(settings, "rome,milan", "")] == ["rome", "milan"]
    assert [batch.name for batch in of_types(settings, "", "avx512")] == ["avx512"]
    assert [batch.options for batch in of_types(settings, "cpu", "rome,milan")] == [
        ["--partition=cpu", "--constraint=rome"],
        ["--partition=cpu", "--constraint=milan"],
    ]


@pytest.mark.parametrize("given", ["a;b", "../x", "a b", "-p", ".", "a,", "a&b"])
def test_what_is_no_name_of_a_partition_is_refused(settings, given):
    with pytest.raises(BatchError, match=r"^--slurm .*letters, digits"):
        of_types(settings, given, "")


def test_what_gives_its_jobs_to_slurm_is_none_itself(settings):
    settings.write_text(f"{settings.read_text()}modes: [cluster]\n")
    with pytest.raises(BatchError, match="modes: cluster gives each job to Slurm"):
        one_batch(settings)


def test_no_two_types_have_one_folder(settings):
    with pytest.raises(BatchError, match="two of these are one"):
        of_types(settings, "main,main", "")


def test_the_job_has_a_node_for_itself_and_runs_the_study_with_a_name_and_a_folder_of_its_own(cluster, settings):
    batch = one_batch(settings)
    assert batches.submit(batch, settings) == "17"
    (words,) = cluster.asked
    written = batch.folder / "throughput.yaml"
    assert {"--exclusive", "--mem=0", "--requeue", "--nodes=1", "--partition=main"} < set(words)
    assert words[-1] == f"--wrap=exec {shlex.join([sys.executable, '-m', 'gpd', 'throughput', 'run', str(written)])}"
    own = runner.read(written)[0]
    assert (own.name, own.folder) == ("main", batch.folder)
    assert own.concurrent_samples == (1, 2)


def test_slurm_makes_no_pattern_of_a_folder(cluster, settings):
    batch = one_batch(settings)
    batches.submit(batch, settings)
    (output,) = (word for word in cluster.asked[0] if word.startswith("--output="))
    assert output == f"--output={batch.folder.parent.parent.parent}/50%% of 'it'/study/main/slurm-%j.out"


def test_a_job_does_not_inherit_what_another_was_granted(cluster, settings, monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_CPU", "100")
    monkeypatch.setenv("SLURM_CONF", "/etc/own.conf")
    monkeypatch.setenv("SBATCH_ACCOUNT", "lab")
    batches.submit(one_batch(settings), settings)
    told = (cluster.folder / "environment").read_text().splitlines()
    assert "SLURM_CONF=/etc/own.conf" in told
    assert "SBATCH_ACCOUNT=lab" in told
    assert not [line for line in told if line.startswith("SLURM_MEM")]


def test_a_job_in_the_queue_is_found_and_none_submitted_beside_it(cluster, settings):
    batch = one_batch(settings)
    assert [batches.submit(batch, settings), batches.submit(batch, settings)] == ["17", "17"]
    assert len(cluster.asked) == 1
    cluster.empty_queue()
    assert batches.submit(batch, settings) == "18"


def test_a_job_in_the_queue_with_other_settings_is_named(cluster, settings):
    batches.submit(one_batch(settings), settings)
    settings.write_text(f"{settings.read_text()}repeats: 5\n")
    with pytest.raises(BatchError, match=r"^job 17 is there already, with other settings.*scancel 17"):
        batches.submit(one_batch(settings), settings)


def test_studies_of_one_name_in_two_folders_have_jobs_of_their_own(cluster, settings, tmp_path):
    first = one_batch(settings)
    settings.write_text(settings.read_text().replace("50%", "51%"))
    assert first.job_name != one_batch(settings).job_name
    assert first.job_name.startswith("gpd-study-main-")


def test_a_study_with_nothing_left_asks_for_no_node(cluster, settings, monkeypatch):
    batch = one_batch(settings)
    batch.folder.mkdir(parents=True)
    monkeypatch.setattr(single_run, "is_finished", lambda folder, spec: folder == batch.folder)
    assert batches.submit(batch, settings) == ""
    assert cluster.asked == []


def test_the_jobs_of_one_folder_are_ended_and_no_others(cluster, monkeypatch):
    monkeypatch.setattr(slurm, "LOOK_S", 0.0)
    cluster.holds(mark1_a="1", mark1_b="12", mark2_a="2")
    slurm.end("mark1")
    assert cluster.queue == {"mark2_a"}
    slurm.end("mark1")


def test_jobs_that_do_not_end_are_named(cluster, monkeypatch):
    monkeypatch.setattr(slurm, "LONGEST_END_S", -1.0)
    cluster.holds(mark1_a="1", mark1_b="12")
    with pytest.raises(ProcessError, match="jobs 1, 12 of an earlier run do not end"):
        slurm.end("mark1")


# ---- how it stands -----------------------------------------------------------------------------------


def test_each_change_is_told_once_in_slurms_words(cluster, settings):
    batch = one_batch(settings)
    cluster.holds(**{batch.job_name: "17"})
    waits, runs, again = "PENDING (Resources)", "RUNNING n2", "PENDING (BeginTime)"
    cluster.says(17, waits, waits, "error: Unable to contact slurm controller", runs, again, runs, "over")
    shown = []
    assert batches.follow({batch: "17"}, lambda _, line: shown.append(line)) == []
    assert shown == [
        *(f"job 17: {waits}", "job 17: squeue: Unable to contact slurm controller"),
        *(f"job 17: {stands}" for stands in (runs, again, runs)),
        f"job 17 failed: it is over, and runs are left; its log: {batch.folder / 'slurm-17.out'}",
    ]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("started\ngpd run: no bwa here\nsome last words\n", "gpd run: no bwa here; "),
        ("run 1\nslurmstepd: error: *** JOB 17 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***\n", "slurmstepd: error: "),
        ("run 1 of 4: germline-n1\n\n", "run 1 of 4: germline-n1; "),
        ("", "it is over, and runs are left; "),
    ],
)
def test_where_runs_are_left_the_log_tells_why(settings, log, said):
    batch = one_batch(settings)
    batch.folder.mkdir(parents=True)
    (batch.folder / "slurm-17.out").write_text(log)
    why = batches.failure(batch, "17")
    assert why.startswith(said)
    assert why.endswith(f"; its log: {batch.folder / 'slurm-17.out'}")


def test_a_job_ended_well_where_no_run_is_left_and_outputs_agree(settings, monkeypatch):
    batch = one_batch(settings)
    monkeypatch.setattr(single_run, "is_finished", lambda folder, spec: True)
    assert batches.failure(batch, "17") == ""
    batch.folder.mkdir(parents=True)
    (batch.folder / "slurm-17.out").write_text("outputs disagree: variants of S1\nreport: x\n")
    assert batches.failure(batch, "17").startswith("outputs disagree: variants of S1; ")


# ---- the command -------------------------------------------------------------------------------------


@pytest.fixture
def finishing(cluster, monkeypatch):
    """Jobs whose studies have no run left when they are over, but those of a partition `broken`."""

    def is_finished(folder, spec):
        return folder.name != "broken" and not any(f"-{folder.name}-" in name for name in cluster.queue)

    monkeypatch.setattr(single_run, "is_finished", is_finished)
    for number in (17, 18):
        cluster.says(number, "RUNNING n1", "over")
    return cluster


def test_all_types_done_are_to_be_set_side_by_side(finishing, settings):
    ran = gpd(settings, "--slurm", "main,wide")
    assert ran.exit_code == 0, ran.output
    *lines, compare = ran.stdout.splitlines()
    assert lines[:2] == ["main: job 17", "wide: job 18"]
    assert {"main: job 17 is done", "wide: job 18 is done"} < set(lines)
    words = shlex.split(compare.partition("side by side: ")[2])
    assert words[:2] == ["gpd", "compare"]
    assert [Path(word).resolve().name for word in words[2:]] == ["main", "wide"]


def test_a_partition_that_is_refused_keeps_no_other_from_its_run(finishing, settings):
    finishing.refuses("wid", "invalid partition specified: wid", "Batch job submission failed: Invalid partition name")
    ran = gpd(settings, "--slurm", "main,wid")
    assert ran.exit_code == 1
    refusal = "sbatch: invalid partition specified: wid; Batch job submission failed: Invalid partition name"
    assert {f"wid: {refusal}", "main: job 17", "main: job 17 is done"} <= set(ran.stdout.splitlines())
    (made,) = one_batch(settings).folder.parent.iterdir()
    assert made.name == "main", "no folder is left of what never ran"


def test_where_all_are_refused_nothing_was_done(cluster, settings):
    cluster.refuses("main", "Batch job submission failed: Invalid account")
    ran = gpd(settings, "--slurm", "main")
    assert ran.exit_code == 2
    assert ran.stderr == "gpd throughput run: main: sbatch: Batch job submission failed: Invalid account\n"


def test_one_that_failed_makes_the_exit_code_1(finishing, settings):
    ran = gpd(settings, "--slurm", "main,broken")
    assert ran.exit_code == 1
    assert "broken: job 18 failed: it is over, and runs are left; its log: " in ran.stdout
    assert "main: job 17 is done" in ran.stdout


def test_detached_it_does_not_wait(cluster, settings):
    ran = gpd(settings, "--slurm", "main", "--detach")
    assert (ran.exit_code, ran.stdout) == (0, "main: job 17\n")


def test_a_dry_run_asks_slurm_for_nothing(cluster, settings):
    ran = gpd(settings, "--slurm", "main", "--dry-run")
    assert ran.exit_code == 0, ran.output
    assert "main: would run in " in ran.stdout
    assert cluster.asked == []


def test_ctrl_c_leaves_the_jobs_and_says_how_to_go_on(cluster, settings, monkeypatch):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batches, "time", SimpleNamespace(sleep=interrupted))
        ran = gpd(settings, "--slurm", "main")
    assert ran.exit_code == 128 + signal.SIGINT
    assert "the jobs go on: the same command follows them again, and scancel 17 ends them" in ran.stderr
    assert gpd(settings, "--slurm", "main", "--detach").stdout == "main: job 17\n"
    assert len(cluster.asked) == 1


def test_a_machine_without_slurm_is_told_so(settings, monkeypatch, tmp_path):
    monkeypatch.setattr(single_run, "plan_dry", lambda source: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProcessError, match="squeue is not installed"):
        batches.submit(one_batch(settings), settings)
