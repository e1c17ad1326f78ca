"""What of its CPU time each step takes in a standard workload, beside a human genome of 30x; how sessions spread.

    python scripts/bench/workload.py [benchmark-run/quick-1/session-*.gpd.tar.gz]

It reads sessions of `gpd benchmark quick` on one machine, and runs nothing; without any those of the first entry of the
registry. Shares are of the CPU time of a run's steps, a value for each run at the largest N that counts; beside them
those of a genome of 30x, extrapolated from the recorded rehearsals of a genome of human size and of its tenth. Mapping
is held against that of the tenth: the workload's genome is to be as hard on caches. Spreads are those of samples a day:
within a session the standard deviation over repeats, between sessions how far their means are apart, both over the
mean; beside them what part of its CPUs' time others took.
"""

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benches import measurements
from benches.measurements import Measurement

from gpd.benchmark import registry
from gpd.benchmark.submission import Session
from gpd.packages.read import studies
from gpd.paths import ROOT
from gpd.pipelines import GERMLINE, HUMAN_30X_GIGABASES
from gpd.tables import collect
from gpd.tables.collect import Tables
from gpd.tables.columns import RunRow

REHEARSALS = {name: ROOT / f"docs/evidence/data/{name}.json" for name in ("rehearsal", "rehearsal_tenth")}
WORKLOAD = "quick-1"
HOURS = "a genome of 30x, extrapolated: CPU hours of "
TENTH, MAPPING = "rehearsal_tenth", "map_and_sort"
MOST_POINTS = 10.0  # per cent points by which the share of a step may differ from a genome's
MOST_MAPPING = 1.25


def genome(record: Path) -> dict[str, float]:
    """CPU seconds of each step of a genome of 30x, from the record of a rehearsal."""
    figures = json.loads(record.read_text(encoding="utf-8"))["figures"]
    return {
        step: 3600 * statistics.median(each["values"])
        for each in figures
        if (step := each["what"].removeprefix(HOURS)) in GERMLINE.steps
    }


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """Per cent of all."""
    return {step: 100 * each / sum(seconds.values()) for step, each in seconds.items()}


def counted(tables: Tables) -> list[RunRow]:
    return [run for run in tables.runs if run.counted]


def step_seconds(tables: Tables, n: int) -> list[dict[str, float]]:
    """CPU seconds of each step, a run that counts."""
    found: dict[str, dict[str, float]] = {run.run: {} for run in counted(tables) if run.n == n}
    for row in tables.steps:
        if row.run in found and row.step in GERMLINE.steps and row.cpu_s:
            found[row.run][row.step] = row.cpu_s
    return list(found.values())


def compared(sessions: Sequence[Tables], genomes: Mapping[str, Mapping[str, float]]) -> Iterator[Measurement]:
    """Shares of steps beside a genome's, and seconds of mapping over those of the tenth."""
    most = max(run.n for each in sessions for run in counted(each))
    runs = [run for each in sessions for run in step_seconds(each, most)]
    for step in runs[0]:
        own = tuple(shares(run)[step] for run in runs)
        yield Measurement(f"{step}: share of CPU time, %", own, decimals=1)
        for name, of in genomes.items():
            if step not in of:
                continue
            far = tuple(abs(share - shares(of)[step]) for share in own)
            yield Measurement(f"{step}: points from a genome by {name}", far, most=MOST_POINTS, decimals=1)
    bases = [run.gigabases for each in sessions for run in counted(each) if run.n == most and run.gigabases]
    tenth = genomes[TENTH][MAPPING] / HUMAN_30X_GIGABASES
    mapped = tuple(run[MAPPING] / reads for run, reads in zip(runs, bases, strict=True))
    yield Measurement("mapping: CPU s a gigabase", mapped, decimals=0)
    over = tuple(max(each / tenth, tenth / each) for each in mapped)
    yield Measurement("mapping: times from the tenth of a genome's", over, most=MOST_MAPPING, decimals=2)


def spread(sessions: Sequence[Tables]) -> Iterator[Measurement]:
    """Of samples a day, by N; and what others took of the CPUs' time."""
    daily: dict[int, list[list[float]]] = defaultdict(list)
    for each in sessions:
        for n in sorted({run.n for run in counted(each)}):
            daily[n].append([run.genomes_per_day for run in counted(each) if run.n == n and run.genomes_per_day])
    for n, found in daily.items():
        within = tuple(relative(repeats) for repeats in found if len(repeats) > 1)
        yield Measurement(f"N = {n}: samples a day, standard deviation within a session, %", within, decimals=2)
        if len(found) > 1:
            apart = relative([statistics.mean(repeats) for repeats in found])
            yield Measurement(f"N = {n}: the same of the means of sessions, %", (apart,), decimals=2)
    runs = [run for each in sessions for run in counted(each)]
    for what, seconds in (
        ("other processes", [run.machine_other_cpu_s for run in runs]),
        ("the hypervisor", [run.machine_steal_s for run in runs]),
    ):
        known = percent(seconds, [run.cores * run.wall_s for run in runs if run.wall_s])
        if known:
            yield Measurement(f"CPU time of the machine that {what} took, %", known, decimals=2)


def relative(values: Sequence[float]) -> float:
    """Standard deviation over the mean, in per cent."""
    return 100 * statistics.stdev(values) / statistics.mean(values)


def percent(seconds: Iterable[float | None], of: Sequence[float]) -> tuple[float, ...]:
    """Empty where one is not known."""
    known = [each for each in seconds if each is not None]
    return tuple(100 * each / all_of for each, all_of in zip(known, of, strict=True)) if len(known) == len(of) else ()


def registered() -> list[Path]:
    """The sessions of the first machine in the registry that has any of the workload."""
    found = (one.packages for one in registry.entries() if one.packages)
    return next((list(own) for own in found if Session.read(own[0]).workload.name == WORKLOAD), [])


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("sessions", nargs="*", type=Path, help="packages or folders of quick-1")
    arguments = parser.parse_args()
    given = arguments.sessions or registered()
    if not given:
        print("not measured: no session of quick-1 is given, and the registry has none")
        return 0
    with studies() as folder:
        sessions = [collect.of_one_machine(folder(path)) for path in given]
    if not all(counted(each) for each in sessions):
        sys.exit("a session has no run that counts")
    genomes = {name: genome(path) for name, path in REHEARSALS.items()}
    holds = measurements.show((*compared(sessions, genomes), *spread(sessions)), arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
