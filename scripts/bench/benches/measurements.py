"""What benches print: the machine, each measurement's median and bound. `--json FILE` records it for `make docs`."""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpd.lab import provenance
from gpd.machines import this_host
from gpd.paths import ROOT


@dataclass(frozen=True)
class Measurement:
    """A value per repeat; `least` and `most` bound the median.

    `of_results`: it is about results, not speed, so the bound also holds with `--smallest`.
    """

    what: str
    values: tuple[float, ...]
    least: float | None = None
    most: float | None = None
    decimals: int = 3
    of_results: bool = False

    @property
    def holds(self) -> bool:
        median = statistics.median(self.values)
        return (self.least is None or median >= self.least) and (self.most is None or median <= self.most)

    def __str__(self) -> str:
        """Bounds, median, number of values, smallest and largest value."""
        bounds = ((">=", self.least), ("<=", self.most))
        goal = "".join(f" ({sign} {bound:g})" for sign, bound in bounds if bound is not None)
        numbers = (statistics.median(self.values), min(self.values), max(self.values))
        median, least, most = (f"{value:,.{self.decimals}f}" for value in numbers)
        spread = f"{median} (n = {len(self.values)}, {least} to {most})"
        return f"{self.what}{goal}: {spread}{'' if self.holds else '  OUT OF BOUNDS'}"


SHOWN: list[Measurement] = []  # by this process


def show(found: Iterable[Measurement], smallest: bool = False) -> bool:
    """Print measurements as they come; return whether all bounds that count hold."""
    holds = True
    for each in found:
        SHOWN.append(each)
        print(each, flush=True)
        holds &= each.holds or (smallest and not each.of_results)
    return holds


def show_machine() -> None:
    """Print the machine and its load."""
    print("machine:", ", ".join(f"{name} {value}" for name, value in machine().items()))
    load = this_host.look({}).load
    if load and load.busy_cpus is not None:
        print(f"other processes used {load.busy_cpus:.2f} CPUs before the start", flush=True)


def machine() -> dict[str, object]:
    """What a page says of the machine; its load is not waited for."""
    here = this_host.look({}, window_s=0)
    return {
        "cpu": here.cpu_model,
        "threads": here.usable_threads,
        "memory_gib": round((here.memory_mib or 0) / 1024, 1),
        "os": here.os,
        "kernel": here.kernel,
    }


def timed(
    command: Sequence[str | Path], text: str = "", log: Path | None = None, **settings: Any
) -> tuple[float, float, float]:
    """Run a command with a text on its stdin: wall seconds, CPU seconds, peak MiB. A failure ends the bench.

    What it prints goes to `log`, where that is given.
    """
    with log.open("w+b") if log else tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output, **settings)
        process.stdin.write(text.encode())
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s, process.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{shlex.join(map(str, command))} failed:\n{output.read().decode(errors='replace')}")
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def parser(description: str) -> argparse.ArgumentParser:
    """The options that all benches have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--seed", type=int, default=1, help="of the simulated cohorts (%(default)s)")
    made.add_argument("--smallest", action="store_true", help="whether it works, not what it measures")
    made.add_argument("--json", type=Path, help="write the figures to this file, too: docs/evidence/data/BENCH.json")
    return made


def finish(
    arguments: argparse.Namespace,
    holds: bool,
    pipeline: str = "germline",
    outputs: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Write the record where --json asks for it, with the versions of a pipeline's tools; return the exit code.

    `outputs` are lines that the bench printed, for its page.
    """
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        made = record(pipeline) | ({"outputs": outputs} if outputs else {})
        arguments.json.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


def record(pipeline: str = "germline") -> dict[str, object]:
    """All measurements, and what they depend on; no host name."""
    script = Path(sys.argv[0])
    versions = provenance.tool_versions(pipeline).items()
    paragraphs = [" ".join(each.split()) for each in (sys.modules["__main__"].__doc__ or "").split("\n\n")]
    return {
        "bench": script.stem,
        "about": paragraphs[0],
        "method": "".join(paragraphs[2:3]),  # after the command
        "command": shlex.join(["python", f"scripts/bench/{script.name}", *sys.argv[1:]]),
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "tools": {tool: version for tool, version in versions if version},
        "figures": [asdict(each) for each in SHOWN],
    }


def _git(*words: str) -> str:
    """git's output; empty outside of a repository."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()
