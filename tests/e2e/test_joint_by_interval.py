"""A joint call set by interval, with the real tools: its records are those of the whole, wherever the borders are."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import joint_cohort
import pytest
from conftest import Cohort
from joint_cohort import Site

pytestmark = pytest.mark.e2e

QD = re.compile(r"(?<=;)QD=[\d.]+")  # above 35 GATK draws it at random
BORDERS = (30_000, 60_000)  # of three intervals of a contig of 90 kb
CALLS = "results/hard_filter/cohort.vcf.gz"


def called(cohort: Cohort, folder: Path, **settings: object) -> list[str]:
    """The records of a copy of the cohort that is called otherwise."""
    shutil.copytree(cohort.folder, folder)
    other = Cohort(folder, cohort.config | settings, cohort.units)
    ran = other.snakemake(CALLS)
    assert ran.exit_code == 0, ran.output
    output = subprocess.run(["bcftools", "view", "-H", folder / CALLS], capture_output=True, text=True, check=True)
    return [QD.sub("", line) for line in output.stdout.splitlines()]


@pytest.fixture(scope="module")
def bordered(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """Over each border a deletion of A in which B has a SNP, and blocks of C."""
    genome = joint_cohort.contigs(1, chr1=90_000)
    sequence, crossing = genome["chr1"], []
    for border in BORDERS:
        start = border - 10
        crossing.append(Site("chr1", start, sequence[start - 1 : border + 20], sequence[start - 1]))
        crossing.append(Site("chr1", border + 5, sequence[border + 4], "A" if sequence[border + 4] != "A" else "C"))
    others = [
        site
        for site in joint_cohort.sites(genome, 900, seed=2)
        if all(abs(site.position - border) > 100 for border in BORDERS)
    ]
    draw = random.Random(3)
    carried = {name: {site: draw.choice((1, 2)) for site in others if draw.random() < 0.5} for name in ("A", "B", "C")}
    carried["A"] |= dict.fromkeys(crossing[::2], 1)
    carried["B"] |= dict.fromkeys(crossing[1::2], 1)
    return joint_cohort.write(tmp_path_factory.mktemp("joint") / "", genome, carried, block=20_000)


def test_records_are_those_of_the_whole_whatever_reaches_over_a_border(bordered: Cohort, tmp_path: Path) -> None:
    whole = called(bordered, tmp_path / "whole", joint_intervals=1)
    scattered = called(bordered, tmp_path / "split 'anywhere'", joint_intervals=3)
    intervals = sorted((tmp_path / "split 'anywhere'/results/reference/intervals").glob("?of3.bed"))
    assert [int(path.read_text().split()[2]) for path in intervals] == [*BORDERS, 90_000]
    within = {int(line.split("\t")[1]) for line in whole if "*" in line.split("\t")[4]}
    assert within == {border + 5 for border in BORDERS}, "deletions of one sample, where another has a SNP"
    assert len(whole) > 60
    assert scattered == whole


@pytest.mark.long
def test_contigs_by_the_dozen_with_names_of_hla_alleles(tmp_path: Path) -> None:
    """More than GenomicsDBImport takes one by one, behind a contig that is split, and regions that leave some out."""
    small = {f"HLA-A*01:{number:02}:01N": 750 for number in range(40)}
    genome = joint_cohort.contigs(4, chr1=60_000, **small)
    sites = joint_cohort.sites(genome, 300, seed=5)
    draw = random.Random(6)
    carried = {name: {site: 1 for site in sites if draw.random() < 0.7} for name in ("A", "B")}
    regions = "".join(f"{name}\t0\t{len(sequence)}\n" for name, sequence in list(genome.items())[:-2])
    (tmp_path / "regions.bed").write_text(regions)
    cohort = joint_cohort.write(tmp_path, genome, carried, joint_intervals=3, intervals="regions.bed")
    ran = cohort.snakemake("--notemp", CALLS)
    assert ran.exit_code == 0, ran.output
    listed = [
        path.read_text().splitlines() for path in sorted((tmp_path / "results/reference/intervals").glob("?of3.bed"))
    ]
    assert len(listed[-1]) == 38, "all small ones together, and no part of chr1 with them"
    arrays = [path.name for path in (tmp_path / "results/genomics_db_import/3of3/workspace").iterdir() if path.is_dir()]
    assert len(arrays) <= 25
    output = subprocess.run(
        ["bcftools", "query", "-f", "%CHROM\t%POS\n", tmp_path / CALLS], capture_output=True, text=True
    )
    of_some = {site for name in carried for site in carried[name] if site.contig not in list(genome)[-2:]}
    assert output.stdout.splitlines() == [f"{s.contig}\t{s.position}" for s in sites if s in of_some]
