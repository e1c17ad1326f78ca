"""Measure how many genomes a day the workflow makes of full cores, against independent pipelines and a baseline script.

    python scripts/bench/throughput.py [--cohorts small large] [--pairs 3] [--hours 24] [--seed 1] [--smallest]

Each pair takes the same samples to their calls in these ways: all in one workflow (shared), also with other settings
where bwa-mem4 is installed; each in one of its own with bwa, the published study's threads and JVMs as they come
(independent); and by baseline.sh, which is what a clever user would write without any workflow, with bwa: with GATK as
set-up here makes it, which starts from an archive of its classes, and with GATK as it comes, which has none, as in the
independent ones. Ratios are taken within a pair; the median over pairs is held against its bound. A gigabase is one of
reads.

Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that all calls are the same.
On 2 cores a pair of the cohort `small` takes some 11 minutes, one of `large` some 55. No pair begins that would not end
within `--hours`.
"""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benches import calls, cohorts, measurements
from benches.measurements import Measurement, timed
from benches.runs import CALLS, run_bench
from benches.studies import MeasuredStudy, Scripted

from gpd.commands import gpd_demo
from gpd.records.run_spec import INDEPENDENT, SHARED

BASELINE = Path(__file__).with_name("baseline.sh")
# ways to run it: variables of its environment
ARCHIVED, AS_IT_COMES = "the baseline script", "the baseline script with GATK as it comes"
SCRIPTS: Mapping[str, dict[str, str]] = {ARCHIVED: {}, AS_IT_COMES: {"GATK_CLASS_ARCHIVE": ""}}
LEAST_UTILISATION, MOST_CPU_OF_SCRIPT = 0.95, 1.0
# what settings change of the workflow that is shared
DEFAULTS, MEM4, NO_BQSR = "defaults", "bwa-mem4", "bwa-mem4, bqsr none"
CHOICES = {DEFAULTS: {}, MEM4: {"mapper": "bwa-mem4"}, NO_BQSR: {"mapper": "bwa-mem4", "bqsr": "none"}}
COHORTS = {cohort.name: cohort for cohort in (cohorts.SMALL, cohorts.LARGE, cohorts.TINY)}


@dataclass(frozen=True)
class Bounds:
    """Of shared against independent, by choice; of its makespan against the script's, by its GATK, which may be `tiny`:
    it calls without the second compiler, too.
    """

    tiny: bool
    least_gain: Mapping[str, float]
    most_cpu: float
    most_of_script: Mapping[str, float]


NO_SLOWER = {ARCHIVED: 1.0, AS_IT_COMES: 1.0}
LESS_THAN_SCRIPT = {ARCHIVED: 0.85, AS_IT_COMES: 0.85}
BOUNDS = {
    "small": Bounds(tiny=True, least_gain={DEFAULTS: 1.9, MEM4: 2.1}, most_cpu=0.54, most_of_script=LESS_THAN_SCRIPT),
    "large": Bounds(
        tiny=False, least_gain={DEFAULTS: 1.4, MEM4: 1.55, NO_BQSR: 1.9}, most_cpu=0.72, most_of_script=NO_SLOWER
    ),
    "tiny": Bounds(tiny=True, least_gain={DEFAULTS: 1.9}, most_cpu=0.54, most_of_script=NO_SLOWER),
}


def study_of(cohort: str, pool: Path, choice: str, pairs: int, seed: int, lock: int) -> MeasuredStudy:
    """The study of a choice of settings over a pool."""
    grid = {
        "concurrent_samples": [COHORTS[cohort].samples],
        "modes": [SHARED, INDEPENDENT] if choice == DEFAULTS else [SHARED],
        "repeats": pairs,
        "seed": seed,
    }
    return MeasuredStudy.of(
        f"study-{list(CHOICES).index(choice)}", pool, gpd_demo.CALLING | CHOICES[choice], grid, lock
    )


Scripts = Mapping[str, dict[int, Scripted]]  # by way and pair


def run_script(cohort: str, folder: Path, way: str, repeat: int, cores: int) -> Scripted:
    output = folder / f"baseline-{list(SCRIPTS).index(way)}-{repeat}"
    words = ("call", folder / "pool", output, cores, BOUNDS[cohort].tiny)
    return Scripted.of(BASELINE, *words, folder=output, **SCRIPTS[way])


def measure(cohort: str, folder: Path, pairs: int, hours: float, seed: int) -> Iterator[Measurement]:
    """Run a cohort's pairs, each way next to the others, and yield what they came to."""
    ends = time.monotonic() + 3600 * hours
    COHORTS[cohort].write(folder / "pool", seed)
    timed(["bash", BASELINE, "prepare", folder / "pool"])
    choices = [name for name in CHOICES if name == DEFAULTS or shutil.which("bwa-mem4")]
    scripts: Scripts = {way: {} for way in SCRIPTS}
    with (folder / "lock").open("w") as lock:
        studies = {name: study_of(cohort, folder / "pool", name, pairs, seed, lock.fileno()) for name in choices}
        for repeat in range(1, pairs + 1):
            began = time.monotonic()
            for study in studies.values():
                study.run(SHARED, repeat)
            for way, runs in scripts.items():
                runs[repeat] = run_script(cohort, folder, way, repeat, studies[DEFAULTS].plan.cores)
            studies[DEFAULTS].run(INDEPENDENT, repeat)
            if 2 * time.monotonic() - began > ends:
                break
    yield from ratios(cohort, studies, scripts)
    yield from differences(studies, scripts)


