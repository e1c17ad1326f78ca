"""Run a scaling study: its inputs once, then its cells one after the other, each once, whatever interrupted it before.

A cell is a run of Snakemake for each copy of the step, side by side, each in a folder of its own: the same
configuration and the same sample, the files that the step reads as links, and no rules but the step's. So what is
measured is what runs: the step's own rule through the launcher, whose leases keep the copies apart. Nothing is renamed,
so that read groups and names in files are those of the sample, and a cohort's steps have copies as a sample's do.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpd.errors import Interrupted
from gpd.execution import deployment, interruption, run_lock, said, waiting, workflow
from gpd.lab import cells, provenance
from gpd.lab.cells import CellError
from gpd.lab.pool import Source, beside_policy, bound, lay_out
from gpd.lab.runner import LOCK, made_otherwise
from gpd.machines import counters, host, launcher
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import UNBOUND
from gpd.records.ledger import read_ledger
from gpd.records.run import Settings
from gpd.records.scaling import PLAN, RECORD, ScalingCell, ScalingRecord
from gpd.scaling import plan, results
from gpd.scaling.plan import Asked, LeftOut, Node, ScalingError, Step

INPUTS = "inputs"  # the folder of what all cells start from
RESULTS = "results"


@dataclass(frozen=True)
class Study:
    """A scaling study, planned: what can be said before anything runs."""

    folder: Path
    source: Source
    asked: Asked
    node: Node
    steps: tuple[Step, ...]
    cells: tuple[ScalingCell, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def inputs(self) -> Path:
        return self.folder / INPUTS

    @property
    def left(self) -> list[ScalingCell]:
        """The cells that have no record."""
        return [cell for cell in self.cells if not (self.folder / cell.cell / RECORD).exists()]


@dataclass(frozen=True)
class Watcher:
    """Who is told how it goes on: of what begins (with the seconds that it and the rest take), and what has ended.

    What failed is told as lines, or as none where the cell ended well.
    """

    begin: Callable[[str, float | None], None]
    changed: cells.Changed
    waits: Callable[[str], None]
    end: Callable[[str, Sequence[str]], None]


# ---- before ------------------------------------------------------------------------------------------


def make_plan(source: Source, sample: str, asked: Asked, folder: Path) -> Study:
    """Plan a study of one of the source's samples, by dry runs of the workflow.

    Raises ScalingError, and CellError with what the workflow says of a configuration that it refuses.
    """
    members = [member.name for member in source.members]
    if sample and sample not in members:
        raise ScalingError(f"--sample {sample}: no such sample; there are {', '.join(members)}")
    node = Node(launcher.usable_cores(source.config["binding"]["smt"]), int(launcher.limits().memory_mib))
    plan.refuse_too_wide(asked, node)
    pipeline = source.config["pipeline"]
    of_cohort = PIPELINES[pipeline].of_cohort
    own = _planned(source, (sample or members[0],), asked, node)
    together = _planned(source, tuple(members), asked, node) if of_cohort else []
    there = [step for step in own if step.name not in of_cohort] + [step for step in together if step.name in of_cohort]
    names = plan.chosen_steps(pipeline, asked.steps, [step.name for step in there])
    steps = tuple(step for name in names for step in there if step.name == name)
    planned, left_out = plan.grid(asked, steps, node)
    plan.refuse_changed(planned, results.read_records(folder))
    return Study(folder, source, asked, node, steps, tuple(planned), tuple(left_out))


def _planned(source: Source, samples: tuple[str, ...], asked: Asked, node: Node) -> list[Step]:
    """The steps of these samples, by a dry run at each width: some jobs ask for memory by their threads."""
    tried = {1, *(width for width in plan.widths(asked.threads, node.cores) if width <= node.cores)}
    planned = {width: _dry_run(source, samples, width, node) for width in sorted(tried)}
    return plan.steps_of(planned, samples, source.config)


def _dry_run(source: Source, samples: Sequence[str], threads: int, node: Node) -> list[said.PlannedJob]:
    """The jobs that the whole pipeline would have, where each rule of a step has so many threads."""
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch)
        lay_out(source, samples, folder, **_of_few(source, samples))
        every = [rule for step in PIPELINES[source.config["pipeline"]].steps for rule in _rules(source, step)]
        profile = _write_profile(every, threads, folder)
        options = ["--dry-run", "--nolock", "--", RESULTS]
        arguments = workflow.command(folder, node.cores, node.mem_mb, profile, [], options)
        finished = workflow.run(arguments, folder / workflow.LOG, lambda state: None)
        if finished.exit_code:
            raise CellError(cells.reason(finished))
        return said.planned_jobs(finished.said)


def _rules(source: Source, step: str) -> tuple[str, ...]:
    return PIPELINES[source.config["pipeline"]].rules_of(step)


def _of_few(source: Source, samples: Sequence[str]) -> dict[str, Any]:
    """What a run of one sample sets, where the pipeline compares conditions: it ends before it would."""
    return {"stop_after": "quantify"} if source.needs_conditions and len(samples) == 1 else {}


def _write_profile(rules: Sequence[str], threads: int, folder: Path) -> Path:
    profile = cells.read_profile(workflow.PROFILES / "default" / "config.yaml")
    return cells.write_profile({**profile, "set-threads": dict.fromkeys(rules, threads)}, folder)


# ---- the study ---------------------------------------------------------------------------------------


def run(study: Study, watcher: Watcher) -> list[str]:
    """Run what is left of a study; the names of the cells that failed. Raises GpdError, or Interrupted for a signal.

    A cell that fails is told, and the others are run; the same command tries it again.
    """
    with (
        interruption.catching(),
        run_lock.hold(study.folder / LOCK, study.folder, "gpd scaling run") as lock,
        waiting.watch(study.folder, watcher.waits),
    ):
        waiting.await_former(study.folder)
        failed: list[str] = []
        if not study.left:
            return failed
        options = _options(study)
        for step in study.steps:
            if any(cell.step == step.name for cell in study.left):
                title = f"{step.name}: its inputs"
                watcher.begin(title, None)
                with _at_work(title):
                    _make_inputs(study, step, options, lock.descriptor, watcher.changed)
        settings = _settings(study)
        for cell in study.left:
            watcher.begin(cell.cell, _left_s(study, failed))
            with _at_work(cell.cell):
                lines = _try(cell, study, settings, options, lock.descriptor, watcher.changed)
            failed += [cell.cell] if lines else []
            watcher.end(cell.cell, lines)
        return failed


def _left_s(study: Study, failed: Sequence[str]) -> float | None:
    """How long the cells that are left take, where cells like each of them have ended."""
    left = [cell for cell in study.left if cell.cell not in failed]
    known = plan.estimates_s(left, results.read_records(study.folder))
    return sum(seconds for seconds in known if seconds is not None) if None not in known else None


@contextmanager
def _at_work(name: str) -> Iterator[None]:
    """Where a signal ends what is within, say what that was."""
    try:
        yield
    except Interrupted as interrupted:
        raise Interrupted(interrupted.signum, [name]) from interrupted


def _options(study: Study) -> list[str]:
    """Snakemake's options for where tools come from."""
    from_conda = deployment.options(study.source.config["pipeline"])
    return [*from_conda, "--conda-prefix", str((study.folder / "conda").resolve())] if from_conda else []


