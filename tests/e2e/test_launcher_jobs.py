"""Real jobs: what they are given, what is measured, what is said when they fail."""

import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from launcher import diagnose, ledger, processes, topology
from launcher.command import NOFILE
from launching import LAUNCH, SCHEMA, wait_until

pytestmark = pytest.mark.e2e

CPUS = os.sched_getaffinity(0)
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU only: nothing can widen its affinity")
PYTHON = f"{sys.executable} -S -E"


def test_record(node):
    code, printed, record = node.run("echo hello; echo $GPD_CPUS $GPD_THREADS $GPD_MEM_MB >&2", "--run", "r1", name="x")
    assert (code, printed) == (0, "")
    assert (node.folder / "logs/x.log").read_text() == f"hello\n{record['cpus']} 1 100\n"
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(record, schema)
    assert set(record) | {"taken_from", "peak_cgroup_mib"} == set(schema["properties"])  # of earlier versions
    assert record["wildcards"] == {"sample": "x"}
    assert (record["run"], record["attempt"], record["threads"], record["cause"]) == ("r1", 1, 1, None)
    assert record["binding_ok"] is True
    assert record["memory_applied"] == "default"
    assert record["cpu_contention"] is None, "too short to tell"
    assert record["other_cpu_s"] is not None
    assert (
        record["command_sha256"]
        == hashlib.sha256(b"echo hello; echo $GPD_CPUS $GPD_THREADS $GPD_MEM_MB >&2").hexdigest()
    )
    assert node.allocated() == set()
    assert list((node.runtime / "jobs").iterdir()) == []


def test_command_is_bash_with_the_strict_flags(node):
    assert node.run("false; echo not here")[0] == 1
    assert node.run("echo $undefined")[0] == 1
    assert node.run("false | true")[0] == 1
    assert node.run('[[ "$(cat)" == "" ]]')[0] == 0, "stdin is empty"
    assert node.run("printf '%s\\n' 'a\"b$c' > out; exec 3< out; read -u 3 line; [[ $line == 'a\"b$c' ]]")[0] == 0


def test_log_belongs_to_the_last_attempt(node):
    node.run("echo first; kill -9 $$")
    node.run("echo second", "--attempt", "2")
    assert (node.folder / "logs/a.log").read_text() == "second\n"
    assert [(r["attempt"], r["exit_code"]) for r in node.records()] == [(1, 137), (2, 0)]


def test_sigpipe_reaches_tools(node):
    """Python ignores SIGPIPE; a tool that inherited that would go on writing for ever."""
    assert node.run("set +o pipefail; yes | head -n 1")[0] == 0


def test_bound_to_the_allocation(node):
    record = node.run("grep Cpus_allowed_list /proc/self/status; nproc")[2]
    allowed, count = (node.folder / "logs/a.log").read_text().split("\n")[:2]
    assert allowed.split()[1] == record["cpus"]
    assert count == "1"
    assert record["cpus_allowed"] == record["cpus_seen"] == record["cpus"]


def test_wider_than_the_machine(node):
    record = node.run("echo $GPD_THREADS", threads=1000)[2]
    assert topology.parse_cpus(record["cpus"]) == CPUS
    assert record["threads"] == 1000
    assert int((node.folder / "logs/a.log").read_text()) == len(CPUS)


def test_binding_none(node):
    record = node.run("sleep 0.05", "--binding", "none")[2]
    assert (record["cpus"], record["binding_ok"], record["binding"]) == (None, None, "none")
    assert topology.parse_cpus(record["cpus_allowed"]) == CPUS


@needs_two_cpus
def test_own_affinity_is_caught(node):
    wide = topology.format_cpus(CPUS)
    record = node.run(f"taskset -c {wide} sleep 2")[2]
    assert record["binding_ok"] is False
    assert topology.parse_cpus(record["cpus_allowed"]) == CPUS


