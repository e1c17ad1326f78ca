"""A study or a ledger from anybody: reported, or refused in a line; nothing in it runs, and nothing outside changes."""

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest
import recorded_studies
import subcommands
from conftest import ROOT
from fuzzing import CONTROL, within
from launcher import system
from test_ledger_command import record

from gpd import files
from gpd.commands import run_display
from gpd.commands.subcommands import Terminal
from gpd.lab import single_run
from gpd.records.ledger import Attempt

GOLDEN = recorded_studies.study()
RUNS = ("germline-n1-shared-compact-r1", "germline-n1-shared-compact-r2")
FIRST = RUNS[0]
ORDERS = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"  # a terminal would clear itself, rename itself, turn text around
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
HANGS_S = 60

pytestmark = pytest.mark.usefixtures("drawn_once")


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    """What a study must not change: a folder with a file."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "precious.html").write_text("precious")
    return folder


@pytest.fixture
def study(tmp_path, elsewhere, monkeypatch) -> Path:
    """Two runs of a study; afterwards all outside of it is as it was."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "study"
    for spec in RUNS:
        shutil.copytree(GOLDEN / spec, folder / spec)
    yield folder
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == {"precious.html": "precious"}
    assert not list(tmp_path.rglob("fuzzed")), "something in it was run"


def gpd(*arguments: object) -> tuple[int, str, str]:
    """A subcommand's exit code, its output and what it says on stderr: text alone, whatever it read."""
    with within(HANGS_S):
        done = subcommands.gpd(*arguments)
    assert not CONTROL.search(done.output.replace("\n", "")), repr(CONTROL.search(done.output.replace("\n", "")))
    return done.exit_code, done.stdout, done.stderr


def refused(*arguments: object) -> str:
    """The one line in which a subcommand refuses."""
    code, _, output = gpd(*arguments)
    assert code == 2, output
    (line,) = output.splitlines()
    return line


def change(path: Path, **changed: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


# ---- links, pipes and devices ------------------------------------------------------------------------


@pytest.mark.deep
def test_reports_replace_links_and_write_nothing_through_them(study, elsewhere):
    victim = elsewhere / "precious.html"
    (study / "report.html").symlink_to(victim)
    (study / "tables").mkdir()
    for name in ("configurations.tsv", "configurations.parquet", ".configurations.tsv.tmp"):
        (study / "tables" / name).symlink_to(victim)
    (study / FIRST / "results").symlink_to(elsewhere)
    (study / FIRST / "config").mkdir()
    (study / FIRST / "config" / "config.yaml").write_text("gatk3_java: touch fuzzed\n")
    (study / FIRST / "profile").mkdir()
    (study / FIRST / "profile" / "config.yaml").write_text("executor: touch fuzzed\n")
    code, _, output = gpd("report", study)
    assert code == 0, output
    assert not (study / "report.html").is_symlink()
    assert not (study / "tables" / "configurations.tsv").is_symlink()


def test_a_folder_that_is_a_link_is_refused(study, elsewhere):
    (study / "tables").symlink_to(elsewhere)
    assert f"{study / 'tables'}: a link" in refused("report", study)


@pytest.mark.deep
@pytest.mark.parametrize("subcommand", ["report", "compare"])
@pytest.mark.parametrize("name", [f"{FIRST}/run.json", "node.json", "study.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipes_and_devices_are_refused_and_never_waited_for(study, subcommand, name, kind):
    path = study / name
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    assert f"{path}: not a plain file" in refused(
        subcommand, study, *(["published:7763"] if subcommand == "compare" else [])
    )


def test_a_ledger_that_is_a_pipe_is_none(study):
    path = study / FIRST / "ledger.jsonl"
    path.unlink()
    os.mkfifo(path)
    assert "no such ledger" in refused("ledger", "show", path.parent)
    assert "no such ledger" in refused("ledger", "check", path)


def test_a_scratch_folder_elsewhere_is_not_removed(study, elsewhere):
    (study / FIRST / single_run.SCRATCH).symlink_to(elsewhere)
    single_run.clear(study / FIRST)
    assert not (study / FIRST).exists()


# ---- records that point elsewhere, or beyond reason ----------------------------------------------------


@pytest.mark.parametrize("directory", ["..", "../../elsewhere", "/etc", "samples/../..", "samples/..", "", "a\n"])
def test_a_process_that_is_elsewhere_is_refused(study, directory):
    path = study / FIRST / "run.json"
    (process,) = json.loads(path.read_text())["processes"]
    change(path, processes=[process | {"directory": directory}])
    assert "processes" in refused("report", study)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["../x", "..", "/etc/passwd", "", "x" * 300, ORDERS, "a\nb", "\ud800", "\0"])
@pytest.mark.parametrize("field", ["samples", "name", "study"])
def test_a_name_that_leads_elsewhere_is_refused(study, field, name):
    path = study / FIRST / "run.json"
    spec = json.loads(path.read_text())["spec"]
    change(path, spec=spec | {field: [name] if field == "samples" else name})
    refused("report", study)


@pytest.mark.deep
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a": ' * 100_000,
        '{"wall_s": 1e999}',
        '{"wall_s": ' + "9" * 5000 + "}",
        '{"schema": NaN}',
        "",
        "\x1b[2J",
    ],
    ids=["lists", "mappings", "infinite", "digits", "nan", "empty", "orders"],
)
@pytest.mark.parametrize("name", ["run.json", "../study.json", "../node.json", "../starts.jsonl"])
def test_json_beyond_reason_is_refused(study, name, text):
    (study / FIRST / name).write_text(text)
    if name == "../starts.jsonl":  # a line that is no JSON was cut off; a package may refuse it
        code, _, output = gpd("package", study)
        assert code == 0 or len(output.splitlines()) == 1
    else:
        refused("report", study)


