"""What the launcher concludes: from journals, clocks, processes, exit codes, counters of CPU time. No job runs."""

import errno
import fcntl
import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from launcher import attempt as attempts
from launcher import diagnose, files, ledger, measure, node, processes
from launcher import wrapper as job
from launcher.attempt import Attempt
from launcher.journal import Journal
from launcher.options import parse
from launcher.requester import Requester
from launcher.runtime import runtime_dir
from launching import wait_until

# ---- who else was on the CPUs

TICKS = 100  # a second's
PER_S = {"idle": (0, 0, TICKS), "busy": (TICKS, 0, TICKS), "stolen": (0, TICKS, TICKS)}


def load(*cpus, seconds=10, ours_s=0.0, width=1):
    before = {cpu: (5, 5, 5) for cpu, _ in enumerate(cpus)}
    after = {
        cpu: tuple(5 + round(seconds * sum(share * PER_S[kind][i] for kind, share in what.items())) for i in range(3))
        for cpu, what in enumerate(cpus)
    }
    return measure.contention(before, after, ours_s, seconds, width)


@pytest.fixture(autouse=True)
def hundred_ticks(monkeypatch):
    monkeypatch.setattr(measure, "TICK_S", 1 / TICKS)


def test_a_job_alone_on_its_cpus():
    assert load({"busy": 1.0}, ours_s=9.95) == {"cpu_contention": False, "other_cpu_s": 0.05, "steal_s": 0}
    assert load({"idle": 1.0}) == {"cpu_contention": False, "other_cpu_s": 0, "steal_s": 0}


def test_half_of_the_cpu_went_to_somebody_else():
    assert load({"busy": 1.0}, ours_s=5.0) == {"cpu_contention": True, "other_cpu_s": 5, "steal_s": 0}


def test_the_sibling_that_the_allocation_holds_idle_counts():
    assert load({"busy": 1.0}, {"busy": 0.5, "idle": 0.5}, ours_s=10.0)["cpu_contention"]


def test_noise_is_no_contention():
    assert load({"busy": 0.09, "idle": 0.91})["cpu_contention"] is False
    assert load({"busy": 0.3, "idle": 0.7}, seconds=1)["cpu_contention"] is False


def test_what_the_hypervisor_takes_stands_apart():
    stolen = load({"busy": 0.5, "stolen": 0.5}, ours_s=5.0)
    assert stolen == {"cpu_contention": False, "other_cpu_s": 0, "steal_s": 5}


def test_jobs_too_short_to_tell():
    short = load({"busy": 1.0}, seconds=0.4)
    assert (short["cpu_contention"], short["other_cpu_s"]) == (None, 0.4)


def test_a_container_that_shows_other_cpus_tells_nothing():
    """lxcfs numbers CPUs anew; gVisor shows zeros."""
    assert measure.cpu_times({10**6}) == {10**6: (0, 0, 0)}
    assert measure.contention({7: (0, 0, 0)}, {7: (0, 0, 0)}, 1.0, 10.0, 1) == {}
    assert measure.cpu_times(None) == {}


# ---- journals


@pytest.fixture
def journal(tmp_path):
    (tmp_path / "jobs").mkdir()
    return Journal(str(tmp_path), {"id": "a" * 16})


def noted(text):
    return {"log": "logs/a.log", "rule": text}


def test_a_journal_returns_what_was_noted_last(journal):
    assert journal.notes() is None
    for rule in ("one", "two"):
        journal.write(noted(rule), "ledger.jsonl")
    assert journal.notes()["record"]["rule"] == "two"


def test_notes_that_were_torn_before_bash_added_a_line_are_passed_over(journal):
    journal.write(noted("one"), "ledger.jsonl")
    with Path(journal.path).open("a") as file:
        file.write("{'record': {'schema': 1, 'id': 'abstatus 137 0\n")
    assert journal.notes()["record"]["rule"] == "one"


