"""Files of reads below a folder, whatever lies there."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gpd.cohort import file_names
from gpd.cohort.notes import Notes

# in a path, what neither a sheet nor Snakemake can hold: control characters, braces, bytes that are no UTF-8
UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f{}\ud800-\udfff]")


def find(folder: Path, notes: Notes) -> dict[str, list[Path]]:
    """The files below a folder that can be used, sorted: those of `reads`, and those of kind `alignment`."""
    found: dict[str, list[Path]] = {"reads": [], "alignment": []}
    first: dict[str, Path] = {}
    for path in _files(folder, notes):
        kind = file_names.kind(path.name)
        if not kind:
            continue
        if fault := _fault(path, kind):
            notes.leave_out(fault, [path])
            continue
        earlier = first.setdefault(os.path.realpath(path), path)
        if earlier is path:
            found[kind].append(path)
        else:
            notes.leave_out("the same file as another, under a second name", [path])
    return found


def _fault(path: Path, kind: str) -> str:
    """Why a file of reads cannot be used; "" where nothing is known against it."""
    if kind in file_names.UNREADABLE:
        return f"compressed by {file_names.UNREADABLE[kind]}: gzip, or no compression, can be read"
    if UNUSABLE.search(str(path.absolute())):
        return "a path with braces, control characters or bytes that are no UTF-8 names no input: rename it"
    if path.is_symlink() and not path.exists():
        return "a link to a file that does not exist"
    if not path.is_file():
        return "no plain file"
    if not os.access(path, os.R_OK):
        return "permission denied"
    return "" if path.stat().st_size else "empty (0 bytes)"


def _files(folder: Path, notes: Notes) -> Iterator[Path]:
    """All files below, each folder once: links may lead in a circle. Neither hidden folders, nor results of runs."""
    seen = set()

    def failed(error: OSError) -> None:
        notes.leave_out(f"a folder that cannot be read: {error.strerror}", [error.filename])

    for place, folders, names in os.walk(folder, onerror=failed, followlinks=True):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        if ".snakemake" in folders and "results" in folders:
            folders.remove("results")
            notes.leave_out("results of a run of Snakemake", [Path(place, "results")])
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def as_written(path: Path, directory: Path) -> str:
    """A path as a sheet of a run in `directory` has it: relative below it, else absolute. No link is followed."""
    absolute, here = (Path(os.path.normpath(place.absolute())) for place in (path, directory))
    text = str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)
    return text if re.match(r"[/\w]", text) else f"./{text}"
