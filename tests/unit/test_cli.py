"""Whatever a user names, a subcommand ends without a traceback: each fault is a line that begins with its name."""

import signal
import stat
import subprocess
import sys

import pytest
import recorded_studies
from subcommands import gpd

from gpd.errors import GpdError, Interrupted
from gpd.machines import launcher

GOLDEN = recorded_studies.study()

# what stands in place of a file that a subcommand reads, and subcommands with the file's name
FAULTS = {
    "missing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "empty": lambda path: path.touch(),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "torn JSON": lambda path: path.write_text('{"schema": 1, "run": {'),
    "another kind": lambda path: path.write_text("- a\n- 3: [x\n"),
    "a number": lambda path: path.write_text("3\n"),
}
SUBCOMMANDS = {
    "ledger show": (["ledger", "show", "FOLDER/ledger.jsonl"], "ledger.jsonl"),
    "ledger show --json": (["ledger", "show", "FOLDER", "--json"], "ledger.jsonl"),
    "ledger check": (["ledger", "check", "FOLDER"], "ledger.jsonl"),
    "topology": (["topology", "--xml", "FOLDER/machine.xml"], "machine.xml"),
    "throughput plan": (["throughput", "plan", "FOLDER/study.yaml"], "study.yaml"),
    "throughput run": (["throughput", "run", "FOLDER/study.yaml"], "study.yaml"),
    "report": (["report", "FOLDER"], "run/run.json"),
    "compare": (["compare", "FOLDER"], "run/run.json"),
    "init --from": (["init", "--from", "FOLDER/sheet.csv", "--directory", "FOLDER"], "sheet.csv"),
    "run": (["run", "germline", "--directory", "FOLDER"], "config/config.yaml"),
    "run, samples": (["run", "germline", "--directory", "FOLDER", "-n"], "samples.tsv"),
    "run --profile": (["run", "germline", "--profile", "FOLDER/profile"], "profile/config.yaml"),
}
HARMLESS = {  # what is no fault: a ledger may be empty, or hold nothing but torn lines
    *(("ledger show", fault) for fault in ("empty", "binary", "torn JSON", "another kind", "a number")),
    *(("ledger show --json", fault) for fault in ("empty", "binary", "torn JSON", "another kind", "a number")),
    ("ledger check", "empty"),
}


def refused(done, code=2):
    assert done.exit_code == code, done.output
    assert done.output.strip(), "no reason is said"
    assert "Traceback" not in done.output
    assert len(done.output) < 3000


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("subcommand", [subcommand for subcommand in SUBCOMMANDS if not subcommand.startswith("run")])
def test_a_file_that_is_none(tmp_path, monkeypatch, subcommand, fault):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    words, name = SUBCOMMANDS[subcommand]
    folder = tmp_path / "a folder"
    (folder / name).parent.mkdir(parents=True)
    FAULTS[fault](folder / name)
    done = gpd(*(word.replace("FOLDER", str(folder)) for word in words))
    if (subcommand, fault) in HARMLESS:
        assert done.exit_code == 0, done.output
    else:
        refused(done, 1 if subcommand == "ledger check" and fault not in ("missing", "a folder") else 2)
        assert name.rpartition("/")[2] in done.output or "no run" in done.output


def test_a_run_without_a_configuration_says_what_to_do_next(tmp_path):
    done = gpd("run", "germline", "--directory", tmp_path)
    refused(done)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gpd run: {tmp_path}/config/config.yaml: no such file: ")
    assert "gpd init FOLDER" in line
    assert "--configfile" in line
    assert not (tmp_path / ".snakemake").exists()


def test_an_unknown_profile_lists_those_of_the_project(tmp_path):
    done = gpd("run", "germline", "--directory", tmp_path, "--profile", "fastest")
    refused(done)
    assert "profile fastest: no such folder" in done.stderr
    assert "default, published, scratch, slurm, throughput" in done.stderr


def test_a_report_that_cannot_be_written_is_one_line(tmp_path):
    done = gpd("compare", GOLDEN, "--html", tmp_path / "missing" / "report.html")
    refused(done)
    (line,) = done.stderr.splitlines()
    assert line == f"gpd compare: {tmp_path}/missing/report.html: No such file or directory"


def test_a_runtime_folder_that_is_no_place_for_allocations_is_one_line(tmp_path, monkeypatch):
    folder = tmp_path / "open to all"
    folder.mkdir()
    folder.chmod(stat.S_IRWXU | stat.S_IRWXO)
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(folder))
    done = gpd("topology")
    refused(done)
    assert "not a private folder of this user" in done.stderr


def test_an_error_of_many_lines_names_its_subcommand_on_each(monkeypatch):
    def lay_out(*_):
        raise GpdError("first\nsecond")

    monkeypatch.setattr(launcher, "lay_out", lay_out)
    assert gpd("topology").stderr.splitlines() == ["gpd topology: first", "gpd topology: second"]


@pytest.mark.parametrize(
    ("raised", "output", "code"),
    [
        (KeyboardInterrupt(), "ended by SIGINT", 130),
        (Interrupted(signal.SIGTERM, ["map S1"]), "ended by SIGTERM while at work: map S1", 143),
    ],
)
def test_an_interruption_is_told_and_has_the_shells_exit_code(monkeypatch, raised, output, code):
    def lay_out(*_):
        raise raised

    monkeypatch.setattr(launcher, "lay_out", lay_out)
    done = gpd("topology")
    assert (done.exit_code, done.stderr) == (code, f"gpd topology: {output}\n")


@pytest.mark.deep
def test_who_reads_no_further_is_no_fault():
    show = subprocess.Popen([sys.executable, "-m", "gpd", "package", "schema"], stdout=subprocess.PIPE)
    show.stdout.close()
    assert show.wait() in (0, 1)
