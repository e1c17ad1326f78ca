"""Start Snakemake, and follow its output: the one module that starts a workflow."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import psutil
import yaml

from gpd.cluster import slurm
from gpd.errors import GpdError
from gpd.execution import interruption, snakemake_log
from gpd.execution.snakemake_log import Progress
from gpd.files import open_plain
from gpd.machines.watcher import watching
from gpd.paths import ROOT
from gpd.processes import ProcessError

SNAKEMAKE = Path(__file__).with_name("snakemake")  # a folder that Python runs as it does the package
SNAKEFILE = ROOT / "workflow" / "Snakefile"
PROFILES = ROOT / "profiles"
LOG = "snakemake.log"
HANG_LOOK_S, HANG_PATIENCE_S = 30.0, 180.0
HUNG = "snakemake: error: it hung, and was killed (is memory short?). Start again: what is done is kept\n"
FORGET_LOOK_S, FORGET_PATIENCE_S = 60.0, 3600.0
FORGOTTEN = (
    "snakemake: error: it waited for jobs that Slurm knows nothing of any more, and was killed (was its controller "
    "lost?). Start again: what is done is kept\n"
)
# in the workflow's own text
_DEFINED = re.compile(r"^ *(?:use rule \w+ as |(?:local)?rule )(\w+)(?: with)?:$", re.MULTILINE)


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds, user and system, that the kernel counted for a process: its own, and those of all below it."""

    own_s: float
    below_s: float


@dataclass(frozen=True)
class Finished:
    """How Snakemake ended, and all lines of its output (`output`)."""

    exit_code: int
    output: tuple[str, ...]
    cpu: CpuTime

    @property
    def reason(self) -> str:
        """Why it ended without a job."""
        lines = snakemake_log.reason(self.output)
        return "\n".join(lines) or f"Snakemake ended with exit code {self.exit_code} and printed no reason"


def command(
    directory: Path,
    cores: int | None,
    mem_mb: int | None,
    profile: Path | None,
    configfiles: Sequence[Path],
    extra: Sequence[str],
    options: Sequence[str] = (),
    snakefile: Path = SNAKEFILE,
    python: str = sys.executable,
) -> list[str]:
    """Snakemake's command line, as a person would type it; `extra` are what a person did type, targets among it."""
    executor = [] if executor_of(profile, [*options, *extra]) else usual_executor()
    return [
        *(python, str(SNAKEMAKE), "--snakefile", str(snakefile), "--directory", str(directory)),
        *executor,
        *(["--resources", f"mem_mb={mem_mb}"] if mem_mb else []),
        *(["--workflow-profile", str(profile)] if profile else []),
        *(["--configfile", *map(str, configfiles)] if configfiles else []),
        *options,
        *(["--cores", str(cores)] if cores else []),  # before `extra`: else a target that follows would be its value
        *extra,
    ]


def log(number: int) -> str:
    """The log of a run's Snakemake by its number, for the first one's stays."""
    return LOG if number == 1 else f"snakemake.{number}.log"


def runs_elsewhere(profile: Path | None, extra: Sequence[str]) -> bool:
    """Whether jobs run on other machines, as a profile or Snakemake's own options say."""
    return executor_of(profile, extra) not in ("", "local", "pinned")


def executor_of(profile: Path | None, extra: Sequence[str]) -> str:
    """The executor that a profile or Snakemake's own options name; "" where none does."""
    return setting_of("executor", profile, extra, "-e")


def setting_of(name: str, profile: Path | None, extra: Sequence[str], *short: str) -> str:
    """What a profile or Snakemake's own options set; "" where neither does."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(*short, f"--{name}", dest="typed")
    typed = parser.parse_known_args(extra)[0].typed
    config = profile / "config.yaml" if profile else None
    in_profile = read_profile(config) if config and config.is_file() else {}
    return typed or str(in_profile.get(name) or "")


def usual_executor() -> list[str]:
    """The options of the default profile's executor: jobs on CPUs of their own, each with a record."""
    default = read_profile(PROFILES / "default" / "config.yaml")
    chosen = {name: value for name, value in default.items() if name.startswith(("executor", "pinned-"))}
    return [word for name, value in chosen.items() for word in (f"--{name}", str(value))]


def read_profile(path: Path) -> dict[str, Any]:
    """What a profile's config.yaml sets. Raises GpdError where it is no YAML mapping."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise GpdError(f"{path}: not a profile: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict | None):
        raise GpdError(f"{path}: not a profile: it has no `key: value` lines")
    return found or {}


def find_profile(name: str) -> Path:
    """A profile's folder: a path as seen from here or from the project, or the name of one of the project's."""
    for folder in (Path(name), ROOT / name, PROFILES / name):
        if (folder / "config.yaml").is_file():
            return folder
    names = ", ".join(sorted(path.parent.name for path in PROFILES.glob("*/config.yaml")))
    raise GpdError(f"profile {name}: no such folder with a config.yaml; the project's profiles are {names}")


def rules(pipeline: str) -> frozenset[str]:
    """The rules of a pipeline, with any tool, and those that it shares with others; by the texts of the workflow."""
    texts = [SNAKEFILE, *SNAKEFILE.parent.glob("rules/*.smk"), *SNAKEFILE.parent.glob(f"rules/{pipeline}*/*.smk")]
    return frozenset(rule for path in texts for rule in _DEFINED.findall(path.read_text(encoding="utf-8")))


def follow(lines: Iterable[str], progress: Progress, changed: Callable[[Progress], None]) -> tuple[str, ...]:
    """Read Snakemake's lines to their end, and report each change; returns all lines."""
    read = []
    for line in lines:
        read.append(line.rstrip("\n"))
        if progress.read(read[-1]):
            changed(progress)
    return tuple(read)


