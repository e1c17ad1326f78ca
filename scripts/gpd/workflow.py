"""Start Snakemake, and follow what it says: the one module that starts a workflow."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
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
class Finished:
    """How Snakemake ended, and what it said before its first job: where no job ran, that is the reason."""

    exit_code: int
    said: tuple[str, ...]


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


def run(arguments: Sequence[str], log: Path, changed: Callable[[Progress], None]) -> Finished:
    """Run Snakemake; everything it says goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as copy,
        subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):

        def lines() -> Iterable[str]:
            for line in process.stdout:
                copy.write(line)
                copy.flush()
                yield line

        said = follow(lines(), changed)
    return Finished(process.returncode, said)
