"""The executor: what it tells the launcher of each job, and how Snakemake comes to start that.

A job's shell is Snakemake's resource `shell_exec`: a link to one program, beside which lies what the launcher should
know of the job. `shell:`, `script:`, `wrapper:` and `notebook:` start what they run by that shell. `run:` and shadow
rules are a Snakemake of their own, which the launcher starts as a whole.
"""

import hashlib
import marshal
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from . import build, run_folder
from .launcher.options import parse
from .services import Services
from .settings import ExecutorSettings, of_environment, of_job
from .snakemake_interface import (
    LocalExecutor,
    SpawnedJobError,
    check_version,
    end_in_a_thread,
    give_shell,
    is_local_rule,
    look_again_once,
    run_mem_mb,
    usual_shell,
)

PACKAGE = Path(__file__).parent
OWN = Path(".snakemake") / "pinned"


class Executor(LocalExecutor):  # type: ignore[misc]
    """Snakemake's local executor, whose jobs are the launcher's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_version()
        look_again_once()
        end_in_a_thread()
        given = self.workflow.executor_settings
        self.settings = given if isinstance(given, ExecutorSettings) else of_environment()
        of_job(self.settings, {})  # refuses what no job can have
        self.gangs: dict[Any, tuple[str, str]] = {}  # by job, the CPUs of its gang and its name
        self.services: dict[Any, Services] = {}  # by job, those that it uses
        self.is_nested = "GPD_JOB" in os.environ  # a job of ours runs this Snakemake
        if not self.is_nested:
            self.prepare(Path(self.workflow.workdir_init) / OWN)

    def prepare(self, place: Path) -> None:
        """Make what all jobs share: the launcher, the program that their shells are links to, the C library.

        The launcher is compiled into a folder of its own: a run keeps it where an upgrade changes the package.
        """
        self.folder, self.owners = run_folder.make(place), place / "owners"
        started = build.launcher(PACKAGE.joinpath, place)
        self.launch, self.library = [sys.executable, "-S", "-E", str(started)], build.library(started)
        if of_job(self.settings, {})["checks"] and (lacking := build.build(PACKAGE / build.LIBRARY, self.library)):
            self.logger.warning(f"warning: {lacking}")
        self.entry = self.folder / "launch"
        self.entry.write_text(f'#!/bin/sh\nexec {shlex.join(self.launch)} job "${{0%/*}}" "$@"\n')
        self.entry.chmod(0o755)

    def run_single_job(self, job: Any) -> Any:
        future = self.start(job)
        if job in self.services:
            future.add_done_callback(partial(self.services[job].ended, job))
        return future

    def start(self, job: Any) -> Any:
        """Run a job by the launcher, wherever that can be; return its future."""
        if self.is_nested or job.is_norun or is_local_rule(job):  # so small that it neither has CPUs nor is measured
            return super().run_single_job(job)
        if not give_shell(job, str(self.describe(job, usual_shell()))):
            self.logger.warning(f"warning: rule {job.rule.name} has a shell_exec of its own: its jobs are not pinned")
        if job.is_run and self.use_threads:  # in this process it could not be bound
            return self.pool.submit(self.cached_or_run, job, self.spawn_job, job)
        return super().run_single_job(job)

    def describe(self, job: Any, shell: str) -> Path:
        """Write what the launcher should know of a job; return the shell beside it, at the same place for a retry."""
        folder = self.folder / str(job.jobid)
        folder.mkdir(exist_ok=True)
        done = {"done": str(self.done(job))} if job.is_service else {}
        (folder / "job").write_bytes(marshal.dumps(self.described(job, shell) | done))
        link = folder / Path(shell).name
        if not link.is_symlink():
            link.symlink_to(self.entry)
        return link

    def done(self, job: Any) -> Path:
        """The file that says that a service is not used any more."""
        return self.folder / str(job.jobid) / "done"

    def described(self, job: Any, shell: str) -> dict[str, Any]:
        """A job as the launcher's settings have it."""
        resources, own = job.resources, of_job(self.settings, job.resources)
        outputs = [str(path) for path in job.output]
        checked = own.pop("checks")
        cpus, gang = self.gangs.get(job, ("", ""))
        mem_mb = resources.get("mem_mb")
        if own["ledger"] == ExecutorSettings.ledger:  # GPD_LEDGER may name another
            own["ledger"] = parse([])[0].ledger
        return {
            **own,
            "rule": job.rule.name,
            "step": str(resources.get("pinned_step", job.rule.name)),
            "wildcards": {name: str(value) for name, value in job.wildcards_dict.items()},
            "threads": max(1, int(job.threads)),
            "mem_mb": mem_mb if isinstance(mem_mb, int) else 0,
            "attempt": int(job.attempt),
            "log": str(job.log[0]) if job.log else "",
            "keeps_stderr": not (job.log and job.is_shell),  # what a script raises goes past its log
            "inputs": [str(path) for path in job.input] if checked else [],
            "outputs": outputs if checked else [],
            "owner": self.owner(outputs),
            "library": str(self.library if checked else self.folder / "none"),
            "run_cores": int(self.workflow.resource_settings.cores or 0),
            "local_storage": str(self.workflow.storage_settings.local_storage_prefix),
            "run_mem_mb": run_mem_mb(self.workflow) or parse([])[0].run_mem_mb,
            "cpus": cpus,
            "gang": gang,
            "shell": shell,
        }

    def owner(self, outputs: list[str]) -> str:
        """The file that names the job which makes these outputs; None without outputs."""
        if not outputs:
            return ""
        return str(self.owners / hashlib.sha256(str(Path(outputs[0]).absolute()).encode()).hexdigest()[:16])

    def run_group_job(self, job: Any) -> Any:
        """Members of a pipe, and services, run at once or not at all: one by one they might wait for each other."""
        if self.is_nested:
            return super().run_group_job(job)
        jobs = list(job)
        services = Services(jobs, [self.done(each) for each in jobs if each.is_service])
        self.services |= dict.fromkeys(services.users, services)
        with self.gang(jobs):
            return super().run_group_job(job)

    @contextmanager
    def gang(self, jobs: list[Any]) -> Iterator[None]:
        """Hold CPUs for all of some jobs, until the last process of them is gone."""
        own, threads = of_job(self.settings, {}), sum(max(1, int(job.threads)) for job in jobs)
        if own["binding"] == "none":
            yield
            return
        words = [f"--{name}={own[name]}" for name in ("binding", "boundary")] + [f"--smt={int(own['smt'])}"]
        name = secrets.token_hex(8)
        command = [*self.launch, "hold", f"--threads={threads}", f"--gang={name}", *words]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            cpus = holder.stdout.readline().strip() if holder.stdout else ""
            if not cpus:
                raise SpawnedJobError("the launcher could not take CPUs for a group of jobs")
            self.gangs |= dict.fromkeys(jobs, (cpus, name))
            yield

    def spawn_job(self, job: Any) -> None:
        if self.is_nested:
            super().spawn_job(job)
            return
        try:
            subprocess.check_call([self.describe(job, "/bin/sh"), "-c", self.format_job_exec(job)])
        except subprocess.CalledProcessError as error:
            raise SpawnedJobError() from error

    def shutdown(self) -> None:
        super().shutdown()
        if not self.is_nested:
            run_folder.wait_for_jobs(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)
