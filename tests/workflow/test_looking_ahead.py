"""What is looked at before the first job, and not while the workflow is read: the machine, and room on the disk."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, snakemake, tiny_cohort, write_fastq
from test_module import IMPORTED, absolute, write

MADE = "results/reference/genome.fa"
MIB = 1 << 20


def warnings(output: list[str]) -> list[str]:
    return [line for line in output if line.startswith("warning: ")]


def of_disk(output: list[str]) -> list[str]:
    return [line for line in output if "disk: " in line]


def files(folder: Path) -> set[str]:
    """Those below a folder that are not Snakemake's own."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != ".snakemake"}


@pytest.mark.deep
def test_a_plan_asks_no_program_leaves_no_file_and_says_nothing_of_the_machine(
    cohort: Cohort, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    for name in ("scontrol", "sinfo", "sacct", "squeue", "du", "df", "samtools", "java"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} $* >> '{cohort.folder}/called'\nexit 1\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", "/not/there")
    cohort.write()
    before = files(cohort.folder)
    slurm = ("--workflow-profile", str(ROOT / "profiles" / "slurm"))
    for options, cores in (((), 2), (slurm, None)):
        ran = snakemake(cohort.folder, "--dry-run", *options, cores=cores)
        assert (ran.exit_code, warnings(ran.lines)) == (0, []), ran.output
    found = cohort.folder / "called"
    called = found.read_text().splitlines() if found.exists() else []
    assert {*called} <= {"scontrol show config"}, "Snakemake's own plugin does"
    assert files(cohort.folder) - {"called"} == before
    assert not (cohort.folder / ".snakemake/gpd").exists()


@pytest.mark.deep
def test_a_file_where_results_go_is_one_line_in_a_list_with_what_is_wrong_with_the_input(cohort: Cohort) -> None:
    (cohort.folder / "reads/S1_L1_R2.fq.gz").unlink()
    (cohort.folder / "results").touch()
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 1
    assert [line for line in ran.lines if "does not exist" in line or "no folder" in line] == [
        "units.tsv line 2: sample S1: fq2 reads/S1_L1_R2.fq.gz does not exist",
        "results is no folder, and a run writes there: remove or rename it",
    ]
    assert "Traceback" not in ran.output


@pytest.mark.e2e
def test_warnings_let_it_go_on(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.write()
    ran = snakemake(cohort.folder, "--", MADE, cores=9999)
    assert ran.exit_code == 0, ran.output
    assert any(line.startswith("warning: cores: Snakemake was given 9999, and ") for line in warnings(ran.lines))
    (cohort.folder / MADE).unlink()
    monkeypatch.setenv("GPD_PREFLIGHT", "none")
    ran = snakemake(cohort.folder, "--", MADE, cores=9999)
    assert (ran.exit_code, warnings(ran.lines)) == (0, []), ran.output


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Cohort]:
    """A cohort of two samples with 40 MiB of reads each, whose results lie on a disk of their own, of 4 MiB."""
    cohort = tiny_cohort(tmp_path, lanes=1)
    for path in (tmp_path / "reads").iterdir():
        write_fastq(path, [(f"read{number}", "A" * 100) for number in range(10_000)])
        os.truncate(path, 20 * MIB)  # behind the reads that are looked at there is a hole
    results = tmp_path / "results"
    results.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(results)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that takes root's rights")
    yield cohort
    subprocess.run(["umount", "-l", str(results)], check=True)


def remount(cohort: Cohort, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(cohort.folder / "results")], check=True)


@pytest.mark.deep
def test_what_a_run_cannot_write_to_ends_it_before_the_first_job(small: Cohort) -> None:
    remount(small, "ro")
    ran = small.snakemake("--", MADE)
    assert ran.exit_code == 1
    assert any(line.startswith("results/: a run writes here, and ") for line in ran.lines)
    assert not (small.folder / "logs").exists() and "Traceback" not in ran.output


@pytest.mark.deep
def test_a_disk_without_room_for_what_samples_leave_is_refused_before_the_first_job(small: Cohort) -> None:
    """Each leaves 1.15 times its reads and 2 MiB; 8 are of the cohort."""
    ran = small.snakemake()
    assert ran.exit_code == 1
    (line,) = of_disk(ran.lines)
    assert line.startswith("disk: results/ has 4.2 MB free; 2 samples will leave about 0.1 GB there, and a sample at ")
    assert line.endswith("more: free some, or run elsewhere (GPD_PREFLIGHT=none starts all the same)")
    assert not (small.folder / "logs").exists() and "Traceback" not in ran.output


@pytest.mark.e2e
def test_a_disk_that_does_not_hold_all_samples_at_once_is_warned_of(small: Cohort) -> None:
    """Where no sample is planned there is nothing to say. The run fails of itself: its reads end in a hole."""
    remount(small, "size=220m")
    assert of_disk(small.snakemake("--", MADE).lines) == []
    ran = small.snakemake("--", *(f"results/map_and_sort/{sample}/L1.bam" for sample in ("S1", "S2")))
    (line,) = of_disk(ran.lines)
    assert any(text.startswith("given here (threads, MB): map_and_sort 1, ") for text in ran.lines), ran.output
    assert line.startswith("warning: disk: results/ has 0.2 GB free; 2 samples will leave about 99.5 MB there, and 2 ")
    assert line.endswith("or give fewer --cores, or jobs may fail")


@pytest.mark.deep
def test_a_modules_user_has_it_looked_at_by_a_line_of_his_own(cohort: Cohort, monkeypatch) -> None:
    folders = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(each for each in folders if not Path(each, "bwa-mem4").exists()))
    cohort.config["mapper"] = "bwa-mem4"
    asks = IMPORTED + "\nonstart:\n    gpd.before_first_job()\n"
    ran = snakemake(cohort.folder, "--snakefile", write(absolute(cohort), asks), "--", "gpd_all")
    assert ran.exit_code == 1
    assert "bwa-mem4 is not on the PATH: make setup-bwa-mem4" in ran.lines
    assert not (cohort.folder / "calls of gpd/logs").exists() and "Traceback" not in ran.output
