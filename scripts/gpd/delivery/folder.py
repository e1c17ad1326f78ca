"""The folder that is handed on: written beside its place, and put there whole."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpd.errors import GpdError

CHECKSUMS = "SHA256SUMS"


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A folder to write to, which becomes `folder` at the end; where that fails nothing is left.

    Raises GpdError where `folder` is there already.
    """
    if os.path.lexists(folder):
        raise GpdError(f"{folder}: is there already, and nothing is overwritten: name another, or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".unfinished", dir=folder.parent))
    try:
        yield unfinished
        umask = os.umask(0)
        os.umask(umask)
        unfinished.chmod((stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO) & ~umask)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished)
        raise


def put(source: Path, target: Path, link: bool) -> None:
    """Copy a file, or link to its bytes where `link` and the file system allow it: they then lie on the disk once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        try:
            os.link(source.resolve(), target)
            return
        except OSError:  # another file system, one without links, or a file of another user
            target.unlink(missing_ok=True)
    shutil.copy2(source, target)
    with target.open("rb") as copy:
        os.fsync(copy.fileno())


def checksums(folder: Path) -> Iterator[str]:
    """A line for each file, as `sha256sum -c` reads them."""
    for path in _files(folder):
        with path.open("rb") as file:
            yield f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder)}\n"


def size(folder: Path) -> tuple[int, int]:
    """Files in a folder, and their bytes."""
    files = list(_files(folder))
    return len(files), sum(path.stat().st_size for path in files)


def _files(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
