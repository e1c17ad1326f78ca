"""A study for tests: runs as a run leaves them, with times short enough to add up by hand. Tests write it anew.

Every record of a job starts from a real one of ../germline_demo/ledger.jsonl; a small list scheduler on two CPUs gives
it its times, in whole tenths of a second. The same seed writes the same bytes.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
REAL_LEDGER = HERE.parent / "germline_demo" / "ledger.jsonl"
TEMPLATE = json.loads(REAL_LEDGER.read_text().splitlines()[-1])
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
CORES = 2
READS = {"HG001": 400_000, "HG002": 380_000, "HG003": 420_000, "HG004": 400_000}
READ_LENGTH = 100
JAVA = "Debian, 17.0.15+6-Debian-1deb12u1, OpenJDK 64-Bit Server VM"
PAIR_HMM = "AVX2, OpenMP multi-threaded AVX-accelerated native"
OUT_OF_MEMORY = "java.lang.OutOfMemoryError: Java heap space"

# rule, step, wildcards beside the sample (an output's name is told by its last), wall time in tenths of a second,
# peak memory MiB, the rules that it waits for
GERMLINE = (
    ("map_and_sort", "map_and_sort", {"unit": "L001"}, 200, 180.0, ()),
    ("mark_duplicates", "mark_duplicates", {}, 40, 250.0, ("map_and_sort",)),
    ("base_recalibrator", "base_recalibration", {}, 120, 900.0, ("mark_duplicates",)),
    ("base_recalibration", "base_recalibration", {}, 80, 700.0, ("base_recalibrator",)),
    ("haplotype_caller", "haplotype_caller", {}, 500, 1200.0, ("base_recalibration",)),
    ("samtools_stats", "qc", {}, 4, 10.0, ("haplotype_caller",)),
    ("genotype_gvcfs", "genotype_gvcfs", {}, 90, 600.0, ("haplotype_caller",)),
    ("variant_recalibration", "variant_recalibration", {"mode": "snps"}, 50, 500.0, ("genotype_gvcfs",)),
    ("variant_recalibration", "variant_recalibration", {"mode": "indels"}, 40, 500.0, ("genotype_gvcfs",)),
    ("apply_variant_recalibration",) * 2 + ({}, 40, 400.0, ("variant_recalibration",)),
)
CALLSET_RULES = ("genotype_gvcfs", "variant_recalibration", "apply_variant_recalibration")
TUXEDO = (
    ("align", "align", {}, 150, 300.0, ()),
    ("assemble", "assemble", {}, 100, 120.0, ("align",)),
    ("quantify", "quantify", {}, 60, 150.0, ("align", "merge")),
)
TUXEDO_COHORT = (
    ("merge", "merge", {}, 20, 60.0, ("assemble",)),
    ("differential_expression", "differential_expression", {}, 130, 400.0, ("quantify",)),
    ("visualize", "visualize", {}, 90, 350.0, ("differential_expression",)),
)


@dataclass
class Job:
    """One attempt at a job to be shared; times in tenths of a second."""

    rule: str
    step: str
    sample: str | None
    wildcards: dict[str, str]
    wall: int
    rss_mib: float
    after: tuple[str, ...]
    attempt: int = 1
    cause: str | None = None
    start: int = 0
    cpu: int = 0

    @property
    def end(self) -> int:
        return self.start + self.wall

    def waits_for(self, other: "Job") -> bool:
        shared = None in (self.sample, other.sample) or self.sample == other.sample
        again = (self.rule, self.wildcards) == (other.rule, other.wildcards) and self.attempt > other.attempt
        return shared and (other.rule in self.after or again)


@dataclass
class RunSpec:
    """A run: its plan, and what happens in it. `slow` stretches every job; `out_of_memory` is a sample that fails."""

    pipeline: str
    samples: tuple[str, ...]
    mode: str
    repeat: int
    slow: float = 1.0
    warm_up: bool = False
    out_of_memory: str | None = None
    finished: bool = True
    jobs: list[Job] = field(default_factory=list)

    @property
    def binding(self) -> str:
        return "compact" if self.mode == "shared" else "none"

    @property
    def name(self) -> str:
        when = f"r{self.repeat}" if self.repeat else "warmup1"
        return f"{self.pipeline}-n{len(self.samples)}-{self.mode}-{self.binding}-{when}"

    @property
    def processes(self) -> dict[str, tuple[str, ...]]:
        return {".": self.samples} if self.mode == "shared" else {f"samples/{s}": (s,) for s in self.samples}


RUNS = (
    RunSpec("germline", ("HG002",), "shared", 0, 1.1, warm_up=True),
    RunSpec("germline", ("HG003",), "shared", 1),
    RunSpec("germline", ("HG001",), "shared", 2, 1.04),
    RunSpec("germline", ("HG003", "HG001"), "shared", 1, 1.1),
    RunSpec("germline", ("HG002", "HG004"), "shared", 2, 1.06),
    RunSpec("germline", ("HG003",), "independent", 1, 1.06),
    RunSpec("germline", ("HG001",), "independent", 2, 1.12),
    RunSpec("germline", ("HG003", "HG001"), "independent", 1, 1.3),
    RunSpec("germline", ("HG002", "HG004"), "independent", 2, 1.38, out_of_memory="HG004"),
    RunSpec("germline", ("HG001", "HG002", "HG003", "HG004"), "shared", 1, finished=False),
    RunSpec("tuxedo", ("HG001", "HG002"), "shared", 1),
)


def digest(*names: object) -> str:
    return sha256(" ".join(map(str, names)).encode()).hexdigest()


def plan_jobs(spec: RunSpec, draw: random.Random) -> Iterator[Job]:
    """The jobs of a run, each sample's in the order of the pipeline, those of the cohort last."""

    def stretched(tenths: int) -> int:
        return round(tenths * spec.slow * draw.uniform(0.97, 1.03))

    for sample in spec.samples:
        for rule, step, more, wall, rss_mib, after in GERMLINE if spec.pipeline == "germline" else TUXEDO:
            kind = "callset" if rule in CALLSET_RULES else "sample"
            job = Job(rule, step, sample, {kind: sample, **more}, stretched(wall), rss_mib, after)
            if sample != spec.out_of_memory or rule != "haplotype_caller":
                yield job
                continue
            for attempt in (1, 2):  # a retry, and then the sample is given up
                yield Job(rule, step, sample, job.wildcards, 200, 1900.0, after, attempt, "out_of_memory")
            break
    if spec.pipeline == "tuxedo":
        for rule, step, more, wall, rss_mib, after in TUXEDO_COHORT:
            yield Job(rule, step, None, dict(more), stretched(wall), rss_mib, after)


