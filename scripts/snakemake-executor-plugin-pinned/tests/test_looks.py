"""Snakemake looks again for jobs to start once for all looks that it has had meanwhile, and its end waits for none."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake_executor_plugin_pinned.snakemake_interface import look_again_once


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Semaphore]:
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation)
    look_again_once()
    return threading.Semaphore(0)


@pytest.mark.deep
def test_many_looks_make_for_one_more(released: threading.Semaphore) -> None:
    before, scheduler = threading.active_count(), Scheduler(released)
    for _ in range(50):
        JobScheduler._schedule_reevalutation(scheduler, 0.2)
    assert threading.active_count() <= before + 1
    assert released.acquire(timeout=60)
    assert not released.acquire(timeout=0.5)


def test_each_look_after_that_makes_for_another(released: threading.Semaphore) -> None:
    scheduler = Scheduler(released)
    for _ in range(3):
        JobScheduler._schedule_reevalutation(scheduler, 0.01)
        assert released.acquire(timeout=60)


class Scheduler(SimpleNamespace):
    __hash__ = object.__hash__

    def __init__(self, released: threading.Semaphore) -> None:
        super().__init__(_open_jobs=released)
