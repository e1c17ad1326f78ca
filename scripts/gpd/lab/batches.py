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
from gpd.errors import GpdError
from gpd.lab import runner
from gpd.lab.pool import Source
from gpd.lab.runner import Plan
from gpd.lab.study import Study
from gpd.processes import ProcessError
from gpd.records.run_spec import PipelineName

SETTINGS, LOG = "throughput.yaml", "slurm-%j.out"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LOOK_S = 5.0
TAIL_BYTES = 2**14  # of a job's log
LONGEST_LINE = 160  # characters
ERROR = re.compile(r"^(?:gpd |outputs disagree|slurmstepd|srun: )")  # lines of a log that say why a job failed
DISAGREE = "outputs disagree"


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

    Raises ProcessError where Slurm refuses, BatchError where the job that is there has other settings.
    """
    wanted, written = _settings(batch, settings), batch.folder / SETTINGS
    if number := next((job.number for job in slurm.queue() if job.name == batch.job_name), ""):
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
    except ProcessError:
        if not begun:
            shutil.rmtree(batch.folder)
        raise


def _settings(batch: Batch, settings: Path) -> str:
    """The study's settings with the batch's own name and folder; paths in them start where the job does: here."""
    given = yaml.safe_load(settings.read_text(encoding="utf-8"))
    own = {"name": batch.plan.study.name, "directory": batch.plan.study.directory}
    return yaml.safe_dump({**given, **own}, sort_keys=False)


# ---- while they run ----------------------------------------------------------------------------------


def follow(numbers: Mapping[Batch, str], tell: Callable[[Batch, str], None]) -> Iterator[Batch]:
    """Wait for the jobs of batches, tell how each stands when that changes; a batch comes when its job is over."""
    left, told = dict(numbers), dict.fromkeys(numbers, "")
    while left:
        try:
            stands = {job.number: job.stands for job in slurm.queue()}
        except ProcessError as error:  # its daemon may be started anew meanwhile
            stands = dict.fromkeys(left.values(), str(error))
        for batch, number in list(left.items()):
            if number not in stands:
                del left[batch]
                yield batch
            elif stands[number] != told[batch]:
                told[batch] = stands[number]
                tell(batch, f"job {number}: {told[batch]}")
        if left:
            time.sleep(LOOK_S)


def failure(batch: Batch, number: str) -> str:
    """Why a job that is over did not run its study to a good end; empty where it did. The runs tell, and the log."""
    log = batch.log(number)
    lines = _tail(log)
    if runner.nothing_left(batch.plan) and not any(line.startswith(DISAGREE) for line in lines):
        return ""
    why = [line for line in lines if ERROR.match(line)][-1:] or lines[-1:] or ["it is over, and runs are left"]
    return f"{why[0]}; its log: {log}"


def _tail(log: Path) -> Sequence[str]:
    """The last lines of a log that say anything; none where there is no log yet."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.strip()[:LONGEST_LINE] for line in text.splitlines() if line.strip()]
