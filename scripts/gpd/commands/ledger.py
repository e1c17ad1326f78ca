"""`gpd ledger show` and `gpd ledger check`: the attempts of a run as a table, and whether their records hold up."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gpd.commands.subcommands import FILE_WIDTH, Subcommands, Terminal, say
from gpd.machines import launcher
from gpd.records import ledger_check
from gpd.records.ledger import Attempt, LedgerError, files, read_ledger, read_records
from gpd.records.ledger_check import Checked
from gpd.text.formats import counted

NAME = "ledger.jsonl"
TABLE_WIDTH = 120  # of the table, at least

app = typer.Typer(
    cls=Subcommands, no_args_is_help=True, help="Look at a run's ledger: one record for every attempt at a job."
)
Run = Annotated[Path, typer.Argument(help="A run's folder, or its ledger.jsonl.")]


@app.command()
def show(
    run: Run = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """Show each attempt at each job: CPUs, times, memory, bytes, binding, and what came of it. Unknown is blank.

    Example: gpd ledger show demo-run
    """
    path = find(run)
    if as_json:
        say(json.dumps(records(path), indent=2, ensure_ascii=False))
    else:
        width = max(TABLE_WIDTH, Terminal().width) if Terminal().is_terminal else FILE_WIDTH
        Terminal(width=width).print(table(read_ledger(path)))


@app.command()
def check(run: Run = Path()) -> None:
    """Check a run's records against their schema, and that no two jobs shared a CPU; 1 where something is wrong.

    Example: gpd ledger check demo-run
    """
    checked = checked_ledger(find(run))
    for problem in checked.problems or [verdict(checked.attempts)]:
        say(problem)
    raise typer.Exit(1 if checked.problems else 0)


def find(run: Path) -> Path:
    """Return the ledger of a run, given its folder or the ledger itself. Raises LedgerError where there is none."""
    path = run / NAME if run.is_dir() else run
    if not files(path):
        raise LedgerError(f"{path}: no such ledger; name a run's folder or its {NAME}")
    return path


# ------------------------------------------------------------------------------------------------ check


def checked_ledger(path: Path) -> Checked:
    """Check a ledger, after the jobs whose launchers were killed are recorded in it."""
    launcher.recover()
    return ledger_check.check(path)


def verdict(attempts: Sequence[Attempt]) -> str:
    """Say what a ledger without problems proves."""
    jobs, failed = len({attempt.job for attempt in attempts}), sum(not attempt.succeeded for attempt in attempts)
    attempted = f"{counted(len(attempts), 'attempt')} at {counted(jobs, 'job')}, {failed} failed"
    doubts = {
        "without CPUs of its own": sum(attempt.cpus is None and not attempt.taken_from for attempt in attempts),
        "whose end is not known": sum(attempt.cpus is not None and attempt.end is None for attempt in attempts),
        "seen outside its CPUs": sum(attempt.binding_ok is False for attempt in attempts),
    }
    apart = [f"{count} {doubt}" for doubt, count in doubts.items() if count]
    if apart:
        return f"{attempted}; no two jobs held one CPU, as far as is known: {', '.join(apart)}"
    return f"{attempted}; no two jobs shared a CPU"


# ------------------------------------------------------------------------------------------------- show


def records(path: Path) -> list[dict]:
    """Return the ledger's records as they stand."""
    return [json.loads(line) for line, _ in read_records(path)]


def table(attempts: Sequence[Attempt]) -> Table:
    """Return a row an attempt, in order of start; what is not known stays blank, and a sole node is not named."""
    shown = Table(title=_title(attempts), title_justify="left", box=None, pad_edge=False, header_style="bold")
    shown.add_column("start", no_wrap=True)
    shown.add_column("rule", overflow="fold", min_width=12)
    shown.add_column("sample/unit", overflow="fold", min_width=8)
    shown.add_column("try", justify="right", no_wrap=True)
    on_nodes = len({attempt.node for attempt in attempts}) > 1
    if on_nodes:
        shown.add_column("node", overflow="fold", min_width=4)
    shown.add_column("CPUs", justify="right", overflow="fold", min_width=7)
    for name in ("wait", "wall", "CPU s", "use", "peak", "read", "written"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("bound", no_wrap=True)
    shown.add_column("outcome", overflow="fold", min_width=16)
    for attempt in sorted(attempts, key=_start):
        shown.add_row(*map(Text, _cells(attempt, on_nodes)), _outcome(attempt))
    shown.caption, shown.caption_justify = _over_network(attempts), "left"
    return shown


def _over_network(attempts: Sequence[Attempt]) -> str | None:
    """Return how much of the jobs' files lay on network file systems; None where none did, or nobody knows."""
    inputs, outputs = (
        fsum(size for attempt in attempts if (size := getattr(attempt, name)) is not None)
        for name in ("shared_inputs_mib", "shared_outputs_mib")
    )
    return (
        f"on network file systems: inputs {inputs:,.1f} MiB, outputs {outputs:,.1f} MiB" if inputs + outputs else None
    )


def _start(attempt: Attempt) -> datetime:
    """What an attempt is ordered by; one that never began comes last."""
    return attempt.start or datetime.max.replace(tzinfo=UTC)


def _title(attempts: Sequence[Attempt]) -> str:
    days = sorted({f"{attempt.start:%Y-%m-%d}" for attempt in attempts if attempt.start is not None})
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "never begun"
    return f"{counted(len(attempts), 'attempt')}, {when} (UTC); times in seconds, sizes in MiB, use in CPUs"


def _cells(attempt: Attempt, with_node: bool) -> list[str]:
    return [
        "" if attempt.start is None else f"{attempt.start:%d %H:%M:%S}",
        attempt.rule,
        "/".join(attempt.wildcards.values()),
        _text(attempt.attempt),
        *([_text(attempt.node)] if with_node else []),
        _text(attempt.cpus),
        _number(attempt.wait_s, 1),
        _number(attempt.wall_s, 1),
        _number(attempt.cpu_s, 1),
        _number(attempt.cpu_use, 2),
        _number(attempt.peak_rss_mib, 0),
        _number(attempt.read_mib, 1),
        _number(attempt.write_mib, 1),
        {True: "yes", False: "NO", None: ""}[attempt.binding_ok],
    ]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _outcome(attempt: Attempt) -> Text:
    if attempt.succeeded:
        return Text(f"ok, taken from {attempt.taken_from}" if attempt.taken_from else "ok", "green")
    return Text(": ".join(filter(None, (attempt.cause, attempt.message))) or "failed", "red")