def _make_inputs(study: Study, step: Step, options: Sequence[str], lock: int, changed: cells.Changed) -> None:
    """Run the workflow up to a step, on all cores, and keep what it makes on the way."""
    folder, source = study.inputs, study.source
    everyone = [member.name for member in source.members]
    of_cohort = bool(PIPELINES[source.config["pipeline"]].of_cohort)
    lay_out(source, everyone if of_cohort else step.samples, folder)
    profile = cells.read_profile(workflow.PROFILES / "default" / "config.yaml")
    profile = {**profile, "set-threads": share(1, study.node.cores)}
    arguments = workflow.command(
        folder.resolve(),
        study.node.cores,
        study.node.mem_mb,
        cells.write_profile(profile, folder).resolve(),
        [],
        [*options, "--nolock", "--notemp", "--omit-from", *step.rules, "--", *step.targets],
    )
    earlier = len(read_ledger(folder / results.LEDGER))
    finished = workflow.run(arguments, folder / workflow.LOG, lambda state: changed("", state), locks=[lock])
    cells.refuse_failed(finished, read_ledger(folder / results.LEDGER)[earlier:], folder)


def _settings(study: Study) -> Settings:
    """What cells are made with now. Raises ScalingError where a finished one was made with something else."""
    now = provenance.settings(study.source, study.inputs / cells.REFERENCE / "genome.dict")
    for record in results.read_records(study.folder):
        if differing := made_otherwise(record.settings, now):
            name = study.folder / record.cell.cell
            raise ScalingError(f"{name}: was made with {differing}: name another --folder, or remove that one")
    return now


