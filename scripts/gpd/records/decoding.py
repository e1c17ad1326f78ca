"""Records from files of JSON: held against their types, and whatever they do not tell left to its default."""

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gpd.errors import GpdError
from gpd.files import MOST_BYTES, read_bytes

Kind = TypeVar("Kind")

LEVELS = 2  # of keys that are ours; below are names of samples, rules and tools
MOST_LEVELS = 12  # of JSON within JSON
LARGEST = 1e15  # number
LONGEST_REASON = 300  # characters


class RecordError(GpdError):
    """A file that is no record; the message is one line that names it."""


def read_record(path: Path, kind: type[Kind], remedy: str = "", most: int = MOST_BYTES) -> Kind:
    """Read a record, of any origin. Raises RecordError, with what to do, and OSError."""
    text = read_bytes(path, most)
    try:
        return decode(text.decode(), kind)
    except ValueError as error:  # of msgspec, too, and of what is not UTF-8
        raise no_record(path, error, path.name, remedy) from error


def no_record(place: object, error: ValueError, name: str, remedy: str = "") -> RecordError:
    """The error about a place where there is no record of this name."""
    reason = " ".join(str(error).split())[:LONGEST_REASON]
    return RecordError("; ".join(filter(None, (f"{place}: not a valid {name}: {reason}", remedy))))


def decode(text: str, kind: type[Kind]) -> Kind:
    """Raises ValueError where the text is no JSON of a record, msgspec.ValidationError where it is no such record."""
    return msgspec.convert(_without_nulls(parse(text), LEVELS), kind)


def _without_nulls(value: Any, levels: int) -> Any:
    """A record where null is as good as nothing."""
    if not levels or not isinstance(value, dict):
        return value
    return {key: _without_nulls(entry, levels - 1) for key, entry in value.items() if entry is not None}


def parse(text: str) -> Any:
    """JSON without what no record has: depth and numbers beyond reason, halves of characters.

    Raises ValueError, its message is one line; json.JSONDecodeError where the text is no JSON at all.
    """
    try:
        document = json.loads(text)
        _check(document, MOST_LEVELS)
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(f"JSON of more than {MOST_LEVELS} levels") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character (a lone surrogate) at {error.start}") from error
    return document


def _check(document: Any, levels: int) -> None:
    """Raise ValueError where a number is beyond reason, or none, RecursionError where there are more levels."""
    if not levels:
        raise RecursionError
    if isinstance(document, int | float) and not abs(document) <= LARGEST:  # nor is NaN
        raise ValueError(f"a number beyond reason: {str(document)[:40]}")
    entries = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for entry in entries:
        _check(entry, levels - 1)
