"""The figures of a report from the tables of a study: what is drawn, what it shows, why one is left out. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gpd.published.curves import PublishedCurve
from gpd.records.run_spec import CurveKey
from gpd.reports.charts import (
    INTERVALS,
    MOST_BARS,
    WHISKERS,
    Bar,
    Curve,
    Stack,
    draw_curves,
    draw_stacks,
    draw_timeline,
    in_words,
    known,
)
from gpd.reports.grids import (
    configurations_of,
    counted_in,
    daily_of,
    label,
    name,
    rows,
    step_numbers,
    step_times,
    steps_in,
)
from gpd.reports.svg import Drawing
from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import Saturation, find_saturation
from gpd.tables.columns import ConfigurationRow, JobRow, SummaryRow
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import TimeUnit, counted, unit_for

PERCENT = 100
RINGS = "A ring marks the saturation point; there is none where the largest N that was tried is the best."
SHARED = "all samples"


@dataclass(frozen=True)
class ReportFigure:
    """A drawing and what is said below it; without a drawing, why the data does not support one."""

    note: str
    drawing: Drawing | None = None


@dataclass(frozen=True)
class Span:
    """An attempt whose start and end are known, s since the first job of its run."""

    sample: str | None
    step: str
    cpus: str | None
    start_s: float
    end_s: float
    failed: bool


def saturation_of(curve_key: CurveKey, points: Iterable[ConfigurationRow]) -> Saturation | None:
    """Return what the saturation point finder says of a curve; None where it has one N alone, and so no curve."""
    own = rows(curve_key, points)
    return find_saturation(point.observation for point in own) if len(own) > 1 else None


# --------------------------------------------------------------------------------------------- curves


def throughput_figure(pipeline: str, lines: Sequence[CurveKey], points: Sequence[ConfigurationRow]) -> ReportFigure:
    """Genomes a day against N, a line for each curve, saturation points ringed."""
    curves = [_curve(curve_key, points, "genomes_per_day", rings=True) for curve_key in lines]
    daily = daily_of(pipeline, points)
    return _against_n(
        f"{pipeline}-throughput",
        daily,
        curves,
        RINGS,
    )


def utilisation_figure(pipeline: str, lines: Sequence[CurveKey], points: Sequence[ConfigurationRow]) -> ReportFigure:
    """CPU utilisation in per cent against N, a line for each curve."""
    curves = [_curve(curve_key, points, "cpu_utilisation", PERCENT) for curve_key in lines]
    note = (
        "The share of the cores' time that the tools computed; the rest they were idle, or waited for input, output "
        "and the slowest job."
    )
    return _against_n(f"{pipeline}-cpu-utilisation", "CPU utilisation, %", curves, note)


def _against_n(name: str, unit: str, curves: Sequence[Curve], note: str) -> ReportFigure:
    drawn, what = [curve for curve in curves if curve.points], unit.removesuffix(", %")
    if not any(len(curve.points) > 1 for curve in drawn):
        return ReportFigure(f"No curve of {what}: it takes more than one N. {in_words(drawn) or 'Not known'}.")
    title = f"{what[:1].upper()}{what[1:]} against samples at once, {name.partition('-')[0]}"
    return ReportFigure(f"{note} {INTERVALS}", draw_curves(name, title, drawn, unit))


def reference_figure(references: Sequence[PublishedCurve]) -> ReportFigure | None:
    """The published curves in a panel of their own: their samples, tools and storage are not the study's."""
    every = [Curve(sku.sku, known({p.n: Estimate(p.genomes_per_day) for p in sku.points})) for sku in references]
    if not (curves := [curve for curve in every if len(curve.points) > 1]):
        return None
    notes = [note for sku in references for point in sku.points for note in point.notes]
    title = "Published genomes a day against samples at once"
    drawing = draw_curves("published", title, curves, "genomes a day", muted=True)
    return ReportFigure(
        "For reference only: whole human genomes at about 53x on two-socket servers, other tools, other storage. Not "
        "to be read against the study's own curve. Recomputed from the printed hours a step; single runs, so no errors "
        f"are known.{' Does not follow from its rows: ' + '; '.join(notes) + '.' if notes else ''}",
        drawing,
    )


def _curve(
    curve_key: CurveKey, points: Sequence[ConfigurationRow], column: str, scale: float = 1, rings: bool = False
) -> Curve:
    estimates = {point.n: getattr(point, column) for point in configurations_of(curve_key, points)}
    drawn = known({n: one.times(scale) for n, one in estimates.items()})
    saturation = saturation_of(curve_key, points) if rings else None
    best_n = saturation.best_n if saturation else None
    return Curve(label(curve_key), drawn, None if best_n == max(estimates, default=None) else best_n)


# --------------------------------------------------------------------------------------------- stacks


