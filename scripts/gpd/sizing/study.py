"""The model of a machine from a study of its own: laws of its rules from the tables' jobs, of one series. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from random import Random
from statistics import median
from typing import Any

import pandas as pd

from gpd.errors import GpdError
from gpd.outcomes import COHORT
from gpd.pipelines import GERMLINE
from gpd.records.cell import CLUSTER, SCHEDULED, Series
from gpd.records.host import Host
from gpd.records.ledger import GATHER
from gpd.records.node import NodeRecord
from gpd.sizing import genome
from gpd.sizing.contention import mean_others
from gpd.sizing.cuts import CUTS
from gpd.sizing.model import NodeModel, Prediction, Seen, Work
from gpd.sizing.steps import SPREAD, Law, Observed, fit, redrawn
from gpd.sizing.warm_up import WARM, WARM_UPS, WarmUp
from gpd.tables import columns
from gpd.tables.collect import Tables
from gpd.text.formats import number

SERIES = [column.name for column in columns.SERIES]
REFERENCE = "reference"  # made once, before all that is timed
OF_WHOLE = 0.55  # of a job that stayed whole: more than half, for no two samples are of one size to the last base
WARM_GB = 0.1  # a sample over which the slowest to warm up of GATK's walks is

Row = Mapping[str, Any]


class StudyError(GpdError):
    """A study that no model can be made of; the message is one line."""


# ---- what was measured of the node -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeFigures:
    """Of a node's record: watts of packages and memory while all cores are busy, and memory's bandwidth."""

    watts: float | None = None
    bandwidth_mb_s: float | None = None


def node_figures(node: NodeRecord | None) -> NodeFigures:
    """None where the study has no record of its node."""
    if not node:
        return NodeFigures()
    busy = (clock.watts for clock in node.clocks if clock.busy == "all cores" and clock.watts)
    watts = next((sum(of_parts.values()) for of_parts in busy), None)
    place = node.bandwidth.place("node") if node.bandwidth else None
    return NodeFigures(watts, place.median("triad") if place else None)


# ---- jobs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """A job that ended well, or a piece of it.

    `gigabases`: its share of its sample's, or of all samples' where it is for all of them.
    """

    cell: str
    sample: str
    rule: str
    step: str
    timed: bool
    threads: int
    start_s: float
    end_s: float
    gigabases: float
    others: float
    cpu_s: float | None
    rss_mib: float | None
    piece: bool = False
    genome_mb: float | None = None

    @property
    def wall_s(self) -> float:
        return self.end_s - self.start_s

    def observed(self, amount: float) -> Observed:
        longer = genome.factor(self.genome_mb) if self.rule in genome.MAPPED else 1.0
        return Observed("", self.cell, self.gigabases * longer, self.threads, self.others, amount)


@dataclass(frozen=True)
class Evidence:
    """What a series of a study tells: its jobs, and its cells as rows of the table `runs`."""

    name: str
    series: Series
    jobs: tuple[_Job, ...]
    runs: tuple[Row, ...]

    def without(self, cell: str) -> "Evidence":
        kept = [row for row in self.runs if row["cell"] != cell]
        return replace(self, jobs=tuple(job for job in self.jobs if job.cell != cell), runs=tuple(kept))

    def only(self, cells: Iterable[str]) -> "Evidence":
        kept = set(cells)
        runs = tuple(row for row in self.runs if row["cell"] in kept)
        return replace(self, jobs=tuple(job for job in self.jobs if job.cell in kept), runs=runs)

    def gigabases(self, row: Row) -> float:
        """Of a sample of a cell, on average."""
        return float(row["gigabases"]) / int(row["succeeded"])

    @cached_property
    def whole_runs(self) -> list[Row]:
        return [row for row in self.runs if not row["failed"] and row["gigabases"] and row["makespan_s"]]


def evidence(name: str, tables: Tables) -> Evidence:
    """The germline series with most cells without failures, `scheduled` before others; clusters are no single node.

    Raises StudyError where there is none.
    """
    runs = _rows(tables.runs[tables.runs["counted"].fillna(False).astype(bool)])
    runs = [row for row in runs if row["pipeline"] == GERMLINE.name and row["mode"] != CLUSTER]
    good = [row for row in runs if not row["failed"] and row["gigabases"] and row["makespan_s"]]
    if not good:
        raise StudyError(
            f"{name}: no cell of the germline pipeline on one machine ended without failures; nothing to fit"
        )
    kinds = [Series(*(row[key] for key in SERIES)) for row in good]
    series = max(dict.fromkeys(kinds), key=lambda kind: (kind.mode == SCHEDULED, kinds.count(kind), astuple(kind)))
    own = [row for row in runs if Series(*(row[key] for key in SERIES)) == series]
    cells = [row["cell"] for row in own if row in good]
    sizes = {(row["cell"], row["sample"]): row["gigabases"] for row in _rows(tables.samples)}
    genomes = {row["cell"]: row["genome_mb"] for row in good}
    jobs = [replace(job, genome_mb=genomes[cell]) for cell in cells for job in _jobs(cell, tables.jobs, sizes)]
    return Evidence(name, series, tuple(jobs), tuple(own))


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    plain = table.astype(object).where(table.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False)]


def _jobs(cell: str, table: pd.DataFrame, sizes: Mapping[tuple[str, str], float | None]) -> list[_Job]:
    """A cell's jobs that ended well, without the reference's. Pieces of a job stand for it, and share its gigabases."""
    rows = [row for row in _rows(table[table["cell"] == cell]) if row["exit_code"] == 0 and row["step"] != REFERENCE]
    rows = [row for row in rows if row["start_s"] is not None and row["end_s"] is not None and row["sample"]]
    rows = [row for row in rows if row["shard"] != GATHER]
    beside = mean_others([(row["start_s"], row["end_s"]) for row in rows])
    shares: dict[tuple[str, str], int] = {}
    for row in rows:
        shares[row["rule"], row["sample"]] = shares.get((row["rule"], row["sample"]), 0) + 1
    whole = sum(size or 0.0 for (of, _), size in sizes.items() if of == cell)
    found = []
    for row, others in zip(rows, beside, strict=True):
        size = whole if row["sample"] == COHORT else sizes.get((cell, row["sample"]))
        if size:
            share = size / shares[row["rule"], row["sample"]]
            found.append(_job(cell, row, share, others))
    return found


def _job(cell: str, row: Row, gigabases: float, others: float) -> _Job:
    return _Job(
        cell=cell,
        sample=row["sample"],
        rule=row["rule"],
        step=row["step"],
        timed=bool(row["timed"]),
        threads=int(row["threads"]),
        start_s=row["start_s"],
        end_s=row["end_s"],
        gigabases=gigabases,
        others=others,
        cpu_s=row["cpu_s"],
        rss_mib=row["peak_rss_mib"],
        piece=bool(row["shard"]),
    )


def joined(name: str, parts: Sequence[Evidence]) -> Evidence:
    """Several studies of one machine as one, as of samples of several sizes; cells are named STUDY/CELL."""

    def renamed(part: Evidence, cell: str) -> str:
        return f"{part.name}/{cell}"

    jobs = tuple(replace(job, cell=renamed(part, job.cell)) for part in parts for job in part.jobs)
    runs = tuple({**row, "cell": renamed(part, row["cell"])} for part in parts for row in part.runs)
    return Evidence(name, parts[0].series, jobs, runs)


# ---- the model ---------------------------------------------------------------------------------------------------


def model(
    found: Evidence, draw: Random, redraws: int = 0, node: NodeFigures | None = None, host: Host | None = None
) -> NodeModel:
    """The machine's model, its held-out errors, and models of cells drawn anew."""
    steps = _by_rule(found.jobs)
    central = _model(found, fit_laws(steps), host)
    again = tuple(_model(found, fit_laws(redrawn(steps, draw)), host) for _ in range(redraws))
    errors = tuple(one.error for one in held_out(found))
    return replace(
        central,
        resampled=again,
        errors=errors,
        watts=node.watts if node else None,
        bandwidth_mb_s=node.bandwidth_mb_s if node else None,
        notes=(*central.notes, *_notes(found, errors)),
    )


