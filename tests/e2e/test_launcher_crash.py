"""Whatever is killed, in any order: no CPU stays allocated for nobody, none is free while a job runs on it."""

import itertools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time

import jsonschema
import pytest
from launcher.cpu_allocation import LOOK_S
from launcher.journal import read_notes
from launcher.processes import children, descendants
from launcher.system import read_text
from launching import LAUNCH, SCHEMA, processes_of, wait_until

pytestmark = pytest.mark.e2e

CPUS = os.sched_getaffinity(0)
VICTIMS = ("wrapper", "supervisor", "shell", "tool")


def job_ids(node):
    """Return the ids of the jobs that have begun or wait."""
    return [path.name for path in (node.runtime / "jobs").glob("*")]


def kill(pid):
    """Kill a process with -9, if it is still there."""
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def family(wrapper):
    """Return the processes of a job by role: wrapper, supervisor, shell, tool, and the tool's child."""
    pids = [wrapper]
    while len(pids) < 5:
        below = children(pids[-1])
        if not below:
            return None
        pids.append(below[0])
    return dict(zip((*VICTIMS, "child"), pids, strict=True))


# Nobody heeds SIGTERM, nor the SIGHUP that the kernel sends to a stopped process group when the last process that could
# continue it dies.
TOOL = 'import subprocess; subprocess.run(["bash", "-c", "sleep 60; true"], close_fds=False)'
STUBBORN = f"trap '' TERM HUP; {sys.executable} -S -E -c '{TOOL}'; true"


@pytest.mark.parametrize("order", list(itertools.permutations(VICTIMS)), ids="-".join)
def test_any_order_of_kills(node, order):
    wrapper = node.start(STUBBORN)
    pids = wait_until(lambda: family(wrapper.pid))
    (job_id,) = job_ids(node)
    for role in order:
        kill(pids[role])
        time.sleep(0.02)
        if processes_of(job_id):
            assert node.allocated(), f"CPUs free after {role} was killed, while {processes_of(job_id)} run"
    for pid in processes_of(job_id):
        kill(int(pid))
    wrapper.wait(timeout=30)
    wrapper.stderr.close()
    wait_until(lambda: not node.allocated())
    assert node.run("true", name="next")[0] == 0, "the next job gets its CPU"
    records = {record["wildcards"]["sample"]: record for record in node.records()}
    assert len(node.records()) == 2, "one line for each"
    assert records["a"]["cause"] == "killed"
    for record in records.values():
        jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    assert node.check() == ()


SPIN = "import time; e = time.process_time() + 0.5\nwhile time.process_time() < e: pass"


@pytest.mark.parametrize("journal", ["whole", "cut short"])
def test_what_a_killed_supervisor_could_not_tell_the_wrapper_does(node, journal):
    """Also where a full disk kept the supervisor from noting when the job began."""
    # an orphan that the supervisor has waited for counts, and so does what bash is still waiting for
    spin = f"{sys.executable} -S -E spin.py"
    (node.folder / "spin.py").write_text(SPIN)
    wrapper = node.start(f"({spin} &) ; {spin}; sleep 0.5; touch ready; sleep 60; true", threads=len(CPUS))
    wait_until((node.folder / "ready").exists, timeout_s=60)
    (path,) = (node.runtime / "jobs").glob("*")
    if journal == "cut short":
        path.write_bytes(path.read_bytes()[:100])
    kill(children(wrapper.pid)[0])
    output = wrapper.communicate(timeout=30)[1].decode()
    (record,) = node.records()
    assert wrapper.returncode == record["exit_code"] == 137, output
    assert (record["cause"], record["message"]) == ("killed", "the job's supervisor was killed")
    if journal == "whole":
        assert 1.0 <= record["cpu_s"] < record["wall_s"] * len(CPUS) + 0.1
        assert 1.0 < record["wall_s"] < 60
        assert record["cpu_s"] == pytest.approx(record["cpu_user_s"] + record["cpu_system_s"])
    assert list((node.runtime / "jobs").iterdir()) == []
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))


