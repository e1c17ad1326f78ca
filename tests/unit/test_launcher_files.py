"""What the launcher says of a job's files: whole or broken, a full disk, and what they take of it."""

import os

import pytest
from launcher import files


@pytest.fixture
def log(tmp_path):
    """A descriptor of a log, and what is in it."""
    fd = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    yield fd, (tmp_path / "log").read_text
    os.close(fd)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A run's folder with a result that is whole and one that is empty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/whole.txt").write_text("whole\n")
    (tmp_path / "results/cut.vcf.gz").touch()
    return tmp_path / "results"


def test_whole_files_are_no_fault_and_the_log_says_nothing(results, log):
    fd, logged = log
    assert files.input_fault(["results/whole.txt"], fd) is None
    assert files.output_fault(["results/whole.txt"], fd) is None
    assert (files.input_fault([], fd), files.output_fault([], fd)) == (None, None)
    assert logged() == ""


def test_a_broken_file_is_named_in_the_log_too(results, log):
    fd, logged = log
    of_input = files.input_fault(["results/cut.vcf.gz"], fd)
    cause, of_output = files.output_fault(["results/cut.vcf.gz"], fd)
    assert cause == "broken_output"
    assert of_input.startswith("results/cut.vcf.gz ")
    assert of_output.startswith("results/cut.vcf.gz ")
    assert logged() == f"error: {of_input}\nerror: {of_output}\n"


def test_a_full_disk_is_the_cause_of_what_it_cut_off(results, log, monkeypatch):
    monkeypatch.setattr(files.outputs(), "full_place", lambda *_: "/full")
    cause, fault = files.output_fault(["results/cut.vcf.gz"], log[0])
    assert cause == "disk_full"
    assert "No space left on device: make room where /full lies" in fault


def test_the_places_of_outputs_and_temporary_files_are_looked_at_for_room(results, monkeypatch):
    asked = []
    monkeypatch.setattr(files.outputs(), "full_place", lambda places, room: asked.extend(places))
    monkeypatch.setenv("TMPDIR", "/scratch")
    assert files.full_disk(["results/made/a.bam", "/elsewhere/b.bam"]) is None
    assert asked == [str(results.parent), "/scratch", str(results / "made"), "/elsewhere"]


def test_files_count_by_what_they_take_of_the_disk(tmp_path):
    (tmp_path / "folder/below").mkdir(parents=True)
    (tmp_path / "folder/one").write_bytes(os.urandom(1 << 20))
    (tmp_path / "folder/below/two").write_bytes(os.urandom(2 << 20))
    with (tmp_path / "folder/sparse").open("wb") as sparse:
        sparse.truncate(1 << 30)
    assert sum(files.file_sizes(tmp_path / "folder")) == pytest.approx(3 << 20, rel=0.01)
    assert files.disk_bytes(tmp_path / "gone") == 0
