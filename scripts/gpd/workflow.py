"""Start Snakemake, and follow what it says: the one module that starts a workflow."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SNAKEFILE = ROOT / "workflow" / "Snakefile"
PROFILES = ROOT / "profiles"
LOG = "snakemake.log"

_RULE = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):$")
_JOB = re.compile(r"^    jobid: (\d+)$")
_WILDCARDS = re.compile(r"^    wildcards: (.+)$")
_FINISHED = re.compile(r"^Finished jobid: (\d+) ")
_FAILED = re.compile(r"^Error in rule (\w+):$")
_PROGRESS = re.compile(r"^(\d+) of (\d+) steps ")
_TOTAL = re.compile(r"^total +(\d+)$")


@dataclass
class Progress:
    """Where a run stands, read off Snakemake's own lines."""

    done: int = 0
    total: int | None = None
    running: dict[str, str] = field(default_factory=dict)
    _rule: str = ""
    _job: str = ""

    def read(self, line: str) -> bool:
        """Take in one line; whether anything changed."""
        if found := _RULE.match(line):
            self._rule = found[1]
        elif found := _JOB.match(line):
            self._job = found[1]
            self.running[self._job] = self._rule
        elif found := _WILDCARDS.match(line):
            values = " ".join(pair.partition("=")[2] for pair in found[1].split(", "))
            self.running[self._job] = f"{self._rule} {values}"
        elif found := _FINISHED.match(line):
            self.running.pop(found[1], None)
        elif found := _TOTAL.match(line):
            self.total = int(found[1])
        elif found := _PROGRESS.match(line):
            self.done, self.total = int(found[1]), int(found[2])
        else:
            return False
        return True


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds, user and system, that the kernel counted for a process: its own, and those of all below it."""

    own_s: float
    below_s: float


@dataclass(frozen=True)
class Finished:
    """How Snakemake ended, and what it said before its first job: where no job ran, that is the reason."""

    exit_code: int
    said: tuple[str, ...]
    cpu: CpuTime


def command(
    directory: Path,
    cores: int,
    mem_mb: int,
    profile: Path | None,
    configfiles: Sequence[Path],
    extra: Sequence[str],
) -> list[str]:
    """Snakemake's command line, as a person would type it."""
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--directory", str(directory)),
        *("--cores", str(cores), "--resources", f"mem_mb={mem_mb}"),
        *(["--workflow-profile", str(profile)] if profile else []),
        *(["--configfile", *map(str, configfiles)] if configfiles else []),
        *extra,
    ]


def follow(lines: Iterable[str], changed: Callable[[Progress], None]) -> tuple[str, ...]:
    """Read Snakemake's lines to their end, and report each change; what was said before the first job."""
    progress, said = Progress(), []
    for line in lines:
        if progress.read(line.rstrip("\n")):
            changed(progress)
        elif not progress.running and line.strip():
            said.append(line.rstrip())
    return tuple(said)


def run(
    arguments: Sequence[str],
    log: Path,
    changed: Callable[[Progress], None],
    environment: Mapping[str, str] | None = None,
    locks: Sequence[int] = (),
) -> Finished:
    """Run Snakemake; everything it says goes to `log`. It inherits the descriptors `locks`, and dies when we do."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as copy,
        subprocess.Popen(
            [*_dying_with_us(), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
            pass_fds=locks,
        ) as process,
    ):

        def lines() -> Iterable[str]:
            for line in process.stdout:
                copy.write(line)
                copy.flush()
                yield line

        said = follow(lines(), changed)
        cpu = _cpu_time(process.pid)
    return Finished(process.returncode, said, cpu)


def _dying_with_us() -> list[str]:
    """Orphans would go on with jobs that nobody follows; the launcher ends a job whose Snakemake is gone."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


def _cpu_time(pid: int) -> CpuTime:
    """Wait until a child has ended, and read what the kernel counted; it is still there to be waited for."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    # the name, in parentheses, may hold anything; proc(5) counts fields from 1, the one after it is the third
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    user, system, user_below, system_below = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
    return CpuTime(user + system, user_below + system_below)
