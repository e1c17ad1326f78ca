"""Where a study stands: its plan, and what its runs that have ended tell. Read once, and used for one decision."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpd.lab import pool_files, study_runs
from gpd.lab.pool import Source
from gpd.lab.pool_files import MadeFile
from gpd.lab.study_runs import Sample
from gpd.records.run import RunRecord, read_run
from gpd.records.run_spec import PipelineName, RunSpec
from gpd.records.study import AUTO, Study
from gpd.statistics.known import whole_sum
from gpd.statistics.saturation import Observation
from gpd.tables import collect, search
from gpd.tables.collect import Tables
from gpd.tables.columns import SampleRow
from gpd.text.formats import SECONDS_PER_DAY

RECORDS = "*/run.json"  # in a study's folder
Guess = Callable[[RunSpec], Observation | None]


@dataclass(frozen=True)
class StudyPlan:
    """A study with the samples of its pools: what can be said before anything runs.

    `usable` are the cores of this machine, where it is to run the study. `steps` are runs of single steps, in place of
    those that follow from the settings, and `mem_mb` is what all of their jobs may take together.
    """

    study: Study
    sources: Mapping[PipelineName, Source]
    cores: int
    usable: int | None = None
    steps: tuple[RunSpec, ...] = ()
    mem_mb: int | None = None

    @property
    def too_many(self) -> str | None:
        """Why this machine can't run the study, if so; its plan is one for another machine."""
        if self.usable is None or self.cores <= self.usable:
            return None
        return f"cores: {self.cores} are more than the {self.usable} that may be used here"

    @property
    def searches(self) -> bool:
        """Whether it seeks the saturation point."""
        return not self.steps and not self.study.concurrent_samples

    @cached_property
    def pools(self) -> dict[PipelineName, list[Sample]]:
        """The samples that runs draw from, copies among them."""
        return {
            name: study_runs.with_copies(source.members, self.study.copies) for name, source in self.sources.items()
        }

    @property
    def made_files(self) -> list[MadeFile]:
        """The read files that the study makes of its pools'."""
        return [file for source in self.sources.values() for file in pool_files.made_files(self.study, source)]

    @property
    def specs(self) -> list[RunSpec]:
        """The runs whose N is known now."""
        return StudyState(self).specs


