"""Services: they run for as long as jobs need them, on CPUs that all of these have together."""

import os
import signal
from pathlib import Path

import pytest
from folders import Folder, wait_until

pytestmark = pytest.mark.e2e
# `slow` takes two seconds to end, `stuck` fails to listen, and `next` runs on the CPUs that they leave
WORKFLOW = """
rule all:
    input: "next.txt"

rule slow:
    output: service("slow.socket")
    shell: "trap 'sleep 2; exit 0' TERM; touch {output}; while :; do sleep 0.1; done"

rule plain:
    output: service("plain.socket")
    log: "plain.log"
    shell: "touch {output}; exec sleep 300"

rule uses:
    input: "slow.socket", "plain.socket"
    output: "{x}.txt"
    wildcard_constraints: x="[ab]"
    shell: "cat {input}; USED > {output}"

rule next:
    input: "a.txt", "b.txt"
    output: "next.txt"
    shell: "date > {output}"
"""


@pytest.fixture
def here(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def of_command_line(text: str) -> list[str]:
    """The processes that have a text on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append(path.parent.name)
        except OSError:
            continue  # it has just ended
    return found


@pytest.mark.parametrize("binding", ["compact", "none"])
def test_a_service_that_is_needed_no_more_has_ended_well(here: Folder, binding: str) -> None:
    done = here.run(WORKFLOW.replace("USED", "date"), "--pinned-binding", binding, cores=4)
    assert done.returncode == 0, done.stderr
    records = {(each["rule"], *each["wildcards"].values()): each for each in here.records()}
    group = {("slow",), ("plain",), ("uses", "a"), ("uses", "b")}
    assert records.keys() == {*group, ("next",)} and len(here.records()) == 5
    assert {(each["cause"], each["exit_code"], each["signal"]) for each in records.values()} == {(None, 0, None)}
    assert "killed" not in done.stderr
    assert records["slow",]["wall_s"] > records["uses", "a"]["wall_s"] + 2, "its own end is its time, too"
    if binding == "compact":
        assert len({(records[each]["gang"], records[each]["cpus"]) for each in group}) == 1
        assert records["slow",]["gang"] and records["next",]["gang"] is None
        checked = here.ledger("check")  # `next` had its CPUs once the last service was gone
        assert checked.returncode == 0, checked.stdout


def test_a_service_ends_with_what_failed_beside_it(here: Folder) -> None:
    done = here.run(WORKFLOW.replace("USED", "[ {wildcards.x} = a ]; sleep 1; date"), cores=4)
    assert done.returncode == 1
    causes = {(each["rule"], *each["wildcards"].values()): each["cause"] for each in here.records()}
    assert causes["uses", "b"] == "tool_error"
    assert causes["slow",] == causes["plain",] == "killed", "not done: it was ended while it was needed"
    assert of_command_line(str(here.folder)) == []


def test_what_passes_through_a_pipe_is_no_broken_output(here: Folder) -> None:
    text = 'rule all:\n    input: "x"\n    output: "sum"\n    shell: "cat {input} > {output}"\n'
    text += 'rule writer:\n    output: pipe("x")\n    shell: "echo 5 > {output}; sleep 0.3"\n'
    done = here.run(text, "--pinned-checks", "1")
    assert done.returncode == 0, done.stderr
    assert [each["cause"] for each in here.records()] == [None, None]


def test_what_a_killed_run_held_for_a_group_stays_held_until_the_group_is_gone(here: Folder) -> None:
    run = here.start(here.command(WORKFLOW.replace("USED", "touch {wildcards.x}.began; sleep 300"), cores=4))
    wait_until(lambda: all((here.folder / f"{name}.began").exists() for name in "ab"))
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    other = Folder(here.folder / "other")
    other.folder.mkdir()
    other.environment |= {"GPD_RUNTIME_DIR": here.environment["GPD_RUNTIME_DIR"]}
    every = ("--pinned-ledger", str(here.folder / "ledger.jsonl"))
    text = f'rule all:\n    output: "x"\n    threads: {len(os.sched_getaffinity(0))}\n    shell: "touch x"\n'
    done = other.run(text, *every, cores=len(os.sched_getaffinity(0)))
    assert done.returncode == 0, done.stderr
    wait_until(lambda: len(here.records()) == 5)  # the last of the killed may still be writing its own
    causes = sorted((each["rule"], each["cause"]) for each in here.records())
    assert causes == [("all", None), *((rule, "killed") for rule in ("plain", "slow", "uses", "uses"))]
    checked = here.ledger("check")
    assert checked.returncode == 0, checked.stdout
