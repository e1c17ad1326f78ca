"""What the registry asks of an entry: each check a function of its sessions, all in one table.

`CHECKS` is the one list; docs/reference/registry.md has it for readers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import msgspec

from gpd.benchmark import circumstances, workload
from gpd.benchmark.registry import SUFFIX, RegistryEntry
from gpd.benchmark.workload import ACCEPTED, BenchmarkError, StandardWorkload
from gpd.packages import checks
from gpd.packages.bounds import bounded
from gpd.packages.check_verdicts import FAILS, Found, Verdict, verdict
from gpd.packages.evidence import Evidence, Recomputed, gather
from gpd.packages.read import read
from gpd.records import calibration
from gpd.records.calibration import Calibration
from gpd.records.host import machine_differences
from gpd.records.run import RunRecord
from gpd.records.study import Study
from gpd.text.formats import counted, listed

APART = timedelta(hours=1)
LEAST_SESSIONS = 2
NOT_ASKED = ("precision", "quiet", "measured")  # of the checks of packages: what makes an entry noisy, and no more
PLACES = ("directory", "pipelines")  # keys of a study that say where it lies


@dataclass(frozen=True)
class Session:
    """A package as it was read: what follows from it, and how the machine was calibrated meanwhile."""

    name: str
    evidence: Evidence
    calibrations: tuple[Calibration, ...]

    @classmethod
    def read(cls, path: Path) -> "Session":
        """Read a package that may come from anybody. Raises PackageError, RecordError, OSError."""
        with bounded(path):
            package = read(path)
            calibrations = calibration.parse(package.members.get(calibration.FILE, b""))
            return cls(path.name.removesuffix(SUFFIX), gather(package), calibrations)

    @property
    def found(self) -> Recomputed:
        """Raises BenchmarkError where its records do not fit together."""
        if self.evidence.study is None:
            raise BenchmarkError(self.evidence.broken)
        return self.evidence.study

    @property
    def records(self) -> Sequence[RunRecord]:
        return self.found.tables.records

    @property
    def study(self) -> Study:
        """Raises BenchmarkError where it has no plan."""
        if self.found.plan is None:
            raise BenchmarkError("study.json is not in it")
        return self.found.plan.study

    @property
    def workload(self) -> StandardWorkload:
        """The workload that it says it is. Raises BenchmarkError."""
        return workload.read(self.study.name)


@dataclass(frozen=True)
class RegistryCheck:
    """A check of each session by itself; of an entry of the open division those alone that are not `closed`."""

    name: str
    says: str
    faults: Callable[[Session], Iterable[str]]
    closed: bool = False


def judge(entry: RegistryEntry, sessions: Sequence[Session]) -> list[Verdict]:
    """Hold an entry against every check, in the order of the table."""
    asked = [check for check in CHECKS if entry.division == "closed" or not check.closed]
    verdicts = [_verdict(check, sessions) for check in asked]
    return [*verdicts, Verdict.of("sessions", SESSIONS, _sessions(sessions))]


def noise(sessions: Iterable[Session]) -> list[str]:
    """What stands on an entry's result: what disturbed its sessions, and the machine that they ran on."""
    lines: dict[str, None] = {}
    for session in sessions:
        hosts = [record.host for record in session.records if record.host]
        lines |= dict.fromkeys(line for host in hosts for line in circumstances.lasting(host))
        lines |= dict.fromkeys(circumstances.of_session(session.calibrations))
        disturbed = sum(bool(row.disturbances) for row in session.found.tables.runs if row.counted)
        lines |= {f"{session.name}: {counted(disturbed, 'run')} disturbed": None} if disturbed else {}
    return list(lines)


def _verdict(check: RegistryCheck, sessions: Iterable[Session]) -> Verdict:
    faults, held = [], []
    for session in sessions:
        try:
            own = list(check.faults(session))
        except BenchmarkError as error:
            own = str(error).splitlines()
        faults += [f"{session.name}: {line}" for line in own]
        held += [] if own else [session.name]
    return Verdict.of(check.name, check.says, verdict(faults, [f"so in {listed(held)}"]))


def unknown_workflows(sessions: Iterable[Session], here: str) -> list[tuple[str, str, str]]:
    """Of the workflow `here`: its digest, that of the settings, and the commit, as far as its workload has none.

    A workload's table takes such a row where a reviewer finds that figures of it are comparable.
    """
    found = {}
    for session in sessions:
        for settings in (record.settings for record in session.records):
            made = settings.workflow_digest or "", settings.config_digest or ""
            if made[0] == here and made not in session.workload.workflows:
                found[made] = settings.workflow_commit or ""
    return [(*made, commit) for made, commit in found.items()]


