"""What a report says of a study, from its tables: the answer, tables, figures, faults, machines, method. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpd.comparison.agreement import Disagreement, compared
from gpd.comparison.comparability import Difference, doubts, pooled_differences
from gpd.pipelines import ALIKE, HUMAN_30X_GIGABASES, PIPELINES
from gpd.published.curves import PublishedCurve
from gpd.records.run import RunRecord
from gpd.records.run_spec import CurveKey
from gpd.reports import node_findings
from gpd.reports.grids import (
    MOST_FAILURES,
    all_curves,
    counted_in,
    disagreement_grid,
    failure_grid,
    label,
    mean_entry,
    nodes_grid,
    rows,
    step_grids,
)
from gpd.reports.host_grid import busy_runs, cpu_names, host_grid, software_grid
from gpd.reports.method import method_lines
from gpd.reports.node_findings import NodeFindings
from gpd.reports.study_figures import (
    Shown,
    reference_figure,
    saturation_of,
    step_figure,
    throughput_figure,
    timeline_figure,
    utilisation_figure,
)
from gpd.statistics.saturation import Saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import CLOCKS, ConfigurationRow, JobRow, SampleRow
from gpd.tables.faults import DATA
from gpd.text.formats import counted, listed, number, some
from gpd.text.grid import Entry, Grid

MOST_NAMED = 5


@dataclass(frozen=True)
class Notice:
    """Something that must be known before any figure is used: `error` breaks them, `warning` weakens them."""

    level: str
    text: str


@dataclass(frozen=True)
class Headline:
    """The best of a pipeline: the figure, what it counts, where it was reached, and the same in other units."""

    pipeline: str
    best: Entry
    counts: str
    reached: str
    others: tuple[tuple[Entry, str], ...]
    scale: str


@dataclass(frozen=True)
class CurveFindings:
    """One mode and binding of a pipeline."""

    title: str
    saturation: str
    grids: tuple[Grid, ...]
    figures: tuple[Shown, ...]


@dataclass(frozen=True)
class PipelineFindings:
    """One pipeline: the curves of all its curve beside each other, what more nodes bring, then each curve."""

    name: str
    figures: tuple[Shown, ...]
    nodes: Grid | None
    curves: tuple[CurveFindings, ...]


@dataclass(frozen=True)
class Findings:
    """A report, top down."""

    study: str
    notices: tuple[Notice, ...]
    headlines: tuple[Headline, ...]
    pipelines: tuple[PipelineFindings, ...]
    failures: Grid | None
    about_failures: str
    disagreements: Grid | None
    agreement: str
    unfinished: tuple[str, ...]
    machines: Grid | None
    about_machines: str
    software: Grid | None
    node: NodeFindings | None
    method: tuple[str, ...]


def find(tables: Tables, disagreements: Sequence[Disagreement], references: Sequence[PublishedCurve]) -> Findings:
    """Say what the tables of a study say. The same tables give the same findings."""
    records = list(tables.records)
    machines, about_machines = host_grid(records)
    curves = all_curves(tables.configurations)
    return Findings(
        study=_study(tables),
        notices=tuple(_notices(tables, records, disagreements)),
        headlines=tuple(
            _headline(pipeline, tables, records)
            for pipeline in PIPELINES
            if any(curve.pipeline == pipeline for curve in curves)
        ),
        pipelines=tuple(_pipelines(curves, tables, references)),
        failures=failure_grid(tables.samples),
        about_failures=_about_failures(tables),
        disagreements=disagreement_grid(disagreements) if disagreements else None,
        agreement=_agreement(records, disagreements),
        unfinished=tuple(tables.unfinished),
        machines=machines,
        about_machines=about_machines,
        software=software_grid(records),
        node=node_findings.find(tables.node) if tables.node else None,
        method=tuple(method_lines(tables, records)),
    )


def _study(tables: Tables) -> str:
    return listed(dict.fromkeys(run.study for run in tables.runs)) or "no run has ended"


# -------------------------------------------------------------------------------------------- notices


def _notices(tables: Tables, records: Sequence[RunRecord], differing: Sequence[Disagreement]) -> Iterator[Notice]:
    if differing:
        outputs = [f"{output.kind} of {some(output.samples, MOST_NAMED)} ({output.pipeline})" for output in differing]
        said = f"Samples that ran in several runs gave different results: {some(outputs, MOST_NAMED)}."
        yield Notice("error", f"{said} Speed does not count where outputs differ; see Output agreement.")
    if broken := _broken_bindings(tables.jobs):
        yield Notice("error", broken)
    if not tables.runs:
        yield Notice("error", "No run of this study has ended: there is nothing to report. Run the study again.")
    yield from (Notice("warning", text) for text in _mixtures(records))
    if busy := busy_runs(records):
        yield Notice("warning", f"The node was busy before the start of {counted(len(busy), 'run')}: {some(busy, 5)}.")
    if bad := sorted({sample.sample for sample in tables.samples if sample.fault == DATA}):
        yield Notice("warning", _bad_data(bad))
    if failed := sum(run.failed for run in counted_in(tables.runs)):
        yield Notice("warning", f"{counted(failed, 'sample')} failed; see Failures.")
    if waited := _waited_for_disk(records):
        yield Notice("warning", waited)
    if outside := _failed_outside(tables.jobs):
        yield Notice("warning", outside)
    if contended := _contended(tables.jobs):
        yield Notice("warning", contended)
    if tables.unfinished:
        count = counted(len(tables.unfinished), "run")
        yield Notice(
            "warning", f"{count} did not end and {_are(len(tables.unfinished))} in no figure; see Not finished."
        )
    yield from (Notice("warning", _sentence(doubt)) for doubt in (doubts(_named(records)) if records else ()))


def _mixtures(records: Sequence[RunRecord]) -> Iterator[str]:
    """Say in what the repeats of configurations differ, a line each thing that differs."""
    alike: dict[tuple[str, str], list[Difference]] = {}
    for difference in pooled_differences(records):
        alike.setdefault((difference.name, difference.detail), []).append(difference)
    for differences in alike.values():
        more = f" The same of {counted(len(differences) - 1, 'more mean')}." if len(differences) > 1 else ""
        yield f"Repeats that go into one mean differ: {differences[0]}.{more}"


def _broken_bindings(jobs: Iterable[JobRow]) -> str:
    broken = [job for job in jobs if job.binding_ok is False]
    if not broken:
        return ""
    named = dict.fromkeys(map(_name, broken))
    return (
        f"Binding was broken: {counted(len(broken), 'job')} ran on CPUs outside the allocation, so that jobs may have "
        f"shared CPUs. First: {some(list(named), MOST_NAMED)}."
    )


def _bad_data(samples: Sequence[str]) -> str:
    return (
        f"{counted(len(samples), 'sample')} {'has' if len(samples) == 1 else 'have'} bad data, for "
        f"{'it fails' if len(samples) == 1 else 'they fail'} wherever drawn, alone too: {some(samples, MOST_NAMED)}. "
        "Repeats with such samples were drawn anew without them, where the pool had others."
    )


def _waited_for_disk(records: Iterable[RunRecord]) -> str:
    """Runs whose samples were not all at work at once, for the disk had no room for that."""
    held = [record for record in records if record.waited_for_disk]
    named = [f"{len(record.waited_for_disk)} of {record.spec.n} in {record.spec.name}" for record in held]
    return (
        f"Fewer samples than N ran at once, for the disk had no room: {some(named, MOST_NAMED)} waited." if held else ""
    )


def _name(job: JobRow) -> str:
    return f"{job.rule} {job.sample or ''}".strip() + f" in {job.run}"


def _failed_outside(jobs: Iterable[JobRow]) -> str:
    """Jobs of no named step that failed for good: no sample fails for them, but what they make is missing."""
    last = {(job.run, job.rule, job.sample, job.unit, job.shard): job for job in jobs if not job.timed}
    named = [_name(job) for job in last.values() if job.exit_code != 0]
    return f"{counted(len(named), 'job')} of no named step failed: {some(named, MOST_NAMED)}." if named else ""


def _contended(jobs: Iterable[JobRow]) -> str:
    """Jobs whose CPUs were kept busy by processes that are none of ours, and what these took."""
    met = [job for job in jobs if job.contended]
    if not met:
        return ""
    runs = list(dict.fromkeys(job.run for job in met))
    parts = (
        ([job.foreign_cpu_s for job in met], "such processes"),
        ([job.steal_s for job in met], "the hypervisor's other guests"),
    )
    known = ((whose, [value for value in values if value is not None]) for values, whose in parts)
    taken = [f"{whose} took {number(sum(values))} s" for whose, values in known if values]
    return (
        f"CPUs of {counted(len(met), 'job')} were kept busy by processes that are no job of ours, in "
        f"{some(runs, MOST_NAMED)}{': ' + listed(taken) if taken else ''}. Figures of these runs are too low."
    )


def _named(records: Iterable[RunRecord]) -> list[tuple[str, RunRecord]]:
    return [(record.spec.name, record) for record in records]


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# ------------------------------------------------------------------------------------------- headline


def _headline(pipeline: str, tables: Tables, records: Sequence[RunRecord]) -> Headline:
    """The configuration with the most genomes a day, of all curve: one in which no sample failed, where there is any.

    A sample that fails early frees the machine for the others, so that a figure with failures is not one of N samples.
    """
    points = [point for point in tables.configurations if point.pipeline == pipeline and point.genomes_per_day.mean]
    if not points:
        return Headline(pipeline, Entry("none"), PIPELINES[pipeline].daily, "No sample succeeded at any N.", (), "")
    best = max(points, key=lambda point: (not point.failed, _daily(point)))
    most = max(points, key=_daily)
    size = _mean_gigabases(best, tables.samples)
    others = [(best.gigabases_per_day, "gigabases a day")]
    others += [(best.human_30x_per_day, "human genomes at 30x a day")] if PIPELINES[pipeline].genomes else []
    return Headline(
        pipeline,
        mean_entry(best.genomes_per_day),
        _counts(pipeline, best, size),
        _reached(best, tables, records) + ("" if most is best else f" {_faster(most)}"),
        tuple((mean_entry(one), name) for one, name in others if one.mean is not None),
        _scale(pipeline, size),
    )


def _daily(point: ConfigurationRow) -> float:
    return point.genomes_per_day.mean or 0.0


def _counts(pipeline: str, best: ConfigurationRow, size: float | None) -> str:
    """What the figure counts; where it is not one of all samples that ran, that comes first."""
    whole = " of the samples that succeeded, while others failed" if best.failed else ""
    return f"{PIPELINES[pipeline].daily}{whole}{'' if size is None else f', of {number(size, 2)} gigabases each'}"


def _faster(point: ConfigurationRow) -> str:
    """Say that another configuration gave more, and why it is not the best."""
    where = f"N = {point.n} ({label(point.curve_key)})"
    return f"{where} gave {number(point.genomes_per_day.mean)}, but there {_freed(point)}."


def _freed(point: ConfigurationRow) -> str:
    return f"{counted(point.failed, 'sample')} failed and left the machine to the others"


def _reached(point: ConfigurationRow, tables: Tables, records: Sequence[RunRecord]) -> str:
    runs = counted_in(rows(point.curve_key, tables.runs))
    cores = list(dict.fromkeys(run.cores for run in runs))
    own = {run.run for run in runs if run.n == point.n}
    names = cpu_names(record for record in records if record.spec.name in own)
    cpu = f"on {listed(names) or point.sku or 'a CPU whose name is not known'}"
    used = f", {' or '.join(map(str, cores))} cores" if cores else ""
    repeats = counted(point.repeats, "repeat")
    error = (
        f"mean of {repeats} and its standard error"
        if point.genomes_per_day.se is not None
        else "one repeat, no error known"
    )
    failed = f"; no N was without failures, and here {_freed(point)}" if point.failed else ""
    return f"N = {point.n} samples at once, {label(point.curve_key)}, {cpu}{used}; {error}{failed}."


def _mean_gigabases(point: ConfigurationRow, samples: Iterable[SampleRow]) -> float | None:
    """What a sample that succeeded at a configuration holds on average."""
    own = [sample for sample in counted_in(rows(point.curve_key, samples)) if sample.n == point.n and sample.succeeded]
    known = [sample.gigabases for sample in own if sample.gigabases is not None]
    return fmean(known) if known else None


def _scale(pipeline: str, gigabases: float | None) -> str:
    """Say how large a sample is, so that a small one never passes for a human genome."""
    if gigabases is None:
        return "What a sample holds is not known, so this can't be set against other figures."
    if not PIPELINES[pipeline].genomes:
        return "Samples are RNA-Seq libraries of this study; libraries of another size take another time."
    share = gigabases / HUMAN_30X_GIGABASES
    said = f"a sample has {number(100 * share, 2)}% of the bases of a human genome at 30x"
    if share < ALIKE:
        return (
            f"These are not whole human genomes: {said} ({HUMAN_30X_GIGABASES:g} gigabases). The human equivalent "
            "assumes that time grows as bases do."
        )
    return _sentence(f"{said} ({HUMAN_30X_GIGABASES:g} gigabases)")


# ------------------------------------------------------------------------------------------ pipelines


def _pipelines(
    curves: Sequence[CurveKey], tables: Tables, references: Sequence[PublishedCurve]
) -> Iterator[PipelineFindings]:
    for pipeline in dict.fromkeys(curve.pipeline for curve in curves):
        own = [curve for curve in curves if curve.pipeline == pipeline]
        published = reference_figure(references) if PIPELINES[pipeline].genomes else None
        figures = (
            throughput_figure(pipeline, own, tables.configurations),
            utilisation_figure(pipeline, own, tables.configurations),
            published,
        )
        yield PipelineFindings(
            pipeline,
            tuple(filter(None, figures)),
            nodes_grid(pipeline, tables.configurations),
            tuple(_curve_key_findings(curve, tables) for curve in own),
        )


def _curve_key_findings(curve_key: CurveKey, tables: Tables) -> CurveFindings:
    return CurveFindings(
        title=label(curve_key).capitalize(),
        saturation=_saturation(saturation_of(curve_key, tables.configurations)),
        grids=tuple(
            grid
            for clock in CLOCKS
            for grid in step_grids(curve_key, clock, tables.steps, tables.runs, tables.configurations)
        ),
        figures=(step_figure(curve_key, tables.steps, tables.configurations), timeline_figure(curve_key, tables.jobs)),
    )


def _saturation(saturation: Saturation | None) -> str:
    if saturation is None:
        return "No saturation point: one N alone was run."
    if saturation.n is None:
        return f"No saturation point: {saturation.reason}."
    failed = f", where {counted(saturation.failed, 'sample')} failed" if saturation.failed else ""
    safe = ""
    if saturation.n_without_failures not in (None, saturation.n):
        safe = f"; N = {saturation.n_without_failures} without failures"
    return f"Knee: N = {saturation.n}{failed}{safe}. {_sentence(saturation.reason)}"


# --------------------------------------------------------------------------------- failures, agreement


def _about_failures(tables: Tables) -> str:
    failed = sum(not sample.succeeded for sample in tables.samples)
    ran = counted(len(tables.samples), "sample run")
    if not failed:
        return f"No sample failed: all {ran} succeeded, warm-ups included."
    more = f" The first {MOST_FAILURES} are listed; all are in samples.tsv." if failed > MOST_FAILURES else ""
    return (
        f"{failed:,} of {ran} failed, warm-ups included. A failed sample costs its "
        f"time and counts nothing. Logs are relative to the run's folder.{more}"
    )


def _agreement(records: Sequence[RunRecord], differing: Sequence[Disagreement]) -> str:
    count = compared(records)
    if differing:
        return f"{len(differing):,} of {counted(count, 'output')} that several runs came to differ between them."
    if not count:
        return "No output was compared: no sample ran in more than one run with its output recorded."
    return f"{counted(count, 'output')} came from more than one run each, and were the same in all of them."
