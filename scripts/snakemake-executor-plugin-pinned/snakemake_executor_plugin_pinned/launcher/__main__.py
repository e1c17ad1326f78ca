"""Run one job of the workflow on CPUs of its own, and leave one exact record of it.

    python launcher run --step S --rule R --wildcards NAME=VALUE,... --threads N --mem-mb M --log F [...] \
        [--outputs FILE ... [--inputs FILE ...]] <<< COMMAND
    python launcher job FOLDER -c COMMAND          what the executor described in FOLDER (job.py)
    python launcher hold [the options of run]      CPUs for several jobs at once (gang.py)
    $PINNED_LAUNCH spare | parts FILE              within a job: commands as parts of it (parts.py)
    python launcher topology [--xml FILE] [--threads N] [--binding P] [--boundary B] [--smt]
    python launcher limits
    python launcher throttling
    python launcher jobs

An option wins over its environment variable; an empty value counts as absent:

    --binding none|compact|scatter     GPD_BINDING   compact   how CPUs are chosen; none: any CPU, no allocation
    --boundary l3|numa|socket          GPD_BOUNDARY  l3        the finest boundary that an allocation respects
    --memory default|local|interleave  GPD_MEMORY    default   memory policy over the allocation's NUMA nodes
    --smt 1|0                          GPD_SMT       0         1: hyperthreads are CPUs; 0: whole cores
    --stall-s N                        GPD_STALL_S   0         end a job that does nothing for N s; 0: never
    --ledger FILE                      GPD_LEDGER    ledger.jsonl    in a batch job ledger.NODE.jsonl beside it
    --local-storage FOLDER             GPD_LOCAL_STORAGE       copies of what a storage plugin keeps are below it
    --run NAME                         GPD_RUN                 name of the run, written into each record
    --attempt N                                      1
    --id ID, --shard NAME, --asked-by PID                      attempt, part of a job, PID of the caller
                                       GPD_RUNTIME_DIR  /tmp/gpd-UID, where allocations are kept

Files behind --outputs must be whole when the job has ended, those behind --inputs before it starts (outputs.py).
Both options end the command line. The command finds GPD_CPUS, GPD_THREADS (what was granted) and GPD_MEM_MB in its
environment, and in TMPDIR a folder of its own. options.py has the others.
"""

import os
import sys

if not __package__:  # started by its path, as jobs do: `-m` would take as long again
    sys.path[0] = os.path.dirname(os.path.abspath(sys.path[0]))
    __package__ = "launcher"

from .options import parse
from .system import LauncherError, say


def main(arguments):
    """Do what the command line asks; return the exit code."""
    if arguments[:1] == ["job"]:
        from .job import run_job

        return run_job(*arguments[1:])
    if not arguments or "--help" in arguments:
        print(__doc__)
        return 0 if arguments else 2
    subcommand, *words = arguments
    try:
        settings, rest = parse(words)
        if subcommand == "run" and not rest:
            from .wrapper import run

            return run(settings)
        if subcommand == "parts" and len(rest) == 1:
            from .parts import run_parts

            return run_parts(rest[0])
        if subcommand in ("spare", "part") and not rest:
            from . import parts

            return parts.run_part() if subcommand == "part" else parts.show_spare()
        if subcommand == "hold" and not rest:
            from .gang import hold

            return hold(settings)
        if subcommand in ("topology", "limits", "throttling", "jobs") and not rest:
            from . import show

            return getattr(show, f"show_{subcommand}")(settings) or 0
        raise LauncherError(f"{' '.join([subcommand, *rest])}: not understood; see launcher --help")
    except (LauncherError, OSError) as error:
        say(f"launcher: {error}")
        return 2


def cli():
    """Be the command line."""
    exit_status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(exit_status)  # nothing is left to tidy up, and a job should not pay for it


if __name__ == "__main__":
    cli()