# ---- each session ----------------------------------------------------------------------------------------


def _is_accepted(session: Session) -> Iterator[str]:
    name = session.workload.name
    if name not in ACCEPTED.values():
        yield f"{name}: no results of it are accepted, but those of {listed(list(ACCEPTED.values()))}"
    elif session.workload.is_draft:
        yield f"{name}: a draft, whose inputs have no digests in the repository"


def _as_package(session: Session) -> Iterator[str]:
    """What fails of the checks of packages."""
    for found in checks.judge(session.evidence):
        if found.state == FAILS and found.check not in NOT_ASKED:
            yield from (f"{found.check}: {line}" for line in found.why)


def _as_planned(session: Session) -> Iterator[str]:
    own, plan = session.workload, session.found.plan
    wanted = msgspec.convert(own.study(plan.cores if plan else 1), Study)
    for key, value in vars(wanted).items():
        if key not in PLACES and getattr(session.study, key) != value:
            yield f"{key}: {getattr(session.study, key)}, and {own.name} has {value}"
    pool = [sample.name for sample in plan.pools.get(own.settings.pipeline, ())] if plan else []
    if pool != list(own.samples(plan.cores if plan else 1)):
        yield f"its pool has {counted(len(pool), 'sample')}, which are not those of {own.name}"


def _same_inputs(session: Session) -> Iterator[str]:
    own = session.workload
    read = {(name, given.digest) for record in session.records for name, given in record.inputs.items()}
    for name, digest in sorted(read):
        if name not in own.every_sample or digest != own.input_digest(name):
            yield f"{name}: its reads are not those of {own.name}"
    if {record.settings.reference_digest for record in session.records} != {own.settings.reference_digest}:
        yield f"the reference is not that of {own.name}"


def _same_workflow(session: Session) -> Iterator[str]:
    own = session.workload
    for record in session.records:
        made = record.settings.workflow_digest, record.settings.config_digest
        if made not in own.workflows:
            yield f"{record.spec.name}: not a workflow of {own.name}: {made[0]}, settings {made[1]}"
            return
        found = record.settings.tools or {}
        if other := [tool for tool, version in own.settings.tools.items() if found.get(tool) != version]:
            yield from (f"{tool}: {found.get(tool)}, and {own.name} has {own.settings.tools[tool]}" for tool in other)
            return


def _calibrated(session: Session) -> Iterator[str]:
    runs = len(session.records)
    if len(session.calibrations) < runs + 1:
        yield f"{counted(len(session.calibrations), 'calibration')} of {runs + 1}: before, between and after runs"


CHECKS = (
    RegistryCheck("workload", "it is a workload of which results are accepted", _is_accepted),
    RegistryCheck("package", "the checks of packages hold, as far as they are asked", _as_package),
    RegistryCheck("plan", "N, repeats, samples and order are those of the workload", _as_planned),
    RegistryCheck("inputs", "reads and reference are those of the workload", _same_inputs),
    RegistryCheck("workflow", "workflow, settings and tools are those of the workload", _same_workflow, closed=True),
    RegistryCheck("calibration", "the machine was calibrated before, between and after runs", _calibrated),
)
SESSIONS = "sessions of one machine lie hours apart"


# ---- all of them -----------------------------------------------------------------------------------------


def _sessions(sessions: Sequence[Session]) -> Found:
    wrong = []
    if len(sessions) < LEAST_SESSIONS:
        wrong.append(f"{counted(len(sessions), 'session')}: measure again hours later, or after a reboot")
    try:
        hosts = [record.host for session in sessions for record in session.records if record.host]
        spans = sorted(
            (min(one.start for one in session.records), max(one.end for one in session.records))
            for session in sessions
            if session.records
        )
        names = {session.study.name for session in sessions}
    except BenchmarkError as error:
        return FAILS, [str(error)]
    if len(names) > 1:
        wrong.append(f"they are of several workloads: {listed(sorted(names))}")
    if other := machine_differences(hosts):
        wrong.append(f"they are of several machines: {other}")
    for (_, end), (start, _) in pairwise(spans):
        if start - end < APART:
            wrong.append(f"one began {(start - end).total_seconds() / 60:.0f} min after another: leave an hour or more")
    return verdict(wrong, [f"{counted(len(sessions), 'session')}, an hour or more apart"])
