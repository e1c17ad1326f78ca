"""Whether a stream's record is one: samples as the seed draws them, when they arrive, never more at once than it says.

When a sample started and ended is by a clock of its own; the jobs of its ledger have theirs, and lie within. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise

from gpd.lab import study
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import Place
from gpd.records.run import Passage, RunRecord
from gpd.text.formats import number

TOLERANCE_S = 1.0  # by which two clocks may differ over a run, as where one is set
REFILLED_S = 10.0  # in which a sample follows another that has ended
ROUNDING_S = 1e-5
Lines = Sequence[tuple[Place, Attempt]]


@dataclass(frozen=True)
class Served:
    """A sample of a stream: its name, its folder, its way through."""

    name: str
    folder: str
    way: Passage

    @property
    def number(self) -> int:
        """Which of the stream's samples it is, by its name."""
        digits = self.name.rpartition("-")[2]
        return int(digits) if digits.isdecimal() and len(digits) <= study.MOST_DIGITS else 0


def contradictions(record: RunRecord, lines: Lines) -> Iterator[str]:
    """Say what of a stream's record does not fit its jobs, its seed or its N."""
    spec, stream, name = record.spec, record.spec.stream, record.spec.name
    if stream is None:
        return
    served = sorted(
        (
            Served(sample, f"{name}/{one.directory}", one.passage)
            for one in record.processes
            if one.passage
            for sample in one.samples
        ),
        key=lambda one: one.number,
    )
    drawn = list(islice(study.drawn(spec), len(served)))
    names = [study.copy_name(sample, number) for number, sample in enumerate(drawn, 1)]
    if [one.name for one in served] != names or [one.way.copy_of for one in served] != drawn:
        yield f"{name}: its samples are not those that the seed draws"
    arrivals = list(islice(study.arrivals_s(spec, stream), len(served) + 1)) if stream.per_day else [None] * len(served)
    if [one.way.arrived_s for one in served] != arrivals:
        yield f"{name}: its samples did not arrive when the seed lets them"
    for one in served:
        if (one.way.arrived_s or 0.0) > one.way.started_s + ROUNDING_S or one.way.started_s > one.way.ended_s:
            yield f"{name}: {one.name} started before it arrived, or ended before it started"
    if any(later.way.started_s < earlier.way.started_s - TOLERANCE_S for earlier, later in pairwise(served)):
        yield f"{name}: its samples were not served first come, first served"
    yield from _at_once(record, served, stream.end_s, full=stream.per_day is None)
    yield from _jobs(record, served, lines)


def _at_once(record: RunRecord, served: Sequence[Served], end_s: float, full: bool) -> Iterator[str]:
    """Hold how many were at work at any time against N."""
    n, name = record.spec.n, record.spec.name
    changes = sorted([*((one.way.started_s, 1) for one in served), *((one.way.ended_s, -1) for one in served)])
    at_work, most, short_s = 0, 0, 0.0
    for (moment_s, change), (next_s, _) in pairwise([*changes, (end_s, 0)]):
        at_work += change
        most = max(most, at_work)
        if full and at_work < n:
            short_s = max(short_s, min(next_s, end_s) - moment_s)
    if most > n:
        yield f"{name}: says {n} samples at once, and {most} were at work"
    if short_s > REFILLED_S:
        yield f"{name}: says {n} samples at once, and for {number(short_s)} s fewer were at work"


def _jobs(record: RunRecord, served: Sequence[Served], lines: Lines) -> Iterator[str]:
    """Name the samples of which a job ran before its start, or after its end."""
    tolerance = timedelta(seconds=TOLERANCE_S)
    within = {
        one.folder: (
            record.start + timedelta(seconds=one.way.started_s) - tolerance,
            record.start + timedelta(seconds=one.way.ended_s) + tolerance,
        )
        for one in served
    }
    outside = set()
    for place, line in lines:
        begins, ends = within.get(place.file.parent.as_posix(), (None, None))
        if begins and ends and line.start and line.end and (line.start < begins or line.end > ends):
            outside.add(place.file.parent.as_posix())
    yield from (f"{folder}: its jobs ran at another time than run.json says" for folder in sorted(outside))