def test_a_full_disk_leaves_what_was_noted_before(journal, monkeypatch, capfd):
    journal.write(noted("one"), "ledger.jsonl")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:20] if fd == journal.fd else data))
    journal.write(noted("two"), "ledger.jsonl")
    assert os.strerror(errno.ENOSPC) in capfd.readouterr().err
    assert journal.notes()["record"]["rule"] == "one"
    monkeypatch.undo()
    journal.write(noted("three"), "ledger.jsonl")
    assert journal.notes()["record"]["rule"] == "three"


def test_exit_codes_of_pipes_stand_between_the_notes(journal):
    os.write(journal.fd, b"status 137 0 1\n")
    journal.write(noted("one"), "ledger.jsonl")
    os.write(journal.fd, b"status 1\nstatus 1")
    assert journal.statuses() == [[137, 0, 1], [1]]
    assert journal.notes()["record"]["rule"] == "one"


# ---- causes


def settings(tmp_path, log):
    (tmp_path / "log").write_text(log)
    return SimpleNamespace(log=str(tmp_path / "log"), stall_s=0)


HEADER = '[main_samview] fail to read the header from "-".\n'


@pytest.mark.parametrize(
    ("codes", "cause", "message"),
    [
        ([137, 0, 1], "killed", "SIGKILL to program 1 of 3 of a pipe"),
        ([0, 139, 1], "signal", "SIGSEGV to program 2 of 3 of a pipe"),
        ([141, 1], "tool_error", HEADER.strip()),
        ([1, 1], "tool_error", HEADER.strip()),
        ([255, 1], "tool_error", HEADER.strip()),
    ],
)
def test_what_a_program_of_a_pipe_died_of_goes_before_what_others_say_of_it(tmp_path, codes, cause, message):
    assert diagnose.diagnose(1, None, settings(tmp_path, HEADER), 0, [codes]) == (cause, message)


def test_killed_for_want_of_memory_within_a_pipe(tmp_path):
    """No cgroup of its own: the node's count rose, and a program of the pipe got SIGKILL."""
    found = diagnose.diagnose(1, None, settings(tmp_path, HEADER), 1, [[137, 1]])
    assert found == ("out_of_memory", "killed by the kernel for want of memory")
    assert diagnose.diagnose(1, None, settings(tmp_path, HEADER), 1, [[1, 1]])[0] == "tool_error", "another's"


@pytest.mark.parametrize(("code", "codes"), [(247, []), (247, [[247, 0]]), (1, [[247, 0]])])
def test_a_child_of_a_program_in_python_that_was_killed(tmp_path, code, codes):
    """`gatk` as it comes ends with sys.exit of its JVM's return code, -9."""
    found = diagnose.diagnose(code, None, settings(tmp_path, "Using GATK jar x\n"), 1, codes)
    assert found == ("out_of_memory", "killed by the kernel for want of memory")
    assert diagnose.diagnose(code, None, settings(tmp_path, ""), 0, codes)[0] == "killed"


def test_codes_that_are_no_signals(tmp_path):
    assert diagnose.diagnose(255, None, settings(tmp_path, ""), 1)[0] == "tool_error"
    assert diagnose.diagnose(250, None, settings(tmp_path, ""), 0) == ("signal", "SIGABRT")


STREAM = "\nsambamba 1.0.0\n\nsambamba-sort: Unable to write to stream\n"


def test_a_tool_that_could_not_write_and_a_full_disk(tmp_path):
    full = diagnose.diagnose(1, None, settings(tmp_path, STREAM), 0, [[0, 1]], lambda: "/data")
    assert full == ("disk_full", "sambamba-sort: Unable to write to stream; the disk of /data is full")
    assert diagnose.diagnose(1, None, settings(tmp_path, STREAM), 0)[0] == "tool_error", "not the disk"
    assert diagnose.diagnose(1, None, settings(tmp_path, HEADER), 0, (), lambda: "/data")[0] == "tool_error"
    assert diagnose.diagnose(1, None, settings(tmp_path, ""), 0, (), lambda: "/data")[0] == "disk_full"


