"""How much jobs that run at once slow each other down: memory's bandwidth, caches and disks are shared. Pure.

The law is slowdown = 1 + s x others, with `others` the jobs that run beside it, and one s for each kind of job,
fitted from runs of different N (`steps.fit`). It tells nothing apart of what is shared. A ledger has no bytes that a
job drew from memory, so the bandwidth that a node was measured to have bounds nothing here; it is shown beside the
result.
"""

from collections.abc import Sequence
from itertools import pairwise

MOST = 3.0  # beside the most others: four times as long as alone, more than any step was seen to take
LEAST_SPREAD = 1.1  # most others over fewest, and ...
LEAST_OTHERS = 0.1  # ... most others: with less there is nothing to fit it from


def slowdown(s: float, others: float) -> float:
    return 1 + s * others


def varies(others: Sequence[float]) -> bool:
    """Whether there were more and fewer jobs beside it, so that what they do can be told."""
    return max(others) > max(LEAST_SPREAD * min(others), LEAST_OTHERS)


def steepest(others: Sequence[float]) -> float:
    """The largest s that is looked at."""
    return MOST / max(others)


def mean_others(spans: Sequence[tuple[float, float]]) -> list[float]:
    """How many others ran beside each of these jobs, on average over its time."""
    moments = sorted({moment for span in spans for moment in span})
    pieces = [(low, high, sum(s <= low and e >= high for s, e in spans)) for low, high in pairwise(moments)]
    return [_mean([(h - low, at_once - 1) for low, h, at_once in pieces if s <= low and e >= h]) for s, e in spans]


def _mean(weighted: Sequence[tuple[float, int]]) -> float:
    total = sum(seconds for seconds, _ in weighted)
    return sum(seconds * others for seconds, others in weighted) / total if total else 0.0
