"""Records from JSON: held against their types, and whatever they do not tell left to its default."""

import json
from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")


LEVELS = 2  # of keys that are ours; below are names of samples, rules and tools


def decode(text: str, kind: type[Kind]) -> Kind:
    """Raises json.JSONDecodeError where the text is no JSON, msgspec.ValidationError where it is no such record."""
    return msgspec.convert(_told(json.loads(text), LEVELS), kind)


def _told(value: Any, levels: int) -> Any:
    """What a record tells: null is as good as nothing."""
    if not levels or not isinstance(value, dict):
        return value
    return {key: _told(entry, levels - 1) for key, entry in value.items() if entry is not None}
