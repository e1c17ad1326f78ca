"""What is mounted where: /proc/self/mountinfo, parsed. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

ROOT = PurePosixPath("/")
# of a server, a user or a folder, and nothing that makes input and output faster or slower
_PRIVATE = re.compile(r"(?i)(user|pass|domain|.*addr|secret|cred|name|fsid|mon_|.*dir)")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo; `device` is major:minor, major 0 where no block device stands behind it."""

    device: str
    root: PurePosixPath
    point: PurePosixPath
    options: tuple[str, ...]
    type: str
    source: str
    super_options: tuple[str, ...]

    @property
    def telling_options(self) -> tuple[str, ...]:
        """The options, each once, without those that name a server, a user or a folder."""
        every = dict.fromkeys((*self.options, *self.super_options))
        return tuple(option for option in every if not _PRIVATE.match(option))


def parse_mounts(mountinfo: str) -> list[Mount]:
    """Read mountinfo (proc(5)): optional fields end at a lone hyphen, blanks in names are octal escapes."""
    return [_mount(line) for line in mountinfo.splitlines() if " - " in line]


def _mount(line: str) -> Mount:
    before, _, after = line.partition(" - ")
    device, root, point, options = before.split(" ")[2:6]
    kind, source, super_options = after.split(" ")[:3]
    return Mount(
        device,
        PurePosixPath(_plain(root)),
        PurePosixPath(_plain(point)),
        tuple(options.split(",")),
        kind,
        _plain(source),
        tuple(super_options.split(",")),
    )


def _plain(name: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), name)


def mount_of(path: PurePosixPath, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that holds an absolute path without links: the deepest one, of equal ones the last, on top."""
    holding = [mount for mount in mounts if path.is_relative_to(mount.point)]
    deepest = max((len(mount.point.parts) for mount in holding), default=0)
    return next((mount for mount in reversed(holding) if len(mount.point.parts) == deepest), None)
