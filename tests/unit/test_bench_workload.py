"""The bench of the standard workload: shares of steps beside a genome's, and how repeats and sessions spread."""

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT, script
from packing import write_study

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.tables import collect

workload = script(ROOT / "scripts/bench/workload.py")


def test_shares_are_of_the_steps_of_a_genome(tmp_path: Path) -> None:
    path = tmp_path / "rehearsal.json"
    figures = {"map_and_sort": 3.0, "haplotype_caller": 1.0, "qc": 5.0}
    found = [{"what": f"{workload.HOURS}{step}", "values": [hours]} for step, hours in figures.items()]
    path.write_text(json.dumps({"figures": [*found, {"what": "jobs", "values": [7]}]}))
    assert workload.shares(workload.genome(path)) == {"map_and_sort": 75.0, "haplotype_caller": 25.0}


def test_recorded_rehearsals_tell_every_step_of_a_genome() -> None:
    for path in workload.REHEARSALS.values():
        assert {"map_and_sort", "base_recalibration", "haplotype_caller"} < workload.genome(path).keys()


@pytest.fixture
def sessions(tmp_path: Path) -> list[collect.Tables]:
    """Two of a made-up machine; the second is slower by a tenth."""
    speeds = ({repeat: 1.0 + repeat / 100 for repeat in range(5)}, dict.fromkeys(range(1, 6), 1.1))
    written = [write_study(tmp_path / str(number), speed) for number, speed in enumerate(speeds)]
    return [collect.of_one_machine(each) for each in written]


def test_a_step_is_held_against_a_genome_and_mapping_against_the_tenth(sessions: list[collect.Tables]) -> None:
    runs = workload.step_seconds(sessions[0], 2)
    reads = next(run.gigabases for run in sessions[0].runs if run.n == 2)
    like = {workload.TENTH: dict(runs[0])}
    like[workload.TENTH]["map_and_sort"] = runs[0]["map_and_sort"] / reads * HUMAN_30X_GIGABASES
    found = {each.what: each for each in workload.compared(sessions[:1], like)}
    assert found["mapping: times from the tenth of a genome's"].values[0] == pytest.approx(1)
    own = found["map_and_sort: share of CPU time, %"].values
    assert len(own) == len(runs) and own[0] == pytest.approx(workload.shares(runs[0])["map_and_sort"])
    points = found[f"map_and_sort: points from a genome by {workload.TENTH}"]
    assert points.values[0] == pytest.approx(abs(own[0] - workload.shares(like[workload.TENTH])["map_and_sort"]))


def test_a_session_that_is_slower_shows_between_sessions(sessions: list[collect.Tables]) -> None:
    found = {each.what: each.values for each in workload.spread(sessions)}
    within = found["N = 2: samples a day, standard deviation within a session, %"]
    assert 1 < within[0] < 3 and len(within) == 2
    (between,) = found["N = 2: the same of the means of sessions, %"]
    assert 4 < between < 7, "a tenth apart"


def test_without_a_session_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workload.registry, "entries", lambda: iter(()))
    monkeypatch.setattr(sys, "argv", ["workload.py"])
    assert workload.main() == 0
    assert capsys.readouterr().out.startswith("not measured: ")
