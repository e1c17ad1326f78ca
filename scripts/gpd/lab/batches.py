"""A study on the node types of a cluster: one exclusive node of each runs it whole, as a batch job of Slurm.

Each type has a folder in that of the study, and in it the study's settings as they were when the job was submitted. The
job is `gpd throughput run` on those; it goes on where it stopped, whether Slurm starts it again or a person does.
"""

import hashlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import yaml

from gpd.cluster import slurm
from gpd.cluster.slurm import FORGOTTEN, Job, SlurmError
from gpd.errors import GpdError
from gpd.lab import runner
from gpd.lab.pool import Source
from gpd.lab.runner import Plan
from gpd.lab.study import Study
from gpd.records.cell import PipelineName
from gpd.text.formats import counted

SETTINGS, LOG = "throughput.yaml", "slurm-%j.out"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LOOK_S = 5.0
TAIL_BYTES = 2**14  # of a job's log
LONGEST_LINE = 160  # characters
ERROR = re.compile(r"^(?:gpd |outputs disagree|slurmstepd: |srun: )")  # lines of a log that say why a job failed
ENDS = {
    "CANCELLED": "was cancelled",
    "DEADLINE": "could not end before its deadline",
    "NODE_FAIL": "lost its node, and was not queued again",
    "OUT_OF_MEMORY": "was ended for its memory",
    "PREEMPTED": "was preempted, and not queued again",
    "TIMEOUT": "reached its time limit",
    FORGOTTEN: "is over, and Slurm no longer knows how it ended",
}


class BatchError(GpdError):
    """Types of nodes that can't be asked to run a study; the message is a line a fault."""


@dataclass(frozen=True)
class NodeType:
    """A type of node as Slurm knows it: a partition, a feature that nodes have, or both; empty is not asked for."""

    partition: str
    feature: str

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.partition, self.feature)))

    @property
    def options(self) -> list[str]:
        """What sbatch is asked for."""
        asked = {"partition": self.partition, "constraint": self.feature}
        return [f"--{option}={value}" for option, value in asked.items() if value]


@dataclass(frozen=True, eq=False)
class Batch:
    """The part of a study that one type of node runs."""

    kind: NodeType
    plan: Plan

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def folder(self) -> Path:
        return self.plan.study.folder.absolute()

    @property
    def job_name(self) -> str:
        """The name by which its job is found again: no two folders share one."""
        digest = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:8]
        return f"gpd-{self.folder.parent.name}-{self.name}-{digest}"

    def log(self, number: str) -> Path:
        return self.folder / LOG.replace("%j", number)


@dataclass(frozen=True)
class End:
    """What came of a batch: whether its study ran to its end, and in words."""

    batch: Batch
    well: bool
    said: str


def node_types(partitions: str, features: str) -> list[NodeType]:
    """The node types of two lists with commas, each partition with each feature. Raises BatchError."""
    kinds = [NodeType(*each) for each in product(partitions.split(","), features.split(","))]
    for option, given in (("--slurm", partitions), ("--constraint", features)):
        for name in given.split(",") if given else ():
            if not NAME.fullmatch(name):
                raise BatchError(f"{option} {given}: {name!r}: a name has letters, digits, '.', '_' and '-' alone")
    if len({kind.name for kind in kinds}) < len(kinds):
        raise BatchError(f"{', '.join(kind.name for kind in kinds)}: two of these are one")
    return kinds


def batches(study: Study, sources: Mapping[PipelineName, Source], kinds: Iterable[NodeType]) -> list[Batch]:
    """The study of each type of node; how many cores a node has is not known here, and no plan of ours asks for it.

    Raises BatchError where the study's jobs go to Slurm themselves.
    """
    if study.on_nodes:
        raise BatchError("modes: cluster gives each job to Slurm: without --slurm, or with modes that one node can run")
    studies = {kind: replace(study, directory=str(study.folder.absolute()), name=kind.name) for kind in kinds}
    return [Batch(kind, Plan(own, sources, cores=1)) for kind, own in studies.items()]


