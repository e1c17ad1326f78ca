"""Benches compare call sets: what counts as a difference, and of what kind."""

import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches.calls import CallDifference, compare, difference, parse

ONE = """\
chr1\t10\tA\tG\tPASS\t50.1\tDP=9;QD=5.5\t0/1\t1/1
chr1\t20\tC\tCT\tSNP_QD2\t31\tDP=7;DB\t0/1\t./.
chr2\t10\tA\tG\tPASS\t99\tDP=3\t0|1\t1/1
"""


def test_a_call_set_is_as_itself() -> None:
    found = difference(parse(ONE), parse(ONE))
    assert found == CallDifference(records=3)
    assert (found.in_results, str(found)) == (0, "none")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("chr2\t10\tA\tG", "chr2\t11\tA\tG", {"missing": 1, "added": 1}),
        ("chr2\t10\tA\tG", "chr1\t10\tA\tT", {"missing": 1, "added": 1}),
        ("C\tCT", "C\tCTT", {"missing": 1, "added": 1}),
        ("SNP_QD2", "PASS", {"FILTER": 1}),
        ("0|1", "0/1", {"genotypes": 1}),
        ("0/1\t1/1", "0/1\t0/1", {"genotypes": 1}),
        ("./.", "0/0", {"genotypes": 1}),
    ],
)
def test_what_changes_results_is_counted_by_its_kind(before: str, after: str, expected: dict[str, int]) -> None:
    assert before in ONE
    found = difference(parse(ONE), parse(ONE.replace(before, after)))
    assert found == CallDifference(records=3, **expected)
    assert found.in_results


def test_quality_and_info_are_counted_beside_the_results() -> None:
    other = ONE.replace("50.1", "50.2").replace("DP=9", "DP=8").replace("DP=3", "DP=4").replace(";DB", "")
    found = difference(parse(ONE), parse(other))
    assert found == CallDifference(records=3, QUAL=1, DP=2, DB=1)
    assert (found.in_results, str(found)) == (0, "DB 1, DP 2, QUAL 1")


def test_a_record_that_is_there_twice_is_seen() -> None:
    line = ONE.splitlines(keepends=True)[0]
    assert difference(parse(ONE), parse(line + ONE)) == CallDifference(records=3, added=1)
    assert difference(parse(line + ONE), parse(ONE)) == CallDifference(records=4, missing=1)


def test_differences_of_several_call_sets_add_up() -> None:
    total = CallDifference(records=3, missing=1, DP=1)
    total.update(CallDifference(records=10, missing=1, FILTER=2))
    assert total == CallDifference(records=13, missing=2, FILTER=2, DP=1)
    assert total.in_results == 4


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_files_are_compared_by_their_records(tmp_path: Path) -> None:
    header = [
        "##fileformat=VCFv4.2",
        "##contig=<ID=chr1>",
        '##FILTER=<ID=LOW,Description="low">',
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="depth">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="genotype">',
        "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", "S1", "S2"]),
    ]
    first = ["chr1", "5", ".", "A", "G", "30", "PASS", "DP=7", "GT", "0/1", "0|1"]
    later = ["chr1", "9", ".", "T", "TA", "40", "LOW", "DP=9", "GT", "1/1", "0/0"]
    other = [*later[:6], "PASS", "DP=8", "GT", "1/1", "0/1"]
    for name, records in (("one", [first, later]), ("other", [first, other])):
        text = "\n".join([*header, *("\t".join(record) for record in records)]) + "\n"
        (tmp_path / f"{name}.vcf").write_text(text)
    found = compare(tmp_path / "one.vcf", tmp_path / "other.vcf")
    assert found == CallDifference(records=2, FILTER=1, genotypes=1, DP=1)
