"""A study on the node types of a cluster: one exclusive node of each runs it whole, as a batch job of Slurm.

Each type has a folder in that of the study, and in it the study's settings as they were when the job was submitted. The
job is `gpd throughput run` on those; it goes on where it stopped, whether Slurm starts it again or a person does.
"""

import hashlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import yaml

from gpd.cluster import slurm
from gpd.errors import GpdError
from gpd.lab import runner
from gpd.lab.pool import Source
from gpd.lab.runner import StudyPlan
from gpd.lab.study import Study
from gpd.processes import ProcessError
from gpd.records.run_spec import PipelineName

SETTINGS, LOG = "throughput.yaml", "slurm-%j.out"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LOOK_S = 5.0
LONGEST_LINE = 160  # characters
ERROR = re.compile(r"^(?:gpd |outputs disagree|slurmstepd|srun: )")  # lines of a log that say why a job failed
DISAGREE = "outputs disagree"


class BatchError(GpdError):
    """Types of nodes that can't be asked to run a study; the message is a line a fault."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The part of a study that one type of node runs: a partition, a feature that nodes have, or both."""

    partition: str
    feature: str
    plan: StudyPlan

    @property
    def name(self) -> str:
        return self.plan.study.name

    @property
    def options(self) -> list[str]:
        """Those of sbatch; what is empty is not asked for."""
        wanted = {"partition": self.partition, "constraint": self.feature}
        return [f"--{option}={value}" for option, value in wanted.items() if value]

    @property
    def folder(self) -> Path:
        return self.plan.study.folder.absolute()

    @property
    def job_name(self) -> str:
        """The name by which its job is found again: no two folders share one."""
        digest = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:8]
        return f"gpd-{self.folder.parent.name}-{self.name}-{digest}"


def batches(study: Study, sources: Mapping[PipelineName, Source], partitions: str, features: str) -> list[Batch]:
    """The study of each type of node: of two lists with commas each partition with each feature.

    How many cores a node has is not known here, and no plan of ours asks for it. Raises BatchError.
    """
    if study.on_nodes:
        raise BatchError("modes: cluster gives each job to Slurm: without --slurm, or with modes that one node can run")
    for option, names in (("--slurm", partitions), ("--constraint", features)):
        for name in names.split(",") if names else ():
            if not NAME.fullmatch(name):
                raise BatchError(f"{option} {names}: {name!r}: a name has letters, digits, '.', '_' and '-' alone")
    found = []
    for partition, feature in product(partitions.split(","), features.split(",")):
        name = "-".join(filter(None, (partition, feature)))
        own = replace(study, directory=str(study.folder.absolute()), name=name)
        found.append(Batch(partition, feature, StudyPlan(own, sources, cores=1)))
    if len({batch.name for batch in found}) < len(found):
        raise BatchError(f"{', '.join(batch.name for batch in found)}: two of these are one")
    return found


def submit(batch: Batch, settings: Path) -> str:
    """Submit a batch's job, or find the one that is in the queue; its number, empty where nothing is left to run.

    Raises ProcessError where Slurm refuses, BatchError where the job that is there has other settings.
    """
    given = yaml.safe_load(settings.read_text(encoding="utf-8"))
    own = {"name": batch.name, "directory": batch.plan.study.directory}  # other paths start where the job does: here
    wanted, written = yaml.safe_dump({**given, **own}, sort_keys=False), batch.folder / SETTINGS
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
        return slurm.submit(batch.job_name, batch.folder / LOG, command, *batch.options)
    except ProcessError:
        if not begun:
            shutil.rmtree(batch.folder)
        raise


def follow(numbers: Mapping[Batch, str], show: Callable[[Batch, str], None]) -> list[Batch]:
    """Wait for the jobs of batches, and show how each stands when that changes; those whose study ran to its end."""
    left, shown, done = dict(numbers), dict.fromkeys(numbers, ""), []
    while left:
        try:
            stands = {job.number: f": {job.stands}" for job in slurm.queue()}
        except ProcessError as error:  # its daemon may be started anew meanwhile
            stands = dict.fromkeys(left.values(), f": {error}")
        for batch, number in list(left.items()):
            line = stands.get(number)
            if line is None:
                del left[batch]
                why = failure(batch, number)
                line = f" failed: {why}" if why else " is done"
                done += [] if why else [batch]
            if line != shown[batch]:
                shown[batch] = line
                show(batch, f"job {number}{line}")
        if left:
            time.sleep(LOOK_S)
    return done


def failure(batch: Batch, number: str) -> str:
    """Why a job that is over did not run its study to a good end, by its log; empty where it did."""
    log = batch.folder / LOG.replace("%j", number)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    lines = [line.strip()[:LONGEST_LINE] for line in lines if line.strip()]
    if runner.nothing_left(batch.plan) and not any(line.startswith(DISAGREE) for line in lines):
        return ""
    why = [line for line in lines if ERROR.match(line)][-1:] or lines[-1:] or ["it is over, and runs are left"]
    return f"{why[0]}; its log: {log}"
