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


SAMPLE_FAILS, UNIT_FAILS = "error: S1: ", "error: S1, unit 1: "


@pytest.mark.parametrize(
    ("least", "units", "error"),
    [
        ("0.3", (60, None), ""),
        ("0.3", (60, 30), ""),
        ("0.3", (60, 0), UNIT_FAILS),
        ("0.31", (60, 0, None), SAMPLE_FAILS),
        ("0", (0,), ""),
        ("0.2", (0,), SAMPLE_FAILS),
        ("1", (None,), ""),
    ],
)
def test_a_sample_and_each_unit_need_a_share_of_their_reads_to_map(tmp_path, capsys, least, units, error):
    paths = [tmp_path / f"{number}.json" for number in range(len(units))]
    for path, mapped in zip(paths, units, strict=True):
        path.write_text(json.dumps({"reads": 100} | ({} if mapped is None else {"mapped": mapped})))
    assert mapping_rates.main(["sample", "--least", least, "S1", *map(str, paths)]) == bool(error)
    output = capsys.readouterr().err
    assert output.startswith(error)
    assert output.count("\n") == bool(error)


def test_the_error_has_the_share_and_what_was_wanted(tmp_path, capsys):
    unit = tmp_path / "L1.json"
    unit.write_text('{"reads": 200, "mapped": 60}')
    assert mapping_rates.main(["sample", "--least", "0.31", "S1", str(unit)]) == 1
    assert "S1: 30.0% of its 200 reads map, and min_mapped in the config wants 31.0%; " in capsys.readouterr().err
