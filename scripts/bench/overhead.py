"""Measure what the lab costs and how right its figures are, on simulated genomes. Some 15 minutes on 2 cores.

    python scripts/bench/overhead.py [--samples 4] [--pairs 3] [--length 600000] [--seed 1] [--smallest]

Each pair runs the same samples three times: scheduled, by a plain script of the same commands under `xargs -P`, and
independently. Nothing is cut into pieces, for the script could not. Ratios are taken within a pair; the median over
pairs is held against its bound. Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, in
seconds: two samples of the Tuxedo pipeline, whose tools start faster, up to their quantities, and no bound but that all
samples come through alike. What scheduling gains, throughput.py measures.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from benches.figures import show_machine, spread
from benches.runs import set_up

from gpd.commands import demo
from gpd.comparison import agreement
from gpd.execution import workflow
from gpd.lab import cells, runner
from gpd.pipelines import PIPELINES
from gpd.records.cell import SCHEDULED, Cell
from gpd.tables import collect

COMMAND = re.compile(r"<<'END_OF_COMMAND'\n(.*?)\nEND_OF_COMMAND$", re.DOTALL | re.MULTILINE)
PIECE = re.compile(r" --piece (\S+) ")  # of a step that could run on pieces: the file that it writes as a whole
JOB = re.compile(r"^(?:local)?rule (\w+):\n(.*?)^Shell command: (.*?\nEND_OF_COMMAND)$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"^    output: (.+)$", re.MULTILINE)
OWNER = re.compile(r"^    wildcards: .*?\b(?:sample|callset)=([^,\n]+)", re.MULTILINE)
UNBOUNDED = ("outputs compared", "scheduled: ", "independent: ")  # what holds whatever the size
SCRATCH = re.compile(rf"\S*/{cells.SCRATCH_PREFIX}[a-z0-9_]{{8}}\b")
SMALLEST = {"pipeline": "tuxedo", "samples": 2, "pairs": 1}
TO_QUANTITIES = {"assembly": "reference_only", "stop_after": "quantify"}
IN_ONE_PIECE = {"scatter": "none"}
MOST_OVERHEAD, MOST_CPU_OFF, MOST_CLOCK_OFF = 1.03, 0.02, 0.01


@dataclass
class Script:
    """The plain script: for each sample its commands in the order in which the workflow ran them."""

    cell: Path
    commands: dict[str, list[str]] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)

    def read(self) -> "Script":
        log = (self.cell / workflow.LOG).read_text(encoding="utf-8")
        for _, head, command in JOB.findall(log):
            self.commands.setdefault(OWNER.search(head)[1], []).append(whole(command))
            self.folders |= {Path(path).parent for path in OUTPUT.search(head)[1].split(", ")}
        return self

    def run(self, folder: Path, at_once: int) -> float:
        """Run it in a folder of its own, as many samples at once as there are cores; wall seconds."""
        for path in self.folders:
            (folder / path).mkdir(parents=True, exist_ok=True)
        reference = Path("results") / "reference"
        (folder / reference).symlink_to((self.cell / reference).resolve())
        scratch = folder / "tmp"
        scratch.mkdir()
        for number, commands in enumerate(self.commands.values()):
            lines = ["set -euo pipefail", f"cd {shlex.quote(str(folder))}"]
            lines += [f"(\n{SCRATCH.sub(str(scratch), command)}\n)" for command in commands]
            (folder / f"{number}.sh").write_text("\n".join(lines) + "\n", encoding="utf-8")
        scripts = "\n".join(str(path) for path in sorted(folder.glob("*.sh")))
        environment = os.environ | {
            "GPD_PYTHON": sys.executable,
            "GPD_READS": str(workflow.ROOT / "workflow" / "scripts" / "reads.py"),
            "TMPDIR": str(scratch),
        }
        command = f"xargs -P {at_once} -I {{}} bash -c 'bash {{}} > {{}}.log 2>&1'"
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", command], input=scripts, text=True, env=environment, check=False)
        took = time.monotonic() - began
        if done.returncode:
            sys.exit("the plain script failed:\n" + "".join(path.read_text() for path in folder.glob("*.log")))
        return took


def whole(command: str) -> str:
    """What a job runs; of one that could run on pieces, what it runs where there are none."""
    text = COMMAND.search(command)[1]
    if not (piece := PIECE.search(command)):
        return text
    work, joining = text.split("\nGATHER\n")
    _, finish = joining.split("\nFINISH\n")
    return f"piece={piece[1]} regions=() number=1 contigs=yes GPD_THREADS=1\n{work}\n{finish}"


class OutsideClock(threading.Thread):
    """Sees from without when each job's processes come and go, by the mark in their environment."""

    INTERVAL_S = 0.2

    def __init__(self, pipeline: str) -> None:
        super().__init__(daemon=True)
        self.pipeline = pipeline
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(self.INTERVAL_S):
            now = time.monotonic()
            for path in Path("/proc").glob("[0-9]*/environ"):
                with suppress(OSError):  # it has ended, or is another user's
                    if job := path.read_bytes().partition(b"\0GPD_JOB=")[2].partition(b"\0")[0].decode():
                        self.first.setdefault(job, now)
                        self.last[job] = now

    def makespan_s(self, cell: Path) -> float:
        """From the first timed job to the last one's end; each is half an interval off from where it is seen."""
        lines = [line for path in cell.rglob("ledger.jsonl") for line in path.read_text().splitlines()]
        timed = {record["id"] for record in map(json.loads, lines) if record["step"] in PIPELINES[self.pipeline].steps}
        jobs = timed & set(self.first)
        return max(self.last[job] for job in jobs) - min(self.first[job] for job in jobs) + self.INTERVAL_S


