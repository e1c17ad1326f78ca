"""`pinned-ledger` on made-up records."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from snakemake_executor_plugin_pinned import ledger_command
from snakemake_executor_plugin_pinned.launcher.ledger import new_record
from snakemake_executor_plugin_pinned.launcher.options import parse


def record(rule: str, uptime_s: float = 1.0, **changed: Any) -> dict[str, Any]:
    """A job of ten seconds on CPU 0 that ended well; `changed` says what is different about it."""
    settings, _ = parse(["--rule", rule, "--step", rule])
    settings.run = ""
    ended = {"cpus": "0", "uptime_s": uptime_s, "wall_s": 10.0, "exit_code": 0, "binding_ok": True}
    return new_record(settings) | {"host": "node1", "boot": "b"} | ended | changed


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Check a ledger of records; return the exit code and what was said."""

    def check(*records: dict[str, Any]) -> tuple[int, list[str]]:
        path = tmp_path / "ledger.jsonl"
        path.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records))
        monkeypatch.setattr(sys, "argv", ["pinned-ledger", "check", str(path)])
        return ledger_command.main(), capsys.readouterr().out.splitlines()

    return check


WELL = (0, ["2 records, nothing wrong: no CPU was two jobs' at one time"])


def test_jobs_one_after_the_other_are_well(check: Any) -> None:
    assert check(record("a"), record("b", 11.0)) == WELL


def test_two_jobs_on_one_cpu_are_named(check: Any) -> None:
    assert check(record("a"), record("b", 10.5)) == (1, ["a and b both held CPU 0 of node1"])


def test_a_part_is_told_from_its_job(check: Any) -> None:
    assert check(record("a", shard="gather"), record("a", shard="1/2")) == (
        1,
        ["a gather and a 1/2 both held CPU 0 of node1"],
    )


def test_those_of_a_gang_hold_their_cpus_together(check: Any) -> None:
    assert check(record("a", gang="g"), record("b", gang="g")) == WELL


def test_an_attempt_recorded_twice_is_named(check: Any) -> None:
    again = record("a", id="0" * 16)
    assert check(again, again | {"uptime_s": 20.0}) == (1, [f"a: its attempt {'0' * 16} was recorded twice"])


def test_a_process_beside_its_cpus_is_named(check: Any) -> None:
    assert check(record("a", binding_ok=False, cpus_seen="0-1")) == (1, ["a: had 0, was on 0-1"])


def test_a_message_may_hold_any_character(check: Any) -> None:
    failed = {"exit_code": 1, "cause": "tool_error", "message": "first\u2028second\u0085third"}
    assert check(record("a"), record("b", 20.0, **failed)) == WELL


def test_records_without_a_time_since_the_boot_have_no_say(check: Any) -> None:
    older = record("a")
    del older["uptime_s"], older["boot"]
    assert check(older, record("b", wall_s=None)) == WELL
