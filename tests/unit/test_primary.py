"""Which contigs are called: the primary assembly where names tell it, else all."""

import pytest
from conftest import ROOT, script

primary = script(ROOT / "workflow/scripts/intervals/primary.py")

MB = 1_000_000
REHEARSAL = ROOT / "resources/rehearsal/contigs.tsv"  # GRCh38's, with decoys and HLA


def test_of_grch38_decoys_ebv_hla_and_alt_contigs_are_left_out():
    rows = [line.split("\t") for line in REHEARSAL.read_text().splitlines()[1:]]
    contigs = {name: int(length) for name, length, *_ in rows}
    found = primary.left_out(contigs)
    assert primary.summary(found) == "2,385 decoys, 1 EBV, 525 HLA, 261 ALT"
    called = contigs.keys() - found.keys()
    assert len(called) == 194
    assert {"chrM", "chrY", "chr1_KI270706v1_random", "chrUn_KI270302v1"} <= called


@pytest.mark.parametrize(
    ("called", "missing"),
    [
        (("1", "MT", "GL000192.1"), ("hs37d5", "NC_007605")),  # GRCh37 with decoys
        (("1", "KI270728.1"), ("CHR_HSCHR6_MHC_COX_CTG1", "CHR_HG2021_PATCH")),  # Ensembl
        (("1", "GL000192.1"), ("HSCHR6_MHC_APD", "HG1007_PATCH")),  # Ensembl, GRCh37
        (("chr6", "chr17_gl000203_random"), ("chr6_apd_hap1", "chr17_ctg5_hap1")),  # hg19
        (("chr1", "chr4_GL456216_random", "chrUn_GL456239v1"), ("chr1_KK082441v1_alt", "chr2_KQ030485v1_fix")),  # mouse
        (("1", "JH584299.1"), ("CHR_MG51_PATCH", "CHR_CAST_EI_MMCHR11_CTG4")),  # mouse of Ensembl
        (("CM000663.2", "KI270706.1"), ("KN707606.1", "JTFH01000001.1")),  # GenBank
        (("NC_000001.11", "NT_187361.1", "NW_003315950.2"), ()),  # RefSeq: names do not tell
        (("NC_060925.1", "NC_060947.1"), ()),  # T2T
        (("NC_000913.3",), ()),  # a bacterium
        (("chr1_hap1", "chr1_hap2", "chr2_alt", "HG002_chr3", "CHR_MT", "CHR_01", "HLA"), ()),  # assemblies of others
    ],
)
def test_names_tell_what_is_left_out(called, missing):
    lengths = dict.fromkeys(called, 100 * MB) | dict.fromkeys(missing, MB)
    assert set(primary.left_out(lengths)) == set(missing)


def test_what_is_half_of_a_reference_is_called():
    assert not primary.left_out({"NC_007605.1": 171_823})
    assert not primary.left_out({"HLA-A*01:01:01:01": 3503, "HLA-B*07:02:01": 3323, "chrM": 16_569 // 4})


def test_the_called_contigs_are_lines_of_a_bed_file(tmp_path, capsys):
    fai = tmp_path / "genome.fa.fai"
    fai.write_text("chr1\t9000\t6\t60\t61\nchrEBV\t171\t9200\t60\t61\nchrM\t160\t9999\t60\t61\n")
    primary.main(fai)
    assert capsys.readouterr().out == "chr1\t0\t9000\nchrM\t0\t160\n"
