"""How many samples at once give the most genomes a day: which N to try next, and what a curve says. Pure.

A sample that failed counts against N, for it may have failed for the load; so do those of published results, of which
the number alone is known (there every sample was the same genome, so that it was not the data).

N is better than another where it gives more genomes a day by more than TOLERANCE of the larger figure and, where
repeats tell it, by more than the standard error of the difference. Of those that are as good as the best, one without
failures stands before one with, and then the smallest: it needs the least memory and gives its results first (the rule
of one standard error: Breiman et al., Classification and Regression Trees, 1984, section 3.4.3).

A search runs each N once, and what it finds is no result: the N `around` the best are then measured by fresh repeats.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

DAILY = attrgetter("daily")
TOLERANCE = 0.005  # of the larger figure; figures of three digits, as the published ones are, tell no less apart
NARROW = 0.1  # of the best N: a search narrows no further
APART = 1.25  # of one N to the next that is measured: nearer ones tell no shape, and no slope


@dataclass(frozen=True)
class Observation:
    """What N samples at once came to: the mean over repeats, its standard error, samples failed over all repeats.

    None: not known, as `se` without repeats, or `genomes_per_day` where no step ran.
    """

    n: int
    genomes_per_day: float | None
    se: float | None = None
    failed: int | None = 0

    @property
    def daily(self) -> float:
        """Genomes a day; 0 if not known."""
        return self.genomes_per_day or 0.0

    @property
    def without_failures(self) -> bool:
        return self.failed == 0


@dataclass(frozen=True)
class Saturation:
    """The best N of a curve with the samples that failed there, the best N at which none did, and why.

    None: no N gave a genome, or none without failures.
    """

    n: int | None
    failed: int | None
    n_without_failures: int | None
    reason: str

    @property
    def best_n(self) -> int | None:
        """The best N wherever one is named: without failures, if there is one; a sample that failed freed the machine.

        N with failures that gives more stands beside it as `n`.
        """
        return self.n if self.n_without_failures is None else self.n_without_failures


def next_n(curve: Iterable[Observation], limit: int, tolerance: float = TOLERANCE) -> int | None:
    """Return the N to try after those of `curve`, never more than `limit`; None where nothing is left to learn.

    1, 2, 4, 8, ... and at last `limit`, until throughput stops rising or samples fail; then the middle of the wider gap
    beside the best N, and beside the best without failures, until gaps are within NARROW of it, or what lies above is
    as good. As good is what is within the `tolerance`, a share of the larger figure, and within the noise.
    """
    if limit < 1:
        raise ValueError(f"at least 1 sample is needed, and the limit is {limit}")
    tried = {n: seen for n, seen in _by_n(curve).items() if n <= limit}
    rungs: list[Observation] = []
    for n in _ladder(limit):
        if n not in tried:
            return n
        if not tried[n].without_failures or _ends(tried[n], rungs, tolerance):
            break
        rungs.append(tried[n])
    return _narrowed(tried, tolerance)


def around(curve: Iterable[Observation], tolerance: float = TOLERANCE) -> tuple[int, ...]:
    """Return the N to measure after a search: the best, and one below and one above that are far enough from it.

    Above it the one that comes closest, up to twice the best: that it is no better is what repeats are to confirm. None
    with failures; no N at all where none gave a genome.
    """
    tried = {n: seen for n, seen in _by_n(curve).items() if seen.without_failures}
    best = find_saturation(tried.values(), tolerance).best_n
    if best is None:
        return ()
    below = [n for n in tried if n * APART <= best] or [n for n in tried if n < best][:1]
    above = [n for n in tried if best * APART <= n <= 2 * best] or [n for n in tried if n > best]
    closest = _best((tried[n] for n in above), tolerance)
    return (*below[-1:], best, *([closest.n] if closest else []))


def find_saturation(curve: Iterable[Observation], tolerance: float = TOLERANCE) -> Saturation:
    """Return the best N of a curve, and the best without failures."""
    tried = _by_n(curve)
    best = _best(tried.values(), tolerance)
    if best is None:
        return Saturation(None, None, None, "no sample succeeded" if tried else "no N was tried")
    safe = _best((seen for seen in tried.values() if seen.without_failures), tolerance)
    return Saturation(best.n, best.failed, safe.n if safe else None, _reason(best, safe, tried))


def _by_n(curve: Iterable[Observation]) -> dict[int, Observation]:
    """Return observations by N, ascending."""
    ordered = sorted(curve, key=lambda seen: seen.n)
    tried = {seen.n: seen for seen in ordered}
    if len(tried) < len(ordered):
        raise ValueError("a curve has one observation for each N: pool the repeats first")
    return tried


def _ladder(limit: int) -> list[int]:
    """1, 2, 4, 8, ... and at last the limit."""
    return [*(2**power for power in range((limit - 1).bit_length())), limit]


def _ends(rung: Observation, below: Sequence[Observation], tolerance: float) -> bool:
    """Tell whether to try no more: throughput is not above that of every rung below."""
    return not rung.daily or any(not _is_better(rung, seen, tolerance) for seen in below)


def _is_better(one: Observation, other: Observation, tolerance: float) -> bool:
    """Tell whether `one` gives more by more than the tolerance and the noise; what noise is known counts."""
    known = [seen.se for seen in (one, other) if seen.se is not None]
    larger = max(one.daily, other.daily)
    return one.daily - other.daily > max(tolerance * larger, math.hypot(*known))


def _best(curve: Iterable[Observation], tolerance: float) -> Observation | None:
    """Of the observations that the highest is not better than: without failures, then the smallest."""
    giving = [seen for seen in curve if seen.daily]
    if not giving:
        return None
    top = max(giving, key=DAILY)
    as_good = (seen for seen in giving if not _is_better(top, seen, tolerance))
    return min(as_good, key=lambda seen: (not seen.without_failures, seen.n))


def _narrowed(tried: Mapping[int, Observation], tolerance: float) -> int | None:
    saturation = find_saturation(tried.values(), tolerance)
    for n in (saturation.n, saturation.n_without_failures):
        if n is None:
            continue
        wide = [(low, high) for low, high in _gaps(n, tried) if high - low > NARROW * n]
        if gaps := [gap for gap in wide if gap[1] == n or not _is_flat(n, tried, tolerance)]:
            low, high = max(gaps, key=lambda gap: gap[1] - gap[0])
            return (low + high) // 2
    return None


def _is_flat(n: int, tried: Mapping[int, Observation], tolerance: float) -> bool:
    """Tell whether the next two above N are as good as it, without failures: a better N hardly lies between."""
    seen = [tried[n], *(tried[m] for m in sorted(tried) if m > n)][:3]
    alike = all(not _is_better(one, other, tolerance) for one in seen for other in seen)
    return len(seen) == 3 and alike and all(one.without_failures for one in seen)


def _gaps(n: int, tried: Iterable[int]) -> list[tuple[int, int]]:
    """Return what lies between N and its neighbours, as pairs of tried numbers with untried ones between them."""
    below = max((other for other in tried if other < n), default=n)
    above = min((other for other in tried if other > n), default=n)
    return [(low, high) for low, high in ((below, n), (n, above)) if high - low > 1]


# ------------------------------------------------------------------------------------------------ in words


def _reason(best: Observation, safe: Observation | None, tried: Mapping[int, Observation]) -> str:
    top = max(tried.values(), key=DAILY)
    parts = [f"most genomes a day at {_in_words(best)}"]
    if top.n != best.n:
        parts.append(f"{_in_words(top)} is within the noise of it")
    if safe is None:
        parts.append("no N without failures")
    elif safe.n != best.n:
        parts.append(f"without failures {_in_words(safe)}")
    above = [seen for n, seen in tried.items() if n > max(best.n, top.n)]
    parts.append(
        f"no more at {_in_words(max(above, key=DAILY))}" if above else f"more than N = {max(tried)} was not tried"
    )
    if gaps := _gaps(best.n, tried):
        between = ", ".join(f"{low} and {high}" for low, high in gaps)
        parts.append(f"nothing was tried between N = {between}")
    return "; ".join(parts)


def _in_words(seen: Observation) -> str:
    failed = {0: "", None: " (failed samples not known)"}.get(seen.failed, f" ({seen.failed} failed)")
    return f"N = {seen.n}: {seen.daily:,.{2 if seen.daily < 100 else 0}f}{failed}"
