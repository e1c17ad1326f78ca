"""The temporary folder that each Snakemake makes for itself, and cannot remove when it is killed: a later one does.

A file in the run's folder names it, locked for as long as its Snakemake lives. Whoever finds one that nobody holds
removes the folder, if it is empty, as it is where jobs share a file system: should others write there, no more can go.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import TextIO


def note(notes: Path, folder: Path) -> TextIO | None:
    """Note this Snakemake's folder, once those of killed ones are gone; the file must stay open. None: not noted."""
    try:
        notes.mkdir(parents=True, exist_ok=True)
        for path in notes.iterdir():
            with suppress(OSError):  # at work, or just removed by another
                remove(path)
        path = notes / os.urandom(8).hex()
        path.touch(0o600, exist_ok=False)  # whoever may read it could lock it before us
        file = path.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{folder}")
        file.flush()
    except OSError:  # a full disk, or one without locks: what may stay is an empty folder
        return None
    return file


def remove(path: Path) -> None:
    """Remove the folder that a note names, and the note. Raises OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.fstat(file.fileno()).st_uid == os.geteuid()  # else the folder is another user's choice
        if is_ours and (named := file.read()):  # else it is just being written
            path.unlink()
            Path(named).rmdir()
