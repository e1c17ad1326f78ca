"""Measure how long a large study takes to collect and report, and how much memory.

    python scripts/bench/collect.py [--cells 200] [--jobs 100000] [--seed 1] [--smallest]

The study is made up, with the same seed the same one: as many cells, N from 1 to 16 in both modes, and as many records
of jobs. Another process collects and reports it, so that its peak memory is its own. Exits with 1 when a figure is out
of bounds; `--smallest` only shows that it works.
"""

import argparse
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REAL_LEDGER = ROOT / "tests" / "golden" / "germline_demo" / "ledger.jsonl"
RECORDER = ROOT / "tests" / "golden" / "study" / "record.py"  # of a study whose runs are as real ones
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
SIZES = (1, 2, 4, 8, 16)
CORES = 16
MAX_S, MAX_MIB = 60, 1024
COLLECT = """
import sys
from pathlib import Path
from gpd.reports import report
from gpd.tables import collect
study = Path(sys.argv[1])
tables = collect.collect(study)
collect.write(tables, study / collect.FOLDER)
report.write(tables, study)
assert len(tables.jobs) == int(sys.argv[2]), f"{len(tables.jobs)} jobs collected"
"""


def plan(count: int) -> Iterator[dict]:
    """What the cells are to run: N by mode, over and over."""
    for number in range(count):
        repeat, point = divmod(number, 2 * len(SIZES))
        n, mode = SIZES[point % len(SIZES)], ("scheduled", "independent")[point // len(SIZES)]
        binding = "compact" if mode == "scheduled" else "none"
        name = f"germline-n{n}-{mode}-{binding}-r{repeat + 1}"
        samples = [f"S{sample:02d}" for sample in range(1, n + 1)]
        found = {"cell": name, "n": n, "mode": mode, "binding": binding, "repeat": repeat + 1, "samples": samples}
        yield found | {"study": "bench", "cores": CORES}


def recorded_run() -> dict:
    """The record of a run."""
    with tempfile.TemporaryDirectory() as folder:
        runpy.run_path(str(RECORDER))["write"](Path(folder))
        return json.loads((Path(folder) / "germline-n1-scheduled-compact-r1" / "run.json").read_text())


def records(cell: dict, share: int, run: str, draw: random.Random) -> dict[str, list[dict]]:
    """`share` records of the cell's jobs in a run, by sample: each sample's follow each other, one a CPU."""
    templates = [json.loads(line) for line in REAL_LEDGER.read_text().splitlines()]
    templates = [record for record in templates if record["step"] != "reference"]
    clocks = dict.fromkeys(cell["samples"], START)
    made: dict[str, list[dict]] = {sample: [] for sample in cell["samples"]}
    for number in range(share):
        sample = cell["samples"][number % cell["n"]]
        template = templates[number // cell["n"] % len(templates)]
        begin, wall_s = clocks[sample], round(draw.uniform(1, 100), 3)
        clocks[sample] = end = begin + timedelta(seconds=wall_s)
        bound = cell["binding"] != "none"
        made[sample].append(
            template
            | {"wildcards": {"sample": sample}, "shard": f"{number:05d}", "id": f"{draw.getrandbits(64):016x}"}
            | {"start": clock(begin), "end": clock(end), "wall_s": wall_s, "cpu_s": wall_s}
            | {
                "run": run,
                "cpus": str(number % cell["n"] % CORES) if bound else None,
                "log": f"logs/{sample}/{number}.log",
            }
        )
    return made


def clock(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def make_study(folder: Path, cells: int, jobs: int, seed: int) -> None:
    """Write the study."""
    draw, run = random.Random(seed), recorded_run()
    for number, changed in enumerate(plan(cells)):
        cell = run["cell"] | changed
        share = jobs * (number + 1) // cells - jobs * number // cells
        made = records(cell, share, cell["cell"], draw)
        scheduled = cell["mode"] == "scheduled"
        groups = {".": cell["samples"]} if scheduled else {f"samples/{sample}": [sample] for sample in cell["samples"]}
        for directory, samples in groups.items():
            lines = [json.dumps(record) for sample in samples for record in made[sample]]
            path = folder / cell["cell"] / directory / "ledger.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
        outcome = run | {
            "cell": cell,
            "run": cell["cell"],
            "start": clock(START),
            "processes": [{"directory": d, "samples": samples, "exit_code": 0} for d, samples in groups.items()],
            "inputs": {sample: {"digest": "0" * 64, "reads": 10**9, "bases": 93 * 10**9} for sample in cell["samples"]},
            "outputs": [{"kind": "calls", "samples": [s], "digest": s} for s in cell["samples"]],
        }
        (folder / cell["cell"] / "cell.json").write_text(json.dumps(cell))
        (folder / cell["cell"] / "run.json").write_text(json.dumps(outcome))


def measure(folder: Path, jobs: int) -> tuple[float, float]:
    """Collect and report in another process; return its wall time, s, and its peak memory, MiB."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", COLLECT, str(folder), str(jobs)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"collect.py: collecting ended with exit code {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="whether it works, not what it measures")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cells, arguments.jobs = 2 * len(SIZES), 1000
    what = f"{arguments.cells} cells, {arguments.jobs} jobs: collect and report"
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
        make_study(Path(folder), arguments.cells, arguments.jobs, arguments.seed)
        wall_s, peak_mib = measure(Path(folder), arguments.jobs)
    within = []
    for name, figure, bound, unit in (("wall time", wall_s, MAX_S, "s"), ("peak memory", peak_mib, MAX_MIB, "MiB")):
        within.append(figure < bound)
        label = f"{what}, {name} (under {bound} {unit})"
        print(f"{label:72} {f'{figure:.1f} {unit}':>12}  {'ok' if within[-1] else 'OUT OF BOUNDS'}", flush=True)
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
