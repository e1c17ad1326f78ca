"""Compile the job launcher, which saves each job a third of its cost, and a library for the programs of jobs.

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
from typing import IO

# by name, for folders of a workflow on another server cannot be listed
MODULES = (
    *("__init__", "__main__", "attempt", "command", "cpu_allocation", "cpu_choice", "diagnose"),
    *("failed_writes", "files", "free_cpus", "gang", "job", "journal", "kept_stderr", "ledger", "limits", "measure"),
    *("node", "options", "output_lock", "outputs", "own_parts", "parts", "processes", "requester", "retry", "runtime"),
    *("show", "supervisor", "system", "topology", "wrapper"),
)
FILES = tuple(f"launcher/{name}.py" for name in MODULES)
LIBRARY = "launcher/failed_writes.c"
WITHOUT = "failed writes: a tool that passes over a full disk and ends well goes unnoticed"
COMPILERS = ("cc", "gcc", "clang")


def launcher(source: Callable[[str], Path], place: Path) -> Path:
    """Return the file that starts the launcher, in a folder of `place`; `source` gives the file of a name."""
    sources = {name: source(name) for name in FILES}
    folder = place / digest(sources | {LIBRARY: source(LIBRARY)})
    if not folder.is_dir():
        compile_all(sources, folder)
    return folder / "launcher" / "__main__.pyc"


def library(launcher: Path) -> Path:
    """Where the library lies, or would: beside the launcher."""
    return launcher.parents[1] / "failed_writes.so"


def build(source: Path, made: Path) -> str:
    """Build the library of failed writes; return what is amiss for want of it, "" where it is there."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    try:
        why = build_library(compiler, source, made)
    except (OSError, AttributeError) as error:  # a Python that was built for an older libc has no files in memory
        why = str(error)
    return why and f"{WITHOUT}, for {why}"


def build_library(compiler: str | None, source: Path, made: Path) -> str:
    """Compile a library and try it; return what is wrong, "" where it is in its place."""
    if made.exists():
        return ""
    if not compiler:
        return "there is no C compiler here: install gcc"
    with tempfile.TemporaryDirectory(dir=made.parent, prefix="build.") as folder:
        part = Path(folder) / made.name
        words = [compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", part, source]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{compiler} cannot compile {source.name}: {' '.join(done.stderr.split())[:200]}"
        if not ends_failed_writes(part):
            return f"{source.name} does not work on this system"
        sync(part)
        part.rename(made)
    return ""


def ends_failed_writes(library: Path) -> bool:
    """Tell whether a program is ended where it cannot write."""
    with Path("/dev/full").open("wb") as full:
        done = run_loaded(library, full)
    return done.stderr.startswith(b"error: cannot write /dev/full: No space left on device")


def run_loaded(library: Path, output: IO[bytes] | int) -> subprocess.CompletedProcess[bytes]:
    """Run a program that writes to `output`, loaded with a library as in jobs (launcher/failed_writes.py)."""
    loaded = os.memfd_create(library.name)
    try:
        os.write(loaded, library.read_bytes())
        named = {"LD_PRELOAD": f"/proc/{os.getpid()}/fd/{loaded}", "LD_BIND_NOW": "1", "LC_ALL": "C"}
        return subprocess.run(["date"], stdout=output, stderr=subprocess.PIPE, env=os.environ | named, check=False)
    finally:
        os.close(loaded)


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
