"""What failed, and which outputs of several runs differ, as tables and sentences of a report. Pure."""

from collections.abc import Iterable, Sequence

from gpd.comparison.agreement import Disagreement, compared
from gpd.records.run import RunRecord
from gpd.tables.collect import Tables
from gpd.tables.columns import SampleRow
from gpd.tables.faults import COHORT_DATA, DATA, LOAD
from gpd.text.formats import counted, short, some
from gpd.text.grid import Grid, group

MOST_FAILURES = 100
FAULTS = {DATA: "its data", COHORT_DATA: "data of its cohort", LOAD: "not its data", None: "not told apart"}
MOST_RUNS = 4


def failure_grid(samples: Iterable[SampleRow]) -> Grid | None:
    """The samples that failed, with step, cause, message and log; warm-ups too. None where none did."""
    failed = [sample for sample in samples if not sample.succeeded]
    heads = ("sample", "run", "step", "cause", "fault", "message", "log")
    rows = [
        (one.sample, one.run, one.failed_step, one.cause, FAULTS[one.fault], one.message, one.log)
        for one in failed[:MOST_FAILURES]
    ]
    texts = [[text or "" for text in row] for row in rows]
    return Grid("Samples that failed", heads, (group(texts),), numeric=False) if texts else None


def disagreement_grid(differing: Iterable[Disagreement]) -> Grid:
    """Each result of an output that differs, with the runs that came to it."""
    rows = [
        (", ".join(output.samples), output.pipeline, output.kind, short(digest), some(runs, MOST_RUNS))
        for output in differing
        for digest, runs in output.digests.items()
    ]
    return Grid(
        "Outputs that differ", ("sample", "pipeline", "output", "digest", "runs"), (group(rows),), numeric=False
    )


def about_failures(tables: Tables) -> str:
    failed = sum(not sample.succeeded for sample in tables.samples)
    ran = counted(len(tables.samples), "sample run")
    if not failed:
        return f"No sample failed: all {ran} succeeded, warm-ups included."
    more = f" The first {MOST_FAILURES} are listed; all are in samples.tsv." if failed > MOST_FAILURES else ""
    return f"{failed:,} of {ran} failed, warm-ups included. Logs are relative to the run's folder.{more}"


def about_agreement(records: Sequence[RunRecord], differing: Sequence[Disagreement]) -> str:
    count = compared(records)
    if differing:
        return f"{len(differing):,} of {counted(count, 'output')} that several runs came to differ between them."
    if not count:
        return "No output was compared: no sample ran in more than one run with its output recorded."
    return f"{counted(count, 'output')} came from more than one run each, and were the same in all of them."
