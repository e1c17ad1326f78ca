"""Why samples of a study failed: for their data, or for the load. Pure: it looks at what came of them in all runs.

A sample has bad data where it fails wherever it is drawn, and alone too: no other sample was in its way there. One that
succeeded anywhere fails for the load, and so does any whose job was ended from outside, or found no memory, no disk or
no tool: whatever that was, it was not the sample's data. Where a sample never ran alone, it is not told apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpd.outcomes import Outcome, Run

DATA, COHORT_DATA, LOAD = "data", "data_of_cohort", "load"
OUTSIDE = frozenset(  # causes
    {"killed", "timed_out", "out_of_memory", "disk_full", "open_file_limit", "process_limit", "io_error"}
    | {"file_size_limit", "tool_not_found", "launcher_error"}
)

Judged = tuple[Run, Sequence[Outcome]]


@dataclass(frozen=True)
class FaultEvidence:
    """Samples of a pipeline that succeeded in any of its runs, and those that failed alone."""

    succeeded: frozenset[str]
    failed_alone: frozenset[str]

    @property
    def bad(self) -> frozenset[str]:
        """The samples that have bad data."""
        return self.failed_alone - self.succeeded


def gather(judged: Iterable[Judged]) -> dict[str, FaultEvidence]:
    """Gather the evidence by pipeline; warm-ups and runs of a sample alone tell as much as any other."""
    succeeded: dict[str, set[str]] = {}
    alone: dict[str, set[str]] = {}
    for run, outcomes in judged:
        own = succeeded.setdefault(run.spec.pipeline, set()), alone.setdefault(run.spec.pipeline, set())
        for outcome in outcomes:
            if outcome.succeeded:
                own[0].add(outcome.sample)
            elif outcome.own and outcome.cause not in OUTSIDE and run.spec.n == 1 and not run.spec.stream:
                own[1].add(outcome.sample)
    return {name: FaultEvidence(frozenset(succeeded[name]), frozenset(alone[name])) for name in succeeded}


def faults(run: Run, outcomes: Sequence[Outcome], evidence: FaultEvidence) -> dict[str, str | None]:
    """Return by sample of a run why it failed; None: it did not, or is not told apart."""
    found = {one.sample: _own_fault(one, evidence) for one in outcomes if one.own}
    for process in run.processes:
        others = {found[sample] for sample in process.samples if sample in found}
        found |= {sample: _fault_of_cohort(others) for sample in process.samples if sample not in found}
    return {one.sample: None if one.succeeded else found.get(one.sample, LOAD) for one in outcomes}


def _own_fault(outcome: Outcome, evidence: FaultEvidence) -> str | None:
    if outcome.sample in evidence.bad:
        return DATA
    return LOAD if outcome.sample in evidence.succeeded or outcome.cause in OUTSIDE else None


def _fault_of_cohort(others: set[str | None]) -> str | None:
    """Why a sample failed although none of its own jobs did: a job of its cohort failed, or its run was cut off."""
    if others == {DATA}:
        return COHORT_DATA
    return None if others and LOAD not in others else LOAD