def submit_all(wanted: Sequence[Batch], settings: Path) -> tuple[dict[Batch, str], dict[Batch, str]]:
    """Submit the job of each batch; the numbers of jobs, and in words what kept others from being submitted.

    Raises BatchError where all were refused.
    """
    numbers, refused = {}, {}
    for batch in wanted:
        try:
            numbers[batch] = submit(batch, settings)
        except GpdError as error:
            refused[batch] = str(error)
    if not numbers:
        raise BatchError("\n".join(f"{batch.name}: {said}" for batch, said in refused.items()))
    return numbers, refused


def submit(batch: Batch, settings: Path) -> str:
    """Submit a batch's job, or find the one that is in the queue; its number, empty where nothing is left to run.

    Raises SlurmError where Slurm refuses, BatchError where the job that is there has other settings.
    """
    wanted, written = _settings(batch, settings), batch.folder / SETTINGS
    if number := slurm.find(batch.job_name):
        if written.read_text(encoding="utf-8") != wanted:
            raise BatchError(f"job {number} is there already, with other settings: end it first: scancel {number}")
        return number
    begun = batch.folder.is_dir()
    if begun and runner.nothing_left(batch.plan):
        return ""
    batch.folder.mkdir(parents=True, exist_ok=True)
    written.write_text(wanted, encoding="utf-8")
    command = [sys.executable, "-m", "gpd", "throughput", "run", str(written)]
    try:
        return slurm.submit(batch.job_name, batch.folder / LOG, command, *batch.kind.options)
    except SlurmError:
        if not begun:
            shutil.rmtree(batch.folder)
        raise


def _settings(batch: Batch, settings: Path) -> str:
    """The study's settings with the batch's own name and folder; paths in them start where the job does: here."""
    given = yaml.safe_load(settings.read_text(encoding="utf-8"))
    own = {"name": batch.plan.study.name, "directory": batch.plan.study.directory}
    return yaml.safe_dump({**given, **own}, sort_keys=False)


# ---- while they run ----------------------------------------------------------------------------------


def follow(numbers: Mapping[Batch, str], tell: Callable[[Batch, str], None]) -> Iterator[End]:
    """Wait for the jobs of batches, tell how each stands when that changes, and what came of each when it is over."""
    left, told = dict(numbers), dict.fromkeys(numbers, "")
    while left:
        for batch, number in list(left.items()):
            try:
                job = slurm.look(number)
            except SlurmError as error:  # its daemon may be started anew meanwhile
                said = f"job {number}: {error}"
            else:
                said = standing(batch, job)
                if job.over:
                    del left[batch]
                    yield end(batch, job)
                    continue
            if said != told[batch]:
                tell(batch, said)
                told[batch] = said
        if left:
            time.sleep(LOOK_S)


def standing(batch: Batch, job: Job) -> str:
    """How a job stands, in words; of one that runs the last line of its log."""
    again = f", queued again {counted(job.restarts, 'time')}" if job.restarts else ""
    if job.state == "PENDING":
        return f"job {job.number} waits{f' ({job.reason})' if job.reason else ''}{again}"
    said = _tail(batch.log(job.number))[-1:]
    state = f"runs on {job.nodes}" if job.state == "RUNNING" else job.state.lower().replace("_", " ")
    return ": ".join([f"job {job.number} {state}{again}", *said])


def end(batch: Batch, job: Job) -> End:
    """What came of a job that is over."""
    where = f" on {job.nodes}" if job.nodes else ""
    if job.state == "COMPLETED" or (job.state == FORGOTTEN and runner.nothing_left(batch.plan)):
        return End(batch, True, f"job {job.number}{where} is done")
    lines = _tail(batch.log(job.number))
    if job.state == "FAILED":
        why = [line for line in lines if ERROR.match(line)][-1:] or lines[-1:]
        how = ": ".join([f"failed with exit code {job.exit_code}", *why])
    else:
        how = ENDS.get(job.state, job.state.lower().replace("_", " "))
    return End(batch, False, f"job {job.number}{where} {how}; its log: {batch.log(job.number)}")


def _tail(log: Path) -> Sequence[str]:
    """The last lines of a log that say anything; none where there is no log yet."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.strip()[:LONGEST_LINE] for line in text.splitlines() if line.strip()]
