"""Snakemake's scheduler `admission`: a sample is begun where the disk has room for all that it will take.

What samples take, the workflow has predicted (.snakemake/gpd/disk.json; resources/disk.py), with a margin for its
error. What those that are begun will still take of that is kept for them, and their jobs are never held back. A sample
that begins while nothing runs needs no margin: it fits, or nothing does. Among the jobs that may start, the scheduler
`greedy` chooses. Snakemake imports this package whenever it starts, so it does little.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake.scheduling.greedy import Scheduler as Greedy
from snakemake.scheduling.greedy import SchedulerSettings as SchedulerSettings  # Snakemake looks for it here
from snakemake_interface_common.exceptions import WorkflowError

PREDICTED = Path(".snakemake/gpd/disk.json")
USUAL_LIMIT = (100, 1)  # jobs, seconds: Snakemake's where nobody asks for another
BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's


@dataclass(eq=False)
class Sample:
    """A sample: bytes that it will take by rule (results, temporary), its jobs to be run, and all of its outputs."""

    name: str
    rules: Mapping[str, Sequence[int]]
    jobs: list[Any] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    begun: bool = False

    def held(self) -> int:
        """Bytes of its outputs, with the shards of those that are being made."""
        return sum(map(_bytes, self.outputs)) + sum(map(_bytes, self._shards()))

    def _shards(self) -> Iterator[str]:
        for path in self.outputs:
            with suppress(OSError):
                yield from (entry.path for entry in os.scandir(f"{path}.shards"))

    def lacks(self, left: Iterable[Any], one_disk: bool, margin: float = 1) -> tuple[float, float]:
        """Bytes that it will still take of the disk of results and of that of temporary files, with these jobs left.

        It takes `margin` times what is predicted. Of temporary files nobody knows whose they are, so that what a job
        has written of them counts twice.
        """
        spaces = [self.rules.get(job.rule.name, (0, 0)) for job in left]
        if not spaces:
            return 0, 0
        if one_disk:
            return max(0, margin * max(map(sum, spaces)) - self.held()), 0
        results, temporary = (margin * max(of_disk) for of_disk in zip(*spaces, strict=True))
        return max(0, results - self.held()), temporary


class Scheduler(Greedy):
    """Greedy's choice among the jobs of samples that are begun, of those for which there is room, and of no sample."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # With a limit, Snakemake looks at all ready jobs once more in each timespan for each job that has ended.
        settings = self.dag.workflow.scheduling_settings
        limit = settings.max_jobs_per_timespan
        if limit and (limit.max_jobs, limit.timespan) == USUAL_LIMIT:
            settings.max_jobs_per_timespan = None
        self.cores = 0
        self.samples: dict[str, Sample] = {}
        self.folders = ["", ""]  # of results, of temporary files
        self.one_disk = True
        self.margin = 1.0
        self.at_work: list[Sample] = []
        self.in_memory = False  # the temporary files
        self.memory_mb = self.largest_mb = 0  # of all jobs together, and of the largest
        self.doing: dict[Sample, list[Any]] = {}  # the jobs that run, or may start
        self.asked: dict[tuple[Sample, float], tuple[float, float]] = {}
        self.named: set[str] = set()

    def select_jobs(self, selectable_jobs, remaining_jobs, available_resources, input_sizes):
        if not self.cores:
            self.cores = available_resources["_cores"]  # of all: nothing runs yet
            self.memory_mb = available_resources.get("mem_mb", 0)
            self._begin()
        nothing_runs = available_resources["_cores"] == self.cores
        self._look([*self.dag.workflow.scheduler.running, *selectable_jobs])
        admitted, waiting = self._admit(selectable_jobs, input_sizes, nothing_runs)
        left = self._beside_files(available_resources, admitted)
        selected = super().select_jobs(admitted, remaining_jobs, left, input_sizes)
        if admitted and not selected and nothing_runs:
            first = max(admitted, key=lambda job: self.job_reward(job, input_sizes))
            selected = super().select_jobs(
                [first], remaining_jobs, available_resources, input_sizes
            )  # none would ever end
        for sample in self._samples_of(selected):
            if not sample.begun:
                sample.begun = True
                self.at_work.append(sample)
        idle = available_resources["_cores"] - sum(job.scheduler_resources.get("_cores", 0) for job in selected)
        if waiting and idle:
            self._tell(waiting, idle == self.cores)
        return selected

    def _begin(self) -> None:
        """Take in what is predicted, and which jobs and files are whose."""
        if not PREDICTED.exists():
            return
        predicted = json.loads(PREDICTED.read_text(encoding="utf-8"))
        self.folders = [_standing(predicted["results"]), _standing(predicted["temporary"])]
        self.margin = predicted["margin"]
        self.in_memory = predicted.get("in_memory", False) and bool(self.memory_mb)
        self.one_disk = len({Path(folder).stat().st_dev for folder in self.folders}) == 1
        self.samples = {name: Sample(name, needs["rules"]) for name, needs in predicted["samples"].items()}
        to_run = set(self.dag.needrun_jobs())
        for job in self.dag.jobs:
            for sample in self._samples_of([job]):
                sample.outputs += map(str, job.output)
                sample.jobs += [job] if job in to_run else []

    def _look(self, jobs: Iterable[Any]) -> None:
        """Take note of the jobs that run or may start."""
        self.doing = {}
        for job in jobs:
            for member in job if job.is_group() else [job]:
                for sample in self._samples_of([member]):
                    self.doing.setdefault(sample, []).append(member)

    def _samples_of(self, jobs: Iterable[Any]) -> Iterator[Sample]:
        for job in jobs:
            for member in job if job.is_group() else [job]:
                name = member.wildcards.get("sample", None) or member.wildcards.get("callset", None)
                if name in self.samples:
                    yield self.samples[name]

    def _admit(self, jobs: Sequence[Any], input_sizes: Mapping, nothing_runs: bool) -> tuple[list[Any], Sample | None]:
        """The jobs that may start, and the sample that waits for the disk, if one does.

        Samples are looked at in the order in which greedy takes them, no more than there are cores; one that does not
        fit lets others pass.
        """
        new: dict[Sample, list[Any]] = {}
        admitted = []
        for job in jobs:
            unbegun = [sample for sample in self._samples_of([job]) if not sample.begun]
            if unbegun:
                new.setdefault(unbegun[0], []).append(job)
            else:
                admitted.append(job)
        if not new:
            return admitted, None
        alone = nothing_runs and not admitted
        margin = 1 if alone else self.margin
        room, waiting, places = self._room(margin), None, self.cores
        self.largest_mb = max([self.largest_mb, *(job.scheduler_resources.get("mem_mb", 0) for job in jobs)])
        at_work = sum(sample in self.doing for sample in self.at_work)  # others wait for their cohort
        memory = self.memory_mb - self._files_mb(self.at_work) - self.largest_mb * at_work
        for sample in sorted(new, key=lambda each: max(self.job_reward(job, input_sizes) for job in new[each]))[::-1]:
            files_and_job = self._files_mb([sample]) + self.largest_mb
            fits = all(need <= there for need, there in zip(self._asked(sample, margin), room, strict=True))
            if fits and (alone or files_and_job <= memory or not self.in_memory):
                if alone:
                    alone, margin, room = False, self.margin, self._room(self.margin)
                memory -= files_and_job
                room = [there - need for need, there in zip(self._asked(sample, margin), room, strict=True)]
                admitted += new[sample]
                places -= 1
                if not places:
                    break
            else:
                waiting = waiting or sample
        return admitted, waiting

    def _files_mb(self, some: Iterable[Sample]) -> float:
        """Megabytes of memory that temporary files of samples will take, where they are in memory."""
        if not self.in_memory:
            return 0
        return sum(sum(each.lacks(self._left(each), self.one_disk)[not self.one_disk :]) for each in some) / 1e6

    def _beside_files(self, available: Mapping, admitted: Sequence[Any]) -> Mapping:
        """What of the resources is left for jobs beside the files in memory of samples that are begun, or will be."""
        if not self.in_memory:
            return available
        some = {*self.at_work, *self._samples_of(admitted)}
        return {**available, "mem_mb": max(0, available["mem_mb"] - round(self._files_mb(some)))}

    def _asked(self, sample: Sample, margin: float) -> tuple[float, float]:
        """What a sample that is not begun will take; looked up once, for its files stay as they are."""
        if (sample, margin) not in self.asked:
            self.asked[sample, margin] = sample.lacks(self._left(sample), self.one_disk, margin)
        return self.asked[sample, margin]

    def _left(self, sample: Sample) -> list[Any]:
        """Its jobs that are still to be done; where one failed, those that go on nonetheless: its other lanes."""
        failed = not self.dag.workflow.scheduler.failed.isdisjoint(sample.jobs)
        return [job for job in (self.doing.get(sample, ()) if failed else sample.jobs) if not self.dag.finished(job)]

    def _room(self, margin: float) -> list[float]:
        """Bytes of each disk that are free and not kept for samples at work."""
        room: list[float] = [*map(free_bytes, self.folders)]
        self.at_work = [sample for sample in self.at_work if self._left(sample)]
        for sample in self.at_work:
            lacks = sample.lacks(self._left(sample), self.one_disk, margin)
            room = [there - need for need, there in zip(lacks, room, strict=True)]
        return room

    def _tell(self, sample: Sample, nothing_runs: bool) -> None:
        """Say once that a sample waits. Raises WorkflowError where it would forever."""
        margin = 1 if nothing_runs else self.margin
        lacks, room = self._asked(sample, margin), self._room(margin)
        if all(need <= there for need, there in zip(lacks, room, strict=True)):
            self._tell_of_memory(sample)
            return
        short = next((disk for disk, need in enumerate(lacks) if need > room[disk]), 0)
        folder, free = self.folders[short], free_bytes(self.folders[short])
        lacking = f"{sample.name} takes up to {size(lacks[short])} more, and {size(free)} are free in {folder}"
        if nothing_runs:
            raise WorkflowError(f"disk: {lacking}: free some, or try it nonetheless with --scheduler greedy")
        if sample.name not in self.named:
            self.named.add(sample.name)
            kept = size(max(0, free - room[short]))
            self.logger.warning(f"disk: {sample.name} waits: {lacking}, {kept} of it for samples that are begun")

    def _tell_of_memory(self, sample: Sample) -> None:
        """Say once that a sample waits for memory, which samples at work and their files have."""
        if sample.name not in self.named:
            self.named.add(sample.name)
            kept, takes = (size(1e6 * self._files_mb(some)) for some in (self.at_work, [sample]))
            self.logger.warning(
                f"disk: {sample.name} waits: {sample.name} takes up to {takes} more of memory for files in "
                f"{self.folders[1]}, where samples that are begun take {kept}; jobs have the rest"
            )


def free_bytes(folder: str) -> int:
    """Bytes that a folder's file system gives to this user."""
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize


def size(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB" if amount >= 1e8 else f"{amount / 1e6:,.1f} MB"


def _bytes(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * BLOCK_BYTES
    except OSError:
        return 0


def _standing(path: str) -> str:
    """The path, or the nearest above it that is there."""
    absolute = Path(path).absolute()
    return str(next(each for each in (absolute, *absolute.parents) if each.exists()))
