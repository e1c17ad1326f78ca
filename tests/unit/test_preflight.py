"""What is said of the machine before the first job, a fault of it at a time: the measured values are given."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, script

preflight = script(ROOT / "workflow" / "scripts" / "checks" / "preflight.py")
GB = 10**9
JOBS = [preflight.Job("map_and_sort", 4, 10_000), preflight.Job("haplotype_caller", 1, 6_000)]


def lines(found, errors: bool = False) -> list[str]:
    """The lines of what was found, all of one kind."""
    found = list(found)
    assert all(finding.is_error == errors for finding in found), found
    return [finding.line for finding in found]


def memory(**given):
    usual = {"there_mb": 64_000, "limited": False, "given_mb": None, "cores": 4, "index_mb": 5_400}
    return preflight.memory(JOBS, **usual | given)


def test_a_machine_with_enough_has_no_line():
    assert lines(memory()) == []
    assert lines(preflight.open_files(65536, 100)) == lines(preflight.open_files(None, 1e6)) == []
    assert lines(preflight.tasks(None, 64)) == lines(preflight.tasks(10_000, 4)) == []


def test_an_index_that_memory_cannot_hold_is_an_error():
    (error,) = [finding.line for finding in memory(there_mb=4_000, limited=True) if finding.is_error]
    assert error.startswith("memory: a limit gives this process 4,000 MB, and the mapper's index takes 5,400:")


def test_jobs_that_ask_for_more_than_there_is_are_named_in_one_line():
    (warning,) = lines(memory(there_mb=8_000, given_mb=8_000))
    assert "this machine has 8,000 MB, less than single jobs ask for (map_and_sort 10,000):" in warning
    (warning,) = lines(memory(there_mb=5_900, given_mb=5_900))
    assert "(map_and_sort 10,000, haplotype_caller 6,000)" in warning


def test_jobs_that_together_take_more_are_named_where_snakemake_counts_no_memory():
    (warning,) = lines(memory(there_mb=20_000))
    assert "4 jobs of haplotype_caller at once may take 24,000 MB: give Snakemake --resources mem_mb=20000" in warning
    assert lines(memory(there_mb=20_000, given_mb=20_000)) == []


def test_temporary_files_in_memory_count_as_memory():
    jobs = [preflight.Job("map_and_sort", 4, 10_000, 40_000.0)]
    usual = {"limited": False, "cores": 8, "index_mb": 0}
    (warning,) = lines(preflight.memory(jobs, 64_000, given_mb=None, **usual))
    assert "2 jobs of map_and_sort at once may take 100,000 MB" in warning
    (warning,) = lines(preflight.memory(jobs, 45_000, given_mb=45_000, **usual))
    assert "less than single jobs ask for (map_and_sort 50,000)" in warning


def test_a_folder_for_temporary_files_that_is_memory_is_warned_of(tmp_path, read_only):
    mounts = tmp_path / "mountinfo"
    device = tmp_path.stat().st_dev
    numbers = f"{os.major(device)}:{os.minor(device)}"
    for kind, memory in (("tmpfs", True), ("ext4", False)):
        mounts.write_text(f"21 1 0:19 / /sys rw - sysfs sysfs rw\n22 1 {numbers} / / rw shared:1 - {kind} none rw\n")
        assert preflight.in_memory(str(tmp_path / "not/there"), str(mounts)) == memory
    assert preflight.in_memory(str(read_only))
    assert lines(preflight.files_in_memory("/tmp", 20 * 10**6, 24_000)) == []
    assert lines(preflight.files_in_memory("/tmp", 97 * GB, 512_000)) == [
        "/tmp: temporary files go here, and it is memory (tmpfs): a sample takes up to 97.0 GB of it, beside what its "
        "jobs ask for; set TMPDIR to a folder on a disk"
    ]


def test_more_cores_than_this_process_may_use():
    assert lines(preflight.cpus(4, 4)) == []
    (warning,) = lines(preflight.cpus(64, 4))
    assert warning.startswith("cores: Snakemake was given 64, and this process may use 4 (affinity,")


def test_a_hard_limit_of_open_files_below_what_sorting_needs():
    assert lines(preflight.open_files(1024, 100)) == []
    (warning,) = lines(preflight.open_files(1024, 1500))
    assert warning.startswith("open files: the hard limit is 1024 (ulimit -Hn)")
    assert "may need 1,564" in warning
    assert "may need 600" in lines(preflight.open_files(64, 0))[0]


def test_a_limit_of_processes_below_what_jobs_have():
    (warning,) = lines(preflight.tasks(500, 64))
    assert warning.startswith("processes: 500 more may be started (ulimit -u, pids.max), and jobs on 64 cores")


@pytest.fixture
def read_only(tmp_path: Path):
    """A folder on a file system that can't be written to."""
    folder = tmp_path / "read only"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "ro,size=4096", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that takes root's rights")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_folders_that_cannot_be_written_to(tmp_path, read_only, monkeypatch):
    (tmp_path / "file").touch()
    assert preflight.folders([str(tmp_path), str(tmp_path / "not/yet/there")]) == []
    (error,) = preflight.folders([str(read_only / "results")])
    assert error == (
        f"{read_only}/results: a run writes here, and {read_only} is on a read-only file system: "
        "mount it for writing, or run elsewhere"
    )
    (error,) = preflight.folders([str(tmp_path / "file")])
    assert f"{tmp_path}/file is no folder: remove or rename it" in error
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "permission denied" in preflight.folders([str(tmp_path)])[0]


