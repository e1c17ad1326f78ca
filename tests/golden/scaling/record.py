"""A scaling study for tests: runs as a run leaves them, on a machine that does not exist. Tests write it anew.

Everything here is SYNTHETIC: 16 cores in four L3 groups and two NUMA nodes, whose times follow a law that is written
below, with a little noise. It shows what the report says of such figures, and nothing of any processor. Every record of
a job starts from a real one of ../germline_demo/ledger.jsonl. The same seed writes the same bytes.
"""

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpd.execution.snakemake_log import PlannedJob
from gpd.lab.single_run import RECORD
from gpd.lab.snakemake_process import LEDGER
from gpd.records.host import Cache, Host, NumaNode
from gpd.records.run import SPEC, ProcessRecord, RunRecord, Settings
from gpd.records.run_spec import ALONE, FULL, RunSpec
from gpd.scaling import scaling_plan
from gpd.scaling.scaling_plan import Node, Options

HERE = Path(__file__).parent
TEMPLATE = json.loads((HERE.parent / "germline_demo" / "ledger.jsonl").read_text().splitlines()[-1])
START = datetime(2026, 11, 21, 8, tzinfo=UTC)
NODE = Node(cores=16, mem_mb=64_000)
SAMPLE = "HG002"
CONFIG = {"pipeline": "germline", "gatk": "gatk4", "realigner": "none", "duplicates": "sambamba"}
SEED = 1
NOISE = 0.01  # of a time, one standard deviation
CUT_OFF = "map_and_sort-t8-scatter-numa-interleave-alone-r2"


@dataclass(frozen=True)
class Law:
    """A rule's seconds with one thread, its serial fraction, what each further thread of the node adds, its memory."""

    step: str
    rule: str
    t1_s: float
    serial: float
    crowded: float
    rss_mib: float
    mem_mb: int
    rss_a_thread_mib: float = 0.0


LAWS = (
    Law("map_and_sort", "map_and_sort", 400.0, 0.05, 0.01, 5000.0, 6000, 100.0),
    Law("base_recalibration", "base_recalibrator", 60.0, 1.0, 0.02, 900.0, 16_000),
    Law("base_recalibration", "base_recalibration", 40.0, 1.0, 0.02, 700.0, 16_000),
    Law("haplotype_caller", "haplotype_caller", 600.0, 0.7, 0.015, 1500.0, 16_000),
)
OPTIONS = (
    Options(("map_and_sort",), (4, 8, 16), ("compact", "scatter-numa-interleave"), (ALONE, FULL), 2, SEED),
    Options(("map_and_sort",), (1, 2), ("compact",), (ALONE,), 2, SEED),
    Options(("base_recalibration", "haplotype_caller"), (1, 2, 4), ("compact",), (ALONE, FULL), 2, SEED),
)


def specs() -> list[RunSpec]:
    """The runs, as they would be planned."""
    found = []
    for options in OPTIONS:
        planned = {
            threads: [PlannedJob(law.rule, (f"results/{law.rule}/{SAMPLE}",), threads, law.mem_mb) for law in LAWS]
            for threads in (1, *options.threads)
        }
        steps = [step for step in scaling_plan.steps_of(planned, (SAMPLE,), CONFIG) if step.name in options.steps]
        found += scaling_plan.specs(options, steps, NODE, "scaling")[0]
    return found


def seconds(law: Law, spec: RunSpec, draw: random.Random) -> float:
    """What a job takes: Amdahl's law, more on a crowded node, with noise; a binding over all sockets costs a tenth."""
    threads = spec.step.threads
    alone = law.t1_s * (law.serial + (1 - law.serial) / threads)
    crowd = 1 + law.crowded * threads * (spec.step.copies - 1)
    far = 1.1 if spec.binding.startswith("scatter") else 1.0
    return round(alone * crowd * far * draw.gauss(1, NOISE), 6)


