"""What the tests of Slurm share: cohorts of small jobs, Snakemake on a cluster, and what the ledger says afterwards."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cluster import ROOT, Cluster, missing
from conftest import SHORT_JVMS, tiny_cohort
from launching import wait_until

from gpd.commands import gpd_demo, gpd_ledger
from gpd.records import ledger_check
from gpd.records.ledger import read_records
from gpd.text.cpu_lists import parse_cpus

PROFILE = ROOT / "profiles" / "slurm"
# `sacct` needs slurmdbd; accounts, too
OPTIONS = ("--profile", PROFILE, "--latency-wait", "5", "--slurm-init-seconds-before-status-checks", "1")
OPTIONS += ("--slurm-status-command", "squeue")
NARROW = ("--cores", "1")  # the widest job: nodes have one CPU where the host has two
RUN_S = 600.0  # the most that a run may take, on a machine with much else to do

# Jobs like those of the pipelines, but for their commands, which a test writes.
WORKFLOW = """\
configfile: "config/config.yaml"


include: "{rules}/common.smk"


localrules:
    gather,


rule all:
    input:
        "results/gather/all.txt",


rule write:
    output:
        "results/write/{{sample}}.txt",
    log:
        "logs/write/{{sample}}.log",
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: {mem_mb},
        runtime=lambda wildcards, attempt: {runtime},
        try_=lambda wildcards, attempt: attempt,
    shell:
        "(ATTEMPT={{resources.try_}}; source tasks/{{wildcards.sample}}.sh; echo done > {{output:q}}) &> {{log:q}}"


rule gather:
    input:
        expand("results/write/{{sample}}.txt", sample=samples),
    output:
        "results/gather/all.txt",
    log:
        "logs/gather/all.log",
    threads: 1
    resources:
        mem_mb=500,
    shell:
        "cat {{input:q}} > {{output:q}} 2> {{log:q}}"


include: "{rules}/made_of.smk"
include: "{rules}/defaults.smk"
"""
# A job at work holds a lock, which the kernel takes from it with its last process: so it is seen whether it was doubled
TASK = """\
exec 8>>"trace/{sample}.lock"
flock -n 8 || echo doubled >>"trace/{sample}"
echo "begin $SLURM_JOB_ID $SLURM_JOB_NODELIST $GPD_CPUS" >>"trace/{sample}"
{command}
echo end >>"trace/{sample}"
"""
HOLD = "while [ -e hold/{sample} ]; do sleep 0.1; done"


@contextmanager
def cluster_for_tests(**options: object) -> Iterator[Cluster]:
    """A cluster whose allocations this process sees, too; skips where there can't be one."""
    if lacking := missing():
        pytest.skip(f"a cluster of Slurm needs {', '.join(lacking)}; make test-slurm installs it")
    with Cluster.started(**options) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPD_RUNTIME_DIR", cluster.environment["GPD_RUNTIME_DIR"])
        yield cluster


