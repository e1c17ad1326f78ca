"""Whether alignments are to the reference: what passes, and what must not."""

import io
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from checks import same_genome

DICT = "@HD\tVN:1.0\n@SQ\tSN:chr1\tLN:500\tM5:aa\tUR:file:x\n@SQ\tSN:HLA-A*01:01\tLN:300\tM5:bb\n"


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """What is wrong with a header; empty where nothing is."""

    def run(header: str) -> str:
        (tmp_path / "genome.dict").write_text(DICT)
        monkeypatch.setattr("sys.stdin", io.StringIO(header))
        failed = same_genome.main(["header", "--dict", str(tmp_path / "genome.dict"), "s1.bam"])
        complaint = capsys.readouterr().err
        assert failed == bool(complaint)
        return complaint

    return run


@pytest.mark.parametrize(
    "header", [DICT, DICT.replace("\tM5:aa", ""), DICT.replace("M5:aa", "M5:AA"), f"{DICT}@RG\tID:1\n@CO\tSN:x\n"]
)
def test_alignments_to_the_reference(compare, header):
    assert compare(header) == ""


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (
            DICT.replace("LN:300", "LN:299"),
            "its contig 2 is HLA-A*01:01 of 299 bases, that of the reference HLA-A*01:01 of 300",
        ),
        (DICT.replace("chr1", "1"), "its contig 1 is 1 of 500 bases, that of the reference chr1 of 500 bases"),
        ("\n".join(DICT.splitlines()[::-1]), "its contig 1 is HLA-A*01:01 of 300 bases, that of the reference chr1"),
        (DICT.splitlines()[1], "its contig 2 is none, that of the reference HLA-A*01:01 of 300 bases"),
        (f"{DICT}@SQ\tSN:decoy\tLN:7\n", "its contig 3 is decoy of 7 bases, that of the reference none"),
        (DICT.replace("M5:bb", "M5:cc"), "HLA-A*01:01 has the MD5 sum cc, that of the reference bb"),
        ("", "its contig 1 is none"),
    ],
    ids=["length", "name", "order", "too few", "too many", "sum", "nothing"],
)
def test_alignments_to_another_genome(compare, tmp_path, header, fault):
    complaint = compare(header)
    genome = tmp_path / "genome.fa"
    assert complaint.startswith(f"error: s1.bam: its alignments are to another genome than {genome}: {fault}")
    assert complaint.count("\n") == 1
