"""One launcher at a job's outputs, on whatever node: who waits, what is taken, and what becomes of the dead's place."""

import fcntl
import json
import os
import signal
import stat
import time
from pathlib import Path

import jsonschema
import pytest
from launching import LAUNCH, SCHEMA, Node, wait_until

pytestmark = pytest.mark.e2e

MAKE = "echo made >> count; until [ -e go ]; do sleep 0.05; done; cp count out.txt"
ALONE = "mkdir at_work; sleep 0.1; rmdir at_work; echo made >> count; cp count out.txt"
OUTPUTS = ("--outputs", "out.txt", "--inputs", "input.txt")


class ClusterNode(Node):
    """A node of a cluster, by what Slurm sets in a job's environment; the folder of jobs is on a file system of all.

    It has a folder of locks of its own.
    """

    def __init__(self, folder, name, job):
        super().__init__(folder)
        self.name = name
        self.runtime = folder / f"runtime-{name}"
        self.environment |= {"GPD_RUNTIME_DIR": str(self.runtime)}
        self.environment["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
        self.environment["TMPDIR"] = str(folder)  # what a node that goes down for good leaves there
        if job:
            self.environment |= {"SLURMD_NODENAME": name, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "0"}
        (folder / f"{name}.py").write_text(
            f"import sys; sys.path.insert(0, {str(LAUNCH.parents[1])!r})\n"
            "from launcher import output_lock\noutput_lock.SETTLE_S = 0.5\n"
            "from launcher.__main__ import cli\ncli()\n"
        )

    def command_line(self, *options, **settings):
        words = super().command_line(*options, **settings)
        return [f"{self.name}.py" if word == str(LAUNCH) else word for word in words]


class Cluster:
    """A folder that all nodes see, and what squeue says there of jobs."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "input.txt").write_text("input")
        (folder / "bin").mkdir()
        squeue = folder / "bin" / "squeue"
        squeue.write_text(
            "#!/bin/bash\n"
            f"cd '{folder}'; for word; do [[ $word == --jobs=* ]] && job=${{word#--jobs=}}; done\n"
            'echo "$job" >> asked\n'
            "if [ -e down ]; then echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1; fi\n"
            'if [ -e "state-$job" ]; then cat "state-$job"; exit 0; fi\n'
            "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n"
        )
        squeue.chmod(squeue.stat().st_mode | stat.S_IXUSR)

    def node(self, name, job=None):
        return ClusterNode(self.folder, name, job)

    def state(self, job, state):
        (self.folder / f"state-{job}").write_text(f"{state}\n")

    def go(self):
        (self.folder / "go").touch()

    @property
    def owner(self):
        return self.folder / "logs" / "a.log.owner"

    @property
    def made(self):
        """How often the outputs were made."""
        return len((self.folder / "count").read_text().splitlines())

    def left(self):
        return sorted(path.name for path in (self.folder / "logs").iterdir())


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)


def at_work(cluster):
    """Wait until the job has written: the shell makes the file a moment before there is anything in it."""
    return wait_until(lambda: (cluster.folder / "count").exists() and cluster.made)


def waits(process):
    """The line in which a launcher says for whom it waits."""
    return process.stderr.readline().decode()


def end(*processes):
    """Return the exit codes, and what was said since."""
    ended = [(process.communicate(timeout=60)[1].decode(), process.returncode) for process in processes]
    return [code for _, code in ended], "".join(output for output, _ in ended)


def kill(process):
    """Kill a launcher, its supervisor and its job at once, as a node that goes down does."""
    mark = f"GPD_RUNTIME_DIR={process_runtime(process)}\0".encode()
    for signum in (signal.SIGSTOP, signal.SIGKILL):  # else a supervisor sees its launcher die, and says so
        for path in Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes():
                    os.kill(int(path.name), signum)
            except OSError:
                continue  # it has just gone
    process.wait(60)
    process.stderr.close()


def process_runtime(process):
    variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    return next(each for each in variables if each.startswith(b"GPD_RUNTIME_DIR=")).decode().partition("=")[2]


def test_a_job_that_another_node_does_is_waited_for(cluster):
    first, second = cluster.node("n1", 11), cluster.node("n2", 12)
    cluster.state(11, "RUNNING")
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    two = second.start(MAKE, *OUTPUTS)
    assert waits(two) == (
        f"step a: waits for another run's rule, which makes the same outputs: PID {one.pid} on n1 "
        f"(host {os.uname().nodename}), Slurm job 11; `scancel 11` ends it\n"
    )
    cluster.go()
    assert end(one, two) == ([0, 0], "")
    assert cluster.made == 2
    assert cluster.left() == ["a.log"]
    made, after = first.records()
    assert (made["node"], made["slurm_job_id"], made["slurm_step_id"]) == ("n1", "11", "0")
    assert (after["node"], after["slurm_job_id"], after["exit_code"]) == ("n2", "12", 0)
    assert after["start"] > made["end"]
    assert after["wait_s"] > 0
    for record in (made, after):
        jsonschema.validate(record, json.loads(SCHEMA.read_text()))


def test_each_node_has_a_ledger_and_all_are_one(cluster):
    cluster.node("n1", 11).run("true", name="x")
    cluster.node("n2", 12).run("true", name="y")
    here = Node(cluster.folder)
    here.run("true", name="z")
    names = {path.name for path in cluster.folder.glob("ledger*")}
    assert names == {"ledger.jsonl", "ledger.n1.jsonl", "ledger.n2.jsonl"}
    assert [record["wildcards"]["sample"] for record in here.records()] == ["x", "y", "z"]
    assert here.check() == ()


def test_a_job_that_fails_on_another_node_is_done_after_it(cluster):
    first, second = cluster.node("n1", 11), cluster.node("n2", 12)
    cluster.state(11, "RUNNING")
    one = first.start(f"{MAKE}; exit 3", *OUTPUTS)
    at_work(cluster)
    two = second.start(MAKE, *OUTPUTS)
    waits(two)
    cluster.go()
    codes, _ = end(one, two)
    assert codes == [3, 0]
    assert cluster.made == 2


def test_a_wrapper_that_is_stopped_is_not_taken_for_dead(cluster):
    """Ctrl-Z stops the wrapper, and not the job, whose processes hold the lock."""
    first, second = cluster.node("n1"), cluster.node("n2")
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    two = second.start(MAKE, *OUTPUTS)
    assert waits(two).endswith(f"PID {one.pid} on {os.uname().nodename}; `kill {one.pid}` ends it\n")
    one.send_signal(signal.SIGSTOP)
    time.sleep(2)
    assert two.poll() is None
    assert cluster.made == 1
    one.send_signal(signal.SIGCONT)
    cluster.go()
    assert end(one, two) == ([0, 0], "")
    assert cluster.made == 2


@pytest.mark.parametrize("state", [None, "PENDING", "down"], ids=["over", "requeued", "nobody knows"])
def test_the_place_of_a_node_that_is_gone_is_taken(cluster, state):
    first, second = cluster.node("n1", 11), cluster.node("n2", 12)
    if state == "down":
        (cluster.folder / "down").touch()
    elif state:
        cluster.state(11, state)
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    kill(one)
    assert cluster.owner.exists()
    cluster.go()
    code, _, record = second.run(MAKE, *OUTPUTS)
    assert (code, record["attempt"]) == (0, 1)
    lost, _ = second.records()
    assert (lost["cause"], lost["message"]) == ("killed", "its launcher on n1 is gone; when is not known")
    assert (lost["node"], lost["slurm_job_id"], lost["exit_code"]) == ("n1", "11", None)
    jsonschema.validate(lost, json.loads(SCHEMA.read_text()))
    first.run("true", name="next")  # the node is back, and finds what it was killed at
    assert len(second.records()) == 3
    assert second.check() == ()
    assert cluster.made == 2
    assert cluster.left() == ["a.log", "next.log"]


def test_a_slurm_job_that_is_suspended_is_waited_for_whatever_its_lock_says(cluster):
    first, second = cluster.node("n1", 11), cluster.node("n2", 12)
    cluster.state(11, "SUSPENDED")
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    kill(one)
    two = second.start(ALONE, *OUTPUTS)
    assert "Slurm job 11; `scancel 11` ends it" in waits(two)
    time.sleep(1)
    assert two.poll() is None
    (cluster.folder / "state-11").unlink()
    assert end(two)[0] == [0]


@pytest.mark.parametrize("runtime", ["runtime", "another"])
def test_the_dead_of_this_host_are_followed_at_once(cluster, runtime):
    """Their journals may have gone with a /tmp of their own."""
    first = Node(cluster.folder)
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    kill(one)
    assert cluster.owner.exists()
    cluster.go()
    other = Node(cluster.folder)
    other.environment |= {"GPD_RUNTIME_DIR": f"{cluster.folder}/{runtime}"}
    assert other.run(MAKE, *OUTPUTS)[0] == 0
    assert first.check() == ()
    lost, made = first.records()
    assert (lost["cause"], made["cause"]) == ("killed", None)
    assert ("its launcher on" in lost["message"]) == (runtime == "another")


def test_a_supervisor_that_ends_its_job_still_is_waited_for_and_records_it(cluster):
    """Its wrapper was killed."""
    first, second = Node(cluster.folder), cluster.node("n2")
    one = first.start("trap '' TERM; echo made >> count; until [ -e go ]; do sleep 0.05; done; sleep 1", *OUTPUTS)
    at_work(cluster)
    one.kill()
    two = second.start(ALONE, *OUTPUTS)
    assert f"PID {one.pid} on " in waits(two)
    assert cluster.made == 1
    cluster.go()
    end(one)
    assert end(two)[0] == [0]
    assert [(record["cause"], record["message"]) for record in first.records()] == [
        ("killed", "the launcher was killed"),
        (None, None),
    ]


def test_two_runs_on_one_host_that_do_not_share_allocations(cluster):
    first, second = Node(cluster.folder), cluster.node("n2")
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    two = second.start(MAKE, *OUTPUTS)
    assert waits(two).endswith(f"PID {one.pid} on {os.uname().nodename}; `kill {one.pid}` ends it\n")
    assert cluster.made == 1
    cluster.go()
    assert end(one, two) == ([0, 0], "")
    assert cluster.made == 2


def test_of_many_who_follow_one_works_at_a_time(cluster):
    first = cluster.node("n1", 11)
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    kill(one)
    nodes = [cluster.node(f"m{number}", 20 + number) for number in range(5)]
    for number in range(5):
        cluster.state(20 + number, "RUNNING")
    processes = [node.start(ALONE, *OUTPUTS) for node in nodes]
    assert end(*processes)[0] == [0] * 5
    assert cluster.made == 6
    assert cluster.left() == ["a.log"]


def test_what_slurm_starts_again_is_the_next_attempt(cluster):
    """Under the same id, on whatever node; Snakemake's own number stays."""
    for number, name in enumerate(("n1", "n2", "n1"), 1):
        node = cluster.node(name, 11)
        process = node.start("echo made >> count; sleep 60", *OUTPUTS)
        wait_until(lambda number=number: (cluster.folder / "count").exists() and cluster.made == number)
        process.terminate()
        assert end(process)[0] == [143]
    cluster.go()
    assert cluster.node("n2", 11).run(MAKE, *OUTPUTS)[0] == 0
    records = node.records()
    assert [(r["attempt"], r["cause"], r["node"]) for r in records] == [
        *((1, "killed", "n1"), (2, "killed", "n2"), (3, "killed", "n1"), (4, None, "n2"))
    ]
    assert cluster.left() == ["a.log"]


def test_a_retry_of_snakemake_within_one_slurm_job_counts_once(cluster):
    node = cluster.node("n1", 11)
    node.run("exit 1", *OUTPUTS)
    node.run("exit 1", "--attempt", "2", *OUTPUTS)
    assert [record["attempt"] for record in node.records()] == [1, 2]


def test_a_launcher_that_waits_ends_with_a_signal(cluster):
    first, second = cluster.node("n1", 11), cluster.node("n2", 12)
    cluster.state(11, "RUNNING")
    one = first.start(MAKE, *OUTPUTS)
    at_work(cluster)
    two = second.start(MAKE, *OUTPUTS)
    waits(two)
    two.terminate()
    codes, output = end(two)
    assert codes == [143]
    assert "killed: SIGTERM while it waited for another run's job at its outputs" in output
    cluster.go()
    assert end(one)[0] == [0]
    assert cluster.made == 1


def test_a_file_that_says_nothing_is_waited_for_while_it_is_locked(cluster):
    cluster.owner.parent.mkdir()
    with cluster.owner.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = cluster.node("n1", 11).start(ALONE, *OUTPUTS)
        assert waits(process) == "step a: waits for another launcher at the same outputs, which does not name itself\n"
    assert end(process)[0] == [0]


def test_a_log_that_is_a_link_is_not_written_to(cluster):
    """Who may write in the folder of logs would have a file of ours emptied."""
    (cluster.folder / "logs").mkdir()
    (cluster.folder / "other").write_text("theirs")
    (cluster.folder / "logs" / "a.log").symlink_to("../other")
    code, output, record = Node(cluster.folder).run("echo x", *OUTPUTS)
    assert code == 1
    assert record["cause"] == "launcher_error"
    assert "logs/a.log: a link, and what is written there would be elsewhere; remove it" in output
    assert (cluster.folder / "other").read_text() == "theirs"
