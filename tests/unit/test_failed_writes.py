"""The library that notices what a job's programs could not write or open: how it is built, and what it does to them."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import script
from launching import PINNED, Node

compiled = script(PINNED / "build.py")

FULL = "cannot write /dev/full: No space left on device"
# a C stream whose errors nobody asks for, closed as the program likes
STREAM = """
import ctypes, os
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(c.fopen(b"{path}", b"w"))
c.fputs(b"x" * {size}, stream)
{then}
"""


@pytest.fixture
def node(node: Node, laid_out: Path) -> Node:
    node.launch = laid_out
    return node


def lay_out(place: Path) -> Path:
    return compiled.launcher(PINNED.joinpath, place)


def run(node: Node, command: str, hard_limit: int | None = None) -> tuple[int, dict]:
    """Run a job; return its exit code and its record."""
    limit = ["prlimit", f"--nofile={hard_limit}:{hard_limit}"] if hard_limit else []
    words = [*limit, *node.command_line(name="x")]
    done = subprocess.run(words, input=command.encode(), cwd=node.folder, env=node.environment, check=False)
    return done.returncode, node.records()[-1]


def python(text: str) -> str:
    return f"'{sys.executable}' -S -E - <<'END'\n{text}\nEND\n"


@pytest.mark.deep
@pytest.mark.parametrize("then", ["c.fclose(stream)", "c.fflush(stream)", "c.exit(0)"])
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_stream_that_nobody_asks_how_it_went(node: Node, size: int, then: str) -> None:
    """The program would end with 0."""
    text = STREAM.format(path="/dev/full", size=size, then=then)
    code, record = run(node, python(text))
    assert (code, record["cause"], record["message"]) == (1, "disk_full", f"error: {FULL}")
    code, record = run(node, python(text.replace("/dev/full", "/dev/null")))
    assert (code, record["cause"]) == (0, None)


@pytest.mark.parametrize("command", ["date > /dev/full; true", "true | tee >(date > /dev/full; true); sleep 0.1"])
def test_a_program_whose_exit_code_nobody_looks_at(node: Node, command: str) -> None:
    code, record = run(node, command)
    assert (code, record["cause"], record["message"]) == (1, "disk_full", f"error: {FULL}")


def test_what_the_log_does_not_hold_is_known_all_the_same(node: Node) -> None:
    """The log, too, may lie on a full disk."""
    code, record = run(node, "exec 3>/dev/null; date >/dev/full 2>&3; true")
    assert (code, record["cause"], record["message"]) == (1, "disk_full", f"error: {FULL}")


SEEN = """
import os
try:
    os.write(os.open("/dev/full", os.O_WRONLY), b"x")
except OSError as error:
    assert "No space left" in str(error)
else:
    raise SystemExit(3)
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(python(SEEN), id="one that sees it itself"),
        pytest.param("ls /nowhere 2>/dev/full || true", id="what is said on stderr"),
        pytest.param("date > /dev/full 2>&1 || true", id="what goes where stderr goes"),
        pytest.param("echo x > /dev/full || true", id="bash itself"),
    ],
)
def test_what_is_no_lost_result(node: Node, command: str) -> None:
    code, record = run(node, command)
    assert (code, record["cause"]) == (0, None), record["message"]


def test_the_limit_of_open_files_is_named_whatever_the_program_says(node: Node) -> None:
    text = "import os\ntry:\n  while True: os.open('/', 0)\nexcept OSError:\n  raise SystemExit('Error loading x')"
    code, record = run(node, python(text), hard_limit=64)
    assert (code, record["cause"]) == (1, "open_file_limit")
    assert record["message"] == (
        "Error loading x; a program had all 64 files open that it may: raise the limit (ulimit -Hn)"
    )
    survived = text.replace("raise SystemExit('Error loading x')", "pass")
    assert run(node, python(survived), hard_limit=64)[0] == 0, "it went on with fewer"


def test_other_failures_are_not_the_limit(node: Node) -> None:
    code, record = run(node, "ls /nowhere", hard_limit=64)
    assert (code, record["cause"]) == (2, "tool_error")


def test_a_library_of_the_users_is_loaded_too(node: Node) -> None:
    node.environment["LD_PRELOAD"] = "libdl.so.2"
    code, record = run(node, """case $LD_PRELOAD in /proc/*:libdl.so.2) ;; *) exit 3 ;; esac""")
    assert (code, record["cause"]) == (0, None)


def test_without_a_compiler_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: Node) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    start = lay_out(tmp_path / "place")
    line = compiled.build(PINNED / compiled.LIBRARY, compiled.library(start))
    assert line == f"{compiled.WITHOUT}, for there is no C compiler here: install gcc"
    monkeypatch.undo()
    node.launch = start
    assert run(node, "date")[0] == 0, "jobs run without it"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'x.c: no header' >&2; exit 1", "cannot compile failed_writes.c: x.c: no header"),
        (': >"$8"', "failed_writes.c does not work on this system"),
    ],
)
def test_a_compiler_that_makes_nothing_of_it(tmp_path: Path, monkeypatch, script: str, why: str) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/bash\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(compiled, "COMPILERS", (str(compiler),))
    start = lay_out(tmp_path / "place")
    assert why in compiled.build(PINNED / compiled.LIBRARY, compiled.library(start))
    assert {path.name for path in start.parents[1].iterdir()} == {"launcher"}
