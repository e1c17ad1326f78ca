"""What a node draws. Energy = watts x hours, for the whole makespan."""

from dataclasses import dataclass

from gpd.sizing.machine import Machine, Measured


@dataclass(frozen=True)
class Power:
    """Watts of a node, and what they are of."""

    watts: float
    source: str

    @classmethod
    def of(cls, given: float | None, machine: Machine, at: Measured) -> "Power | None":
        """The first that is known: given for a node, counted over the runs (run.json), counted by `gpd node`."""
        known = {
            "given": given,
            "counters of packages and memory over the runs (RAPL)": at.watts,
            "counters of packages and memory, all cores busy (gpd node)": machine.watts,
        }
        return next((cls(watts, source) for source, watts in known.items() if watts is not None), None)