def test_a_file_that_could_not_be_made_where_inodes_have_run_out(tmp_path):
    line = "sambamba-markdup: Cannot open or create file 'x.bam'"
    full = diagnose.diagnose(1, None, settings(tmp_path, line), 0, [[1, 0]], lambda: "/data")
    assert full == ("disk_full", f"{line}; the disk of /data is full")
    assert diagnose.diagnose(1, None, settings(tmp_path, line), 0)[0] == "tool_error", "not the disk"


@pytest.mark.parametrize("where", ["bash", "/usr/bin/bash", "environment"])  # the second in a function
def test_a_tool_that_aborts_on_a_full_disk(tmp_path, where):
    line = f"{where}: line 5: 4711 Aborted   cuffquant -o work"
    aborted = settings(tmp_path, f"{line}\n")
    full = diagnose.diagnose(134, None, aborted, 0, (), lambda: "/tmp")
    assert full == ("disk_full", f"{line}; the disk of /tmp is full")
    assert diagnose.diagnose(134, None, aborted, 0)[0] == "signal"


JVM = 'Exception in thread "main" java.lang.InternalError: Error loading java.security file'
LOST = "error: cannot write x.gtf: No space left on device"


@pytest.mark.parametrize(
    ("log", "write", "files", "cause", "message"),
    [
        (JVM, None, 64, "open_file_limit", f"{JVM}; a program had all 64 files open that it may: raise the limit"),
        ("", None, 64, "open_file_limit", "exit code 1; a program had all 64 files open"),
        (HEADER, LOST, None, "disk_full", LOST),
        (f"{HEADER}\n{LOST}", LOST, 64, "disk_full", LOST),
        (HEADER, "error: cannot write x: Input/output error", None, "io_error", "error: cannot write x: Input"),
        (HEADER, "error: cannot write x: File too large", None, "file_size_limit", "error: cannot write x: File"),
        ("java.lang.OutOfMemoryError", None, 64, "out_of_memory", "java.lang.OutOfMemoryError"),
        (HEADER, None, None, "tool_error", HEADER.strip()),
    ],
)
def test_what_programs_could_not_write_or_open(tmp_path, log, write, files, cause, message):
    notes = SimpleNamespace(failed_write=lambda: write, ran_out_of_files=lambda: files)
    found = diagnose.diagnose(1, None, settings(tmp_path, log), 0, notes=notes)
    assert found[0] == cause
    assert found[1].startswith(message)


def test_full_disks_are_looked_for_where_the_job_writes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    full = f"{tmp_path}/a b"
    monkeypatch.setattr(files.outputs(), "is_full", lambda place, room: place == full)
    assert files.full_disk(["x", "a b/x"]) == full
    assert files.full_disk(["x", "/nowhere/x"]) is None
    monkeypatch.setenv("TMPDIR", full)
    assert files.full_disk([]) == full


def test_what_cannot_be_written_to_is_not_full():
    everything = 1 << 60
    assert files.outputs().is_full(".", everything)
    assert not files.outputs().is_full("/proc", everything)
    assert not files.outputs().is_full("/nowhere", everything)


def test_signals_are_read_from_exit_codes():
    assert diagnose.crash_in_pipe([[0, 128 + signal.SIGTERM]])[0] is signal.SIGTERM
    assert diagnose.crash_in_pipe([[137], [128 + 65, 1]]) == (None, None)


# ---- why Slurm ended a job: what scontrol prints, as it was seen

RUNNING = "JobId=7 JobName=x JobState=RUNNING Reason=None TimeLimit=00:10:00"


def slurm_shows(monkeypatch, shown):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(node, "ask_slurm", lambda command, timeout_s: shown)


