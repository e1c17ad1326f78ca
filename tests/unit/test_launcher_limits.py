"""What a process may use, by recorded trees of /proc and /sys/fs/cgroup: control groups of both versions, and Slurm."""

import json
import os
import resource

import pytest
from conftest import ROOT
from launcher import limits as of_launcher
from launching import TOPOLOGIES

from gpd.machines import launcher
from gpd.machines.topology import Policy

MIB = 1 << 20
UNLIMITED = "9223372036854771712"  # what version 1 writes where nothing is limited
UNIFIED = "36 31 0:33 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"
SPLIT = """\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"""
DOCKER = """\
32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory"""


@pytest.fixture
def record(tmp_path):
    """A way to record a machine of 64,000 MiB; what it returns may be asked for its limits."""

    def write(mounts, cgroup, files=(), **environment):
        proc = {"proc/meminfo": "MemTotal:       65536000 kB\nMemAvailable:   61440000 kB\nHugePages_Total:       0"}
        proc |= {
            "proc/self/cgroup": cgroup,
            "proc/self/mountinfo": f"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n{mounts}",
        }
        for path, text in {**proc, **dict(files)}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(f"{text}\n")
        return of_launcher.limits(str(tmp_path), environment, affinity=set(range(16)))

    return write


def memory(limits):
    return limits["memory_mib"], limits["memory_limit_mib"], limits["memory_available_mib"]


def test_without_limits_all_is_ones_own(record):
    limits = record(UNIFIED, "0::/user.slice", {"sys/fs/cgroup/user.slice/memory.max": "max"})
    assert (limits["cpus"], limits["cpu_quota_cpus"]) == (16, None)
    assert memory(limits) == (64000, None, 60000)


def test_the_tightest_of_the_control_groups_above_counts(record):
    group = "sys/fs/cgroup/slurm/job_1"
    files = {
        f"{group}/step_0/cpu.max": "max 100000",
        f"{group}/cpu.max": "250000 100000",
        "sys/fs/cgroup/slurm/cpu.max": "800000 100000",
        f"{group}/step_0/memory.max": "max",
        f"{group}/memory.max": 4096 * MIB,
        f"{group}/memory.high": 2048 * MIB,
        f"{group}/memory.current": 1500 * MIB,
        f"{group}/memory.stat": f"anon {500 * MIB}\nactive_file {600 * MIB}\ninactive_file {400 * MIB}",
    }
    limits = record(UNIFIED, "0::/slurm/job_1/step_0", files)
    assert (limits["cpus"], limits["cpu_quota_cpus"]) == (2, 2.5)
    assert memory(limits) == (2048, 2048, 1548), "page cache makes way"
    assert record(UNIFIED, "0::/slurm")["cpus"] == 8


@pytest.mark.parametrize(
    ("user", "ulimit", "left"),
    [(0, 10, 60), (1000, 10, 10), (1000, resource.RLIM_INFINITY, 60), (1000, 1000, 60)],
)
def test_how_many_tasks_may_still_be_started(record, monkeypatch, user, ulimit, left):
    """By the group that has least left, and by `ulimit -u`, which does not hold for root."""
    monkeypatch.setattr(os, "getuid", lambda: user)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, ulimit))
    job = "sys/fs/cgroup/job"
    files = {f"{job}/step/pids.max": "max", f"{job}/step/pids.current": 5}
    files |= {f"{job}/pids.max": 100, f"{job}/pids.current": 40, "sys/fs/cgroup/pids.max": 90}
    assert record(UNIFIED, "0::/job/step", files)["tasks_left"] == left


