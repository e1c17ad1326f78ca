"""Run one job's command, given on stdin, and leave a record of the attempt.

Output goes to the rule's log. A line of JSON is appended to the ledger for every attempt, failed ones too, and a
failure is named on stderr in one line. Standard library only.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

SCHEMA_VERSION = 1
# What the tools of the pipelines print where they fail, the most telling first; our own scripts say "error: ".
ERROR_LINES = (
    re.compile(r"^error: (?P<message>.+)"),
    re.compile(r"^(?P<message>A USER ERROR has occurred: .+)"),
    re.compile(r"^(?P<message>\[E::.+)"),
    re.compile(r"^(?P<message>Exception in thread .+|java\.\S*(Exception|Error)\b.*)"),
    re.compile(r"(?P<message>.*\b[Ee](rror|RROR)\b.*)"),
)
LOG_TAIL_BYTES = 1 << 20


def utc(ns: int) -> str:
    """An instant in nanoseconds since 1970 as ISO 8601 in UTC."""
    seconds, rest = divmod(ns, 10**9)
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def message(log: Path) -> str | None:
    """The line of the log that says best why its job failed, or its last line; None where it is empty."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    for pattern in ERROR_LINES:
        for line in lines:
            if found := pattern.match(line):
                return found["message"]
    return lines[-1] if lines else None


def run(command: str, log: Path) -> int:
    """Run the command as Snakemake would, output to the log; its exit code, negative for a signal."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        shell = ["bash", "-euo", "pipefail", "-c", command]
        return subprocess.run(shell, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode


def append(ledger: Path, record: dict) -> None:
    """One write to a file opened for appending: lines of concurrent jobs do not mix."""
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, (json.dumps(record) + "\n").encode())
    finally:
        os.close(descriptor)


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    job = parser.add_subparsers(dest="verb", required=True).add_parser("run", help="run the command on stdin")
    job.add_argument("--step", required=True)
    job.add_argument("--rule", required=True)
    job.add_argument("--wildcards", default="", help="name=value,name=value")
    job.add_argument("--threads", type=int, required=True)
    job.add_argument("--mem-mb", type=int, required=True)
    job.add_argument("--log", type=Path, required=True)
    job.add_argument("--ledger", type=Path, default=Path("ledger.jsonl"))
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    job = parse(argv)
    start = time.time_ns()
    code = run(sys.stdin.read(), job.log)
    end = time.time_ns()
    cause = message(job.log) if code else None
    wildcards = dict(pair.split("=", 1) for pair in job.wildcards.split(",") if pair)
    record = {
        "schema": SCHEMA_VERSION,
        "rule": job.rule,
        "step": job.step,
        "wildcards": wildcards,
        "threads": job.threads,
        "start": utc(start),
        "end": utc(end),
        "wall_s": round((end - start) / 1e9, 6),
        "exit_code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "message": cause,
        "log": str(job.log),
    }
    append(job.ledger, record)
    if code:
        print(
            f"{job.rule} {' '.join(wildcards.values())}: {cause or 'no output'} (log: {job.log})",
            file=sys.stderr,
        )
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
