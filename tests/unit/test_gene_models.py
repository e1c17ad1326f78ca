"""Genes for bcftools csq: what it needs of GFF3 of Ensembl, GENCODE and RefSeq, and the names of contigs."""

import gzip
import sys

import pytest
from conftest import ROOT, script

PATH = ROOT / "workflow/scripts/germline/gene_models.py"
gene_models = script(PATH)

ENSEMBL = """\
##gff-version 3
1\thavana\tgene\t101\t400\t.\t+\t.\tID=gene:G1;Name=ONE;biotype=protein_coding
1\thavana\tmRNA\t101\t400\t.\t+\t.\tID=transcript:T1;Parent=gene:G1;biotype=protein_coding
1\thavana\texon\t101\t400\t.\t+\t.\tParent=transcript:T1;Name=E1
1\thavana\tCDS\t101\t400\t.\t+\t0\tID=CDS:P1;Parent=transcript:T1
"""
GENCODE = """\
##gff-version 3
chr1\tHAVANA\tgene\t101\t400\t.\t+\t.\tID=G1;gene_type=protein_coding;gene_name=ONE
chr1\tHAVANA\ttranscript\t101\t400\t.\t+\t.\tID=T1;Parent=G1;transcript_type=protein_coding
chr1\tHAVANA\texon\t101\t400\t.\t+\t.\tID=exon:T1:1;Parent=T1
chr1\tHAVANA\tCDS\t101\t400\t.\t+\t0\tID=CDS:T1;Parent=T1
chr1\tHAVANA\tstart_codon\t101\t103\t.\t+\t0\tID=start_codon:T1;Parent=T1
"""
REFSEQ = """\
##gff-version 3
chr1\tRefSeq\tregion\t1\t2000\t.\t+\t.\tID=chr1:1..2000
chr1\tBestRefSeq\tgene\t101\t400\t.\t+\t.\tID=G1;Name=ONE;gene_biotype=protein_coding
chr1\tBestRefSeq\tmRNA\t101\t400\t.\t+\t.\tID=T1;Parent=G1;Name=NM_1
chr1\tBestRefSeq\texon\t101\t400\t.\t+\t.\tID=exon-1;Parent=T1
chr1\tBestRefSeq\tCDS\t101\t400\t.\t+\t0\tID=cds-1;Parent=T1
"""
MADE = [
    "##gff-version 3",
    "gene\tID=gene:G1;Name=ONE;biotype=protein_coding",
    "transcript\tID=transcript:T1;Parent=gene:G1;biotype=protein_coding",
    "exon\tParent=transcript:T1",
    "CDS\tParent=transcript:T1",
]


def made(text, contigs=("chr1",)):
    """The lines of genes, with what is looked at: feature and attributes."""
    head, *lines = gene_models.convert(text.splitlines(), contigs)
    rows = [line.split("\t") for line in lines]
    return [head, *(f"{row[2].replace('mRNA', 'transcript')}\t{row[8]}" for row in rows)], {row[0] for row in rows}


@pytest.mark.parametrize("text", [ENSEMBL, GENCODE, REFSEQ], ids=["Ensembl", "GENCODE", "RefSeq"])
def test_gff3_of_anybody_becomes_ensembls(text):
    assert made(text) == (MADE, {"chr1"})


@pytest.mark.parametrize(
    ("theirs", "ours"), [("1", "1"), ("1", "chr1"), ("chr1", "1"), ("MT", "chrM"), ("chrM", "MT"), ("M", "MT")]
)
def test_contigs_get_the_references_names(theirs, ours):
    assert made(ENSEMBL.replace("\n1\t", f"\n{theirs}\t"), [ours])[1] == {ours}


def test_what_is_on_no_contig_of_the_reference_and_what_follows_as_sequence_is_left_out():
    assert made(f"{GENCODE}{REFSEQ.replace('chr1', 'chr2')}##FASTA\n>chr1\nACGT\n") == (MADE, {"chr1"})


def write(tmp_path, text):
    (path := tmp_path / "genes.gff3").write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("text", [ENSEMBL, gzip.compress(GENCODE.encode())], ids=["plain", "compressed"])
def test_an_annotation_that_can_be_used_has_no_fault(tmp_path, text):
    assert gene_models.fault(write(tmp_path, text), ["chr1"]) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('chr1\tx\texon\t1\t9\t.\t+\t.\tgene_id "G"; transcript_id "T";\n', "is no GFF3"),
        ("chr1\tx\tgene\n", "is no GFF3"),
        (ENSEMBL.replace("\n1\t", "\nX\t"), "has no contig of the reference: its first one is X"),
        (ENSEMBL.replace("CDS", "exon"), "has no CDS"),
        (gzip.compress(GENCODE.encode())[:-20], "is cut off"),
        (b"\xff\xfe", "is not a text file in UTF-8"),
    ],
    ids=["GTF", "columns", "contigs", "no CDS", "cut off", "binary"],
)
def test_what_cannot_be_used_is_named(tmp_path, text, fault):
    assert gene_models.fault(write(tmp_path, text), ["chr1"]).startswith(fault)


def test_it_needs_the_standard_library_alone():
    from test_architecture import imports

    assert imports(PATH) <= sys.stdlib_module_names


def test_an_annotation_whose_compressed_data_are_damaged_is_told_in_a_phrase(tmp_path):
    path = tmp_path / "genes.gff3.gz"
    packed = bytearray(gzip.compress(b"chr1\tx\tgene\t1\t9\t.\t+\t.\tID=g\n" * 5000))
    packed[40:60] = bytes(20)
    path.write_bytes(packed)
    assert "damaged" in gene_models.fault(str(path), ["chr1"])