def ratios(cohort: str, studies: Mapping[str, MeasuredStudy], scripts: Scripts) -> Iterator[Measurement]:
    """What each way took, and how they compare within each pair."""
    ours, apart = (studies[DEFAULTS].runs(mode) for mode in (SHARED, INDEPENDENT))
    bounds, cores = BOUNDS[cohort], ours["cores"].iloc[0]
    rows = [
        ("CPU seconds, shared against independent", ours["os_cpu_s"] / apart["os_cpu_s"], {"most": bounds.most_cpu}),
        ("CPU utilisation, shared", ours["cpu_utilisation"], {"least": LEAST_UTILISATION}),
        ("share of CPU time of other processes, shared", ours["other_cpu_s"] / (cores * ours["makespan_s"]), {}),
    ]
    for way, runs in scripts.items():
        script_s, script_cpu_s = (
            [getattr(runs[repeat], field) for repeat in sorted(runs)] for field in ("wall_s", "cpu_s")
        )
        rows += [
            (f"makespan against {way}", ours["makespan_s"] / script_s, {"most": bounds.most_of_script[way]}),
            (f"CPU seconds against {way}", ours["os_cpu_s"] / script_cpu_s, {"most": MOST_CPU_OF_SCRIPT}),
            (f"genomes a day, {way} against independent", apart["makespan_s"] / script_s, {}),
            (f"{way}: makespan, s", script_s, {"decimals": 0}),
            (f"{way}: CPU seconds a gigabase", per_gigabase(cohort, script_cpu_s), {"decimals": 0}),
        ]
    shared = {name: study.runs(SHARED) for name, study in studies.items()}
    for choice, runs in shared.items():
        gain, least = runs["genomes_per_day"] / apart["genomes_per_day"], bounds.least_gain.get(choice)
        rows.append((f"genomes a day, shared ({choice}) against independent", gain, {"least": least}))
    everything = {**{f"shared ({choice})": runs for choice, runs in shared.items()}, "independent": apart}
    for way, runs in everything.items():
        rows += [
            (f"{way}: makespan, s", runs["makespan_s"], {"decimals": 0}),
            (f"{way}: CPU seconds a gigabase", per_gigabase(cohort, runs["os_cpu_s"]), {"decimals": 0}),
            (f"{way}: samples that failed", runs["failed"], {"most": 0, "decimals": 0, "of_results": True}),
        ]
    for what, values, traits in rows:
        yield Measurement(f"{cohort}: {what}", tuple(map(float, values)), **traits)


def per_gigabase(cohort: str, cpu_s: Iterable[float]) -> list[float]:
    of = COHORTS[cohort]
    return [seconds / (of.samples * of.length * of.coverage / 1e9) for seconds in cpu_s]


def calls_of(study: MeasuredStudy, mode: str, repeat: int, sample: str) -> Path:
    """A sample's calls of a run."""
    return study.folder(mode, repeat, sample) / CALLS.format(callset=sample)


def differences(studies: Mapping[str, MeasuredStudy], scripts: Scripts) -> Iterator[Measurement]:
    """How many records differ in alleles, filter or genotypes from those of the independent pipelines of the pair."""
    source = studies[DEFAULTS].setup.source
    alone = {
        (repeat, sample.name): calls_of(studies[DEFAULTS], INDEPENDENT, repeat, sample.name)
        for repeat in scripts[ARCHIVED]
        for sample in source.members
    }
    ways = {
        f"shared ({choice})": {key: calls_of(study, SHARED, *key) for key in alone} for choice, study in studies.items()
    }
    for way, runs in scripts.items():
        ways[f"of {way}"] = {
            (repeat, sample): runs[repeat].folder / sample / "calls.vcf.gz" for repeat, sample in alone
        }
    for way, called in ways.items():
        found = {repeat: calls.CallDifference() for repeat in scripts[ARCHIVED]}
        for (repeat, sample), path in called.items():
            found[repeat].update(calls.compare(alone[repeat, sample], path))
        records, others = found[1]["records"], found[1]
        what = f"calls {way} that differ from the {records:,} of independent (beside that: {others})"
        most = None if NO_BQSR in way else 0  # which may change calls
        yield Measurement(
            what, tuple(each.in_results for each in found.values()), most=most, decimals=0, of_results=True
        )


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=sorted(COHORTS), default=["small", "large"])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--hours", type=float, default=24, help="for the pairs of a cohort")
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], pairs=1)
    limits = (arguments.pairs, arguments.hours, arguments.seed)
    return run_bench(arguments, COHORTS, lambda name, folder: measure(name, folder, *limits))


if __name__ == "__main__":
    sys.exit(main())
