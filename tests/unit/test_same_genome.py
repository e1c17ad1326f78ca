"""Whether alignments are to the reference: what passes, and what must not."""

import io
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from checks import same_genome

DICT = "@HD\tVN:1.0\n@SQ\tSN:chr1\tLN:500\tM5:aa\tUR:file:x\n@SQ\tSN:HLA-A*01:01\tLN:300\tM5:bb\n"


def compare(folder: Path, header: str) -> str:
    """What is wrong with a header; empty where nothing is."""
    (folder / "genome.dict").write_text(DICT)
    try:
        same_genome.compare_header("s1.bam", io.StringIO(header), folder / "genome.dict")
    except same_genome.OtherGenomeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "header", [DICT, DICT.replace("\tM5:aa", ""), DICT.replace("M5:aa", "M5:AA"), f"{DICT}@RG\tID:1\n@CO\tSN:x\n"]
)
def test_alignments_to_the_reference(tmp_path, header):
    assert compare(tmp_path, header) == ""


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
def test_alignments_to_another_genome(tmp_path, header, fault):
    said = compare(tmp_path, header)
    assert said.startswith(f"s1.bam: its alignments are to another genome than {tmp_path / 'genome.fa'}: {fault}")
    assert "\n" not in said
