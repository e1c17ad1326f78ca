"""Measure how fast the Tuxedo pipeline compares RNA-Seq samples, against a baseline script and independent pipelines.

    python scripts/bench/tuxedo.py [--cohorts six sixty] [--ways NAME ...] [--pairs 3] [--seed 1] [--smallest]

Each pair takes the same samples of two conditions to Cuffdiff's tables in one workflow, and by tuxedo_baseline.sh,
which is what a clever user would write without any: with Cuffdiff's correction of the dispersion as published, and
without (cuffdiff.scv_correction). To their counts (stop_after: quantify) it takes them in one workflow, and each in one
of its own with the threads of the published study (independent), which merges its transcripts with the annotation
alone. Times of a workflow are from its first job's start to its last one's end. Ratios are taken within a pair; the
median over pairs is held against its bound.

Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that genes are the same. On 2
cores a pair takes some 4 minutes of the cohort `six` with all ways, and some 40 of `sixty`.
"""

import csv
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches import measurements
from benches.cohorts import Experiment
from benches.measurements import Measurement
from benches.runs import run_bench
from benches.studies import MeasuredStudy, Scripted

from gpd.records.run_spec import INDEPENDENT, SHARED

BASELINE = Path(__file__).with_name("tuxedo_baseline.sh")
COHORTS = {
    each.name: each
    for each in (Experiment("six", 3), Experiment("sixty", 30), Experiment("tiny", replicates=1, genes=40))
}
COUNTS = "counts"
COMPARED = {"stop_after": "differential_expression"}
# By way: what its configuration sets
WAYS = {
    "corrected": COMPARED,
    "uncorrected": COMPARED | {"cuffdiff": {"fdr": 0.01, "scv_correction": False}},
    COUNTS: {"stop_after": "quantify"},
}
OF_SCRIPT = {"corrected": (), "uncorrected": ("--no-scv-correction",)}  # options of its Cuffdiff
MOST_OF_SCRIPT = {("six", "corrected"): 0.95, ("six", "uncorrected"): 1.2, ("sixty", "corrected"): 0.9}
MOST_OF_SCRIPT |= {("sixty", "uncorrected"): 0.9}
GENES = "gene_exp.diff"
KEYS, RESULTS = ("gene", "locus"), ("status", "value_1", "value_2", "significant")


