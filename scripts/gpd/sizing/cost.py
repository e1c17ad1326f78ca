"""What nodes and storage cost. Pure.

A node that may be pre-empted is cheaper an hour, and takes more hours: what was at work when it was taken is lost. With
l pre-emptions an hour and batches that begin anew, a batch of T hours takes (e^(lT) - 1) / l on average; where one
costs no more than h hours, since what had ended is kept, it takes T / (1 - lh). Both are for pre-emptions at random, as
many in any hour (Poisson).
"""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from gpd.errors import GpdError
from gpd.sizing.machine import Machine, Range

HOURS_PER_DAY = 24
NAME, NEEDED = "name", "price_per_hour"
LARGEST_EXPONENT = 700.0  # of a number


@dataclass(frozen=True)
class Price:
    """Of an hour of a node, and of one that may be pre-empted so often a day. None: not given.

    `lost_h`: node hours that a pre-emption costs; None: the whole batch begins anew.
    """

    price_per_hour: float | None = None
    spot_price_per_hour: float | None = None
    preemptions_per_day: float | None = None
    lost_h: float | None = None

    def with_loss(self, hours: float) -> float:
        """Hours that a batch takes on nodes which may be pre-empted; infinite where it would never end."""
        rate = (self.preemptions_per_day or 0) / HOURS_PER_DAY
        if not rate:
            return hours
        if self.lost_h is None:
            return math.expm1(rate * hours) / rate if rate * hours < LARGEST_EXPONENT else math.inf
        return hours / (1 - rate * self.lost_h) if rate * self.lost_h < 1 else math.inf

    def spot_hours(self, makespan_h: Range) -> Range | None:
        """Hours of a batch with what is lost; None where no such node is priced."""
        if self.spot_price_per_hour is None:
            return None
        taken = makespan_h.each(self.with_loss)
        if math.isinf(taken.worst):
            raise GpdError(
                f"a batch of {makespan_h.worst:.3g} h would never end with {self.preemptions_per_day:g} pre-emptions a"
                " day: give --hours-lost, or fewer samples at once"
            )
        return taken


COLUMNS = [field.name for field in fields(Price) if field.name != "lost_h"]


def read_prices(path: Path) -> dict[str, Price]:
    """Prices from a TSV with `name` (a study, or a SKU) and `price_per_hour`, and maybe the other columns.

    Raises GpdError, and OSError.
    """
    prices = {}
    with _as_text(path) as lines:
        reader = csv.DictReader(lines, delimiter="\t")
        if missing := [column for column in (NAME, NEEDED) if column not in (reader.fieldnames or ())]:
            raise GpdError(f"{path}: no column {', '.join(missing)}; it has a header with {NAME} and {NEEDED}")
        for row in reader:
            where = f"{path} line {reader.line_num}"
            known = {column: _amount(where, column, row.get(column)) for column in COLUMNS}
            if known[NEEDED] is None:
                raise GpdError(f"{where}: {NEEDED} is no number: ")
            prices[row[NAME]] = complete(Price(**known), where)
    return prices


def _as_text(path: Path) -> io.StringIO:
    try:
        return io.StringIO(path.read_text(encoding="utf-8"), newline="")
    except UnicodeDecodeError as error:
        raise GpdError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}): save it as tabs in UTF-8") from None


def _amount(where: str, column: str, text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        raise GpdError(f"{where}: {column} is no number: {text}") from None
    if value is not None and not 0 <= value < math.inf:
        raise GpdError(f"{where}: {column} must be 0 or more, and is {text}")
    return value


def complete(price: Price, where: str) -> Price:
    """Refuse a price of nodes that may be pre-empted of which nobody says how often. Raises GpdError."""
    if (price.spot_price_per_hour is None) is not (price.preemptions_per_day is None):
        raise GpdError(f"{where}: a spot price and pre-emptions a day go together; 0 where none is counted with")
    return price


def price_of(machine: Machine, given: Price, prices: Mapping[str, Price]) -> Price:
    """What a node costs: by the machine's name, by its SKU, or the one price for all; hours lost are for all."""
    names = (machine.name, machine.name.removeprefix("published:"), *machine.skus)
    return replace(next((prices[name] for name in names if name in prices), given), lost_h=given.lost_h)
