"""`gpd ledger show` and `gpd ledger check` on made-up ledgers; the launcher finds the overlaps."""

import json
from datetime import UTC, datetime

import pytest
import subcommands

from gpd.commands import gpd_ledger
from gpd.machines import launcher
from gpd.records.ledger import read_ledger
from gpd.tables.summary import summarize

NUMBERS = (
    *("wait_s", "wall_s", "cpu_user_s", "cpu_system_s", "cpu_s", "peak_rss_mib", "peak_cgroup_mib"),
    *("read_mib", "write_mib", "read_calls_mib", "write_calls_mib"),
)


def clock(second):
    return f"2026-11-20T12:00:{second:02d}.000000000Z"


def record(number, begin=0, end=10, cpus="0-1", **changed):
    """A job of `end - begin` seconds that succeeded; `changed` says what is different about it."""
    whole = {
        **{"schema": 1, "id": f"{number:016x}", "run": None, "rule": "map_and_sort", "step": "map_and_sort"},
        **{"wildcards": {"sample": f"S{number}", "unit": "L1"}, "shard": None, "attempt": 1, "threads": 2},
        **{"mem_mb": 100, "binding": "compact", "boundary": "l3", "memory": "default", "smt": False},
        **{"cpus": cpus, "split": False, "start": clock(begin), "end": clock(end)},
        **dict.fromkeys(NUMBERS, 1.5),
        **{"wall_s": float(end - begin), "peak_rss_source": "sampled"},
        **{"exit_code": 0, "signal": None, "cause": None, "message": None},
        **{"cpus_allowed": cpus, "cpus_seen": cpus, "binding_ok": True},
        **{"host": "node1", "pid": 17, "command_sha256": "0" * 64, "log": f"logs/map_and_sort/S{number}.log"},
    }
    return whole | changed


def killed(number, **changed):
    """What the next launcher writes about a job that was killed together with its launcher."""
    unknown = dict.fromkeys([*NUMBERS, "end", "exit_code", "cpus_allowed", "cpus_seen", "binding_ok", "command_sha256"])
    output = {"cause": "killed", "message": "launcher and job were killed together; when is not known"}
    return record(number) | unknown | output | {"peak_rss_source": None, "wait_s": 0.5} | changed


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a ledger; lines are records, or text as it stands. Return the run's folder."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))

    def write(*lines):
        run = tmp_path / "run"
        run.mkdir()
        text = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
        (run / "ledger.jsonl").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        return run

    return write


def gpd(subcommand, *arguments):
    return subcommands.gpd("ledger", subcommand, *arguments)


def shown(*arguments):
    done = gpd("show", *arguments)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


# check


def test_a_ledger_without_problems_is_one_line(write):
    failed = record(2, 10, 12, exit_code=1, cause="tool_error", message="it broke")
    run = write(record(1), failed, record(2, 13, 14, attempt=2, id="f" * 16), record(3, 0, 20, cpus="2-3"))
    done = gpd("check", run)
    assert done.output == "4 attempts at 3 jobs, 1 failed; no two jobs shared a CPU\n"
    assert done.exit_code == 0


def test_the_ledger_itself_can_be_named(write):
    assert gpd("check", write(record(1)) / "ledger.jsonl").output.startswith("1 attempt at 1 job, 0 failed; no two")


def test_jobs_whose_launchers_were_killed_are_recorded_before_it_looks(write, monkeypatch):
    run = write(record(1))

    def recover():
        with (run / "ledger.jsonl").open("a") as ledger:
            ledger.write(json.dumps(killed(2)) + "\n")
        return []

    monkeypatch.setattr(launcher, "jobs", recover)
    assert gpd("check", run).output.startswith("2 attempts at 2 jobs, 1 failed")