@pytest.mark.parametrize(
    ("shown", "cause", "message"),
    [
        ("JobId=7 JobState=COMPLETING Reason=TimeLimit TimeLimit=00:01:00", "timed_out", "time limit, 00:01:00,"),
        ("JobId=7 JobState=TIMEOUT Reason=TimeLimit TimeLimit=00:01:00", "timed_out", "time limit, 00:01:00,"),
        ("JobId=7 JobState=OUT_OF_MEMORY Reason=OutOfMemory", "out_of_memory", "a larger mem_mb"),
        ("JobId=7 JobState=COMPLETING Reason=None", "killed", "Slurm job 7 was cancelled"),
        (RUNNING, "killed", "SIGTERM to the launcher"),
        ("", "killed", "SIGTERM to the launcher"),
    ],
)
def test_slurm_knows_why_it_ended_a_job(monkeypatch, tmp_path, shown, cause, message):
    slurm_shows(monkeypatch, shown)
    found = diagnose.diagnose(143, "SIGTERM to the launcher", settings(tmp_path, ""), 0)
    assert found[0] == cause
    assert message in found[1]


def test_slurm_knows_why_it_ended_a_job_that_waited(monkeypatch):
    slurm_shows(monkeypatch, "JobId=7 JobState=COMPLETING Reason=TimeLimit TimeLimit=00:01:00")
    ended = []
    attempt = SimpleNamespace(
        record={}, requester=SimpleNamespace(gone=lambda: None), finish=lambda *told: ended.extend(told)
    )
    job.end_waiting(attempt, SimpleNamespace(signum=signal.SIGTERM, why="SIGTERM to the launcher"), "CPUs")
    assert ended[0] == "timed_out"
    assert ended[1].startswith("Slurm's time limit, 00:01:00,") and ended[1].endswith("while it waited for CPUs")


def test_slurm_is_asked_where_something_was_killed_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(diagnose, "by_slurm", lambda: pytest.fail("the tool says itself what was wrong"))
    assert diagnose.diagnose(1, None, settings(tmp_path, HEADER), 0)[0] == "tool_error"


