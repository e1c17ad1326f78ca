"""What a stream of samples came to in its window: completions a day, how long samples took, how busy it was.

Completions of a full stream are no independent events: samples that started together end together. So their rate has
its interval by batch means: the window is cut into equal batches, which hold enough completions each to be nearly
independent, and Student's t is taken of the batches' rates (Law, Simulation Modeling and Analysis, 5th ed., section
9.5.3). Each batch holds as many completions as there are samples at once, so that samples that started together fall
into one; more than MOST_BATCHES gain nothing (Schmeiser, Operations Research 30, 1982). Pure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from gpd.statistics.estimates import Estimate, estimate
from gpd.text.formats import SECONDS_PER_DAY

MOST_BATCHES = 20
LEAST_BATCHES = 2  # of N samples each: fewer have no interval
LEAST_ENDS = 3  # of samples: a window in which fewer end tells no rate


@dataclass(frozen=True)
class Sojourn:
    """A sample's stay in a stream, s since the stream's start."""

    started_s: float
    ended_s: float
    succeeded: bool
    gigabases: float | None = None

    @property
    def result_s(self) -> float:
        """From its start to its end."""
        return self.ended_s - self.started_s


@dataclass(frozen=True)
class Window:
    """The part of a stream that is measured, s since its start."""

    start_s: float
    end_s: float

    def holds(self, moment_s: float) -> bool:
        return self.start_s < moment_s <= self.end_s

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


def daily(sojourns: Iterable[Sojourn], window: Window, n: int) -> Estimate:
    """Completions a day, over the batches of the window; `n` samples are at once.

    Its mean is that of the whole window. Of a single batch it has no error.
    """
    ends = [one.ended_s for one in sojourns if one.succeeded and window.holds(one.ended_s)]
    batches = max(min(len(ends) // n, MOST_BATCHES), 1)
    counts = Counter(ceil((end_s - window.start_s) / window.length_s * batches) for end_s in ends)
    a_day = SECONDS_PER_DAY * batches / window.length_s
    return estimate(counts[batch] * a_day for batch in range(1, batches + 1))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that this share of them is below, between the two nearest; None of none."""
    import numpy as np  # slow to import, and rows of any run come by here

    return float(np.quantile(values, share)) if values else None


def busy_share(sojourns: Iterable[Sojourn], window: Window, n: int) -> float:
    """The share of the window in which all n are at work."""
    changes = [(window.start_s, 0), (window.end_s, 0)]
    for one in sojourns:
        begins, ends = max(one.started_s, window.start_s), min(one.ended_s, window.end_s)
        if begins < ends:
            changes += [(begins, 1), (ends, -1)]
    at_work, full_s = 0, 0.0
    for (moment_s, change), (next_s, _) in pairwise(sorted(changes)):
        at_work += change
        full_s += next_s - moment_s if at_work >= n else 0.0
    return full_s / window.length_s
