"""Rows of streams, from their records: what came of each sample, and when it started and ended. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import fsum
from typing import Any

from gpd.outcomes import Outcome, Run
from gpd.pipelines import human_30x_per_day
from gpd.statistics import stream_rate
from gpd.statistics.stream_rate import Sojourn, Window
from gpd.tables.columns import StreamRow
from gpd.text.formats import SECONDS_PER_DAY

TAIL = 0.95  # of times to result


Gigabases = Mapping[str, float | None]  # by sample


def row(key: Mapping[str, Any], run: Run, outcomes: Iterable[Outcome], gigabases: Gigabases) -> StreamRow:
    """The row of a stream; `gigabases` are those of each of its samples."""
    spec = run.spec.stream
    if spec is None:
        raise ValueError(f"{run.spec.name}: no stream")
    sojourns, window = sojourns_of(run, outcomes, gigabases), Window(spec.warm_up_s, spec.end_s)
    ended = [one for one in sojourns if window.holds(one.ended_s)]
    whole = [one for one in ended if one.succeeded]
    daily = stream_rate.daily(sojourns, window, run.spec.n)
    bases = [one.gigabases for one in whole if one.gigabases is not None]
    gigabases_per_day = SECONDS_PER_DAY * fsum(bases) / window.length_s if len(bases) == len(whole) else None
    results = [one.result_s for one in whole]
    of_a_sample = fsum(bases) / len(bases) if bases else None
    return StreamRow(
        **key,
        fraction=run.spec.fraction,
        samples_per_genome=run.spec.samples_per_genome,
        warm_up_s=spec.warm_up_s,
        window_s=spec.window_s,
        started=len(sojourns),
        completed=len(whole),
        failed=len(ended) - len(whole),
        genomes_per_day=daily if daily.low is None else replace(daily, low=max(daily.low, 0.0)),
        batches=daily.n,
        gigabases_per_day=gigabases_per_day,
        human_30x_per_day=human_30x_per_day(gigabases_per_day, of_a_sample, run.spec.fraction),
        result_median_s=stream_rate.quantile(results, 0.5),
        result_p95_s=stream_rate.quantile(results, TAIL),
        busy_share=stream_rate.busy_share(sojourns, window, run.spec.n),
    )


def sojourns_of(run: Run, outcomes: Iterable[Outcome], gigabases: Gigabases) -> list[Sojourn]:
    """When each sample of a stream started and ended."""
    succeeded = {outcome.sample: outcome.succeeded for outcome in outcomes}
    return [
        Sojourn(way.started_s, way.ended_s, succeeded.get(name, False), gigabases.get(name))
        for one in run.record.processes
        for name in one.samples
        if (way := one.passage)
    ]
