"""What each step of a rehearsal took, beside what the workflow asks for: CPU time a gigabase, fixed costs, memory.

    python scripts/bench/rehearsal.py [--folder rehearsal-run] [--scale 1]

It reads the job records of `make rehearsal`, and runs nothing. A step's CPU time grows with a sample's gigabases: the
slope and the fixed cost are a straight line through its jobs. Where no rehearsal has run it says so. `--smallest` takes
a recorded one of a thousandth of the length.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from scipy.stats import linregress

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow/scripts/resources"))

import runtimes  # noqa: E402
from benches import measurements  # noqa: E402
from benches.measurements import Measurement  # noqa: E402

from gpd.records.ledger import Attempt, last_attempts, read_ledger  # noqa: E402

RECORDED = ROOT / "tests/golden/rehearsal"
SEEN = 0.25  # GiB below which a job's memory tells more of the tool's start than of its data
TABLE = ROOT / "workflow/runtimes.tsv"


def gigabases(folder: Path) -> Mapping[str, float]:
    """The bases that were read of each sample."""
    samples = pd.read_csv(folder / "results/qc/samples.tsv", sep="\t", index_col="sample_name")
    return dict(samples["reads"] * samples["read_length"] / 1e9)


def by_rule(attempts: Iterable[Attempt]) -> Mapping[str, list[Attempt]]:
    """The jobs that ended well, by rule, in the order of their first."""
    found: dict[str, list[Attempt]] = {}
    for attempt in last_attempts(attempts):
        if attempt.succeeded and attempt.cpu_s is not None:
            found.setdefault(attempt.rule, []).append(attempt)
    return found


def measure(folder: Path, scale: float) -> Iterator[Measurement]:
    """Each rule's figures, at this share of a whole genome's length."""
    bases = gigabases(folder)
    asked = runtimes.read(TABLE, ("gatk4", "bwa"))
    for rule, jobs in by_rule(read_ledger(folder / "ledger.jsonl")).items():
        what = f"{rule}, genome x {scale:g}"
        yield Measurement(f"{what}: CPU seconds a job", tuple(job.cpu_s or 0 for job in jobs), decimals=1)
        of_samples = [job for job in jobs if job.owner in bases]
        if len(of_samples) > 1:
            yield from line(what, of_samples, bases, asked.get(rule))
        yield from memory(what, jobs)


def line(
    what: str, jobs: Sequence[Attempt], bases: Mapping[str, float], asked: runtimes.Row | None
) -> Iterator[Measurement]:
    """What a gigabase takes, what a job takes whatever its reads, and the first beside what runtimes.tsv has."""
    fitted = linregress([bases[job.owner or ""] for job in jobs], [job.cpu_s or 0 for job in jobs])
    yield Measurement(f"{what}: CPU seconds a gigabase", (fitted.slope,), decimals=0)
    yield Measurement(f"{what}: CPU seconds a job without reads", (fitted.intercept,), decimals=1)
    if asked and asked.core_s_per_gigabase:
        ratio = fitted.slope / asked.core_s_per_gigabase
        yield Measurement(f"{what}: times the CPU seconds a gigabase of runtimes.tsv", (ratio,), decimals=2)


def memory(what: str, jobs: Sequence[Attempt]) -> Iterator[Measurement]:
    """The largest memory of a job, and its share of what the job asked for."""
    known = [job for job in jobs if job.peak_rss_mib and job.mem_mb]
    if known:
        largest = max(known, key=lambda job: job.peak_rss_mib or 0)
        gib = (largest.peak_rss_mib or 0) / 1024
        yield Measurement(f"{what}: peak memory, GiB", (gib,), decimals=2)
        if gib > SEEN:
            share = (largest.peak_rss_mib or 0) / (largest.mem_mb or 1)  # the launcher grants mem_mb in MiB
            yield Measurement(f"{what}: peak memory, of what it asks for", (share,), most=1, decimals=2)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "rehearsal-run", help="where it ran (%(default)s)")
    parser.add_argument("--scale", type=float, default=1, help="its SCALE (%(default)s)")
    arguments = parser.parse_args()
    folder, scale = (RECORDED, 0.001) if arguments.smallest else (arguments.folder, arguments.scale)
    if not (folder / "ledger.jsonl").exists():
        print(f"{folder}: no rehearsal has run there: make rehearsal")
        return 0
    return measurements.finish(arguments, measurements.show(measure(folder, scale)))


if __name__ == "__main__":
    sys.exit(main())
