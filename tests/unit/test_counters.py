"""What the machine's counters say of a run, by recorded files of /proc and /sys, and by a run that others disturb."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from gpd.machines import counters
from gpd.machines.counters import Reading, between, threshold
from gpd.machines.watcher import REST, watching

QUIET = Reading(100.0, 1.0, active_s=50.0, steal_s=0.0, whole_s=400.0, heat=3, throttled_periods=7, throttled_s=0.5)


def later(seconds=10.0, cpus=4, **grown):
    """The reading after so many seconds, in which these counters grew."""
    grown = {"moment_s": seconds, "whole_s": seconds * cpus} | grown
    return replace(QUIET, **{name: getattr(QUIET, name) + more for name, more in grown.items()})


def files(root, cpus, **texts):
    for cpu in cpus:
        for name, text in texts.items():
            path = root / f"sys/devices/system/cpu/cpu{cpu}" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def test_counters_of_these_cpus_alone(tmp_path):
    (tmp_path / "proc").mkdir()
    rows = ["cpu 9 9 9 9 9 9 9 9 0 0", *(f"cpu{cpu} 100 20 30 1000 5 1 2 {cpu} 0 0" for cpu in range(4)), "intr 1"]
    (tmp_path / "proc/stat").write_text("\n".join(rows))
    heat = {"thermal_throttle__core_throttle_count": "2\n", "thermal_throttle__package_throttle_count": "5\n"}
    files(tmp_path, range(4), cpufreq__scaling_cur_freq="2400000\n", **heat)
    files(tmp_path, [1], cpufreq__scaling_cur_freq="3000000\n")
    found = counters.read({1, 2}, tmp_path)
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    assert (found.active_s, found.steal_s) == (pytest.approx(300 * tick_s), pytest.approx(3 * tick_s))
    assert found.whole_s == pytest.approx((2 * 1158 + 3) * tick_s)
    assert (found.heat, found.mhz) == (14, 2700)


def test_what_a_machine_does_not_tell_is_not_known(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n")
    found = counters.read({0, 1}, tmp_path)
    assert (found.active_s, found.steal_s, found.heat, found.mhz) == (None, None, None, None)
    use = between(found, found, 0.0, 2)
    assert (use.cpu_contention, use.other_cpu_s, use.thermal_throttles, use.mhz_mean) == (None, None, None, None)


def test_what_others_took_is_what_the_run_and_this_process_did_not():
    use = between(QUIET, later(active_s=30.0, own_s=1.0), 20.0, 4)
    assert (use.other_cpu_s, use.steal_s, use.cpu_contention) == (9.0, 0.0, True)
    assert between(QUIET, later(active_s=22.0, own_s=1.0), 20.0, 4).cpu_contention is False
    stolen = between(QUIET, later(active_s=20.0, steal_s=9.0), 20.0, 4)
    assert (stolen.other_cpu_s, stolen.steal_s, stolen.cpu_contention) == (0.0, 9.0, True)


def test_counters_of_other_cpus_as_in_some_containers_say_nothing_of_ours():
    use = between(QUIET, later(whole_s=0.0, active_s=0.0), 20.0, 4)
    assert (use.other_cpu_s, use.cpu_contention) == (None, None)


@pytest.mark.parametrize(("cpus", "least"), [(2, 0.1), (10, 0.5), (32, 0.5), (128, 1.28)])
def test_from_when_on_it_is_contention(cpus, least):
    assert threshold(cpus) == pytest.approx(least)


def test_throttling_and_clocks():
    use = between(replace(QUIET, mhz=3000.0), replace(later(throttled_periods=5, throttled_s=2.0, heat=1), mhz=2000.0),
                  20.0, 4, [2400.0, 2600.0])  # fmt: skip
    assert (use.throttled_periods, use.throttled_s, use.thermal_throttles) == (5, 2.0, 1)
    assert (use.mhz_before, use.mhz_mean, use.mhz_after) == (3000.0, 2500.0, 2000.0)


@pytest.mark.deep
def test_a_process_outside_of_the_run_is_seen():
    """It keeps one CPU busy, of all that there are."""
    with counters.watch() as watched:
        loop = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
        subprocess.run([sys.executable, "-c", loop], check=True)
    assert watched.use(0.0).other_cpu_s > 0.4
    assert watched.use(0.4).other_cpu_s < watched.use(0.0).other_cpu_s


def test_a_run_that_was_suspended_or_whose_machine_slept_says_for_how_long(monkeypatch):
    clock = iter([0.0, 10.1, 320.0, 330.5, 331.0])
    monkeypatch.setattr(counters, "_now_and_asleep", lambda: next(clock))
    monkeypatch.setattr(counters, "watching", lambda look, _: looking(look, 4))
    with counters.watch() as watched:
        pass
    assert watched.use(0.0).paused_s == 299.9


@contextmanager
def looking(look, times):
    for _ in range(times):
        look()
    yield


@pytest.mark.deep
def test_a_watcher_rests_twenty_times_as_long_as_it_looks():
    looks = []

    def look():
        began = time.monotonic()
        time.sleep(0.01)
        looks.append((began, time.monotonic()))

    with watching(look, 0.001):
        while len(looks) < 4:
            time.sleep(0.01)
    *regular, _ = looks  # the last one is of the end
    rests = [(later - ended, ended - began) for (began, ended), (later, _) in pairwise(regular)]
    assert len(rests) >= 3
    assert all(rest >= REST * took * 0.99 for rest, took in rests)
