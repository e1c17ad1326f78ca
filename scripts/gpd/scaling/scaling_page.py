"""The report of a scaling study: what its tables say, and the pages. Pure: the same tables, the same bytes."""

from collections.abc import Iterator, Mapping, Sequence

from gpd.records.binding import describe_binding
from gpd.records.run_spec import ALONE, FULL, WHOLE
from gpd.reports.charts import INTERVALS, Curve, draw_curves, known
from gpd.reports.grids import INTERVALS as STATISTIC
from gpd.reports.grids import mean_entry
from gpd.reports.host_grid import host_grid, other_machines, software_grid
from gpd.reports.page import Notice, Page, Section
from gpd.reports.scope import scope
from gpd.reports.study_figures import ReportFigure
from gpd.reports.svg import Drawing
from gpd.scaling.profiles import Goal, by_step
from gpd.scaling.scaling_results import ScalingResults
from gpd.statistics.amdahl import LEAST_THREAD_COUNTS, TERMS, Fit
from gpd.statistics.estimates import Estimate, by_student
from gpd.tables import disturbances
from gpd.tables.scaling_rows import ScalingConfiguration, ScalingFit
from gpd.text.formats import counted, from_to, listed, number, some
from gpd.text.grid import Entry, Grid, group

THREADS = "threads"
MOST_NAMED = 5
HEADS = (
    *("threads", "copies", "repeats", "step, s", "all done, s", "steps an hour", "CPU s", "efficiency"),
    *("peak of a job, MiB", "peak together, MiB"),
)
METHOD = (
    "A run runs one step through its own rule and the launcher, on inputs that were made once. Alone: one copy on the "
    "node; full: as many side by side as the node's cores and memory hold, each a run of its own of the same sample.",
    "Step: the wall time of its jobs by the launcher's records, one after the other, without what the workflow takes "
    "between them; of several copies the mean. All done: from the first start to the last end, over all copies, which "
    "do not start at one instant. Steps an hour = 3600 x copies / that.",
    "CPU s: the kernel's count for the step's processes; of several copies the mean.",
    "Efficiency = T(1) / (n x T(n)) of the step's mean wall time, at the same binding and occupancy; in brackets its "
    "95% confidence interval.",
    "Errors are half-widths of 95% intervals of the mean over repeats: Student's t (n - 1 degrees of freedom) x sample "
    "standard deviation / square root of n. Warm-ups are in no mean, and the order of runs within a repeat was "
    "shuffled by the seed.",
    "Amdahl's law, T(n) = T(1) x (s + (1 - s) / n), is fitted to the wall times of all repeats (least squares of "
    "relative errors); its 95% interval says how well these times fix s if the law is the step's, not that it is.",
    "The memory bandwidth that a step draws, which ends the scaling of many, is not measured.",
)


def find(results: ScalingResults, profiles: Mapping[Goal, str]) -> Page:
    """Say what the tables of a scaling study say; `profiles` has the text of each goal's, empty where it has none."""
    grids = tuple(grid for grid in (host_grid(results.records), software_grid(results.records)) if grid)
    places = {
        goal.aim: goal.path if text else "none, for no step was measured for it" for goal, text in profiles.items()
    }
    return Page(
        title=f"Scaling of steps: {_title(results)}",
        notices=tuple(_notices(results)),
        sections=(
            *_steps(results.configurations, results.fits),
            Section("Profiles", lines=tuple(f"For {aim}: {place}." for aim, place in places.items())),
            Section("Not finished", lines=results.unfinished or ("Every run that was begun has ended.",)),
            Section("Machine and software", grids=grids),
            Section("Method", lines=(scope(results.records), *METHOD)),
        ),
    )


def _title(results: ScalingResults) -> str:
    pipelines = listed(dict.fromkeys(record.spec.pipeline for record in results.records))
    samples = list(dict.fromkeys(sample for record in results.records for sample in record.spec.samples))
    return f"{pipelines or 'no run has ended'}{f', {some(samples, MOST_NAMED)}' if samples else ''}"


def _notices(results: ScalingResults) -> Iterator[Notice]:
    runs = results.runs
    if results.unfinished:
        count = counted(len(results.unfinished), "run")
        yield Notice("warning", f"In no mean, for not ended: {count}; see Not finished.")
    if broken := [run.run for run in runs if run.jobs.binding_ok is False]:
        yield Notice("error", f"Binding was broken in {some(broken, MOST_NAMED)}: jobs may have shared CPUs.")
    yield from (Notice("warning", f"{line}.") for line in disturbances.lines(run for run in runs if not run.warm_up))
    if others := other_machines(results.records):
        yield Notice("warning", others)
    kinds = {host.virtual_machine or "none" for record in results.records for host in record.machines}
    if guests := kinds - {"none"}:
        yield Notice(
            "warning",
            f"The machine is virtual ({listed(sorted(guests))}): how its CPUs lie on cores, caches and memory of the "
            "real one is not known here, so that thread counts and bindings may come out otherwise there.",
        )


