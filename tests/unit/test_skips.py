"""A test that is skipped is listed, and one without a reason on this machine fails the run."""

import subprocess
import sys
from pathlib import Path

import pytest
import skips

TESTS = Path(skips.__file__).parent
SKIPPED = "import pytest\n\n\ndef test_one():\n    pytest.skip({reason!r})\n\n\ndef test_two():\n    pass\n"


def run(folder: Path, reason: str, *arguments: str) -> tuple[int, str]:
    (folder / "test_made_up.py").write_text(SKIPPED.format(reason=reason))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "skips", "-p", "no:cacheprovider", *arguments, folder]
    done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("arguments", [(), ("--numprocesses", "2")], ids=["one process", "two"])
def test_a_skip_that_is_not_in_the_list_fails_the_run(tmp_path, arguments):
    code, output = run(tmp_path, "it is late", *arguments)
    assert code == 1
    assert "1 it is late (not in tests/skips.tsv)" in output
    assert "1 passed, 1 skipped" in output


@pytest.mark.deep
def test_a_skip_in_the_list_is_told_and_passes(tmp_path):
    code, output = run(tmp_path, "a kernel without NUMA")
    assert code == 0
    assert "1 a kernel without NUMA\n" in output


def test_what_the_machine_has_is_no_reason(monkeypatch):
    monkeypatch.setattr(skips.os, "geteuid", lambda: 0)
    assert skips.fault("only root may mount a disk") == "this machine does not lack: root"
    monkeypatch.setattr(skips.os, "geteuid", lambda: 1000)
    assert skips.fault("only root may mount a disk") == ""


def test_a_tool_is_looked_for(monkeypatch):
    monkeypatch.setattr(skips.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert skips.fault("bcftools is not installed") == "this machine does not lack: bcftools"
    monkeypatch.setattr(skips.shutil, "which", lambda name: None)
    assert skips.fault("bcftools is not installed") == ""


def test_each_thing_that_may_be_lacking_is_known():
    assert {what for what in skips.permitted().values() if " " in what or what == "-"} <= skips.LACKS.keys()
