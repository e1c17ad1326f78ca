"""What Slurm and Snakemake make of a group, as profiles/slurm and profiles/README.md say."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster, wide_node
from running import Cohort, cluster_for_tests, submitted

pytestmark = pytest.mark.slurm

GROUPED = ("--groups", "write=both", "--group-components", "both=2")
# whichever comes second fails, where the test wants it to
TASK = "sleep 3; mkdir first || [ ! -e second_fails ] || exit 3"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_for_tests(nodes=[wide_node()]) as made:
        yield made


@pytest.mark.skipif(os.cpu_count() < 2, reason="takes two CPUs")
def test_narrow_jobs_of_a_group_are_in_a_row_with_the_time_of_one(cluster: Cluster, tmp_path: Path) -> None:
    """Snakemake takes them to run side by side on `cores`, and the plugin's `--jobs 1` does not let them."""
    cohort = Cohort.made(tmp_path, cluster, dict.fromkeys("AB", TASK))
    run = cohort.run(*GROUPED)
    assert run.process.returncode == 0, run.output
    (job,) = submitted(run)
    told = cluster.job(job)
    assert (told["NumCPUs"], told["MinMemoryNode"], told["TimeLimit"]) == ("2", "1000M", "00:10:00")
    first, second = sorted((cohort.attempts(sample)[0] for sample in "AB"), key=lambda record: record["start"])
    assert first["end"] < second["start"]
    assert first["cpus"] == second["cpus"]


def test_wide_jobs_of_a_group_have_the_time_of_all_and_one_that_fails_takes_what_others_made(
    cluster: Cluster, tmp_path: Path
) -> None:
    cohort = Cohort.made(tmp_path, cluster, dict.fromkeys("AB", TASK))
    (tmp_path / "second_fails").touch()
    run = cohort.run(*GROUPED, "--cores", "1")
    assert run.process.returncode == 1, run.output
    (job,) = submitted(run)
    told = cluster.job(job)
    assert (told["NumCPUs"], told["MinMemoryNode"], told["TimeLimit"]) == ("1", "500M", "00:20:00")
    assert sorted(cohort.attempts(sample)[0]["exit_code"] for sample in "AB") == [0, 3]
    assert [*(tmp_path / "results").rglob("*.txt")] == []
