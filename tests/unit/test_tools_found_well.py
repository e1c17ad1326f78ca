"""Tools that were found well are not started again while they are the same; what is wrong is said each time."""

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
