"""Whether a stream's record is one: samples as the seed draws them, always as many at once as it says. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from gpd.lab import study_runs
from gpd.records.run import Passage, RunRecord
from gpd.text.formats import number

REFILLED_S = 10.0  # in which a sample follows another that has ended


def contradictions(record: RunRecord) -> Iterator[str]:
    """Say what of a stream's record does not fit its seed or its N."""
    if record.spec.stream is None:
        return
    served = [(name, one.passage) for one in record.processes if one.passage for name in one.samples]
    drawn = list(islice(study_runs.drawn(record.spec), len(served)))
    wanted = [(study_runs.copy_name(sample, place), sample) for place, sample in enumerate(drawn, 1)]
    if sorted((name, way.copy_of) for name, way in served) != sorted(wanted):
        yield f"{record.spec.name}: its samples are not those that the seed draws"
    yield from _at_once(record, [way for _, way in served], record.spec.stream.end_s)


def _at_once(record: RunRecord, served: Sequence[Passage], end_s: float) -> Iterator[str]:
    """Hold how many were at work at any time against N."""
    n, name = record.spec.n, record.spec.name
    changes = sorted([*((one.started_s, 1) for one in served), *((one.ended_s, -1) for one in served)])
    at_work, most, short_s = 0, 0, 0.0
    for (moment_s, change), (next_s, _) in pairwise([*changes, (end_s, 0)]):
        at_work += change
        most = max(most, at_work)
        if at_work < n:
            short_s = max(short_s, min(next_s, end_s) - moment_s)
    if most > n:
        yield f"{name}: says {n} samples at once, and {most} were at work"
    if short_s > REFILLED_S:
        yield f"{name}: says {n} samples at once, and for {number(short_s)} s fewer were at work"