def test_job_within_a_job_is_allocated_nothing(node):
    """Snakemake run by a job: its jobs share the allocation of the one around them, and do not wait for it."""
    inner = " ".join(node.command_line(name="inner"))
    code, _, outer = node.run(f"{inner} <<< 'true'", threads=len(CPUS), name="outer")
    assert code == 0
    first, second = node.records()
    assert (first["binding"], first["cpus"]) == ("none", None)
    assert first["cpus_allowed"] == second["cpus"] == outer["cpus"]


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="a kernel without NUMA")
@pytest.mark.parametrize(
    ("policy", "shown"), [("default", "default"), ("local", "prefer"), ("interleave", "interleave")]
)
def test_memory_policy(node, policy, shown):
    record = node.run("head -n 1 /proc/self/numa_maps", "--memory", policy)[2]
    assert (record["memory"], record["memory_applied"]) == (policy, policy)
    assert (node.folder / "logs/a.log").read_text().split()[1].startswith(shown)


@pytest.mark.parametrize("policy", ["local", "interleave"])
def test_a_memory_policy_that_the_kernel_refuses(node, policy):
    """A node that is not there, as the topology of this boot has it: the record says what was in force."""
    node.run("true")
    (topology,) = node.runtime.glob("topology-*")
    rows = [line.split() for line in topology.read_text().splitlines()]
    topology.write_text("".join(f"{l3} 999 {socket} {' '.join(cpus)}\n" for l3, _, socket, *cpus in rows))
    record = node.run("true", "--memory", policy)[2]
    assert (record["memory"], record["cause"]) == (policy, None)
    assert record["memory_applied"] == ("local" if policy == "local" else "default")  # local needs no node's number


def test_settings_from_the_environment(node):
    node.environment.update(GPD_BINDING="scatter", GPD_BOUNDARY="numa", GPD_MEMORY="interleave", GPD_STALL_S="")
    record = node.run("true", "--boundary", "socket", "--memory", "")[2]
    assert (record["binding"], record["boundary"], record["memory"]) == ("scatter", "socket", "interleave")


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--binding", "tight"], "--binding (GPD_BINDING): 'tight' is not one of none, compact, scatter"),
        (["--threads", "0"], "--threads: '0' is not a number from 1 on"),
        (["--colour", "red"], "--colour: no such option"),
        (["--wildcards", "a"], "--wildcards: 'a' is not name=value"),
    ],
)
def test_bad_options(node, options, printed):
    process = node.start("true", *options)
    assert printed in process.communicate()[1].decode()
    assert process.returncode == 2


# ---------------------------------------------------------------------------------------------------- measure

ALLOCATE = "x = bytearray({mib} << 20); x[::4096] = b'x' * len(x[::4096])"


def test_figures_agree_with_time(node):
    """One process, whose peak is in its last moment, under time, which cuts to 0.01 s: both see the same run."""
    spin = "import time; e = time.process_time() + 1\nwhile time.process_time() < e: pass\n"
    (node.folder / "job.py").write_text(spin + ALLOCATE.format(mib=300))
    record = node.run(f"/usr/bin/time -o time.txt -f '%U %S %M' {PYTHON} job.py")[2]
    user, system, kib = map(float, (node.folder / "time.txt").read_text().split())
    assert record["peak_rss_mib"] == pytest.approx(kib / 1024, rel=0.05)
    assert -0.02 < record["cpu_s"] - (user + system) < 0.1  # bash and time themselves
    assert record["wall_s"] >= 1


def test_pipes_count_fully(node):
    """Three processes at once, of 100 MiB each, two of them busy; each says at its end what it used."""
    (node.folder / "job.py").write_text(
        "import os, sys, time; e = time.process_time() + float(sys.argv[1])\n"
        "while time.process_time() < e: pass\n"
        f"{ALLOCATE.format(mib=100)}; os.mkdir(f'ready{{os.getpid()}}')\n"
        "while sum(name.startswith('ready') for name in os.listdir()) < 3: time.sleep(0.1)\n"
        "time.sleep(1); print(time.process_time(), file=sys.stderr)"
    )
    record = node.run(f"{PYTHON} job.py 0.3 | {PYTHON} job.py 0.3 | {PYTHON} job.py 0", threads=2)[2]
    used = sum(map(float, (node.folder / record["log"]).read_text().split()))
    assert record["peak_rss_mib"] == pytest.approx(330, rel=0.1)
    assert used >= 0.6
    assert -0.02 < record["cpu_s"] - used < 0.3  # bash, and the ends of all


def test_orphans_count(node):
    """What outlives its parent is waited for and counted."""
    spin = "import time; e = time.process_time() + 0.4\nwhile time.process_time() < e: pass"
    (node.folder / "spin.py").write_text(spin)
    record = node.run(f"(setsid {PYTHON} spin.py &)")[2]
    assert record["cpu_s"] > 0.4
    assert record["wall_s"] > 0.4


