"""Sample sheets of workflows that are not ours: tables as text, of which a run has the rows of its samples."""

import csv
import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from gpd.errors import GpdError

NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # samples: folders are called by them

Fields = tuple[str, ...]


class SheetError(GpdError):
    """A sheet that can't be used; the message names it."""


@dataclass(frozen=True)
class Sheet:
    """A sheet: what stands above its heading, the heading, and the rows below it; `column` names samples."""

    path: str
    column: str
    delimiter: str
    above: tuple[Fields, ...]
    heading: Fields
    rows: tuple[Fields, ...]

    @property
    def samples(self) -> list[str]:
        """The samples, each once, in the order of their first rows."""
        return list(dict.fromkeys(row[self.heading.index(self.column)] for row in self.rows))

    def of(self, samples: Collection[str]) -> list[dict[str, str]]:
        """The rows of some samples by column, in the sheet's order."""
        rows = (dict(zip(self.heading, row, strict=True)) for row in self.rows)
        return [row for row in rows if row[self.column] in samples]

    def text(self, samples: Collection[str]) -> str:
        """The sheet with the rows of some samples alone."""
        written = io.StringIO()
        lines = csv.writer(written, delimiter=self.delimiter, lineterminator="\n")
        lines.writerows((*self.above, self.heading, *(row.values() for row in self.of(samples))))
        return written.getvalue()


def read_sheet(folder: Path, name: str, column: str) -> Sheet:
    """Read a sheet by its heading, the first line with `column`. Raises SheetError."""
    path = folder / name
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SheetError(f"{path}: not UTF-8") from None
    except OSError as error:
        raise SheetError(f"{path}: {error.strerror}") from error
    delimiter = "," if path.suffix == ".csv" else "\t"
    lines = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row)]
    above = tuple(takewhile(lambda row: column not in row, lines))
    if len(above) == len(lines):
        raise SheetError(f"{path}: no column {column}; columns are {', '.join(lines[0]) if lines else 'none'}")
    heading, below = lines[len(above)], lines[len(above) + 1 :]
    rows = [row + ("",) * (len(heading) - len(row)) for row in below if not row[0].startswith("#")]
    if twice := [name for name in heading if heading.count(name) > 1]:
        raise SheetError(f"{path}: two columns {twice[0]!r}")
    for row in rows:
        _check(path, heading, row, column)
    if not rows:
        raise SheetError(f"{path}: no sample below its heading")
    return Sheet(name, column, delimiter, above, heading, tuple(rows))


def _check(path: Path, heading: Fields, row: Fields, column: str) -> None:
    """Raise SheetError where a row has more columns than the heading, or no name that a folder can have."""
    if len(row) != len(heading):
        raise SheetError(f"{path}: {row[0]!r}: {len(row)} columns in a row, and {len(heading)} in the heading")
    if not NAMED.fullmatch(value := row[heading.index(column)]):
        raise SheetError(
            f"{path}: {column}: {value!r}: must be letters, digits, '.', '_' and '-' that start with a letter or "
            "digit: folders are called by it"
        )
