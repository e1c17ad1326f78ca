"""gpd doctor: what it says of tools and machines, with tools that are scripts made here."""

import io
import json
import os
import sys

import pytest
from rich.console import Console
from subcommands import gpd

from gpd.commands import gpd_doctor
from gpd.machines import remedies, tool_checks
from gpd.machines.facts import parse_lscpu
from gpd.machines.launcher import Limits
from gpd.records.host import FileSystem, Host

BWA = tool_checks.Tool("bwa", (), 1, "0.7.17", ("bwa",), "bwa.yaml", ("germline",), "read alignment")
DWGSIM = tool_checks.Tool("dwgsim", (), 1, "", ("dwgsim",), "dwgsim.yaml", ("demo",), "simulated reads")
BWA_MEM4 = tool_checks.Tool("bwa-mem4", (), 0, "4.4", (".bwa-mem4",), "", ("germline-bwa-mem4",), "read alignment")
SNAKEMAKE = tool_checks.Tool("snakemake", ("--version",), 0, "9.27", (".",), "", ("germline",), "workflow engine")
GATK3 = tool_checks.Tool("gatk3", ("--version",), 0, "", (), "gatk3.yaml", ("germline-gatk3",), "realignment")

TWO_SOCKETS_SMT = """\
# The following is the parsable format, which can be fed to other
# programs. Each different item in every column has an unique ID
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,0,1,,1,1,1,1
2,2,1,2,,2,2,2,2
3,3,1,3,,3,3,3,3
4,0,0,0,,0,0,0,0
5,1,0,1,,1,1,1,1
6,2,1,2,,2,2,2,2
7,3,1,3,,3,3,3,3
"""
NO_CACHES = "# CPU,Core,Socket,Node\n0,0,0,\n1,1,0,\n"


