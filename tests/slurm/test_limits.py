"""Jobs that need more than they asked for: Slurm ends them, the ledger says why, and a retry asks for more."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from running import Cohort, cluster_for_tests

pytestmark = pytest.mark.slurm

# half a second a step: as slow to take memory as Slurm, which looks every second, is to find it
HOG = """python -S -c 'import time; held = [time.sleep(0.5) or b"x" * (100 << 20) for step in range(8)]'"""
SLOW = '[ "$ATTEMPT" -gt 1 ] || sleep 600'


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_for_tests() as made:
        yield made


def test_a_job_over_its_memory_and_one_over_its_time(
    cluster: Cluster, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    tasks = {"large": HOG, "slow": SLOW, "good": "true"}
    cohort = Cohort.made(tmp_path, cluster, tasks, mem_mb="500 * attempt ** 2")
    run = cohort.start("--retries", "1")
    job, _ = cohort.begun("slow")
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=1")  # the least; a busy machine takes it for Snakemake
    assert run.end() == 0, run.output
    assert cohort.is_done()
    for sample, cause in {"large": "out_of_memory", "slow": "timed_out"}.items():
        first, second = cohort.attempts(sample)
        figure(f"Slurm, {sample}: {first['cause']}: {first['message']} ({first['wall_s']} s)")
        assert (first["attempt"], first["cause"]) == (1, cause)
        assert (second["attempt"], second["cause"]) == (2, None)
    assert [record["cause"] for record in cohort.attempts("good")] == [None]
