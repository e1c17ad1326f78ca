"""Stands in for conda: an environment's PATH holds what its packages bring, and nothing else that is installed.

make() leaves a folder with a command `conda`, which makes such environments of the commands found on the present PATH,
and with links to what every system has. Snakemake runs with that folder as its whole PATH.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import yaml

COMMANDS = Path(__file__).with_name("data") / "conda_commands.tsv"
# POSIX's utilities and GNU's coreutils as far as rules or tools call them, gzip, and the shells
BASICS = (
    *(
        "awk",
        "basename",
        "bash",
        "cat",
        "chmod",
        "cp",
        "cut",
        "date",
        "dirname",
        "echo",
        "env",
        "expr",
        "find",
        "getconf",
    ),
    *("grep", "gzip", "head", "hostname", "id", "ln", "ls", "mkdir", "mkfifo", "mktemp", "mv", "nproc", "od", "printf"),
    *("ps", "pwd", "readlink", "realpath", "rm", "rmdir", "sed", "seq", "sh", "sleep", "sort", "split", "stat", "tail"),
    *("paste", "tee", "test", "touch", "tr", "uname", "uniq", "wc", "which", "xargs"),
)
INFO = {"platform": "linux-64", "conda_version": "25.1.0"}


def packages() -> dict[str, tuple[set[str], set[str]]]:
    """Each package's commands, and the packages that come with it."""
    _, *rows = (line for line in COMMANDS.read_text().splitlines() if not line.startswith("#"))
    fields = (row.split("\t") for row in rows)
    return {name: tuple({*part.split()} - {"-"} for part in parts) for name, *parts in fields}


def commands(environment: Path) -> set[str]:
    """What an environment puts on PATH."""
    table = packages()
    names = [pin.partition("=")[0] for pin in yaml.safe_load(environment.read_text())["dependencies"]]
    for name in names:  # grows as it goes
        names += table[name][1] - set(names)
    return set().union(*(table[name][0] for name in names))


def make(folder: Path) -> Path:
    """A folder that is a whole PATH, with conda; its commands come from the PATH of this process."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    link(BASICS, binaries, os.environ["PATH"])
    words = [sys.executable, str(Path(__file__).resolve()), str(folder), os.environ["PATH"]]
    (binaries / "conda").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    (binaries / "conda").chmod(0o755)
    (binaries / "activate").write_text('export PATH="$1/bin:$1/wrapped:$PATH"\n')
    return binaries


def link(names: Iterable[str], folder: Path, path: str) -> None:
    """Links to commands; where one on PATH wraps another of its name, the last goes to the folder `wrapped`."""
    for name in names:
        found = [*filter(None, (shutil.which(name, path=place) for place in path.split(os.pathsep)))]
        ends = dict.fromkeys(found[:1] + found[-1:])  # between them may be the wrapper of another clone
        for place, target in zip((folder, folder.parent / "wrapped"), ends, strict=False):
            place.mkdir(parents=True, exist_ok=True)
            if not (place / name).exists():
                (place / name).symlink_to(target)


def conda(folder: Path, path: str, arguments: list[str]) -> None:
    """What Snakemake asks of conda."""
    if arguments == ["--version"]:
        print(f"conda {INFO['conda_version']}")
    elif arguments[:1] == ["info"]:
        print(json.dumps(INFO | {"conda_prefix": str(folder)}))
    elif arguments[:1] == ["config"]:
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif "create" in arguments:
        given = {name: Path(arguments[arguments.index(name) + 1]) for name in ("--file", "--prefix")}
        (given["--prefix"] / "bin").mkdir(parents=True)
        (given["--prefix"] / "conda-meta").mkdir()
        link(commands(given["--file"]), given["--prefix"] / "bin", path)


if __name__ == "__main__":
    conda(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
