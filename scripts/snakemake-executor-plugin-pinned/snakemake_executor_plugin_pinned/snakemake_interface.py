"""All that the executor takes of Snakemake beside its documented interface, and for which versions that holds.

    name                                    what for
    executors.local.Executor                is extended: its pool, `run_single_job`, `run_group_job`, `spawn_job`
    job.add_aux_resource                    gives a job the resource `shell_exec`, before its resources are fixed
    workflow._localrules                    the rules that are called local: on one machine job.is_local is true of all
    shell.get_executable                    the shell that the workflow would have had
    workflow.global_resources               what all jobs together may have of memory
    ExecutorPluginRegistry._instance        stand_in(), on a cluster's nodes
    JobScheduler._schedule_reevalutation    look_again_once(): its timers would multiply
    JobScheduler.exit_gracefully            end_in_a_thread(): its handler of SIGTERM would wait for itself

`shell_exec` itself is documented. A Python script's preamble has its value unquoted (script/__init__.py, 9.27.1), which
is a syntax error for every value: JobShell stands for it there.
"""

import os
from _thread import start_new_thread
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Timer
from typing import Any

from packaging.specifiers import SpecifierSet
from snakemake.exceptions import SpawnedJobError
from snakemake.executors.local import Executor as LocalExecutor
from snakemake.shell import shell
from snakemake_interface_common.exceptions import WorkflowError

__all__ = [
    "JobShell",
    "LocalExecutor",
    "SpawnedJobError",
    "check_version",
    "end_in_a_thread",
    "give_shell",
    "is_local_rule",
    "look_again_once",
    "run_mem_mb",
    "stand_in",
    "usual_shell",
]

VERSIONS = SpecifierSet(">=9.27,<9.28")
EVERYWHERE = "SNAKEMAKE_PINNED_EVERYWHERE"


def check_version() -> None:
    """Raise WorkflowError where Snakemake is a version that this was not tried with."""
    if (found := version("snakemake")) not in VERSIONS:
        raise WorkflowError(
            f"executor pinned: Snakemake {found} does not match {VERSIONS}; install a version of it for yours"
        )


def usual_shell() -> str:
    """The path of the shell that jobs would have had."""
    return shell.get_executable() or "/bin/sh"


def look_again_once() -> None:
    """Have Snakemake look again for jobs to start after a second, once however often it has looked meanwhile.

    Its limit of jobs a second (--max-jobs-per-timespan) has it start a timer at each look, and each timer makes for
    another look. So each job that ends while others are ready would add a look a second, to the end of the run.
    """
    from snakemake.scheduling.job_scheduler import JobScheduler  # which imports this package

    waiting = set()

    def schedule(scheduler: Any, delay: float) -> None:
        def look() -> None:
            waiting.discard(scheduler)
            scheduler._open_jobs.release()

        if scheduler not in waiting:
            waiting.add(scheduler)
            timer = Timer(delay, look)
            timer.daemon = True  # else the end of the run waits for it
            timer.start()

    JobScheduler._schedule_reevalutation = schedule


@cache
def end_in_a_thread() -> None:
    """Have Snakemake heed SIGTERM in a thread of its own.

    Its handler takes locks, which the thread that signals interrupt may hold: while it chooses jobs, or waits for the
    files of one that has ended. It would wait for itself, for ever. threading.Thread takes a lock to start, too.
    """
    from snakemake.scheduling.job_scheduler import JobScheduler  # which imports this package

    usual = JobScheduler.exit_gracefully

    def heed(scheduler: Any, *signal: Any) -> None:
        start_new_thread(usual, (scheduler, *signal))

    JobScheduler.exit_gracefully = heed


def is_local_rule(job: Any) -> bool:
    """Whether a job's rule is called local: work so small that it runs where Snakemake does."""
    return job.rule.name in job.dag.workflow._localrules


def run_mem_mb(workflow: Any) -> int:
    """The most memory that all jobs together may have, MB; on a cluster's node, what the job asked for; 0: none."""
    cpus = min(int(workflow.resource_settings.cores or 1), len(os.sched_getaffinity(0)))
    values = (workflow.global_resources.get(name).value for name in ("mem_mb_per_cpu", "mem_mb"))
    per_cpu, mem_mb = (value if isinstance(value, int) else 0 for value in values)
    return per_cpu * cpus or mem_mb


class JobShell(str):
    """The path of a job's shell. In a script's preamble, and to the script, it is the usual shell, quoted."""

    usual: str

    def __new__(cls, path: str, usual: str) -> "JobShell":
        made = super().__new__(cls, path)
        made.usual = usual
        return made

    def __format__(self, _spec: str) -> str:
        return repr(Path(self.usual).name)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self.usual,)


def give_shell(job: Any, path: str) -> bool:
    """Have a job run by the shell at a path; return whether it is: one that its rule names itself stands."""
    given = job.resources.get("shell_exec")
    if given is None:
        job.add_aux_resource("shell_exec", JobShell(path, usual_shell()))
    return given is None or isinstance(given, JobShell)


def stand_in(executor: type, common_settings: Any) -> None:
    """Be Snakemake's executor `local`, too, where the environment asks for it (SNAKEMAKE_PINNED_EVERYWHERE=1).

    On a cluster the innermost Snakemake, which runs the job on its node, is started with the executor `local` and reads
    no profile. It imports this package as it does all plugins, before `local` is there.
    """
    from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
    from snakemake_interface_executor_plugins.registry.plugin import Plugin

    plugins = getattr(ExecutorPluginRegistry._instance, "plugins", None)
    if os.environ.get(EVERYWHERE) == "1" and plugins is not None and "local" not in plugins:
        plugins["local"] = Plugin(
            _name="local", executor=executor, common_settings=common_settings, _executor_settings_cls=None
        )