def step_figure(curve_key: CurveKey, summary: Sequence[SummaryRow], points: Sequence[ConfigurationRow]) -> ReportFigure:
    """Summed step time a sample, stacked by step, a bar an N."""
    every = step_times(curve_key, "summed_h", summary)
    times = {(step, n): time.times(1 / n) for (step, n), time in every.items() if step is not None}
    if not times:
        return ReportFigure("No chart of summed step times: no job of a step is known to have ended.")
    numbers = step_numbers(curve_key.pipeline, steps_in(curve_key, summary))
    stacks = [
        Stack(str(n), {step: times[step, n] for step in numbers if (step, n) in times})
        for n in sorted({n for _, n in times})
    ]
    drawing = draw_stacks(
        f"{name(curve_key)}-steps",
        f"Summed step time of each step a sample, {curve_key.pipeline}, {label(curve_key)}",
        stacks,
        "summed {} a sample",
        numbers,
    )
    failed = any(point.failed for point in rows(curve_key, points))
    return ReportFigure(
        "Each step's summed step time over N, mean over repeats: bars that grow with N: samples slow each other down. "
        f"{WHISKERS}{' Samples that failed did not go through all steps.' if failed else ''}",
        drawing,
    )


# ------------------------------------------------------------------------------------------- timeline


def timeline_figure(curve_key: CurveKey, jobs: Sequence[JobRow], summary: Sequence[SummaryRow]) -> ReportFigure:
    """Which job held which CPU in one run: the largest N's first repeat. Without allocations: in lanes by sample."""
    own = [job for job in rows(curve_key, counted_in(jobs)) if job.timed]
    if not own:
        return ReportFigure("No timeline: no job of a step was recorded.")
    spec = min(own, key=lambda job: (-job.n, job.repeat)).run
    held = [job for job in own if job.run == spec]
    ended = [
        Span(job.sample, job.step, job.cpus, job.start_s, job.end_s, job.exit_code != 0)
        for job in held
        if job.start_s is not None and job.end_s is not None
    ]
    if not ended:
        return ReportFigure(
            f"No timeline: no end of a job is known in run {spec}, or jobs ran on several hosts, whose clocks differ."
        )
    unit = unit_for(max(job.end_s for job in ended))
    allocated = any(job.cpus for job in ended)
    bars, lanes = _on_cpus(ended, unit) if allocated else by_sample(ended, unit)
    drawing = draw_timeline(
        f"{name(curve_key)}-timeline",
        f"Which job {'held which CPU' if allocated else 'ran when'}, run {spec}",
        f"{counted(len(ended), 'job')} on {counted(len(lanes), 'CPU' if allocated else 'lane')} in "
        f"{unit.show(max(job.end_s for job in ended))} {unit.name}.",
        bars,
        lanes,
        (f"{unit.name} since the first job", "CPU" if allocated else ""),
        step_numbers(curve_key.pipeline, steps_in(curve_key, summary)),
    )
    return ReportFigure(" ".join(_about_timeline(held, ended, len(bars), allocated)), drawing)


def _about_timeline(held: Sequence[JobRow], ended: Sequence[Span], bars: int, allocated: bool) -> Iterable[str]:
    yield "The largest N, its first repeat."
    if not allocated:
        yield "Its jobs had no allocation of CPUs: a lane is what ran of a sample at one time."
    elif missing := sum(not job.cpus for job in ended):
        yield f"{counted(missing, 'job')} without an allocation {'is' if missing == 1 else 'are'} not shown."
    if unseen := len(held) - len(ended):
        yield f"{counted(unseen, 'attempt')} whose end was not seen {'is' if unseen == 1 else 'are'} not shown."
    if bars > MOST_BARS:
        yield f"The longest {MOST_BARS:,} of {bars:,} bars are shown."


def _on_cpus(jobs: Iterable[Span], unit: TimeUnit) -> tuple[list[Bar], list[str]]:
    """A lane for each CPU that any job held; a job on CPUs that are neighbours is one bar."""
    allocations = [(job, parse_cpus(job.cpus)) for job in jobs if job.cpus]
    lane_of = {cpu: at for at, cpu in enumerate(sorted({cpu for _, cpus in allocations for cpu in cpus}))}
    bars = [
        _bar(job, first, count, unit)
        for job, cpus in allocations
        for first, count in neighbours(sorted(lane_of[cpu] for cpu in cpus))
    ]
    return bars, [str(cpu) for cpu in lane_of]


def neighbours(lanes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return where consecutive numbers start, and how many follow each other."""
    for _, own in groupby(enumerate(lanes), key=lambda pair: pair[1] - pair[0]):
        consecutive = [lane for _, lane in own]
        yield consecutive[0], len(consecutive)


def by_sample(jobs: Iterable[Span], unit: TimeUnit) -> tuple[list[Bar], list[str]]:
    """As many lanes for each sample as it had jobs at one time; what samples share comes last."""
    bars: list[Bar] = []
    lanes: list[str] = []
    owned: dict[str, list[Span]] = {}
    for job in jobs:
        owned.setdefault(SHARED if job.sample in (None, "cohort") else job.sample, []).append(job)
    for sample, own in sorted(owned.items(), key=lambda item: (item[0] == SHARED, item[0])):
        free: list[float] = []  # when each lane of this sample is free again
        for job in sorted(own, key=lambda job: (job.start_s, job.end_s)):
            lane = next((at for at, end in enumerate(free) if end <= job.start_s), len(free))
            free[lane : lane + 1] = [job.end_s]
            bars.append(_bar(job, len(lanes) + lane, 1, unit))
        lanes += [sample, *[""] * (len(free) - 1)]
    return bars, lanes


def _bar(job: Span, lane: int, lanes: int, unit: TimeUnit) -> Bar:
    return Bar(job.step, lane, lanes, unit.of(job.start_s), unit.of(job.end_s), job.failed)
