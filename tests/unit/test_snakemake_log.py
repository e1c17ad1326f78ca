"""What Snakemake says of failed jobs and of why it stopped: recorded words of its version that is pinned."""

import pytest
from conftest import ROOT

from gpd.execution import snakemake_log

# rule a left its output out, b's tool failed, c raised in Python, d's shell was killed; e and f ended well
RECORDED = (ROOT / "tests/golden/snakemake_failures.txt").read_text().splitlines()

RESTARTED = """\
localrule f:
    log: logs/f.log
    jobid: 6
    wildcards: sample=S1, unit=L1
RuleException:
CalledProcessError in file "/data/Snakefile", line 12:
Command 'set -euo pipefail;  false' returned non-zero exit status 1.
[Fri Nov 20 17:22:05 2026]
Error in rule f:
    message: None
    jobid: 6
"""


def test_what_is_planned_is_in_the_table_that_snakemake_begins_with():
    assert snakemake_log.planned_rules(RECORDED) == {*"abcdef", "all"}
    assert snakemake_log.planned_rules(["Nothing to be done."]) == frozenset()


def test_every_failed_job_is_named_with_cause_and_log():
    jobs = {job.rule: job for job in snakemake_log.failed_jobs(RECORDED)}
    assert set(jobs) == {"a", "b", "c", "d"}
    assert jobs["a"].message.startswith("MissingOutputException: Job 1  completed successfully, but some output files")
    assert "out/a.txt (missing locally" in jobs["a"].message
    assert jobs["a"].log == "logs/a.log"
    assert jobs["b"].wildcards == {"sample": "S1"}
    assert (jobs["b"].message, jobs["b"].log) == ("its command returned non-zero exit status 1", "logs/b/S1.log")
    assert jobs["c"].message == "ValueError: in python of two lines"
    assert jobs["d"].message == "its command died with <Signals.SIGKILL: 9>"


@pytest.mark.parametrize("after", ["Trying to restart job 6.", "Finished jobid: 6 (Rule: f)"])
def test_a_job_that_is_tried_again_has_not_failed(after):
    (job,) = snakemake_log.failed_jobs(RESTARTED.splitlines())
    assert job.wildcards == {"sample": "S1", "unit": "L1"}
    assert snakemake_log.failed_jobs([*RESTARTED.splitlines(), after]) == []


def test_what_kept_the_launcher_from_starting_a_job_is_its_message():
    lines = RESTARTED.splitlines()
    lines.insert(4, "launcher: /tmp/gpd-0: not a private folder of this user; remove it or set GPD_RUNTIME_DIR")
    assert snakemake_log.failed_jobs(lines)[0].message == lines[4]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [
                "Execute 2 jobs...",
                "WorkflowError:",
                "Failed to create output directory results.",
                "PermissionError: no",
            ],
            ["WorkflowError:", "Failed to create output directory results.", "PermissionError: no"],
        ),
        (
            ["Traceback (most recent call last):", '  File "x.py", line 3', "    call()", "PermissionError: no: 'x'"],
            ["PermissionError: no: 'x'"],
        ),
        (
            ["UnicodeDecodeError in file x:", "bad byte", '  File "x.py", line 3, in f'],
            ["UnicodeDecodeError in file x:", "bad byte"],
        ),
        (["usage: snakemake [-h]", "__main__.py: error: unrecognized"], ["snakemake: error: unrecognized"]),
        (
            ["Using workflow specific profile x", "Config file a is extended by b", "units.tsv line 2: wrong"],
            ["units.tsv line 2: wrong"],
        ),
        (["Building DAG", "WorkflowError:", "At least one job did not complete successfully."], ["Building DAG"]),
        ([], []),
    ],
)
def test_the_reason_is_among_what_is_shown(lines, reason):
    assert snakemake_log.reason(lines) == reason


def test_a_plan_is_shown_without_the_banner():
    lines = ["SNAKEMAKE", "Building DAG of jobs...", "Nothing to be done.", "Complete log(s): x"]
    assert snakemake_log.plan(lines) == ["Nothing to be done."]
