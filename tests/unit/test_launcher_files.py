"""What the launcher says of a job's files: whole or broken, a full disk, what they take of it, what a network moves."""

import os
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from launcher import files

LOCAL = "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"


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


# ---- network file systems ----------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """Write mounts of which the one that holds this test's files is of a kind; return the file's path."""

    def write(kind):
        number = tmp_path.stat().st_dev
        line = f"40 29 {os.major(number)}:{os.minor(number)} / {tmp_path} rw shared:7 - {kind} server:/export rw\n"
        (tmp_path / "mountinfo").write_text(LOCAL + line)
        return tmp_path / "mountinfo"

    return write


@pytest.fixture
def made(tmp_path):
    """A file of 2 MiB, and a folder with one of 1.5 MiB."""
    (tmp_path / "a.bam").write_bytes(bytes(2 << 20))
    (tmp_path / "database" / "array").mkdir(parents=True)
    (tmp_path / "database" / "array" / "b").write_bytes(bytes(3 << 19))
    return [tmp_path / "a.bam", tmp_path / "database"]


@pytest.mark.parametrize(
    ("kind", "expected"), [("nfs4", 3.5), ("lustre", 3.5), ("fuse.glusterfs", 3.5), ("xfs", 0.0), ("fuse.ntfs", 0.0)]
)
def test_sizes_of_files_and_folders_on_network_file_systems(mounted, made, kind, expected):
    assert files.shared_mib(made, mounted(kind)) == expected


def test_an_output_that_a_failed_job_did_not_leave_has_no_size(mounted, made, tmp_path):
    assert files.shared_mib([*made, tmp_path / "none.bam"], mounted("nfs4")) == 3.5


def test_where_the_kernel_tells_no_mounts_nothing_is_known(made, tmp_path):
    assert files.shared_mib(made, tmp_path / "none") is None


def test_which_part_of_its_inputs_a_shard_reads_is_not_known(made):
    found = {shard: files.shared_files(SimpleNamespace(shard=shard, inputs=[], outputs=[])) for shard in ("", "1/3")}
    assert found[""] == {"shared_inputs_mib": 0.0, "shared_outputs_mib": 0.0}
    assert found["1/3"] == {"shared_inputs_mib": None, "shared_outputs_mib": 0.0}


def test_inputs_count_by_what_a_table_lists(tmp_path, monkeypatch):
    (tmp_path / "gvcfs").write_text("S1\ta.g.vcf.gz\nS2\tb.g.vcf.gz\n")
    monkeypatch.setattr(files, "shared_mib", list)
    settings = SimpleNamespace(shard="", inputs=["c.fa", f"@{tmp_path}/gvcfs"], outputs=["d.vcf.gz"])
    found = files.shared_files(settings)
    assert found == {
        "shared_inputs_mib": ["c.fa", "a.g.vcf.gz", "b.g.vcf.gz"],
        "shared_outputs_mib": ["d.vcf.gz"],
    }
