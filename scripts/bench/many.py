"""Whether many CPUs have work: Snakemake, the executor `pinned` and its allocator on made-up machines of 128 and 512.

    python scripts/bench/many.py [--cpus 128 128 512] [--genomes 128 1000 1000] [--repeats 2]
                                     [--smallest]

Genomes of 30x go through the germline workflow, one call set each, with the profile `throughput`. No command is run:
each job takes as long as the rehearsal's laws say of its rule, in virtual time. The plan, the choice of jobs, their
preparation and the choice of CPUs are the real ones, and the time that these take goes by in virtual time, too. What
the launcher adds to a job is measured on a machine of as many CPUs, all but one of them taken. Steps are not scattered,
so that the end, where too few samples are left for all CPUs, is worse than in a real run.

It takes some 25 minutes, most of which Snakemake spends on asking for the sizes of what each ready job reads, at each
choice of the next jobs.
"""

import csv
import fcntl
import gzip
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benches import made_up_machine, measurements
from benches.measurements import Measurement, timed

from gpd.errors import GpdError
from gpd.execution import workflow
from gpd.paths import PINNED, ROOT
from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.sizing import rehearsal_machine
from gpd.sizing.rehearsal_machine import Law, by_rule

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(PINNED))

import build
from conftest import tiny_cohort
from launcher.cpu_allocation import byte_lock
from launcher.system import boot_id, digest
from launcher.topology import format_cpus

RECORDED = ROOT / "tests/golden/rehearsal/rehearsal.json"
TABLE = ROOT / "workflow/runtimes.tsv"
GOAL = 0.97
JOBS, HOURS, MEMORY = "jobs", "hours, virtual", "Snakemake's peak memory, MiB"
BUSY, BUSY_TO_THE_END = "CPU utilisation until the last begins", "CPU utilisation"
SPLIT = "allocations that are split over L3 caches though an idle one could hold them"
SNAKEMAKE = "Snakemake and executor, CPU ms a job"
CHOICE = "of it the choice of CPUs, CPU ms a job"
FIGURES: dict[str, dict[str, Any]] = {
    JOBS: {"decimals": 0},
    HOURS: {"decimals": 1},
    BUSY: {"least": GOAL},
    BUSY_TO_THE_END: {"least": GOAL},
    SPLIT: {"decimals": 0},
    SNAKEMAKE: {"decimals": 2},
    CHOICE: {"decimals": 2},
    MEMORY: {"decimals": 0},
}
MIB_A_CPU = 16_000
LAUNCHES = 15
READS = 4000  # at the beginning of each file: more than the workflow looks at
BASES_A_BYTE = 2  # of compressed FASTQ, as workflow/scripts/resources/runtimes.py takes it
# The launcher on a node of as many CPUs as it is told; no job is bound to those that are not there.
ON_A_LARGE_NODE = """
import os, sys
os.sched_getaffinity = lambda pid: set(range({cpus}))
os.sched_setaffinity = lambda pid, cpus: None
sys.path.insert(0, {folder!r})
from launcher.__main__ import cli
cli()
"""

Job = dict[str, Any]


def seconds_by_rule() -> dict[str, float]:
    """CPU seconds of a genome of 30x by rule: as the rehearsal's laws foretell, else as runtimes.tsv estimates."""
    recorded = rehearsal_machine.read(RECORDED)
    with TABLE.open(encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["tool"] in ("", "gatk4", "bwa")]
    found = {row["rule"]: float(row["core_s_per_gigabase"]) * HUMAN_30X_GIGABASES for row in rows}
    for rule, jobs in by_rule(recorded.jobs, lambda job: job.sample is not None).items():
        try:
            found[rule] = Law.of(jobs).predict(recorded.reference_gb, HUMAN_30X_GIGABASES).value
        except GpdError:
            found[rule] = max(job.cpu_s for job in jobs)
    return found


def write_cohort(folder: Path, genomes: int) -> None:
    """Write a cohort of so many genomes by the sizes of their files, which have no blocks on the disk."""
    cohort = tiny_cohort(folder, [f"S{number}" for number in range(genomes)], lanes=1)
    cohort.write()
    text = gzip.compress(b"".join(b"@read%d\n%s\n+\n%s\n" % (n, b"A" * 100, b"#" * 100) for n in range(READS)))
    for path in (folder / "reads").iterdir():
        path.write_bytes(text)
        os.truncate(path, int(HUMAN_30X_GIGABASES * 1e9 / BASES_A_BYTE / 2))


