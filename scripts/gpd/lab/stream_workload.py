"""A stream: samples in flight for a time, each in a workflow of its own that starts as another ends."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Event, Lock

from gpd.lab import disk_room, snakemake_process
from gpd.lab.snakemake_process import EndedProcess, Left, PlannedProcess, Setup, Share, Start, StudyRunError
from gpd.lab.study_runs import copy_name, drawn
from gpd.records.run import InputRecord, Passage
from gpd.records.run_spec import RunSpec, StreamSpec
from gpd.statistics.stream_rate import LEAST_ENDS, Window
from gpd.text.formats import counted, number


class Queue:
    """The samples of a stream in their order: taken by as many threads as samples are to be in flight."""

    def __init__(self, spec: RunSpec, stream: StreamSpec) -> None:
        self.end_s, self.began = stream.end_s, time.monotonic()
        self.over = Event()
        self._taking = Lock()
        self._samples = enumerate(drawn(spec), 1)

    @property
    def now_s(self) -> float:
        """Since the stream's start."""
        return time.monotonic() - self.began

    def take(self) -> tuple[int, str] | None:
        """The next sample's number and name; None where no more is to start."""
        with self._taking:
            return None if self.over.is_set() or self.now_s >= self.end_s else next(self._samples)


@dataclass
class StreamWorkload:
    """The processes of a stream.

    What a sample leaves is looked at beside those that run, and removed: so a stream takes no more disk the longer it
    is.
    """

    spec: RunSpec
    stream: StreamSpec
    setup: Setup
    folder: Path
    inputs: Mapping[str, InputRecord]
    _left: Sequence[Left] = field(default=(), init=False)

    @property
    def share(self) -> Share:
        return Share(self.spec.cores, self.setup.mem_mb and self.setup.mem_mb // self.spec.n)

    def lay_out(self) -> None:
        """Nothing yet: a folder is laid out when its sample starts."""

    def find_room(self, scratch: Path) -> None:
        """It holds n samples at work beside what n before them left: so many may not be digested yet."""
        first = list(islice(drawn(self.spec), 2 * self.spec.n))
        found = disk_room.estimate(self.setup.source, set(first))
        disk_room.refuse_full(found, first, self.spec.n, self.folder, scratch)

    def run(self, start: Start) -> list[EndedProcess]:
        """Keep n samples in flight to the end of the window: each of n threads takes the next when its last has ended.

        All that were taken run to their ends. What one left is digested while the next one runs, and
        before that gives up its place: else results would pile up. In the order of their start.
        """
        queue = Queue(self.spec, self.stream)
        with ThreadPoolExecutor(self.spec.n) as after, ThreadPoolExecutor(self.spec.n) as pool:
            threads = [pool.submit(self._serve, queue, start, after) for _ in range(self.spec.n)]
            found = [each for thread in threads for each in thread.result()]
        found.sort(key=lambda each: each[0].passage.started_s if each[0].passage else 0.0)
        self._left = [left.result() for _, left in found]
        ended = [each for each, _ in found]
        self._refuse_short(ended)
        return ended

    def left(self, ended: Sequence[EndedProcess]) -> list[Left]:
        return list(self._left)

    def _serve(self, queue: Queue, start: Start, after: Executor) -> list[tuple[EndedProcess, Future[Left]]]:
        """Take one sample after the other, until no more is to start."""
        served: list[tuple[EndedProcess, Future[Left]]] = []
        try:
            while (taken := queue.take()) is not None:
                ended = self._run_one(queue, start, *taken)
                for _, before in served[-1:]:  # the disk was asked to hold no more of a thread than two
                    before.result()
                served.append((ended, after.submit(self._look_at, ended)))
        except BaseException:
            queue.over.set()
            raise
        return served

    def _run_one(self, queue: Queue, start: Start, number: int, sample: str) -> EndedProcess:
        started_s, name = queue.now_s, copy_name(sample, number)
        process = PlannedProcess(self.folder / "samples" / name, (name,))
        source = self.setup.source.renamed(sample, name)
        snakemake_process.set_up(process, self.spec, replace(self.setup, source=source))
        ended = start(process)
        times = {"started_s": round(started_s, 6), "ended_s": round(queue.now_s, 6)}
        if ended.idle:
            snakemake_process.refuse_failed(ended.finished, ended.attempts, ended.folder)
        return replace(ended, passage=Passage(copy_of=sample, **times))

    def _look_at(self, ended: EndedProcess) -> Left:
        """What a sample left, which is removed, for more are to come."""
        inputs = {name: self.inputs[ended.passage.copy_of] for name in ended.samples if ended.passage}
        left = snakemake_process.left(ended, self.setup, inputs)
        if not self.setup.keep_results:
            snakemake_process.remove_results(ended, self.setup.source)
        return left

    def _refuse_short(self, ended: Sequence[EndedProcess]) -> None:
        """Raise StudyRunError where the window tells nothing."""
        window = Window(self.stream.warm_up_s, self.stream.end_s)
        ends = [each.passage.ended_s for each in ended if each.passage and window.holds(each.passage.ended_s)]
        if len(ends) < LEAST_ENDS:
            raise StudyRunError(
                f"{self.spec.name}: {counted(len(ends), 'sample')} ended in its window of "
                f"{number(self.stream.window_s)} s: shorter than {LEAST_ENDS} samples: set a longer window"
            )
