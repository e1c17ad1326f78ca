"""What a genome takes by a rehearsal: laws of each rule's CPU time, from jobs of samples and shards of several depths.

A job takes start + a x (gigabases of the reference that it works on) + b x (gigabases of reads there), by least squares
without negative terms (Lawson & Hanson's NNLS, in scipy). Where all jobs of a rule work on the same part of the
reference, the second term is in the first. A sample has as many starts as the rehearsal ran shards of one: they are of
about one length, so that a start and the reference could hardly be told apart. Of what samples share each has its part:
of a joint call set's intervals by their law, with the reads of all samples, and of the rest by what was measured.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import sqrt
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from scipy.optimize import nnls

from gpd.errors import GpdError
from gpd.pipelines import ALIKE, GIGABASES_PER_X
from gpd.records import decoding
from gpd.records.machine_use import Amount
from gpd.records.run_spec import AtLeastOne
from gpd.sizing.machine import Machine, Measured, above_zero
from gpd.statistics.estimates import Estimate, by_student, total
from gpd.text.formats import SECONDS_PER_DAY, number

REFERENCE = "reference"  # the step of what is made once, whatever samples come
Gigabases = Annotated[float, Meta(gt=0, le=1e6)]


class RehearsedJob(msgspec.Struct, frozen=True):
    """A job that ended well. Without a sample it is of the cohort, or of the reference alone.

    `shard` is the part of a genome that it worked on, of how many: a shard of a step, or an interval of a call set.
    """

    step: str
    rule: str
    reference_gb: Amount
    cpu_s: Amount
    wall_s: Amount
    sample: str | None = None
    shard: str | None = None
    gigabases: Amount = 0.0
    threads: AtLeastOne = 1
    peak_rss_mib: Amount | None = None
    mem_mb: Amount | None = None
    read_mib: Amount | None = None
    write_mib: Amount | None = None
    peak_temporary_mib: Amount | None = None
    peak_open_files: AtLeastOne | None = None


class Rehearsal(msgspec.Struct, frozen=True):
    """The jobs of a rehearsal, and the machine that they ran on; gigabases are those of each sample's reads."""

    commit: str
    cpu: str
    cores: AtLeastOne
    memory_gib: Amount
    reference_gb: Gigabases
    gigabases: Annotated[Mapping[str, Gigabases], Meta(min_length=1)]
    jobs: tuple[RehearsedJob, ...]


@dataclass(frozen=True)
class Law:
    """CPU seconds of a job of a rule: `terms` are those of a start, a gigabase of reference, a gigabase of reads.

    `error` is the residuals' standard deviation and `spread` the terms' covariance over it squared; both are None where
    as many terms as jobs leave no residuals.
    """

    terms: np.ndarray
    freedom: int
    error: float | None
    spread: np.ndarray | None

    @classmethod
    def of(cls, jobs: Sequence[RehearsedJob]) -> "Law":
        """Of jobs of one rule. Raises GpdError where they do not tell what their reads take."""
        rows = np.array([_row(job) for job in jobs])
        varying = [0, *(column for column in (1, 2) if len(set(rows[:, column])) > 1)]
        reads_alike = rows[:, 2].any() and 2 not in varying
        if reads_alike or np.linalg.matrix_rank(rows[:, varying]) < len(varying):
            raise GpdError(
                f"{jobs[0].rule}: its jobs are too alike to tell what reads take: rehearse samples of two depths"
            )
        terms, residual = np.zeros(rows.shape[1]), 0.0
        terms[varying], residual = nnls(rows[:, varying], np.array([job.cpu_s for job in jobs]))
        freedom = len(jobs) - len(varying)
        if freedom < 1:
            return cls(terms, 0, None, None)
        spread = np.zeros((rows.shape[1],) * 2)
        spread[np.ix_(varying, varying)] = np.linalg.pinv(rows[:, varying].T @ rows[:, varying])
        return cls(terms, freedom, residual / sqrt(freedom), spread)

    def predict(self, reference_gb: float, gigabases: float, starts: int = 1) -> Estimate:
        """CPU seconds of so many jobs that work on so much together."""
        row = np.array([starts, reference_gb, gigabases])
        seconds = float(row @ self.terms)
        if self.error is None or self.spread is None:
            return Estimate(seconds)
        return by_student(seconds, self.error * sqrt(row @ self.spread @ row), self.freedom + 1)


