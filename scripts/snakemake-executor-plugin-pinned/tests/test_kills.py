"""What becomes of jobs when Snakemake, the launcher or all of them are killed, and of two runs side by side."""

import os
import signal
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from folders import Folder, wait_until
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake_executor_plugin_pinned.snakemake_interface import end_in_a_thread

pytestmark = pytest.mark.e2e
LONG = 'rule all:\n    output: "x"\n    shell: "echo $GPD_JOB > began; sleep {seconds}; touch {{output}}"\n'


@pytest.fixture
def here(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def of_job(job_id: str) -> list[int]:
    """The processes of a job, by the mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"GPD_JOB={job_id}\0".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def launchers(here: Folder) -> list[int]:
    """The processes that run a job of the folder: their children, which watch it, have the same command line."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, stat = path.read_bytes().split(b"\0"), path.with_name("stat").read_text()
        except OSError:
            continue  # it has just ended
        if b"job" in words and str(here.folder).encode() in b" ".join(words):
            found[int(path.parent.name)] = int(stat.rpartition(")")[2].split()[1])
    return [pid for pid, parent in found.items() if parent not in found]


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""  # it has just ended


def begun(here: Folder, seconds: int) -> tuple[subprocess.Popen[bytes], str]:
    """A run whose one job is at work, its sleep, too, and that job's id."""
    run = here.start(here.command(LONG.format(seconds=seconds)))
    began = here.folder / "began"
    job_id = wait_until(lambda: began.exists() and began.read_text().strip())
    wait_until(lambda: "sleep" in map(name_of, of_job(job_id)))
    return run, job_id


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_a_job_ends_with_its_snakemake_and_is_recorded(here: Folder, signum: int) -> None:
    run, job_id = begun(here, 300)
    if signum == signal.SIGINT:
        os.killpg(run.pid, signum)  # as Ctrl-C does
    else:
        run.send_signal(signum)
    wait_until(here.records)
    run.wait(timeout=60)
    (record,) = here.records()
    assert (record["id"], record["cause"]) == (job_id, "killed")
    assert of_job(job_id) == []


def test_a_request_to_end_is_heard_while_snakemake_finishes_a_job(here: Folder) -> None:
    """It holds a lock there, which its own handler of SIGTERM takes, too: as here, while it waits for a file."""
    run = here.start(here.command('rule all:\n    output: "x"\n    shell: "true"\n', "--latency-wait", "15"))
    logs = here.folder / ".snakemake/log"
    wait_until(lambda: any("Waiting at most" in path.read_text() for path in logs.glob("*.log")))
    run.terminate()
    assert run.wait(timeout=60) != 0


def test_a_request_to_end_waits_for_no_lock() -> None:
    """Whatever Snakemake does when the signal comes: here its handler is called while the lock is held."""
    end_in_a_thread()
    scheduler = SimpleNamespace(_lock=threading.Lock(), _open_jobs=threading.Semaphore(0), _user_kill=None)
    with scheduler._lock:
        handler = threading.Thread(target=JobScheduler.exit_gracefully, args=(scheduler,), daemon=True)
        handler.start()
        handler.join(timeout=30)
        assert not handler.is_alive()
        assert scheduler._user_kill is None
    wait_until(lambda: scheduler._user_kill == "graceful")
    assert scheduler._open_jobs.acquire(timeout=30), "the scheduler is not woken"


def test_a_run_whose_launcher_was_killed_ends_with_the_record(here: Folder) -> None:
    """The job takes its time to end; the one who records it is left by then, and Snakemake has nothing else to do."""
    slow = 'rule all:\n    output: "x"\n    shell: "trap \'sleep 6; exit 1\' TERM; echo $GPD_JOB > began; '
    run = here.start(here.command(slow + 'sleep 300 & wait; touch {output}"\n'))
    began = here.folder / "began"
    job_id = wait_until(lambda: began.exists() and began.read_text().strip())
    (wrapper,) = launchers(here)
    os.kill(wrapper, signal.SIGKILL)
    assert run.wait(timeout=60) == 1
    (record,) = here.records()
    assert (record["id"], record["message"]) == (job_id, "the launcher was killed")


def test_when_all_are_killed_the_next_run_says_so(here: Folder) -> None:
    run, job_id = begun(here, 300)
    ours = [run.pid, *of_job(job_id)]
    for parent in (path.parent for path in Path("/proc").glob("[0-9]*/stat")):
        try:
            is_ours = str(here.folder).encode() in (parent / "cmdline").read_bytes()
        except OSError:
            continue
        ours += [int(parent.name)] if is_ours else []
    for pid in ours:
        os.kill(pid, signal.SIGSTOP)
    for pid in ours:
        os.kill(pid, signal.SIGKILL)
    run.wait(timeout=60)
    assert here.records() == []
    assert here.run(LONG.format(seconds=0), "--unlock").returncode == 0
    again = here.run(LONG.format(seconds=0), "--rerun-incomplete")
    assert again.returncode == 0, again.stderr
    lost, done = here.records()
    assert (lost["id"], lost["cause"], done["cause"]) == (job_id, "killed", None)


def test_a_run_under_nohup_outlives_the_shell_that_started_it(here: Folder) -> None:
    words = here.command(LONG.format(seconds=3))
    shell = here.start(["bash", "-c", 'nohup "$@" & sleep 0.1', "bash", *words])
    shell.wait(timeout=60)
    (record,) = wait_until(here.records)
    assert record["cause"] is None and (here.folder / "x").exists()


def test_two_runs_side_by_side_hold_no_cpu_twice(here: Folder, tmp_path: Path) -> None:
    text = 'rule all:\n    input: expand("{n}.txt", n=range(6))\n'
    text += 'rule one:\n    output: "{n}.txt"\n    shell: "sleep 0.2; date > {output}"\n'
    runs = []
    for name in ("a", "b"):
        folder = Folder(tmp_path / name)
        folder.folder.mkdir()
        folder.environment |= {"GPD_RUNTIME_DIR": here.environment["GPD_RUNTIME_DIR"]}
        runs.append(folder.start(folder.command(text, "--pinned-ledger", str(tmp_path / "ledger.jsonl"))))
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert len(here.records()) == 12
    checked = here.ledger("check")
    assert checked.returncode == 0, checked.stdout
