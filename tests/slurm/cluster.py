"""A real Slurm of several nodes on this host: its daemons, their files and their jobs are in a folder of their own.

    with Cluster.started() as cluster:
        cluster.run("sbatch", "--wait", "--wrap", "hostname")

Every daemon runs below a reaper.py, which ends it and whatever its jobs leave when this process ends, however it does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REAPER = Path(__file__).with_name("reaper.py")
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "sinfo", "scancel")
SBIN = ("/usr/sbin", "/usr/local/sbin")  # where daemons are, on no PATH but root's
START_S = 120.0  # how long daemons may take on a busy machine; they took 1 s on an idle one
SAVED_WITHIN_S = 7  # slurmctld writes what became of jobs within 5 s (SAVE_MAX_WAIT in its source)

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket,cred_expire={requeue_s}
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
EnforcePartLimits=ALL
MinJobAge=86400
SlurmdTimeout=60
SchedulerParameters=sched_interval=2,batch_sched_delay=0
"""
REQUEUE_S = 5  # how long Slurm lets a requeued job wait

# Snakemake's jobstep plugin takes SLURM_CONF out of srun's environment, and no other place for it is ours.
SRUN = """\
#!/bin/sh
SLURM_CONF={folder}/slurm.conf exec {srun} "$@"
"""


def missing() -> list[str]:
    """What a cluster lacks here: commands, and the rights to be Slurm."""
    lacking = [name for name in COMMANDS if not command(name)]
    return lacking if os.geteuid() == 0 else [*lacking, "root"]


def command(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))


@dataclass(frozen=True)
class Node:
    """A virtual node: the CPUs of the host that it hands out, and the memory that it says it has."""

    name: str
    cpus: frozenset[int]
    memory_mb: int = 16000  # whatever the host has: the widest rule of the pipelines, on one CPU


