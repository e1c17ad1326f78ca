"""What the start of a cohort tells its user: what was guessed, what was left out and why, what is still to be done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpd.text.formats import brief, some

MOST_NAMES = 3
LONGEST = 2000  # characters of a line


@dataclass
class Notes:
    """Lines for the user; `left_out` has the names of what was left out, by the reason."""

    guessed: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    to_do: list[str] = field(default_factory=list)

    def leave_out(self, reason: str, names: Iterable[object]) -> None:
        if found := list(map(str, names)):
            self.left_out.setdefault(reason, []).extend(found)

    def lines(self) -> list[str]:
        lines = [
            *(f"guessed: {line}" for line in self.guessed),
            *(f"left out: {few(names)}: {reason}" for reason, names in self.left_out.items()),
            *(f"to do: {line}" for line in self.to_do),
        ]
        return [brief(line, LONGEST) for line in lines]


def few(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    return some(names, MOST_NAMES)