def _by_rule(jobs: Iterable[_Job]) -> dict[str, list[Observed]]:
    rules: dict[str, list[Observed]] = {}
    for job in jobs:
        rules.setdefault(job.rule, []).append(job.observed(max(job.wall_s, 1e-3)))
    return rules


def fit_laws(steps: Mapping[str, Sequence[Observed]]) -> dict[str, Law]:
    return {rule: fit(observed, warm_up=WARM_UPS.get(rule, WARM))[""] for rule, observed in steps.items() if observed}


def _model(found: Evidence, laws: Mapping[str, Law], host: Host | None) -> NodeModel:
    whole = found.whole_runs
    sizes = [found.gigabases(row) for row in whole]
    numbers = [int(row["n"]) for row in whole]
    failed = [int(row["n"]) for row in found.runs if (row["failed"] or 0) > (row["failed_data"] or 0)]
    shared = [
        (row["shared_inputs_mib"] + row["shared_outputs_mib"]) / row["gigabases"]
        for row in whole
        if row["shared_inputs_mib"] is not None and row["shared_outputs_mib"] is not None
    ]
    works = _works(found.jobs, laws, _smallest_pieces(found))
    return NodeModel(
        name=found.name,
        source="study",
        skus=tuple(dict.fromkeys(row["sku"] for row in whole if row["sku"])),
        sockets=host.sockets if host and host.virtual_machine == "none" else None,  # of others' processors, too
        cores=int(whole[0]["cores"]),
        memory_mib=(host.memory_limit_mib or host.memory_mib) if host else None,
        leased=found.series.mode == SCHEDULED,
        works=works,
        seen=Seen(min(numbers), max(numbers), min(sizes), max(sizes), min(failed, default=None)),
        delay_s=_delay_s(found.jobs, works),
        disk_mib_per_gb=_a_gigabase(whole, "peak_disk_mib"),
        kept_mib_per_gb=_a_gigabase(whole, "kept_disk_mib"),
        shared_mib_per_gb=median(shared) if shared else None,
        genome_mb=_genome_mb(whole),
    )


