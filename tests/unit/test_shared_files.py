"""How much of a job's files lies on network file systems."""

import os
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from launcher import files

LOCAL = "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"


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
