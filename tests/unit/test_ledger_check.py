"""What holds a ledger's records against each other: attempts recorded twice, jobs that held one CPU at one time."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from launching import SCHEMA
from snakemake_executor_plugin_pinned import ledger_checks, ledger_command
from test_ledger_command import record

from gpd.records import ledger
from gpd.records.ledger import Attempt, parse_attempt
from gpd.records.ledger_check import LedgerLine, duplicates, overlaps


def numbered(*records):
    return [
        (LedgerLine(Path("ledger.jsonl"), line), parse_attempt(json.dumps(record)))
        for line, record in enumerate(records, 1)
    ]


def since_boot(number, uptime_s, wall_s=10.0, boot="b"):
    """A job on CPU 0 whose UTC is that of all others: the time since the boot tells them apart."""
    return record(number, cpus="0", boot=boot, uptime_s=uptime_s) | {"wall_s": wall_s}


def test_the_schema_that_users_read_has_every_field():
    of_records = {field.name for field in fields(Attempt)} - {"owned_by"}  # which is read from the others
    assert of_records <= set(json.loads(SCHEMA.read_text())["properties"])


def test_a_cpu_that_two_jobs_held_is_named():
    (problem,) = overlaps(numbered(since_boot(1, 10.0), since_boot(2, 19.0)))
    assert problem == "ledger.jsonl lines 1 and 2: both held CPU 0 of node1 at 2026-11-20 12:00:00+00:00"


def test_a_clock_set_back_is_no_overlap():
    assert overlaps(numbered(since_boot(1, 10.0), since_boot(2, 21.0))) == []


def test_jobs_of_two_boots_do_not_overlap():
    assert overlaps(numbered(since_boot(1, 10.0), since_boot(2, 10.0, boot="c"))) == []


def test_jobs_without_cpus_or_without_a_known_end_have_no_say():
    assert overlaps(numbered(since_boot(1, 10.0), since_boot(2, 10.0, wall_s=None))) == []
    assert overlaps(numbered(since_boot(1, 10.0), since_boot(2, 10.0) | {"cpus": None})) == []


def test_records_without_a_boot_go_by_utc():
    assert len(overlaps(numbered(record(1), record(2)))) == 2, "a line for each of its two CPUs"
    assert overlaps(numbered(record(1), record(2, end=10) | {"end": None})) == []


def test_an_overlap_behind_a_long_job_is_found():
    """The one that overlaps need not be the next in time."""
    jobs = [since_boot(number, start, end - start) for number, (start, end) in enumerate([(1, 9), (2, 3), (5, 6)])]
    named = [f"ledger.jsonl lines {lines}" for lines in ("1 and 2", "1 and 3")]
    assert [problem.partition(":")[0] for problem in overlaps(numbered(*jobs))] == named


def test_an_attempt_recorded_twice_is_named_by_both_lines():
    assert duplicates(numbered(record(1), record(2), record(1, 20, 30))) == [
        "ledger.jsonl line 3: the same attempt as line 1"
    ]


def test_an_overlap_of_jobs_whose_time_is_not_known_is_found():
    (problem,) = overlaps(numbered(*(since_boot(number, 10.0) | {"start": None, "end": None} for number in (1, 2))))
    assert "both held CPU 0 of node1" in problem


def test_gpd_and_the_executors_own_command_find_the_same(tmp_path):
    """By one function: what a ledger proves is no matter of who reads it."""
    gang = {"gang": "a", "uptime_s": 100.0}
    jobs = [since_boot(1, 10.0), since_boot(2, 19.0), since_boot(3, 15.0, wall_s=1.0)]
    jobs += [since_boot(number, 100.0) | gang for number in (4, 5)]
    assert ledger.read_lines is ledger_checks.read_lines
    assert [problem.partition(":")[0] for problem in overlaps(numbered(*jobs))] == [
        *(f"ledger.jsonl lines {lines}" for lines in ("1 and 2", "1 and 3"))
    ]
    (tmp_path / "ledger.jsonl").write_text("".join(f"{json.dumps(job)}\n" for job in jobs))
    records, problems = ledger_command.read(str(tmp_path / "ledger.jsonl"))
    assert problems == []
    assert ledger_command.overlaps(records) == [
        f"map_and_sort S1 L1 and map_and_sort S{other} L1 both held CPU 0 of node1" for other in (2, 3)
    ]


def test_who_checks_records_does_not_wait_for_snakemake():
    for module in ("gpd.commands.gpd_ledger", "snakemake_executor_plugin_pinned.ledger_command"):
        asked = f"import sys, {module}; print('snakemake' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
        assert done.stdout == "False\n", module