def run(
    arguments: Sequence[str],
    log: Path,
    changed: Callable[[Progress], None],
    environment: Mapping[str, str] | None = None,
    locks: Sequence[int] = (),
    elsewhere: bool = False,
    cpus: frozenset[int] | None = None,
) -> Finished:
    """Run Snakemake; everything it says goes to `log`. It inherits the descriptors `locks`, and dies when we do.

    It and all that it starts may use `cpus`; None: those that this process may use.
    `elsewhere`: its jobs run on other machines. One that hangs is killed, and says so in its last line. Raises
    Interrupted where it was asked to end, once it has.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    interruption.check()
    progress = Progress()
    # orphans would go on with jobs that are not followed; the launcher ends a job whose Snakemake is gone
    prefix = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
    if cpus is not None and cpus != os.sched_getaffinity(0):  # a thread or a job that it starts has what it has then
        prefix = ["taskset", "--cpu-list", ",".join(map(str, sorted(cpus))), *prefix]
    with (
        _none_left_behind(progress),
        open_plain(log, "wb", buffering=0) as copy,
        subprocess.Popen(
            [*prefix, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **_cache(log.parent), **(environment or {})},
            pass_fds=locks,
            process_group=0,  # Ctrl-C on the terminal is for us to pass on
        ) as process,
        interruption.reaching(process.pid, elsewhere),
        _killed_where(process, _forgotten(progress) if elsewhere else _hanging(process.pid)) as why,
    ):
        try:
            printed = follow(_copied(chain(process.stdout or (), why), copy, log), progress, changed)
        except BaseException:
            process.kill()  # it would wait for its output to be read, and we for its end
            raise
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and the kernel still has its times
        times = psutil.Process(process.pid).cpu_times()
        cpu = CpuTime(times.user + times.system, times.children_user + times.children_system)
    return Finished(process.returncode, printed, cpu)


def _copied(lines: Iterable[str], copy: IO[bytes], log: Path) -> Iterator[str]:
    """Lines as they come, each written to the log; before the first that can't be, a warning, once for each fault."""
    faults = set()
    for line in lines:
        if (fault := _write(copy, line)) and fault not in faults:
            faults.add(fault)
            yield f"warning: {log}: {fault}: it lacks lines"
        yield line


def _write(copy: IO[bytes], line: str) -> str | None:
    """Write a line, or say why not: the run goes on where its log's disk is full."""
    try:
        copy.write(line.encode())
    except OSError as error:
        return error.strerror
    return None


def _cache(directory: Path) -> dict[str, str]:
    """Where Snakemake keeps copies of sources: beside the run, where the user's own place can't be written to."""
    try:
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "snakemake")
        usual.mkdir(parents=True, exist_ok=True)
        writable = os.access(usual, os.W_OK)
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        writable = False
    return {} if writable else {"XDG_CACHE_HOME": str((directory / ".snakemake" / "cache").resolve())}


@dataclass(frozen=True)
class _Stuck:
    """What a Snakemake that will never end looks like, each time of those that a patience takes; `line` says so."""

    looks_so: Callable[[], bool]
    look_s: float
    patience_s: float
    line: str


@contextmanager
def _killed_where(process: subprocess.Popen[str], stuck: _Stuck) -> Iterator[list[str]]:
    """Within, kill a Snakemake that will never end; the list then has the line that says why."""
    why, since_s = list[str](), 0.0

    def look() -> None:
        nonlocal since_s
        since_s = since_s + stuck.look_s if not why and stuck.looks_so() else 0.0
        if since_s >= stuck.patience_s:
            why.append(stuck.line)
            process.kill()

    with watching(look, stuck.look_s):
        yield why


def _hanging(pid: int) -> _Stuck:
    """It has no job and uses no CPU time: where memory is too short for a thread to start, it waits for it for ever."""
    before: object = None

    def looks_so() -> bool:
        nonlocal before
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            former, before = before, process.cpu_times()[:2]
            return (
                former == before
                and process.status() == psutil.STATUS_SLEEPING  # it is not stopped, and no disk holds it up
                and all(child.status() == psutil.STATUS_ZOMBIE for child in process.children(recursive=True))
            )
        return False

    return _Stuck(looks_so, HANG_LOOK_S, HANG_PATIENCE_S, HUNG)


@contextmanager
def _none_left_behind(progress: Progress) -> Iterator[None]:
    """Where a run is interrupted, or broken off by an error of ours, end its jobs that Slurm still has.

    Snakemake's plugin cancels no job that it was just submitting, none while it asks what became of them, and none
    where Snakemake was killed.
    """
    try:
        yield
    except BaseException:
        if progress.slurm_run:
            try:
                slurm.end(progress.slurm_run)
            except ProcessError as error:
                warnings.warn(str(error), stacklevel=2)
        raise


def _forgotten(progress: Progress) -> _Stuck:
    """All that it waits for are jobs that Slurm once knew, and knows no more: its plugin takes them for running.

    A controller that is killed loses what it had not written yet. Jobs of another cluster its queue never knew.
    """
    known_once = False

    def looks_so() -> bool:
        nonlocal known_once
        try:
            known = progress.submitted & slurm.queue().keys()
        except ProcessError:  # it does not answer
            return False
        known_once = known_once or bool(known)
        return known_once and not known and bool(progress.running) and not progress.local

    return _Stuck(looks_so, FORGET_LOOK_S, FORGET_PATIENCE_S, FORGOTTEN)