def test_without_limits_tasks_are_not_counted(record, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert record(UNIFIED, "0::/", {})["tasks_left"] is None


@pytest.mark.parametrize(
    ("mounts", "cgroup", "folder"),
    [
        (SPLIT, "8:memory:/user/own\n4:cpuacct,cpu:/user/own\n1:name=systemd:/", "/user"),
        (DOCKER, "8:memory:/docker/abc\n4:cpuacct,cpu:/docker/abc/own\n1:name=systemd:/", ""),
        (DOCKER, "8:memory:/\n4:cpuacct,cpu:/\n1:name=systemd:/", ""),  # seen from a namespace of its own
    ],
)
def test_control_groups_of_version_1(record, mounts, cgroup, folder):
    files = {
        f"sys/fs/cgroup/cpu,cpuacct{folder}/own/cpu.cfs_quota_us": "-1",
        f"sys/fs/cgroup/cpu,cpuacct{folder}/own/cpu.cfs_period_us": "100000",
        f"sys/fs/cgroup/cpu,cpuacct{folder}/cpu.cfs_quota_us": "350000",
        f"sys/fs/cgroup/cpu,cpuacct{folder}/cpu.cfs_period_us": "100000",
        f"sys/fs/cgroup/memory{folder}/memory.limit_in_bytes": 1000 * MIB,
        f"sys/fs/cgroup/memory{folder}/memory.usage_in_bytes": 900 * MIB,
        f"sys/fs/cgroup/memory{folder}/memory.stat": (
            f"cache 0\nactive_file 0\ninactive_file 0\nhierarchical_memory_limit {UNLIMITED}\n"
            f"total_cache {700 * MIB}\ntotal_active_file {300 * MIB}\ntotal_inactive_file {400 * MIB}"
        ),
        "sys/fs/cgroup/memory/user/own/memory.limit_in_bytes": UNLIMITED,
    }
    limits = record(mounts, cgroup, files)
    assert (limits["cpus"], limits["cpu_quota_cpus"]) == (3, 3.5)
    assert memory(limits) == (1000, 1000, 800)


@pytest.mark.parametrize(
    ("mounts", "cgroup", "files", "throttled"),
    [
        (
            UNIFIED,
            "0::/slurm/job_1",
            {
                "sys/fs/cgroup/slurm/job_1/cpu.stat": "nr_periods 50\nnr_throttled 4\nthrottled_usec 1500000",
                "sys/fs/cgroup/slurm/cpu.stat": "usage_usec 9\nnr_periods 50\nnr_throttled 1\nthrottled_usec 500000",
                "sys/fs/cgroup/cpu.stat": "usage_usec 90",  # the root has no quota
            },
            (5, 2.0),
        ),
        (
            SPLIT,
            "4:cpuacct,cpu:/user",
            {"sys/fs/cgroup/cpu,cpuacct/user/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 300000000"},
            (2, 0.3),
        ),
        (UNIFIED, "0::/", {"sys/fs/cgroup/cpu.stat": "usage_usec 90"}, (None, None)),
    ],
)
def test_how_often_and_how_long_a_quota_held_processes(record, tmp_path, mounts, cgroup, files, throttled):
    record(mounts, cgroup, files)
    assert of_launcher.throttling(str(tmp_path)) == throttled


def test_a_limit_above_what_a_container_sees(record):
    stat = f"hierarchical_memory_limit {3000 * MIB}\ntotal_cache 0\ntotal_active_file 0\ntotal_inactive_file 0"
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED,
        "sys/fs/cgroup/memory/memory.usage_in_bytes": 0,
        "sys/fs/cgroup/memory/memory.stat": stat,
    }
    assert memory(record(DOCKER, "8:memory:/docker/abc", files)) == (3000, 3000, 3000)


def test_a_group_outside_of_what_is_mounted_stands_for_its_top(record):
    top = {"sys/fs/cgroup/cpu.max": "100000 100000", "sys/fs/init.scope/cpu.max": "50000 100000"}
    assert record(UNIFIED, "0::/../../init.scope", top)["cpu_quota_cpus"] == 1


def test_less_than_one_cpu_is_one(record):
    assert record(UNIFIED, "0::/", {"sys/fs/cgroup/cpu.max": "50000 100000"})["cpus"] == 1


