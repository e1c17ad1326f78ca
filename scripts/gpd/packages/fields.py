"""What goes out in a package: the fields of the records' types, and of these not what identifies people or hosts.

A key that no type has does not go out. `docs/how-to/publish-results.md` has this table for users.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from gpd.records.host import FileSystem, Host
from gpd.records.ledger import Attempt
from gpd.records.node import NodeRecord
from gpd.records.run import Settings
from gpd.records.run_spec import RunSpec
from gpd.records.study import Pool, Study

Kept = TypeVar("Kept")
PLAIN = re.compile(r"[\w.,:+ -]*")
DIGITS = 12  # of a digest
NO_REASON = "the reason is not in a package"


class NumberedNames:
    """Numbers in place of names of hosts and of folders, the same number wherever the same name stands."""

    def __init__(self) -> None:
        self._hosts: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def host(self, name: str) -> str:
        """The number of a host, which may be called with its domain or without."""
        return self._hosts.setdefault(name.partition(".")[0], str(len(self._hosts) + 1))

    def path(self, path: str) -> str:
        """A relative path as it is, and a number in place of any other."""
        if not path.startswith(("/", "~")) and ".." not in path.split("/"):
            return path
        return self._folders.setdefault(path.rstrip("/"), str(len(self._folders) + 1))

    def outgoing(self, record: Kept) -> Kept:
        """A copy of a record as it goes out, and of all records within it."""
        return self._outgoing(record)

    def _outgoing(self, value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            changes = CHANGED.get(type(value), {})
            own = {field.name: getattr(value, field.name) for field in fields(value)}
            return replace(
                value,
                **{
                    name: _each(changes[name], self, entry) if name in changes else self._outgoing(entry)
                    for name, entry in own.items()
                },
            )
        if isinstance(value, dict):
            return {key: self._outgoing(entry) for key, entry in value.items()}
        return tuple(map(self._outgoing, value)) if isinstance(value, tuple) else value


Change = Callable[[NumberedNames, str], Any]


def _each(change: Change, names: NumberedNames, value: Any) -> Any:
    """Change a text, or those in a list or a mapping; a tuple keeps what is not None of it."""
    if isinstance(value, dict):
        return {key: change(names, entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(found for entry in value if (found := change(names, entry)) is not None)
    return None if value is None else change(names, value)


def _nothing(_: NumberedNames, text: str) -> None:
    return None


def _option(_: NumberedNames, option: str) -> str | None:
    """A mount option without a value: a value may name a server or a user."""
    return None if "=" in option else option


def _device(_: NumberedNames, device: str) -> str | None:
    """A device of this machine: that of a network has its server's name."""
    return None if any(mark in device for mark in "/:\\") else device


def _variable(_: NumberedNames, value: str) -> str:
    """A variable's value: options and numbers as they are; what may hold a path or a name, as a digest."""
    return value if PLAIN.fullmatch(value) else f"sha256 {hashlib.sha256(value.encode()).hexdigest()[:DIGITS]}"


def _reason(_: NumberedNames, reason: str) -> str:
    return NO_REASON


PATHS = "directory", "config", "profile", "workflow", "python", "samples", "sheets", "inputs", "target"
# what goes out otherwise than it is; every other field of these types goes out as it is
CHANGED: Mapping[type, Mapping[str, Change]] = {
    Host: dict.fromkeys(("hostname", "node"), NumberedNames.host),
    FileSystem: {"mount": _nothing, "device": _device, "options": _option},
    Attempt: {"host": NumberedNames.host, "node": NumberedNames.host, "message": _nothing, "log": NumberedNames.path},
    RunSpec: dict.fromkeys(("directory", "config", "profile"), NumberedNames.path),
    Study: dict.fromkeys(("directory", "profiles"), NumberedNames.path),
    Pool: dict.fromkeys(PATHS, NumberedNames.path),
    Settings: {"environment": _variable},
    NodeRecord: {"missing": _reason},
}
