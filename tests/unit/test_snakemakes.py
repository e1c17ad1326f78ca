"""Snakemake's own temporary folder, where it was killed."""

import os
import stat
from pathlib import Path

from conftest import ROOT, script
from other_users import NOBODY, as_root

snakemakes = script(ROOT / "workflow" / "scripts" / "temporary_folders.py")


def test_the_folder_of_a_killed_one_goes_and_that_of_one_at_work_stays(tmp_path: Path) -> None:
    notes, killed, working = tmp_path / "notes", tmp_path / "killed", tmp_path / "working"
    for folder in (killed, working):
        folder.mkdir()
    snakemakes.note(notes, killed).close()  # as the kernel closes it
    with snakemakes.note(notes, working):
        assert not killed.exists()
        snakemakes.note(notes, tmp_path / "ended").close()
        assert working.exists()
        snakemakes.note(notes, tmp_path / "next").close()
        assert len(list(notes.iterdir())) == 2


def test_what_a_note_names_is_removed_if_it_is_an_empty_folder_alone(tmp_path: Path) -> None:
    notes, files = tmp_path / "notes", tmp_path / "files"
    files.mkdir()
    (files / "reads.fq").touch()
    snakemakes.note(notes, files).close()
    snakemakes.note(notes, files / "reads.fq").close()
    (notes / "torn").write_bytes(b"")
    snakemakes.note(notes, tmp_path).close()
    assert (files / "reads.fq").exists()


def test_a_folder_that_cannot_be_written_to_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert snakemakes.note(tmp_path / "file" / "notes", tmp_path) is None


@as_root
def test_a_note_of_another_user_removes_nothing_of_ours_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    notes, empty = tmp_path / "notes", tmp_path / "empty"
    empty.mkdir()
    notes.mkdir()
    (notes / "theirs").write_text(str(empty))
    os.chown(notes / "theirs", NOBODY, -1)
    os.mkfifo(notes / "pipe")
    (notes / "link").symlink_to(notes / "theirs")
    with snakemakes.note(notes, tmp_path) as noted:
        assert empty.exists()
        assert stat.S_IMODE(Path(noted.name).stat().st_mode) == 0o600
