"""The shell of a job of the executor: Snakemake calls it as `bash -c COMMAND`; it runs that as a job of the launcher.

Beside the link that Snakemake takes for a shell lies what the executor knows of the job. What the launcher's own
command line has otherwise: Snakemake is our parent, output stays where it has it, the command begins with its options.
"""

import fcntl
import marshal
import os
from contextlib import suppress

from .options import parse
from .requester import Parent
from .system import LauncherError, say
from .wrapper import as_owner, begun


def run_job(folder, *words):
    """Run a job's command as the executor describes it in the folder; return its exit code.

    What a job starts by the same shell is a part of it, and what is no command is for the real shell to say.
    """
    file = os.open(f"{folder}/job", os.O_RDONLY)
    described = marshal.loads(os.read(file, os.fstat(file).st_size))
    shell = described["shell"]
    if "GPD_JOB" in os.environ or words[:1] != ("-c",) or len(words) != 2:
        os.execv(shell, [shell, *words])
    with suppress(OSError):  # of a file system without locks
        fcntl.flock(file, fcntl.LOCK_SH)  # until wrapper and supervisor are gone: Snakemake waits for the record
    os.environ["GPD_JOB_FOLDER"] = folder  # by which the next run knows what is left of a killed one (run_folder.py)
    try:
        settings, _ = parse([])  # what the environment says
        vars(settings).update(described)
        return as_owner(begun(settings, words[1], Parent()))
    except (LauncherError, OSError) as error:
        say(f"launcher: {error}")
        return 2
