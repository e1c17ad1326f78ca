"""The registry of results: a page with all machines, a table and a chart a workload, and a page a machine."""

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from documentation.pages import page, table
from gpd.benchmark import registry, result, submission
from gpd.benchmark.registry import Listed
from gpd.benchmark.result import Result
from gpd.benchmark.submission import Session
from gpd.published import curves
from gpd.records.calibration import MOST_DRIFT
from gpd.records.host import Host
from gpd.reports import grids
from gpd.statistics.estimates import Estimate
from gpd.text.formats import counted, number
from gpd.text.grid import Grid

HEADS = (
    "machine",
    "samples/day",
    "from",
    "to",
    "N",
    "CPU",
    "cores",
    "memory, GiB",
    "cloud type",
    "alone, s",
    "per core",
)
HEADS += ("per watt", "kJ/sample", "per currency and hour", "CPU s/Gb", "verified", "noise", "commit")
BAR_PX, AFTER_PX, LINE_PX = 300, 80, 40  # of a telephone's width; a name stands above its bar
MACHINES = "```{toctree}\n:hidden:\n:glob:\n\nregistry/*\n```"
ELAPSED = "elapsed_h"
UNVERIFIED = "unverified"
RULES = {
    "submitters": "those that measured, or that may speak for them; `submitter` names them",
    "interest": "makers, sellers and lessors of the machine say so in `interest`",
    "divisions": "`closed`: the workload as it is. `open`: another mapper or other settings, said in `differs`",
    UNVERIFIED: "until an entry of another submitter, of the same CPU and cores, agrees within its interval",
    "noise": f"a calibration that drifts by more than {100 * MOST_DRIFT:.0f}%, disturbed runs, shared machines: they "
    "stand on the result",
    "withdrawal": "the owner sets `status: withdrawn`, and `note` says why; the entry stays",
    "doubt": "a reviewer sets `status: marked`, and `note` says why; the entry stays",
    "prices": "with the day on which they were true",
}


@dataclass(frozen=True)
class RegistryMachine:
    """An entry with what its sessions came to; N is the best of the first."""

    listed: Listed
    sessions: tuple[Session, ...]
    results: tuple[Result, ...]

    @property
    def result(self) -> Result:
        return self.results[0]

    @property
    def entry(self) -> registry.RegistryEntry:
        return self.listed.entry

    @property
    def stands(self) -> bool:
        """Whether neither its owner nor a reviewer doubts it."""
        return self.entry.status == "listed"

    @property
    def workload(self) -> str:
        return self.sessions[0].study.name

    @cached_property
    def daily(self) -> Estimate:
        return result.of_sessions([one.best.genomes_per_day for one in self.results])

    @property
    def alone_s(self) -> Estimate:
        return result.of_sessions([one.fewest.makespan_s for one in self.results])

    @property
    def cpu_s_per_gigabase(self) -> Estimate:
        return result.of_sessions([one.best.cpu_s_per_gigabase for one in self.results])

    @cached_property
    def host(self) -> Host:
        return next((record.host for record in self.sessions[0].records if record.host), Host())

    @property
    def cpu(self) -> str:
        return self.host.sku or self.host.cpu_model or "not known"

    @cached_property
    def noise(self) -> list[str]:
        return submission.noise(self.sessions)


def pages() -> dict[str, str]:
    """The page of all machines, and one of each, by their names in docs/reference."""
    machines = [machine for listed in registry.entries() if (machine := _read(listed))]
    return {"registry": _overview(machines), **{f"registry/{one.listed.name}": _own_page(one) for one in machines}}


def _read(listed: Listed) -> RegistryMachine | None:
    sessions = tuple(map(Session.read, listed.packages))
    found = [one for session in sessions if (one := result.of_tables(session.found.tables))]
    return RegistryMachine(listed, sessions, tuple(found)) if found else None


# ---- all machines --------------------------------------------------------------------------------------------