def test_bytes(node):
    record = node.run("head -c 10485760 /dev/zero > out; cat out | cat > /dev/null")[2]
    assert record["read_calls_mib"] == pytest.approx(30, rel=0.05)
    assert record["write_calls_mib"] == pytest.approx(30, rel=0.05)


def test_open_files_and_temporary_ones(node):
    """The most that one process has open, and what a job's own folder held at most."""
    hold = "import os, time\nfiles = [open('/dev/null') for _ in range(100)]\ntime.sleep(0.6)"
    (node.folder / "hold.py").write_text(hold)
    filled = "mkdir $TMPDIR/a; head -c 5242880 /dev/zero > $TMPDIR/a/b"
    record = node.run(f"{filled}; {PYTHON} hold.py; rm $TMPDIR/a/b; sleep 0.3")[2]
    assert 100 < record["peak_open_files"] < 130
    assert record["peak_temporary_mib"] == pytest.approx(5, rel=0.05)


def test_open_file_limit_is_raised(node):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    node.run("ulimit -n")
    allowed = min(hard, NOFILE) if hard != resource.RLIM_INFINITY else NOFILE
    assert int((node.folder / "logs/a.log").read_text()) == max(soft, allowed)


# --------------------------------------------------------------------------------------------------- failures

FAILURES = {
    "exit 3": ("tool_error", 3, "exit code 3, and nothing in the log says why"),
    "nosuchtool x": ("tool_not_found", 127, "nosuchtool: command not found"),
    "nosuchtool x | cat": ("tool_not_found", 127, "nosuchtool: command not found"),
    "echo x > /dev/full": ("disk_full", 1, "No space left on device"),
    "yes | head -n 1": ("broken_pipe", 141, "a program of the pipe ended before"),
    "ulimit -n 20; python3 -c 'f = [open(\"/dev/null\") for _ in range(30)]'": (
        "open_file_limit",
        1,
        "Too many",
    ),
    "kill -9 $$": ("killed", 137, "SIGKILL"),
    "bash -c 'kill -9 $$' | true": ("killed", 137, "Killed|SIGKILL"),
    "kill -SEGV $$": ("signal", 139, "SIGSEGV"),
    "bash -c 'kill -ABRT $$'; true": ("signal", 134, "SIGABRT|Aborted"),
    "echo 'java.lang.OutOfMemoryError: Java heap space'; exit 1": ("out_of_memory", 1, "Java heap space"),
    "gzip -t broken.gz": ("tool_error", 1, "broken.gz: (unexpected end of file|not in gzip format)"),
    "python3 -c 'import nosuchmodule'": (
        "tool_error",
        1,
        "ModuleNotFoundError: No module named 'nosuchmodule'",
    ),
}


@pytest.mark.parametrize("command", FAILURES)
def test_failures_are_named(node, command):
    (node.folder / "broken.gz").write_bytes(b"\x1f\x8b\x08")
    cause, code, message = FAILURES[command]
    exit_code, printed, record = node.run(command)
    assert (exit_code, record["exit_code"], record["cause"]) == (code, code, cause)
    assert re.search(message, record["message"])
    assert printed == f"step a: {cause}: {record['message']} (log: logs/a.log)\n", "one line"
    assert record["signal"] == (code - 128 if code > 128 else None)
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))


LIMITED = {
    "-f 2048": {
        "head -c 9M /dev/zero > x": "a file is limited to 2048 KiB: raise the limit (ulimit -f)",
        "cat /dev/urandom | cat > x": "a file is limited to 2048 KiB: raise the limit (ulimit -f)",
        'python3 -c \'open("x", "wb").write(bytes(9 << 20))\'': "File too large; a file is limited to 2048 KiB",
    },
    "-v 1048576": {
        "java -version": "the memory that a program may address is limited to 1048576 KiB: raise the limit (ulimit -v)",
        "python3 -c 'bytes(3 << 30)'": "MemoryError; the memory that a program may address is limited to 1048576 KiB",
        "sort -S 2G /dev/zero | cat": "memory exhausted; the memory that a program may address",
    },
}


