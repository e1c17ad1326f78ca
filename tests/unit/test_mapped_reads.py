"""Samples of which hardly any reads map."""

import json
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from reads import count_reads

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
    assert count_reads.main(["mapped", "--least", least, "S1", *map(str, paths)]) == bool(error)
    output = capsys.readouterr().err
    assert output.startswith(error)
    assert output.count("\n") == bool(error)


def test_the_error_has_the_share_and_what_was_wanted(tmp_path, capsys):
    unit = tmp_path / "L1.json"
    unit.write_text('{"reads": 200, "mapped": 60}')
    assert count_reads.main(["mapped", "--least", "0.31", "S1", str(unit)]) == 1
    assert "S1: 30.0% of its 200 reads map, and min_mapped in the config wants 31.0%; " in capsys.readouterr().err