def test_what_is_killed_while_it_is_being_ended_was_ended_by_the_signal_before(node):
    wrapper = node.start(STUBBORN)
    pids = wait_until(lambda: family(wrapper.pid))
    (path,) = (node.runtime / "jobs").glob("*")
    before = path.stat().st_size
    wrapper.terminate()
    wait_until(lambda: path.stat().st_size > before)
    for pid in pids.values():
        os.kill(pid, signal.SIGSTOP)
    for pid in pids.values():
        kill(pid)
    wrapper.communicate()
    wait_until(lambda: not [kill(int(pid)) for pid in processes_of(path.name)])
    assert node.run("true", name="second")[0] == 0
    first = node.records()[0]
    assert (first["cause"], first["message"]) == ("killed", "SIGTERM to the launcher")


def test_a_writer_killed_just_after_it_wrote_is_not_repeated(node):
    """Its journal is still there: whoever finds it must not record the attempt again."""
    wrapper = node.start(STUBBORN)
    pids = wait_until(lambda: family(wrapper.pid))
    (job_id,) = job_ids(node)
    journal = node.runtime / "jobs" / job_id
    for role in VICTIMS:
        os.kill(pids[role], signal.SIGSTOP)
    for pid in pids.values():
        kill(pid)
    wrapper.communicate()
    kept = journal.read_bytes()
    wait_until(lambda: not [kill(int(pid)) for pid in processes_of(job_id)])  # also what was just being started
    assert node.run("true", name="second")[0] == 0
    assert [record["cause"] for record in node.records()] == ["killed", None]
    journal.write_bytes(kept)
    assert node.run("true", name="third")[0] == 0
    assert not journal.exists()
    assert [record["wildcards"]["sample"] for record in node.records()] == ["a", "second", "third"]
    assert node.check() == ()


def test_a_retry_waits_for_the_attempt_before(node):
    """Only the wrapper is killed: its job is still ending when Snakemake starts the next attempt."""
    slow = "trap 'sleep 1; echo old >> out; exit 1' TERM; touch began; sleep 60 & wait"
    first = node.start(slow)
    wait_until((node.folder / "began").exists)
    kill(first.pid)
    first.wait(timeout=20)
    other = node.run("cat out || true", name="other")[2]
    assert (node.folder / "logs/other.log").read_text().count("old") == 0, "another job does not wait"
    assert other["cause"] is None
    assert node.run("echo new >> out; cat out", "--attempt", "2")[0] == 0
    assert (node.folder / "logs/a.log").read_text() == "old\nnew\n"
    first.stderr.close()
    causes = {r["attempt"]: r["message"] for r in node.records() if r["wildcards"]["sample"] == "a"}
    assert causes == {1: "the launcher was killed", 2: None}


def test_what_outlives_its_launchers_without_their_locks_is_ended(node):
    """As GATK's JVM does, whose starter closes descriptors: else two would write one file."""
    starter = 'import subprocess; subprocess.check_call(["sleep", "60"])'
    wrapper = node.start(f"{sys.executable} -S -E -c '{starter}'; true")
    (job_id,) = wait_until(lambda: job_ids(node))
    (orphan,) = wait_until(lambda: [pid for pid in processes_of(job_id) if read_text(f"/proc/{pid}/comm") == "sleep\n"])
    launchers = [wrapper.pid, *children(wrapper.pid)]
    for pid in launchers:  # neither shall see the other's end, and end the job for it
        os.kill(pid, signal.SIGSTOP)
    for pid in launchers:
        kill(pid)
    wrapper.wait(timeout=30)
    wrapper.stderr.close()

    def is_alone() -> bool:
        """Whether the others are gone, one that had just started among them."""
        for pid in set(processes_of(job_id)) - {orphan}:
            kill(int(pid))
        return processes_of(job_id) == [orphan]

    wait_until(is_alone)
    assert node.run("true", name="next")[0] == 0
    assert processes_of(job_id) == []
    assert {record["wildcards"]["sample"]: record["cause"] for record in node.records()} == {
        "a": "killed",
        "next": None,
    }


