"""A disk that has no room for all samples at once: with the scheduler `admission` they wait for each other.

The workflow is a small one of shell commands, so that files have the sizes that were predicted.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Ran, snakemake

pytestmark = pytest.mark.e2e

MIB = 1 << 20
SNAKEFILE = """
SAMPLES = ["S1", "S2", "S3", "S4"]

rule all:
    input: expand("results/haplotype_caller/{sample}.g.vcf.gz", sample=SAMPLES)

rule map_and_sort:
    output: temp("results/map_and_sort/{sample}.bam")
    shell: "head -c 8M /dev/zero > {output}; sleep 1"

rule mark_duplicates:
    input: "results/map_and_sort/{sample}.bam"
    output: temp("results/mark_duplicates/{sample}.bam")
    shell: "cat {input} > {output}; sleep 1"

rule haplotype_caller:
    input: "results/mark_duplicates/{sample}.bam"
    output: "results/haplotype_caller/{sample}.g.vcf.gz"
    shell: "date +%s.%N > {output}; head -c 1M /dev/zero >> {output}"
"""
NEEDS = {"map_and_sort": [8 * MIB, 0], "mark_duplicates": [16 * MIB, 0], "haplotype_caller": [9 * MIB, 0]}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 26 MiB: room for one sample, and what the others leave."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=26m", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that takes root's rights")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def run(folder: Path, *options: str, needs: dict[str, list[int]] = NEEDS) -> Ran:
    """The workflow, with what is predicted of each sample, as ours notes it."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    noted = folder / ".snakemake" / "gpd" / "disk.json"
    noted.parent.mkdir(parents=True, exist_ok=True)
    samples = {f"S{number}": {"kept": MIB, "rules": needs} for number in range(1, 5)}
    noted.write_text(json.dumps({"results": "results", "temporary": "results", "margin": 1.25, "samples": samples}))
    words = ["--workflow-profile", "none", "--keep-going", *options]
    return snakemake(folder, *words, snakefile=folder / "Snakefile", cores=4)


def test_samples_wait_for_each_other_where_they_would_fail(small: Path) -> None:
    ran = run(small, "--scheduler", "greedy")
    assert ran.exit_code == 1, "four at once have no room"
    assert "No space left on device" in ran.output
    shutil.rmtree(small / "results")
    ran = run(small, "--scheduler", "admission")
    assert ran.exit_code == 0, ran.output
    waited = [line.split()[1] for line in ran.lines if line.startswith("disk: ")]
    assert waited and set(waited) < {"S1", "S2", "S3", "S4"}
    assert len(list((small / "results/haplotype_caller").iterdir())) == 4


def test_what_fits_nowhere_ends_with_one_line_and_keeps_what_is_done(small: Path) -> None:
    done = small / "results" / "haplotype_caller" / "S1.g.vcf.gz"
    assert run(small, "--scheduler", "admission", "--", str(done.relative_to(small))).exit_code == 0
    ran = run(small, "--scheduler", "admission", needs=NEEDS | {"mark_duplicates": [100 * MIB, 0]})
    assert ran.exit_code == 1
    (output,) = [line for line in ran.lines if line.startswith("disk: ")]
    assert " takes up to 0.1 GB more, and " in output and "try it nonetheless with --scheduler greedy" in output
    assert "Traceback" not in ran.output
    assert done.exists()