def clock(moment: datetime) -> str:
    """A time as the ledger has it, in nanoseconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def ledger(spec: RunSpec, copy: int, start: datetime, draw: random.Random) -> tuple[list[dict], datetime]:
    """The records of one copy's jobs, one after the other, a tenth of a second between them; and when they ended."""
    lines, at = [], start + timedelta(milliseconds=100 * copy)
    threads = spec.step.threads
    cpus = f"{copy * threads}-{(copy + 1) * threads - 1}" if threads > 1 else str(copy)
    for law in LAWS:
        if law.step != spec.step.name:
            continue
        wall_s = seconds(law, spec, draw)
        end = at + timedelta(seconds=wall_s)
        cpu_s = round(law.t1_s * draw.gauss(1.02, NOISE), 6)
        line = {
            **{"id": f"{draw.getrandbits(64):016x}", "run": spec.name, "rule": law.rule, "step": law.step},
            **{"wildcards": {"sample": SAMPLE}, "threads": threads, "mem_mb": law.mem_mb, "cpus": cpus},
            **{"binding": spec.binding.split("-")[0], "start": clock(at), "end": clock(end), "wall_s": wall_s},
            **{"cpu_s": cpu_s, "cpu_user_s": cpu_s, "cpu_system_s": 0.0, "wait_s": 0.001, "binding_ok": True},
            **{"peak_rss_mib": law.rss_mib + law.rss_a_thread_mib * threads, "host": "synthetic"},
            **{"memory_applied": memory(spec), "split": False, "cpu_contention": False, "other_cpu_s": 0.0},
            **{"cpus_allowed": cpus, "cpus_seen": cpus, "log": f"logs/{law.rule}/{SAMPLE}.log"},
        }
        lines.append(TEMPLATE | line)
        at = end + timedelta(milliseconds=100)
    return lines, at


def memory(spec: RunSpec) -> str:
    return "interleave" if spec.binding.endswith("interleave") else "default"


HOST = Host(
    hostname="synthetic",
    cpu_model="Synthetic processor of 16 cores, made up for tests",
    sku="SYNTHETIC-16",
    sockets=1,
    cores=16,
    threads=16,
    usable_threads=16,
    smt=False,
    l3_groups=4,
    l3_mib=64.0,
    l3=tuple(Cache(f"{4 * group}-{4 * group + 3}", 16.0) for group in range(4)),
    numa_nodes=2,
    numa=(NumaNode(0, "0-7", 32_000.0), NumaNode(1, "8-15", 32_000.0)),
    memory_mib=64_000.0,
    virtual_machine="none",
    container="none",
)
SETTINGS = Settings(
    workflow_commit="synthetic",
    workflow_digest="0" * 64,
    environments_digest="0" * 64,
    config_digest="0" * 64,
    reference_digest="0" * 64,
    gpd_version="0.2.0",
    tools={"bwa": "0.7.17", "gatk": "4.6.2.0"},
    environment={},
)


def write(folder: Path) -> None:
    """Write all runs; one was cut off, and has no record."""
    draw, start = random.Random(SEED), START
    for spec in specs():
        home = folder / spec.name
        ends = []
        for copy, name in enumerate(spec.step.folders):
            lines, end = ledger(spec, copy, start, draw)
            ends.append(end)
            (home / name).mkdir(parents=True)
            (home / name / LEDGER).write_text("".join(json.dumps(line) + "\n" for line in lines))
        (home / SPEC).write_text(json.dumps(spec.to_dict()))
        wall_s = (max(ends) - start).total_seconds() + 4
        record = RunRecord(
            run=spec.name,
            spec=spec,
            start=start,
            end=start + timedelta(seconds=wall_s),
            wall_s=wall_s,
            cpu_s=2.4 * spec.step.copies,
            snakemake_cpu_s=2.4 * spec.step.copies,
            settings=SETTINGS,
            binding={"boundary": "l3", "memory": memory(spec), "smt": False, "stall_s": 0},
            memory_applied=memory(spec),
            processes=tuple(
                ProcessRecord(directory=name, samples=(SAMPLE,), exit_code=0) for name in spec.step.folders
            ),
            host=HOST,
        )
        if spec.name != CUT_OFF:
            (home / RECORD).write_text(record.to_json())
        start += timedelta(seconds=wall_s + 60)
