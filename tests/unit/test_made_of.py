"""What files and scripts were: told apart by what counts, and remembered as a folder's runs saw them first."""

import os
from pathlib import Path

import pytest
from conftest import ROOT, script

made_of = script(ROOT / "workflow/scripts/checks/made_of.py")
LARGE = 3 * made_of.ENDS


@pytest.mark.parametrize(("place", "begin"), [(5, b"@"), (-5, b"@"), (LARGE // 2, b">")])
def test_a_file_of_the_same_size_is_told_by_its_ends_and_fasta_by_all_of_it(tmp_path, place, begin):
    text = bytearray(begin + b"A" * LARGE)
    (path := tmp_path / "file").write_bytes(text)
    before = made_of.digest(path)
    text[place] = ord("C")
    path.write_bytes(text)
    assert made_of.digest(path) != before


def others(notes: Path, *names: str, writes: bool = True) -> str:
    """As a run finds and notes it, or a plan, which notes nothing."""
    seen = made_of.SeenFiles(notes)
    found = seen.others(names)
    if writes:
        seen.write()
    return found


def test_the_middle_of_a_large_file_is_not_read(tmp_path):
    text = bytearray(b"@" * LARGE)
    (path := tmp_path / "file").write_bytes(text)
    before = made_of.digest(path)
    text[LARGE // 2] = ord("C")
    path.write_bytes(text)
    assert made_of.digest(path) == before


def test_digests_are_those_that_earlier_versions_noted(tmp_path):
    """Others would make all results of finished samples again."""
    (path := tmp_path / "file").write_bytes(b"@1\nA\n+\nI\n" * 20_000)
    assert made_of.digest(path) == "3145977b2bf59858"
    (path := tmp_path / "script.py").write_text("import os\n")
    assert made_of.script_digest(path) == "d3a00101963e9717"


@pytest.mark.parametrize("texts", [("1", "2"), ("2", "1")], ids=" then ".join)
def test_another_file_is_noticed_whatever_its_digest(tmp_path, texts):
    path, notes = tmp_path / "file", tmp_path / "run" / "gpd" / "notes"
    told = []
    for text in texts:
        path.write_text(text)
        told.append(others(notes, str(path)))
    assert told == ["", f"{path} {made_of.digest(path)}"]


def test_a_file_is_read_again_only_where_its_state_is_another(tmp_path, monkeypatch):
    notes = tmp_path / "folder" / "notes"
    (path := tmp_path / "reads.fq").write_text("@1\nA\n+\nI\n")
    assert others(notes, str(path), "none") == ""
    with monkeypatch.context() as patch:
        patch.setattr(made_of, "digest", None)
        assert others(notes, str(path)) == ""
    os.utime(path, (1, 1))
    assert others(notes, str(path)) == ""
    path.write_text("@1\nC\n+\nI\n")
    told = others(notes, str(path))
    assert told == f"{path} {made_of.digest(path)}"
    assert others(notes, str(path)) == told
    assert len(notes.read_text().splitlines()) == 3


def test_a_plan_notes_no_file(tmp_path):
    (path := tmp_path / "reads.fq").write_text("@1\nA\n+\nI\n")
    assert others(tmp_path / "notes", str(path), writes=False) == ""
    assert not (tmp_path / "notes").exists()


def test_notes_that_are_none_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b'["a", [1], "b"]\n5\n[[], 1, 2]\n["cut\n\xff\n{}\n[]\n')
    assert made_of.SeenFiles(tmp_path / "notes").first == {"a": "b"}


def test_words_of_a_script_count_for_nothing(tmp_path: Path) -> None:
    (one := tmp_path / "one").write_text(
        '"""A."""\nimport os\n\ndef f():\n    """B.\n\n    C."""\n    # D\n    return 1\n'
    )
    (other := tmp_path / "other").write_text("# A\nimport os\ndef f():\n    return 1\n")
    assert made_of.script_digest(one) == made_of.script_digest(other)
    other.write_text("import os\ndef f():\n    return 2\n")
    assert made_of.script_digest(one) != made_of.script_digest(other)