@pytest.mark.parametrize("torn", [b'{"name": "germline-n1", "run', b"\0" * 40])
def test_a_start_that_a_power_cut_left_half_written_is_left_out(study, torn):
    """Whoever notes the next start goes on after it."""
    starts = study / "starts.jsonl"
    starts.write_bytes(torn + b"\n" + (starts.read_bytes() if starts.exists() else b""))
    code, _, errors = gpd("report", study)
    assert code == 0
    assert "starts.jsonl line 1: left out: it was cut off as it was written" in errors
    starts.write_bytes(b'{"name": 1}\n')
    assert "starts.jsonl line 1: not a valid starts.jsonl" in refused("report", study)


def test_a_time_of_no_age_is_refused(study):
    change(study / FIRST / "run.json", start="0001-01-01T00:00:00+00:00")
    assert "no time of this age" in refused("report", study)


BEYOND = [
    {"cpus": "0-4294967295"},
    {"cpus": ",".join(["0-65535"] * 1000)},
    {"threads": 10**30},
    {"wall_s": 1e300},
    {"start": "0001-01-01T00:00:00.000000000Z"},
    {"start": "2026-11-20T12:00:00.000000000"},
    {"wildcards": 5},
    {"wildcards": {"sample": 5}},
    {"exit_code": "0"},
    {"peak_rss_mib": True},
]


@pytest.mark.deep
@pytest.mark.parametrize("changed", BEYOND, ids=lambda changed: f"{next(iter(changed))}")
def test_records_beyond_reason_are_left_out_and_named(tmp_path, monkeypatch, changed):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    run = tmp_path / "run"
    run.mkdir()
    (run / "ledger.jsonl").write_text(f"{json.dumps(record(1))}\n{json.dumps(record(2) | changed)}\n")
    code, shown, _ = gpd("ledger", "show", run)
    assert (code, shown.count("map_and_sort")) == (0, 1)
    code, output, _ = gpd("ledger", "check", run)
    assert (code, len(output.splitlines())) == (1, 1)
    assert f"{run}/ledger.jsonl line 2: " in output


# ---- what is shown -------------------------------------------------------------------------------------


