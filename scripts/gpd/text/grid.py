"""A table to be shown: on a terminal or on a page. Pure."""

from dataclasses import dataclass

FRAME = 3  # characters beside the text of a column on a terminal


@dataclass(frozen=True)
class Entry:
    """A cell of a grid; its error or interval stands behind the text, or below it."""

    text: str
    error: str = ""

    def joined(self, separator: str = " ") -> str:
        return separator.join(filter(None, (self.text, self.error)))


@dataclass(frozen=True)
class Line:
    """A row of a grid; a step has a number before its head."""

    head: str
    entries: tuple[Entry, ...]
    number: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (" ".join(filter(None, (self.number, self.head))), *(entry.joined() for entry in self.entries))


@dataclass(frozen=True)
class Group:
    """Lines that belong together, under a title where they have one."""

    lines: tuple[Line, ...]
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A table in groups, each set off from the one before; the first column heads the rows, and notes stand below.

    A head may have several lines. `figures`: its entries are numbers.
    """

    caption: str
    heads: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    figures: bool = True

    @property
    def width(self) -> int:
        """Characters that it takes on a terminal, unless text is folded."""
        rows = [self.heads, *(line.texts for group in self.groups for line in group.lines)]
        texts = [max(len(line) for text in column for line in text.split("\n")) for column in zip(*rows, strict=True)]
        return sum(texts) + FRAME * len(texts) + 1
