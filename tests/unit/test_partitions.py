"""What Slurm's partitions hold, by what scontrol says of them, and what is refused for it."""

from dataclasses import replace

import pytest
from conftest import ROOT, script

partitions = script(ROOT / "workflow/scripts/resources/partitions.py")

# as Slurm 22.05 prints them, shortened
NODES = """\
NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUEfctv=15 CPUTot=16 RealMemory=64000 OS=Linux 6.1 #1 SMP PREEMPT_DYNAMIC x=y \
State=IDLE MemSpecLimit=4000 Partitions=main,short Reason=moved to rack 7 [root@2026-11-01T10:00:00]
NodeName=n2 Arch=x86_64 CPUAlloc=0 CPUTot=64 RealMemory=32000 State=DOWN Partitions=main
NodeName=n3 Arch=x86_64 CPUAlloc=0 CPUEfctv=64 CPUTot=64 RealMemory=1000000 State=IDLE Partitions=big
"""
PARTITIONS = """\
PartitionName=main Default=YES MaxTime=7-00:00:00 MaxMemPerNode=UNLIMITED MaxCPUsPerNode=UNLIMITED State=UP
PartitionName=short Default=NO MaxTime=01:30:00 MaxMemPerNode=16000 MaxCPUsPerNode=4 State=UP
PartitionName=big Default=NO MaxTime=UNLIMITED MaxMemPerNode=UNLIMITED State=UP
PartitionName=empty Default=NO MaxTime=UNLIMITED Nodes=(null) State=UP
"""


@pytest.fixture
def cluster():
    return partitions.read(NODES, PARTITIONS)


def refusals(cluster, cpus=1, mem_mb=1000, minutes=60, of="", divides=""):
    return partitions.refusals([partitions.Asked("some_rule", cpus, mem_mb, minutes, of, divides)], cluster)


def test_a_partition_has_what_its_nodes_leave_to_jobs(cluster):
    assert cluster["main"].nodes == ((15, 60000), (64, 32000))
    assert cluster["short"].nodes == ((4, 16000),)
    assert [name for name, partition in cluster.items() if partition.is_default] == ["main"]
    assert [partition.minutes for partition in cluster.values()] == [7 * 1440, 90, float("inf")]
    assert "empty" not in cluster


def test_what_some_node_holds_is_not_refused(cluster):
    assert refusals(cluster, cpus=15, mem_mb=60000) == []
    assert refusals(cluster, cpus=64, mem_mb=32000) == []
    assert refusals(cluster, cpus=64, mem_mb=900_000, of="short,big") == []


def test_no_node_has_both(cluster):
    (line,) = refusals(cluster, cpus=32, mem_mb=48000)
    assert "some_rule asks for 32 CPUs and 48000 MB" in line
    assert "partition main" in line
    assert "largest: 64 CPUs, 32000 MB" in line
    assert refusals(cluster, cpus=5, of="short")


def test_time_counts_where_the_job_has_room(cluster):
    (line,) = refusals(cluster, minutes=100, of="short")
    assert "some_rule asks for 100 minutes, and partition short ends jobs after 90" in line
    assert "give set-threads or runtime of some_rule" in line
    (line,) = refusals(cluster, minutes=100, of="short", divides="joint_intervals")
    assert "give a larger joint_intervals or runtime of some_rule" in line
    assert refusals(cluster, minutes=100, of="short,big") == []
    assert refusals(cluster, minutes=7 * 1440 + 1)


def test_a_partition_that_is_not_there_is_named_once(cluster):
    asked = [partitions.Asked(f"rule{number}", 1, 1000, 60, "mian") for number in range(2)]
    assert partitions.refusals(asked, cluster) == [
        "slurm_partition mian: no such partition with nodes (there are: big, main, short)"
    ]


def test_the_memory_that_is_left_to_a_later_attempt(cluster):
    assert cluster["main"].most_mb(8) == 60000
    assert cluster["main"].most_mb(32) == 32000
    assert cluster["main"].most_mb(65) == 0


def test_a_group_is_one_job_with_the_time_of_all(cluster):
    """As Snakemake has it: of several samples as many side by side as `cores` has room for."""
    rules = [partitions.Asked("first", 8, 20000, 4000, ""), partitions.Asked("second", 4, 30000, 5000, "")]
    groups = {"first": "sample", "second": "sample"}
    (group,) = partitions.grouped(rules, groups, {}, 8)
    assert group == partitions.Asked("group sample (first, second)", 8, 30000, 9000, "")
    (several,) = partitions.grouped(rules, groups, {"sample": 3}, 8)
    assert (several.cpus, several.mem_mb, several.minutes) == (8, 60000, 3 * 4000 + 2 * 5000)
    assert partitions.refusals([group], cluster) == []
    (line,) = partitions.refusals([several], cluster | {"main": replace(cluster["main"], nodes=((64, 64000),))})
    assert line.startswith(
        "group sample (first, second) asks for 22000 minutes, and partition main ends jobs after 10080"
    )


def test_without_slurm_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert partitions.look() == {}
    fails = tmp_path / "scontrol"
    fails.write_text("#!/bin/sh\nexit 1\n")
    fails.chmod(0o755)
    assert partitions.look() == {}