def _steps(configurations: Sequence[ScalingConfiguration], fits: Sequence[ScalingFit]) -> Iterator[Section]:
    for pipeline, step, own in by_step(configurations):
        yield Section(
            step,
            figures=tuple(_figures(step, _curves(own))),
            grids=tuple(grids(own)),
            lines=tuple(_fit(fit) for fit in fits if (fit.pipeline, fit.step) == (pipeline, step)),
        )


def grids(configurations: Sequence[ScalingConfiguration]) -> Iterator[Grid]:
    """A table of each curve of each step, a row a number of threads: means and half-widths."""
    for _, step, own in by_step(configurations):
        for label, curve in _curves(own):
            yield Grid(f"{step}, {label}: {STATISTIC}", HEADS, (group(map(_line, curve)),))


def _curves(configurations: Sequence[ScalingConfiguration]) -> list[tuple[str, list[ScalingConfiguration]]]:
    """The configurations of each curve over threads, under what sets it apart."""
    found: dict[str, list[ScalingConfiguration]] = {}
    several = len({(row.sku, row.machine) for row in configurations}) > 1
    for row in sorted(configurations, key=lambda row: row.threads):
        where = f", machine {row.machine} ({row.sku})" if several else ""
        found.setdefault(f"{_label(row)}{where}", []).append(row)
    return sorted(found.items())


def _label(row: ScalingConfiguration | ScalingFit) -> str:
    scatter = [] if row.scatter == WHOLE else [f"scattered ({row.scatter})"]
    where = {ALONE: "alone", FULL: "fully loaded node"}[row.occupancy]
    return ", ".join((where, describe_binding(row.binding), *scatter))


def _line(row: ScalingConfiguration) -> tuple[str | Entry, ...]:
    efficiency = row.efficiency.times(100)
    interval = from_to(efficiency.low, efficiency.high).replace(")", "%)")
    return (
        *(str(row.threads), f"{row.copies:,}", f"{row.repeats:,}"),
        *map(mean_entry, (row.step_s, row.makespan_s, row.steps_per_hour, row.cpu_s)),
        Entry("" if efficiency.value is None else f"{number(efficiency.value)}%", interval),
        *(number(row.peak_rss_mib), number(row.peak_memory_mib)),
    )


def _figures(step: str, curves: Sequence[tuple[str, list[ScalingConfiguration]]]) -> Iterator[ReportFigure]:
    if all(len(own) < 2 for _, own in curves):
        yield ReportFigure("No curve over threads: one number of threads was measured.")
        return
    full = [(label, own) for label, own in curves if own[0].occupancy == FULL]
    seconds = _drawing(f"{step}-seconds", f"Seconds of {step} against threads", "step_s", curves, "s")
    yield ReportFigure(f"{INTERVALS} Half as long at each doubling would be efficiency 100%.", seconds)
    if any(len(own) > 1 for _, own in full):
        title = f"Steps an hour of {step} against threads, fully loaded node"
        hourly = _drawing(f"{step}-hourly", title, "steps_per_hour", full, "steps an hour")
        yield ReportFigure(f"{INTERVALS} The highest point: most samples a day of this step.", hourly)


def _drawing(
    name: str, title: str, column: str, curves: Sequence[tuple[str, list[ScalingConfiguration]]], unit: str
) -> Drawing:
    drawn = [Curve(label, known({row.threads: getattr(row, column) for row in own})) for label, own in curves]
    return draw_curves(name, title, drawn, unit, x_label=THREADS)


def _fit(fit: ScalingFit) -> str:
    """Amdahl's law for one curve, in a sentence."""
    label, law = _label(fit), fit.law
    where = label[:1].upper() + label[1:]
    if law.serial_fraction_se is None:
        known = (
            f"met exactly by {counted(law.thread_counts, 'thread count')}, so without an uncertainty, "
            f"which takes {LEAST_THREAD_COUNTS}"
        )
        return f"{where}: Amdahl's serial fraction {number(law.serial_fraction, 2)}, {known}."
    serial = _fitted(law, law.serial_fraction, law.serial_fraction_se)
    over = counted(law.thread_counts, "thread count")
    beyond = "" if 0 <= (law.serial_fraction or 0) <= 1 else " Beyond 0 to 1: this law is not the step's."
    return (
        f"{where}: Amdahl's serial fraction {serial}, T(1) {_fitted(law, law.t1_s, law.t1_se)} s, over {over}.{beyond}"
    )


def _fitted(law: Fit, value: float | None, se: float | None) -> str:
    """A fitted value and the half-width of its 95% interval, of as many degrees of freedom as the times leave."""
    if value is None or se is None:
        return mean_entry(Estimate(value)).joined()
    return mean_entry(by_student(value, se, law.times - TERMS + 1)).joined()
