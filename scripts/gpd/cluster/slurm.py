"""Ask Slurm through its commands which jobs of ours have not ended.

Nothing of it is noted anywhere: what Slurm says now can't be out of date.
"""

import time

from gpd.processes import ProcessError, output_of
from gpd.text.formats import some

TIMEOUT_S = 60.0
LONGEST_END_S = 90.0  # of jobs that are cancelled: Slurm gives them its KillWait, 30 s by default
LOOK_S = 1.0
MOST_NAMED = 5  # jobs that do not end


def queue() -> dict[str, str]:
    """Numbers of our jobs that have not ended, with their names. Raises ProcessError."""
    lines = _ask("squeue", "--me", "--noheader", "--format=%i|%j").splitlines()
    return dict(line.split("|", 1) for line in lines)


def end(mark: str) -> None:
    """End all of our jobs whose names begin with a mark, and wait until they are gone. Raises ProcessError."""
    deadline = time.monotonic() + LONGEST_END_S
    asked = set[str]()  # once each: Slurm's controller has a call for each job and each time
    while left := {number: name for number, name in queue().items() if name.startswith(mark)}:
        if time.monotonic() > deadline:
            names = ",".join(sorted(set(left.values())))  # which all jobs of a run share
            raise ProcessError(f"jobs {some(list(left), MOST_NAMED)} do not end: scancel --full --name={names}")
        if new := left.keys() - asked:
            _ask("scancel", "--quiet", *sorted(new))  # some may have ended meanwhile
            asked |= new
        time.sleep(LOOK_S)


def _ask(command: str, *arguments: str) -> str:
    """What a command of Slurm prints. Raises ProcessError."""
    return output_of([command, *arguments], TIMEOUT_S)
