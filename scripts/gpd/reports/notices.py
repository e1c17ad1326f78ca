"""What must be known before any number of a report is used: what breaks it, and what weakens it. Pure."""

from collections.abc import Iterator, Sequence

from gpd.comparison.agreement import Disagreement
from gpd.comparison.comparability import Difference, doubts, pooled_differences
from gpd.records.run import RunRecord
from gpd.records.run_spec import STREAM
from gpd.reports.page import Notice
from gpd.tables import disturbances, repeats
from gpd.tables.collect import Tables
from gpd.tables.columns import JobRow
from gpd.tables.faults import DATA
from gpd.text.formats import counted, sentence, some

MOST_NAMED = 5


def notices(tables: Tables, differing: Sequence[Disagreement]) -> Iterator[Notice]:
    records, jobs = tables.records, tables.jobs
    outputs = [f"{output.kind} of {some(output.samples, MOST_NAMED)} ({output.pipeline})" for output in differing]
    broken = [job for job in jobs if job.binding_ok is False]
    bad = sorted({sample.sample for sample in tables.samples if sample.fault == DATA})
    failed = sum(run.failed for run in tables.runs if run.counted or run.mode == STREAM)
    unfinished = len(tables.unfinished)
    last = {(job.run, job.rule, job.sample, job.unit, job.shard): job for job in jobs if not job.timed}
    outside = [_name(job) for job in last.values() if job.exit_code != 0]  # no sample fails for them
    different = "Samples that ran in several runs gave different results"
    errors = (
        _naming(different, outputs, ". Speed does not count where outputs differ; see Output agreement."),
        _naming(
            f"Binding was broken: {counted(len(broken), 'job')} ran on CPUs outside the allocation, so that jobs may "
            "have shared CPUs. First",
            list(dict.fromkeys(map(_name, broken))),
        ),
        "" if tables.runs else "No run of this study has ended: there is nothing to report. Run the study again.",
    )
    warnings = (
        *_mixtures(records),
        *(f"{line}." for line in disturbances.lines(disturbances.in_means(tables.runs))),
        _naming(
            "Bad data, for they fail wherever drawn, alone too", bad, ". The study stopped: drop them from the pool."
        ),
        f"{counted(failed, 'sample')} failed; see Failures." if failed else "",
        _naming(f"{counted(len(outside), 'job')} of no named step failed", outside),
        f"{counted(unfinished, 'run')} did not end: in no mean; see Not finished." if unfinished else "",
        _naming("Cut off once or more, and run again from the start", tables.cut_off),
        _short_of_budget(tables),
        *(map(sentence, doubts([(record.spec.name, record) for record in records])) if records else ()),
    )
    yield from (Notice("error", text) for text in errors if text)
    yield from (Notice("warning", text) for text in warnings if text)


def _short_of_budget(tables: Tables) -> str:
    """Say that a study has fewer repeats than its settings ask for, for its time was up."""
    if tables.plan is None or tables.plan.study.budget is None:
        return ""
    wanted = repeats.rule(tables.plan.study)
    short = [one for one in tables.configurations if one.repeats < wanted.wanted(one)]
    which = counted(len(short), "configuration")
    return f"The budget of {tables.plan.study.budget} ended before all repeats of {which} were made." if short else ""


def _naming(before: str, names: Sequence[str], after: str = ".") -> str:
    """A notice that names what it is about; nothing where that is nothing."""
    return f"{before}: {some(names, MOST_NAMED)}{after}" if names else ""


def _mixtures(records: Sequence[RunRecord]) -> Iterator[str]:
    """Say in what the repeats of configurations differ, a line each thing that differs."""
    alike: dict[tuple[str, str], list[Difference]] = {}
    for difference in pooled_differences(records):
        alike.setdefault((difference.name, difference.detail), []).append(difference)
    for differences in alike.values():
        more = f" The same of {counted(len(differences) - 1, 'more mean')}." if len(differences) > 1 else ""
        yield f"Repeats that go into one mean differ: {differences[0]}.{more}"


def _name(job: JobRow) -> str:
    return f"{job.rule} {job.sample or ''}".strip() + f" in {job.run}"
