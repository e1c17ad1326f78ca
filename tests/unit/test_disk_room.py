"""Whether disks have room for a run: free space is the test's, estimates are given."""

from collections import namedtuple
from pathlib import Path

import pytest

from gpd.lab import disk_room
from gpd.lab.disk_room import DiskEstimate, RoomError

GB = 10**9
SAMPLES = [f"S{number}" for number in range(8)]
EACH = {"kept": 10.0 * GB, "results": 30.0 * GB, "temporary": 5.0 * GB, "both": 32.0 * GB}
ESTIMATE = DiskEstimate(1.3, dict.fromkeys(SAMPLES, EACH))


@pytest.fixture
def free(monkeypatch, tmp_path):
    """A way to say how much is free, on one disk or on that of results and that of temporary files."""

    def have(results: float, temporary: float | None = None) -> tuple[Path, Path]:
        folders = tmp_path, tmp_path if temporary is None else Path("/proc")
        amounts = {str(tmp_path): results, "/proc": temporary}
        monkeypatch.setattr(
            disk_room.shutil, "disk_usage", lambda folder: namedtuple("Usage", "free")(amounts[str(folder)])
        )
        monkeypatch.setattr(disk_room, "used_mib", lambda folder: 0.0)
        return folders

    return have


def test_what_all_leave_and_those_at_work_take_has_to_fit(free):
    """80 GB stay, and four at work take 88 more: an estimate may be 1.3 times too large."""
    disk_room.refuse_full(ESTIMATE, SAMPLES, 4, *free(168 * GB / 1.3 + 1))
    with pytest.raises(
        RoomError, match=r"^no room on the disk: 8 samples leave about 80.0 GB, and 4 at work take 88.0"
    ):
        disk_room.refuse_full(ESTIMATE, SAMPLES, 4, *free(168 * GB / 1.3 - 1))


def test_each_disk_has_to_have_room(free):
    disk_room.refuse_full(ESTIMATE, SAMPLES, 2, *free(120 * GB, 10 * GB))
    for results, temporary in ((90 * GB, 10 * GB), (120 * GB, 7 * GB)):
        with pytest.raises(RoomError, match=r" GB free in .* GB free in /proc: free some, or run fewer samples"):
            disk_room.refuse_full(ESTIMATE, SAMPLES, 2, *free(results, temporary))


def test_what_a_run_that_was_cut_off_has_made_is_part_of_what_it_needs(free, monkeypatch):
    folders = free(100 * GB)
    monkeypatch.setattr(disk_room, "used_mib", lambda folder: 68 * GB / disk_room.MIB)
    disk_room.refuse_full(ESTIMATE, SAMPLES, 4, *folders)
