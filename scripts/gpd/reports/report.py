"""The report of a study, from its tables: the answer, tables, figures, faults, machines, method.

What it says is a pure function of the tables: no clock, no path of this machine, the same bytes every time.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpd.comparison import agreement
from gpd.comparison.agreement import Disagreement, compared
from gpd.comparison.comparability import Difference, doubts, pooled_differences
from gpd.files import write_text
from gpd.pipelines import ALIKE, HUMAN_30X_GIGABASES, LEAST_ALIKE, PIPELINES
from gpd.published import curves
from gpd.published.curves import PublishedCurve
from gpd.records.run import RunRecord
from gpd.records.run_spec import STREAM, CurveKey
from gpd.reports.grids import (
    MOST_FAILURES,
    continued_grid,
    counted_in,
    daily_of,
    disagreement_grid,
    failure_grid,
    label,
    mean_entry,
    nodes_grid,
    rows,
    search_grid,
    searched_curves,
    step_grids,
    stream_grids,
)
from gpd.reports.host_grid import cpu_names, host_grid, software_grid
from gpd.reports.method import method_lines
from gpd.reports.node_findings import NODE_TITLE, node_section
from gpd.reports.page import HTML, Headline, Notice, Page, Section, render
from gpd.reports.study_figures import (
    reference_figure,
    saturation_of,
    step_figure,
    throughput_figure,
    timeline_figure,
    utilisation_figure,
)
from gpd.statistics.known import mean
from gpd.statistics.saturation import find_saturation
from gpd.tables import disturbances, repeats
from gpd.tables.collect import Tables
from gpd.tables.columns import CLOCKS, ConfigurationRow, JobRow, SampleRow
from gpd.tables.faults import DATA
from gpd.text.formats import counted, listed, number, of_copies, of_reads, some
from gpd.text.grid import Entry, Grid

MOST_NAMED = 5
SOUGHT = "N was sought, and nothing was measured since."


def write(
    tables: Tables,
    folder: Path,
    disagreements: Sequence[Disagreement] | None = None,
    references: Sequence[PublishedCurve] | None = None,
) -> Path:
    """Write the report of a study into a folder; return its path.

    Without `disagreements` the records of the runs are compared; without `references` the published curves are shown.
    Raises OSError.
    """
    if disagreements is None:
        disagreements = agreement.disagreements(tables.records)
    if references is None:
        references = curves.curves()
    path = folder / HTML
    write_text(path, render(find(tables, disagreements, references)))
    return path


def find(tables: Tables, disagreements: Sequence[Disagreement], references: Sequence[PublishedCurve]) -> Page:
    """Say what the tables of a study say. The same tables give the same page."""
    records, curve_keys = tables.records, searched_curves(tables)
    pipelines = list(dict.fromkeys(curve.pipeline for curve in curve_keys))
    machines, software = host_grid(records), software_grid(records)
    return Page(
        title=f"Throughput of {listed(dict.fromkeys(run.study for run in tables.runs)) or 'no run has ended'}",
        notices=tuple(_notices(tables, disagreements)),
        headlines=tuple(_headline(pipeline, tables) for pipeline in pipelines),
        sections=(
            *(_pipeline(pipeline, curve_keys, tables, references) for pipeline in pipelines),
            *_streams(tables),
            *_continued(tables),
            Section("Failures", _about_failures(tables), grids=_present(failure_grid(tables.samples))),
            Section(
                "Output agreement",
                _agreement(records, disagreements),
                grids=_present(disagreement_grid(disagreements)) if disagreements else (),
            ),
            Section(
                "Not finished",
                "These runs did not end; nothing of them is in this report. Run the study again to finish them."
                if tables.unfinished
                else "Every run that was begun has ended.",
                lines=tables.unfinished,
            ),
            Section("Machine and software", grids=_present(machines, software)),
            node_section(tables.node)
            if tables.node
            else Section(
                NODE_TITLE, "Not measured: run gpd node, and studies that are run from then on have its record."
            ),
            Section("Method", lines=tuple(method_lines(tables))),
        ),
    )


ABOUT_STREAMS = (
    "A sample starts when another ends, or when one arrives and there is room: first come, first served. Samples a day "
    "are those that ended in the window, without ramp and tail; their 95% interval is by batch means. Waits and times "
    "to result are medians with the 95th percentile, of those that arrived in the window. A queue is stable where "
    "nobody waited at some time in the last third of the window. Samples are those of the pool, each drawn many times."
)


def _streams(tables: Tables) -> tuple[Section, ...]:
    grids = stream_grids(tables.streams)
    notes = tuple(note for grid in grids for note in grid.notes)
    return (Section("Streams", ABOUT_STREAMS, grids=grids, lines=notes),) if grids else ()


def _continued(tables: Tables) -> tuple[Section, ...]:
    about = (
        "These runs were cut off, and went on where they were: how long they would have taken nobody knows. Their "
        "outputs, failures and CPU seconds are right."
    )
    return tuple(Section("Continued", about, grids=(grid,)) for grid in _present(continued_grid(tables.runs)))


def _present(*grids: Grid | None) -> tuple[Grid, ...]:
    return tuple(grid for grid in grids if grid)


# -------------------------------------------------------------------------------------------- notices


def _notices(tables: Tables, differing: Sequence[Disagreement]) -> Iterator[Notice]:
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
        *(f"{line}." for line in disturbances.lines(disturbances.in_figures(tables.runs))),
        _naming(
            "Bad data, for they fail wherever drawn, alone too", bad, ". Others took their place, where there were."
        ),
        f"{counted(failed, 'sample')} failed; see Failures." if failed else "",
        _naming(f"{counted(len(outside), 'job')} of no named step failed", outside),
        f"{counted(unfinished, 'run')} did not end: in no figure; see Not finished." if unfinished else "",
        _naming("Cut off once or more, and run again from the start", tables.cut_off),
        _short_of_budget(tables),
        *(map(_sentence, doubts([(record.spec.name, record) for record in records])) if records else ()),
    )
    yield from (Notice("error", text) for text in errors if text)
    yield from (Notice("warning", text) for text in warnings if text)


def _short_of_budget(tables: Tables) -> str:
    """Say that a study has fewer repeats than its settings ask for, for its time was up."""
    if tables.plan is None or tables.plan.study.budget is None:
        return ""
    wanted = repeats.rule(tables.plan.study)
    short = [
        configuration
        for configuration in tables.configurations
        if (stats := repeats.stats(configuration)).done < wanted.wanted(stats)
    ]
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


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# ------------------------------------------------------------------------------------------- headline


def _headline(pipeline: str, tables: Tables) -> Headline:
    """The curve whose best N gives the most genomes a day: one in which no sample failed, where there is any.

    The best N is that of its saturation point, as everywhere. A sample that fails early frees the machine for the
    others, so that a figure with failures is not one of N samples.
    """
    configurations = [
        configuration
        for configuration in tables.configurations
        if configuration.pipeline == pipeline and configuration.genomes_per_day.mean
    ]
    if not configurations:
        measured = any(run.pipeline == pipeline for run in counted_in(tables.runs))
        why = "No sample succeeded at any N." if measured else SOUGHT
        return Headline(pipeline, Entry("none"), daily_of(pipeline, tables.runs), why, (), "")
    best = max(
        _best_configurations(configurations),
        key=lambda configuration: (not configuration.failed, _daily(configuration)),
    )
    most = max(configurations, key=_daily)
    size = _mean_gigabases(best, tables.samples)
    others = [(best.gigabases_per_day, "gigabases a day")]
    others += [(best.human_30x_per_day, "human genomes at 30x a day")] if PIPELINES[pipeline].genomes else []
    whole = " of the samples that succeeded, while others failed" if best.failed else ""
    faster = ""
    if most is not best:
        where = f"N = {most.n} ({label(most.curve_key)})"
        why = f"but there {_freed(most)}" if most.failed else "which is within the noise"
        faster = f" {where} gave {number(most.genomes_per_day.mean)}, {why}."
    return Headline(
        pipeline,
        mean_entry(best.genomes_per_day),
        f"{daily_of(pipeline, [best])}{whole}{'' if size is None else f', of {number(size, 2)} gigabases each'}",
        _reached(best, tables) + faster,
        tuple((mean_entry(one), name) for one, name in others if one.mean is not None),
        _scale(pipeline, size, best.fraction),
    )


def _best_configurations(configurations: Sequence[ConfigurationRow]) -> Iterator[ConfigurationRow]:
    """Each curve at its best N; of processors that are not pooled, each at its own."""
    for key, sku in dict.fromkeys((configuration.curve_key, configuration.sku) for configuration in configurations):
        own = [
            configuration
            for configuration in configurations
            if (configuration.curve_key, configuration.sku) == (key, sku)
        ]
        n = find_saturation(configuration.observation for configuration in own).best_n
        yield from (configuration for configuration in own if configuration.n == n)


def _daily(configuration: ConfigurationRow) -> float:
    return configuration.genomes_per_day.mean or 0.0


def _freed(configuration: ConfigurationRow) -> str:
    return f"{counted(configuration.failed, 'sample')} failed and left the machine to the others"


def _reached(configuration: ConfigurationRow, tables: Tables) -> str:
    runs = counted_in(rows(configuration.curve_key, tables.runs))
    cores = list(dict.fromkeys(run.cores for run in runs))
    own = {run.run for run in runs if run.n == configuration.n}
    names = cpu_names(record for record in tables.records if record.spec.name in own)
    cpu = f"on {listed(names) or configuration.sku or 'a CPU whose name is not known'}"
    used = f", {' or '.join(map(str, cores))} cores" if cores else ""
    error = {1: "one repeat, no interval known", 2: "mean of 2 repeats, of which there is hardly an interval"}.get(
        configuration.genomes_per_day.n,
        f"mean of {counted(configuration.repeats, 'repeat')} and half-width of its 95% interval",
    )
    failed = f"; no N was without failures, and here {_freed(configuration)}" if configuration.failed else ""
    copies = of_copies(configuration.samples_per_genome)
    at_once = f"N = {configuration.n} samples at once{copies and f' ({copies})'}"
    return f"{at_once}, {label(configuration.curve_key)}, {cpu}{used}; {error}{failed}."


def _mean_gigabases(configuration: ConfigurationRow, samples: Iterable[SampleRow]) -> float | None:
    """What a sample that succeeded at a configuration holds on average."""
    return mean(
        sample.gigabases
        for sample in counted_in(rows(configuration.curve_key, samples))
        if sample.n == configuration.n and sample.succeeded
    )


def _scale(pipeline: str, gigabases: float | None, fraction: float) -> str:
    """Say how large a sample is, so that a small one never passes for a human genome."""
    if fraction < 1:
        return f"Measured {of_reads(fraction)}: what whole samples would take does not follow."
    if gigabases is None:
        return "What a sample holds is not known, so this can't be set against other figures."
    if not PIPELINES[pipeline].genomes:
        return "Samples are RNA-Seq libraries of this study; libraries of another size take another time."
    share = gigabases / HUMAN_30X_GIGABASES
    of_human = f"a sample has {number(100 * share, 2)}% of the bases of a human genome at 30x"
    if share < LEAST_ALIKE:
        return f"These are no human genomes: {of_human} ({HUMAN_30X_GIGABASES:g} gigabases). Nothing follows for one."
    if share < ALIKE:
        return (
            f"These are not whole human genomes: {of_human} ({HUMAN_30X_GIGABASES:g} gigabases). The human "
            "equivalent assumes that time grows as bases do."
        )
    return _sentence(f"{of_human} ({HUMAN_30X_GIGABASES:g} gigabases)")


# ------------------------------------------------------------------------------------------ pipelines


def _pipeline(
    pipeline: str, curve_keys: Sequence[CurveKey], tables: Tables, references: Sequence[PublishedCurve]
) -> Section:
    """The curves of a pipeline beside each other, what more nodes bring, then each curve."""
    own, configurations = [curve for curve in curve_keys if curve.pipeline == pipeline], tables.configurations
    published = reference_figure(references) if PIPELINES[pipeline].genomes else None
    return Section(
        f"Pipeline {pipeline}",
        figures=(
            throughput_figure(pipeline, own, configurations),
            utilisation_figure(pipeline, own, configurations),
            *((published,) if published else ()),
        ),
        grids=_present(nodes_grid(pipeline, configurations)),
        parts=tuple(
            Section(
                label(curve).capitalize(),
                _saturation(curve, configurations),
                (
                    step_figure(curve, tables.summary, configurations),
                    timeline_figure(curve, tables.jobs, tables.summary),
                ),
                (
                    *(grid for clock in CLOCKS for grid in step_grids(curve, clock, tables.summary, configurations)),
                    *_present(search_grid(curve, tables)),
                ),
            )
            for curve in own
        ),
    )


def _saturation(curve: CurveKey, configurations: Sequence[ConfigurationRow]) -> str:
    if not rows(curve, configurations):
        return f"No saturation point: {SOUGHT}"
    saturation = saturation_of(curve, configurations)
    if saturation is None:
        return "No saturation point: one N alone was run."
    if saturation.n is None:
        return f"No saturation point: {saturation.reason}."
    return f"Saturation point, the best N: N = {saturation.best_n}. {_sentence(saturation.reason)}"


# --------------------------------------------------------------------------------- failures, agreement


def _about_failures(tables: Tables) -> str:
    failed = sum(not sample.succeeded for sample in tables.samples)
    ran = counted(len(tables.samples), "sample run")
    if not failed:
        return f"No sample failed: all {ran} succeeded, warm-ups included."
    more = f" The first {MOST_FAILURES} are listed; all are in samples.tsv." if failed > MOST_FAILURES else ""
    return f"{failed:,} of {ran} failed, warm-ups included. Logs are relative to the run's folder.{more}"


def _agreement(records: Sequence[RunRecord], differing: Sequence[Disagreement]) -> str:
    count = compared(records)
    if differing:
        return f"{len(differing):,} of {counted(count, 'output')} that several runs came to differ between them."
    if not count:
        return "No output was compared: no sample ran in more than one run with its output recorded."
    return f"{counted(count, 'output')} came from more than one run each, and were the same in all of them."