@pytest.mark.parametrize(("limit", "command"), [(limit, each) for limit, every in LIMITED.items() for each in every])
def test_a_limit_of_memory_or_of_files_is_named(node, limit, command):
    words = node.command_line()
    node.command_line = lambda *_, **__: ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *words]
    _, _, record = node.run(command)
    assert record["cause"] == ("file_size_limit" if limit.startswith("-f") else "out_of_memory")
    assert LIMITED[limit][command] in record["message"]
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))


PIPES = {  # what else of a pipe says hides what happened
    "bash -c 'kill -9 $$' | bash -c 'cat; echo fail to read the header >&2; exit 1'": (
        "killed",
        "SIGKILL to program 1 of 2",
    ),
    "(bash -c 'kill -9 $$' | false)": ("killed", "SIGKILL to program 1 of 2"),
    "f() { true | bash -c 'kill -SEGV $$' | false; }; f": ("signal", "SIGSEGV to program 2 of 3"),
    "trap 'echo tidy' EXIT; bash -c 'kill -9 $$' | false | cat": ("killed", "SIGKILL to program 1 of 3"),
    "false | cat": ("tool_error", "exit code 1, and nothing in the log says why"),
    "bash -c 'kill -9 $$' | false || true; exit 3": ("tool_error", "exit code 3, and nothing"),
}