def test_two_jobs_on_one_cpu_at_one_time_are_an_error(write):
    run = write(record(1, 0, 10, cpus="0-1"), record(2, 9, 12, cpus="1-2"), record(3, 10, 12, cpus="0"))
    done = gpd("check", run)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"{run}/ledger.jsonl lines 1 and 2: both held CPU 1 of node1 at 2026-11-20 12:00:09+00:00",
    ]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("line", "output"),
    [
        ('{"schema": 1, "rule"', "not JSON"),
        ("", "not JSON"),
        ("[]", "no record of schema version 1"),
        (record(2, schema=2), "no record of schema version 1"),
        (record(2, wall_s=-1.0), "Expected `float` >= 0.0 - at `$.wall_s`"),
        (record(2, id="7"), "at `$.id`"),
        (record(2, step=None), "Expected `str`, got `null` - at `$.step`"),
        (record(2, cpus_seen="one"), "'one': no list of CPUs"),
        (record(2, start="2026-02-31T12:00:00.000000000Z"), "day is out of range"),
        (record(2, exit_code=256), "at `$.exit_code`"),
    ],
)
def test_a_broken_line_is_named_by_its_number(write, line, output):
    run = write(record(1, cpus="5"), line, record(3, cpus="2-3"))
    done = gpd("check", run)
    assert done.exit_code == 1
    (problem,) = done.output.splitlines()
    assert problem.startswith(f"{run}/ledger.jsonl line 2: ")
    assert output in problem


def test_an_attempt_that_was_recorded_twice_is_an_error(write):
    done = gpd("check", write(record(1), record(1, 20, 30)))
    assert done.exit_code == 1
    assert "line 2: the same attempt as line 1" in done.output


@pytest.mark.parametrize(
    ("odd", "doubt"),
    [
        (killed(2), "1 whose end is not known"),
        (record(2, cpus=None, binding="none", split=None, binding_ok=None), "1 without CPUs of its own"),
        (record(2, 10, 12, binding_ok=False, cpus_seen="0-5"), "1 seen outside its CPUs"),
        (record(2, 10, 12, binding_ok=None, cpus_seen=None), "1 of whose CPUs nothing was seen"),
    ],
)
def test_the_verdict_claims_no_more_than_the_ledger_tells(write, odd, doubt):
    done = gpd("check", write(record(1), odd))
    assert done.exit_code == 0
    assert done.output.endswith(f"; no two jobs held one CPU, as far as is known: {doubt}\n")


def test_a_message_may_hold_any_character(write):
    odd = record(1, exit_code=1, cause="tool_error", message="first\u2028second\u0085[red]third")
    assert gpd("check", write(odd, record(2, cpus="5"))).exit_code == 0


@pytest.mark.parametrize("subcommand", ["show", "check"])
def test_a_run_without_ledger_is_refused_in_one_line(tmp_path, subcommand):
    done = gpd(subcommand, tmp_path)
    assert done.exit_code == 2
    assert done.output == (
        f"gpd ledger {subcommand}: {tmp_path}/ledger.jsonl: no such ledger; name a run's folder or its ledger.jsonl\n"
    )


# show


def test_a_row_an_attempt_with_what_it_took(write):
    told = {"cpu_s": 15.0, "peak_rss_mib": 2048.4, "read_mib": 12.25, "write_mib": 0.0, "wait_s": 0.04}
    title, heading, row = shown(write(record(1, **told)))
    assert title.strip().startswith("1 attempt, 2026-11-20 (UTC)")
    specs = "20 12:00:00 map_and_sort S1/L1 1 0-1 0.0 10.0 15.0 1.50 2,048 12.2 0.0 yes ok"
    assert row.split() == specs.split()
    names = "start rule sample/unit try CPUs wait wall CPU s use peak read written bound outcome"
    assert heading.split() == names.split()


def test_what_lay_on_network_file_systems_is_summed_up_below(write):
    shared = [{"shared_inputs_mib": 1024.25, "shared_outputs_mib": 2.0}, {"shared_outputs_mib": 0.5}]
    lines = shown(write(*(record(number, **sizes) for number, sizes in enumerate(shared, 1))))
    assert lines[-1].strip() == "on network file systems: inputs 1,024.2 MiB, outputs 2.5 MiB"


def test_failures_show_cause_and_message_as_they_stand(write):
    failed = record(1, exit_code=137, signal=9, cause="out_of_memory", message="[red]no[/] heap", binding_ok=False)
    assert shown(write(failed))[-1].rstrip().endswith("NO     out_of_memory: [red]no[/] heap")


