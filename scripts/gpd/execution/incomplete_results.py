"""Results of earlier runs that a power cut or a full disk has cut off since: Snakemake takes what is there for whole.

Which files its jobs made, Snakemake notes by name in .snakemake/metadata. Those that a run at work had begun are noted
in .snakemake/incomplete besides, and are made again anyway. A file that is no longer whole is renamed, so that it is
made again where it is needed, and nothing is lost should somebody want it.
"""

import base64
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpd.asking import ask
from gpd.errors import GpdError
from gpd.paths import ROOT

OUTPUTS = ROOT / "workflow" / "scripts" / "checks" / "outputs.py"
RESULTS = "results"
ASIDE = ".broken"
KEPT = ".kept"
LOOKED = "gpd.looked"  # touched when it was looked
SETTLED_S = 3600.0  # kernels write what is new to the disk within minutes
AT_ONCE = 1000  # names on a command line


def set_aside(directory: Path) -> list[str]:
    """Rename what is not whole of all that earlier runs made in a folder; a line for each. Raises GpdError."""
    notes = directory / ".snakemake"
    begun, since = set(_noted(notes / "incomplete")), _settled(notes / LOOKED)
    made = [
        name
        for name in _noted(notes / "metadata")
        if name not in begun and (path := directory / name).exists() and path.stat().st_ctime > since
    ]
    groups = (made[start : start + AT_ONCE] for start in range(0, len(made), AT_ONCE))
    told = [_rename(directory, name, fault) for names in groups for name, fault in _faults(directory, names)]
    if notes.is_dir():
        (notes / LOOKED).touch()
    return told


def _settled(looked: Path) -> float:
    """Up to when files were on the disk for good when it was looked last: those are not looked at again."""
    try:
        last = looked.stat().st_mtime
    except FileNotFoundError:
        return 0.0
    return last - SETTLED_S if last <= time.time() else 0.0


def _noted(folder: Path) -> Iterator[str]:
    """The results of which Snakemake keeps notes, in files of their names in base64; long ones are cut into folders."""
    for path in sorted(folder.rglob("*")):
        words = [word.removeprefix("@") for word in path.relative_to(folder).parts]
        name = _decoded("".join(words)) if path.is_file() else ""
        if name.startswith(f"{RESULTS}/") and ".." not in Path(name).parts:
            yield name


def _decoded(text: str) -> str:
    """What base64 stands for, "" where it is none."""
    try:
        return base64.urlsafe_b64decode(text).decode()
    except ValueError:
        return ""


def _faults(directory: Path, names: Sequence[str]) -> list[tuple[str, str]]:
    """Each file that is not whole, with what is wrong with it; the workflow knows. Raises GpdError."""
    answer = ask(OUTPUTS, *(str(directory / name) for name in names), python=("-S", "-E"))
    if answer.status not in (0, 1) or answer.complaint:
        raise GpdError(f"{directory / RESULTS}: cannot be looked at: {answer.complaint}")
    found = json.loads(answer.output)
    return [(name, found[str(directory / name)]) for name in names if str(directory / name) in found]


def _rename(directory: Path, name: str, fault: str) -> str:
    path = directory / name
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