def schedule(spec: RunSpec, draw: random.Random) -> list[Job]:
    """Give every job its time and CPU: one job a CPU; the sample first that began first. Returns them as they end."""
    waiting, done = list(plan_jobs(spec, draw)), []
    free = [1] * CORES  # a moment passes before the first job
    while waiting:
        ready = [job for job in waiting if not any(job.waits_for(other) for other in waiting)]
        cpu = free.index(min(free))
        ready_at = {id(job): max([free[cpu], *(o.end for o in done if job.waits_for(o))]) for job in ready}
        job = min(ready, key=lambda job: ready_at[id(job)])
        job.start, job.cpu = ready_at[id(job)], cpu
        free[cpu] = job.end
        waiting.remove(job)
        done.append(job)
    return sorted(done, key=lambda job: job.end)


def moment(start: datetime, tenths: float) -> str:
    """A time as run.json has it."""
    return (start + timedelta(milliseconds=100 * tenths)).isoformat()


def clock(start: datetime, tenths: float) -> str:
    """A time as the ledger has it, in nanoseconds."""
    return (start + timedelta(milliseconds=100 * tenths)).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def record(spec: RunSpec, start: datetime, job: Job, draw: random.Random) -> dict:
    """One line of a ledger."""
    bound = spec.binding != "none"
    cpus = str(job.cpu) if bound else None
    cpu_s = job.wall / 10 - (0.1 if job.wall > 10 else 0)
    name = "/".join(job.wildcards.values()) or "cohort"
    failed = {"exit_code": 137, "signal": 9, "cause": job.cause, "message": OUT_OF_MEMORY} if job.cause else {}
    return TEMPLATE | {
        "id": f"{draw.getrandbits(64):016x}",
        "run": spec.name,
        **{"rule": job.rule, "step": job.step, "wildcards": job.wildcards, "attempt": job.attempt},
        **{"threads": 1, "mem_mb": 2000, "binding": spec.binding, "cpus": cpus, "split": False if bound else None},
        **{"wait_s": 0.001 if bound else 0.0, "start": clock(start, job.start), "end": clock(start, job.end)},
        **{"wall_s": job.wall / 10, "cpu_s": cpu_s, "cpu_user_s": cpu_s, "cpu_system_s": 0.0},
        **{"peak_rss_mib": job.rss_mib, "peak_cgroup_mib": job.rss_mib + 10},
        **{"read_mib": 1.0, "write_mib": 2.5, "read_calls_mib": 3.0, "write_calls_mib": 3.5},
        **{"cpus_allowed": cpus or "0-1", "cpus_seen": str(job.cpu), "binding_ok": True if bound else None},
        **{"command_sha256": digest(job.rule, name), "log": f"logs/{job.rule}/{name}.log"},
        **{"host": "node1", "pid": 4000 + draw.randrange(1000)},
        **failed,
    }


