"""Checks of times: do clocks agree, are runs long enough, and what does one sample take?"""

import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from gpd.packages import clocks
from gpd.packages.evidence import Recomputed
from gpd.packages.verdicts import NO_PLAN, UNKNOWN, Found, at, verdict
from gpd.pipelines import PIPELINES
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import Place, duplicates, overlaps
from gpd.statistics.known import mean
from gpd.text.formats import counted, number, percent

EDGE_S = 1.0  # what the edges of a run are known to: tools start, Snakemake looks for jobs that have ended
OUT_OF_ORDER = timedelta(seconds=1)  # by which a clock that is being set may go back


def ledgers(found: Recomputed) -> Found:
    every = found.lines.values()
    wrong = [fault for lines in every for fault in (*duplicates(lines), *overlaps(lines), *_reordered(lines))]
    attempts = counted(sum(map(len, every)), "attempt")
    return verdict(wrong, [f"{attempts}, each recorded once, and no CPU was two jobs' at one time"])


def times(found: Recomputed) -> Found:
    wrong: list[str] = []
    strange: list[str] = []
    for record in found.tables.records:
        lines = found.lines_of(record)
        wrong += clocks.contradictions(record, lines, found.starts or ())
        strange += clocks.doubts(record, lines)
    own = counted(len(found.tables.records), "run")
    return verdict(wrong, [f"start, end, uptime, wall time and CPU seconds of {own} and of their jobs agree"], strange)


def _reordered(lines: Sequence[tuple[Place, Attempt]]) -> Iterator[str]:
    """Lines that stand before others that were written earlier into the same file."""
    written = [(place, line.recorded) for place, line in lines if line.recorded]
    for (before, earlier), (place, later) in pairwise(written):
        if before.file == place.file and earlier - later > OUT_OF_ORDER:
            yield f"{place}: was recorded before the line above it"


def duration(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    claimed = found.plan.study.precision
    least = EDGE_S / claimed
    runs = [run for run in found.tables.runs if run.counted]
    took = {run.run: run.makespan_s for run in runs if run.makespan_s is not None}
    took |= {stream.run: stream.window_s for stream in found.tables.streams}
    why = f"{number(least)} s are needed for a precision of {percent(claimed)}, where edges are known to {EDGE_S:g} s"
    wrong = [f"{run}: {number(makespan_s)} s; {why}" for run, makespan_s in took.items() if makespan_s < least]
    shortest = f"the shortest run took {number(min(took.values(), default=None))} s, {number(least)} s are needed"
    silent = [f"{run.run}: its makespan is not known" for run in runs if run.run not in took]
    return verdict(wrong, [shortest], silent or ([] if took else ["no run has ended"]))


def latency(found: Recomputed) -> Found:
    """What one sample takes stands beside how many a day there are."""
    counting = [sample for sample in found.tables.samples if sample.counted and sample.succeeded]
    well, doubts = [], []
    for row in found.tables.configurations:
        if not row.genomes_per_day.mean:
            continue
        own = [one for one in counting if (one.n, one.curve_key) == (row.n, row.curve_key)]
        took = mean(one.end_s - one.start_s for one in own if one.end_s is not None and one.start_s is not None)
        samples_a_day = PIPELINES[row.pipeline].daily_of(row.fraction)
        daily = f"{at(row.curve_key, row.n)}: {number(row.genomes_per_day.mean)} {samples_a_day}"
        if took is None or not math.isfinite(took):
            doubts.append(f"{daily}, and what one sample takes is not known")
        else:
            well.append(f"{daily}; one sample takes {number(took)} s")
    for stream in found.tables.streams:
        rate = f"{number(stream.genomes_per_day)} {PIPELINES[stream.pipeline].daily}"
        daily = f"{at(stream.curve_key, stream.n)}: {rate}"
        if stream.result_median_s is None:
            doubts.append(f"{daily}, and what one sample takes is not known")
        else:
            well.append(f"{daily}; one sample takes {number(stream.result_median_s)} s")
    return verdict([], well, doubts or ([] if well else ["no configuration has a figure"]))
