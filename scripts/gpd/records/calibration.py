"""The same short work, measured before, between and after the runs of a benchmark: calibration.jsonl in its folder.

A machine on which it takes longer than before is not the machine that it was.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from gpd.files import read_bytes
from gpd.records.decoding import decode, no_record
from gpd.records.run import Time

FILE: Final = "calibration.jsonl"
MOST_DRIFT: Final = 0.05
Seconds = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """When it was measured, and how long arithmetic on one core and a copy in memory took, s."""

    at: Time
    arithmetic_s: Seconds
    memory_s: Seconds


def read_calibrations(folder: Path) -> tuple[Calibration, ...]:
    """What a study's folder has of them, in the order of time; none where none was measured. Raises RecordError."""
    path = folder / FILE
    return parse(read_bytes(path), path) if path.exists() else ()


def parse(content: bytes, place: object = FILE) -> tuple[Calibration, ...]:
    """What calibration.jsonl holds, in the order of time. Raises RecordError."""
    try:
        lines = content.decode().splitlines()
        return tuple(sorted((decode(line, Calibration) for line in lines), key=lambda one: one.at))
    except ValueError as error:
        raise no_record(place, error, FILE) from error


def drift(calibrations: Iterable[Calibration]) -> dict[str, float]:
    """By how much the slowest was slower than the fastest, as a share of it: of arithmetic and of memory."""
    every = list(calibrations)
    times = {name: [getattr(one, f"{name}_s") for one in every] for name in ("arithmetic", "memory")}
    return {name: max(found) / min(found) - 1 for name, found in times.items() if found}
