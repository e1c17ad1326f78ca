"""The threshold from which other processes count as CPU contention: during a run, and before its start.

Of a single job the launcher says it (launcher/measure.py), by another measure: its CPUs are few and
its time is short, so that half a CPU second and a tenth of what it was allocated is the least that is no noise.
"""

from typing import Final

# beside a run: a twentieth of few CPUs, a hundredth of many, for the kernel's own threads take 0.5% of a machine that
# writes much; between them half a CPU
FEW_SHARE: Final = 0.05
MANY_SHARE: Final = 0.01
CPUS: Final = 0.5


def threshold(cpus: int) -> float:
    """How many CPUs others may keep busy on average while a run is at work, of so many."""
    return min(max(CPUS, MANY_SHARE * cpus), FEW_SHARE * cpus)


def threshold_before(cpus: int) -> float:
    """How many may be busy before its start, when nothing of ours writes.

    One CPU that others use counts on a large node, too, for they take a share of caches and memory.
    """
    return min(CPUS, FEW_SHARE * cpus)
