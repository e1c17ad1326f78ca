"""Names that a package does not have: hosts, users and folders stand as host-1, user-1 and /path/1.

Field by field: what a record calls a host is replaced whole; what a tool said may hold any of them, so they are looked
for in it; in all other texts absolute paths are. Names of samples, studies and rules stay: figures hang on them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

HOST_FIELDS = frozenset({"hostname", "host", "node"})  # where they are texts
FREE_FIELDS = frozenset({"message", "environment", "virtual_machine", "container"})  # anything may be in them
DEVICE = "device"  # of a file system: that of a network has its server's name in it
PATH_FIELDS = frozenset({"directory", "config", "profile", "profiles", "mount"})
MOUNT_OPTIONS = "options"
NUMBER = re.compile(r"\d+(\.\d+)?[kKmMgG]?")  # a value of a mount option that names nobody
HOME = re.compile(r"/(?:home|Users)/([^/\s:;,'\"]+)")
END = r"[^\s:;,'\"()<>|&=\[\]{}]"
PATH = re.compile(rf"(?<![\w./~-])~?/{END}+")
# also behind a letter, as in -I/home/x
ROOTED = re.compile(
    rf"/(?:home|Users|root|tmp|var|opt|usr|mnt|media|srv|data|scratch|work|run|etc|gpfs|lustre|nfs)/{END}*"
)
NOBODY = frozenset({"root"})  # a name that is nobody's


def texts_in(document: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a record, each with the key that it stands under."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from texts_in(value, key)
    elif isinstance(document, list):
        for value in document:
            yield from texts_in(value)
    elif isinstance(document, str):
        yield field, document


def hosts_in(document: Any) -> Iterator[str]:
    """The names of hosts that a record has."""
    return (text for field, text in texts_in(document) if field in HOST_FIELDS)


def users_in(document: Any) -> Iterator[str]:
    """The names of users that paths in a record have."""
    return (name for _, text in texts_in(document) for name in HOME.findall(text))


class Pseudonyms:
    """Other names for hosts, users and folders, the same for the same one wherever it stands.

    `folders` are paths that are known beforehand: those with blanks in them are not found in texts otherwise.
    """

    def __init__(
        self, hosts: Iterable[str], users: Iterable[str], folders: Iterable[str], keep_hosts: bool = False
    ) -> None:
        self.hosts = {} if keep_hosts else _hosts(hosts)
        self.users = _numbered((user for user in users if user not in NOBODY), "user-")
        self.paths: dict[str, str] = {}
        self.used: set[str] = set()  # of the other names for hosts and users
        self.folders = sorted({folder for folder in folders if " " in folder}, key=len, reverse=True)
        self.names = {**self.users, **self.hosts}
        longest = "|".join(map(re.escape, sorted(self.names, key=len, reverse=True)))
        self.found = re.compile(rf"(?<![A-Za-z0-9])(?:{longest})(?![A-Za-z0-9])")

    def replace(self, document: Any, field: str = "") -> Any:
        """Return a record with other names in it; `field` is the key that it stands under."""
        if isinstance(document, dict):
            inherited = field if field in FREE_FIELDS | PATH_FIELDS else ""
            return {key: self.replace(value, inherited or key) for key, value in document.items()}
        if isinstance(document, list):
            return [self.replace(value, field) for value in document]
        return self._text(document, field) if isinstance(document, str) else document

    def host(self, name: str) -> str:
        return self._named(self.hosts[name]) if name in self.hosts else name

    def _text(self, text: str, field: str) -> str:
        if field in HOST_FIELDS:
            return self.host(text)
        if field == MOUNT_OPTIONS:
            name, _, value = text.partition("=")
            return text if NUMBER.fullmatch(value) or not value else name
        if field == DEVICE:
            return self._path(text) if re.search(r"[/:\\]", text) else text
        if field in PATH_FIELDS:
            return self._path(text) if text.startswith(("/", "~")) or ".." in text.split("/") else text
        return self._free(text) if field in FREE_FIELDS else PATH.sub(self._match, self._known(text))

    def _free(self, text: str) -> str:
        plain = ROOTED.sub(self._match, PATH.sub(self._match, self._known(text)))
        return self.found.sub(lambda match: self._named(self.names[match[0]]), plain) if self.names else plain

    def _named(self, alias: str) -> str:
        self.used.add(alias)
        return alias

    def _known(self, text: str) -> str:
        for folder in self.folders:
            if folder in text:
                text = text.replace(folder, self._path(folder))
        return text

    def _match(self, match: re.Match[str]) -> str:
        return self._path(match[0])

    def _path(self, path: str) -> str:
        """A path's other name, which a path that is one already keeps."""
        if not path.strip("/") or re.fullmatch(r"/path/\d+", path):
            return path
        return self.paths.setdefault(path.rstrip("/"), f"/path/{len(self.paths) + 1}")


def _hosts(names: Iterable[str]) -> dict[str, str]:
    """Other names for hosts, which may be called by their short names and by those with their domains."""
    every = [name for name in names if name]
    short = _numbered((name.partition(".")[0] for name in every), "host-")
    return {name: short[name.partition(".")[0]] for name in every} | short


def _numbered(names: Iterable[str], prefix: str) -> dict[str, str]:
    distinct = dict.fromkeys(name for name in names if name)
    return {name: f"{prefix}{number}" for number, name in enumerate(distinct, 1)}
