"""Whether many CPUs have work: Snakemake, the executor `pinned` and its allocator on made-up machines of 128 and 512.

    python scripts/bench/many.py [--cpus 128 512] [--genomes 1000 1000] [--smallest]

Genomes of 30x go through the germline workflow, one call set each, with the profile `throughput`. No command is run:
each job takes as long as the rehearsal's laws say of its rule, in virtual time. The plan, the choice of jobs, their
preparation and the choice of CPUs are the real ones, and the time that these take goes by in virtual time, too. What
the launcher adds to a job is measured on a machine of as many CPUs, all but one of them taken. Steps are not scattered,
so that the end, where too few samples are left for all CPUs, is worse than in a real run.
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


def measure(found: dict[str, Any], cpus: int, genomes: int) -> Iterator[Measurement]:
    what, every = f"{cpus} CPUs, {genomes} genomes", found["jobs"]
    began = min(job["start"] for job in every if job["rule"] == "map_and_sort")
    jobs = [job for job in every if job["start"] >= began]
    ended, all_begun = max(job["end"] for job in jobs), max(j["start"] for j in jobs if j["rule"] == "map_and_sort")
    yield Measurement(f"{what}: jobs", (len(every),), decimals=0)
    yield Measurement(f"{what}: hours, virtual", ((ended - began) / 3600,), decimals=1)
    yield Measurement(f"{what}: CPU utilisation until the last begins", (utilisation(jobs, cpus, all_begun),), GOAL)
    yield Measurement(f"{what}: CPU utilisation", (utilisation(jobs, cpus, ended),), GOAL)
    split = sum(job["split"] for job in jobs if job["threads"] > 1)
    yield Measurement(f"{what}: allocations that are split over L3 caches though one had room", (split,), decimals=0)
    for name, key in (("Snakemake and executor", "cpu_s"), ("of it the choice of CPUs", "choosing_s")):
        yield Measurement(f"{what}: {name}, CPU ms a job", (1000 * found[key] / len(every),), decimals=2)
    yield Measurement(f"{what}: Snakemake's peak memory, MiB", (found["peak_mib"],), decimals=0)


def bench(folder: Path, cpus: int, genomes: int, launches: int) -> Iterator[Measurement]:
    each_s = launches_s(folder / "launches", cpus, launches)
    cost_ms = tuple(1000 * each for each in each_s)
    yield Measurement(f"{cpus} CPUs, all but one taken: a launch, CPU ms", cost_ms, decimals=1)
    yield from measure(run(folder / "run", cpus, genomes, statistics.median(each_s)), cpus, genomes)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cpus", type=int, nargs="+", default=[128, 128, 512])
    parser.add_argument("--genomes", type=int, nargs="+", default=[128, 1000, 1000], help="of each --cpus")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cpus, arguments.genomes = [8], [2]
    measurements.show_machine()
    holds = True
    for cpus, genomes in zip(arguments.cpus, arguments.genomes, strict=True):
        with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
            found = bench(Path(folder), cpus, genomes, 2 if arguments.smallest else LAUNCHES)
            holds &= measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