@pytest.mark.parametrize("command", PIPES)
def test_a_program_killed_within_a_pipe_is_named(node, command):
    cause, message = PIPES[command]
    _, printed, record = node.run(command)
    assert record["cause"] == cause
    assert record["message"].startswith(message)
    assert printed.count("\n") == 1
    assert "PIPESTATUS" not in (node.folder / "logs/a.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("full", ["for temporary files", "of the output"])
def test_a_full_disk_of_which_the_tool_does_not_speak(node, full):
    """sambamba: "Unable to write to stream"."""
    dice = random.Random(1)
    reads = ("".join(dice.choices("ACGT", k=50)) for _ in range(20_000))
    rows = "".join(f"r{n}\t0\tc\t{n + 1}\t60\t50M\t*\t0\t0\t{read}\t{read}\n" for n, read in enumerate(reads))
    (node.folder / "reads.sam").write_text(f"@HD\tVN:1.6\n@SQ\tSN:c\tLN:100000\n{rows}")
    small = node.folder / "a b"
    small.mkdir()
    output = "a b/x.bam" if full == "of the output" else "x.bam"
    node.environment["TMPDIR"] = str(small if full == "for temporary files" else node.folder)
    command = 'samtools view -u reads.sam | sambamba sort -t 1 -m 2M -l 0 --tmpdir "$TMPDIR" -o {} /dev/stdin'
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", small], check=True)
    try:
        _, printed, record = node.run(command.format(shlex.quote(output)), "--outputs", output)
    finally:
        subprocess.run(["umount", small], check=True)
    assert (record["cause"], record["exit_code"]) == ("disk_full", 1), printed
    assert f"the disk of {small}" in record["message"]


LOGS = {  # what tools say when they fail
    "bwa": "[M::main] x\n[E::bwa_idx_load_from_disk] fail to locate the index files\nsamtools view: no\n",
    "gatk": "12:00 INFO  Failed to detect x\n***\n\nA USER ERROR has occurred: no such file\n\n***\n",
    "gatk3": "##### ERROR ------\n##### ERROR MESSAGE: Bad input: a contig\n##### ERROR ------\n",
    "java": 'INFO x\nException in thread "main" java.lang.NullPointerException\n\tat A.main(A.java:1)\n',
    "sambamba": "\nsambamba 1.0.0\n by Artem\n\nsambamba-sort: not enough data in stream\n",
    "python": "Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'chr20'\n",
    "R": "Loading required package: x\nError in f(1) : \n  no rows to aggregate\nExecution halted\n",
    "bcftools": "Failed to read from bad.bam: unknown file type\n",
    "samtools": '[main_samview] fail to read the header from "bad.bam".\n',
}
TELLING = {
    "bwa": "[E::bwa_idx_load_from_disk] fail to locate the index files",
    "gatk": "A USER ERROR has occurred: no such file",
    "gatk3": "##### ERROR MESSAGE: Bad input: a contig",
    "java": 'Exception in thread "main" java.lang.NullPointerException',
    "sambamba": "sambamba-sort: not enough data in stream",
    "python": "KeyError: 'chr20'",
    "R": "Error in f(1) : no rows to aggregate",
    "bcftools": "Failed to read from bad.bam: unknown file type",
    "samtools": '[main_samview] fail to read the header from "bad.bam".',
}


@pytest.mark.parametrize("tool", LOGS)
def test_error_line(tool, tmp_path):
    (tmp_path / "log").write_text(LOGS[tool])
    settings = SimpleNamespace(log=str(tmp_path / "log"), stall_s=0)
    assert diagnose.diagnose(1, None, settings, 0) == ("tool_error", TELLING[tool])


@pytest.mark.parametrize("where", ["bash", "environment"])  # the second in a function
def test_kernel_kill_for_want_of_memory(tmp_path, where):
    (tmp_path / "log").write_text(f"{where}: line 1: 17 Killed   java -jar x\n")
    settings = SimpleNamespace(log=str(tmp_path / "log"), stall_s=0)
    assert diagnose.diagnose(1, None, settings, 1)[0] == "out_of_memory", "the node says so, and it was killed"
    assert diagnose.diagnose(137, None, settings, 0)[0] == "killed", "nothing says so"


def test_out_of_memory_in_a_cgroup(node):
    """A limit of 60 MiB on the cgroup in which the launcher runs."""
    limited = Path("/sys/fs/cgroup/memory", f"gpd-test-{os.getpid()}")
    if os.geteuid() or not (limited.parent / "tasks").exists():
        pytest.skip("no cgroup v1 memory controller that this user may use")
    limited.mkdir()
    try:
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
            if (limited / name).exists():
                (limited / name).write_text(str(60 << 20))
        hungry = f'{PYTHON} -c "{ALLOCATE.format(mib=200)}"'
        entered = f'echo $$ > {limited}/cgroup.procs; exec "$@"'
        words = ["bash", "-c", entered, "bash", *node.command_line()]
        done = subprocess.run(words, input=hungry.encode(), cwd=node.folder, env=node.environment, timeout=60)
    finally:
        remove_cgroups(limited)
    record = node.records()[-1]
    assert (done.returncode, record["cause"], record["signal"]) == (137, "out_of_memory", 9)


def remove_cgroups(*folders):
    """Remove control groups once their last process is gone."""
    for folder in folders:
        wait_until(lambda folder=folder: not (folder / "cgroup.procs").read_text())
        folder.rmdir()


def test_kernel_limits_are_kept(node):
    """A quota of one CPU's time: no job is wider, and no run is told more. Memory likewise."""
    quota, memory = (Path("/sys/fs/cgroup", kind, f"gpd-test-{os.getpid()}") for kind in ("cpu", "memory"))
    if len(CPUS) < 2 or os.geteuid() or not all((path.parent / "tasks").exists() for path in (quota, memory)):
        pytest.skip("no cgroups of version 1 that this user may make")
    enter = f'echo $$ > {quota}/cgroup.procs; echo $$ > {memory}/cgroup.procs; exec "$@"'
    run = {"cwd": node.folder, "env": node.environment, "check": True, "timeout": 60, "stdout": subprocess.PIPE}
    try:
        quota.mkdir()
        memory.mkdir()
        (quota / "cpu.cfs_quota_us").write_text("150000")
        (memory / "memory.limit_in_bytes").write_text(str(500 << 20))
        asked = subprocess.run(["bash", "-c", enter, "bash", sys.executable, LAUNCH, "limits"], **run)
        subprocess.run(["bash", "-c", enter, "bash", *node.command_line(threads=8)], input=b"echo $GPD_THREADS", **run)
    finally:
        remove_cgroups(quota, memory)
    told = json.loads(asked.stdout)
    assert (told["cpus"], told["cpu_quota_cpus"], told["memory_mib"]) == (1, 1.5, 500)
    assert 400 < told["memory_available_mib"] < 500
    assert len(topology.parse_cpus(node.records()[0]["cpus"])) == 1
    assert (node.folder / "logs/a.log").read_text() == "1\n"


def test_cpus_that_others_keep_busy(node):
    """Each CPU has another process that spins: the record says what it took, and whose the rest of the time was.

    How much that is, neighbours of the machine have a say in: what they take is stolen.
    """
    spin = [sys.executable, "-S", "-E", "-c", "while True: pass"]
    others = [subprocess.Popen(["taskset", "-c", str(cpu), *spin]) for cpu in CPUS]
    try:
        record = node.run(f"timeout 4 {' '.join(spin[:-1])} 'while True: pass' || true")[2]
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert record["cpu_contention"] is True, record
    assert record["cpu_s"] + record["other_cpu_s"] + record["steal_s"] == pytest.approx(record["wall_s"], rel=0.15)


def test_stalled(node):
    began = time.monotonic()
    code, _, record = node.run("sleep 60", "--stall-s", "1")
    assert (code, record["cause"]) == (143, "stalled")
    assert time.monotonic() - began < 10


def test_what_was_suspended_with_its_launcher_says_so_and_is_not_stalled(node):
    wrapper = node.start("touch at_work; sleep 4", "--stall-s", "2")
    wait_until((node.folder / "at_work").exists)
    tree = [wrapper.pid, *(int(pid) for pid in processes.descendants(wrapper.pid))]
    time.sleep(0.5)
    for signum in (signal.SIGSTOP, signal.SIGCONT):
        for pid in tree:
            with suppress(ProcessLookupError):  # `touch`
                os.kill(pid, signum)
        time.sleep(3.5 if signum == signal.SIGSTOP else 0)
    wrapper.communicate(timeout=60)
    (record,) = node.records()
    assert record["exit_code"] == 0
    assert 3 < record["paused_s"] < 4
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))