def make_study(folder: Path, arguments: argparse.Namespace) -> runner.Plan:
    """Simulate the pool and lay out the study of both modes."""
    options, changed = {
        "germline": (
            ("--samples", str(arguments.samples), "--length", str(arguments.length)),
            demo.CALLING | IN_ONE_PIECE,
        ),
        "tuxedo": (("--replicates", str((arguments.samples + 1) // 2), "--genes", "40"), TO_QUANTITIES),
    }[arguments.pipeline]
    demo.simulate(demo.DEMOS[arguments.pipeline].simulator, folder / "pool", arguments.seed, *options)
    config = yaml.safe_load((folder / "pool" / "config.yaml").read_text()) | changed
    (folder / "pool" / "config.yaml").write_text(yaml.safe_dump(config))
    settings = {
        "directory": str(folder),
        "pipelines": {arguments.pipeline: {"directory": str(folder / "pool"), "config": "config.yaml"}},
        "concurrent_samples": [arguments.samples],
        "modes": ["scheduled", "independent"],
        "repeats": arguments.pairs,
        "warm_up": 0,
        "seed": arguments.seed,
        "keep_results": True,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    return runner.make_plan(folder / "throughput.yaml")


def measure(folder: Path, arguments: argparse.Namespace) -> tuple[collect.Tables, dict[int, float], dict[str, float]]:
    """Run the study, and after each scheduled cell the plain script.

    Returns the tables, the script's wall seconds by repeat, and each cell's makespan by an outside clock.
    """
    plan = make_study(folder, arguments)
    script_s: dict[int, float] = {}
    outside_s: dict[str, float] = {}
    clock = OutsideClock(arguments.pipeline)

    def end(cell: Cell) -> None:
        print(f"{cell.cell} has ended", file=sys.stderr)
        place = plan.study.folder / cell.cell
        outside_s[cell.cell] = clock.makespan_s(place)
        if cell.mode == SCHEDULED:
            beside = folder / "script"
            script_s[cell.repeat] = Script(place).read().run(beside, cell.cores)
            shutil.rmtree(beside)
        for results in [place / "results", *place.glob("samples/*/results")]:
            shutil.rmtree(results, ignore_errors=True)

    watcher = runner.Watcher(*[lambda *_: None] * 3, end)
    clock.start()
    runner.run(plan, watcher)
    clock.over.set()
    return collect.collect(plan.study.folder), script_s, outside_s


def figures(
    tables: collect.Tables, script_s: dict[int, float], outside_s: dict[str, float]
) -> Iterator[tuple[str, bool]]:
    """A line for each figure, and whether it is within its bound."""
    runs = tables.runs.set_index(["mode", "repeat"])
    repeats = sorted(script_s)
    overheads = [runs.loc[("scheduled", repeat), "makespan_s"] / script_s[repeat] for repeat in repeats]
    yield (
        f"makespan of the lab against xargs -P of the same commands: {spread(overheads)}",
        statistics.median(overheads) <= MOST_OVERHEAD,
    )
    disagreements = agreement.disagreements(tables.records)
    yield (
        f"outputs compared: {agreement.compared(tables.records)}, differing: {len(disagreements)}",
        not disagreements,
    )
    clocks = [run.makespan_s / outside_s[run.cell] for run in tables.runs.itertuples()]
    yield (
        f"makespan by the ledger against an outside clock: {spread(clocks)}",
        max(abs(clock - 1) for clock in clocks) <= MOST_CLOCK_OFF,
    )
    snakemake_s = {record.cell.cell: record.snakemake_cpu_s for record in tables.records}
    counted = [run.ledger_cpu_s / (run.os_cpu_s - snakemake_s[run.cell]) for run in tables.runs.itertuples()]
    yield (
        "CPU seconds in the ledger against those that the system counted, Snakemake's own left out: " + spread(counted),
        abs(statistics.median(counted) - 1) <= MOST_CPU_OFF,
    )
    for mode in ("scheduled", "independent"):
        of_mode = runs.loc[mode]
        yield (
            f"{mode}: {spread(of_mode['genomes_per_day'], 0)} genomes a day, "
            f"CPU utilisation {spread(of_mode['cpu_utilisation'])}, {spread(of_mode['cpu_s'], 0)} CPU s",
            not of_mode["failed"].sum(),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("--samples", 4), ("--pairs", 3), ("--length", 600_000), ("--seed", 1)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--pipeline", choices=sorted(PIPELINES), default="germline")
    parser.add_argument("--smallest", action="store_true", help="whether it works, not what it measures")
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(SMALLEST)
    set_up(arguments.smallest)
    show_machine(arguments.smallest)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = list(figures(*measure(Path(folder), arguments)))
    for line, holds in found:
        print(line if holds else f"{line}  OUT OF BOUNDS")
    bounds = [holds for line, holds in found if not arguments.smallest or line.startswith(UNBOUNDED)]
    return 0 if all(bounds) else 1


if __name__ == "__main__":
    sys.exit(main())