def plan(spec: RunSpec) -> dict:
    """What spec.json holds."""
    return {
        **{"schema": 1, "study": "first", "name": spec.name, "pipeline": spec.pipeline, "n": len(spec.samples)},
        **{"mode": spec.mode, "binding": spec.binding, "repeat": spec.repeat, "warm_up": spec.warm_up},
        **{"samples": list(spec.samples), "seed": 1, "cache": "as_is", "cores": CORES, "threads": {}},
        **{"profile": "profiles/throughput", "config": "config/config.yaml", "directory": "."},
    }


def outcome(spec: RunSpec, start: datetime, jobs: list[Job]) -> dict:
    """What run.json holds."""
    wall = max(job.end for job in jobs) + 25  # Snakemake's start and end
    cpu_s = sum(job.wall / 10 for job in jobs) + 2.4 * len(spec.processes)
    whole = [sample for sample in spec.samples if sample != spec.out_of_memory]
    kinds = [("calls", [sample]) for sample in whole] if spec.pipeline == "germline" else [("expression", whole)]
    return {
        **{"schema": 1, "run": spec.name, "spec": plan(spec)},
        **{"start": moment(start, -20), "end": moment(start, wall - 20)},
        **{"wall_s": wall / 10, "cpu_s": round(cpu_s, 1), "snakemake_cpu_s": round(2.4 * len(spec.processes), 1)},
        "peak_disk_mib": 300.0 * len(spec.samples),
        "kept_disk_mib": 120.0 * len(spec.samples),
        "processes": [
            {"directory": name, "samples": list(samples), "exit_code": int(spec.out_of_memory in samples)}
            for name, samples in spec.processes.items()
        ],
        "inputs": {
            sample: {"digest": digest("reads", sample), "mib": READS[sample] / 10_000}
            | {"reads": READS[sample], "bases": READS[sample] * READ_LENGTH}
            for sample in spec.samples
        },
        "outputs": [{"kind": kind, "samples": samples, "digest": digest(kind, *samples)} for kind, samples in kinds],
        "settings": {
            **{"workflow_commit": "6d834e2", "workflow_digest": digest("workflow"), "config_digest": digest("config")},
            **{"reference_digest": digest("reference"), "gpd_version": "0.2.0"},
            "tools": {"bwa": "0.7.17", "gatk": "4.6.2.0", "java": JAVA},
            **{"environments_digest": digest("environments"), "environment": {}},
        },
        "profile_digest": digest("profile"),
        "binding": {"boundary": "l3", "memory": "default", "smt": False, "stall_s": 0}
        if spec.binding != "none"
        else None,
        "memory_applied": "default" if spec.binding != "none" else None,
        "pair_hmm": PAIR_HMM if spec.pipeline == "germline" else None,
        "host": HOST | {"load": load(spec)},
    }


