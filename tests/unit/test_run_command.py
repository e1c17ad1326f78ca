"""`gpd run`: what it asks of Snakemake, and what it makes of what Snakemake left. Snakemake itself is a script here."""

import json
import sys

import pytest
from recording import ledger_line, write_pool
from subcommands import gpd

from gpd.commands import gpd_run as subcommand
from gpd.errors import GpdError
from gpd.execution import cpu_waits, incomplete_results, run_lock, workflow
from gpd.machines import launcher
from gpd.pipelines import PIPELINES, UNAVOIDABLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a configuration, in which nothing else is at work."""
    monkeypatch.setattr(launcher, "jobs", list)
    monkeypatch.setattr(launcher, "usable_cores", lambda smt: 2)
    return write_pool(tmp_path / "my run", 2)


def record(rule, step, sample, **changed):
    return ledger_line(step, sample, rule=rule) | {"log": f"logs/{rule}.log"} | changed


def whole(sample):
    """The records of a sample that went through all that every configuration asks of it."""
    return [record(step, step, sample) for step in PIPELINES["germline"].steps if step in UNAVOIDABLE]


def script(records, output, code):
    """What stands for Snakemake."""
    return (
        "import json, os, sys\n"
        "with open('ledger.jsonl', 'a') as ledger:\n"
        f"    for record in json.loads({json.dumps(records)!r}):\n"
        "        ledger.write(json.dumps({'run': os.environ['GPD_RUN']} | record) + '\\n')\n"
        f"print({chr(10).join(output)!r})\n"
        f"sys.exit({code})"
    )


def run(folder, monkeypatch, *records, output=(), code=0, words=()):
    """A run whose Snakemake leaves these records, says these lines, and ends with that exit code."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(workflow, "command", lambda *_, **__: [sys.executable, "-c", script(records, output, code)])
    done = gpd("run", "germline", *words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def asked(folder, *words):
    """Snakemake's command line."""
    return subcommand._command("germline", folder, 2, [], None, words)


# ---- what is asked -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--executor", "lsf"), ("-e", "lsf")], ids=" ".join)
def test_where_jobs_run_elsewhere_this_machine_sets_no_bounds(folder, words):
    """Snakemake would give no job more than is here."""
    profile = None if words else workflow.find_profile("slurm")
    command = subcommand._command("germline", folder, None, [], profile, words)
    assert not {"--cores", "--resources", "--set-threads"} & set(command)
    assert "--cores" in subcommand._command("germline", folder, 4, [], profile, words)
    here = subcommand._command("germline", folder, None, [], None, ("--executor", "local"))
    assert "--resources" in here


@pytest.mark.deep
@pytest.mark.parametrize(
    "words",
    [("results",), ("results", "--config", "a=1"), ("--config", "a=1", "results"), ("-C", "a=1", "b=2", "results")],
    ids=" ".join,
)
def test_a_target_is_not_swallowed_and_settings_are_added_to_ours(folder, words):
    command = asked(folder, *words)
    config = command[command.index("--config") + 1 :]
    assert config[0] == "pipeline=germline"
    assert (config[1] in words) == ("=" in config[1])
    assert command.count("--config") == 1
    assert command[-1] == "results"
    assert command[-3] == "--cores"


def test_threads_do_not_swallow_a_target_either(folder):
    write_pool(folder, 1)
    command = subcommand._command("germline", folder, 64, [], None, ["prepare"])
    assert command[-3:] == ["--cores", "64", "prepare"]
    assert "--set-threads" in command


def test_what_was_cut_off_is_done_again_whatever_the_profile(folder):
    assert "--rerun-incomplete" in asked(folder)


# ---- what came of it ---------------------------------------------------------------------------------


def test_a_failed_job_that_is_no_named_step_is_named(folder, monkeypatch):
    done = run(
        *(folder, monkeypatch, *whole("S1")),
        record("multiqc", "qc", "", exit_code=1, cause="tool_error", message="could not convert string to float"),
        code=1,
    )
    assert done.exit_code == 1
    assert "1 of 1 samples finished" in done.stdout
    assert "multiqc" in done.stdout
    assert "could not convert string to float" in done.stdout
    assert "logs/multiqc.log" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 job failed"


def test_where_only_snakemake_knows_what_failed_its_reason_is_shown_and_no_sample_counts(folder, monkeypatch):
    output = [
        *("localrule haplotype_caller:", "    log: logs/hc.log", "    jobid: 3", "    wildcards: sample=S1"),
        'MissingOutputException in rule haplotype_caller in file "x", line 3:',
        "Job 3  completed successfully, but some output files are missing.",
    ]
    done = run(
        *(folder, monkeypatch, *whole("S1"), *whole("S2")),
        output=output,
        code=1,
    )
    assert "0 of 2 samples finished" in done.stdout
    assert "some output files are missing" in done.stdout
    assert done.exit_code == 1


def test_where_no_job_reached_the_launcher_its_reason_is_shown(folder, monkeypatch):
    output = [
        *("localrule map_and_sort:", "    log: logs/m.log", "    jobid: 3", "    wildcards: sample=S1, unit=L1"),
        "launcher: /tmp/gpd-0: not a private folder of this user; remove it or set GPD_RUNTIME_DIR",
        *("Error in rule map_and_sort:", "    jobid: 3"),
    ]
    done = run(folder, monkeypatch, output=output, code=1)
    assert "not a private folder" in done.stderr
    assert done.exit_code == 2


def test_an_exit_code_that_no_job_explains_has_snakemakes_reason(folder, monkeypatch):
    output = ["WorkflowError:", "Failed to create output directory results."]
    done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"), output=output, code=1)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "Failed to create output directory results."


def test_where_no_job_ran_the_reason_is_all_that_is_said(folder, monkeypatch):
    filler = [f"    output: {number}" for number in range(50)]
    done = run(folder, monkeypatch, output=["WorkflowError:", "Failed to create results.", *filler], code=1)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[:2] == ["gpd run: WorkflowError:", "gpd run: Failed to create results."]
    assert "finished" not in done.output


AGAIN = "would be made again: results that 1 of 2 samples have (S1), because of hard_filter (params have changed)"


def test_what_samples_have_is_made_again_with_yes_alone(folder, monkeypatch):
    filler = ["Provided cores: 2", "Job stats:"]
    done = run(folder, monkeypatch, output=[*filler, AGAIN], code=1)
    assert done.exit_code == 2
    assert (
        done.stderr
        == f"gpd run: {AGAIN}; nothing was started: --yes makes them again, --dry-run --verbose shows each job\n"
    )
    asks = "import os; print('Building DAG of jobs...', os.environ.get('GPD_AGAIN'), sep='\\n')"
    monkeypatch.setattr(workflow, "command", lambda *_, **__: [sys.executable, "-c", asks])
    shown = [gpd("run", "germline", *words).stdout for words in ((), ("--yes",))]
    assert shown == ["refuse\n", "None\n"]


def test_the_jobs_of_other_runs_are_not_counted(folder, monkeypatch):
    """Another run's launcher may write its record while this one is at work."""
    theirs = record("map_and_sort", "map_and_sort", "OTHER", run="theirs")
    done = run(folder, monkeypatch, theirs, record("map_and_sort", "map_and_sort", "S1"))
    assert "OTHER" not in done.stdout
    assert "1 of 1 samples with work left finished" in done.stdout
    assert done.exit_code == 0


def test_nothing_to_be_done_is_said(folder, monkeypatch):
    done = run(folder, monkeypatch, output=["SNAKEMAKE", "Building DAG of jobs...", "Nothing to be done."])
    assert (done.exit_code, done.stdout) == (0, "Nothing to be done.\n")


RESULTS = "results: calls results/hard_filter/{sample}.vcf.gz, page results/multiqc/multiqc.html"


@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_it_says_where_what_is_there_lies(folder, monkeypatch, words):
    calls = folder / "results/hard_filter/S1.vcf.gz"
    calls.parent.mkdir(parents=True)
    calls.touch()
    output = ["SNAKEMAKE", RESULTS, "Building DAG of jobs...", "Nothing to be done."]
    done = run(folder, monkeypatch, output=output, words=words)
    where = ["look at:", "  calls  results/hard_filter/SAMPLE.vcf.gz", "  jobs   ledger.jsonl (gpd ledger show .)"]
    where.append("to hand them on: gpd deliver FOLDER")
    assert done.stdout.splitlines() == ["Nothing to be done.", *([] if words else where)]


def test_a_second_run_leaves_the_first_ones_log_alone(folder, monkeypatch):
    (folder / "snakemake.log").write_text("of the first")
    with run_lock.hold_folder(folder, "unlock"):
        done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"))
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert "another gpd run is at work here (pid " in line
    assert (folder / "snakemake.log").read_text() == "of the first"
    assert not (folder / "ledger.jsonl").exists()


def test_a_torn_line_of_the_ledger_is_left_out(folder, monkeypatch):
    (folder / "ledger.jsonl").write_text('{"schema": 1, "ru\n')
    done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"))
    assert "left out: 1 of its lines (number 1)" in done.stderr
    assert "1 of 1 samples finished" in done.stdout


def test_jobs_of_a_killed_run_are_waited_for(folder, monkeypatch):
    left = [[launcher.OpenJob("map S1", folder, False, 0.0)], [launcher.OpenJob("map S1", folder.parent, False, 0.0)]]
    monkeypatch.setattr(launcher, "jobs", lambda: left.pop(0) if left else [])
    cpu_waits.await_former(folder)
    assert not left
    monkeypatch.setattr(launcher, "jobs", lambda: [launcher.OpenJob("map S1", folder, False, 0.0)])
    monkeypatch.setattr(cpu_waits, "LONGEST_END_S", 0.0)
    with pytest.raises(GpdError, match="jobs of an earlier run are still at work: map S1"):
        cpu_waits.await_former(folder)


PLANNED = ["Job stats:", "job  count", "---  -----", "map_and_sort  2", "hard_filter  1", "total  3"]
BAD = record("map_and_sort", "map_and_sort", "S2", exit_code=1, cause="tool_error", message="error: 2.fq: cut off")


def of_cohort(*steps):
    return [record(step, step, "") | {"wildcards": {"callset": "cohort"}} for step in steps]


def without_calls(sample):
    return [each for each in whole(sample) if each["step"] != "genotype_gvcfs"]


class Passes:
    """Runs whose Snakemakes leave, one after the other, these records, words and exit codes."""

    def __init__(self, folder, monkeypatch, *passes):
        self.settings, self.passes = [], list(passes)
        self.folder = folder
        monkeypatch.chdir(folder)

        def scripted(*arguments, options, **named):
            self.settings.append([word for word in options if word.startswith("leave_out=")])
            records, output, code = self.passes[len(self.settings) - 1]
            return [sys.executable, "-c", script(records, output, code)]

        monkeypatch.setattr(workflow, "command", scripted)

    def run(self, **settings):
        config = self.folder / "config/config.yaml"
        config.write_text(config.read_text() + "".join(f"{key}: {value}\n" for key, value in settings.items()))
        done = gpd("run", "germline")
        return done.exit_code, done.stdout.splitlines()


def test_samples_that_a_failed_one_holds_up_are_no_successes(folder, monkeypatch):
    """Each went through all that it can without the cohort, whose calls the run was to filter."""
    jobs = [*whole("S1"), BAD]
    code, output = Passes(folder, monkeypatch, (jobs, PLANNED, 1)).run()
    assert code == 1
    assert "0 of 2 samples finished" in "\n".join(output)
    assert "tool_error: error: 2.fq: cut off" in "\n".join(output)
    assert output[-2:] == [
        "not finished: S1: before hard_filter, held up by S2 (failed_samples in the config says whether others go on "
        "without)",
        "1 job failed",
    ]


def test_samples_of_which_no_job_ran_are_named(folder, monkeypatch):
    write_pool(folder, 3)
    code, output = Passes(folder, monkeypatch, ([BAD], PLANNED, 1)).run()
    assert code == 1
    assert output[-2:] == ["not begun: S1 and S3", "1 job failed"]


def test_a_cohort_goes_on_without_a_sample_that_failed(folder, monkeypatch):
    first = [*without_calls("S1"), BAD]
    passes = Passes(
        *(folder, monkeypatch, (first, PLANNED, 1)),
        (of_cohort("genotype_gvcfs", "hard_filter"), [], 0),
    )
    code, output = passes.run(failed_samples="drop")
    assert code == 1
    assert passes.settings == [[], ["leave_out=[S2]"]]
    assert "going on without S2" in output
    assert any(line.startswith("1 of 2 samples finished") for line in output)
    assert output[-2:] == [
        "went on without S2: genotype_gvcfs and hard_filter; results/left_out.tsv names the missing samples",
        "1 job failed",
    ]
    assert {path.name for path in folder.glob("snakemake*.log")} == {"snakemake.log", "snakemake.2.log"}


@pytest.mark.deep
def test_it_goes_on_until_nobody_fails_and_no_further(folder, monkeypatch):
    write_pool(folder, 4)
    jobs = [*without_calls("S1"), BAD]
    later = {**BAD, "step": "haplotype_caller", "rule": "haplotype_caller", "wildcards": {"sample": "S3"}}
    passes = Passes(
        *(folder, monkeypatch, (jobs, [], 1), ([later], [], 1)),
        ([], ["WorkflowError:", "samples.tsv: nothing left to compare"], 1),
    )
    code, output = passes.run(failed_samples="drop", leave_out="[S4]")
    assert code == 1
    assert passes.settings == [[], ["leave_out=[S2,S4]"], ["leave_out=[S2,S3,S4]"]]
    assert "did not go on without S2, S3 and S4:" in output
    assert "samples.tsv: nothing left to compare" in output


@pytest.mark.deep
@pytest.mark.parametrize(
    ("jobs", "code"),
    [([*whole("S1"), BAD], -9), ([BAD, {**BAD, "wildcards": {"sample": "S1"}}], 1), (of_cohort("hard_filter"), 1)],
    ids=["killed", "nobody whole", "nobody failed"],
)
def test_where_nobody_can_go_on_nobody_does(folder, monkeypatch, jobs, code):
    passes = Passes(folder, monkeypatch, (jobs, [], code))
    assert passes.run(failed_samples="drop")[0] == 1
    assert passes.settings == [[]]


@pytest.mark.parametrize("words", [["-n"], ["--dry-run"], ["-np"], ["--unlock"], ["--cores", "2"]], ids=" ".join)
def test_what_only_asks_renames_nothing(words):
    assert subcommand.only_asks(words) == ("--cores" not in words)


def test_what_is_no_longer_whole_is_said_before_the_run(folder, monkeypatch):
    monkeypatch.setattr(incomplete_results, "set_aside", lambda directory: [f"{directory}: a file [b] is cut off"])
    done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"))
    assert done.stdout.splitlines()[0] == ".: a file [b] is cut off"