def test_a_file_system_without_inodes(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "nr_inodes=1", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that takes root's rights")
    try:
        assert "without free inodes" in preflight.folders([str(folder)])[0]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_tmpdir_that_is_not_there_or_of_no_use(tmp_path, read_only):
    used = str(tmp_path)
    assert lines(preflight.temporary(used, used)) == lines(preflight.temporary(used, None)) == []
    assert lines(preflight.temporary(used, "/not/there")) == [
        f"TMPDIR /not/there: no such folder: temporary files go to {used}; make it, or name another"
    ]
    (warning,) = lines(preflight.temporary(used, str(read_only)))
    assert warning.endswith(f"temporary files go to {used}")
    (error,) = lines(preflight.temporary(str(read_only), None), errors=True)
    assert error.startswith(f"{read_only}: temporary files go here, and {read_only} is on a read-only file system")


def disk(free, taken=0):
    wanted = [preflight.Wanted("results", 100 * GB, 20 * GB), preflight.Wanted("/scratch", 0, 10 * GB)]
    return preflight.disk(wanted, 40, free.get, lambda folder: taken)


def test_disks_with_less_than_is_predicted_are_warned_of():
    assert lines(disk({"results": 121 * GB, "/scratch": 10 * GB})) == []
    results, scratch = lines(disk({"results": 90 * GB, "/scratch": GB}))
    assert results == (
        "disk: results has 90.0 GB free; 40 samples will leave about 100.0 GB there, and a sample at work takes up to "
        "20.0 GB more: free some, or samples may wait, or fail"
    )
    assert scratch.startswith("disk: /scratch has 1.0 GB free; a sample at work takes up to 10.0 GB more:")


def test_what_an_earlier_start_made_needs_no_room_anew():
    assert lines(disk({"results": 50 * GB, "/scratch": 10 * GB}, taken=80 * GB)) == []


def test_a_full_disk_is_an_error():
    (error,) = lines(disk({"results": 1000, "/scratch": 10 * GB}), errors=True)
    assert error == "disk: results has 0.0 MB free: free some, or run elsewhere"


def test_free_and_taken_are_those_of_the_file_system(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(os.urandom(1 << 20))
    assert preflight.taken(str(tmp_path)) >= 1 << 20
    system = os.statvfs(tmp_path)
    assert preflight.free(str(tmp_path / "not there")) == pytest.approx(system.f_bavail * system.f_frsize, rel=0.05)
    assert preflight.share_disk(str(tmp_path), str(tmp_path / "not there"))
    assert not preflight.share_disk(str(tmp_path), "/proc")


def test_a_clock_that_is_behind_what_is_there(tmp_path):
    reads = tmp_path / "reads.fq"
    reads.touch()
    os.utime(reads, (2_000_000_000, 2_000_000_000))
    assert lines(preflight.clock(2_000_000_001, [str(reads), "not there"], installed=1_900_000_000)) == []
    assert lines(preflight.clock(1_999_999_950, [str(reads)], installed=1_900_000_000)) == [], "a server's clock"
    (warning,) = lines(preflight.clock(1_950_000_000, [str(reads)], installed=1_900_000_000))
    assert warning.startswith("clock: it is 2031-10-") and f"before {reads} was written (2033-05-18" in warning
    (warning,) = lines(preflight.clock(1_000_000_000, [str(reads)], installed=1_900_000_000))
    assert "before this workflow was installed (2030-03-17" in warning