def test_a_mount_point_with_a_blank(record):
    mounts = UNIFIED.replace("/sys/fs/cgroup", "/control\\040groups")
    assert record(mounts, "0::/", {"control groups/cpu.max": "300000 100000"})["cpus"] == 3


@pytest.mark.parametrize(
    ("told", "cpus", "mib"),
    [
        ({"SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "8000"}, 4, 8000),
        ({"SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_CPU": "1000"}, 4, 4000),
        ({"SLURM_CPUS_ON_NODE": "64", "SLURM_MEM_PER_NODE": "0"}, 16, None),  # all of the node's
        ({}, 16, None),
    ],
)
def test_slurm_that_binds_nothing_says_what_it_granted(record, told, cpus, mib):
    limits = record(UNIFIED, "0::/", SLURM_JOB_ID="1", **told)
    assert (limits["cpus"], limits["memory_limit_mib"]) == (cpus, mib)
    assert record(UNIFIED, "0::/", **told)["cpus"] == 16, "not in a job of Slurm's"


# in a step whose environment Snakemake's plugin cleared, as `scontrol show job --oneliner` of 22.05 tells of it
JOB = "JobId=1 JobName=job.sh NodeList=n1 NumNodes={nodes} NumCPUs=1 MinCPUsNode=1 MinMemoryNode=700M TRES={tres}"


@pytest.mark.parametrize(
    ("tres", "nodes", "mib"),
    [
        ("cpu=1,mem=700M,node=1,billing=1", 1, 700),
        ("cpu=2,mem=3G,node=2,billing=2", 2, 1536),
        ("cpu=1,node=1,billing=1", 1, None),  # memory is nothing that it manages
        ("", 1, None),
    ],
)
def test_in_a_step_that_is_told_nothing_slurm_is_asked_once(record, monkeypatch, tmp_path, tres, nodes, mib):
    asked = tmp_path / "asked"
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text(f"#!/bin/sh\necho $* >> '{asked}'; echo '{JOB.format(tres=tres, nodes=nodes)}'\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scontrol.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(of_launcher, "GRANTS", {})
    for _ in range(2):
        limits = record(UNIFIED, "0::/", SLURM_JOB_ID="1", SLURM_STEP_ID="0", SLURM_CPUS_ON_NODE="1")
        assert limits["memory_limit_mib"] == mib
    assert asked.read_text() == "show job --oneliner 1\n"


def test_where_slurm_does_not_answer_the_machine_is_the_limit(record, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(of_launcher, "GRANTS", {})
    assert record(UNIFIED, "0::/", SLURM_JOB_ID="1", SLURM_STEP_ID="0")["memory_limit_mib"] is None


def test_the_lab_asks_the_launcher():
    limits = launcher.limits()
    assert limits.cpus <= len(os.sched_getaffinity(0))
    assert 0 < limits.memory_available_mib <= limits.memory_mib
    others = (path for path in (ROOT / "scripts/gpd").rglob("*.py") if path.name != "this_host.py")
    assert [path for path in others if "MemAvailable" in path.read_text() or "memory.max" in path.read_text()] == []


# ---- threads that may run at once: gpd run, gpd throughput and the launcher agree


@pytest.mark.parametrize(("smt", "threads"), [(False, 128), (True, 256)])
def test_with_smt_hyperthreads_count(smt, threads, monkeypatch):
    layout = launcher._topology(Policy(1, "compact", "l3", smt), TOPOLOGIES / "epyc-2x64.xml")
    assert layout["threads_at_once"] == len(layout["cpu_sets"]) == threads
    monkeypatch.setattr(launcher, "_launcher", lambda *words, **named: json.dumps(layout))
    assert launcher.usable_cores(smt) == threads


def test_a_grant_caps_how_many_threads_run_at_once_and_how_wide_a_job_is(tmp_path, monkeypatch):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "1")
    assert launcher.usable_cores() == launcher.usable_cores(smt=True) == launcher.limits().cpus == 1
    assert len(launcher.lay_out(Policy(8, "compact", "l3", False)).cpu_sets[0]) == 1