def test_a_job_on_a_busy_cpu_was_not_suspended(node):
    work = "for i in 1 2 3 4 5 6 7 8; do { timeout 3 sh -c 'while :; do :; done' || true; } & done; wait"
    assert node.run(work)[2]["paused_s"] == 0


def test_slow_but_alive_is_not_stalled(node):
    """Some bytes, or some CPU, within the time are enough."""
    assert node.run("for i in 1 2 3 4 5; do sleep 0.8; echo .; done", "--stall-s", "3")[0] == 0


def test_what_a_failed_command_leaves_behind_is_ended(node):
    began = time.monotonic()
    code, _, record = node.run("(sleep 60 &) ; exit 4")
    assert (code, record["cause"]) == (4, "tool_error")
    assert time.monotonic() - began < 10
    assert node.allocated() == set()


def test_bad_tmpdir(node):
    node.environment["TMPDIR"] = str(node.folder / "nowhere")
    code, printed, record = node.run("true")
    assert (code, record["cause"]) == (1, "launcher_error")
    assert "nowhere: no folder that can be written to" in printed


def test_runtime_folder_of_somebody_else(node):
    """A symbolic link, or a folder that others may enter, could be an attack."""
    elsewhere = node.folder / "elsewhere"
    elsewhere.mkdir()
    node.runtime.symlink_to(elsewhere)
    process = node.start("true")
    assert b"not a private folder" in process.communicate()[1]
    assert process.returncode == 2
    node.runtime.unlink()
    node.runtime.mkdir(mode=0o755)
    process = node.start("true")
    assert b"not a private folder" in process.communicate()[1]


# ---------------------------------------------------------------------------------------------------- waiting


def test_jobs_wait_in_turn(node):
    """A wide job is not overtaken by narrow ones that came later, and none overlaps."""
    order = "echo $GPD_JOB >> order"
    first = node.start("until [ -e go ]; do sleep 0.1; done", name="first")
    wait_until(lambda: node.allocated() and not node.queued())  # it has left the queue, too
    others = []
    for number in range(6):
        threads = len(CPUS) if number == 0 else 1
        others.append(node.start(order, name=f"n{number}", threads=threads))
        wait_until(lambda number=number: node.queued() == number + 1)
    (node.folder / "go").touch()
    for process in [first, *others]:
        assert process.wait(timeout=60) == 0
    names = {record["id"]: record["wildcards"]["sample"] for record in node.records()}
    assert names[(node.folder / "order").read_text().split()[0]] == "n0"
    assert node.check() == ()


def test_waiters_cost_nothing(node):
    """Eight waiters together use under 1% of a CPU."""
    holder = node.start("sleep 30", name="holder", threads=len(CPUS))
    wait_until(lambda: node.allocated() == CPUS and not node.queued())
    waiters = [node.start("true", name=f"w{n}", threads=1) for n in range(8)]
    wait_until(lambda: node.queued() == 8)
    time.sleep(1)
    before = sum(cpu_ticks(process.pid) for process in waiters)
    time.sleep(4)
    used = (sum(cpu_ticks(process.pid) for process in waiters) - before) / os.sysconf("SC_CLK_TCK")
    assert used < 0.04
    holder.terminate()
    for process in [holder, *waiters]:
        process.wait(timeout=60)
    assert node.check() == ()