def _row(job: RehearsedJob) -> tuple[float, float, float]:
    return 1.0, job.reference_gb, job.gigabases


def read(path: Path) -> Rehearsal:
    """Raises RecordError where the file is no record of a rehearsal, and OSError."""
    return decoding.read_record(path, Rehearsal, "scripts/bench/rehearsal.py --record writes records of rehearsals")


def by_rule(
    jobs: Iterable[RehearsedJob], of: Callable[[RehearsedJob], bool] = lambda job: True
) -> Mapping[str, list[RehearsedJob]]:
    """Jobs by rule, those that are asked for."""
    chosen = sorted(filter(of, jobs), key=lambda job: job.rule)
    return {rule: list(group) for rule, group in groupby(chosen, key=lambda job: job.rule)}


@dataclass(frozen=True)
class Genome:
    """A genome of the reference with so many gigabases of reads, in a cohort as large as that of the rehearsal."""

    rehearsal: Rehearsal
    gigabases: float

    @cached_property
    def steps(self) -> Mapping[str, Estimate]:
        """CPU seconds of each step of a sample, and its share of what all samples have in common."""
        found: dict[str, list[Estimate]] = {}
        for step, seconds in self._rules():
            found.setdefault(step, []).append(seconds)
        return {step: total(parts) for step, parts in found.items()}

    @property
    def seconds(self) -> Estimate:
        """CPU seconds of all of it; no interval where that reaches zero."""
        return above_zero(total([seconds for _, seconds in self._rules()]))

    def _rules(self) -> Iterator[tuple[str, Estimate]]:
        jobs = [job for job in self.rehearsal.jobs if job.step != REFERENCE]
        for own in by_rule(jobs, lambda job: job.sample is not None).values():
            starts = max(Counter(job.sample for job in own).values())
            yield own[0].step, Law.of(own).predict(self.rehearsal.reference_gb, self.gigabases, starts)
        for shared in by_rule(jobs, lambda job: job.sample is None).values():
            yield shared[0].step, self._of_cohort(shared).times(1 / len(self.rehearsal.gigabases))

    def _of_cohort(self, jobs: Sequence[RehearsedJob]) -> Estimate:
        """CPU seconds of a rule for all samples, each with as many reads as this genome."""
        if not any(job.gigabases for job in jobs):
            return Estimate(sum(job.cpu_s for job in jobs), se=0.0)
        gigabases = self.gigabases * len(self.rehearsal.gigabases)
        return Law.of(jobs).predict(self.rehearsal.reference_gb, gigabases, len(jobs))


def machine(name: str, rehearsal: Rehearsal, gigabases: float) -> Machine:
    """The machine of a rehearsal, as if its cores were always busy with genomes of so many gigabases.

    Raises GpdError where it was no genome of human size, or does not tell what reads take.
    """
    if rehearsal.reference_gb < ALIKE * GIGABASES_PER_X:
        raise GpdError(
            f"{name}: rehearsed on {number(rehearsal.reference_gb)} Gb of reference, and a human genome has"
            f" {number(GIGABASES_PER_X)}: rehearse with SCALE=1"
        )
    try:
        seconds = Genome(rehearsal, gigabases).seconds
    except GpdError as error:
        raise GpdError(f"{name}: {error}") from error
    if not seconds.value:
        raise GpdError(f"{name}: none of its jobs is of a sample, or took any CPU time")
    daily = seconds.over(rehearsal.cores * SECONDS_PER_DAY * gigabases)
    sizes = rehearsal.gigabases.values()
    depths = " to ".join(dict.fromkeys(number(size) for size in (min(sizes), max(sizes))))
    return Machine(
        name=name,
        source="rehearsal",
        skus=(),
        cores=rehearsal.cores,
        measured=(Measured(rehearsal.cores, gigabases, daily),),
        memory_mib=rehearsal.memory_gib * 1024,
        notes=(
            f"EXTRAPOLATED from {depths} Gb a sample, over {number(rehearsal.reference_gb)} Gb of reference, by laws of"
            " each rule's CPU time; simulated reads: real repeats and qualities take more",
            "as if all cores were busy all the time, at one sample a core; memory and disk: docs/evidence/rehearsal.md",
        ),
    )
