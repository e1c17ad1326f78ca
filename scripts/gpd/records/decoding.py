"""Records from JSON: held against their types, and whatever they do not tell left to its default."""

import json
from math import isfinite
from typing import Any, TypeVar

import msgspec

from gpd.records import old_names

Kind = TypeVar("Kind")

LEVELS = 2  # of keys that are ours; below are names of samples, rules and tools
MOST_LEVELS = 12  # of JSON within JSON
LARGEST = 1e15  # number


def decode(text: str, kind: type[Kind]) -> Kind:
    """Raises ValueError where the text is no JSON of a record, msgspec.ValidationError where it is no such record."""
    return msgspec.convert(_told(old_names.record(parse(text)), LEVELS), kind)


def _told(value: Any, levels: int) -> Any:
    """What a record tells: null is as good as nothing."""
    if not levels or not isinstance(value, dict):
        return value
    return {key: _told(entry, levels - 1) for key, entry in value.items() if entry is not None}


def parse(text: str) -> Any:
    """JSON without what no record has: depth and numbers beyond reason, halves of characters.

    Raises ValueError, its message is one line; json.JSONDecodeError where the text is no JSON at all.
    """
    try:
        document = json.loads(text, parse_constant=_refuse, parse_float=_number, parse_int=_integer)
    except RecursionError as error:
        raise ValueError(f"JSON of more than {MOST_LEVELS} levels") from error
    _check(document, 1)
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"not JSON: {constant}")


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"a number beyond reason: {text[:40]}")
    return value


def _integer(text: str) -> int:
    _number(text)
    return int(text)


def _check(document: Any, level: int) -> None:
    """Refuse depth beyond reason, and text that can't be written. Raises ValueError."""
    if level > MOST_LEVELS:
        raise ValueError(f"JSON of more than {MOST_LEVELS} levels")
    if isinstance(document, str):
        _check_text(document)
    elif isinstance(document, dict):
        for key, value in document.items():
            _check_text(key)
            _check(value, level + 1)
    elif isinstance(document, list):
        for value in document:
            _check(value, level + 1)


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"half a character (a lone surrogate) in {text[:40]!a}")
