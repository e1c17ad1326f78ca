"""A batch: the samples of a run start together, in one workflow or side by side."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpd.lab import disk_room, snakemake_process
from gpd.lab.snakemake_process import EndedProcess, Left, PlannedProcess, Setup, Share, Start
from gpd.records.run import InputRecord
from gpd.records.run_spec import INDEPENDENT, RunSpec


@dataclass
class BatchWorkload:
    """The processes of a batch, or copies of a step."""

    spec: RunSpec
    setup: Setup
    folder: Path
    inputs: Mapping[str, InputRecord]
    processes: Sequence[PlannedProcess] = field(init=False)

    def __post_init__(self) -> None:
        self.processes = list(_processes(self.spec, self.folder))

    @property
    def share(self) -> Share:
        spec, setup = self.spec, self.setup
        if step := spec.step:  # a copy of a step has its share of the memory, and the step's rules alone
            options = ["--allowed-rules", *step.rules]
            return Share(step.threads, setup.mem_mb and setup.mem_mb // step.copies, step.targets, options)
        return Share(spec.cores, setup.mem_mb, setup.source.targets)

    def lay_out(self) -> None:
        for process in self.processes:
            snakemake_process.set_up(process, self.spec, self.setup)

    def find_room(self, scratch: Path) -> None:
        if self.spec.step is None and self.setup.source.ours:
            samples, at_work = self.spec.samples, len(self.processes)
            disk_room.refuse_full(
                disk_room.estimate(self.setup.source, samples), samples, at_work, self.folder, scratch
            )

    def run(self, start: Start) -> list[EndedProcess]:
        with ThreadPoolExecutor(len(self.processes)) as pool:
            return list(pool.map(start, self.processes))

    def left(self, ended: Sequence[EndedProcess]) -> list[Left]:
        if self.spec.step:  # whose copies read the same, and come to no results of samples
            return [replace(snakemake_process.left(each, self.setup, {}), inputs=self.inputs) for each in ended]
        return [snakemake_process.left(each, self.setup, self.inputs) for each in ended]


def _processes(spec: RunSpec, folder: Path) -> Iterator[PlannedProcess]:
    if spec.step:
        for copy in spec.step.folders:
            yield PlannedProcess(folder / copy, spec.samples)
    elif spec.mode == INDEPENDENT:
        for sample in spec.samples:
            yield PlannedProcess(folder / "samples" / sample, (sample,))
    else:
        yield PlannedProcess(folder, spec.samples)
