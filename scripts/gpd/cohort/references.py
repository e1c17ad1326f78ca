"""References by name: the files of each, where they come from, and the keys of the configuration that name them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpd.errors import GpdError
from gpd.files import read_table
from gpd.paths import ROOT

FOLDER = ROOT / "resources" / "references"
TABLE = FOLDER / "references.tsv"
VQSR = "vqsr"
# as docs/how-to/filter-variants.md has them
TRAITS: dict[str, dict[str, object]] = {
    "hapmap": {"training": True, "truth": True, "prior": 15},
    "omni": {"training": True, "truth": True, "prior": 12},
    "g1k": {"training": True, "prior": 10},
    "mills": {"training": True, "truth": True, "prior": 12},
    "dbsnp": {"known": True, "prior": 2},
}


@dataclass(frozen=True)
class File:
    """A file of a reference; `gb`: about how many gigabytes it has."""

    name: str
    keys: tuple[str, ...]
    address: str
    gb: float
    licence: str
    documented: str


@dataclass(frozen=True)
class Reference:
    """A reference, and the folder where its files lie, or will."""

    name: str
    files: tuple[File, ...]
    folder: Path

    @property
    def gb(self) -> float:
        return sum(file.gb for file in self.files)

    @property
    def missing(self) -> list[str]:
        return [file.name for file in self.files if not (self.folder / file.name).is_file()]

    def of(self, key: str) -> list[Path]:
        """The files that a key of the configuration names."""
        return [self.folder / file.name for file in self.files if key in file.keys]

    def training_sets(self) -> Iterator[tuple[str, str, Path]]:
        """Of VQSR: kind of variants, name and file."""
        for file in self.files:
            for key in file.keys:
                if key.startswith(f"{VQSR}."):
                    _, kind, name = key.split(".")
                    yield kind, name, self.folder / file.name

    @property
    def ploidy_of_men(self) -> Path | None:
        """Regions of X and Y that men have once; None where they are not known."""
        path = FOLDER / f"{self.name}.male.bed"
        return path if path.is_file() else None


def known() -> list[str]:
    """The names of the references of the table, in its order."""
    return list(dict.fromkeys(row["reference"] for row in read_table(TABLE)))


def find(name: str, folder: Path, table: Path = TABLE) -> Reference:
    """A reference whose files lie in a folder of its name, below `folder`. Raises GpdError."""
    rows = [row for row in read_table(table) if row["reference"] == name]
    if not rows:
        raise GpdError(f"reference {name}: no file, and none of those that are known by name: {', '.join(known())}")
    files = tuple(
        File(
            row["file"],
            tuple(row["keys"].split(",")),
            row["address"],
            float(row["gb"]),
            row["licence"],
            row["documented"],
        )
        for row in rows
    )
    return Reference(name, files, folder / name)