@pytest.mark.deep
def test_pages_escape_what_records_say(study, tmp_path):
    for spec in RUNS:
        path = study / spec / "run.json"
        told = json.loads(path.read_text())
        host = told["host"] | {"cpu_model": SCRIPT, "hostname": SCRIPT, "kernel": f"{ORDERS}|[x](javascript:x)"}
        change(path, host=host, settings=told["settings"] | {"tools": {SCRIPT: SCRIPT, "bwa": "$x$|`y`"}})
        ledger = study / spec / "ledger.jsonl"
        lines = [json.loads(line) | {"host": SCRIPT} for line in ledger.read_text().splitlines()]
        lines[0] |= {"exit_code": 1, "cause": "tool_error", "message": f"{SCRIPT}{ORDERS}", "attempt": 1}
        ledger.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    code, _, output = gpd("report", study)
    assert code in (0, 1), output
    page = tmp_path / "page.html"
    code, _, output = gpd("compare", study, "published:7763", "--html", page)
    assert code == 0, output
    for path in (study / "report.html", page):
        assert not re.search(r"<(script>alert|img src=x)", path.read_text()), path


def test_ledgers_give_no_orders_to_the_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    run = tmp_path / f"run{ORDERS}"
    run.mkdir()
    hostile = {"rule": ORDERS, "wildcards": {"sample": f"[/red]{ORDERS}"}, "message": f"[bold]:smile:{ORDERS}\r\b"}
    lines = [record(1, **hostile, exit_code=1, cause="tool_error"), record(1), "{"]
    lines = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (run / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    code, shown, _ = gpd("ledger", "show", run)
    assert code == 0
    assert "[/red]" in shown
    assert "[bold]:smile:" in shown
    code, shown, _ = gpd("ledger", "show", run, "--json")
    assert json.loads(shown)[0]["rule"] == ORDERS
    assert gpd("ledger", "check", run)[0] == 1


def test_a_failure_is_shown_as_it_was_said(tmp_path):
    message = f"[mem_sam_pe] paired reads have different names: [/tmp/x] {ORDERS}"
    times = (None, None, None)
    failure = Attempt("map", "map", {"sample": "S1"}, 1, *times, 1, message, "logs/[/x].log", cause="tool_error")
    with (tmp_path / "shown").open("w+", encoding="utf-8") as file:
        Terminal(file=file, width=300).print(run_display.failure_table([failure]))
        file.seek(0)
        shown = file.read()
    assert "[mem_sam_pe] paired reads have different names: [/tmp/x]" in shown
    assert "logs/[/x].log" in shown
    assert not CONTROL.search(shown.replace("\n", ""))


def test_the_launcher_repeats_no_orders_of_a_tool(tmp_path):
    with (tmp_path / "output").open("wb") as output:
        system.say(f"error: {ORDERS}\r", output.fileno())
    assert not CONTROL.search((tmp_path / "output").read_text().removesuffix("\n"))


# ---- names of temporary files ---------------------------------------------------------------------------


def test_what_is_written_is_new_and_keeps_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_text(tmp_path / "x", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_can_not_be_written_leaves_the_old_and_nothing_else(tmp_path):
    (tmp_path / "x").write_text("old")

    def fails(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        files.replace(tmp_path / "x", fails)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"x": "old"}


SOURCES = [
    path
    for folder in ("scripts", "workflow", "resources")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".smk", ".sh", ".R", ".yaml", "") and path.is_file() and "__pycache__" not in path.parts
]


def test_what_is_added_to_goes_through_no_link(tmp_path):
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "x").symlink_to("other")
    for mode in ("ab+", "wb"):
        with pytest.raises(files.FileError, match=r"x: a link, .*; remove it$"):
            files.open_plain(tmp_path / "x", mode)
    assert (tmp_path / "other").read_text() == "theirs"


def test_no_name_in_a_shared_folder_can_be_guessed():
    """But for the launcher's own folder, which is looked at before it is used."""
    guessable = re.compile(r"/tmp/(?!gpd-(UID|\{os\.geteuid))|\bmktemp\((?!\))|0o?[67]?77[67]\b|\$\$")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if guessable.search(line)
    ]
    assert found == []
