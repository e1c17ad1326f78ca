"""Which files of a run are handed on, and where they lie in the folder that is handed on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.execution.configuration import Configuration

ALIGNMENTS = "alignments"  # of the kinds of results the one of large files
ALONE = {"page": "multiqc.html", "samples": "samples.tsv"}  # kinds of one file, and its name
# kinds of whole folders, and how these are called: that of the file that is opened first, or the one that is named
WHOLE = {"tests": "differential_expression", "counts": "expression", "plots": "plots"}
INDEXES = (".tbi", ".csi", ".bai", ".crai")
LEFT_OUT, TRANSCRIPTS = "results/left_out.tsv", "results/merge/transcripts.gtf"


@dataclass(frozen=True)
class HandedOn:
    """A file of a run, and its path in what is handed on."""

    source: Path
    path: Path
    kind: str


def contents(directory: Path, results: Mapping[str, str], configured: Configuration) -> list[HandedOn]:
    """What is handed on of the run in `directory`; `results` are the paths that the workflow told, by kind.

    Raises GpdError where one is not there.
    """
    found = [each for kind, path in results.items() for each in _of_kind(directory, kind, path, configured)]
    config = configured.config
    if config["leave_out"]:
        found.append(HandedOn(directory / LEFT_OUT, Path(Path(LEFT_OUT).name), "samples"))
    if config["pipeline"] == "tuxedo" and config["assembly"] != "reference_only":
        found.append(HandedOn(directory / TRANSCRIPTS, Path(Path(TRANSCRIPTS).name), "transcripts"))
    if missing := [str(each.source) for each in found if not each.source.is_file()]:
        raise GpdError(f"{missing[0]}: not there, and it is to be handed on")
    return found


def _of_kind(directory: Path, kind: str, path: str, configured: Configuration) -> Iterator[HandedOn]:
    for fields in _names(path, configured):
        source = directory / path.format_map(fields)
        if kind in ALONE:
            yield HandedOn(source, Path(ALONE[kind]), kind)
        elif kind in WHOLE:
            folder = source if source.is_dir() else source.parent
            own = Path(WHOLE[kind], fields.get("contrast", ""))
            yield from (HandedOn(each, own / each.name, kind) for each in _plain_files(folder))
        else:
            yield from (HandedOn(each, Path(kind, each.name), kind) for each in [source, *_indexes(source)])


def _names(path: str, configured: Configuration) -> list[dict[str, str]]:
    """What stands for the wildcards of a path: each sample, or each contrast."""
    config: Mapping[str, Any] = configured.config
    if "{sample}" in path:
        names: Sequence[str] = [row["sample_name"] for row in configured.samples]
        return [{"sample": name} for name in names if name not in config["leave_out"]]
    if "{contrast}" in path:
        return [{"contrast": f"{first}_vs_{second}"} for first, second in config["contrasts"]]
    return [{}]


def _plain_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


def _indexes(path: Path) -> list[Path]:
    """The indexes beside a file, under either of the names that they may have."""
    named = [path.with_name(f"{path.name}{ending}") for ending in INDEXES]
    return [each for each in [*named, path.with_suffix(".bai")] if each.is_file()]
