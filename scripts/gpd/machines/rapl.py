"""Energy of processors and memory by their own counters (RAPL), which the kernel shows in /sys/class/powercap.

They are for a superuser to read on most machines, and virtual machines have none. They count what the whole machine
does, and neither disks, fans nor power supplies.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpd.machines.watcher import watching

POWERCAP = Path("/sys/class/powercap")
INTERVAL_S = 30.0  # a counter starts again from 0 after minutes
MICROJOULES = 1e6


@dataclass(frozen=True)
class Counter:
    """An energy counter of RAPL: what it counts, its file, and the value (uJ) after which it starts again from 0."""

    name: str
    path: Path
    wraps_at: int


def find_counters(root: Path = POWERCAP) -> list[Counter]:
    """The counters that may be read: `package-0`, and `package-0 dram` beside it; what a package holds counts once."""
    found = []
    for energy in sorted(root.glob("intel-rapl:*/energy_uj")):
        zone, name = energy.parent, (energy.parent / "name").read_text().strip()
        if name == "dram":
            name = f"{(root / zone.name.rpartition(':')[0] / 'name').read_text().strip()} dram"
        if name.startswith("package-") and os.access(energy, os.R_OK):
            found.append(Counter(name, energy, int((zone / "max_energy_range_uj").read_text())))
    return found


def read_counters(counters: Iterable[Counter]) -> dict[str, int]:
    return {counter.name: int(counter.path.read_text()) for counter in counters}


def spent(before: Mapping[str, int], after: Mapping[str, int], counters: Iterable[Counter]) -> dict[str, int]:
    """The microjoules of each counter between two readings; one that started again in between is followed."""
    return {each.name: (after[each.name] - before[each.name]) % (each.wraps_at + 1) for each in counters}


@dataclass
class Energy:
    """What the counters have counted so far. `joules` is None where there are none, or one could not be read on."""

    counters: Sequence[Counter]
    microjoules: dict[str, int] = field(default_factory=dict)
    failed: bool = False
    _before: dict[str, int] = field(default_factory=dict)

    def look(self) -> None:
        """Add what was spent since the last look; the first begins."""
        try:
            now = read_counters(self.counters)
        except (OSError, ValueError):
            self.failed = True
            return
        if self._before:
            for name, by in spent(self._before, now, self.counters).items():
                self.microjoules[name] = self.microjoules.get(name, 0) + by
        self._before = now

    @property
    def joules(self) -> dict[str, float] | None:
        if self.failed or not any(self.microjoules.values()):
            return None
        return {name: round(amount / MICROJOULES, 3) for name, amount in self.microjoules.items()}


@contextmanager
def watch(root: Path = POWERCAP) -> Iterator[Energy]:
    """Count from here to the end."""
    energy = Energy(find_counters(root))
    if not energy.counters:
        yield energy
        return
    energy.look()
    with watching(energy.look, INTERVAL_S):
        yield energy
