"""What a rule asks for reaches Slurm, and what Slurm grants is all that a job allocations."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster, Node, two_nodes, wide_node
from running import HOLD, Cohort, cluster_for_tests

from gpd.text.cpu_lists import parse_cpus

pytestmark = pytest.mark.slurm

# beside the two: two of one CPU, which both hand out the same; and one of all CPUs
TWINS = [Node("t1", frozenset({0})), Node("t2", frozenset({0}))]
PARTITIONS = {"main": ["n1", "n2"], "twins": ["t1", "t2"], "wide": ["wide"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_for_tests(nodes=[*two_nodes(), *TWINS, wide_node()], partitions=PARTITIONS) as made:
        yield made


@pytest.mark.skipif(os.cpu_count() < 2, reason="takes two CPUs")
def test_threads_memory_and_time_reach_slurm(cluster: Cluster, tmp_path: Path) -> None:
    cohort = Cohort.made(tmp_path, cluster, {"A": HOLD}, mem_mb="600", runtime="25")
    cohort.hold("A")
    run = cohort.start("--set-threads", "write=2", "--set-resources", "write:slurm_partition=wide")
    job, node = cohort.begun("A")
    told = cluster.job(job)
    cohort.let_go()
    assert run.end() == 0, run.output
    assert node == "wide"
    asked = {"NumCPUs": "2", "CPUs/Task": "2", "MinMemoryNode": "600M", "TimeLimit": "00:25:00"}
    assert {name: told[name] for name in asked} == asked
    (record,) = cohort.attempts("A")
    assert (record["threads"], record["mem_mb"]) == (2, 600)
    assert len(parse_cpus(record["cpus"])) == 2


def test_each_job_allocations_what_its_node_granted(cluster: Cluster, tmp_path: Path) -> None:
    cohort = Cohort.made(tmp_path, cluster, {"A": HOLD, "B": HOLD})
    cohort.hold("A", "B")
    run = cohort.start()
    nodes = {cohort.begun(sample)[1] for sample in "AB"}
    cohort.let_go()
    assert run.end() == 0, run.output
    assert nodes == {"n1", "n2"}
    allocations = {node: cpus for sample in "AB" for _, _, node, cpus in cohort.begins(sample)}
    grants = {node.name: node.cpus for node in cluster.nodes}
    assert all(parse_cpus(cpus) <= grants[node] for node, cpus in allocations.items()), allocations


def test_two_nodes_that_hand_out_one_cpu_do_not_share_it(cluster: Cluster, tmp_path: Path) -> None:
    cohort = Cohort.made(tmp_path, cluster, {"A": "sleep 2", "B": "sleep 2"})
    run = cohort.run("--set-resources", "write:slurm_partition=twins")
    assert run.process.returncode == 0, run.output
    (first,), (second,) = (cohort.attempts(sample) for sample in "AB")
    assert {first["cpus"], second["cpus"]} == {"0"}
    assert {node for sample in "AB" for _, _, node, _ in cohort.begins(sample)} == {"t1", "t2"}
    assert max(first["wait_s"], second["wait_s"]) > 1  # for the other's CPU; records() has looked for overlaps
