"""What Snakemake says of failed jobs and of why it stopped: recorded words of its version that is pinned."""

import pytest
from conftest import ROOT

from gpd.execution import snakemake_log

# rule a left its output out, b's tool failed, c raised in Python, d's shell was killed; e and f ended well
RECORDED = (ROOT / "tests/golden/snakemake_failures.txt").read_text().splitlines()


def test_what_is_planned_is_in_the_table_that_snakemake_begins_with():
    assert snakemake_log.planned_rules(RECORDED) == {*"abcdef", "all"}
    assert snakemake_log.planned_rules(["Nothing to be done."]) == frozenset()


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
        (
            ["Select jobs", "launcher: /tmp/gpd-0: not a private folder", "RuleException:", "in rule f"],
            ["launcher: /tmp/gpd-0: not a private folder", "RuleException:", "in rule f"],
        ),
        (
            ["Job stats:", "job  count", "all  1", "total  1", "samtools is not on the PATH"],
            ["samtools is not on the PATH"],
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
