"""The queue that the bench of streams simulates."""

import math
import sys

import numpy as np
import pytest
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

stream = script(ROOT / "scripts/bench/stream.py")


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_one_at_a_time_with_exponential_times_is_the_queue_m_m_1(share: float) -> None:
    """There the time to result is exponential, too, with a mean of 1 / (1 - share) of what one sample takes."""
    takes = np.random.default_rng(5).exponential(30.0, 20_000)
    median, tail = stream.simulated_results(takes, 1, share, seed=1)
    mean = takes.mean() / (1 - share)
    assert median == pytest.approx(mean * math.log(2), rel=0.05)
    assert tail == pytest.approx(mean * math.log(20), rel=0.05)


def test_of_many_at_once_hardly_one_waits() -> None:
    assert stream.simulated_results([30.0], 128, 0.8, seed=1) == pytest.approx((30.0, 30.0), rel=0.01)