def _overview(machines: Sequence[RegistryMachine]) -> str:
    parts = []
    for workload in sorted({one.workload for one in machines}):
        for division in ("closed", "open"):
            own = [one for one in machines if (one.workload, one.entry.division) == (workload, division)]
            if own:
                ranked = sorted(own, key=lambda one: (not one.stands, -(one.daily.value or 0)))
                standing = [one for one in ranked if one.stands]
                parts += [f"## {workload}, {division} division", _chart(standing), _table(ranked, machines)]
    nothing = [] if machines else ["No machine has been entered yet. [Be the first](../how-to/benchmark-a-machine.md)."]
    return page(
        "Registry of results",
        "resources/registry",
        "Machines measured with the standard workloads of [`gpd benchmark`](../how-to/benchmark-a-machine.md). Click "
        "on a head to sort. Figures of two workloads, of two versions of one, or of the two divisions are never ranked "
        "together.",
        "`samples/day` is the mean of a machine's sessions, `from` and `to` are the outer ends of their 95% intervals. "
        "`alone` is a run of one sample, or of two where samples are compared. `per watt` is by what was measured at "
        "the wall, `kJ/sample` by the machine's own counters of processors and memory.",
        *(nothing or [MACHINES]),
        *parts,
        _rules(),
        _published(),
    )


def _table(machines: Sequence[RegistryMachine], every: Sequence[RegistryMachine]) -> str:
    """A table that the page's script sorts and filters."""
    heads = "".join(f"<th>{html.escape(head)}</th>" for head in HEADS)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{entry}</td>" for entry in _row(machine, every)) + "</tr>" for machine in machines
    )
    return f'<table class="registry">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'


def _row(machine: RegistryMachine, every: Sequence[RegistryMachine]) -> Iterator[str]:
    entry, best, host = machine.entry, machine.result.best, machine.host
    daily = machine.daily.value or 0.0
    commits = {record.settings.workflow_commit for record in machine.sessions[0].records}
    state = "" if machine.stands else f" ({entry.status}: {entry.note})"
    yield f'<a href="registry/{machine.listed.name}.html">{html.escape(entry.machine)}</a>{html.escape(state)}'
    yield from map(
        html.escape,
        (
            number(daily),
            number(machine.daily.low),
            number(machine.daily.high),
            str(best.n),
            machine.cpu,
            str(machine.result.cores),
            number(None if host.memory_mib is None else host.memory_mib / 1024),
            entry.cloud.type if entry.cloud else "",
            number(machine.alone_s.value),
            number(daily / machine.result.cores),
            number(daily / entry.watts if entry.watts else None),
            number(machine.result.energy_j / 1000 if machine.result.energy_j else None),
            f"{number(daily / entry.cloud.price_per_hour)} {entry.cloud.currency}" if entry.cloud else "",
            number(machine.cpu_s_per_gigabase.value),
            "yes" if _agreeing(machine, every) else UNVERIFIED,
            "yes" if machine.noise else "",
            ", ".join(sorted(commit[:7] for commit in commits if commit)),
        ),
    )


def _agreeing(machine: RegistryMachine, every: Iterable[RegistryMachine]) -> list[RegistryMachine]:
    """Entries of others that stand, of the same kind of machine, whose intervals overlap with this one's."""
    return [
        other
        for other in every
        if other.stands
        and other.entry.submitter != machine.entry.submitter
        and (other.workload, other.entry.division) == (machine.workload, machine.entry.division)
        and (other.cpu, other.result.cores) == (machine.cpu, machine.result.cores)
        and _overlap(machine.daily, other.daily)
    ]


def _overlap(one: Estimate, other: Estimate) -> bool:
    ends = one.low, one.high, other.low, other.high
    return None not in ends and one.low <= other.high and other.low <= one.high  # type: ignore[operator]


def _chart(machines: Sequence[RegistryMachine]) -> str:
    """Bars of samples a day with the ends of sessions' intervals; empty where no machine stands."""
    if not machines:
        return ""
    most = max((one.daily.high or one.daily.value or 0.0) for one in machines)
    lines = [_bar(at, one, most) for at, one in enumerate(machines)]
    width, height = BAR_PX + AFTER_PX, LINE_PX * len(machines)
    label = "Samples a day by machine, with the ends of the intervals of its sessions"
    return (
        f'<svg class="registry" viewBox="0 0 {width} {height}" role="img" aria-label="{label}" '
        'font-family="sans-serif" font-size="12">\n' + "\n".join(lines) + "\n</svg>"
    )


