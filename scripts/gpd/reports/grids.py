"""The tables of a report, as text: steps by N in published style, failures, outputs that differ. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from gpd.pipelines import ALTERNATIVES, PIPELINES, in_order
from gpd.records.binding import describe_binding
from gpd.records.run_spec import MODES, CurveKey
from gpd.statistics.estimates import Estimate
from gpd.tables import search
from gpd.tables.collect import Tables
from gpd.tables.columns import CLOCKS, ConfigurationRow, OfRun, RunRow, StreamRow, SummaryRow
from gpd.text.formats import TimeUnit, from_to, listed, number, of_copies, of_reads, unit_for, with_error
from gpd.text.grid import Entry, Grid, Group, Line, group

SECONDS_PER_HOUR = 3600
WIDEST = 9  # columns that fit a printed page; past that a table goes on in another
NOT_RUN = "not run"
INTERVALS = "mean \u00b1 95% half-width over repeats"
ERRORS = "mean \u00b1 95% half-width (standard error, se) over repeats"
FEW = {  # repeats
    1: "one repeat, so no interval is known.",
    2: "hardly an interval: of two repeats it is 12.7 standard errors to each side.",
}
Of = TypeVar("Of", bound=OfRun | ConfigurationRow | SummaryRow)
Counted = TypeVar("Counted", bound=OfRun)


def name(curve_key: CurveKey) -> str:
    """A curve's name, fit for a file."""
    return "-".join((curve_key.pipeline, curve_key.mode, curve_key.binding))


def label(curve_key: CurveKey) -> str:
    """Say what sets a curve of a pipeline apart."""
    return f"{MODES[curve_key.mode]}, {describe_binding(curve_key.binding)}"


def rows(curve_key: CurveKey, table: Iterable[Of]) -> list[Of]:
    """Return the rows of a curve in a table."""
    return [row for row in table if row.curve_key == curve_key]


def configurations_of(curve_key: CurveKey, configurations: Iterable[ConfigurationRow]) -> list[ConfigurationRow]:
    """Return the configurations of a curve by N."""
    return sorted(rows(curve_key, configurations), key=lambda configuration: configuration.n)


def all_curves(configurations: Iterable[ConfigurationRow | OfRun]) -> list[CurveKey]:
    """Return the curves of a study: our pipelines first, `shared` before `independent`."""

    def place(curve: CurveKey) -> tuple:
        return in_order(curve.pipeline), curve.mode != "shared", curve.binding

    return sorted({configuration.curve_key for configuration in configurations}, key=place)


def counted_in(table: Iterable[Counted]) -> list[Counted]:
    """Return the rows that count: warm-ups, samples alone and runs of the search are in no statistics."""
    return [row for row in table if row.counted]


def measured_on(table: Iterable[RunRow | ConfigurationRow | StreamRow]) -> str:
    """What a caption says of samples that are shares of others, or copies."""
    found = (part for row in table for part in (of_reads(row.fraction), of_copies(row.samples_per_genome)))
    return "".join(f"; {part}" for part in dict.fromkeys(filter(None, found)))


def daily_of(pipeline: str, table: Iterable[RunRow | ConfigurationRow]) -> str:
    """What a curve gives a day."""
    return PIPELINES[pipeline].daily_of(min((row.fraction for row in table), default=1.0))


def step_numbers(pipeline: str, ran: Iterable[str]) -> dict[str, str]:
    """Number the steps of a pipeline; what stands in another's place has its first letter.

    Of a workflow that is not ours the steps are those that ran.
    """
    steps = PIPELINES[pipeline].steps or tuple(dict.fromkeys(ran))
    named = [step for step in steps if step not in ALTERNATIVES or pipeline not in PIPELINES]
    numbers = {step: str(at) for at, step in enumerate(named, 1)}
    return {step: numbers.get(step, step[0]) for step in steps}


def steps_in(curve_key: CurveKey, summary: Iterable[SummaryRow]) -> list[str]:
    """The steps of a curve, in the order in which its runs have them."""
    return list(dict.fromkeys(row.step for row in rows(curve_key, summary) if row.step is not None))


# ------------------------------------------------------------------------------------------ steps by N