@dataclass(frozen=True)
class StudyState:
    """A study as it stands when it is first asked: what is read of its files is kept."""

    plan: StudyPlan

    @property
    def folder(self) -> Path:
        return self.plan.study.folder

    @cached_property
    def finished(self) -> Mapping[str, RunRecord]:
        """The record of each run that has one, by its name. Raises RecordError."""
        by_results = self.plan.searches or (self.plan.study.repeats == AUTO and not self.plan.steps)
        if by_results and self.tables:
            records = self.tables.records
        else:
            records = tuple(read_run(path) for path in sorted(self.folder.glob(RECORDS)))
        return {record.spec.name: record for record in records}

    @cached_property
    def tables(self) -> Tables | None:
        """What its runs came to; None: none was begun. Raises CollectError where they ran on several machines."""
        return collect.of_one_machine(self.folder) if self.folder.is_dir() else None

    @cached_property
    def failed(self) -> Sequence[SampleRow]:
        """Its samples that failed. Where no run ended with an error, there are none to look for."""
        codes = {process.exit_code for record in self.finished.values() for process in record.processes}
        if codes <= {0} or self.tables is None:
            return []
        return [row for row in self.tables.samples if not row.succeeded]

    # ---- its runs ------------------------------------------------------------------------------------

    @cached_property
    def specs(self) -> list[RunSpec]:
        """The runs whose N is known; of a search those that have ended, and those that follow from them."""
        return list(self._specs(lambda spec: None))

    @cached_property
    def expected(self) -> list[RunSpec]:
        """All runs: of a search as it goes on if throughput rises no further than it has been seen to.

        Where nothing has ended, that is no more than what is known.
        """
        return list(self._specs(self._guess)) if self.plan.searches else self.specs

    @property
    def left(self) -> list[RunSpec]:
        """The runs that are expected and have not ended."""
        return [spec for spec in self.expected if spec.name not in self.finished]

    def _specs(self, guess: Guess) -> Iterator[RunSpec]:
        """The runs of the plan, where `guess` says what a run of a search is taken for that has not ended."""
        plan, settings = self.plan, self.plan.study
        if plan.steps:
            yield from plan.steps
            return
        tables = self.tables if plan.searches or settings.repeats == AUTO else None
        rows = tables.configurations if tables else ()
        seen = {(row.curve_key, row.n): row for row in rows}
        if settings.concurrent_samples:
            yield from study_runs.planned(settings, plan.pools, plan.cores, seen)
            for name, pool in plan.pools.items():
                yield from study_runs.streams(settings, name, pool, plan.cores)
            return
        observed = search.observations(tables) if tables else {}
        for name, pool in plan.pools.items():
            yield from study_runs.search(settings, name, pool, plan.cores, observed, seen, guess)

    def _guess(self, spec: RunSpec) -> Observation | None:
        """What a run would come to that takes as long as those that have ended tell; None: none tells."""
        (seconds,) = self.estimates_s([spec])
        return None if seconds is None else Observation(spec.n, spec.n * SECONDS_PER_DAY / seconds)

    # ---- how long and how much -----------------------------------------------------------------------

    @property
    def spent_s(self) -> float:
        """What its runs that have ended took together, s."""
        return sum(record.wall_s for record in self.finished.values())

    @property
    def is_over(self) -> bool:
        """Whether its budget is spent, so that no run begins any more."""
        budget_s = self.plan.study.budget_s
        return budget_s is not None and self.spent_s >= budget_s

    @property
    def rates(self) -> dict[PipelineName, float]:
        """Samples a second of each pipeline: the most that any batch that has ended gave."""
        rates: dict[PipelineName, float] = {}
        for record in self.finished.values():
            spec = record.spec
            if not spec.step and not spec.stream and record.wall_s:
                rates[spec.pipeline] = max(rates.get(spec.pipeline, 0.0), spec.n / record.wall_s)
        return rates

    def disk_mib(self, specs: Sequence[RunSpec]) -> float | None:
        """The most that one of these runs takes of the disk, by what a sample of a run took; None: none has ended."""
        known = [(run.peak_disk_mib, run.spec.n) for run in self.finished.values() if not run.spec.alone]
        a_sample = max((peak / n for peak, n in known if peak is not None), default=None)
        return None if a_sample is None or not specs else a_sample * max(spec.n for spec in specs)

    def estimates_s(self, wanted: Sequence[RunSpec]) -> list[float | None]:
        """Seconds that each of these runs will take: the median of its N, else of the nearest N in proportion.

        None: no run of its curve has ended.
        """
        return [_estimate_s(spec, self._walls_s.get(_alike(spec), {})) for spec in wanted]

    @property
    def left_s(self) -> float | None:
        """Seconds that what is left will take; None where nothing is, or it is not known of each run."""
        times = self.estimates_s(self.left)
        return whole_sum(times) if times else None

    @cached_property
    def _walls_s(self) -> Mapping[tuple, Mapping[int, Sequence[float]]]:
        """How long runs that have ended took, by what tells of which, and by N."""
        walls: dict[tuple, dict[int, list[float]]] = {}
        for record in self.finished.values():
            if not record.spec.alone and not record.spec.stream:  # a sample alone may have failed early
                walls.setdefault(_alike(record.spec), {}).setdefault(record.spec.n, []).append(record.wall_s)
        return walls


def _alike(spec: RunSpec) -> tuple:
    """What runs share that tell each other how long they take."""
    return spec.pipeline, spec.mode, spec.step and spec.step.setting


def _estimate_s(spec: RunSpec, walls: Mapping[int, Sequence[float]]) -> float | None:
    if spec.stream:  # and until what is then in flight has ended
        return spec.stream.end_s
    if not walls:
        return None
    nearest = min(walls, key=lambda n: abs(n - spec.n))
    return statistics.median(walls[nearest]) * max(1.0, spec.n / nearest)
