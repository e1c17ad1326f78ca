"""Tools: which a run needs, when they are started to say their version, what is wrong and how to get them."""

from pathlib import Path

import pytest
from conftest import ROOT, script

tools = script(ROOT / "workflow" / "scripts" / "checks" / "tools.py")
ROW = {"command": "caller", "arguments": "--version", "status": "0", "minimum": "4.6", "apt": "-", "conda": "-"}


class Tool:
    """A command that says a version, and notes each start."""

    def __init__(self, folder: Path) -> None:
        self.file, self.starts, self.notes = folder / "bin/caller", folder / "starts", folder / "notes.json"
        self.file.parent.mkdir()
        self.says("4.6.2")

    def says(self, version: str) -> None:
        self.file.write_text(f"#!/bin/sh\necho >>{self.starts}\necho caller {version}\n")
        self.file.chmod(0o755)

    def looked_at(self, **row: str) -> tuple[list[str], int]:
        """What is wrong, and how often the tool was started for it."""
        before = self.started()
        return tools.errors([ROW | row], self.notes), self.started() - before

    def started(self) -> int:
        return len(self.starts.read_text()) if self.starts.exists() else 0


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    made = Tool(tmp_path)
    monkeypatch.setenv("PATH", f"{made.file.parent}:/usr/bin:/bin")
    return made


def test_a_tool_that_is_well_is_started_once(tool: Tool) -> None:
    assert tool.looked_at() == ([], 1)
    assert tool.looked_at() == ([], 0)


@pytest.mark.parametrize("beside", ["caller.jar", "lib/part.jar"])
def test_another_jar_beside_it_has_it_started_again(tool: Tool, beside: str) -> None:
    jar = tool.file.parent / beside
    jar.parent.mkdir(exist_ok=True)
    jar.write_text("1")
    assert tool.looked_at() == ([], 1)
    jar.write_text("22")
    assert tool.looked_at() == ([], 1)
    jar.unlink()
    assert tool.looked_at() == ([], 1)


def test_another_file_or_a_higher_minimum_has_it_started_again(tool: Tool) -> None:
    assert tool.looked_at() == ([], 1)
    assert tool.looked_at(minimum="4.7") == (
        [f"{tool.file} is version 4.6.2, and 4.7 or newer is needed: it is yours to bring"],
        1,
    )
    tool.says("4.10.0")
    assert tool.looked_at(minimum="4.7") == ([], 1)


def test_what_is_wrong_is_looked_at_each_time(tool: Tool) -> None:
    tool.says("unknown")
    for _ in range(2):
        (fault,), starts = tool.looked_at()
        assert "does not run" in fault and starts == 1


def test_a_tool_that_is_gone_is_missed(tool: Tool) -> None:
    assert tool.looked_at() == ([], 1)
    tool.file.unlink()
    assert tool.looked_at() == (["caller is not on the PATH: it is yours to bring"], 0)


@pytest.mark.parametrize("damage", ["", "[]", '{"', "\x00"])
def test_notes_that_are_damaged_or_cannot_be_written_cost_a_start(tool: Tool, damage: str) -> None:
    assert tool.looked_at() == ([], 1)
    tool.notes.write_text(damage)
    assert tool.looked_at() == ([], 1)
    tool.notes = tool.notes.parent / "missing" / "notes.json"
    assert tool.looked_at() == ([], 1)


def test_tools_are_started_with_their_arguments_and_may_end_with_another_status(tool: Tool) -> None:
    tool.file.write_text(f"#!/bin/sh\necho >>{tool.starts}\necho caller v4.6; [ $# = 2 ] && exit 3\n")
    assert tool.looked_at(arguments="-v -v", status="3") == ([], 1)
    (fault,), _ = tool.looked_at(arguments="-", status="3")
    assert fault == f"{tool.file} does not run (exit status 1: caller v4.6): it is yours to bring"


@pytest.mark.parametrize("status", ["1", "5"])
def test_a_status_below_or_above_what_the_table_has_is_a_fault(tool: Tool, status: str) -> None:
    tool.file.write_text(f"#!/bin/sh\necho >>{tool.starts}\necho caller v4.6; exit 3\n")
    (fault,), _ = tool.looked_at(status=status)
    assert "does not run (exit status 3: caller v4.6)" in fault


def test_a_version_is_told_without_its_v(tool: Tool) -> None:
    tool.says("v4.5")
    assert tool.looked_at()[0] == [f"{tool.file} is version 4.5, and 4.6 or newer is needed: it is yours to bring"]


def test_what_is_no_program_of_this_machine_does_not_run(tool: Tool) -> None:
    tool.file.write_bytes(b"\x7fELF of another machine")
    (fault,), _ = tool.looked_at()
    assert fault.startswith(f"{tool.file} does not run ([Errno 8]")


def test_a_tool_that_does_not_answer_does_not_run(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "TIMEOUT_S", 0.1)
    tool.file.write_text("#!/bin/sh\nexec sleep 20\n")
    (fault,), _ = tool.looked_at()
    assert "does not run" in fault and "timed out" in fault


def test_a_tool_without_a_minimum_need_not_be_started(tool: Tool) -> None:
    assert tool.looked_at(minimum="-") == ([], 0)


@pytest.mark.parametrize(("says", "why"), [("", "exit status 0: no output"), ("one\n two ", "exit status 0: two")])
def test_the_last_line_of_what_does_not_run_is_told(tool: Tool, says: str, why: str) -> None:
    tool.file.write_text(f"#!/bin/sh\necho >>{tool.starts}\nprintf '{says}'\n")
    assert tool.looked_at() == ([f"{tool.file} does not run ({why}): it is yours to bring"], 1)


@pytest.mark.parametrize(
    ("apt", "conda", "expected"),
    [
        ("-", "-", "it is yours to bring"),
        ("caller|called", "-", "apt-get install caller"),
        (".gatk", "-", "make setup-gatk"),
        (".", "gatk.yaml", "make setup, or snakemake --sdm conda (envs/gatk.yaml)"),
        ("-", "gatk.yaml", "snakemake --sdm conda (envs/gatk.yaml)"),
    ],
)
def test_how_to_get_a_tool_is_told(apt: str, conda: str, expected: str) -> None:
    assert tools.remedy(ROW | {"apt": apt, "conda": conda}) == expected


def test_the_table_of_tools_is_read_without_its_comments() -> None:
    text = (ROOT / "workflow/tools.tsv").read_text()
    rows = tools.read_table(ROOT / "workflow/tools.tsv")
    assert ROW.keys() <= rows[0].keys()
    commands = [line.split("\t")[0] for line in text.splitlines() if not line.startswith("#")]
    assert [row["command"] for row in rows] == commands[1:]


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        ("caller in > out", True),
        ("zcat in | caller -", True),
        ("if caller in; then true; fi", True),
        ("true &&\n  caller\tin", True),
        ("recaller in", False),
        ("caller2 in", False),
        ("cat caller", False),
        ("echo a caller b", False),
    ],
)
def test_a_tool_is_needed_where_a_command_begins_with_it(text: str, is_called: bool) -> None:
    other = ROW | {"command": "zcat"}
    assert (ROW in tools.called([ROW, other], ["true", text])) is is_called
