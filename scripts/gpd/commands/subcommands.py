"""What all subcommands share: how they end when something is wrong, and where they print."""

import signal
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpd.errors import GpdError, Interrupted
from gpd.text.formats import visible
from gpd.text.grid import Grid, rich_table

NOT_DONE = 2  # exit code
FILE_WIDTH = 200  # of tables where no terminal limits it


class Subcommands(typer.core.TyperGroup):
    """Subcommands that end without a traceback: what a user's files or arguments do not allow is a line a fault."""

    def invoke(self, context: typer.Context) -> object:  # type: ignore[override] # typer gives its own kind of context
        try:
            return super().invoke(context)
        except (Interrupted, KeyboardInterrupt) as error:
            interrupted = error if isinstance(error, Interrupted) else Interrupted(signal.SIGINT)
            raise typer.Exit(_report(context, interrupted, interrupted.exit_code)) from error
        except BrokenPipeError:
            raise  # the reader of the output has gone
        except (GpdError, OSError) as error:
            raise typer.Exit(_report(context, error, NOT_DONE)) from error


def _report(context: typer.Context, error: BaseException, code: int) -> int:
    """Say on stderr what ended a subcommand, line by line, and return its exit code."""
    subcommand = " ".join(["gpd", *context.command_path.split()[1:], context.invoked_subcommand or ""]).strip()
    message = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    for line in message.splitlines():
        say(f"{subcommand}: {line}", err=True)
    return code


Cores = Annotated[int | None, typer.Option(min=1, help="Cores to use. Default: all that this process may use.")]


class Terminal(Console):
    """The terminal that all subcommands print on: names and messages are text, no markup, no orders."""

    def __init__(self, **named: Any) -> None:
        super().__init__(markup=False, emoji=False, **named)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def terminal() -> Terminal:
    """The terminal; what goes elsewhere is not folded to its width."""
    console = Terminal()
    return console if console.is_terminal else Terminal(width=FILE_WIDTH)


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Print lines as they are, unfolded; nothing in them is markup."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_grids(console: Console, grids: Iterable[Grid]) -> None:
    """Print tables with the notes below them."""
    for grid in grids:
        console.print(rich_table(grid))
        print_lines(console, grid.notes)


def say(text: str, err: bool = False) -> None:
    """Print text of anybody."""
    typer.echo(visible(text), err=err)