@dataclass(frozen=True)
class Pairs:
    """The runs of a cohort, each pair's next to each other: by way the workflow's, by way and pair the script's."""

    cohort: Experiment
    folder: Path
    seed: int
    pairs: int

    def measure(self, ways: Collection[str]) -> Iterator[Measurement]:
        self.cohort.write(self.folder / "pool", self.seed)
        scripts: dict[str, list[Scripted]] = {way: [] for way in ways if way in OF_SCRIPT}
        with (self.folder / "lock").open("w") as lock:
            studies = {way: self.study(way, lock.fileno()) for way in ways}
            for repeat in range(1, self.pairs + 1):
                for way, study in studies.items():
                    study.run(SHARED, repeat)
                    if way in OF_SCRIPT:
                        scripts[way].append(self.script(way, study, repeat))
                    else:
                        study.run(INDEPENDENT, repeat)
        for way, runs in scripts.items():
            yield from self.against_script(way, studies[way], runs)
            yield self.differences(way, studies[way], runs)
        if COUNTS in studies:
            yield from self.against_independent(studies[COUNTS])

    def study(self, way: str, lock: int) -> MeasuredStudy:
        grid = {
            "concurrent_samples": [self.cohort.samples],
            "modes": [SHARED] if way in OF_SCRIPT else [SHARED, INDEPENDENT],
            "repeats": self.pairs,
            "seed": self.seed,
        }
        return MeasuredStudy.of(way, self.folder / "pool", WAYS[way], grid, lock)

    def script(self, way: str, study: MeasuredStudy, repeat: int) -> Scripted:
        output = self.folder / f"script-{way}-{repeat}"
        reference = study.setup.prepared / "results/reference"
        words = (self.folder / "pool", reference, output, study.plan.cores, *OF_SCRIPT[way])
        return Scripted.of(BASELINE, *words, folder=output)

    def against_script(self, way: str, study: MeasuredStudy, scripts: Sequence[Scripted]) -> Iterator[Measurement]:
        """What the workflow took, and the script."""
        runs, jobs = study.runs(SHARED), study.table("jobs")
        wall_s, cpu_s = ([getattr(script, name) for script in scripts] for name in ("wall_s", "cpu_s"))
        cuffdiff_s = jobs[jobs["rule"] == "differential_expression"].groupby("repeat")["wall_s"].sum()
        most = MOST_OF_SCRIPT.get((self.cohort.name, way))
        rows = [
            ("makespan against the baseline script", runs["makespan_s"] / wall_s, {"most": most}),
            ("CPU seconds against the baseline script", runs["os_cpu_s"] / cpu_s, {}),
            ("workflow: makespan, s", runs["makespan_s"], {"decimals": 1}),
            ("workflow: Cuffdiff of it, s", cuffdiff_s, {"decimals": 1}),
            ("workflow: CPU seconds", runs["os_cpu_s"], {"decimals": 1}),
            ("workflow: the whole command, planning in it, s", runs["wall_s"], {"decimals": 1}),
            ("workflow: share of CPU time of other processes", of_others(runs), {}),
            ("baseline script: wall time, s", wall_s, {"decimals": 1}),
            ("baseline script: Cuffdiff of it, s", [cuffdiff_of(script) for script in scripts], {"decimals": 1}),
            ("baseline script: CPU seconds", cpu_s, {"decimals": 1}),
            ("samples that failed", runs["failed"], {"most": 0, "decimals": 0, "of_results": True}),
        ]
        yield from self.figures(way, rows)

    def against_independent(self, study: MeasuredStudy) -> Iterator[Measurement]:
        """What one workflow of all samples took to their counts, and one of each."""
        shared, apart = (study.runs(mode) for mode in (SHARED, INDEPENDENT))
        rows = [
            ("samples a day, shared against independent", shared["genomes_per_day"] / apart["genomes_per_day"], {}),
            ("CPU seconds, shared against independent", shared["os_cpu_s"] / apart["os_cpu_s"], {}),
            ("shared: makespan, s", shared["makespan_s"], {"decimals": 1}),
            ("independent: makespan, s", apart["makespan_s"], {"decimals": 1}),
            ("samples that failed", shared["failed"] + apart["failed"], {"most": 0, "decimals": 0, "of_results": True}),
        ]
        yield from self.figures(COUNTS, rows)

    def figures(self, way: str, rows: Sequence[tuple[str, Sequence[float], dict]]) -> Iterator[Measurement]:
        for what, values, traits in rows:
            yield Measurement(f"{self.cohort.name}, {way}: {what}", tuple(map(float, values)), **traits)

    def differences(self, way: str, study: MeasuredStudy, scripts: Sequence[Scripted]) -> Measurement:
        """How many genes the script and the workflow find different things of."""
        found = []
        for repeat, script in enumerate(scripts, 1):
            run = study.folder(SHARED, repeat, "")
            ours, theirs = genes(run / "results/differential_expression"), genes(script.folder / "cuffdiff")
            found.append(sum(ours.get(key) != theirs.get(key) for key in ours.keys() | theirs.keys()))
        what = f"{self.cohort.name}, {way}: genes of {len(theirs)} whose status, values or significance differ"
        return Measurement(what, tuple(found), most=0, decimals=0, of_results=True)


def of_others(runs) -> Sequence[float]:
    """Of all CPU time there was, what other processes took."""
    return runs["machine_other_cpu_s"] / (runs["cores"] * runs["wall_s"])


def cuffdiff_of(script: Scripted) -> float:
    """Seconds from the last counts to Cuffdiff's end."""
    counted = max(path.stat().st_mtime for path in script.folder.glob("*/abundances.cxb"))
    return (script.folder / "cuffdiff" / GENES).stat().st_mtime - counted


def genes(folder: Path) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """What Cuffdiff's table says of each gene."""
    with (folder / GENES).open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {tuple(row[key] for key in KEYS): tuple(row[name] for name in RESULTS) for row in rows}


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=sorted(COHORTS), default=["six", "sixty"])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], ways=["uncorrected", COUNTS], pairs=1)

    def measure(name: str, folder: Path) -> Iterator[Measurement]:
        return Pairs(COHORTS[name], folder, arguments.seed, arguments.pairs).measure(arguments.ways)

    return run_bench(arguments, COHORTS, measure, pipeline="tuxedo")


if __name__ == "__main__":
    sys.exit(main())
