"""What the bench of presets counts: shares with intervals, and what each filter took, through the real bcftools."""

import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches import filtering
from benches.filtering import CALLED, FilteredAlleles
from benches.truth import Counts

presets = script(ROOT / "scripts/bench/presets.py")
#            1234567890123456789012345678
SEQUENCE = "GATTACAGCACACACACATTTTTTGGCA"
HEADER = """##fileformat=VCFv4.2
##contig=<ID=chr1,length=28>
##FILTER=<ID=SNP_SOR3,Description="SOR">
##FILTER=<ID=SNP_QD2,Description="QD">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	S1
"""


def vcf(path: Path, *records: str) -> Path:
    """A VCF; a record is `pos ref alt filter`, which the sample carries once."""
    rows = (record.split() for record in records)
    lines = (f"chr1\t{pos}\t.\t{ref}\t{alt}\t.\t{names}\t.\tGT\t0/1\n" for pos, ref, alt, names in rows)
    path.write_text(HEADER + "".join(lines))
    return path


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_what_a_filter_took_alone_no_other_one_took(tmp_path: Path) -> None:
    reference = tmp_path / "ref.fa"
    reference.write_text(f">chr1\n{SEQUENCE}\n")
    truth = vcf(tmp_path / "t.vcf", "2 A G PASS", "3 T C PASS", "5 A C PASS", "7 A T PASS")
    calls = vcf(
        tmp_path / "c.vcf",
        "2 A G SNP_SOR3",
        "3 T C SNP_SOR3;SNP_QD2",
        "5 A C PASS",
        "8 G A SNP_QD2",
        "26 G * SNP_SOR3",
    )
    assert filtering.taken(calls, truth, reference, "S1") == {
        CALLED: FilteredAlleles(3, 1, 0, 0),
        "SNP_QD2": FilteredAlleles(1, 1, 0, 1),
        "SNP_SOR3": FilteredAlleles(2, 0, 1, 0),
    }
    assert [*filtering.takings(calls, truth, reference, "S1")] == [
        "3 true and 1 false alleles before filters",
        "SNP_QD2 took 1 true, 1 false; alone 0 true, 1 false",
        "SNP_SOR3 took 2 true, 0 false; alone 1 true, 0 false",
    ]


def test_shares_have_wilson_s_intervals_and_numbers_beside_them() -> None:
    rows = [*presets.rows_of("a", {"SNP": Counts(207, 0, 0), "indel": Counts(0, 0, 0)})]
    assert [(row["kind"], row["true"], row["found"], row["false"]) for row in rows] == [
        ("SNP", 207, 207, 0),
        ("indel", 0, 0, 0),
    ]
    assert rows[0]["recall"] == "1.0000 (0.9818 to 1.0000)"
    assert presets.share(8, 10) == "0.8000 (0.4902 to 0.9433)"
    assert rows[1]["recall"] == rows[1]["precision"] == ""


def test_a_configuration_goes_on_from_one_before_it() -> None:
    names = list(presets.CONFIGURATIONS)
    for name, (preset, _, after) in presets.CONFIGURATIONS.items():
        assert not after or names.index(after) < names.index(name)
        assert not after or presets.CONFIGURATIONS[after].preset == preset


def test_a_model_is_tried_where_there_are_variants_enough_for_it() -> None:
    tried = {
        name: {str(each.settings["filter"]) for each in presets.configurations(presets.COHORTS[name]).values()}
        for name in ("repeats", "tiny", "germline_chr20")
    }
    assert tried == {
        "repeats": {"hard", "none", "vets", "vqsr"},
        "tiny": {"hard", "none", "vets"},
        "germline_chr20": {"hard", "none"},
    }