def test_a_slurm_that_does_not_answer_is_no_reason_to_fail(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert diagnose.by_slurm() is None
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert diagnose.by_slurm() is None


def test_a_job_that_was_killed_with_its_launcher_near_its_memory():
    assert diagnose.by_journal(["memory 460 500", "status 1 0", "memory 611 500"]) == (
        *("out_of_memory", "killed, and its launcher with it, when it had 611 of the 500 MiB granted"),
    )
    assert diagnose.by_journal(["status 1 0"])[0] == "killed"


def test_a_job_that_was_killed_with_its_launcher_while_it_was_being_ended():
    lines = ["memory 611 500", "ended SIGTERM to the launcher", "status 143"]
    assert diagnose.by_journal(lines) == ("killed", "SIGTERM to the launcher")


def test_memory_is_noted_near_what_slurm_granted(monkeypatch, tmp_path):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    runtime = runtime_dir()
    asked, _ = parse(["--step", "s", "--rule", "r", "--log", "log", "--mem-mb", "500"])
    asked.ledger = str(tmp_path / "ledger.jsonl")

    def noted(*used_mib):
        attempt = Attempt(asked, "true", SimpleNamespace(pids=lambda: ["1", "2"]), runtime)
        for mib in used_mib:
            attempt.note_memory(mib)
        lines = (tmp_path / "runtime/jobs" / attempt.record["id"]).read_text().splitlines()
        return [line for line in lines if line.startswith("memory ")]

    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert noted(600) == []
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(attempts, "rss_mib", lambda pid: 50 * int(pid))
    assert noted(290, 310, 320, 200, 600) == ["memory 460 500", "memory 750 500"]


def test_a_job_that_never_began_waited_until_its_end(monkeypatch, tmp_path):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    asked, _ = parse(["--step", "s", "--rule", "r", "--log", "log"])
    asked.ledger = str(tmp_path / "ledger.jsonl")
    attempt = Attempt(asked, "true", Requester(), runtime_dir())
    attempt.began -= 3600
    attempt.finish("killed", "SIGTERM to the launcher", 143)
    assert attempt.record["start"] is None
    assert 3600 <= attempt.record["wait_s"] < 3700


# ---- processes


def test_what_a_process_has_is_the_kernels_count(tmp_path):
    ours = psutil.Process()
    assert processes.rss_mib(ours.pid) == pytest.approx(ours.memory_info().rss / (1 << 20), rel=0.1)
    before = processes.open_files(ours.pid)
    with (tmp_path / "file").open("w"):
        assert processes.open_files(ours.pid) == before + 1 == ours.num_fds()
    assert processes.parent_of(ours.pid) == str(ours.ppid())
    assert set(processes.threads_of(ours.pid)) == {str(thread.id) for thread in ours.threads()}


def test_a_process_that_is_gone_has_nothing():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    pid = gone.pid
    assert (processes.rss_mib(pid), processes.open_files(pid), processes.parent_of(pid)) == (0, 0, "")
    assert processes.threads_of(pid) == processes.children(pid) == processes.descendants(pid) == []
    assert processes.io_counts(pid) == (0, 0, 0, 0)
    processes.send(pid, signal.SIGTERM)


def test_all_below_a_process_are_found_parents_first():
    tree = "bash -c 'sleep 60 & wait' & sleep 60 & wait"
    with subprocess.Popen(["bash", "-c", tree]) as top:
        below = wait_until(lambda: len(found := processes.descendants(top.pid)) == 3 and found)
        try:
            assert {*below[:2]} == {*processes.children(top.pid)}
            assert processes.parent_of(below[2]) in map(str, below[:2])
            assert set(below) == {child.pid for child in psutil.Process(top.pid).children(recursive=True)}
        finally:
            for pid in (*below, top.pid):
                processes.send(pid, signal.SIGKILL)


# ---- names of logs


@pytest.mark.parametrize(
    ("path", "prefix", "expected"),
    [
        ("logs/map/S1.log", "", "logs/map/S1.log"),
        ("logs/map/S1.log", ".snakemake/storage", "logs/map/S1.log"),
        ("/scratch/7/fs/logs/map/S1.log", "/scratch/7", "logs/map/S1.log"),
        ("/scratch/77/fs/logs/map/S1.log", "/scratch/7", "/scratch/77/fs/logs/map/S1.log"),
    ],
)
def test_a_log_is_named_as_it_is_kept_not_as_the_node_has_it(path, prefix, expected):
    assert ledger.stored_name(path, prefix) == expected


def test_what_a_full_disk_lets_through_of_a_line_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    ledger.append(str(path), {"id": "5f"})
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(ledger.os, "write", lambda fd, data: write(fd, data[:10]))
    with pytest.raises(OSError, match="No space left"):
        ledger.append(str(path), {"id": "60"})
    assert path.read_bytes() == before


def test_a_line_that_a_full_disk_cut_short_is_no_record(tmp_path):
    """Who takes it for one, or fails of it, keeps every later launcher from recording the job."""
    path, record = str(tmp_path / "ledger.jsonl"), {"id": "5f", "rule": "haplotype_caller"}
    ledger.append(path, record)
    line = Path(path).read_text()
    Path(path).write_text(line[: line.index("caller")])
    assert ledger.recorded(path, "5f") is None
    for _ in range(2):
        ledger.append(path, record, once=True)
    assert ledger.recorded(path, "5f")["rule"] == "haplotype_caller"
    assert len(Path(path).read_text().splitlines()) == 2, "what was cut, and the record once"


def test_a_reader_that_keeps_the_ledger_locked_holds_no_job_up(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(ledger, "PATIENCE_S", 0.05)
    path = tmp_path / "ledger.jsonl"
    path.touch()
    with path.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        ledger.append(str(path), {"id": "5f"})
    assert ledger.recorded(str(path), "5f")
    assert "ledger.jsonl: cannot be locked (Resource temporarily unavailable); appending" in capfd.readouterr().err


def test_a_link_in_the_ledgers_place_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "ledger.jsonl").symlink_to("other")
    with pytest.raises(OSError, match="symbolic link"):
        ledger.append(str(tmp_path / "ledger.jsonl"), {"id": "5f"})
    assert (tmp_path / "other").read_text() == "theirs"