@pytest.fixture
def bin_directory(tmp_path, monkeypatch):
    """A PATH of its own, and a function that puts shell scripts there."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))

    def add(name: str, body: str) -> None:
        (directory / name).write_text(f"#!/bin/sh\n{body}\n")
        (directory / name).chmod(0o755)

    return add


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("\nProgram: bwa (alignment)\nVersion: 0.7.17-r1188\nContact: x", "0.7.17-r1188"),
        ("samtools 1.16.1\nUsing htslib 1.16", "1.16.1"),
        ('openjdk version "17.0.15" 2025-04-15', "17.0.15"),
        ("The Genome Analysis Toolkit (GATK) v4.6.2.0", "4.6.2.0"),
        ("multiqc, version 1.35", "1.35"),
        ("time (GNU Time) UNKNOWN\nGPL version 3", ""),
    ],
)
def test_version_in(output, version):
    assert tool_checks.version_in(output) == version


@pytest.mark.parametrize(
    ("version", "minimum", "enough"),
    [
        ("1.16.1-2", "1.10", True),
        ("1.9", "1.10", False),
        ("17", "17", True),
        ("0.7.17-r1188", "0.7.17", True),
        ("0.7.16-r1181", "0.7.17", False),
        ("3.8-1-0-gf15c1c3ef", "3.8", True),
        ("2.2", "2.2.0", True),
    ],
)
def test_at_least(version, minimum, enough):
    assert tool_checks.at_least(version, minimum) is enough


def test_a_tool_that_works(bin_directory):
    bin_directory("bwa", "echo 'Version: 0.7.18-r1243' >&2; exit 1")
    finding = tool_checks.examine(BWA)
    assert (finding.version, finding.problem) == ("0.7.18-r1243", "")
    assert finding.path.endswith("/bin/bwa")


def test_a_tool_that_is_not_there(bin_directory):
    finding = tool_checks.examine(BWA)
    assert finding.problem == "missing"
    assert finding.remedy == "install conda, mamba or micromamba, then snakemake --sdm conda (envs/bwa.yaml)"


BY_APT = "apt-get install -y --no-install-recommends"
ALTERNATIVES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "mosdepth libhts-dev")
AVAILABLE = """case $2 in %s) echo '  Candidate: 1.0' ;; *) echo '  Candidate: (none)' ;; esac"""


@pytest.mark.parametrize(
    ("available", "way"),
    [
        ("openjdk-*", f"{BY_APT} openjdk-17-jre-headless"),
        ("openjdk-21-*", f"{BY_APT} openjdk-21-jre-headless"),
        ("mosdepth", f"{BY_APT} mosdepth libhts-dev"),
        ("cargo", "make setup"),  # which asks for lists of packages first, and for non-free
    ],
)
def test_root_is_told_the_package_that_apt_has(bin_directory, monkeypatch, available, way):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    bin_directory("apt-get", "exit 0")
    bin_directory("apt-cache", AVAILABLE % available)
    assert remedies.remedy(ALTERNATIVES, "") == way


def test_a_user_is_told_sudo_where_it_asks_nothing_and_else_a_folder(bin_directory, tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(remedies, "PREFIX", tmp_path / "prefix")
    bin_directory("apt-get", "exit 0")
    bin_directory("apt-cache", AVAILABLE % "bwa")
    assert remedies.remedy(("bwa",), "bwa.yaml") == "make setup PREFIX=~/gpd"
    (tmp_path / "prefix").mkdir()
    assert remedies.remedy(("bwa",), "bwa.yaml") == "make setup"
    bin_directory("sudo", '[ "$*" = "-n true" ]')
    assert remedies.remedy(("bwa",), "bwa.yaml") == f"sudo {BY_APT} bwa"


def test_without_apt_it_is_conda_or_another_package_manager(bin_directory):
    assert remedies.remedy(("fio",), "") == "install fio with this system's package manager"
    bin_directory("micromamba", "exit 0")
    assert remedies.remedy(("bwa",), "bwa.yaml") == "snakemake --sdm conda (envs/bwa.yaml)"
    assert remedies.remedy((), "").startswith("yours to bring")


def test_a_tool_that_is_there_and_does_not_run(bin_directory):
    bin_directory("bwa", "echo 'bwa: error while loading shared libraries: libz.so.1.2: no such file' >&2; exit 127")
    finding = tool_checks.examine(BWA)
    assert finding.problem == (
        "broken: exit status 127: bwa: error while loading shared libraries: libz.so.1.2: no such file"
    )


def test_a_tool_whose_interpreter_is_gone(bin_directory, tmp_path):
    (tmp_path / "bin/bwa").write_text("#!/nowhere/python\n")
    (tmp_path / "bin/bwa").chmod(0o755)
    assert tool_checks.examine(BWA).problem.startswith("broken: ")


def test_a_tool_that_does_not_answer(bin_directory, monkeypatch):
    monkeypatch.setattr(tool_checks, "TIMEOUT_S", 0.2)
    bin_directory("bwa", "while :; do :; done")
    assert tool_checks.examine(BWA).problem.endswith("no end within 0.2 s")


def test_a_tool_that_is_too_old(bin_directory):
    bin_directory("bwa", "echo 'Version: 0.7.5a'; exit 1")
    finding = tool_checks.examine(BWA)
    assert (finding.version, finding.problem) == ("0.7.5a", "too old: 0.7.17 or newer is needed")


def findings(*pairs):
    return [
        tool_checks.FoundTool(tool.command, "99.0", path, tool.needed_by, "" if path else "missing", tool.remedy())
        for tool, path in pairs
    ]


@pytest.mark.parametrize(("tool", "way"), [(SNAKEMAKE, "make setup"), (BWA_MEM4, "make setup-bwa-mem4")])
def test_what_make_installs_has_its_target(tool, way):
    assert tool.remedy() == way


@pytest.mark.deep
def test_where_tools_come_from():
    table = [BWA, DWGSIM, SNAKEMAKE, GATK3]
    all_here = findings((BWA, "/b"), (DWGSIM, ""), (SNAKEMAKE, "/s"), (GATK3, ""))
    no_bwa = findings((BWA, ""), (DWGSIM, "/d"), (SNAKEMAKE, "/s"), (GATK3, ""))
    no_snakemake = findings((BWA, "/b"), (DWGSIM, "/d"), (SNAKEMAKE, ""), (GATK3, ""))
    assert tool_checks.source("germline", table, all_here, conda="") == "path"
    assert tool_checks.source("germline", table, no_bwa, conda="") == "no"
    assert tool_checks.source("germline", table, no_bwa, conda="/conda") == "conda"
    assert tool_checks.source("germline", table, no_snakemake, conda="/conda") == "no"
    assert tool_checks.source("germline-gatk3", table, all_here, conda="") == "no"


def test_topology_counts():
    assert tuple(parse_lscpu(TWO_SOCKETS_SMT).values()) == (8, 4, 2, 4, 4)


def test_what_the_machine_does_not_report_stays_missing():
    assert tuple(parse_lscpu(NO_CACHES).values()) == (2, 2, 1, None, None)
    assert set(parse_lscpu("").values()) == {None}


def report(*found: tool_checks.FoundTool, open_files: int = 65536) -> gpd_doctor.Report:
    host = Host(
        sockets=2,
        numa_nodes=4,
        l3_groups=4,
        cores=4,
        threads=8,
        smt=True,
        open_files=open_files,
        file_systems={"/data": FileSystem(free_gib=100.0)},
    )
    return gpd_doctor.Report(found, host, Limits(8, None, 65536.0, None, 61440.0), {"germline": "no"})


def test_few_open_files_are_warned_of():
    assert report().warnings == []
    (warning,) = report(open_files=1024).warnings
    assert "ulimit -n is 1024" in warning


@pytest.mark.deep
def test_show():
    console = Console(width=120, record=True, file=io.StringIO())
    gpd_doctor.show(report(*findings((BWA, ""), (DWGSIM, "/d"))), [BWA, DWGSIM], console)
    text = console.export_text()
    assert "2 sockets, 4 NUMA nodes, 4 L3 groups, 4 cores, 8 CPUs, SMT (8 usable here)" in text
    assert "64.0 GiB, 60.0 GiB available" in text
    assert "100.0 GiB in /data" in text
    assert "germline cannot run:\n  bwa missing: " in text
    assert "in the way" not in text


def test_what_else_is_missing_has_its_remedy_too(bin_directory):
    console = Console(width=120, record=True, file=io.StringIO())
    gpd_doctor.show(report(*findings((BWA, "/b"), (DWGSIM, ""))), [BWA, DWGSIM], console)
    text = console.export_text()
    assert "missing, and in the way of what is named alone:\n  dwgsim (demo) missing: install conda" in text


@pytest.mark.deep
def test_command_line(bin_directory, tmp_path, monkeypatch):
    monkeypatch.setattr(tool_checks, "read_table", lambda: [BWA, DWGSIM, GATK3])
    bin_directory("dwgsim", "echo 'Version: 0.1'; exit 1")
    broken = gpd("doctor", "--json")
    assert broken.exit_code == 1
    found = json.loads(broken.stdout)
    assert found["sources"] == {"germline": "no"}
    assert found["limits"]["cpus"] == len(os.sched_getaffinity(0))
    assert [finding["problem"] for finding in found["findings"]] == ["missing", "", "missing"]

    bin_directory("bwa", "echo 'Version: 0.7.17'; exit 1")
    bin_directory("java", "echo 'openjdk version \"1.8.0_412\"'")
    monkeypatch.setenv("JAVA8_HOME", str(tmp_path))
    healthy = gpd("doctor")
    assert healthy.exit_code == 0
    assert f"gatk3_jar, where the config names one: {tmp_path}/bin/java" in healthy.stdout
    assert "bwa: a human genome's index takes 6 GB of memory to build, 5.4 GB in each process" in healthy.stdout
    assert "bwa-mem4: a human genome's index takes 110 GB of memory to build" in healthy.stdout
    assert gpd("doctor", "--pipeline", "germline-gatk3").exit_code == 1
    assert gpd("doctor", "--pipeline", "gremline").exit_code == 2


def test_table_has_the_form():
    table = tool_checks.read_table()
    assert len({tool.command for tool in table}) == len(table)
    assert "germline" in tool_checks.pipelines(table)


def test_python_runs_the_tests_that_the_table_asks_for():
    python = next(tool for tool in tool_checks.read_table() if tool.command == "python3")
    assert tool_checks.at_least(".".join(map(str, sys.version_info[:2])), python.minimum)
