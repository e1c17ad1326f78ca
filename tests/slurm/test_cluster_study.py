"""Studies of throughput on a real cluster: a batch job on each type of node.

Two virtual nodes of one host share its memory, disk and caches: what is shown here is that it works, not how fast.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cluster import Cluster
from conftest import ROOT
from launching import wait_until
from running import RUN_S, cluster_for_tests
from tuxedo_cohort import tiny_experiment

from gpd.records.run import read_run

pytestmark = pytest.mark.slurm

PARTITIONS = {"both": ["n1", "n2"], "left": ["n1"], "right": ["n2"]}


@dataclass
class Lab:
    """A pool of tiny samples, counted against the annotation alone, on a shared folder."""

    folder: Path
    cluster: Cluster

    def study(self, name: str, **settings: object) -> Path:
        path = self.folder / f"{name}.yaml"
        fixed = {"name": name, "directory": str(self.folder / "runs"), "repeats": 1, "warm_up": 0}
        pools = {"tuxedo": {"directory": str(self.folder)}}
        path.write_text(yaml.safe_dump({**fixed, "pipelines": pools, **settings}))
        return path

    def start(self, *words: object) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        command = [sys.executable, "-m", "gpd", *map(str, words)]
        return subprocess.Popen(command, env=self.cluster.environment, cwd=self.folder, **pipes)

    def gpd(self, *words: object) -> tuple[int, str]:
        with self.start(*words) as process:
            output, _ = process.communicate(timeout=3 * RUN_S)
        return process.returncode, output


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("a lab 50% 'off'")
    made = tiny_experiment(folder, ("A1", "A2", "B1", "B2"), lanes=1)
    made.config |= {"stop_after": "quantify", "assembly": "reference_only"}
    made.write()
    with cluster_for_tests(partitions=PARTITIONS) as cluster:
        yield Lab(folder, cluster)


def test_each_type_of_node_runs_the_study_as_the_manual_submits_it(lab: Lab) -> None:
    """A batch job that is requeued keeps what had ended; submitted again, it runs nothing again."""
    page = (ROOT / "docs/how-to/compare-machines.md").read_text()
    (script,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "sbatch" in block)
    (lab.folder / "config").mkdir(exist_ok=True)
    lab.study("types", concurrent_samples=[1, 2]).rename(lab.folder / "config/throughput.yaml")
    command = ["bash", "-euc", script.replace("rome milan", "left right")]

    def submit() -> None:
        before = set(lab.cluster.jobs())
        subprocess.run(command, env=lab.cluster.environment, cwd=lab.folder, check=True)
        wait_until(lambda: len(set(lab.cluster.jobs()) - before) == 2, timeout_s=RUN_S)

    def over() -> bool:
        return not any(state in ("PENDING", "RUNNING", "COMPLETING") for state in lab.cluster.jobs().values())

    submit()
    folder = lab.folder / "runs/study-left"
    wait_until(lambda: [*folder.glob("*/run.json")], timeout_s=2 * RUN_S)
    done = next(folder.glob("*/run.json"))
    written = done.stat().st_mtime_ns
    running = next(job for job in lab.cluster.running() if lab.cluster.job(job)["Partition"] == "left")
    lab.cluster.run("scontrol", "requeue", running)
    wait_until(over, timeout_s=6 * RUN_S)
    for partition, node in (("left", "n1"), ("right", "n2")):
        paths = [*(lab.folder / f"runs/study-{partition}").glob("*/run.json")]
        assert len(paths) == 2
        record = read_run(paths[0])
        assert (record.host.node, record.host.partition) == (node, partition)
        assert record.spec.cores == 1, "the CPU that the node hands out, of those that the host has"
    # a tool that does not say its version in time, on a busy host, has none in the record
    compared, table = lab.gpd("compare", "runs/study-left", "runs/study-right", "--allow", "tools")
    assert compared == 0, table
    submit()
    wait_until(over, timeout_s=2 * RUN_S)
    assert done.stat().st_mtime_ns == written, "what had ended is kept"
