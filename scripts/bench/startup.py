"""What `gpd run` takes beside its jobs: from its start to the first job, from the last job's end to the prompt.

    python scripts/bench/startup.py [--runs 5] [--smallest]

Two tiny samples on a set-up clone. A first run plans the whole pipeline in a new folder, and is ended by Ctrl-C once
its first job is over. Runs again make one small file of it in a folder that has the others: there the end is
measured, too. CPU seconds are those of `gpd` and all that it starts, but for what records say of jobs.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches import measurements
from benches.measurements import Measurement
from benches.runs import cpu_s

from gpd.lab.snakemake_process import LEDGER
from gpd.paths import ROOT
from gpd.records.ledger import Attempt, read_ledger

sys.path.insert(0, str(ROOT / "tests"))

from conftest import tiny_cohort

GPD = Path(sys.executable).with_name("gpd")
MADE, AGAIN = "results/reference/vcf/known_sites_1.vcf.gz", "results/reference/n_free_intervals.bed"
MOST_S = 2.0  # at each end
LOOK_S = 0.02


@dataclass(frozen=True)
class TimedRun:
    """A run: seconds to its first job and after its last one, and CPU seconds beside its jobs."""

    before_s: float
    after_s: float
    cpu_s: float


def started(folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """`gpd run` to some targets."""
    command = [GPD, "run", "germline", *words, "--directory", folder, "--cores", "2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(folder: Path, words: Sequence[str], is_first: bool) -> TimedRun:
    """Run to some targets; one that `is_first` is ended once a job is over."""
    ledger = folder / LEDGER
    earlier = len(read_ledger(ledger)) if ledger.exists() else 0
    began, process = time.time(), started(folder, words)
    while is_first and not ledger.exists() and process.poll() is None:
        time.sleep(LOOK_S)
    if is_first:
        process.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(process.pid, 0)
    ended, process.returncode = time.time(), os.waitstatus_to_exitcode(status)
    jobs = read_ledger(ledger)[earlier:] if ledger.exists() else []
    if not jobs or (process.returncode != 0 and not is_first):
        sys.exit(f"gpd run {' '.join(words)} ended with {process.returncode} and {len(jobs)} jobs")
    return TimedRun(starts(jobs) - began, ended - ends(jobs), usage.ru_utime + usage.ru_stime - sum(map(cpu_s, jobs)))


def starts(jobs: Sequence[Attempt]) -> float:
    return min(job.start.timestamp() for job in jobs if job.start)


def ends(jobs: Sequence[Attempt]) -> float:
    return max(job.end.timestamp() for job in jobs if job.end)


def measure(folder: Path, runs: int) -> Iterator[Measurement]:
    first, again = [], []
    for number in range(runs):
        place = folder / str(number)
        place.mkdir()
        tiny_cohort(place).write()
        first.append(run(place, [], is_first=True))
        started(place, [MADE, AGAIN]).wait()
        (place / AGAIN).unlink()
        again.append(run(place, [MADE, AGAIN], is_first=False))
        shutil.rmtree(place)
    whole, small = "the whole pipeline in a new folder", "one file again"
    yield Measurement(f"{whole}: s to the first job", tuple(each.before_s for each in first), decimals=2)
    yield Measurement(f"{small}: s to the first job", tuple(each.before_s for each in again), most=MOST_S, decimals=2)
    yield Measurement(f"{small}: s from the last job", tuple(each.after_s for each in again), most=MOST_S, decimals=2)
    yield Measurement(f"{small}: CPU s beside jobs", tuple(each.cpu_s for each in again), decimals=2)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    measurements.show_machine()
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
        os.environ["GPD_RUNTIME_DIR"] = f"{folder}/allocations"
        holds = measurements.show(
            measure(Path(folder), 1 if arguments.smallest else arguments.runs), arguments.smallest
        )
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