def test_who_stands_in_the_queue_sees_that_nobody_waits_for_it_any_more(node):
    """Behind another run's jobs it would stand for hours, and keep its own run from starting again."""
    holder = node.start("sleep 60", name="holder", threads=len(CPUS))
    wait_until(lambda: node.allocated() == CPUS and not node.queued())
    head = node.start("true", name="head")
    wait_until(lambda: node.queued() == 1)
    shell = shlex.join(["bash", "-c", f"{shlex.join(node.command_line(name='second'))} <<< true; true"])
    asking = ["bash", "-c", f"{shell} & exec sleep 60"]
    with subprocess.Popen(asking, cwd=node.folder, env=node.environment, stderr=subprocess.DEVNULL) as snakemake:
        wait_until(lambda: node.queued() == 2)
        time.sleep(1.5 * LOOK_S)
        assert node.queued() == 2, "it is waited for"
        snakemake.kill()
    (record,) = wait_until(lambda: node.ledger.exists() and node.records())
    assert holder.poll() is None and head.poll() is None
    assert (record["wildcards"]["sample"], record["cause"]) == ("second", "killed")
    assert record["message"] == f"Snakemake (PID {snakemake.pid}) is gone while it waited for CPUs"
    holder.terminate()
    for process in (holder, head):
        process.wait(timeout=20)
        process.stderr.close()


def test_killed_while_it_waits(node):
    """One behind the head, and the head itself."""
    holder = node.start("sleep 30", name="holder", threads=len(CPUS))
    wait_until(lambda: node.allocated() == CPUS and not node.queued())
    waiters = [node.start("true", name=f"w{n}") for n in range(3)]
    wait_until(lambda: node.queued() == 3)
    waiters[1].kill()
    waiters[0].terminate()
    assert waiters[0].wait(timeout=20) == 143
    holder.terminate()
    assert holder.wait(timeout=20) == 143
    assert waiters[2].wait(timeout=20) == 0
    node.run("true", name="last")
    causes = {record["wildcards"]["sample"]: record["cause"] for record in node.records()}
    assert causes == {"holder": "killed", "w0": "killed", "w1": "killed", "w2": None, "last": None}
    for process in [holder, *waiters]:
        process.stderr.close()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on(node, signum):
    before = signal.signal(signum, signal.SIG_DFL)  # a test run in the background may ignore it
    wrapper = node.start("trap 'echo told; exit 0' TERM; sleep 30 & wait")
    signal.signal(signum, before)
    wait_until(lambda: len(descendants(wrapper.pid)) == 3)
    wrapper.send_signal(signum)
    output = wrapper.communicate(timeout=20)[1].decode()
    record = node.records()[0]
    assert wrapper.returncode == record["exit_code"] == 143, "a tool that ends in peace was ended all the same"
    assert record["cause"] == "killed"
    assert signum.name in record["message"]
    assert output.count("\n") == 1
    assert (node.folder / "logs/a.log").read_text() == "told\n"


