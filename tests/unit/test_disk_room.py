"""How many samples at once a run of the lab may have, by predictions and free bytes that are given."""

import json
from types import SimpleNamespace

import pytest

from gpd.lab import disk
from gpd.lab.disk import Need, RoomError


@pytest.mark.parametrize(
    ("free", "fit"), [([1000], 3), ([599], 2), ([500], 2), ([499], 1), ([400], 1), ([399], 0), ([100], 0)]
)
def test_all_leave_their_results_and_the_largest_are_at_work(free, fit):
    assert disk.most_at_once([Need(100, (100,))] * 3, free) == fit


def test_the_larger_ones_count(capsys):
    needs = [Need(0, (10,)), Need(0, (50,)), Need(0, (40,))]
    assert [disk.most_at_once(needs, [free]) for free in (49, 50, 89, 90, 100)] == [0, 1, 1, 2, 3]


def test_the_tighter_of_two_disks_counts():
    needs = [Need(100, (100, 30))] * 4
    assert disk.most_at_once(needs, [1000, 100]) == 3
    assert disk.most_at_once(needs, [600, 1000]) == 2


@pytest.mark.parametrize(("disks", "need"), [(1, Need(80, (170,))), (2, Need(80, (120, 150)))])
def test_what_is_noted_of_a_sample(disks, need):
    told = {"kept": 80, "rules": {"map_and_sort": [100, 150], "mark_duplicates": [200, 0]}}
    assert disk.need(told, disks) == need


def test_more_than_one_take_a_margin(tmp_path, monkeypatch):
    """Of 40 GB each, half more beside another: 120 GB; one alone has room in what is predicted."""
    path = tmp_path / disk.PREDICTED
    path.parent.mkdir(parents=True)
    predicted = {"kept": 0, "rules": {"map_and_sort": [40e9, 0]}}
    path.write_text(json.dumps({"margin": 1.5, "samples": {"S1": predicted, "S2": predicted}}))
    for free, fit in {40e9: 1, 119e9: 1, 120e9: 2}.items():
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        assert disk.at_once(tmp_path, ["S1", "S2"], tmp_path, tmp_path) == fit


def test_no_room_for_one_is_said_in_one_line(tmp_path, monkeypatch):
    path = tmp_path / disk.PREDICTED
    path.parent.mkdir(parents=True)
    predicted = {"kept": 80e9, "rules": {"map_and_sort": [100e9, 0]}}
    path.write_text(json.dumps({"margin": 1, "samples": {"S1": predicted, "S2": predicted}}))
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=200e9))
    assert disk.at_once(tmp_path, ["S1", "S2"], tmp_path, tmp_path) == 2
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=170e9))
    with pytest.raises(RoomError) as raised:
        disk.at_once(tmp_path, ["S1", "S2"], tmp_path, tmp_path)
    assert str(raised.value) == (
        f"no room on the disk: 2 samples leave 160 GB, one at work takes 20.0 GB more; 170 GB free in {tmp_path}"
    )
    monkeypatch.setattr(disk, "used_mib", lambda folder: 30e9 / disk.MIB)  # of a run that was cut off
    assert disk.at_once(tmp_path, ["S1", "S2"], tmp_path, tmp_path) == 2


def test_where_nothing_is_predicted_all_run_at_once(tmp_path):
    assert disk.at_once(tmp_path, ["S1", "S2"], tmp_path, tmp_path) == 2