def _a_gigabase(whole: Sequence[Row], column: str) -> float | None:
    """The median over runs; a column that an earlier version did not write is not known."""
    known = [row[column] / row["gigabases"] for row in whole if row[column]]
    return median(known) if known else None


def _genome_mb(whole: Sequence[Row]) -> float | None:
    """Of the samples, in the middle; None where that of one is not known."""
    known = [row["genome_mb"] for row in whole]
    return None if None in known else median(known)


def _works(jobs: Sequence[_Job], laws: Mapping[str, Law], smallest: Mapping[str, float]) -> tuple[Work, ...]:
    """The rules as a chain in the order of their steps; what is in no step hangs from the rule that it came after."""
    of_rule: dict[str, list[_Job]] = {}
    for job in jobs:
        of_rule.setdefault(job.rule, []).append(job)
    place = {step: at for at, step in enumerate(GERMLINE.steps)}
    timed = [rule for rule, own in of_rule.items() if own[0].timed]
    chain = sorted(timed, key=lambda rule: (place[of_rule[rule][0].step], median(job.start_s for job in of_rule[rule])))
    after: dict[str, str | None] = {rule: chain[at - 1] if at else None for at, rule in enumerate(chain)}
    sides = {rule: _comes_after(own, chain, of_rule) for rule, own in of_rule.items() if not own[0].timed}
    order = [name for rule in chain for name in (rule, *(side for side, before in sides.items() if before == rule))]
    order = [*(side for side, before in sides.items() if before is None), *order]
    after |= sides
    found = [_work(rule, of_rule[rule], laws[rule], after[rule]) for rule in order if rule in laws]
    return tuple(replace(work, piece_gigabases=smallest.get(work.name)) for work in found)


def _smallest_pieces(found: Evidence) -> dict[str, float]:
    """Gigabases in the smallest piece of each rule that is cut: by default all of CUTS, where jobs have leases.

    How many gigabases that are is an estimate, for what counts is the size of files. A job that stayed whole though
    CPUs were free tells that its pieces would be too small; where they would be twice as large as estimated, that its
    rule is never cut.
    """
    mib_per_gb = _a_gigabase(found.whole_runs, "input_mib")
    if mib_per_gb is None or found.series.mode != SCHEDULED:
        return {}
    roomy = {row["cell"] for row in found.whole_runs if row["n"] < row["cores"]}
    cut = {job.rule for job in found.jobs if job.piece}
    whole: dict[str, float] = {}
    for job in found.jobs:
        if job.cell in roomy and job.rule not in cut:
            whole[job.rule] = max(whole.get(job.rule, 0.0), job.gigabases)
    estimated = {rule: of_rule.piece_gigabases(mib_per_gb) for rule, of_rule in CUTS.items()}
    least = {rule: max(size, OF_WHOLE * whole.get(rule, 0.0)) for rule, size in estimated.items()}
    return {rule: size for rule, size in least.items() if size < 2 * estimated[rule]}


def _comes_after(own: Sequence[_Job], chain: Sequence[str], of_rule: Mapping[str, Sequence[_Job]]) -> str | None:
    """The last rule of the chain that had always ended, for the same sample, when jobs of this one started."""

    def ended(rule: str) -> bool:
        ends = {(job.cell, job.sample): job.end_s for job in of_rule[rule]}
        return all(ends.get((job.cell, job.sample), float("inf")) <= job.start_s for job in own)

    return next((rule for rule in reversed(chain) if ended(rule)), None)


