"""Sets of CPUs in the kernel's list format, as 0-3,8."""

from collections.abc import Iterable


def parse_cpus(text: str) -> frozenset[int]:
    """Read the kernel's list format: "0-3,8" is {0, 1, 2, 3, 8}."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return frozenset(cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1))


def format_cpus(cpus: Iterable[int]) -> str:
    """Write CPU numbers in the kernel's list format."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
