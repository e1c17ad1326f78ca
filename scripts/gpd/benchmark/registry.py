"""The registry of results: resources/registry has a folder a machine, with what its owner says of it, and packages."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import yaml
from msgspec import Meta

from gpd.errors import GpdError
from gpd.files import read_text
from gpd.paths import ROOT

FOLDER: Final = ROOT / "resources" / "registry"
ENTRY: Final = "entry.yaml"
NAME: Final = r"^[a-z0-9][a-z0-9-]{1,60}$"
SUFFIX: Final = ".gpd.tar.gz"
REGISTRY: Final = "registry"

Line = Annotated[str, Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Positive = Annotated[float, Meta(gt=0)]


class RegistryError(GpdError):
    """An entry that can't be read; the message is a line a fault."""


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """A cloud's type of machine, and what it cost on that day (`on`, as a key, would be true in YAML)."""

    type: Line
    region: Line
    price_per_hour: Positive
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")]
    day: date


@dataclass(frozen=True, kw_only=True)
class RegistryEntry:
    """entry.yaml: what packages can't tell.

    `interest` is what the submitter has to do with the makers or sellers of the machine, `differs` in what an entry of
    the open division differs, `watts` what it took at the wall while it ran. `status` is changed by its owner
    (withdrawn) or by a reviewer (marked), and `note` says why.
    """

    machine: Line
    submitter: Line
    interest: Line
    division: Literal["closed", "open"] = "closed"
    differs: Line | None = None
    cloud: Cloud | None = None
    watts: Positive | None = None
    status: Literal["listed", "withdrawn", "marked"] = "listed"
    note: Line | None = None

    def __post_init__(self) -> None:
        if (self.division == "open") != (self.differs is not None):
            raise ValueError("differs: an entry of the open division says in what, and one of the closed has none")
        if self.status != "listed" and self.note is None:
            raise ValueError(f"note: an entry that is {self.status} says why")


@dataclass(frozen=True)
class Listed:
    """An entry of the registry, with its packages, a session each."""

    name: str
    entry: RegistryEntry
    packages: tuple[Path, ...]


def read_entry(path: Path) -> RegistryEntry:
    """What an owner says of a machine. Raises RegistryError, OSError."""
    try:
        return msgspec.convert(yaml.safe_load(read_text(path)), RegistryEntry)
    except (yaml.YAMLError, ValueError) as error:  # of msgspec, too
        raise RegistryError(f"{path}: {' '.join(str(error).split())}") from error


def entries(folder: Path = FOLDER) -> Iterator[Listed]:
    """All entries, by name. Raises RegistryError."""
    for path in sorted(folder.glob(f"*/{ENTRY}")):
        yield Listed(path.parent.name, read_entry(path), tuple(sorted(path.parent.glob(f"*{SUFFIX}"))))


def resolved(name: str, folder: Path = FOLDER) -> list[str]:
    """The packages that `registry` or `registry:NAME` stand for, the first session of each; else the name itself.

    Raises RegistryError.
    """
    head, _, wanted = name.partition(":")
    if head != REGISTRY or Path(name).exists():
        return [name]
    known = {one.name: one for one in entries(folder) if one.packages}
    if wanted and wanted not in known:
        raise RegistryError(f"{name}: the registry has {', '.join(known) or 'no entry yet'}")
    chosen = [known[wanted]] if wanted else [one for one in known.values() if one.entry.status == "listed"]
    if not chosen:
        raise RegistryError(f"{name}: the registry has no entry yet")
    return [str(one.packages[0]) for one in chosen]


def label(package: str, folder: Path = FOLDER) -> str:
    """The name of a package of the registry in commands; empty for any other path."""
    path = Path(package)
    return f"{REGISTRY}:{path.parent.name}" if path.parent.parent == folder else ""
