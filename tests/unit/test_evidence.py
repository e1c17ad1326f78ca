"""Measured figures on their way into documents: the file of a bench, its page; the page of disk."""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import recorded_studies
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches import measurements
from benches.measurements import Measurement

from documentation import demo, drawings, evidence_pages
from gpd.records.run_spec import CurveKey
from gpd.tables.collect import collect


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def is_commit(name: str) -> bool:
    return git("cat-file", "-e", f"{name}^{{commit}}").returncode == 0


IN_HISTORY = pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").stdout.strip() != "false", reason="not a clone with its history"
)


@pytest.fixture(autouse=True)
def no_tool_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements.this_host, "load", lambda facts: None)  # for which it would look a second long
    monkeypatch.setattr(measurements.provenance, "tool_versions", lambda pipeline: {"bwa": "0.7.17", "gatk3": None})


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """What a bench of two figures writes."""
    monkeypatch.setattr(measurements, "SHOWN", [])
    monkeypatch.setattr(sys, "argv", ["scripts/bench/gain.py", "--pairs", "3", "--json", "x.json"])
    found = [Measurement("large: gain", (1.5, 1.25, 2.0), least=1.2), Measurement("time | s", (1234.5,), decimals=1)]
    path = tmp_path / "data" / "gain.json"
    assert measurements.finish(Namespace(json=path), measurements.show(found)) == 0
    return json.loads(path.read_text()) | {"about": "What is gained.", "method": "Runs are paired.", "changed": False}


def test_a_bench_writes_what_its_figures_depend_on(record: dict) -> None:
    assert (record["bench"], record["command"]) == ("gain", "python scripts/bench/gain.py --pairs 3 --json x.json")
    assert record["machine"]["threads"] >= 1 and record["commit"] is not None
    assert [figure["values"] for figure in record["figures"]] == [[1.5, 1.25, 2.0], [1234.5]]


@pytest.mark.deep
def test_a_bench_out_of_bounds_fails_with_a_record_and_without(tmp_path: Path) -> None:
    assert measurements.finish(Namespace(json=None), holds=False) == 1
    assert measurements.finish(Namespace(json=tmp_path / "a.json"), holds=False) == 1


def test_a_page_has_each_figure_with_median_n_and_spread(record: dict) -> None:
    page = evidence_pages.bench_page(record)
    assert "| large: gain | 1.500 | 3 | 1.250 to 2.000 | at least 1.2 | holds |" in page
    assert "| time \\| s | 1,234.5 | 1 |  |  |  |" in page
    assert f"`{record['commit']}`" in page and record["machine"]["cpu"] in page
    assert "| tools | bwa 0.7.17 |" in page
    assert "\n\nWhat is gained.\n\nRuns are paired.\n\n```sh\n" in page


@pytest.mark.parametrize(
    ("values", "of_results", "doubt", "verdict"),
    [
        ((1.0, 1.2, 1.9), False, "", "holds"),
        ((0.9, 1.2, 1.9), False, "", "holds in the median (2 of 3)"),
        ((0.8, 0.9, 1.9), False, "", "**does not hold** (1 of 3)"),
        ((0.9,), False, "", "**does not hold** (0 of 1)"),
        ((1.2,), False, "", "not shown: one run"),
        ((1.2,), True, "", "holds"),
        ((1.0, 1.2, 1.9), False, "the commit is not in this repository", "not shown: see above"),
    ],
)
def test_a_bound_is_said_to_hold_or_not(values: tuple, of_results: bool, doubt: str, verdict: str) -> None:
    figure = {"values": values, "of_results": of_results, "most": None}
    assert evidence_pages.verdict({**figure, "least": 1.0}, doubt) == verdict
    assert evidence_pages.verdict({**figure, "least": None}, doubt) == ""


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"changed": True}, "the tree had changes that are in no commit"),
        ({"changed": False, "commit_lost": True}, "the commit is not in this repository"),
    ],
)
def test_a_page_says_why_its_figures_show_nothing(record: dict, found: dict, why: str) -> None:
    page = evidence_pages.bench_page(record | found)
    assert f"No bound is shown by these figures: {why}." in page
    assert "| at least 1.2 | not shown: see above |" in page


def test_what_is_measured_is_a_commit_and_nothing_beside_it() -> None:
    assert [name for name, record in evidence_pages.records().items() if record["changed"]] == []


@IN_HISTORY
def test_each_commit_is_in_the_repository_or_said_not_to_be() -> None:
    found = evidence_pages.records()
    lost = {name for name, record in found.items() if not is_commit(record["commit"])}
    assert lost == {name for name, record in found.items() if record.get("commit_lost")}


def test_recorded_output_stands_between_its_marks_and_on_its_page(record: dict) -> None:
    record |= {"outputs": {"table": ["N  genomes", "1  3,906"]}}
    text = "a\n<!-- output of gain: table -->\nold\n<!-- end of output -->\nb"
    shown = evidence_pages.with_outputs(text, {"gain": record})
    assert shown == "a\n<!-- output of gain: table -->\n```\nN  genomes\n1  3,906\n```\n<!-- end of output -->\nb"
    assert evidence_pages.with_outputs(shown, {"gain": record}) == shown
    assert "```\nN  genomes\n1  3,906\n```" in evidence_pages.bench_page(record)


@pytest.mark.deep
def test_a_study_s_pictures_and_record_are_made_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = collect(recorded_studies.study())
    drawn = demo.pictures(tables)
    assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in drawn.values()) and len(drawn) == 2
    monkeypatch.setattr(demo, "outputs", lambda folder: {"of": [f"{folder}"]})
    found = demo.record(tables, Path("demo-run"))
    curve = CurveKey("germline", "shared", "compact")
    runs = [run for run in tables.runs if run.curve_key == curve and run.n == 1 and run.counted]
    assert found["figures"][0]["values"] == [run.genomes_per_day for run in runs]
    assert found["outputs"]["throughput"][-1] == "report: demo-run/throughput/study/report.html"
    assert found["outputs"]["of"] == ["demo-run"] and evidence_pages.bench_page(found)


def test_a_drawing_is_current_while_what_it_is_made_of_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "FOLDER", tmp_path)
    (tmp_path / "a.svg").write_text(f"<svg>{drawings.comment('digraph {}')}</svg>")
    assert drawings.is_current("a", "digraph {}")
    assert not drawings.is_current("a", "digraph { a }") and not drawings.is_current("b", "digraph {}")


def test_the_page_of_disk_is_current() -> None:
    record = script(ROOT / "tests/golden/disk/record.py")
    assert record.disk_page() == record.PAGE.read_text()
    assert "| simulated 0.4Mb |" in record.disk_page() and " 2.25 | 1.46 |" in record.disk_page()