def step_grids(
    curve_key: CurveKey,
    clock: str,
    summary: Iterable[SummaryRow],
    configurations: Iterable[ConfigurationRow],
    widest: int = WIDEST,
) -> list[Grid]:
    """The published-style table of a curve by one of CLOCKS: rows are steps, columns are N, means with their errors."""
    own, times = configurations_of(curve_key, configurations), step_times(curve_key, clock, summary)
    known = [one.value for one in (*times.values(), *(each.makespan_s for each in own)) if one.value is not None]
    unit = unit_for(max(known, default=0))
    pages = _pages(own, widest)
    return [
        Grid(
            caption=f"{CLOCKS[clock]}, {unit.name}{_range_of(page) if len(pages) > 1 else ''}; {ERRORS}"
            f"{measured_on(own)}",
            heads=("step", *(f"N = {configuration.n}" for configuration in page)),
            groups=(
                Group(tuple(_step_lines(curve_key.pipeline, page, times, unit))),
                Group(tuple(_sums(clock, page, times, unit))),
            ),
        )
        for page in pages
    ]


def step_times(
    curve_key: CurveKey, clock: str, summary: Iterable[SummaryRow]
) -> dict[tuple[str | None, int], Estimate]:
    """The time of each step over repeats, s, by step and N, as far as it is known; of None: all steps together."""
    return {
        (row.step, row.n): row.estimate.times(SECONDS_PER_HOUR)
        for row in rows(curve_key, summary)
        if row.metric == clock and row.mean is not None
    }