@dataclass
class Run:
    """A Snakemake that submits to a cluster."""

    process: subprocess.Popen
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def end(self) -> int:
        """Its exit code, when it has ended."""
        try:
            return self.process.wait(timeout=RUN_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {RUN_S:.0f} s: {self.output}") from None
        finally:
            self.process.kill()  # nothing, where it has ended


@dataclass
class Cohort:
    """Samples whose jobs do what the test says, in a folder of their own."""

    folder: Path
    cluster: Cluster
    samples: Sequence[str]
    runs: list[Run] = field(default_factory=list)

    @classmethod
    def made(
        cls, folder: Path, cluster: Cluster, tasks: Mapping[str, str], mem_mb: str = "500", runtime: str = "10"
    ) -> "Cohort":
        """`tasks`: a job's commands by sample. `mem_mb`, `runtime`: expressions of Python's over `attempt`."""
        tiny_cohort(folder, samples=[*tasks], lanes=1).write()
        for name in ("tasks", "trace", "hold"):
            (folder / name).mkdir()
        for sample, command in tasks.items():
            script = TASK.format(sample=sample, command=command.format(sample=sample))
            (folder / "tasks" / f"{sample}.sh").write_text(script)
        text = WORKFLOW.format(rules=ROOT / "workflow" / "rules", mem_mb=mem_mb, runtime=runtime)
        (folder / "Snakefile").write_text(text)
        return cls(folder, cluster, [*tasks])

    def start(self, *words: object, through: Sequence[object] = ()) -> Run:
        own = ("--snakefile", "Snakefile", "--cores", "2", "--retries", "0")
        run = start(self.cluster, self.folder, *own, *words, through=through)
        self.runs.append(run)
        return run

    def run(self, *words: object) -> Run:
        """A run that has ended."""
        run = self.start(*words)
        run.end()
        return run

    def hold(self, *samples: str) -> None:
        """Have the jobs of these samples, whose task is HOLD, go on until let_go()."""
        for sample in samples:
            (self.folder / "hold" / sample).touch()

    def let_go(self) -> None:
        for path in (self.folder / "hold").iterdir():
            path.unlink()

    def trace(self, sample: str) -> list[list[str]]:
        """What a sample's jobs have told: begin JOB NODE CPUS, end, doubled."""
        path = self.folder / "trace" / sample
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def begun(self, sample: str, times: int = 1) -> tuple[int, str]:
        """Wait until a sample's job has begun so often; its number and its node."""
        run = self.runs[-1]
        wait_until(lambda: self.begins(sample)[times - 1 :] or run.process.poll() is not None, timeout_s=RUN_S)
        assert self.begins(sample)[times - 1 :], run.output
        _, job, node, *_ = self.begins(sample)[-1]
        return int(job), node

    def begins(self, sample: str) -> list[list[str]]:
        return [words for words in self.trace(sample) if words[0] == "begin"]

    def attempts(self, sample: str) -> list[dict]:
        """The records of a sample's jobs, in the order of their beginning."""
        found = [record for record in records(self.folder) if record["wildcards"].get("sample") == sample]
        return sorted(found, key=lambda record: record["attempt"])

    def is_done(self) -> bool:
        return (self.folder / "results/gather/all.txt").exists()

    def doubled(self) -> list[str]:
        """Samples two of whose jobs were at work at once."""
        return [sample for sample in self.samples if ["doubled"] in self.trace(sample)]

    def end(self) -> None:
        """End what a failed test has left."""
        self.let_go()
        for run in self.runs:
            run.process.kill()
            run.process.wait()


def start(cluster: Cluster, folder: Path, *words: object, through: Sequence[object] = ()) -> Run:
    """Start Snakemake in a folder, as a person on a login node would, or `through` a command that takes its own."""
    log = folder / f"snakemake.{len([*folder.glob('snakemake.*.log')])}.log"
    command = [*through, sys.executable, Path(__file__).with_name("snakemake_soon.py"), *OPTIONS, *words]
    environment = cluster.environment | SHORT_JVMS
    with log.open("wb") as output:
        process = subprocess.Popen([*map(str, command)], cwd=folder, env=environment, stdout=output, stderr=output)
    return Run(process, log)


def records(folder: Path) -> list[dict]:
    """Every record of a run that holds up, those of jobs included whose launchers were killed."""
    path = gpd_ledger.find(folder)
    assert ledger_check.check(path).problems == ()
    return [json.loads(line) for line, _ in read_records(path)]


def demo_through_slurm(pipeline: str, folder: Path, *size: str) -> str:
    """Take a demo's cohort of this size through two nodes of one CPU to its end; say how it went."""
    gpd_demo.simulate(pipeline, folder, 1, *size)
    with cluster_for_tests() as cluster:
        began = time.monotonic()
        snakefile = ROOT / "workflow" / "Snakefile"
        run = start(cluster, folder, "--snakefile", snakefile, "--configfile", "config.yaml", *NARROW)
        assert run.end() == 0, run.output
        wall_s = time.monotonic() - began
        found = records(folder)
        assert [record["cause"] for record in found if record["cause"]] == []
        assert within_grants(cluster, found)
        nodes = {cluster.job(number)["NodeList"] for number in submitted(run)}
    assert nodes == {node.name for node in cluster.nodes}
    return f"{pipeline} demo through Slurm: {len(submitted(run))} jobs on {len(nodes)} nodes in {wall_s:.0f} s"


def within_grants(cluster: Cluster, found: Sequence[dict]) -> bool:
    """Whether each job was seen on CPUs of one node alone."""
    grants = [node.cpus for node in cluster.nodes]
    seen = (parse_cpus(text) for record in found for name in ("cpus", "cpus_seen") if (text := record[name]))
    return all(any(cpus <= grant for grant in grants) for cpus in seen)


def submitted(run: Run) -> list[int]:
    """The numbers of the Slurm jobs that a run has submitted."""
    return [int(number) for number in re.findall(r"SLURM jobid (\d+)", run.output)]
