"""`gpd ledger show` and `gpd ledger check`: the attempts of a run as a table, and whether their records hold up."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gpd.commands.subcommands import FILE_WIDTH, Subcommands, Terminal, say
from gpd.machines import launcher
from gpd.records import ledger_check
from gpd.records.ledger import Attempt, LedgerError, files, read_ledger, read_records
from gpd.text.formats import brief, counted

NAME = "ledger.jsonl"
TABLE_WIDTH = 120  # of the table, at least

app = typer.Typer(
    cls=Subcommands, no_args_is_help=True, help="Look at a run's job records: one for every attempt at a job."
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
        records = [json.loads(line) for line, _ in read_records(path)]
        say(json.dumps(records, indent=2, ensure_ascii=False))
    else:
        width = max(TABLE_WIDTH, Terminal().width) if Terminal().is_terminal else FILE_WIDTH
        Terminal(width=width).print(table(read_ledger(path)))


@app.command()
def check(run: Run = Path()) -> None:
    """Check a run's records against their schema, and that no two jobs shared a CPU; 1 where something is wrong.

    Example: gpd ledger check demo-run
    """
    path = find(run)
    launcher.jobs()  # records those whose launchers were killed
    checked = ledger_check.check(path)
    for problem in checked.problems or [verdict(checked.attempts)]:
        say(problem)
    raise typer.Exit(1 if checked.problems else 0)


def find(run: Path) -> Path:
    """The ledger of a run, given its folder or the ledger itself. Raises LedgerError where there is none."""
    path = run / NAME if run.is_dir() else run
    if not files(path):
        raise LedgerError(f"{path}: no such ledger; name a run's folder or its {NAME}")
    return path


def verdict(attempts: Sequence[Attempt]) -> str:
    """What a ledger without problems proves."""
    jobs, failed = len({attempt.job for attempt in attempts}), sum(not attempt.succeeded for attempt in attempts)
    attempted = f"{counted(len(attempts), 'attempt')} at {counted(jobs, 'job')}, {failed} failed"
    doubts = {
        "without CPUs of its own": sum(attempt.cpus is None for attempt in attempts),
        "whose end is not known": sum(attempt.cpus is not None and attempt.end is None for attempt in attempts),
        "seen outside its CPUs": sum(attempt.binding_ok is False for attempt in attempts),
        "of whose CPUs nothing was seen": sum(
            attempt.cpus is not None and attempt.end is not None and attempt.binding_ok is None for attempt in attempts
        ),
    }
    apart = [f"{count} {doubt}" for doubt, count in doubts.items() if count]
    if apart:
        return f"{attempted}; no two jobs held one CPU, as far as is known: {', '.join(apart)}"
    return f"{attempted}; no two jobs shared a CPU"


def table(attempts: Sequence[Attempt]) -> Table:
    """A row an attempt, in order of start; what is not known stays blank, and a sole node is not named."""
    shown = Table(title=_title(attempts), title_justify="left", box=None, pad_edge=False, header_style="bold")
    on_nodes = len({attempt.node for attempt in attempts}) > 1
    shown.add_column("start", no_wrap=True)
    shown.add_column("rule", overflow="fold", min_width=12)
    shown.add_column("sample/unit", overflow="fold", min_width=8)
    shown.add_column("try", justify="right", no_wrap=True)
    if on_nodes:
        shown.add_column("node", overflow="fold", min_width=4)
    shown.add_column("CPUs", justify="right", overflow="fold", min_width=7)
    for name in ("wait", "wall", "CPU s", "use", "peak", "read", "written"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("bound", no_wrap=True)
    shown.add_column("outcome", overflow="fold", min_width=16)
    # what never began comes last
    for attempt in sorted(attempts, key=lambda attempt: attempt.start or datetime.max.replace(tzinfo=UTC)):
        shown.add_row(*map(Text, _texts(attempt, on_nodes)), _outcome(attempt))
    inputs = sum(attempt.shared_inputs_mib or 0.0 for attempt in attempts)
    outputs = sum(attempt.shared_outputs_mib or 0.0 for attempt in attempts)
    if inputs + outputs:
        shown.caption = f"on network file systems: inputs {inputs:,.1f} MiB, outputs {outputs:,.1f} MiB"
        shown.caption_justify = "left"
    return shown


def _title(attempts: Sequence[Attempt]) -> str:
    days = sorted({f"{attempt.start:%Y-%m-%d}" for attempt in attempts if attempt.start is not None})
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "never begun"
    return f"{counted(len(attempts), 'attempt')}, {when} (UTC); times in seconds, sizes in MiB, use in CPUs"


def _texts(attempt: Attempt, with_node: bool) -> list[str]:
    figures = (
        *((attempt.wait_s, 1), (attempt.wall_s, 1), (attempt.cpu_s, 1), (attempt.cpu_use, 2)),
        *((attempt.peak_rss_mib, 0), (attempt.read_mib, 1), (attempt.write_mib, 1)),
    )
    return [
        "" if attempt.start is None else f"{attempt.start:%d %H:%M:%S}",
        attempt.rule,
        "/".join(attempt.wildcards.values()),
        str(attempt.attempt or ""),
        *([attempt.node or ""] if with_node else []),
        attempt.cpus or "",
        *("" if value is None else f"{value:,.{digits}f}" for value, digits in figures),
        {True: "yes", False: "NO", None: ""}[attempt.binding_ok],
    ]


def _outcome(attempt: Attempt) -> Text:
    if attempt.succeeded:
        return Text("ok", "green")
    return Text(brief(": ".join(filter(None, (attempt.cause, attempt.message)))) or "failed", "red")