def test_what_was_ignored_stays_ignored(node):
    """Under nohup, the end of the terminal ends nothing."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    wrapper = node.start("touch began; sleep 0.7; echo done")
    signal.signal(signal.SIGHUP, before)
    wait_until((node.folder / "began").exists)
    wrapper.send_signal(signal.SIGHUP)
    assert wrapper.communicate(timeout=20)[1] == b""
    assert wrapper.returncode == 0


# Stands for Snakemake, and for the bash by which it starts a job.
REQUESTER = """
import subprocess, sys
subprocess.run(["bash", "-c", '"$@" <<< "sleep 60; true"; true', "bash", *sys.argv[1:]])
"""


@pytest.mark.parametrize("victim", ["snakemake", "bash"])
def test_the_job_ends_with_who_asked_for_it(node, victim):
    """An orphan would go on writing where the next run writes."""
    requester = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(REQUESTER), *node.command_line()],
        cwd=node.folder,
        env=node.environment,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: len(descendants(requester.pid)) >= 5)
    kill(requester.pid if victim == "snakemake" else children(requester.pid)[0])
    requester.wait(timeout=20)
    record = wait_until(node.records)[0]
    names = {"snakemake": "Snakemake", "bash": "the shell that ran the launcher"}
    assert record["cause"] == "killed"
    assert re.fullmatch(rf"{names[victim]} \(PID \d+\) is gone", record["message"])
    wait_until(lambda: not node.allocated())


def test_two_runs_share_the_cpus(node):
    """Two runs of one user on one node, each with jobs for the whole of it: no overlap."""
    jobs = {run: [node.command_line(name=f"{run}-{job}", threads=2) for job in range(4)] for run in ("one", "two")}
    runs = [
        subprocess.Popen(
            ["bash", "-c", "".join(f"{shlex.join(job)} <<< 'sleep 0.1' & " for job in of_run) + "wait"],
            cwd=node.folder,
            env=node.environment,
        )
        for of_run in jobs.values()
    ]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    assert len(node.records()) == 8
    assert node.check() == ()


JOBS, AT_ONCE, KILLED = 500, 8, 0.03
# Each job proves by locks of its own that nobody else is on its CPUs: its processes inherit them.
PROVE = """
for range in ${GPD_CPUS//,/ }; do
    for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do
        exec {fd}<> proof.$cpu; flock -n $fd && taken=0 || taken=$?
        ((taken != 1)) || echo $GPD_JOB $cpu >> overlaps  # more than 1: flock itself was killed
    done
done
"""


@pytest.mark.long
def test_soak(node):
    """500 short jobs of random width; some of their processes are killed at random."""
    dice = random.Random(4)
    kills, running, started = 0, [], 0
    began = time.monotonic()
    while started < JOBS or running:
        while started < JOBS and len(running) < AT_ONCE:
            command = dice.choice(["true", "sleep 0.03 | sleep 0.02", "sleep 0.05 & wait", "exit 1"])
            running.append(node.start(PROVE + command, name=f"j{started}", threads=dice.randint(1, len(CPUS))))
            started += 1
        if dice.random() < KILLED:
            kills += kill_some_process(node, dice)
        for process in [process for process in running if process.poll() is not None]:
            process.stderr.close()
            running.remove(process)
        time.sleep(0.002)
    took = time.monotonic() - began
    assert node.run("true", name="last")[0] == 0, "it also sweeps up what killed launchers left"
    assert node.check() == ()
    samples = [record["wildcards"]["sample"] for record in node.records()]
    assert sorted(samples) == sorted(["last", *(f"j{n}" for n in range(JOBS))]), "a line for every attempt"
    assert not (node.folder / "overlaps").exists()
    assert node.allocated() == set()
    assert job_ids(node) == []
    assert not node.queued()
    split = sum(record["cause"] == "killed" for record in node.records())
    print(f"\nsoak: {JOBS} jobs, {kills} kills, {split} attempts lost, {took:.0f} s")
    assert split > 10, "the kills did hit"


def kill_some_process(node, dice):
    """Kill one process of one job that has its journal: wrapper, supervisor, shell or tool."""
    journals = list((node.runtime / "jobs").glob("*"))
    text = read_text(str(dice.choice(journals))) if journals else ""
    if not text:
        return 0
    wrapper = read_notes(text)["record"]["pid"]
    if str(LAUNCH) not in read_text(f"/proc/{wrapper}/cmdline"):
        return 0  # it has ended, and the number may be another's
    kill(dice.choice([wrapper, *descendants(wrapper)]))
    return 1
