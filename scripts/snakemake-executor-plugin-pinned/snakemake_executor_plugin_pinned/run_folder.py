"""The folder in which a run keeps the shells of its jobs; those of runs that were killed are removed by the next run.

A file system may be shared, and a process id says something in one namespace of one boot only: both stand in the
folder. What cannot be judged from here stays: it takes some kB, and the jobs of a run that is alive need it.
"""

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .launcher.processes import stat_fields
from .launcher.system import boot_id, read_text

NOTE = "run"  # the file that says whose the folder is
LONGEST_S = 15.0  # that a launcher takes to end a job and to record it, and somewhat more
LOOK_S = 0.05
START = 19  # of stat_fields(): when a process began, which tells it from a later one of the same id


def make(place: Path) -> Path:
    """Make the folder of this run, and remove those of runs that are dead."""
    place.mkdir(parents=True, exist_ok=True)
    remove_dead(place)
    folder = place / f"{os.getpid()}-{secrets.token_hex(4)}"
    folder.mkdir()
    (folder / NOTE).write_text(json.dumps(owner()))
    return folder


def wait_for_jobs(folder: Path) -> None:
    """Wait until no launcher of the run is at work: one whose parent was killed still ends its job and records it."""
    until = time.monotonic() + LONGEST_S
    for path in folder.glob("*/job"):
        while is_at_work(path) and time.monotonic() < until:
            time.sleep(LOOK_S)


def is_at_work(description: Path) -> bool:
    """Whether a launcher holds the description of its job (job.py); False where the file system has no locks."""
    with description.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def owner() -> dict[str, Any]:
    """This process, and where that says something."""
    return {"host": os.uname().nodename, "boot": boot_id(), "namespace": namespace(), **process(os.getpid())}


def process(pid: int) -> dict[str, Any]:
    """A process as no other of this boot is; without a start if no process has this id."""
    return {"pid": pid, "start": "".join(stat_fields(pid)[START : START + 1])}


def namespace() -> str:
    """The namespace of our process ids: a container has one of its own."""
    return str(Path("/proc/self/ns/pid").readlink())


def remove_dead(place: Path) -> None:
    """Remove the folders of runs of which no process is left."""
    dead = [folder for folder in place.iterdir() if (folder / NOTE).is_file() and is_over(folder)]
    in_use = lives_in() if dead else lambda folder: False
    for folder in dead:
        if not in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)  # another run may be at it, too


def is_over(folder: Path) -> bool:
    """Whether the Snakemake that made a folder is surely gone."""
    try:
        made_by, made = json.loads((folder / NOTE).read_text()), (folder / NOTE).stat()
        host, boot, spaces, pid = (made_by[name] for name in ("host", "boot", "namespace", "pid"))
    except (OSError, ValueError, TypeError, KeyError):
        return False  # just being made, or cut short
    if made.st_uid != os.geteuid() or not boot or spaces != namespace():
        return False
    if boot == boot_id():
        return bool(process(pid) != {"pid": pid, "start": made_by.get("start")})
    return bool(host == os.uname().nodename and made.st_mtime < booted_s())  # hosts may be namesakes


def booted_s() -> float:
    """When this host was booted, Unix time."""
    lines = dict(line.partition(" ")[::2] for line in read_text("/proc/stat").splitlines())
    return float(lines.get("btime", 0))


def lives_in() -> Callable[[Path], bool]:
    """Look at all processes here; return what tells whether a job of a folder's run is among them.

    The launcher has its job's folder on its command line, and whatever the job starts has it in its environment.
    """
    processes = list(Path("/proc").glob("[0-9]*"))
    texts = [read_text(process / what) for process in processes for what in ("cmdline", "environ")]
    return lambda folder: any(f"/{folder.name}/" in text for text in texts)
