"""What a launcher sees of its job, looked at without one."""

from types import SimpleNamespace

import pytest
from snakemake_executor_plugin_pinned.launcher import measure


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(s=100.0)
    monkeypatch.setattr(measure, "now_and_asleep", lambda: clock.s)
    return clock


def meter_of(folder):
    return measure.Meter(SimpleNamespace(held={0}, cpus=None), lambda mib: None, folder, SimpleNamespace())


def look_with_steps_of(meter, clock, monkeypatch, steps_s):
    def slow_sizes(folder):
        for step_s in steps_s:
            clock.s += step_s
            yield 512

    monkeypatch.setattr(measure, "file_sizes", slow_sizes)
    meter.look_at_files(())
    return meter.note_pause()


def test_a_long_look_at_many_files_is_no_pause(clock, monkeypatch, tmp_path):
    assert look_with_steps_of(meter_of(tmp_path), clock, monkeypatch, [0.5] * 20) == 0
    assert look_with_steps_of(meter_of(tmp_path), clock, monkeypatch, [0.5] * 20) == 0


def test_a_pause_that_falls_into_a_look_at_files_is_seen(clock, monkeypatch, tmp_path):
    assert look_with_steps_of(meter_of(tmp_path), clock, monkeypatch, [0.1, 60, 0.1]) == pytest.approx(60, abs=0.5)