def cpu_ticks(pid):
    """Return the CPU time of a process in clock ticks."""
    return sum(map(int, processes.stat_fields(pid)[11:13]))


def test_a_release_is_noticed_at_once(node):
    first = node.start("sleep 1", name="first", threads=len(CPUS))
    wait_until(lambda: node.allocated() == CPUS)
    second = node.start("true", name="second")
    assert first.wait(timeout=30) == second.wait(timeout=30) == 0
    one, other = (next(r for r in node.records() if r["wildcards"]["sample"] == name) for name in ("first", "second"))
    gap = launch_time(other["start"]) - launch_time(one["end"])
    assert 0 <= gap < 1  # it looks every 2 s without being told


def launch_time(text):
    """Return seconds of a record's time."""
    from datetime import datetime

    return datetime.fromisoformat(text[:26]).timestamp()


# ----------------------------------------------------------------------------------------------------- ledger


def test_long_lines_from_many_processes(tmp_path):
    """Lines far longer than PIPE_BUF do not mix."""
    path = tmp_path / "ledger.jsonl"
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            for _ in range(50):
                ledger.append(path, {"number": number, "text": str(number) * 20000})
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(records) == 400
    assert all(record["text"] == str(record["number"]) * 20000 for record in records)


def test_a_job_whose_caller_is_gone_before_it_looks_does_not_begin(node):
    gone = subprocess.Popen(["true"])
    gone.wait()
    code, printed, record = node.run("touch began", "--asked-by", gone.pid)
    assert (code, record["cause"], record["start"]) == (143, "killed", None)
    assert f"(PID {gone.pid}) is gone while it waited" in printed
    assert not (node.folder / "began").exists()


def test_a_cut_line_spoils_no_other(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"schema": 1, "ru')
    ledger.append(path, {"a": 1})
    (line,) = path.read_text().splitlines()[1:]
    assert json.loads(line)["a"] == 1


def test_unwritable_ledger_keeps_the_record(node):
    """The job's outcome stands; its record waits in the journal until the ledger can take it."""
    node.ledger.mkdir()
    process = node.start("true")
    printed = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 0
    assert "could not be written" in printed
    node.ledger.rmdir()
    assert node.run("true")[0] == 0
    assert [record["exit_code"] for record in node.records()] == [0, 0]


def test_two_jobs_on_one_cpu_are_found_in_the_ledger(node):
    node.run("true")
    assert node.check() == ()
    ledger.append(node.ledger, {**node.records()[0], "id": "f" * 16})
    (problem,) = node.check()
    assert problem.startswith(f"{node.ledger} lines 1 and 2: both held CPU")


def test_a_log_that_the_job_removed(node):
    code, _, record = node.run("rm logs/a.log; exit 5")
    assert (code, record["cause"]) == (5, "tool_error")


def test_a_damaged_journal_is_dropped(node):
    node.run("true")
    (node.runtime / "jobs/broken").write_text("{'record': {")
    assert node.run("true")[0] == 0
    assert list((node.runtime / "jobs").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_privileges(node):
    """Another user: sampled memory, a runtime folder of its own, all else the same."""
    node.folder.chmod(0o777)
    for parent in node.folder.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    node.environment["HOME"] = str(node.folder)
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.skip("no Python that every user may run")
    script = shutil.copytree(LAUNCH.parent, node.folder / "launcher") / LAUNCH.name
    words = [python if word == sys.executable else word for word in node.command_line()]
    words[words.index("-E") + 1] = str(script)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words],
        input=f'{python} -S -E -c "{ALLOCATE.format(mib=100)}; import time; time.sleep(0.2)"'.encode(),
        cwd=node.folder,
        env=node.environment,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    record = node.records()[0]
    assert record["peak_rss_source"] in ("sampled", "rusage")
    assert record["peak_rss_mib"] == pytest.approx(110, rel=0.1)
    assert record["binding_ok"] is True
    assert record["read_calls_mib"] is not None
