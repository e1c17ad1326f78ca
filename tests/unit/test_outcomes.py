"""The one judge of success: what it says by exit codes, attempts and steps, and that all who ask hear the same."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import recording
from hypothesis import given
from hypothesis import strategies as st
from recording import run_record

from gpd.outcomes import NO_JOB_RAN, NOT_FINISHED, Passed, Process, Run, judge, outcomes, passed
from gpd.pipelines import PIPELINES, UNAVOIDABLE
from gpd.tables.summary import summarize

MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
GERMLINE = PIPELINES["germline"].steps
PROVEN = [step for step in GERMLINE if step in UNAVOIDABLE]
ENDED_WELL, JOB_FAILED, KILLED, TERMINATED, INTERRUPTED, UNKNOWN = 0, 1, -9, 143, 130, None
EXIT_CODES = (ENDED_WELL, JOB_FAILED, KILLED, TERMINATED, INTERRUPTED, UNKNOWN)


def attempt(step, owner, exit_code=0, cause=None):
    return recording.attempt(step, owner, 0, None if exit_code is None else 1.0, exit_code, cause=cause)


def done(owner, *steps):
    return [attempt(step, owner) for step in steps]


def judged(exit_code, *attempts, samples=("A", "B"), known=None):
    """Each sample with None for success, else its cause: by the tables' way, and the same samples by the summary's."""
    process = Process(directory=".", samples=samples, exit_code=exit_code, attempts=attempts)
    run = Run(run_record({"samples": list(samples)}), (process,))
    found = outcomes(run, known or passed([process], GERMLINE))
    if known is None:
        succeeded = summarize(attempts, GERMLINE, exit_code=exit_code).succeeded
        assert succeeded == tuple(sorted(one.sample for one in found if one.succeeded))
    return {one.sample: one.cause for one in found}


# attempts; the cause of A and of B by exit code (None: it succeeded); the first of each pair where it ended well, then
# where a job failed, then where it was killed by a signal
WHOLE_A, WHOLE_B = done("A", *PROVEN), done("B", *PROVEN)
CASES = {
    "killed after mapping": (
        [*done("A", "map_and_sort"), *done("B", "map_and_sort")],
        [(None, None), (NOT_FINISHED, NOT_FINISHED), (NOT_FINISHED, NOT_FINISHED)],
    ),
    "interrupted while one was mapped": (
        [*done("A", "map_and_sort"), attempt("map_and_sort", "B", None, "killed")],
        [(None, "killed"), (NOT_FINISHED, "killed"), (NOT_FINISHED, "killed")],
    ),
    "one failed, the other is whole": (
        [*WHOLE_A, attempt("map_and_sort", "B", 1, "tool_error")],
        [(None, "tool_error"), (None, "tool_error"), (NOT_FINISHED, "tool_error")],
    ),
    "one is whole, the other stopped half way": (
        [*WHOLE_A, *done("B", "map_and_sort")],
        [(None, NOT_FINISHED), (NOT_FINISHED, NOT_FINISHED), (NOT_FINISHED, NOT_FINISHED)],
    ),
    "all whole": ([*WHOLE_A, *WHOLE_B], [(None, None), (NOT_FINISHED, NOT_FINISHED), (NOT_FINISHED, NOT_FINISHED)]),
    "the cohort's job failed": (
        [*WHOLE_A, *WHOLE_B, attempt("hard_filter", "cohort", 1, "tool_error")],
        [("tool_error", "tool_error")] * 3,
    ),
    "the cohort's job stands in for the samples'": (
        [*done("A", *PROVEN[:-1]), *done("B", *PROVEN[:-1]), *done("cohort", PROVEN[-1]), attempt("qc", "A", 1)],
        [(None, None), (None, None), (NOT_FINISHED, NOT_FINISHED)],
    ),
    "quality control failed": (
        [*WHOLE_A, *WHOLE_B, attempt("qc", "B", 1, "tool_error")],
        [(None, None), (None, None), (NOT_FINISHED, NOT_FINISHED)],
    ),
    "the reference failed": (
        [attempt("reference", "A", 1, "tool_error")],  # no named step
        [(NO_JOB_RAN, NO_JOB_RAN)] * 3,
    ),
    "a retry mended it": (
        [attempt("map_and_sort", "A", 1, "tool_error"), *WHOLE_A, *WHOLE_B, attempt("qc", "B", 1)],
        [(None, None), (None, None), (NOT_FINISHED, NOT_FINISHED)],
    ),
    "a retry failed too": (
        [*WHOLE_A, *WHOLE_B, *[attempt("hard_filter", "B", 1, "disk_full")] * 2],
        [(None, "disk_full"), (None, "disk_full"), (NOT_FINISHED, "disk_full")],
    ),
}


@pytest.mark.parametrize("exit_code", EXIT_CODES)
@pytest.mark.parametrize("case", CASES)
def test_what_came_of_samples_by_exit_code(case, exit_code):
    attempts, (well, job_failed, by_signal) = CASES[case]
    expected = {ENDED_WELL: well, JOB_FAILED: job_failed, UNKNOWN: job_failed}.get(exit_code, by_signal)
    assert tuple(judged(exit_code, *attempts).values()) == expected


@pytest.mark.parametrize("exit_code", [JOB_FAILED, KILLED, TERMINATED, INTERRUPTED, UNKNOWN])
@pytest.mark.parametrize("reached", range(len(PROVEN)))
def test_a_run_that_ended_early_leaves_nobody_whole_who_lacks_a_step(exit_code, reached):
    """Whatever else happened, and although nobody got further."""
    failed = attempt("map_and_sort", "B", 1, "tool_error")
    assert judged(exit_code, *done("A", *PROVEN[:reached], "qc"), failed)["A"] in (NOT_FINISHED, NO_JOB_RAN)


@pytest.mark.parametrize("exit_code", [JOB_FAILED, KILLED, UNKNOWN])
def test_other_runs_of_its_kind_tell_the_steps_that_not_every_configuration_has(exit_code):
    known = Passed(frozenset([*PROVEN, "hard_filter"]), whole=True)
    assert judged(exit_code, *WHOLE_A, *done("B", *PROVEN, "hard_filter"), known=known) == {
        "A": NOT_FINISHED,
        "B": None,
    }


@pytest.mark.parametrize(("rule", "cause"), [("call_variants", None), ("haplotype_caller", NOT_FINISHED)])
def test_what_calls_without_a_gvcf_needs_no_genotyping(rule, cause):
    called = replace(attempt("haplotype_caller", "A"), rule=rule)
    attempts = [*done("A", "map_and_sort", "mark_duplicates"), called, attempt("map_and_sort", "B", 1, "tool_error")]
    assert judged(JOB_FAILED, *attempts) == {"A": cause, "B": "tool_error"}


def test_a_folder_that_was_run_before_knows_what_was_done():
    earlier = [*done("A", *PROVEN[:3]), attempt("haplotype_caller", "A", None, "killed"), attempt("align", "A", 1)]
    again = done("A", *PROVEN[3:])
    assert summarize(again, GERMLINE, earlier).succeeded == ("A",)
    assert summarize(again[:1], GERMLINE, earlier, exit_code=KILLED).succeeded == ()


def test_what_failed_before_and_is_no_longer_asked_for_fails_nobody():
    earlier = [*WHOLE_A, attempt("hard_filter", "cohort", 1)]
    assert summarize(done("A", "hard_filter"), GERMLINE, earlier).succeeded == ("A",)


attempts_of_any_kind = st.lists(
    st.builds(
        attempt,
        st.sampled_from([*PROVEN, "hard_filter", "qc"]),
        st.sampled_from(["A", "B", "cohort"]),
        st.sampled_from([0, 0, 0, 0, 1, 137, None]),
    ),
    max_size=25,
)


@pytest.mark.deep
@given(attempts_of_any_kind, st.sampled_from(EXIT_CODES))
def test_success_is_never_more_than_the_attempts_prove(attempts, exit_code):
    found = judged(exit_code, *attempts)  # the summary says the same, or judged() fails
    last = {(one.rule, one.owner): one for one in attempts}
    for sample in (name for name, cause in found.items() if cause is None):
        own = [one for (rule, owner), one in last.items() if owner in (sample, "cohort") and rule in GERMLINE]
        assert own and all(one.succeeded for one in own)
        if exit_code != ENDED_WELL:
            assert set(PROVEN) <= {one.step for one in own}
            assert exit_code in (JOB_FAILED, UNKNOWN), "a signal may have cut anything short"


@pytest.mark.deep
@given(attempts_of_any_kind, st.sampled_from(EXIT_CODES), st.sampled_from("AB"))
def test_a_job_that_failed_for_good_fails_its_sample_whatever_else_happened(attempts, exit_code, sample):
    assert judged(exit_code, *attempts, attempt("map_and_sort", sample, 1, "tool_error"))[sample] is not None


def test_the_judge_of_a_process_is_that_of_a_run():
    process = Process(
        directory="samples/A", samples=("A",), exit_code=JOB_FAILED, attempts=(*WHOLE_A, attempt("qc", "A", 1))
    )
    own = passed([process], GERMLINE)
    assert [one.cause for one in judge(process, GERMLINE, own, own)] == [None]
