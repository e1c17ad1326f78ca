"""Duplicates marked by each program: of lanes and single reads; the MultiQC page shows them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, random_sequence, write_fastq

pytestmark = pytest.mark.e2e

GENOME = 8000
FRAGMENT, READ = 400, 150
COPIES = 7  # fragments that are there twice, in two lanes
CHIMERAS = 2  # of these: two places of the genome in one read
DUPLICATE, SUPPLEMENTARY, UNPAIRED = 0x400, 0x800, 0x1
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def fragments(genome: str, first: int = 0) -> list[str]:
    """Fragments that begin at places of their own; the first ones are chimeras."""
    found = [genome[start : start + FRAGMENT] for start in range(first, GENOME - FRAGMENT, 97)]
    for number in range(CHIMERAS):
        found[number] = genome[5000 + 300 * number :][:75] + found[number][75:]
    return found


def pairs(some: list[str], lane: int) -> tuple[list, list]:
    """Reads whose names have a tile and a place on it."""
    names = [f"machine:1:flowcell:{lane}:1101:{1000 * number}:2000" for number, _ in enumerate(some, 1)]
    first = [(name, fragment[:READ]) for name, fragment in zip(names, some, strict=True)]
    second = [(name, fragment.translate(COMPLEMENT)[::-1][:READ]) for name, fragment in zip(names, some, strict=True)]
    return first, second


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """A sample of two lanes of pairs, the second with copies of the first one's fragments, and one of single reads."""
    folder = tmp_path_factory.mktemp("sample")
    cohort, genome = one_contig_cohort(folder, GENOME, seed=3)
    whole = fragments(genome)
    for lane, some in enumerate((whole, whole[:COPIES] + fragments(genome, 31)[CHIMERAS:]), 1):
        fq1, fq2 = (
            write_fastq(folder / f"{lane}_{mate}.fq.gz", reads).name for mate, reads in enumerate(pairs(some, lane))
        )
        cohort.add_unit("S1", f"L{lane}", fq1=fq1, fq2=fq2)
    long = [("single1", genome[100:580]), ("single2", genome[100:580]), ("single3", random_sequence(480, 9))]
    cohort.add_unit("S1", "single", fq1=write_fastq(folder / "single.fq.gz", long).name)
    return cohort


def marked(sample: Cohort, folder: Path, duplicates: str) -> Cohort:
    shutil.copytree(sample.folder, folder)
    cohort = Cohort(folder, sample.config | {"duplicates": duplicates}, sample.units)
    ran = cohort.snakemake("results/mark_duplicates/S1.bam", "results/mark_duplicates/S1.txt", "--notemp")
    assert ran.exit_code == 0, ran.output
    return cohort


def flags(cohort: Cohort) -> list[int]:
    view = ["samtools", "view", cohort.folder / "results/mark_duplicates/S1.bam"]
    text = subprocess.run(view, check=True, capture_output=True, text=True).stdout
    return [int(line.split("\t")[1]) for line in text.splitlines()]


@pytest.mark.parametrize("duplicates", ["sambamba", "samtools"])
def test_copies_in_other_lanes_are_marked(sample: Cohort, tmp_path: Path, duplicates: str) -> None:
    cohort = marked(sample, tmp_path / "a run: here", duplicates)
    copies = [flag for flag in flags(cohort) if flag & DUPLICATE]
    of_pairs = [flag for flag in copies if flag & UNPAIRED and not flag & SUPPLEMENTARY]
    assert len(of_pairs) == 2 * COPIES
    assert len([flag for flag in copies if not flag & UNPAIRED]) == 1
    supplementary = [flag for flag in copies if flag & SUPPLEMENTARY]
    assert len(supplementary) == (CHIMERAS if duplicates == "samtools" else 0)
    metrics = (cohort.folder / "results/mark_duplicates/S1.txt").read_text()
    if duplicates == "samtools":
        counted = json.loads(metrics)
        assert counted["COMMAND"] == "samtools markdup -S -d 2500"
        assert [counted[f"DUPLICATE {kind}"] for kind in ("PAIR", "SINGLE", "NON PRIMARY")] == [2 * COPIES, 1, CHIMERAS]
    else:
        assert f"found {2 * COPIES + 1} duplicates" in metrics
    header = subprocess.run(
        ["samtools", "view", "-H", cohort.folder / "results/mark_duplicates/S1.bam"],
        **{"check": True, "capture_output": True, "text": True},
    ).stdout
    groups = [line.split("\t")[1] for line in header.splitlines() if line.startswith("@RG")]
    assert sorted(groups) == ["ID:S1.L1", "ID:S1.L2", "ID:S1.single"]


@pytest.mark.long
@pytest.mark.parametrize("duplicates", ["sambamba", "samtools"])
def test_the_page_of_a_run_shows_duplicates(sample: Cohort, tmp_path: Path, duplicates: str) -> None:
    shutil.copytree(sample.folder, tmp_path / "a run")
    cohort = Cohort(tmp_path / "a run", sample.config | {"duplicates": duplicates}, sample.units)
    ran = cohort.snakemake()
    assert ran.exit_code == 0, ran.output
    page = (cohort.folder / "results/multiqc/multiqc.html").read_text()
    assert {"sambamba": "SambambaMarkdupBargraph", "samtools": "samtools-markdup-table"}[duplicates] in page
