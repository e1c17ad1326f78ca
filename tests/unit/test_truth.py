"""compare_calls on small hand-written VCFs, through the real bcftools."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "resources" / "demo" / "germline"))

from compare_calls import Counts, compare_calls
from demo_germline.tools import ToolError

pytestmark = pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")

#            1234567890123456789012345678
SEQUENCE = "GATTACAGCACACACACATTTTTTGGCA"


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "ref.fa"
    path.write_text(f">chr1\n{SEQUENCE}\n")
    return path


def write_vcf(path: Path, *records: str, samples: str = "S1") -> Path:
    """Write a VCF; a record is `pos ref alt filter genotype...`."""
    header = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=28>\n"
    header += '##FILTER=<ID=LowQual,Description="low">\n'
    header += '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples.split()]
    lines = ["\t".join(columns)]
    for record in records:
        pos, ref, alt, verdict, *genotypes = record.split()
        lines.append("\t".join(["chr1", pos, ".", ref, alt, ".", verdict, ".", "GT", *genotypes]))
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def test_counts_found_false_and_missed_by_type(tmp_path: Path, reference: Path) -> None:
    truth = write_vcf(tmp_path / "t.vcf", "2 A G PASS 0|1", "5 A C PASS 1|1", "7 A AT PASS 0|1")
    calls = write_vcf(tmp_path / "c.vcf", "2 A G PASS 1/1", "3 T C PASS 0/1", "7 A AT . 0/1", "26 G GTT . 0/1")
    found = compare_calls(calls, truth, reference, "S1")
    assert found.snp == Counts(true_positives=1, false_positives=1, false_negatives=1)
    assert found.indel == Counts(true_positives=1, false_positives=1, false_negatives=0)
    assert (found.snp.recall, found.snp.precision) == (0.5, 0.5)
    assert (found.indel.recall, found.indel.precision) == (1.0, 0.5)


def test_spellings_of_one_indel_are_one_allele(tmp_path: Path, reference: Path) -> None:
    # one CA of the run is lost: spelled at its left end, and at its right end with two bases too many
    truth = write_vcf(tmp_path / "t.vcf", "8 GCA G PASS 0|1")
    calls = write_vcf(tmp_path / "c.vcf", "14 ACACA ACA PASS 0/1")
    assert compare_calls(calls, truth, reference, "S1").indel == Counts(1, 0, 0)


def test_alleles_at_one_site_but_different_count_apart(tmp_path: Path, reference: Path) -> None:
    truth = write_vcf(tmp_path / "t.vcf", "8 GCA G PASS 0|1")
    calls = write_vcf(tmp_path / "c.vcf", "8 GCACA G PASS 0/1")
    assert compare_calls(calls, truth, reference, "S1").indel == Counts(0, 1, 1)


def test_of_a_split_record_only_the_sample_s_alleles_count(tmp_path: Path, reference: Path) -> None:
    truth = write_vcf(tmp_path / "t.vcf", "2 A G PASS 0|1")
    calls = write_vcf(
        tmp_path / "c.vcf",
        "2 A C,G PASS 0/2 0/1",
        "5 A C PASS 0/0 0/1",
        "9 C * PASS 0/1 0/1",
        samples="S1 S2",
    )
    assert compare_calls(calls, truth, reference, "S1").snp == Counts(1, 0, 0)
    # the truth's only sample stands for whichever sample is asked for
    assert compare_calls(calls, truth, reference, "S2").snp == Counts(0, 2, 1)


def test_filtered_calls_do_not_count(tmp_path: Path, reference: Path) -> None:
    truth = write_vcf(tmp_path / "t.vcf", "2 A G PASS 0|1")
    calls = write_vcf(tmp_path / "c.vcf", "2 A G LowQual 0/1")
    found = compare_calls(calls, truth, reference, "S1").snp
    assert found == Counts(0, 0, 1)
    assert found.recall == 0.0
    assert found.precision is None


def test_nothing_on_either_side_has_no_rate(tmp_path: Path, reference: Path) -> None:
    empty = write_vcf(tmp_path / "t.vcf")
    found = compare_calls(empty, empty, reference, "S1")
    assert found.snp == found.indel == Counts(0, 0, 0)
    assert found.snp.recall is None
    assert found.indel.precision is None


def test_absent_sample_and_wrong_reference_are_said_in_one_line(tmp_path: Path, reference: Path) -> None:
    vcf = write_vcf(tmp_path / "c.vcf", "2 A G PASS 0/1")
    with pytest.raises(ToolError, match=r"c\.vcf: has no sample S9$"):
        compare_calls(vcf, vcf, reference, "S9")
    wrong = write_vcf(tmp_path / "w.vcf", "2 T G PASS 0/1")
    with pytest.raises(ToolError) as failure:
        compare_calls(wrong, vcf, reference, "S1")
    assert "w.vcf" in str(failure.value)
    assert "\n" not in str(failure.value)
    with pytest.raises(ToolError, match=r"absent\.vcf"):
        compare_calls(tmp_path / "absent.vcf", vcf, reference, "S1")