def _pages(configurations: Sequence[ConfigurationRow], widest: int) -> list[Sequence[ConfigurationRow]]:
    """Part columns evenly where they are too many for one table."""
    parts = np.array_split(np.arange(len(configurations)), max(-(-len(configurations) // widest), 1))
    return [[configurations[at] for at in part] for part in parts if len(part)]


def _range_of(configurations: Sequence[ConfigurationRow]) -> str:
    return f", N = {configurations[0].n} to {configurations[-1].n}"


def _step_lines(
    pipeline: str,
    configurations: Sequence[ConfigurationRow],
    times: Mapping[tuple[str | None, int], Estimate],
    unit: TimeUnit,
) -> Iterator[Line]:
    """Lines of the steps in order; a step that ran at no N says so, one that is missing at some N is blank there."""
    ran = dict.fromkeys(step for step, _ in times if step is not None)
    for step, place in step_numbers(pipeline, ran).items():
        if step in ran:
            entries = (_time(times.get((step, configuration.n)), unit) for configuration in configurations)
            yield Line(step, tuple(entries), number=place)
        elif step not in ALTERNATIVES:
            yield Line(step, tuple(Entry(NOT_RUN) for _ in configurations), number=place)


def _time(seconds: Estimate | None, unit: TimeUnit) -> Entry:
    """A mean time, the half-width of its 95% interval, and its standard error."""
    of = Estimate() if seconds is None else seconds.times(1 / unit.seconds)
    mean, error = with_error(of.value, of.half_width, least=unit.decimals)
    return Entry(mean, error if of.se is None else f"{error} (se {number(of.se, 2)})")


def _sums(
    clock: str,
    configurations: Sequence[ConfigurationRow],
    times: Mapping[tuple[str | None, int], Estimate],
    unit: TimeUnit,
) -> Iterator[Line]:
    """The last lines: of summed times their total; of elapsed ones all else that the runs came to."""
    if clock == "summed_h":
        yield Line("total (summed)", tuple(_time(times.get((None, one.n)), unit) for one in configurations))
        return
    yield Line("samples failed", tuple(Entry(f"{one.failed} of {one.repeats * one.n}") for one in configurations))
    yield Line("total (makespan)", tuple(_time(one.makespan_s, unit) for one in configurations))
    daily = daily_of(configurations[0].pipeline, configurations)
    for column, head in _daily(configurations[0].pipeline, daily):
        estimates = [getattr(configuration, column) for configuration in configurations]
        if any(one.value is not None for one in estimates):
            yield Line(head, tuple(map(mean_entry, estimates)))
    yield Line("repeats", tuple(Entry(f"{configuration.repeats:,}") for configuration in configurations))


def _daily(pipeline: str, of_samples: str) -> list[tuple[str, str]]:
    """What a curve gives a day; reads of RNA are no part of a genome, and have no equivalent in human ones."""
    daily = [("genomes_per_day", of_samples), ("gigabases_per_day", "gigabases a day")]
    return [*daily, ("human_30x_per_day", "30x human genomes a day")] if PIPELINES[pipeline].genomes else daily


def mean_entry(of: Estimate) -> Entry:
    """A mean and the half-width of its 95% interval."""
    return Entry(*with_error(of.value, of.half_width))


def few_repeats(configurations: Iterable[ConfigurationRow]) -> tuple[str, ...]:
    """Say of which N two repeats, or one, tell next to nothing."""
    counts = {
        count: sorted(
            {str(configuration.n) for configuration in configurations if configuration.repeats == count}, key=int
        )
        for count in (1, 2)
    }
    return tuple(f"N = {listed(counts[count])}: {FEW[count]}" for count in FEW if counts[count])


# --------------------------------------------------------------------------------------- configurations by N

CONFIGURATION_COLUMNS = {
    "genomes/day": "genomes_per_day",
    "30x human/day": "human_30x_per_day",
    "makespan, s": "makespan_s",
    "CPU utilisation": "cpu_utilisation",
}


def configurations_grid(curve_key: CurveKey, configurations: Iterable[ConfigurationRow]) -> Grid:
    """What a curve came to, a row an N: means over its repeats with their intervals."""
    own = configurations_of(curve_key, configurations)
    columns = _columns(own)
    rows: list[tuple[str | Entry, ...]] = [
        (
            *(str(configuration.n), str(configuration.repeats), str(configuration.failed)),
            *(mean_entry(getattr(configuration, name)) for name in columns.values()),
        )
        for configuration in own
    ]
    caption = f"{curve_key.pipeline}, {label(curve_key)}: {INTERVALS}{measured_on(own)}"
    return Grid(caption, ("N", "runs", "failed", *columns), (group(rows),), few_repeats(own), words=0)


def _columns(configurations: Sequence[ConfigurationRow]) -> dict[str, str]:
    """The columns of a curve by their heads: of parts of genomes' reads, or of others, no genomes."""
    parts = any(one.fraction < 1 or one.pipeline not in PIPELINES for one in configurations)
    human = any(configuration.human_30x_per_day.value is not None for configuration in configurations)
    return {
        "samples/day" if parts and head == "genomes/day" else head: name
        for head, name in CONFIGURATION_COLUMNS.items()
        if human or name != "human_30x_per_day"
    }


def _share(value: float | None) -> str:
    return "" if value is None else f"{number(100 * value)}%"


# ------------------------------------------------------------------------------------------ the search


def search_grid(curve_key: CurveKey, tables: Tables) -> Grid | None:
    """What the single runs gave that sought the N to measure; None where none did."""
    own = sorted(rows(curve_key, search.rows(tables)), key=lambda run: run.n)
    lines = [(str(run.n), str(run.failed), number(run.genomes_per_day), number(run.makespan_s)) for run in own]
    caption = f"{curve_key.pipeline}, {label(curve_key)}: search, sought with one run an N{measured_on(own)}"
    heads = ("N", "failed", daily_of(curve_key.pipeline, own), "makespan, s")
    return Grid(caption, heads, (group(lines),), words=0) if lines else None


def searched_curves(tables: Tables) -> list[CurveKey]:
    """Return the curves of a study, those that were no more than sought, too."""
    return all_curves([*tables.configurations, *search.rows(tables)])


# -------------------------------------------------------------------------------------------- streams

TOO_FEW = "no interval: too few samples ended in the window"


def stream_grid(streams: Sequence[StreamRow]) -> Grid | None:
    """What streams came to; None where there are none."""
    full = sorted(streams, key=lambda row: (row.pipeline, row.binding, row.n))
    lines = [
        (
            f"{row.pipeline}, {describe_binding(row.binding)}",
            *(str(row.n), str(row.completed), str(row.failed)),
            Entry(number(row.genomes_per_day.value), from_to(row.genomes_per_day.low, row.genomes_per_day.high)),
            number(row.human_30x_per_day) if PIPELINES[row.pipeline].genomes else "",
            *(number(row.result_median_s), _share(row.busy_share)),
        )
        for row in full
    ]
    daily = "samples/day" if any(row.fraction < 1 for row in full) else "genomes/day"
    heads = ("stream", "N", "ended", "failed", daily, "30x human/day", "one takes, s", "all N busy")
    notes = [f"{row.run}: {TOO_FEW}" for row in full if row.genomes_per_day.low is None]
    caption = f"Streams: N samples always in flight{measured_on(full)}"
    return Grid(caption, heads, (group(lines),), tuple(notes)) if lines else None
