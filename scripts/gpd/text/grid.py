"""A table to be shown: on a terminal, on a page, or as Markdown. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate

from gpd.text.formats import markdown

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


def markdown_table(grid: Grid) -> str:
    """Return a grid as a table of Markdown, without caption and notes; nothing in its texts is markup."""
    others = len(grid.heads) - 1
    return tabulate(
        [row for group in grid.groups for row in _rows(group, others)],
        headers=[markdown(head) for head in grid.heads],
        tablefmt="pipe",
        colalign=("left", *["right" if grid.figures else "left"] * others),
        disable_numparse=True,  # figures stand as they are
    )


def _rows(group: Group, others: int) -> list[Sequence[str]]:
    title = [[f"*{markdown(group.title)}*", *[""] * others]] if group.title else []
    return [*title, *([markdown(text) for text in line.texts] for line in group.lines)]