def test_what_a_killed_launcher_left_unknown_is_blank(write):
    row = shown(write(killed(1)))[-1]
    assert row.split()[:7] == ["20", "12:00:00", "map_and_sort", "S1/L1", "1", "0-1", "0.5"]
    assert row.split()[7] == "killed:"


def test_a_job_that_never_began_has_no_start(write):
    row = shown(write(killed(1, start=None, cpus=None, split=None)))
    assert "never begun" in row[0]
    assert row[-1].split()[:4] == ["map_and_sort", "S1/L1", "1", "0.5"]


def test_json_is_the_records_as_they_stand(write):
    records = [record(1), killed(2)]
    assert json.loads("\n".join(shown(write(*records), "--json"))) == records


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_lines_that_are_no_records_are_left_out_and_counted(write, options):
    done = gpd("show", write("{", record(1), '{"schema": 1, "ru'), *options)
    assert done.exit_code == 0
    assert "S1" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("gpd: warning: ")
    assert line.endswith("left out: 2 of its lines (number 1, 3), no records of jobs: gpd ledger check says why")


def test_attempts_are_shown_in_order_of_start(write):
    never = killed(4, start=None, cpus=None, split=None)
    rows = shown(write(never, record(1, 20, 30), record(2, 5, 40), record(3, 7, 9)))[2:]
    assert [word for row in rows for word in row.split() if "/L1" in word] == ["S2/L1", "S3/L1", "S1/L1", "S4/L1"]


def test_an_empty_ledger_has_no_rows(write):
    run = write()
    assert shown(run)[0].startswith("0 attempts, never begun")
    assert gpd("check", run).output == "0 attempts at 0 jobs, 0 failed; no two jobs shared a CPU\n"


# what the tables of a run make of it


def test_times_that_are_not_known_are_left_out_of_a_run(write):
    run = write(record(1, 5, 10), killed(2), killed(3, start=None, cpus=None), record(2, 20, 30, attempt=2))
    summary = summarize(read_ledger(run / "ledger.jsonl"), ["map_and_sort"])
    assert summary.steps["map_and_sort"] == {"S1": 5.0, "S2": 10.0}
    assert summary.makespan_s == 30
    assert summary.succeeded == ("S1", "S2")
    assert [failure.owner for failure in summary.failures] == ["S3"]


def test_a_run_of_which_no_end_is_known_has_no_makespan(write):
    summary = summarize(read_ledger(write(killed(1)) / "ledger.jsonl"), ["map_and_sort"])
    assert summary.makespan_s is None


def test_a_job_that_waited_for_its_parts_counts_for_what_it_did_itself(write):
    """Else their time, on its CPUs, would count twice."""
    job = record(1, shard="gather", wall_s=10.0, cpu_s=0.5)
    parts = [record(number, shard=f"{number - 1}/2", wall_s=4.0, cpu_s=4.0, gang=job["id"]) for number in (2, 3)]
    run = write(job | {"gang": job["id"]}, *parts, record(4, shard="gather", wall_s=3.0, cpu_s=0.5))
    assert [attempt.own_s for attempt in read_ledger(run / "ledger.jsonl")] == [0.5, 4.0, 4.0, 3.0]


def test_cpu_use_needs_both_times(write):
    run = write(record(1, cpu_s=5.0), record(2, cpu_s=None), record(3, 4, 4))
    uses = [attempt.cpu_use for attempt in read_ledger(run / "ledger.jsonl")]
    assert uses == [0.5, None, None]


def test_times_are_utc(write):
    (attempt,) = read_ledger(gpd_ledger.find(write(record(1))))
    assert attempt.start == datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_ledger_that_allocations_more_cpus_than_can_be_held_against_each_other_is_told(write):
    run = write(*(record(number, cpus="0-65535") for number in range(40)))
    (problem,) = gpd("check", run).output.splitlines()
    assert problem.endswith("more than 2,000,000 CPUs in all its lines: not held against each other")