def launches_s(folder: Path, cpus: int, launches: int) -> list[float]:
    """CPU seconds of launchers of `true` on a made-up machine, of whose CPUs all but one are taken."""
    folder.mkdir()
    runtime = folder / "allocations"
    (runtime / "jobs").mkdir(mode=0o700, parents=True)
    runtime.chmod(0o700)
    core = "{l3} {numa} {socket} {cpu}\n"
    made = made_up_machine
    groups = (
        core.format(l3=cpu // made.L3, numa=cpu // made.NUMA, socket=cpu * made.SOCKETS // cpus, cpu=cpu)
        for cpu in range(cpus)
    )
    (runtime / f"topology-{boot_id()}-{digest(format_cpus(range(cpus)))}").write_text("".join(groups))
    launcher, program = build.launcher(PINNED.joinpath, folder), folder / "launcher.py"
    program.write_text(ON_A_LARGE_NODE.format(cpus=cpus, folder=str(launcher.parents[1])))
    words = ["run", "--step", "bench", "--rule", "bench", "--wildcards", "sample=a", "--log", "bench.log"]
    settings = {"cwd": folder, "env": {**os.environ, "GPD_RUNTIME_DIR": str(runtime)}}
    with ExitStack() as stack:
        for cpu in range(cpus - 1):
            journal = stack.enter_context((runtime / "jobs" / f"{cpu:016x}").open("w"))
            fcntl.flock(journal, fcntl.LOCK_EX)
            allocations = stack.enter_context((runtime / "cpus").open("a"))
            byte_lock(allocations.fileno(), fcntl.F_OFD_SETLK, fcntl.F_WRLCK, cpu)
        return [timed([sys.executable, "-S", "-E", program, *words], "true", **settings)[1] for _ in range(launches)]


def run(folder: Path, cpus: int, genomes: int, launch_s: float) -> dict[str, Any]:
    """Run so many genomes on a made-up machine; what it writes."""
    folder.mkdir()
    write_cohort(folder, genomes)
    seconds, figures = folder / "seconds.json", folder / "figures.json"
    seconds.write_text(json.dumps(seconds_by_rule() | {"launcher": launch_s}))
    words = [
        *(sys.executable, made_up_machine.__file__, str(cpus), str(seconds), str(figures)),
        *("--snakefile", str(workflow.SNAKEFILE), "--directory", str(folder), "--cores", str(cpus)),
        *("--workflow-profile", str(workflow.PROFILES / "throughput"), "--resources", f"mem_mb={cpus * MIB_A_CPU}"),
        *("--pinned-checks", "0", "--max-jobs-per-timespan", "100000/1s"),  # that limit's seconds are not virtual
    ]
    timed(words, log=folder / workflow.LOG, env=os.environ | {"GPD_PREFLIGHT": "none"})
    return json.loads(figures.read_text())


def worked_s(jobs: Sequence[Job], until: float) -> float:
    """CPU seconds that tools were at work up to a time."""
    return sum(min(job["work_s"], job["threads"] * max(0.0, until - job["start"])) for job in jobs)


def utilisation(jobs: Sequence[Job], cpus: int, until: float) -> float:
    """The share of the CPUs that tools kept at work, from the first lane that is mapped to a time."""
    began = min(job["start"] for job in jobs)
    return worked_s(jobs, until) / (cpus * (until - began))


def figures(found: dict[str, Any], cpus: int) -> dict[str, float]:
    """What a run comes to, by the names in FIGURES."""
    every = found["jobs"]
    began = min(job["start"] for job in every if job["rule"] == "map_and_sort")
    jobs = [job for job in every if job["start"] >= began]
    ended, all_begun = max(job["end"] for job in jobs), max(j["start"] for j in jobs if j["rule"] == "map_and_sort")
    return {
        JOBS: len(every),
        HOURS: (ended - began) / 3600,
        BUSY: utilisation(jobs, cpus, all_begun),
        BUSY_TO_THE_END: utilisation(jobs, cpus, ended),
        SPLIT: sum(job["split"] for job in jobs if job["threads"] > 1),
        SNAKEMAKE: 1000 * found["cpu_s"] / len(every),
        CHOICE: 1000 * found["choosing_s"] / len(every),
        MEMORY: found["peak_mib"],
    }


def bench(folder: Path, cpus: int, genomes: int, launches: int, repeats: int) -> Iterator[Measurement]:
    each_s = launches_s(folder / "launches", cpus, launches)
    cost_ms = tuple(1000 * each for each in each_s)
    yield Measurement(f"{cpus} CPUs, all but one taken: a launch, CPU ms", cost_ms, decimals=1)
    folders = [folder / f"run-{repeat}" for repeat in range(repeats)]
    runs = [figures(run(each, cpus, genomes, statistics.median(each_s)), cpus) for each in folders]
    for name, traits in FIGURES.items():
        yield Measurement(f"{cpus} CPUs, {genomes} genomes: {name}", tuple(found[name] for found in runs), **traits)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cpus", type=int, nargs="+", default=[128, 128, 512])
    parser.add_argument("--genomes", type=int, nargs="+", default=[128, 1000, 1000], help="of each --cpus")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    launches = LAUNCHES
    if arguments.smallest:
        arguments.cpus, arguments.genomes, arguments.repeats, launches = [8], [2], 1, 2
    measurements.show_machine()
    holds = True
    for cpus, genomes in zip(arguments.cpus, arguments.genomes, strict=True):
        with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
            found = bench(Path(folder), cpus, genomes, launches, arguments.repeats)
            holds &= measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
