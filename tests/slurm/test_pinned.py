"""A workflow that knows nothing of the launcher, through Slurm: the executor stands in where Snakemake runs the job."""

from pathlib import Path

import pytest
from running import cluster_for_tests, records, start, within_grants

pytestmark = pytest.mark.slurm

PLAIN = """\
rule all:
    input: expand("{n}.txt", n=range(3))

rule one:
    output: "{n}.txt"
    log: "logs/{n}.log"
    resources: mem_mb=500, runtime=5
    shell: "echo $GPD_CPUS > {output} 2> {log}"
"""


def test_each_job_has_cpus_of_its_nodes_grant_and_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNAKEMAKE_PINNED_EVERYWHERE", "1")
    (tmp_path / "Snakefile").write_text(PLAIN)
    with cluster_for_tests() as cluster:
        run = start(cluster, tmp_path, "--snakefile", "Snakefile", "--cores", "1", "--retries", "0")
        assert run.end() == 0, run.output
        found = records(tmp_path)
        assert within_grants(cluster, found)
    assert sorted(record["wildcards"]["n"] for record in found) == ["0", "1", "2"]
    assert all(record["slurm_job_id"] and record["cpus"] and record["binding_ok"] for record in found)
    for record in found:
        assert (tmp_path / f"{record['wildcards']['n']}.txt").read_text().strip() == record["cpus"]
