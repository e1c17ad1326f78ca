"""Results of earlier runs that a power cut or a full disk has cut off since: Snakemake takes what is there for whole.

Snakemake notes in .snakemake/metadata which files its jobs made, and in .snakemake/incomplete which ones a killed run
had begun: those it makes again itself. A file that is no longer whole is renamed, so that it is made again where it is
needed.
"""

import base64
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from gpd.errors import GpdError
from gpd.paths import PINNED
from gpd.processes import run_script

CHECK = PINNED / "launcher" / "outputs.py"
RESULTS = "results"
ASIDE = ".broken"
KEPT = ".kept"
LOOKED = "gpd.looked"  # touched when all was checked
SETTLED_S = 3600.0  # kernels write what is new to the disk within minutes
AT_ONCE = 1000  # names on a command line


def set_aside(directory: Path) -> list[str]:
    """Rename what is not whole of all that earlier runs made in a folder; a line for each. Raises GpdError."""
    notes = directory / ".snakemake"
    begun, settled = set(_noted(notes / "incomplete")), _settled(notes / LOOKED)
    made = [
        str(path)
        for name in _noted(notes / "metadata")
        if name not in begun and (path := directory / name).exists() and path.stat().st_ctime > settled
    ]
    lines = []
    for start in range(0, len(made), AT_ONCE):
        done = run_script(CHECK, *made[start : start + AT_ONCE], python=("-S", "-E"))
        if done.returncode not in (0, 1) or done.stderr:
            raise GpdError(f"{directory / RESULTS}: cannot be checked: {done.stderr.strip()}")
        lines += [_rename(directory, Path(path), fault) for path, fault in json.loads(done.stdout).items()]
    if notes.is_dir():
        (notes / LOOKED).touch()
    return lines


def _settled(looked: Path) -> float:
    """Up to when files were on the disk for good when they were checked last: those are not checked again."""
    last = looked.stat().st_mtime if looked.exists() else 0.0
    return last - SETTLED_S if last <= time.time() else 0.0


def _noted(folder: Path) -> Iterator[str]:
    """The results that Snakemake notes, in files of their names in base64; long names are split into folders."""
    for path in sorted(folder.rglob("*")):
        parts = [part.removeprefix("@") for part in path.relative_to(folder).parts]
        try:
            name = base64.urlsafe_b64decode("".join(parts)).decode() if path.is_file() else ""
        except ValueError:
            continue
        if name.startswith(f"{RESULTS}/") and ".." not in Path(name).parts:
            yield name


def _rename(directory: Path, path: Path, fault: str) -> str:
    name = path.relative_to(directory)
    if path.is_symlink():
        path.unlink()
        path = path.with_name(f"{path.name}{KEPT}")
        if not path.exists():
            return f"{name} {fault}: it was a link to a file of yours, and is made again where it is needed"
        # to the database that is kept: others would be added to it
    aside = path.with_name(f"{path.name}{ASIDE}")
    if aside.is_dir():
        shutil.rmtree(aside)
    path.replace(aside)
    return f"{name} {fault}: renamed to {aside.name}, and made again where it is needed"
