"""What `gpd init` writes is what the workflow takes: its dry run passes on reads of every convention."""

from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, planned_jobs, sample_pairs, snakemake, write_fastq
from typer.testing import CliRunner

from gpd.cli import app

pytestmark = pytest.mark.e2e

NAMES = {  # of a sample's files, by the sample's name; # is the number of the mate
    "illumina": ["illumina_S1_L001_R#_001.fastq.gz", "illumina_S1_L002_R#_001.fastq.gz"],
    "casava": ["casava_CGATGT_L001_R#_001.fastq.gz"],
    "plain": ["plain_#.fq.gz"],
    "dotted": ["dotted.R#.fastq.gz"],
    "text": ["text_R#.fastq"],
    "V300012345_57": ["V300012345_L01_57_#.fq.gz", "V300012345_L02_57_#.fq.gz"],
    "SRR1234567": ["SRR1234567_#.fastq.gz"],
    "odd-name": ["odd name'_R#.fq.gz"],
}


@pytest.fixture
def reads(tmp_path: Path) -> Cohort:
    """A reference with known sites, and a folder of reads of one sample a convention."""
    made, genome = one_contig_cohort(tmp_path, 2000, seed=1)
    for seed, name in enumerate(name for names in NAMES.values() for name in names):
        for mate, pairs in enumerate(sample_pairs(genome, 20, seed), 1):
            write_fastq(tmp_path / "reads" / name.replace("#", str(mate)), pairs)
    return made


def init(*words: str | Path) -> None:
    done = CliRunner().invoke(app, ["init", *map(str, words)])
    assert done.exit_code == 0, done.output


def test_a_germline_run_is_planned_of_every_convention(reads: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reads.folder)
    init("reads", "--reference", "genome.fa", "--known-sites", "known.vcf")
    planned = snakemake(reads.folder, "--dry-run")
    assert planned.exit_code == 0, planned.output
    jobs = planned_jobs(planned)
    assert jobs["map_and_sort"] == sum(map(len, NAMES.values()))
    assert jobs["mark_duplicates"] == jobs["base_recalibration"] == len(NAMES)


def test_a_tuxedo_run_is_planned_once_conditions_are_filled_in(reads: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reads.folder)
    lines = [
        f'chr1\ttest\texon\t{start}\t{start + 200}\t.\t+\t.\tgene_id "g"; transcript_id "t";' for start in (100, 500)
    ]
    (reads.folder / "genes.gtf").write_text("\n".join(lines) + "\n")
    init("reads", "--pipeline", "tuxedo", "--reference", "genome.fa", "--annotation", "genes.gtf")
    refused = snakemake(reads.folder, "--dry-run")
    assert refused.exit_code == 1
    assert f"has no condition ({len(NAMES)} of the samples have none)" in refused.output
    sheet = reads.folder / "config/samples.tsv"
    heading, *rows = sheet.read_text().splitlines()
    sheet.write_text("\n".join([heading, *(f"{row}{number % 2}" for number, row in enumerate(rows))]) + "\n")
    planned = snakemake(reads.folder, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert planned_jobs(planned)["align"] == len(NAMES)