def _bar(at: int, machine: RegistryMachine, most: float) -> str:
    daily, middle = machine.daily, LINE_PX * at + 28

    def x(value: float | None) -> str:
        return f"{BAR_PX * (value or 0.0) / most:.1f}"

    end = x(daily.high or daily.value)
    drawn = [
        f'<text x="0" y="{middle - 12}" fill="currentColor">{html.escape(machine.listed.name)}</text>',
        f'<rect x="0" y="{middle - 8}" width="{x(daily.value)}" height="16" fill="#4878a8"/>',
        f'<text x="{float(end) + 6:.1f}" y="{middle + 4}" fill="currentColor">{number(daily.value)}</text>',
    ]
    if daily.low is not None and daily.high is not None:
        whisker = f"M{x(daily.low)} {middle}H{end}M{x(daily.low)} {middle - 4}v8M{end} {middle - 4}v8"
        drawn.append(f'<path d="{whisker}" stroke="currentColor" fill="none"/>')
    return "".join(drawn)


def _rules() -> str:
    divisions = {True: "closed", False: "both"}
    rows = [(check.name, check.says, divisions[check.closed]) for check in submission.CHECKS]
    apart = f"{submission.LEAST_SESSIONS} or more, {submission.APART.total_seconds() / 60:.0f} minutes apart"
    rows.append(("sessions", f"{submission.SESSIONS}: {apart}", "both"))
    checked = table(("check", "holds where", "division"), rows)
    return "\n\n".join(("## What is accepted", checked, table(("question", "rule"), RULES.items())))


def _published() -> str:
    """The studies of others, apart."""
    rows = []
    for curve in curves.by_sku():
        known = [point for point in curve.points if point.genomes_per_day is not None]
        if known:
            best = max(known, key=lambda point: point.genomes_per_day or 0)
            rows.append((curve.sku, str(best.n), number(best.genomes_per_day)))
    return "\n\n".join(
        (
            "## Others' work, apart",
            "These are genomes at 53x with other tools, one run each, without errors. They are in no ranking with the "
            "above. [Published results](published.md) says what they are.",
            table(("CPU, two sockets", "N", "genomes/day"), rows),
        )
    )


# ---- one machine ---------------------------------------------------------------------------------------------


def _own_page(machine: RegistryMachine) -> str:
    entry = machine.entry
    daily = machine.daily
    ends = "" if daily.low is None else f" ({number(daily.low)} to {number(daily.high)})"
    facts = {
        machine.workload: f"{number(daily.value)}{ends} samples a day at N = {machine.result.best.n}: "
        f"{counted(daily.n, 'session')}",
        "CPU": machine.host.cpu_model or "",
        "cores": str(machine.result.cores),
        "memory": f"{number((machine.host.memory_mib or 0) / 1024)} GiB",
        "virtual machine": machine.host.virtual_machine or "",
        "kernel": machine.host.kernel or "",
        "submitter": entry.submitter,
        "interest": entry.interest,
        "division": f"{entry.division}{f': {entry.differs}' if entry.differs else ''}",
        "status": f"{entry.status}{f': {entry.note}' if entry.note else ''}",
    }
    if entry.cloud:
        cloud = entry.cloud
        price = f"{cloud.price_per_hour:g} {cloud.currency} an hour ({cloud.day})"
        facts["cloud"] = f"{cloud.type}, {cloud.region}; {price}"
    noise = ["## What disturbed", "\n".join(f"- {line}" for line in machine.noise)] if machine.noise else []
    return page(
        entry.machine,
        f"resources/registry/{machine.listed.name}",
        "An entry of the [registry](../registry.md).",
        table(("", ""), [(name, text) for name, text in facts.items() if text]),
        *noise,
        *(part for session in machine.sessions for part in _session(session)),
    )


def _session(session: Session) -> Iterator[str]:
    tables = session.found.tables
    start = min(record.start for record in session.records)
    yield f"## {session.name.replace('-', ' ').capitalize()}"
    found = result.of_tables(tables)
    yield f"Begun {start:%Y-%m-%d %H:%M} UTC."
    yield f"```\n{found.line(session.study.name)}\n```" if found else "No sample succeeded."
    for key in dict.fromkeys(row.curve_key for row in tables.configurations):
        yield _markdown(grids.configurations_grid(key, tables.configurations))
        yield from map(_markdown, grids.step_grids(key, ELAPSED, tables.summary, tables.configurations))


def _markdown(grid: Grid) -> str:
    rows = [line.texts for group in grid.groups for line in group.lines]
    return f"{grid.caption}:\n\n{table(grid.heads, rows)}"
