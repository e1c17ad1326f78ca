"""What an hour of a node costs, by the name of a study or a SKU."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from gpd.errors import GpdError
from gpd.sizing.machine import Machine

NAME, PRICE = "name", "price_per_hour"  # columns


def read_prices(path: Path) -> dict[str, float]:
    """Prices of a node-hour from a TSV with the columns `name` and `price_per_hour`. Raises GpdError, and OSError."""
    try:
        lines = io.StringIO(path.read_text(encoding="utf-8"), newline="")
    except UnicodeDecodeError as error:
        raise GpdError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}): save it as tabs in UTF-8") from None
    reader = csv.DictReader(lines, delimiter="\t")
    if missing := [column for column in (NAME, PRICE) if column not in (reader.fieldnames or ())]:
        raise GpdError(f"{path}: no column {', '.join(missing)}; it has a header with {NAME} and {PRICE}")
    return {row[NAME]: _amount(f"{path} line {reader.line_num}", row[PRICE]) for row in reader}


def _amount(where: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        raise GpdError(f"{where}: {PRICE} is no number: {text or ''}") from None
    if not 0 <= value < math.inf:
        raise GpdError(f"{where}: {PRICE} must be 0 or more, and is {text}")
    return value


def price_of(machine: Machine, given: float | None, prices: Mapping[str, float]) -> float | None:
    """What a node-hour costs: by the machine's name, by its SKU, or the one price for all."""
    names = (machine.name, machine.name.removeprefix("published:"), *machine.skus)
    return next((prices[name] for name in names if name in prices), given)
