"""Snakemake's command line in a process that has imported it already: that import takes longer than most small runs.

And runs that are pretended: their outputs are there, and recorded as if jobs had made them.
"""

import multiprocessing
import os
import pkgutil
import sys
from multiprocessing.connection import Connection
from pathlib import Path

PRELOADED = [
    *("snakemake.cli", "snakemake.workflow", "snakemake.linting.rules"),
    *("snakemake.executors.touch", "snakemake.report.html_reporter", "smart_open", "jsonschema"),
    *("snakemake.profiles", "snakemake.storage", "snakemake.linting.snakefiles", "nbformat.v4", "fastjsonschema"),
    *("argparse_dataclass", "cProfile", "difflib", "packaging.version", "platformdirs", "py_compile"),
]

forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload(PRELOADED)


def run(arguments: list[str], environment: dict[str, str], output: Path) -> int:
    """Run the command line as in a process of its own, with an environment of its own; the exit code.

    What it says goes to a file, as it would to a pipe. It tells its exit code itself: where several threads start
    processes, one may take the code of another's from multiprocessing, which then makes 255 of it.
    """
    told, tell = forking.Pipe(duplex=False)
    process = forking.Process(target=_run, args=(arguments, environment, str(output), str(Path.cwd()), tell))
    process.start()
    tell.close()
    try:
        return told.recv()
    except EOFError:  # killed, or ended past us
        process.join()
        return process.exitcode
    finally:
        process.join()


def _run(arguments: list[str], environment: dict[str, str], output: str, folder: str, tell: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with Path(output).open("wb") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    from snakemake.cli import main
    from snakemake.executors.touch import Executor

    plugins = [*pkgutil.iter_modules()]
    pkgutil.iter_modules = lambda: plugins  # Snakemake looks for each kind of plugin through all packages anew
    Executor.SLEEPING_TIME = 0  # between two jobs: what Snakemake waits for file systems that count whole seconds
    sys.argv = ["snakemake", *arguments]
    try:
        main()
    except SystemExit as end:
        tell.send(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
