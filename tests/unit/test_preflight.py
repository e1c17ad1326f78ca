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
    usual = {"there_mb": 64_000, "given_mb": None, "cores": 4, "index_mb": 5_400}
    return preflight.memory(JOBS, **usual | given)


def cpus(cores):
    return lines(preflight.cpus(cores, usable=4))


def test_a_machine_with_enough_has_no_line():
    assert lines(memory()) == []
    assert cpus(4) == []


def test_an_index_that_memory_cannot_hold_is_an_error():
    (error,) = [finding.line for finding in memory(there_mb=4_000) if finding.is_error]
    assert error.startswith("memory: this process may use 4,000 MB, and the mapper's index takes 5,400: run")
    assert lines(memory(given_mb=20_000)) == lines(memory(given_mb=20_000, index_mb=30_000)) == []


def test_jobs_that_ask_for_all_that_there_is_are_named_in_one_line():
    """What Snakemake was given is the most that a job has, so that no more than that shows."""
    (warning,) = lines(memory(given_mb=10_000))
    assert "jobs may use 10,000 MB, and single ones ask for all of it or more (map_and_sort):" in warning
    (warning,) = lines(memory(there_mb=6_000))
    assert "(haplotype_caller, map_and_sort)" in warning


def test_jobs_that_together_take_more_are_named_where_snakemake_counts_no_memory():
    (warning,) = lines(memory(there_mb=20_000))
    assert "4 jobs of haplotype_caller at once may take 24,000: give Snakemake --resources mem_mb=20000" in warning
    assert lines(memory(there_mb=20_000, given_mb=20_000)) == []


def test_a_folder_for_temporary_files_that_is_memory_is_warned_of(read_only):
    assert preflight.in_memory(str(read_only / "not/there"))
    assert not preflight.in_memory("/proc")
    assert lines(preflight.files_in_memory("/tmp", 20 * 10**6, 24_000)) == []
    assert lines(preflight.files_in_memory("/tmp", 97 * GB, 512_000)) == [
        "/tmp: temporary files go here, and it is memory (tmpfs): a sample takes up to 97.0 GB of it, beside what its "
        "jobs ask for; set TMPDIR to a folder on a disk"
    ]


def test_more_cores_than_this_process_may_use():
    (warning,) = cpus(64)
    assert warning.startswith("cores: Snakemake was given 64, and this process may use 4 (affinity,")


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


def unwritable(*paths: str) -> list[str]:
    return lines(preflight.folders(paths), errors=True)


def test_folders_that_cannot_be_written_to(tmp_path, read_only, monkeypatch):
    assert unwritable(str(tmp_path), str(tmp_path / "not/yet/there")) == []
    (error,) = unwritable(str(read_only / "results"))
    assert error == (
        f"{read_only}/results: a run writes here, and {read_only} can't be written to: change its rights, or how it is "
        "mounted, or run elsewhere"
    )
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert f"{tmp_path} can't be written to" in unwritable(str(tmp_path))[0]


def disk(results: float, scratch: float = 20 * GB, at_once: int = 2):
    """Of 40 samples that leave 100 GB. Two take 20 GB more at work, and 10 of temporary files; the others take 1."""
    of_results = preflight.disk("results", results, 100 * GB, [GB] * 38 + [20 * GB] * 2, at_once, 1.3)
    return [*of_results, *preflight.disk("/scratch", scratch, 0, [10 * GB] * 2 + [GB] * 38, at_once, 1.3)]


def test_a_disk_with_room_for_all_at_once_has_no_line():
    assert disk(140 * GB) == disk(1000 * GB, 400 * GB, at_once=64) == []


def test_a_disk_that_cannot_hold_what_samples_leave_is_an_error():
    (error,) = lines(disk(90 * GB), errors=True)
    assert error == (
        "disk: results has 90.0 GB free; 40 samples will leave about 100.0 GB there, and a sample at work takes up to "
        "20.0 GB more: free some, or run elsewhere (GPD_PREFLIGHT=none starts all the same)"
    )
    (error,) = lines(disk(140 * GB, 7 * GB), errors=True)
    assert error.startswith(
        "disk: /scratch has 7.0 GB free; a sample at work takes up to 10.0 GB more: free some, or run"
    )


@pytest.mark.parametrize("there", [110, 139])
def test_a_disk_that_may_not_hold_them_is_warned_of(there):
    (warning,) = lines(disk(there * GB))
    assert warning.endswith(
        "and 2 samples at work at once take up to 40.0 GB more: free some, or give fewer --cores, or jobs may fail"
    )
    assert len(lines(disk(there * GB, 19 * GB))) == 2


def test_a_panel_is_told_in_megabytes():
    (error,) = lines(preflight.disk("results", 12.3e6, 40e6, [5e6], 4, 1.3), errors=True)
    assert "has 12.3 MB free; the sample will leave about 40.0 MB there, and a sample at work takes up to 5.0" in error
    (warning,) = lines(preflight.disk("results", 99.9e6, 0, [60e6, 60e6], 4, 1.3))
    assert "has 99.9 MB free; 2 samples at work at once take up to 0.1 GB more" in warning
    assert lines(preflight.disk("results", 0, 0, [], 4, 1.3)) == []


def test_free_and_held_are_those_of_the_file_system(tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(1 << 20))
    assert preflight.held([str(tmp_path / "file"), str(tmp_path), str(tmp_path / "not there")]) == 1 << 20
    system = os.statvfs(tmp_path)
    assert preflight.free(str(tmp_path / "not there")) == pytest.approx(system.f_bavail * system.f_frsize, rel=0.05)
    assert preflight.share_disk(str(tmp_path), str(tmp_path / "not there"))
    assert not preflight.share_disk(str(tmp_path), "/proc")
