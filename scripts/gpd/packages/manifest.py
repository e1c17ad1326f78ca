"""What a package holds: its manifest, the names that its members may have, and how large all of it may be.

`gpd package schema` prints the JSON schema of the manifest, made of these types.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gpd.errors import GpdError
from gpd.records import calibration, node, study
from gpd.tables import collect, columns

SCHEMA_VERSION: Final = 1
FILE = "manifest.json"
TABLES = {table: f"{collect.FOLDER}/{table}.tsv" for table in columns.TABLES}

MOST_FILE_BYTES = 2**28  # of a package
MOST_BYTES = 2**29  # of all that is in it
MOST_MEMBER_BYTES = 2**28
MOST_MEMBERS = 20_000

# what a name is in this project: no member can be hidden, absolute, or above the folder that it is laid out in
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}"
LEDGER = rf"ledger(\.{NAME})?\.jsonl"
OF_STUDY = (FILE, study.FILE, study.STARTS, node.FILE, calibration.FILE, *TABLES.values())
OF_RUN = re.compile(rf"(?P<run>{NAME})/(run\.json|spec\.json|(samples/{NAME}/)?{LEDGER})")

Text = Annotated[str, Meta(max_length=1000)]
Count = Annotated[int, Meta(ge=0)]


class PackageError(GpdError):
    """A file that is no package, or a study that can't become one; the message is a line a fault."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """The digest (SHA-256) and the size of a file in a package."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: Count


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A package: `study` is its name, `left_out` says what is in the study's folder, and not here.

    Its figures are on this `fraction` of the reads of each sample; each genome stands for `samples_per_genome`,
    as copies of its files.
    """

    format: Literal["gpd-package"] = "gpd-package"
    schema: Literal[1] = SCHEMA_VERSION
    gpd_version: Text | None = None
    study: Annotated[str, Meta(pattern=rf"^{NAME}$")]
    fraction: Annotated[float, Meta(gt=0, le=1)] = 1.0
    samples_per_genome: Annotated[int, Meta(ge=1)] = 1
    left_out: tuple[Text, ...] = ()
    members: Mapping[str, Member]

    def to_json(self) -> bytes:
        return (json.dumps(msgspec.to_builtins(self), indent=1, sort_keys=True) + "\n").encode()


def schema() -> dict[str, Any]:
    """The JSON schema of the manifest."""
    return msgspec.json.schema(Manifest) | {"title": "manifest.json of a gpd package"}


def may_be(name: str) -> bool:
    """Whether a package may have a member of this name."""
    return name in OF_STUDY or (OF_RUN.fullmatch(name) is not None and not name.startswith(f"{collect.FOLDER}/"))


def describe(content: bytes) -> Member:
    return Member(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def differences(manifest: Manifest, members: Mapping[str, bytes]) -> list[str]:
    """Name the members that are not as the manifest has them; `members` are without it."""
    named, there = set(manifest.members), set(members)
    lines = [f"{name}: the manifest names it, and it is not there" for name in sorted(named - there)]
    lines += [f"{name}: it is there, and the manifest does not name it" for name in sorted(there - named)]
    changed = [name for name in sorted(named & there) if describe(members[name]) != manifest.members[name]]
    return lines + [f"{name}: its digest is another than the manifest's" for name in changed]