def _work(rule: str, own: Sequence[_Job], law: Law, after: str | None) -> Work:
    pairs = {(job.cell, job.sample) for job in own}
    jobs = len({(job.cell, job.sample) if job.piece else job for job in own})
    return Work(
        name=rule,
        step=own[0].step,
        law=law,
        width=max(job.threads for job in own),
        jobs=max(round(jobs / len(pairs)), 1),
        after=after,
        whole=all(job.sample == COHORT for job in own),
        untimed=not own[0].timed,
        cpu=_law_of(own, lambda job: job.cpu_s, law.warm_up),
        memory=_memory(own),
        mapped=rule in genome.MAPPED,
    )


def _law_of(own: Sequence[_Job], amount: Callable[[_Job], float | None], warm_up: WarmUp = WARM) -> Law | None:
    """What jobs of a rule take besides time, by their gigabases; None where it is not known of all."""
    known = [(job, value) for job in own if (value := amount(job)) is not None]
    if len(known) < len(own):
        return None
    alone = [replace(job.observed(max(value, 1e-3)), width=1, others=0) for job, value in known]
    return fit(alone, contended=False, warm_up=warm_up)[""]


def _memory(own: Sequence[_Job]) -> Law | None:
    """Peak memory; where samples are of one size, as much for any other: heaps are set, and not by the reads."""
    sizes = [job.gigabases for job in own]
    if max(sizes) / min(sizes) >= SPREAD:
        return _law_of(own, lambda job: job.rss_mib)
    known = [job.rss_mib for job in own if job.rss_mib is not None]
    return Law(max(known), 0.0, 0.0, has_parallel=False) if len(known) == len(own) else None


def _delay_s(jobs: Sequence[_Job], works: Sequence[Work]) -> float:
    """What passes between a job's end and the next one's start where no CPU was waited for: the lower quartile."""
    ends: dict[tuple[str, str, str], float] = {}
    starts: dict[tuple[str, str, str], float] = {}
    for job in jobs:
        key = job.cell, job.sample, job.rule
        ends[key] = max(ends.get(key, 0.0), job.end_s)
        starts[key] = min(starts.get(key, job.start_s), job.start_s)
    gaps = sorted(
        max(start - ends[cell, sample, work.after], 0.0)
        for work in works
        for (cell, sample, rule), start in starts.items()
        if rule == work.name and work.after and not work.untimed and (cell, sample, work.after) in ends
    )
    return gaps[len(gaps) // 4] if gaps else 0.0


# ---- held against what was left out ------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOut:
    """A cell, and what a model says of it that has not seen it."""

    cell: str
    n: int
    gigabases: float
    measured_s: float
    predicted: Prediction

    @property
    def error(self) -> float:
        """Relative, above zero where too long a makespan was predicted."""
        return self.predicted.makespan_s / self.measured_s - 1


def held_out(found: Evidence) -> list[HeldOut]:
    """Each cell without failures as predicted from all others of its series; none where it is the only one."""
    if len(found.whole_runs) < 2:
        return []
    return [predicted(found.without(row["cell"]), row, found.gigabases(row)) for row in found.whole_runs]


def predicted(known: Evidence, row: Row, gigabases: float) -> HeldOut:
    """A cell as predicted from others."""
    made = replace(_model(known, fit_laws(_by_rule(known.jobs)), None), genome_mb=row["genome_mb"])
    return HeldOut(row["cell"], int(row["n"]), gigabases, row["makespan_s"], made.predict(int(row["n"]), gigabases))


def _notes(found: Evidence, errors: Sequence[float]) -> Iterable[str]:
    sizes = [found.gigabases(row) for row in found.whole_runs]
    yield f"fitted to {len(found.whole_runs)} cells of {found.series.mode}, {found.series.binding} binding"
    if max(sizes) / min(sizes) < SPREAD:
        yield (
            f"all samples have about {number(max(sizes))} Gb, so what a job takes whatever its size is counted as"
            " growing with it, but for the start of GATK's JVMs: of larger samples somewhat too much time is predicted"
        )
    elif max(sizes) < WARM_GB:
        yield (
            f"jobs over samples of up to {number(max(sizes))} Gb end while their JVMs warm up: how much faster a"
            " gigabase goes in larger ones is taken from other machines's"
        )
    if genome_mb := _genome_mb(found.whole_runs):
        longer = genome.factor(genome.HUMAN_MB) / genome.factor(genome_mb)
        yield (
            f"mapping a base to a human genome is taken to last {number(longer, 2)} times as long as to these samples'"
            f" of {number(genome_mb)} Mb, as it did on other machines to a genome of {genome.MEASURED_MB:g} Mb"
        )
    if not errors:
        yield "one cell alone: nothing tells how well it predicts"
