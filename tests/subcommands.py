"""Subcommands in the process of a test."""

from click.testing import Result
from typer.testing import CliRunner

from gpd.cli import app


def gpd(*words: object, **options: object) -> Result:
    """What a command line comes to, which ends by itself: no error of ours reaches its user as a traceback."""
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done
