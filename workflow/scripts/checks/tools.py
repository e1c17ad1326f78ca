"""The tools that jobs call: whether they are on the PATH, run, and are new enough (workflow/tools.tsv).

A tool without a least version is looked for alone, for its start may take seconds. One that was found well is not
started again while it is the same file, on the same host, with the same Java and jars: GATK takes a second to say its
version. The workflow loads this file by its path, so it imports no sibling.
"""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from packaging.version import Version

TIMEOUT_S = 60
VERSION = re.compile(r"(?<![\w.])[vV]?(\d+(?:\.\d+)+)")
BEFORE = r"(?:^|[|&;({!]|\b(?:do|then|else|if|while))\s*"  # what stands before a command in a shell's text

Row = dict[str, str]


def read_table(path: str | Path) -> list[Row]:
    with Path(path).open(encoding="utf-8") as lines:
        return [*csv.DictReader((line for line in lines if line[0] != "#"), delimiter="\t", quoting=csv.QUOTE_NONE)]


def called(rows: Iterable[Row], texts: Iterable[str]) -> list[Row]:
    """The tools that the texts of shell commands call."""
    text = "\n".join(texts)
    return [row for row in rows if re.search(rf"{BEFORE}{re.escape(row['command'])}\s", text, re.MULTILINE)]


def errors(rows: Iterable[Row], notes: Path) -> list[str]:
    """A line for each tool that is missing, broken or too old; `notes` is the file of those that were found well."""
    found = {row["command"]: (row, shutil.which(row["command"])) for row in rows}
    states = {path: state(path, row) for row, path in found.values() if path and row["minimum"] != "-"}
    well = read_notes(notes)
    started = {path for path in states if well.get(path) != states[path]}
    with ThreadPoolExecutor() as pool:
        faults = [*pool.map(lambda each: fault(*each, each[1] in started), found.values())]
    good = {path for (_, path), line in zip(found.values(), faults, strict=True) if not line}
    if new := {path: states[path] for path in started & good}:
        write_notes(notes, {path: seen for path, seen in well.items() if Path(path).exists()} | new)
    return [line for line in faults if line]


def state(path: str, row: Row) -> str:
    """A digest of what a tool's answer depends on: host, the table's row, its file, Java, and the jars beside it."""
    real = Path(path).resolve()
    java = [Path(there).resolve() for there in [shutil.which("java")] if there]
    files = [real, *java, *sorted([*real.parent.glob("*.jar"), *real.parent.glob("lib/*.jar")])]
    stats = [(str(file), file.stat()) for file in files if file.is_file()]
    seen = [os.uname().nodename, row, *((name, found.st_size, found.st_mtime_ns) for name, found in stats)]
    return hashlib.blake2b(repr(seen).encode(), digest_size=16).hexdigest()


def read_notes(notes: Path) -> dict[str, str]:
    """The states of tools when they were found well, by their paths; none where the file is missing or damaged."""
    with suppress(OSError, ValueError):
        found = json.loads(notes.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def write_notes(notes: Path, states: dict[str, str]) -> None:
    """Write the states at once; where that is not possible, tools are started again by the next run."""
    unfinished = notes.with_name(f"{notes.name}.{os.getpid()}")
    with suppress(OSError):
        unfinished.write_text(json.dumps(states), encoding="utf-8")
        unfinished.replace(notes)


def fault(row: Row, path: str | None, is_started: bool) -> str:
    """What is wrong with a tool, "" where nothing is; one that is not to be started is known to be well."""
    if not path:
        return f"{row['command']} is not on the PATH: {remedy(row)}"
    if not is_started:
        return ""
    arguments = [] if row["arguments"] == "-" else row["arguments"].split()
    try:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run([path, *arguments], **pipes, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} does not run ({error}): {remedy(row)}"
    found = VERSION.search(done.stdout)
    if done.returncode != int(row["status"]) or not found:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1].strip()
        return f"{path} does not run (exit status {done.returncode}: {last}): {remedy(row)}"
    if Version(found[1]) < Version(row["minimum"]):
        return f"{path} is version {found[1]}, and {row['minimum']} or newer is needed: {remedy(row)}"
    return ""


def remedy(row: Row) -> str:
    """How to get the tool: in the table, .NAME is make setup-NAME, and - nothing."""
    package = row["apt"].split("|")[0]
    ways = [f"make setup-{package[1:]}".rstrip("-") if package[0] == "." else f"apt-get install {package}"]
    ways = ways * (package != "-") + [f"snakemake --sdm conda (envs/{row['conda']})"] * (row["conda"] != "-")
    return ", or ".join(ways) or "it is yours to bring"
