"""Benches' figures on their way into documents: the file of a bench, its page, the markers in a document."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches import measurements
from benches.measurements import Measurement

from documentation import evidence


@pytest.fixture(autouse=True)
def no_tool_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements.provenance, "tool_versions", lambda pipeline: {"bwa": "0.7.17", "gatk3": None})


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """What a bench of two figures writes."""
    monkeypatch.setattr(measurements, "SHOWN", [])
    monkeypatch.setattr(sys, "argv", ["scripts/bench/gain.py", "--pairs", "3", "--json", "x.json"])
    found = [Measurement("large: gain", (1.5, 1.25, 2.0), least=1.2), Measurement("time | s", (1234.5,), decimals=1)]
    path = tmp_path / "data" / "gain.json"
    assert measurements.finish(Namespace(json=path), measurements.show(found)) == 0
    return json.loads(path.read_text()) | {"about": "What is gained."}


def test_a_bench_writes_what_its_figures_depend_on(record: dict) -> None:
    assert (record["bench"], record["command"]) == ("gain", "python scripts/bench/gain.py --pairs 3 --json x.json")
    assert record["machine"]["threads"] >= 1 and record["commit"] is not None
    assert [figure["values"] for figure in record["figures"]] == [[1.5, 1.25, 2.0], [1234.5]]


def test_a_bench_out_of_bounds_fails_with_a_record_and_without(tmp_path: Path) -> None:
    assert measurements.finish(Namespace(json=None), holds=False) == 1
    assert measurements.finish(Namespace(json=tmp_path / "a.json"), holds=False) == 1


def test_a_page_has_each_figure_with_median_n_and_spread(record: dict) -> None:
    page = evidence.bench_page(record)
    assert "| large: gain | 1.500 | 3 | 1.250 to 2.000 | at least 1.2 | `gain.large-gain` |" in page
    assert "| time \\| s | 1,234.5 | 1 |  |  | `gain.time--s` |" in page
    assert f"`{record['commit']}`" in page and record["machine"]["cpu"] in page
    assert "| tools | bwa 0.7.17 |" in page


def test_figures_between_markers_come_from_the_evidence(record: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "records", lambda: iter([record]))
    text = "gains <!-- figure: gain.large-gain -->9<!-- --> times"
    assert evidence.with_figures(text) == "gains <!-- figure: gain.large-gain -->1.500<!-- --> times"
    with pytest.raises(ValueError, match=r"no evidence has the figure gain\.small"):
        evidence.with_figures("<!-- figure: gain.small -->9<!-- -->")


def test_disk_is_told_for_each_byte_of_fastq() -> None:
    known = evidence.by_name()
    assert known["disk.simulated-0.4Mb"] == "2.25"  # 13.74 MB of 6.10