def two_nodes() -> list[Node]:
    """n1 and n2, with half of the host's CPUs each; both have its only one where there is but one."""
    every = range(os.cpu_count())
    half = max(1, len(every) // 2)
    return [Node("n1", frozenset(every[:half])), Node("n2", frozenset(every[-half:]))]


def wide_node(name: str = "wide") -> Node:
    """A node with all CPUs of the host, which others may hand out, too."""
    return Node(name, frozenset(range(os.cpu_count())), 32000)


class Daemon:
    """A daemon below its reaper."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as output:
            self.reaper = subprocess.Popen(
                [sys.executable, str(REAPER), *words],
                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": output, "text": True},
                **{"env": {**environment}, "cwd": log.parent, "start_new_session": True},
            )
        self.pid = int(self.reaper.stdout.readline())

    def end(self, signum: signal.Signals | None = None) -> None:
        """End the daemon and all processes below it: at once, or after it ended by this signal as it likes to."""
        if signum is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signum)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.reaper.wait(timeout=20)
        self.reaper.stdin.close()
        self.reaper.wait()


@dataclass
class Cluster:
    """A cluster whose folder has a short path: that of MUNGE's socket must fit into 107 bytes."""

    folder: Path
    nodes: Sequence[Node]
    partitions: Mapping[str, Sequence[str]]
    daemons: dict[str, Daemon] = field(default_factory=dict)

    @classmethod
    @contextlib.contextmanager
    def started(
        cls, nodes: Sequence[Node] | None = None, partitions: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[Cluster]:
        """A cluster with all nodes idle, by default two_nodes() in the partition `main`; it is gone afterwards.

        `partitions`: nodes by partition; jobs that name none come into the first.
        """
        nodes = nodes or two_nodes()
        partitions = partitions or {"main": [node.name for node in nodes]}
        cluster = cls(Path(tempfile.mkdtemp(prefix="slurm-")), nodes, partitions)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()

    # ---- daemons

    def start(self) -> None:
        """Start the daemons, and wait until all nodes are idle."""
        self.write_configuration()
        words = {name: f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "log", "seed")}
        socket_path = self.folder / "munge.socket"
        self.start_daemon("munged", "--foreground", "--force", f"--socket={socket_path}", *words.values())
        self.wait(socket_path.exists)
        self.start_slurmctld()
        for node in self.nodes:
            self.start_slurmd(node.name)
        self.wait(lambda: {*self.node_states().values()} == {"idle"})

    def write_configuration(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        for name in ("state", "bin", *(node.name for node in self.nodes)):
            (self.folder / name).mkdir()
        host = socket.gethostname().partition(".")[0]
        control, *ports = free_ports(1 + len(self.nodes))
        known = {"host": host, "user": "root", "folder": self.folder, "port": control, "requeue_s": REQUEUE_S}
        lines = [CONFIGURATION.format(**known)]
        lines += [node_line(node, host, port) + "\n" for node, port in zip(self.nodes, ports, strict=True)]
        for number, (name, members) in enumerate(self.partitions.items()):
            default = "NO" if number else "YES"
            lines.append(f"PartitionName={name} Nodes={','.join(members)} Default={default} MaxTime=INFINITE\n")
        (self.folder / "slurm.conf").write_text("".join(lines))
        srun = self.folder / "bin" / "srun"
        srun.write_text(SRUN.format(folder=self.folder, srun=command("srun")))
        srun.chmod(0o755)

    def start_daemon(self, name: str, *words: str, known_as: str | None = None) -> None:
        log = self.folder / f"{known_as or name}.output"
        self.daemons[known_as or name] = Daemon([command(name), *words], self.environment, log)

    def start_slurmctld(self) -> None:
        self.start_daemon("slurmctld", "-D", "-f", f"{self.folder}/slurm.conf")
        self.wait(lambda: self.ask("scontrol", "ping").returncode == 0)

    def start_slurmd(self, node: str) -> None:
        self.start_daemon("slurmd", "-D", "-f", f"{self.folder}/slurm.conf", "-N", node, known_as=node)

    def stop(self) -> None:
        """End all daemons and jobs, whatever state they are in, and remove the folder."""
        for daemon in reversed(self.daemons.values()):
            daemon.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart_slurmctld(
        self, signum: signal.Signals = signal.SIGTERM, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """End slurmctld by a signal, SIGKILL as in a crash, and start it again from what it had saved.

        A job whose start it had not saved it starts anew, finds it at work, and drains the node: that is not meant.
        """
        time.sleep(SAVED_WITHIN_S)
        self.daemons["slurmctld"].end(signum)
        meanwhile()
        self.start_slurmctld()

    def forget_jobs(self) -> None:
        """Have slurmctld crash, and start again without what it had saved of jobs."""
        self.daemons["slurmctld"].end(signal.SIGKILL)
        for saved in (self.folder / "state").glob("job_state*"):
            saved.unlink()
        self.start_slurmctld()

    def cut_off(self, node: str) -> None:
        """Take a node's power: slurmd, its steps and jobs are killed, and the controller learns that it is down."""
        self.daemons[node].end()
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=power")

    def bring_back(self, node: str) -> None:
        """Start a node's slurmd again, and wait until it takes jobs: it may register as free before it is resumed."""
        self.start_slurmd(node)

        def takes_jobs() -> bool:
            self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
            return self.node_states()[node] in ("idle", "mix", "alloc")

        self.wait(takes_jobs)

    # ---- asking

    @property
    def environment(self) -> dict[str, str]:
        """What a user of this cluster has in the environment; allocations are the test's own."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_", "GPD_"))}
        path = os.pathsep.join([f"{self.folder}/bin", str(Path(sys.executable).parent), os.environ["PATH"], *SBIN])
        return {
            **kept,
            "PATH": path,
            "SLURM_CONF": f"{self.folder}/slurm.conf",
            "GPD_RUNTIME_DIR": f"{self.folder}/allocations",
        }

    def ask(self, *words: object) -> subprocess.CompletedProcess[str]:
        """What a command says, and whether it failed."""
        done = {"env": self.environment, "capture_output": True, "text": True, "timeout": START_S}
        return subprocess.run([*map(str, words)], **done, check=False)

    def run(self, *words: object) -> str:
        """What a command that must not fail prints."""
        done = self.ask(*words)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
        return done.stdout.strip()

    def node_states(self) -> dict[str, str]:
        """The state of each node, as sinfo's short words have it, without the mark of one that does not answer."""
        lines = (line.split() for line in self.ask("sinfo", "-h", "-N", "-o", "%N %t").stdout.splitlines())
        return {name: state.rstrip("*") for name, state in lines}

    def jobs(self) -> dict[int, str]:
        """The state of each job that Slurm remembers."""
        lines = (line.split() for line in self.run("squeue", "-h", "-t", "all", "-o", "%A %T").splitlines())
        return {int(number): state for number, state in lines}

    def running(self) -> list[int]:
        """The jobs at work."""
        return [number for number, state in self.jobs().items() if state == "RUNNING"]

    def job(self, number: int) -> dict[str, str]:
        """All that scontrol knows of a job."""
        words = self.run("scontrol", "show", "job", "-o", number).split(" ")
        return {name: text for name, equals, text in (word.partition("=") for word in words) if equals}

    def submit(self, script: str, *options: str) -> int:
        """Submit a job that runs this script; its number."""
        output = self.run("sbatch", "--parsable", "--output", f"{self.folder}/%j.out", *options, "--wrap", script)
        return int(output.partition(";")[0])

    def wait(self, condition: Callable[[], object], timeout_s: float = START_S) -> None:
        """Wait until a condition holds; where it does not, say what the daemons said last."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            ended = [name for name, daemon in self.daemons.items() if daemon.reaper.poll() is not None]
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {timeout_s:g} s; ended: {ended}\n{self.last_words()}")
            time.sleep(0.1)

    def last_words(self, count: int = 20) -> str:
        """The ends of all logs of daemons."""
        logs = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.output")])
        ends = ([f"{log.name}:", *log.read_text(errors="replace").splitlines()[-count:]] for log in logs)
        return "\n".join(line for end in ends for line in end)


def node_line(node: Node, host: str, port: int) -> str:
    """A node in slurm.conf: it is told of all CPUs of the host, and keeps those of others for itself."""
    line = f"NodeName={node.name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
    line += f" CPUs={os.cpu_count()} RealMemory={node.memory_mb}"
    spared = sorted({*range(os.cpu_count())} - node.cpus)
    return line + (f" CpuSpecList={','.join(map(str, spared))}" if spared else "")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on: all are held until the last is found."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
