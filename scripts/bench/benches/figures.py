"""How benches say what they measured: on which machine, the median of a figure over pairs, and its bound.

With `--json FILE` all of it goes to a file, too, of which `make docs` makes a page of evidence.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpd.lab import provenance
from gpd.machines import host
from gpd.paths import ROOT
from gpd.text.formats import listed


@dataclass(frozen=True)
class Figure:
    """A figure, a value a pair; `least` and `most` are what the goal allows for its median.

    `of_results`: it is about results, not about speed, so that it has to hold in the smallest size, too.
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
        bounds = ((">=", self.least), ("<=", self.most))
        goal = "".join(f" ({sign} {bound:g})" for sign, bound in bounds if bound is not None)
        return f"{self.what}{goal}: {spread(self.values, self.decimals)}{'' if self.holds else '  OUT OF BOUNDS'}"


def spread(values: Iterable[float], decimals: int = 3) -> str:
    """Median, number, least and most."""
    values = sorted(values)
    least, middle, most = (f"{value:,.{decimals}f}" for value in (values[0], statistics.median(values), values[-1]))
    return f"{middle} (n = {len(values)}, {least} to {most})"


SHOWN: list[Figure] = []  # by this process


def show(found: Iterable[Figure], smallest: bool = False) -> bool:
    """Print figures as they come; whether all hold that have to."""
    holds = []
    for figure in found:
        SHOWN.append(figure)
        print(figure, flush=True)
        holds.append(figure.holds or (smallest and not figure.of_results))
    return all(holds)


def show_machine(smallest: bool) -> None:
    """Print what figures depend on: the machine, how busy it is just now, and, unless time is short, the tools."""
    here = host.look({})
    memory = f"{(here.memory_mib or 0) / 1024:.1f} GiB"
    print(f"machine: {here.cpu_model}, {here.usable_threads} usable threads, {memory}, Linux {here.kernel}, {here.os}")
    if here.load and here.load.busy_cpus is not None:
        print(f"others kept {here.load.busy_cpus:.2f} CPUs busy before the start")
    if not smallest:
        versions = provenance.tool_versions("germline").items()
        print(f"tools: {listed(f'{tool} {version}' for tool, version in versions if version)}", flush=True)


def parser(description: str) -> argparse.ArgumentParser:
    """The options that all of these benches have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--seed", type=int, default=1, help="of the simulated cohorts (%(default)s)")
    made.add_argument("--smallest", action="store_true", help="whether it works, not what it measures")
    made.add_argument("--json", type=Path, help="write the figures to this file, too: docs/evidence/data/BENCH.json")
    return made


def finish(arguments: argparse.Namespace, holds: bool) -> int:
    """Write what was shown where --json asks for it; the bench's exit code."""
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


def record() -> dict[str, object]:
    """All figures shown, and what they depend on; the host's name is nobody's business."""
    here = host.look({})
    script = Path(sys.argv[0]).resolve()
    return {
        "bench": script.stem,
        "about": (sys.modules["__main__"].__doc__ or "").partition("\n")[0],
        "command": shlex.join(["python", f"scripts/bench/{script.name}", *_options(sys.argv[1:])]),
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": {
            "cpu": here.cpu_model,
            "threads": here.usable_threads,
            "memory_gib": round((here.memory_mib or 0) / 1024, 1),
            "os": here.os,
            "kernel": here.kernel,
        },
        "tools": {tool: version for tool, version in provenance.tool_versions("germline").items() if version},
        "figures": [asdict(figure) for figure in SHOWN],
    }


def _options(words: list[str]) -> list[str]:
    """The command's options, but for where its record goes."""
    if "--json" in words:
        at = words.index("--json")
        return words[:at] + words[at + 2 :]
    return [word for word in words if not word.startswith("--json=")]


def _git(*words: str) -> str:
    """What git says of this tree; empty where it is none of git's."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()
