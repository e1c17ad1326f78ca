"""Whether an index may lie in shared memory: by what is free there, and what of it is ours already."""

import os
from types import SimpleNamespace

from resources import shared_memory

GB = 10**9


def test_an_index_needs_room_unless_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_bavail=64, f_frsize=10**6))
    assert shared_memory.has_room(60e6, tmp_path)
    assert not shared_memory.has_room(5 * GB, tmp_path)
    with (tmp_path / "bwaidx-gpd-0").open("wb") as segment:
        segment.truncate(5 * GB)
    assert shared_memory.has_room(5 * GB, tmp_path)


def test_another_users_list_cannot_be_added_to(tmp_path, monkeypatch):
    (tmp_path / "bwactl").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "bwactl")
    assert not shared_memory.has_room(1, tmp_path)
