"""Compile the job launcher, which saves each job a third of its cost, and the library that notices failed writes.

The folder lies below the run's, so that jobs on other hosts find it, and jobs that outlive Snakemake. Its name is a
digest of the sources: another version gets a folder of its own, and jobs of the one before keep theirs.
"""

import hashlib
import importlib.util
import os
import py_compile
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

# by name, for of a workflow on another server nobody can list a folder
MODULES = (
    *("__init__", "__main__", "attempt", "command", "cpu_allocation", "cpu_choice", "diagnose"),
    *("failed_writes", "files", "free_cpus", "journal", "ledger", "limits", "measure", "node", "options"),
    *("output_lock", "processes", "requester", "retry", "runtime", "scatter", "shards", "show"),
    *("supervisor", "system", "topology", "wrapper"),
)
FILES = (*(f"launcher/{name}.py" for name in MODULES), "checks/outputs.py")
LIBRARY = "launcher/failed_writes.c"
LIBRARY_NAME = Path(LIBRARY).name
COMPILERS = ("cc", "gcc", "clang")


def launcher(source: Callable[[str], Path], place: Path) -> Path:
    """Return the file that starts the launcher, in a folder of `place`; `source` gives the file of a name."""
    sources = {name: source(name) for name in FILES}
    folder = place / digest(sources | {LIBRARY: source(LIBRARY)})
    if not folder.is_dir():
        compile_all(sources, folder)
    return folder / "launcher" / "__main__.pyc"


def build_library(source: Callable[[str], Path], launcher: Path) -> str:
    """Build the library that notices failed writes, beside the launcher; return why there is none, "" where it is."""
    made = launcher.parents[1] / Path(LIBRARY_NAME).with_suffix(".so")
    if made.exists():
        return ""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    try:
        why = (
            compile_library(compiler, source(LIBRARY), made) if compiler else "there is no C compiler here: install gcc"
        )
    except (OSError, AttributeError) as error:  # a Python that was built for an older libc has no files in memory
        why = str(error)
    return why and f"failed writes: a tool that passes over a full disk and ends well goes unnoticed, for {why}"


def compile_library(compiler: str, source: Path, made: Path) -> str:
    """Compile the library and try it; return what is wrong, "" where it was put in its place."""
    with tempfile.TemporaryDirectory(dir=made.parent, prefix="build.") as folder:
        part = Path(folder) / made.name
        words = [compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", part, source]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{compiler} cannot compile {LIBRARY_NAME}: {' '.join(done.stderr.split())[:200]}"
        if not works(part):
            return f"{LIBRARY_NAME} does not work on this system"
        sync(part)
        part.rename(made)
    return ""


def works(library: Path) -> bool:
    """Tell whether a program is ended where it cannot write; it is loaded as in jobs (launcher/failed_writes.py)."""
    loaded = os.memfd_create(LIBRARY_NAME)
    try:
        os.write(loaded, library.read_bytes())
        named = {"LD_PRELOAD": f"/proc/{os.getpid()}/fd/{loaded}", "LD_BIND_NOW": "1", "LC_ALL": "C"}
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(["date"], stdout=full, stderr=subprocess.PIPE, env=os.environ | named, check=False)
    finally:
        os.close(loaded)
    return done.stderr.startswith(b"error: cannot write /dev/full: No space left on device")


def sync(path: Path) -> None:
    """Have a file on the disk: a power cut must not leave it there and empty."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def digest(sources: dict[str, Path]) -> str:
    """A name for what the sources are compiled to by this Python, on this kind of machine."""
    found = hashlib.sha256(importlib.util.MAGIC_NUMBER + os.uname().machine.encode())
    for name, path in sources.items():
        found.update(f"{name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def compile_all(sources: dict[str, Path], folder: Path) -> None:
    """Compile sources into a folder, which appears whole or not at all: other runs may make it at the same time."""
    partial = folder.with_name(f"{folder.name}.{os.uname().nodename}.{os.getpid()}")
    try:
        for name, path in sources.items():
            sync(Path(py_compile.compile(str(path), cfile=str(partial / f"{name}c"), dfile=name, doraise=True)))
        partial.rename(folder)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        if not folder.is_dir():  # else another run was first
            raise