# ---- a cell ------------------------------------------------------------------------------------------


def _try(
    cell: ScalingCell, study: Study, settings: Settings, options: Sequence[str], lock: int, changed: cells.Changed
) -> Sequence[str]:
    """Run a cell; the lines that say why it failed, none where it ended well."""
    try:
        _run(cell, study, settings, options, lock, changed)
    except CellError as error:
        return str(error).splitlines()
    return ()


def _run(
    cell: ScalingCell, study: Study, settings: Settings, options: Sequence[str], lock: int, changed: cells.Changed
) -> None:
    """Run a cell in a folder made anew. Its record comes last, and at once: a cell that has one ran to its end.

    Raises CellError where a copy failed.
    """
    folder = study.folder / cell.cell
    cells.clear(folder)
    folder.mkdir(parents=True)
    (folder / PLAN).write_text(cell.to_json(), encoding="utf-8")
    run_id = f"{cell.cell}-{secrets.token_hex(4)}"
    copies = [folder / copy for copy in cell.folders]
    for copy in copies:
        _set_up(copy, cell, study)
    with cells.scratch_folder(folder) as scratch:
        node = host.look({"work": folder, "temp": scratch})
        environment = {"TMPDIR": str(scratch), "GPD_RUN": run_id}
        began, start = time.monotonic(), datetime.now(UTC)
        finished = _run_copies(copies, cell, options, environment, lock, changed)
        wall_s, end = time.monotonic() - began, datetime.now(UTC)
    attempts = [[each for each in read_ledger(copy / results.LEDGER) if each.run == run_id] for copy in copies]
    for copy, each, own in zip(copies, finished, attempts, strict=True):
        cells.refuse_failed(each, own, copy)
    record = ScalingRecord(
        run=run_id,
        cell=cell,
        start=start,
        end=end,
        wall_s=round(wall_s, 6),
        cpu_s=round(sum(each.cpu.own_s + each.cpu.below_s for each in finished), 2),
        snakemake_cpu_s=round(sum(each.cpu.own_s for each in finished), 2),
        settings=settings,
        binding=None if cell.binding == UNBOUND else beside_policy(bound(study.source.config, cell.binding)),
        memory_applied=cells.memory_applied(attempts),
        pair_hmm=cells.pair_hmm(copies, attempts),
        bandwidth_missing=counters.bandwidth_missing(),
        host=node,
    )
    for copy in copies:
        for name in (RESULTS, ".snakemake"):
            shutil.rmtree(copy / name, ignore_errors=True)
    cells.write_record(folder / RECORD, record)


def _set_up(copy: Path, cell: ScalingCell, study: Study) -> None:
    """Lay out one copy: configuration, tables, profile, and links to all that rules before the step have made.

    A rule's name is its output folder, so that all folders but those of the step's rules are its inputs, or of no use.
    """
    source = study.source
    pieces = int(cell.scatter) if cell.scatter.isdecimal() else cell.scatter
    binding = bound(source.config, cell.binding)
    lay_out(source, cell.samples, copy, binding=binding, scatter=pieces, **_of_few(source, cell.samples))
    (copy / RESULTS).mkdir()
    for made in sorted((study.inputs / RESULTS).iterdir()):
        if made.name not in cell.rules:
            (copy / RESULTS / made.name).symlink_to(made.resolve())
    _write_profile(cell.rules, cell.threads, copy)


def _run_copies(
    copies: Sequence[Path],
    cell: ScalingCell,
    options: Sequence[str],
    environment: Mapping[str, str],
    lock: int,
    changed: cells.Changed,
) -> list[workflow.Finished]:
    """Run the step in all copies side by side, to their ends."""

    def start(copy: Path) -> workflow.Finished:
        arguments = workflow.command(
            copy.resolve(),
            cell.threads,
            cell.mem_mb // cell.copies,
            (copy / "profile").resolve(),
            [],
            [*options, "--nolock", "--allowed-rules", *cell.rules, "--", *cell.targets],
        )
        name = copy.name if len(copies) > 1 else ""
        return workflow.run(
            arguments, copy / workflow.LOG, lambda state: changed(name, state), environment=environment, locks=[lock]
        )

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(start, copies))
