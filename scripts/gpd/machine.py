"""What machine this is: the one module that looks."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

TIMEOUT_S = 60.0
GIB = 1024**3


@dataclass(frozen=True)
class Topology:
    """The processor in short; a count that the machine does not tell is None."""

    model: str
    cpus: int | None
    cores: int | None
    sockets: int | None
    numa_nodes: int | None
    l3_groups: int | None
    threads_per_core: int | None


@dataclass(frozen=True)
class Disk:
    """Free space of the file system that holds a directory."""

    path: str
    free_gib: float


@dataclass(frozen=True)
class Machine:
    """What a run meets here beside the tools; `usable_cpus` are those this process may run on."""

    topology: Topology
    usable_cpus: int
    memory_gib: float
    available_gib: float
    disks: tuple[Disk, ...]
    open_files: int
    conda: str


def look(directory: Path) -> Machine:
    """Measure what a run in the directory would find on this machine."""
    memory = _meminfo(Path("/proc/meminfo").read_text())
    temporary = Path(tempfile.gettempdir())
    return Machine(
        topology=_topology(),
        usable_cpus=len(os.sched_getaffinity(0)),
        memory_gib=memory["MemTotal"] / GIB,
        available_gib=memory["MemAvailable"] / GIB,
        disks=tuple(Disk(str(path), shutil.disk_usage(path).free / GIB) for path in (directory, temporary)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        conda=conda(),
    )


def conda() -> str:
    """The path of conda, empty where there is none."""
    return shutil.which("conda") or ""


def _meminfo(text: str) -> dict[str, int]:
    """Return the sizes of /proc/meminfo in bytes."""
    fields = (line.split() for line in text.splitlines() if line.endswith("kB"))
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in fields}


def _topology() -> Topology:
    status, text = answer(["lscpu", "--parse=CPU,CORE,SOCKET,NODE,CACHE"])
    seen = parse_lscpu(text if status == 0 else "")
    return Topology(**asdict(seen) | {"model": _model(Path("/proc/cpuinfo").read_text())})


def _model(cpuinfo: str) -> str:
    fields = (line.partition(":") for line in cpuinfo.splitlines())
    return next((value.strip() for name, _, value in fields if name.strip() == "model name"), "")


def parse_lscpu(text: str) -> Topology:
    """Count what `lscpu --parse=CPU,CORE,SOCKET,NODE,CACHE` lists.

    There is a row for each CPU; the last comment names the columns.
    """
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    columns = comments[-1].lstrip("# ").split(",") if comments else []
    rows = [dict(zip(columns, line.split(","), strict=False)) for line in lines if line and line[0] != "#"]
    cores = _distinct(f"{row.get('Socket')}/{row['Core']}" for row in rows if row.get("Core"))
    return Topology(
        model="",
        cpus=len(rows) or None,
        cores=cores,
        sockets=_distinct(row.get("Socket") for row in rows),
        numa_nodes=_distinct(row.get("Node") for row in rows),
        l3_groups=_distinct(row.get("L3") for row in rows),
        threads_per_core=len(rows) // cores if cores else None,
    )


def _distinct(values: Iterable[str | None]) -> int | None:
    return len({value for value in values if value}) or None


def answer(command: list[str]) -> tuple[int | None, str]:
    """The exit status and output of a command; no status: it had to be stopped."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    except OSError as error:
        return 126, str(error)
    return done.returncode, done.stdout.decode(errors="replace")
