"""Tables from recorded ledgers: no tool, no clock."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from recording import attempt
from rich.console import Console

from gpd.commands import run_display
from gpd.pipelines import PIPELINES
from gpd.records.ledger import Attempt, LedgerWarning, last_attempts, read_ledger
from gpd.tables.summary import summarize

GOLDEN = Path(__file__).parents[1] / "golden" / "germline_demo"
STEPS_OF_TEST = ("map", "call", "join")


def rendered(*tables) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    for table in tables:
        console.print(table)
    return console.file.getvalue()


def test_the_tables_of_a_recorded_run():
    summary = summarize(read_ledger(GOLDEN / "ledger.jsonl"), PIPELINES["germline"].steps)
    text = rendered(run_display.step_table(summary), *run_display.finished_lines(summary))
    assert text == (GOLDEN / "tables.txt").read_text()


def test_makespan_and_busy_time():
    jobs = [
        attempt("map", "A", 0, 60),
        attempt("map", "B", 0, 30),
        attempt("call", "A", 60, 40),
        attempt("call", "B", 30, 20),
    ]
    summary = summarize([*jobs, attempt("index", None, -500, 400), attempt("join", "cohort", 100, 20)], STEPS_OF_TEST)
    assert summary.makespan_s == 120
    assert summary.summed_s("A") == 100
    assert summary.summed_s("B") == 50
    assert summary.columns == ("A", "B", "cohort")
    assert [sum(by_sample.values()) for by_sample in summary.steps.values()] == [90, 60, 20]
    assert summary.succeeded == ("A", "B")


def test_a_resumed_run_knows_what_was_done():
    earlier = [attempt("map", "A", 0, 60), attempt("map", "B", 0, 60, exit_code=1), attempt("call", "A", 60, 5)]
    summary = summarize([attempt("map", "B", 900, 60), attempt("call", "B", 960, 5)], STEPS_OF_TEST, earlier)
    assert summary.succeeded == ("B",)
    assert summary.makespan_s == 65
    finished, before = run_display.finished_lines(summary)
    assert "samples with work left finished" in finished  # the cohort may have more
    assert "done before" in before


def test_a_run_that_goes_on_with_steps_of_the_cohort_counts_no_samples():
    earlier = [attempt("map", "A", 0, 60), attempt("map", "B", 0, 60)]
    summary = summarize([attempt("join", "cohort", 900, 60)], STEPS_OF_TEST, earlier)
    assert run_display.finished_lines(summary)[0] == "only steps of the cohort ran, in 60.0 s"


def test_nothing_run_has_no_makespan():
    summary = summarize([], STEPS_OF_TEST)
    assert summary.makespan_s is None
    assert list(summary.steps.values()) == [{}, {}, {}]


def test_a_step_that_did_not_run_is_shown_as_such():
    assert "not run" in rendered(run_display.step_table(summarize([attempt("map", "A", 0, 1)], STEPS_OF_TEST)))


def test_a_larger_cohort_shows_its_median_sample():
    jobs = [attempt("map", f"S{n}", 0, n) for n in range(1, 6)]
    text = rendered(run_display.step_table(summarize([*jobs, attempt("join", "cohort", 9, 2)], STEPS_OF_TEST)))
    assert [line.split() for line in text.splitlines() if "map" in line] == [
        ["│", "map", "│", "3.0", "│", "│", "15.0", "│"]
    ]
    assert "median sample" in text


def test_failures_are_shown_with_their_cause():
    failures = summarize([attempt("map", "A", 0, 1, exit_code=1)], STEPS_OF_TEST).failures
    text = rendered(run_display.failure_table(failures))
    assert "it broke" in text
    assert "logs/map/A.log" in text


def test_a_cause_that_names_a_hundred_files_is_shown_by_its_ends():
    paths = ", ".join(f"/projects/cohort/reads/sample_{n}_R1.fastq.gz" for n in range(100))
    failed = replace(attempt("map", "A", 0, 1, exit_code=1), message=f"not whole: {paths} and no more")
    text = rendered(run_display.failure_table(summarize([failed], STEPS_OF_TEST).failures))
    assert "not whole" in text
    assert len(text.splitlines()) < 30


def test_a_step_may_be_done_by_another_rule():
    aligned = replace(attempt("map", "A", 0, 1), rule="take_alignment")
    assert summarize([aligned, attempt("map", "B", 0, 60)], STEPS_OF_TEST).succeeded == ("A", "B")


@pytest.mark.parametrize(
    ("shards", "told"),
    [
        ("1/2+ 2/2+ gather+", "gather+"),
        ("1/2- 2/2+", "1/2-"),
        ("1/2- 2/2+ 1/2+ gather+", "gather+"),
        ("2/2- 1/2+ whole+", "whole+"),
        ("whole- 1/2+ 2/2+", "whole-"),
        ("1/2+ 2/2+ gather-", "gather-"),
        ("whole+ 1/2- 2/2+", "1/2-"),
        ("1/2+ 2/2+", "2/2+"),
    ],
)
def test_a_shard_that_succeeds_mends_no_other(shards, told):
    """Each word: the shard, and whether it succeeded."""

    def of(word: str) -> Attempt:
        shard = None if word.startswith("whole") else word[:-1]
        return replace(attempt("map", "A", 0, 1, exit_code=int(word.endswith("-"))), shard=shard)

    assert last_attempts(map(of, shards.split())) == [of(told)]


@pytest.mark.parametrize("line", ["{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_a_line_that_is_no_record_is_left_out_with_a_warning(tmp_path, line):
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text((GOLDEN / "ledger.jsonl").read_text().splitlines()[0] + f"\n{line}\n")
    with pytest.warns(LedgerWarning, match=r"ledger.jsonl: left out: 1 of its lines \(number 2\)"):
        assert len(read_ledger(ledger)) == 1


def test_a_failed_job_of_no_named_step_is_named(tmp_path):
    jobs = [attempt("map", "A", 0, 1), replace(attempt("map", "A", 2, 3, exit_code=1), rule="multiqc", step="qc")]
    found = summarize(jobs, STEPS_OF_TEST)
    assert [failure.rule for failure in found.failures] == ["multiqc"]
    assert found.succeeded == ("A",)
    assert found.makespan_s == 1


def test_no_ledger_is_no_attempt(tmp_path):
    assert read_ledger(tmp_path / "ledger.jsonl") == []
