"""The tools that jobs call: whether they are on the PATH, run, and are new enough (workflow/tools.tsv).

A tool without a least version is looked for alone, for its start may take seconds. The workflow loads this file by its
path, so it imports no sibling.
"""

import csv
import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
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


def errors(rows: Iterable[Row]) -> list[str]:
    """A line for each tool that is missing, broken or too old."""
    with ThreadPoolExecutor() as pool:
        return [line for line in pool.map(fault, rows) if line]


def fault(row: Row) -> str:
    path = shutil.which(row["command"])
    if not path:
        return f"{row['command']} is not on the PATH: {remedy(row)}"
    if row["minimum"] == "-":
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
