"""A table to be shown, on a terminal or on a page: what every table of the lab is before it is drawn. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

FRAME = 3  # characters beside the text of a column on a terminal


@dataclass(frozen=True)
class Entry:
    """A cell of a grid; its error or interval stands behind the text, or below it. `style`: on a terminal."""

    text: str
    error: str = ""
    style: str = ""

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

    A head may have several lines. `numeric`: its entries are numbers, but for those of the first `words` columns.
    `framed`: with lines around it on a terminal. `remarks`: its last column is of words, too.
    """

    caption: str
    heads: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    numeric: bool = True
    words: int = 1
    framed: bool = True
    remarks: bool = False

    @property
    def width(self) -> int:
        """Characters that it takes on a terminal, unless text is folded."""
        rows = [self.heads, *(line.texts for group in self.groups for line in group.lines)]
        texts = [max(len(line) for text in column for line in text.split("\n")) for column in zip(*rows, strict=True)]
        return sum(texts) + FRAME * len(texts) + 1


def line(*texts: str | Entry) -> Line:
    """A row of these texts, the first of which heads it."""
    head, *others = texts
    return Line(str(head), tuple(other if isinstance(other, Entry) else Entry(other) for other in others))


def group(rows: Iterable[Sequence[str | Entry]]) -> Group:
    """Rows of texts that belong together."""
    return Group(tuple(line(*row) for row in rows))


def rich_table(grid: Grid) -> Table:
    """A grid for the terminal; texts are no markup, and are never cut off."""
    table = Table(title=Text(grid.caption) if grid.caption else None, title_justify="left")
    if not grid.framed:
        table.box, table.pad_edge, table.show_header = None, False, any(grid.heads)
    for at, head in enumerate(grid.heads):
        is_words = at < grid.words or (grid.remarks and at == len(grid.heads) - 1)
        side: JustifyMethod = "left" if is_words or not grid.numeric else "right"
        table.add_column(Text(head), justify=side, no_wrap=not at, overflow="fold")
    for own in grid.groups:
        table.add_section()
        if own.title:
            table.add_row(Text(own.title, "italic"))
        for one in own.lines:
            table.add_row(Text(one.texts[0]), *(Text(entry.joined(), entry.style) for entry in one.entries))
    return table
