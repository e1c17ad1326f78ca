"""Measure a calibration: a few seconds of the same arithmetic and of the same copies in memory."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from gpd.files import open_plain
from gpd.records.calibration import FILE, Calibration

TIMES = 9  # of which the median counts
EXPONENT, MODULUS = (1 << 400) - 1, (1 << 4423) - 1  # of a power that takes some hundredths of a second
COPIED_BYTES = 2**27  # beyond most caches


def measure() -> Calibration:
    """How long the two take now."""
    source, target = np.ones(COPIED_BYTES, np.uint8), np.zeros(COPIED_BYTES, np.uint8)
    return Calibration(
        at=datetime.now(UTC),
        arithmetic_s=_seconds(lambda: pow(3, EXPONENT, MODULUS)),
        memory_s=_seconds(lambda: np.copyto(target, source)),
    )


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return sorted(taken)[TIMES // 2]


def note(study: Path) -> None:
    """Measure, and write it down in a study's folder."""
    study.mkdir(parents=True, exist_ok=True)
    with open_plain(study / FILE, "ab") as file:
        file.write(json.dumps(msgspec.to_builtins(measure())).encode() + b"\n")
