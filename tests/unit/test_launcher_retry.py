"""Retries: what failed for its data is recorded again and not run again; all else is tried."""

import json
import time

import pytest
from jsonschema import Draft202012Validator
from launching import SCHEMA

DATA = "echo 'error: reads/1.fq: record 5: cut off' >&2; exit 3"


def again(node, command, *options, attempt=2):
    return node.run(f"{command}; touch ran", "--attempt", attempt, *options)


def test_what_failed_for_its_data_is_not_run_again(node):
    node.run(DATA, "--run", "this")
    for attempt in (2, 3):
        code, output, record = again(node, "touch ran", "--run", "this", attempt=attempt)
        assert (code, record["attempt"], record["cause"], record["start"]) == (1, attempt, "tool_error", None)
        assert record["message"].startswith("error: reads/1.fq: record 5: cut off (as attempt 1; not tried again)")
        assert record["message"] in output
    assert not (node.folder / "ran").exists()
    assert (node.folder / "logs/a.log").read_text() == "error: reads/1.fq: record 5: cut off\n"
    assert node.check() == ()
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    assert not [error for each in node.records() for error in validator.iter_errors(each)]


@pytest.mark.deep
@pytest.mark.parametrize(
    "command",
    [
        "echo 'java.lang.OutOfMemoryError: Java heap space' >&2; exit 1",
        "echo 'error: reads/1.fq: Stale file handle' >&2; exit 1",
        "kill -9 $$",
        "kill -SEGV $$",
        "true",  # and no output
        "exit 3",
        "echo 'samtools sort: failed to create threads: Resource temporarily unavailable' >&2; exit 1",
        "echo '[E::bgzf_flush] File write failed: Cannot send after transport endpoint shutdown' >&2; exit 1",
    ],
    ids=["memory", "file server", "killed", "crash", "no output", "no word", "threads", "evicted"],
)
def test_anything_else_is_tried_again(node, command):
    made = ("--outputs", "out")
    assert node.run(command, *made)[0]
    code, _, record = again(node, "echo made > out", *made)
    assert (code, record["attempt"], record["cause"]) == (0, 2, None)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("first", "options"),
    [
        (("--run", "another"), ()),
        (("--rule", "other"), ()),
        (("--wildcards", "sample=b"), ()),
        ((), ("--attempt", "1")),
    ],
    ids=["run", "rule", "sample", "first attempt"],
)
def test_only_the_same_job_of_the_same_run_tells(node, first, options):
    node.run(DATA, *first)
    assert again(node, "true", *options)[0] == 0


def test_an_earlier_run_without_a_name_refuses_nothing(node):
    """Its second and third attempts were refused; today's first ran out of memory."""
    for attempt in (1, 2, 3):
        node.run(DATA, "--attempt", attempt)
    node.run("echo 'java.lang.OutOfMemoryError: Java heap space' >&2; exit 1")
    assert again(node, "true")[0] == 0


@pytest.mark.deep
def test_data_that_were_mended_are_tried(node):
    """Where a bare Snakemake names no run, an earlier one's attempt may stand before this one's."""
    (node.folder / "1.fq").touch()
    node.run(DATA, "--inputs", "1.fq")
    assert again(node, "true", "--inputs", "1.fq")[0] == 1
    time.sleep(0.02)
    (node.folder / "1.fq").touch()
    assert again(node, "true", "--inputs", "1.fq")[0] == 0


@pytest.mark.deep
def test_shards_tell_of_their_step(node):
    """One failed for its data, and another ended well after it."""
    node.run(DATA, "--shard", "1/2")
    node.run("true", "--shard", "2/2")
    assert again(node, "true")[2]["cause"] == "tool_error"


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore::gpd.records.ledger.LedgerWarning")
def test_two_attempts_that_failed_differently_are_told_by_the_later(node):
    node.run(DATA)
    (line,) = node.ledger.read_text().splitlines()
    record = json.loads(line) | {"attempt": 2, "cause": "killed", "id": "0123456789abcdef"}
    node.ledger.write_text(f'{line}\n{json.dumps(record)}\n{{"rule": "rule", torn\n')
    assert again(node, "true", attempt=3)[0] == 0
