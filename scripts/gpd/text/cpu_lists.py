"""Sets of CPUs in the kernel's list format, as 0-3,8."""

from collections.abc import Iterable

LARGEST_CPU = 65_535


def parse_cpus(text: str) -> frozenset[int]:
    """Read the kernel's list format: "0-3,8" is {0, 1, 2, 3, 8}."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return frozenset(cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1))


def count_cpus(text: str) -> int:
    """How many CPUs a list of them has, without making them."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def check_cpus(text: str) -> None:
    """Refuse a list of CPUs that no machine has. Raises ValueError."""
    ends = [end for part in text.split(",") for end in part.split("-")] if text else []
    known = all(end.isascii() and end.isdecimal() and len(end) <= len(str(LARGEST_CPU)) for end in ends)
    numbers = [int(end) for end in ends] if known else []
    if not known or max(numbers, default=0) > LARGEST_CPU or numbers != sorted(numbers):
        raise ValueError(f"{text[:40]!r}: no list of CPUs")


def format_cpus(cpus: Iterable[int]) -> str:
    """Write CPU numbers in the kernel's list format."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