DISK = {"mount": "/", "type": "ext4", "device": "vda", "rotational": None, "options": ["rw", "relatime"]}
HOST = {
    **{"hostname": "node1", "cpu_model": "AMD EPYC 7763 64-Core Processor", "sku": "7763", "sockets": 1, "cores": 2},
    **{
        "threads": 2,
        "usable_threads": 2,
        "smt": False,
        "base_mhz": 2450.0,
        "top_mhz": 3529.0,
        "governor": "performance",
    },
    **{"frequency_driver": "acpi-cpufreq", "boost": True, "microcode": "0xa0011d5", "l3_groups": 1, "l3_mib": 32.0},
    **{"l3": [{"cpus": "0-1", "mib": 32.0}], "numa_nodes": 1},
    **{"numa": [{"node": 0, "cpus": "0-1", "memory_mib": 16000.0}], "memory_mib": 16000.0},
    **{"memory_available_mib": 15000.0, "memory_speed_mts": 3200, "memory_type": "DDR4", "memory_modules": 2},
    **{"swap_mib": 0.0, "swap_used_mib": 0.0, "transparent_huge_pages": "madvise", "huge_pages": 0},
    **{"huge_page_mib": 2.0, "architecture": "x86_64", "kernel": "6.1.0-18-amd64"},
    **{"os": "Debian GNU/Linux 12 (bookworm)", "virtual_machine": "kvm", "container": "none", "cpu_quota_cpus": None},
    **{"memory_limit_mib": None, "open_files": 1024, "open_files_hard": 1048576},
    "file_systems": {
        "work": DISK | {"size_gib": 200.0, "free_gib": 100.0},
        "temp": DISK | {"size_gib": 200.0, "free_gib": 100.0},
    },
}


def load(spec: RunSpec) -> dict:
    """What else was at work before the start: the node was busy before the last run."""
    busy = spec.pipeline == "tuxedo"
    return {
        **{"load_1min": 0.9 if busy else 0.02, "load_5min": 0.4, "load_15min": 0.3, "window_s": 1.0},
        **{"busy_share": 0.45 if busy else 0.01, "steal_share": 0.0, "iowait_share": 0.0},
        **{"busy_cpus": 0.9 if busy else 0.02, "threshold_cpus": 0.1, "busy": busy},
    }


def dumps(record: dict) -> str:
    return json.dumps(record, indent=1) + "\n"


def write(folder: Path) -> None:
    """Write all runs; a run that was killed in its middle has the start of a ledger and no run.json."""
    draw = random.Random(1)
    for number, spec in enumerate(RUNS):
        start = START + timedelta(minutes=10 * number)
        jobs = schedule(spec, draw)
        jobs = jobs if spec.finished else jobs[:5]
        home = folder / spec.name
        for name, samples in spec.processes.items():
            own = [job for job in jobs if job.sample in (*samples, None)]
            lines = [json.dumps(record(spec, start, job, draw)) for job in own]
            (home / name).mkdir(parents=True, exist_ok=True)
            (home / name / "ledger.jsonl").write_text("\n".join(lines) + "\n")
        (home / "spec.json").write_text(dumps(plan(spec)))
        if spec.finished:
            (home / "run.json").write_text(dumps(outcome(spec, start, jobs)))
