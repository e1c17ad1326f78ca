"""What a cohort asks of a Slurm cluster, from dry runs; scontrol is a script here."""

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, Ran, snakemake
from tuxedo_cohort import tiny_experiment

SLURM = ("--workflow-profile", str(ROOT / "profiles" / "slurm"))
NODE = "NodeName=n1 CPUEfctv={} CPUTot={} RealMemory={} Partitions=main"
PARTITION = "PartitionName=main Default=YES MaxTime={} MaxMemPerNode=UNLIMITED MaxCPUsPerNode=UNLIMITED"


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """A way to have one partition of one node; no conda is there."""
    folder = tmp_path_factory.mktemp("bin")

    def have(cpus: int, mem_mb: int, time: str = "UNLIMITED") -> None:
        answers = {"node": NODE.format(cpus, cpus, mem_mb), "partition": PARTITION.format(time)}
        cases = "".join(f"*{kind}) echo '{text}';;\n" for kind, text in answers.items())
        program = folder / "scontrol"
        program.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}esac\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return have


def dry_run(cohort: Cohort, *arguments: str) -> Ran:
    """As a person would, with the profile's cores."""
    cohort.write()
    return snakemake(cohort.folder, "--dry-run", *SLURM, *arguments, cores=None)


def plan(cohort: Cohort, *arguments: str) -> Ran:
    ran = dry_run(cohort, *arguments)
    assert ran.exit_code == 0, ran.said
    return ran


def asked(ran: Ran) -> dict[str, dict[str, str]]:
    """By rule, what its jobs ask for: threads, and resources by name. Jobs of a group are indented."""
    found: dict[str, dict[str, str]] = {}
    for line in map(str.strip, ran.lines):
        if rule := re.fullmatch(r"(?:local)?rule (\w+):", line):
            of_rule = found.setdefault(rule[1], {"threads": "1"})
        elif threads := re.fullmatch(r"threads: (\d+)", line):
            of_rule["threads"] = threads[1]
        elif line.startswith("resources: "):
            of_rule |= dict(pair.split("=", 1) for pair in line.removeprefix("resources: ").split(", "))
    return found


def test_the_profile_plans_without_conda_and_asks_for_ordinary_nodes(cohort, cluster):
    cluster(16, 64000)
    of = asked(plan(cohort))
    assert {int(each["threads"]) for each in of.values()} <= {1, 4, 8}
    assert of["map_and_sort"]["threads"] == of["haplotype_caller"]["threads"] == "8"
    assert all(int(each["runtime"]) >= 60 for rule, each in of.items() if rule != "all")
    assert of["haplotype_caller"]["mem_mb"] == of["haplotype_caller"]["mem_mb_per_cpu"] == "6000"


@pytest.mark.deep
def test_the_tuxedo_pipeline_plans_with_it(tmp_path: Path, cluster):
    cluster(16, 64000)
    of = asked(plan(tiny_experiment(tmp_path)))
    assert of["align"]["threads"] == of["quantify"]["threads"] == "8"


@pytest.mark.deep
def test_what_no_node_holds_is_refused_by_the_rules_name(cohort, cluster):
    cluster(4, 32000, time="04:00:00")
    ran = dry_run(cohort)
    assert ran.exit_code == 1
    lines = [line for line in ran.lines if " asks for " in line]
    assert any(line.startswith("haplotype_caller asks for 8 CPUs and 48000 MB, which no node") for line in lines)
    assert any(
        line.startswith("bwa_index asks for 480 minutes, and partition main ends jobs after 240") for line in lines
    )
    assert "Traceback" not in ran.said
    assert not any(line.startswith(("all ", "hard_filter ")) for line in lines)


@pytest.mark.deep
def test_cores_fit_all_rules_to_smaller_nodes(cohort, cluster):
    cluster(4, 32000)
    of = asked(plan(cohort, "--cores", "4"))
    assert max(int(each["threads"]) for each in of.values()) == 4
    narrow = asked(plan(cohort, "--cores", "1"))["mark_duplicates"]
    assert narrow["mem_mb_per_cpu"] == narrow["mem_mb"] == "8000"


@pytest.mark.deep
def test_where_slurm_does_not_answer_nothing_is_refused(cohort, cluster):
    cluster(1, 1)
    Path(shutil.which("scontrol")).write_text("#!/bin/sh\necho 'slurm_load_node error' >&2\nexit 1\n")
    plan(cohort)


@pytest.mark.deep
def test_a_sample_is_its_lanes_and_three_allocations(cohort, cluster):
    """The steps before HaplotypeCaller, that, and those after it."""
    cluster(16, 64000)
    ran = plan(cohort)
    groups = re.findall(r"Group job (\w+) ", ran.said)
    assert sorted(groups) == ["alignments", "alignments", "calls", "calls"]
    alone = re.findall(r"^rule (\w+):$", ran.said, re.MULTILINE)
    assert alone.count("map_and_sort") == 4
    assert alone.count("haplotype_caller") == 2
    assert not {"mark_duplicates", "base_recalibration", "samtools_stats", "hard_filter"} & set(alone)


@pytest.mark.deep
@pytest.mark.parametrize(("attempt", "mem_mb", "runtime"), [(1, 6000, 61), (2, 12000, 121), (3, 16000, 181)])
def test_each_attempt_asks_for_more_up_to_what_a_node_has(cohort, cluster, attempt, mem_mb, runtime):
    cluster(4, 64000)
    of = asked(plan(cohort, "--cores", "4", "--attempt", str(attempt)))
    assert of["haplotype_caller"]["mem_mb_per_cpu"] == str(mem_mb)
    assert of["mark_duplicates"]["mem_mb"] == str(8000 * attempt)
    assert of["mark_duplicates"]["mem_mb_per_cpu"] == str(4000 * attempt)
    assert of["haplotype_caller"]["runtime"] == str(runtime)


@pytest.mark.deep
def test_what_a_profile_says_goes_before_the_table(cohort, cluster):
    cluster(16, 64000)
    settings = ("--set-resources", "haplotype_caller:runtime=600", "map_and_sort:mem_mb=500*attempt", "--attempt", "2")
    of = asked(plan(cohort, *settings))
    assert of["haplotype_caller"]["runtime"] == "600"
    assert of["map_and_sort"]["mem_mb"] == "1000"


@pytest.mark.deep
def test_on_one_machine_jobs_ask_for_no_time(cohort):
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 0, ran.said
    assert "runtime=" not in ran.said


@pytest.mark.deep
def test_pieces_have_the_memory_that_slurm_gives_by_the_cpu(cohort):
    """Snakemake tells a job's own Snakemake what the job asked for: here, as with --mem-per-cpu."""
    cpus = min(2, len(os.sched_getaffinity(0)))
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--resources", "mem_mb=8000", "mem_mb_per_cpu=6000")
    assert ran.exit_code == 0, ran.said
    assert {*re.findall(r"GPD_RUN_MEM_MB=(\d+)", ran.said)} == {str(6000 * cpus)}
