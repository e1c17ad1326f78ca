"""Kill -9 any process of a running pipeline: Snakemake finishes from what is left, and the ledger stays sound."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, SNAKEFILE, Cohort, one_contig_cohort, sample_pairs, snakemake, write_fastq
from launching import wait_until

from gpd.machines import launcher
from gpd.records import ledger_check

pytestmark = pytest.mark.e2e

TARGET = "results/mark_duplicates/S1.bam"
VICTIMS = {"snakemake": b"--snakefile", "launcher": b"/launcher/__main__.py", "shell": b"bash", "tool": b"mem"}
PROFILE = ("--workflow-profile", ROOT / "profiles/default", "--retries", "0")


@pytest.fixture
def cohort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """One sample whose mapping takes a second or more, on CPUs that no other test's jobs are waiting for."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "allocations"))
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    first, second = sample_pairs(genome, 20_000, seed=6)
    files = {"fq1": write_fastq(tmp_path / "1.fq", first), "fq2": write_fastq(tmp_path / "2.fq", second)}
    made.add_unit("S1", "L1", **files)
    made.write()
    return made


def words_of(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def processes(folder: Path, word: bytes) -> list[int]:
    """The processes in `folder` with `word` in their command line, while bwa maps."""
    here = []
    for pid in filter(str.isdigit, (path.name for path in Path("/proc").iterdir())):
        try:
            inside = Path("/proc", pid, "cwd").resolve() == folder
        except OSError:
            continue
        if inside:
            here.append((int(pid), words_of(pid)))
    mapping = any(words[:2] == [b"bwa", b"mem"] for _, words in here)
    return [pid for pid, words in here if mapping and any(part.endswith(word) for part in words)]


@pytest.mark.parametrize(
    "victim", ["snakemake", "tool", *(pytest.param(name, marks=pytest.mark.long) for name in ("launcher", "shell"))]
)
def test_a_killed_run_finishes_when_started_again(cohort: Cohort, victim: str) -> None:
    command = [sys.executable, "-m", "snakemake", "--snakefile", SNAKEFILE, *PROFILE, "--cores", "2", TARGET]
    # Snakemake changes to its directory, so that processes are told apart by where they are
    with subprocess.Popen(command, cwd=cohort.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        for pid in wait_until(lambda: processes(cohort.folder, VICTIMS[victim]), timeout_s=60):
            with contextlib.suppress(ProcessLookupError):  # one may end with the one before
                os.kill(pid, signal.SIGKILL)
        assert run.wait() != 0
    # a job whose Snakemake is gone ends itself within two seconds; one whose launchers are gone runs to its end
    wait_until(lambda: not processes(cohort.folder, b"mem"), timeout_s=60)
    assert not (cohort.folder / TARGET).exists()

    assert snakemake(cohort.folder, "--unlock").exit_code == 0
    again = snakemake(cohort.folder, TARGET, "--rerun-incomplete")
    assert again.exit_code == 0, again.output
    assert (cohort.folder / TARGET).exists()
    launcher.jobs()  # records those whose launchers were killed
    assert ledger_check.check(cohort.folder / "ledger.jsonl").problems == ()
    records = (cohort.folder / "ledger.jsonl").read_text().splitlines()
    assert sum('"map_and_sort"' in record for record in records) == 2, records
