"""Calls after the filter: normalised, and with the consequences of variants for genes, by the real bcftools."""

import subprocess
from pathlib import Path

import pytest
from conftest import tiny_cohort
from test_hard_filters import write_calls

pytestmark = pytest.mark.e2e

# a gene of 300 bases without introns, at 101, as GENCODE writes it
GENES = """\
##gff-version 3
1\tHAVANA\tgene\t101\t400\t.\t+\t.\tID=G1;gene_type=protein_coding;gene_name=ONE
1\tHAVANA\ttranscript\t101\t400\t.\t+\t.\tID=T1;Parent=G1;transcript_type=protein_coding
1\tHAVANA\texon\t101\t400\t.\t+\t.\tID=exon:T1:1;Parent=T1
1\tHAVANA\tCDS\t101\t400\t.\t+\t0\tID=CDS:T1;Parent=T1
"""
CODING = "ATG" + "GCA" * 98 + "TAA"
REPEAT_AT = 1000  # before eight A


def query(path: Path, fields: str) -> list[str]:
    words = ["bcftools", "query", "-f", fields, str(path)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture
def cohort(tmp_path):
    made = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    fasta = tmp_path / "genome.fa"
    bases = fasta.read_text().splitlines()[1]
    bases = bases[:100] + CODING + bases[400 : REPEAT_AT - 1] + "C" + "A" * 8 + "G" + bases[REPEAT_AT + 9 :]
    fasta.write_text(f">chr1\n{bases}\n")
    (tmp_path / "genes.gff3").write_text(GENES)
    calls = [  # of GCA, alanine: silent, two other amino acids, a frame lost; and an indel at the right of its repeat
        "chr1\t106\t.\tA\tG\t50\tPASS\t.\tGT\t0/1",
        "chr1\t107\t.\tG\tC,T\t50\tPASS\t.\tGT\t1/2",
        "chr1\t110\t.\tGC\tG\t50\tPASS\t.\tGT\t0/1",
        f"chr1\t{REPEAT_AT + 7}\t.\tAA\tA\t50\tPASS\t.\tGT\t1/1",
    ]
    write_calls(tmp_path / "results/hard_filter/S1.vcf.gz", calls, len(bases))
    return made


def made(cohort, path, **config):
    cohort.config |= config
    rules = ("reference", "normalise", "gene_models", "consequences")
    ran = cohort.snakemake("--allowed-rules", *rules, "--", path)
    assert ran.exit_code == 0, ran.output
    return cohort.folder / path


def test_calls_are_normalised_and_consequences_told(cohort):
    """Contigs of the annotation have other names than the reference's."""
    called = made(cohort, "results/consequences/S1.vcf.gz", normalise="split", annotation="genes.gff3")
    assert query(called, "%POS %REF>%ALT [%GT]\n") == [
        "106 A>G 0/1",
        "107 G>C 1/0",
        "107 G>T 0/1",
        "110 GC>G 0/1",
        f"{REPEAT_AT} CA>C 1/1",
    ]
    found = [line.split("|")[:2] for line in query(called, "%INFO/BCSQ\n")]
    assert found == [["synonymous", "ONE"], ["missense", "ONE"], ["missense", "ONE"], ["frameshift", "ONE"], ["."]]
    assert (cohort.folder / "results/consequences/S1.vcf.gz.tbi").exists()


def test_without_an_annotation_calls_may_be_normalised_alone(cohort):
    called = made(cohort, "results/normalise/S1.vcf.gz", normalise="align")
    assert query(called, "%POS %REF>%ALT\n")[1] == "107 G>C,T"
