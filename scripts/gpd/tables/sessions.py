"""The sessions in which runs were made: repeats within one say nothing of another day. Pure."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from statistics import fmean, stdev

from gpd.records.run import RunRecord

APART = timedelta(hours=1)  # between runs: from there on they are of another session


def sessions(records: Iterable[RunRecord]) -> dict[str, int]:
    """The session of each run, from 1, by the run's name: between two sessions no run was at work for APART."""
    found: dict[str, int] = {}
    count, until = 0, None
    for record in sorted(records, key=lambda record: record.start):
        if until is None or record.start - until > APART:
            count += 1
        until = record.end if until is None else max(until, record.end)
        found[record.spec.name] = count
    return found


def between(values: Iterable[tuple[int | None, float | None]]) -> float | None:
    """The standard deviation of the means of sessions, from pairs of session and value; None of a single session."""
    of_session: dict[int | None, list[float]] = {}
    for session, value in values:
        if value is not None:
            of_session.setdefault(session, []).append(value)
    means: Mapping[int | None, float] = {session: fmean(own) for session, own in of_session.items()}
    return stdev(means.values()) if len(means) > 1 else None
