"""Amdahl's law fitted to the times of a step: which part of it no further thread makes shorter. Pure.

T(n) = T(1) x (s + (1 - s) / n), s the serial fraction (Amdahl, AFIPS 1967). Nothing holds s between 0 and 1: below 0
more threads helped by more than their number, above 1 they did harm, and either says that this law is not the step's.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import curve_fit

Numbers = NDArray[np.float64]
TERMS = 2
LEAST_THREAD_COUNTS = 3  # for an uncertainty: two are met exactly, whatever the law


class Fit(Struct, frozen=True):
    """Amdahl's law for one step; None: so few thread counts do not tell it.

    `t1_s` is the fitted time of one thread, each figure has its standard error. `times`: how many it was fitted to.
    """

    thread_counts: int
    times: int = 0
    t1_s: float | None = None
    t1_se: float | None = None
    serial_fraction: float | None = None
    serial_fraction_se: float | None = None


def fit(times: Iterable[tuple[int, float]]) -> Fit:
    """Fit the law to (threads, seconds), one pair a repeat, by least squares of relative errors.

    Below two thread counts there is nothing to fit, below LEAST_THREAD_COUNTS no uncertainty. T = a + b / n is fitted,
    which is linear; T(1) = a + b and s = a / (a + b), whose errors follow from those of a and b to first order.
    """
    known = sorted((threads, seconds) for threads, seconds in times if seconds > 0)
    thread_counts = len({threads for threads, _ in known})
    if thread_counts < 2:
        return Fit(thread_counts)
    threads, seconds = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    if thread_counts < LEAST_THREAD_COUNTS:
        b, a = map(float, np.polyfit(1 / threads, seconds, 1))
        return Fit(thread_counts, len(known), a + b, None, a / (a + b))
    # noise grows with the time that is measured: each residual counts as a share of it
    (a, b), covariance = curve_fit(_line, threads, seconds, sigma=seconds, jac=_slopes)
    t1_s = float(a + b)
    gradients = np.array([[1.0, 1.0], [b / t1_s**2, -a / t1_s**2]])
    t1_se, serial_se = map(float, np.sqrt(np.diag(gradients @ covariance @ gradients.T).clip(min=0)))
    return Fit(thread_counts, len(known), t1_s, t1_se, float(a) / t1_s, serial_se)


def _line(threads: Numbers, a: float, b: float) -> Numbers:
    return a + b / threads


def _slopes(threads: Numbers, a: float, b: float) -> Numbers:
    """What a and b change; differences would lose it where one of them is next to nothing."""
    return np.column_stack([np.ones_like(threads), 1 / threads])
