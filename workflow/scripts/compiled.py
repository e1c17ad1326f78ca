"""Lay out the job launcher, compiled, where every job of a run finds it.

Jobs start it from a folder of files without sources: that saves each of them a third of the launcher's cost. The folder
lies below the run's, so that jobs on other hosts find it, and jobs that outlive Snakemake, whose cache of sources goes
with it. It bears a digest of what it was made of. Another version gets a folder of its own, and jobs of the one before
keep theirs.
"""

import hashlib
import importlib.util
import os
import py_compile
import shutil
from collections.abc import Callable
from pathlib import Path

# by name, for of a workflow on another server nobody can list a folder
MODULES = (
    *("__init__", "__main__", "allocate", "attempt", "cgroup", "command", "diagnose", "files", "job", "journal"),
    *("keeper", "lease", "ledger", "limits", "measure", "node", "options", "owner", "pieces", "processes"),
    *("requester", "retry", "runtime", "scatter", "scratch", "shared", "show", "slurm", "spare", "supervise"),
    *("system", "topology", "waiting"),
)
FILES = (*(f"launcher/{name}.py" for name in MODULES), "outputs.py")


def launcher(source: Callable[[str], Path], place: Path) -> Path:
    """Return the file that starts the launcher, in a folder of `place`; `source` gives the file of a name."""
    sources = {name: source(name) for name in FILES}
    folder = place / digest(sources)
    if not folder.is_dir():
        compile_all(sources, folder)
    return folder / "launcher" / "__main__.pyc"


def digest(sources: dict[str, Path]) -> str:
    """A name for what the sources are compiled to by this Python."""
    found = hashlib.sha256(importlib.util.MAGIC_NUMBER)
    for name, path in sources.items():
        found.update(f"{name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def compile_all(sources: dict[str, Path], folder: Path) -> None:
    """Compile sources into a folder, which appears whole or not at all: other runs may make it at the same time."""
    partial = folder.with_name(f"{folder.name}.{os.uname().nodename}.{os.getpid()}")
    try:
        for name, path in sources.items():
            made = py_compile.compile(str(path), cfile=str(partial / f"{name}c"), dfile=name, doraise=True)
            with Path(made).open("rb") as file:
                os.fsync(file.fileno())  # a power cut must not leave the folder there and its files empty
        partial.rename(folder)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        if not folder.is_dir():  # else another run was first
            raise
