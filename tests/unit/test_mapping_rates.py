"""How samples map: the table of the MultiQC page, and who stands out."""

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from reads import mapping_rates
from reads.mapping_rates import Rates

STATS = """\
# The command line was:  stats x.bam
SN\traw total sequences:\t{reads}\t# excluding supplementary and secondary reads
SN\treads mapped:\t{mapped}
SN\treads mapped and paired:\t1\t# paired-end technology bit set + both mates mapped
SN\tbases mapped:\t10000\t# ignores clipping
SN\tbases mapped (cigar):\t{bases}\t# more accurate
SN\tmismatches:\t{mismatches}\t# from NM fields
SN\terror rate:\t0.5\t# mismatches / bases mapped (cigar)
"""


@pytest.fixture
def report(tmp_path, capsys):
    """What a run says of files: its exit code, its table's rows, its warnings."""

    def run(*files: tuple[str, str]) -> tuple[list[str], list[str]]:
        (tmp_path / "files.tsv").write_text("".join(f"{sample}\t{path}\n" for sample, path in files))
        assert mapping_rates.main(["report", "--log", str(tmp_path / "log"), str(tmp_path / "files.tsv")]) == 0
        table, output = capsys.readouterr()
        warnings = (tmp_path / "log").read_text().splitlines()
        assert output == "".join(f"warning: {line}\n" for line in warnings)
        return [line for line in table.splitlines() if line[0] != "#"], warnings

    return run


def stats(folder: Path, sample: str, **counts: int) -> tuple[str, str]:
    path = folder / f"{sample}.txt"
    path.write_text(STATS.format(**{"reads": 200, "mapped": 190, "bases": 10_000, "mismatches": 40} | counts))
    return sample, str(path)


def test_the_table_has_shares_of_reads_and_of_bases(tmp_path, report):
    empty = stats(tmp_path, "S2.b", reads=0, mapped=0, bases=0, mismatches=0)
    assert report(stats(tmp_path, "S1"), empty) == (
        ["Sample\treads\tmapped\tmismatches", "S1\t200\t0.9500\t0.0040", "S2.b\t0\t\t"],
        [],
    )


def test_where_alignments_lack_reads_the_counts_go_before(tmp_path, report):
    (tmp_path / "S1.json").write_text(json.dumps({"reads": 400, "mapped": 190}))
    (tmp_path / "S2.json").write_text(json.dumps({"reads": 400}))  # of an earlier version
    files = [
        *(stats(tmp_path, name) for name in ("S1", "S2")),
        ("S1", f"{tmp_path}/S1.json"),
        ("S2", f"{tmp_path}/S2.json"),
    ]
    table, _ = report(*files)
    assert table[1:] == ["S1\t400\t0.4750\t0.0040", "S2\t400\t\t0.0040"]


def test_more_than_a_twentieth_of_bases_that_differ_are_warned_of(tmp_path, report):
    _, (warning,) = report(stats(tmp_path, "S1", mismatches=500), stats(tmp_path, "S2", mismatches=501))
    assert warning.startswith("sample S2: 5.0% of its aligned bases differ from the reference: ")


@pytest.mark.parametrize(
    ("mapped", "named"),
    [
        ((1.0, 0.99, 0.98, 0.78), ["S4"]),
        ((1.0, 0.99, 0.98, 0.80), []),
        ((0.3, 0.3, 0.3), []),
        ((1.0, 0.3), []),
        ((None, 1.0, 0.3), []),
        ((None, 1.0, 0.9, 0.3), ["S4"]),
    ],
)
def test_who_maps_far_worse_than_the_others_is_warned_of(mapped, named):
    rates = {f"S{number}": Rates(100, share) for number, share in enumerate(mapped, 1)}
    output = list(mapping_rates.warnings(rates))
    assert [line.split(":")[0] for line in output] == [f"sample {name}" for name in named]


def test_a_sample_needs_a_share_of_its_reads_to_map(tmp_path, capsys):
    for number, mapped in enumerate((60, 0, None)):
        counts = {"reads": 100} | ({} if mapped is None else {"mapped": mapped})
        (tmp_path / f"{number}.json").write_text(json.dumps(counts))
    units = [str(tmp_path / f"{number}.json") for number in range(3)]
    for least, lanes, passes in (
        ("0.3", units, True),
        ("0.31", units, False),
        ("0", units[1:2], True),
        ("0.2", units[1:2], False),
        ("1", units[2:], True),
    ):
        assert mapping_rates.main(["sample", "--least", least, "S1", *lanes]) == (not passes)
        output = capsys.readouterr().err
        assert output.startswith("" if passes else "error: S1: ")
        assert output.count("\n") == (not passes)
    assert mapping_rates.main(["sample", "--least", "0.31", "S1", *units]) == 1
    assert "S1: 30.0% of its 200 reads map, and min_mapped in the config wants 31.0%; " in capsys.readouterr().err
