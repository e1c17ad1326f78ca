"""Snakemake with the executor `pinned` on a machine of as many CPUs as is said, whose jobs take made-up time.

    python made_up_machine.py CPUS SECONDS FIGURES OPTION...

SECONDS is a JSON file: CPU seconds by rule, and what the launcher adds to each job ("launcher"). No command is run: a
job makes empty outputs at its end. The clock is virtual. It goes on by what Snakemake and the executor take of a CPU,
and where they wait, to the end of the next job. The executor prepares each job as ever, and the allocator's own
functions choose its CPUs. FIGURES is written: the jobs, and what Snakemake took.
"""

import heapq
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.cli import main as snakemake
from snakemake.scheduling import job_scheduler
from snakemake_executor_plugin_pinned import executor
from snakemake_executor_plugin_pinned.launcher.cpu_choice import choose, is_split, units
from snakemake_executor_plugin_pinned.launcher.topology import Core
from snakemake_executor_plugin_pinned.snakemake_interface import give_shell, usual_shell

L3, NUMA, SOCKETS = 8, 64, 2  # CPUs of an L3 cache and of a NUMA node, as of two processors of many cores
POLICY, BOUNDARY = "compact", "l3"  # the executor's own defaults


class MadeUpMachine:
    """Its CPUs, the jobs on them by their ends, the time; in the place of the semaphore that Snakemake waits for."""

    def __init__(self, cpus: int, seconds: dict[str, float]) -> None:
        self.seconds, self.cpus = seconds, cpus
        self.every = units([Core((cpu,), cpu // L3, cpu // NUMA, cpu * SOCKETS // cpus) for cpu in range(cpus)])
        self.free = dict.fromkeys(self.every)
        self.running: list[tuple[float, int, Any, Future[None], Sequence[Any]]] = []
        self.numbers, self.released, self.now, self.looked = count(), 0, 0.0, time.process_time()
        self.jobs: list[dict[str, Any]] = []
        self.choosing_s = 0.0

    def start(self, job: Any) -> Future[None]:
        """Give a job CPUs and have it end some time."""
        self.go_on()
        work_s = self.seconds.get(job.rule.name, 0.0)
        chosen: Sequence[Any] = ()
        if not job.is_norun:
            before = time.process_time()
            chosen = choose(self.every, list(self.free), job.threads, POLICY, BOUNDARY)
            self.choosing_s += time.process_time() - before
        for unit in chosen:
            del self.free[unit]
        lasts_s = (work_s / job.threads + self.seconds["launcher"]) if chosen else 0.0
        future: Future[None] = Future()
        heapq.heappush(self.running, (self.now + lasts_s, next(self.numbers), job, future, chosen))
        if chosen:
            split = is_split(chosen, self.every, BOUNDARY)
            what = {"rule": job.rule.name, "threads": job.threads, "work_s": work_s, "split": split}
            self.jobs.append(what | {"start": self.now, "end": self.now + lasts_s})
        return future

    def end(self) -> None:
        """End the job that ends next."""
        ends, _, job, future, chosen = heapq.heappop(self.running)
        self.now = max(self.now, ends)
        self.free |= dict.fromkeys(chosen)
        for path in job.output if chosen else ():
            Path(path).touch()
        future.set_result(None)  # which has Snakemake take note of it, by release()

    def go_on(self) -> None:
        """Add to the time what was computed meanwhile."""
        before, self.looked = self.looked, time.process_time()
        self.now += self.looked - before

    def release(self) -> None:
        self.released += 1

    def acquire(self) -> None:
        """End the jobs whose time is over; without any, wait for the next one to end."""
        self.go_on()
        while self.running and (self.running[0][0] <= self.now or not self.released):
            self.end()
        if not self.released:
            raise RuntimeError("Snakemake waits, and no job runs")
        self.released -= 1


def started(machine: MadeUpMachine, given: executor.Executor, job: Any) -> Future[None]:
    """What the executor does to start a job, without the launcher's process."""
    given.job_args_and_prepare(job)
    if not job.is_norun:
        give_shell(job, str(given.describe(job, usual_shell())))
    return machine.start(job)


def main() -> int:
    """Run Snakemake on the machine; return its exit code."""
    cpus, seconds, figures = (sys.argv.pop(1) for _ in range(3))
    machine = MadeUpMachine(int(cpus), json.loads(Path(seconds).read_text()))
    os.sched_getaffinity = lambda pid: set(range(machine.cpus))
    job_scheduler.threading = SimpleNamespace(Semaphore=lambda _: machine, Lock=threading.Lock)
    executor.Executor.start = lambda given, job: started(machine, given, job)
    code = 0
    try:
        snakemake()
    except SystemExit as end:
        code = end.code or 0
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = {"jobs": machine.jobs, "cpu_s": time.process_time(), "choosing_s": machine.choosing_s, "peak_mib": peak_mib}
    Path(figures).write_text(json.dumps(took))
    return code


if __name__ == "__main__":
    sys.exit(main())
