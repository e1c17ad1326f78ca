"""A user's files of known sites under their roles: nothing beside them is written, and each has its index."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cohort, tiny_cohort

pytestmark = pytest.mark.e2e

READY = "results/reference/vcf/known_sites_1.vcf.gz"


def ready(cohort: Cohort) -> tuple[Path, str]:
    """What the workflow makes of the file, and all its records as found by its index."""
    ran = cohort.snakemake(f"{READY}.tbi")
    assert ran.exit_code == 0, ran.output
    made = cohort.folder / READY
    found = subprocess.run(["bcftools", "view", "-H", made, "chr1"], capture_output=True, text=True, check=True)
    assert not made.with_name(f"{made.name}.tbi").is_symlink()
    return made, found.stdout


@pytest.mark.parametrize("indexed", ["", "indexed", "outdated"])
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_a_bgzipped_file_is_linked_and_nothing_is_written_beside_it(tmp_path, indexed, absolute):
    cohort = tiny_cohort(tmp_path, ("S1",), lanes=1)
    place = tmp_path / "known sites"
    place.mkdir()
    vcf = place / "known.vcf.gz"
    vcf.write_bytes(subprocess.run(["bgzip", "-c", tmp_path / "known.vcf"], capture_output=True, check=True).stdout)
    if indexed:
        subprocess.run(["tabix", "-p", "vcf", vcf], check=True)
    if indexed == "outdated":
        os.utime(f"{vcf}.tbi", (0, 0))
    there = sorted(place.iterdir())
    cohort.config["known_sites"] = [str(vcf) if absolute else "known sites/known.vcf.gz"]
    made, records = ready(cohort)
    assert made.is_symlink() and made.samefile(vcf)
    assert records.startswith("chr1\t100\t")
    assert sorted(place.iterdir()) == there
    if not absolute:
        moved = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name} moved"))
        assert (moved / READY).exists()
        shutil.rmtree(moved)


@pytest.mark.parametrize("packed", [False, True], ids=["text", "gzip"])
def test_a_file_that_is_not_bgzipped_is_copied(tmp_path, packed):
    cohort = tiny_cohort(tmp_path, ("S1",), lanes=1)
    if packed:
        subprocess.run(["gzip", "known.vcf"], cwd=tmp_path, check=True)
        cohort.config["known_sites"] = ["known.vcf.gz"]
    made, records = ready(cohort)
    assert not made.is_symlink()
    assert records.startswith("chr1\t100\t")


@pytest.mark.parametrize("packed", [False, True], ids=["text", "bgzip"])
def test_records_that_gatk_refuses_are_left_out_and_counted(tmp_path, packed):
    """dbSNP has letters in REF that stand for several bases; BaseRecalibrator fails at the first."""
    cohort = tiny_cohort(tmp_path, ("S1",), lanes=1)
    vcf = tmp_path / "known.vcf"
    vcf.write_text(vcf.read_text() + "chr1\t200\t.\tR\tA\t.\t.\t.\n")
    if packed:
        subprocess.run(["bgzip", vcf], check=True)
        cohort.config["known_sites"] = ["known.vcf.gz"]
    before = (tmp_path / cohort.config["known_sites"][0]).read_bytes()
    made, records = ready(cohort)
    assert not made.is_symlink() and records.startswith("chr1\t100\t") and records.count("\n") == 1
    (log,) = (tmp_path / "logs/indexed_vcf").glob("*.log")
    assert "has 1 records whose REF is not made of A, C, G, T and N: left out" in log.read_text()
    assert (tmp_path / cohort.config["known_sites"][0]).read_bytes() == before
