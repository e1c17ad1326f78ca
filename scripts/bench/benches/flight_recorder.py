"""What a recording of Java's Flight Recorder says of a thread: which part of its samples is in which methods."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

EVENTS = "jdk.ExecutionSample,jdk.NativeMethodSample"  # in Java code, in native code
FRAME = re.compile(r"\s+(?:\w+\.)*([\w$]+\.[\w$]+)\(")
DEPTH = 64  # the recorder's own


def option(recording: str) -> str:
    """The JVM's option that samples its threads every 10 ms into a file."""
    return f"-XX:StartFlightRecording=filename={recording},settings=profile"


def shares(recording: Path, thread: str, parts: Mapping[str, str]) -> dict[str, float]:
    """The share of a thread's samples that are in each part: in its method, `Class.method`, or one that it calls.

    A sample counts for the first of the parts that it is in. None without samples.
    """
    command = ["jfr", "print", "--events", EVENTS, "--stack-depth", str(DEPTH), str(recording)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as printing:
        found = counts(printing.stdout, thread, parts)
    if printing.returncode:
        raise subprocess.CalledProcessError(printing.returncode, command)
    total = found.total()
    return {part: found[part] / total for part in parts} if total else {}


def counts(lines: Iterable[str], thread: str, parts: Mapping[str, str]) -> Counter[str]:
    """Samples of a thread in each part, those in none under an empty name."""
    found: Counter[str] = Counter()
    for event in events(lines):
        if any(f'sampledThread = "{thread}"' in line for line in event):
            methods = {match[1] for line in event if (match := FRAME.match(line))}
            found[next((part for part, method in parts.items() if method in methods), "")] += 1
    return found


def events(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each event: it ends with a brace in the first column."""
    event: list[str] = []
    for line in lines:
        event.append(line)
        if line.startswith("}"):
            yield event
            event = []
