"""Results that were whole once: what a later run does about them before it starts."""

import base64
import os

import pytest
from conftest import run_script_here

from gpd.execution import incomplete_results

TABLE = "a\tb\n1\t2\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(incomplete_results, "run_script", lambda *words, python: run_script_here(*words))
    return tmp_path / "my run"


def made(folder, name, text, kind="metadata", word=240):
    """Write a result, and Snakemake's note of it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    key = base64.urlsafe_b64encode(name.encode()).decode()
    words = [key[start : start + word] for start in range(0, len(key), word)]
    note = (folder / ".snakemake" / kind).joinpath(*(f"@{part}" for part in words[:-1]), words[-1])
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("{}")
    return path


@pytest.mark.parametrize("word", [240, 8], ids=["one word", "folders"])
def test_a_result_that_was_cut_off_is_renamed_and_named(folder, word):
    made(folder, "results/a/whole.diff", TABLE, word=word)
    path = made(folder, "results/a/cut.diff", TABLE[:-2], word=word)
    (line,) = incomplete_results.set_aside(folder)
    assert line == (
        "results/a/cut.diff is cut off: its last line is incomplete: renamed to cut.diff.broken, and made again where "
        "it is needed"
    )
    assert (path.exists(), path.with_name("cut.diff.broken").read_text()) == (False, TABLE[:-2])
    assert incomplete_results.set_aside(folder) == []


@pytest.mark.parametrize(
    ("ago_s", "count"),
    [(60, 1), (-60, 1), (incomplete_results.SETTLED_S + 60, 0)],
    ids=["soon after", "clock was ahead", "late"],
)
def test_what_was_long_on_the_disk_when_it_was_looked_at_is_left_alone(folder, monkeypatch, ago_s, count):
    path = made(folder, "results/a/cut.diff", "cut")
    changed = path.stat().st_ctime
    looked = folder / ".snakemake" / incomplete_results.LOOKED
    looked.touch()
    os.utime(looked, (changed + abs(ago_s), changed + abs(ago_s)))
    monkeypatch.setattr(incomplete_results.time, "time", lambda: changed + ago_s)
    assert len(incomplete_results.set_aside(folder)) == count


def test_a_broken_folder_takes_the_place_of_an_earlier_one(folder):
    for _ in range(2):
        made(folder, "results/visualize/a.png", "no picture")
        made(folder, "results/other", "")
        key = base64.urlsafe_b64encode(b"results/visualize").decode()
        (folder / ".snakemake/metadata" / key).write_text("{}")
        (folder / ".snakemake/metadata" / base64.urlsafe_b64encode(b"results/visualize/a.png").decode()).unlink()
        assert len(incomplete_results.set_aside(folder)) == 2
    assert (folder / "results/visualize.broken/a.png").exists()


def test_a_kept_database_goes_with_its_link(folder):
    """Later samples would be added to it."""
    path = made(folder, "results/genomics_db_import/cohort", "")
    path.unlink()
    store = path.with_name("cohort.kept")
    (store / "1").mkdir(parents=True)
    path.symlink_to("cohort.kept/1")
    (line,) = incomplete_results.set_aside(folder)
    assert "holds no files: renamed to cohort.kept.broken" in line
    assert not path.is_symlink()
    assert not store.exists()


def test_a_link_to_a_file_of_a_user_goes_and_the_file_stays(folder):
    users = folder / "known.vcf.gz"
    path = made(folder, "results/reference/vcf/known_sites_1.vcf.gz", "")
    users.write_bytes(b"\x1f\x8b\x08\x04 cut off")
    path.unlink()
    path.symlink_to("../../../known.vcf.gz")
    (line,) = incomplete_results.set_aside(folder)
    assert "a link to a file of yours" in line
    assert not path.is_symlink()
    assert users.exists()


def test_what_is_no_result_of_a_finished_job_is_left_alone(folder):
    for name in ("results/begun.diff", "results/begun2.diff"):
        made(folder, name, "cut")
        made(folder, name, "cut", kind="incomplete")
    made(folder, "reads/a.diff", "cut")
    made(folder, "results/../../outside.diff", "cut")
    (folder / "results/mine.diff").write_text("cut")
    (folder / ".snakemake/metadata/no base64").write_text("{}")
    assert incomplete_results.set_aside(folder) == []
    assert incomplete_results.set_aside(folder / "new") == []
