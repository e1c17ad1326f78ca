"""What a run meets on this machine: processor, memory, free space, conda."""

import json
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpd.machines import launcher

TIMEOUT_S = 60.0
GIB = 1024**3
MIB_PER_GIB = 1024
LSCPU = ("env", "LC_ALL=C", "lscpu", "--json")  # it speaks the user's language where it is not told otherwise


@dataclass(frozen=True)
class Topology:
    """How many of what the processor has; None where the machine does not tell."""

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
    """What a run meets here beside the tools; CPUs in use and memory are those that this process may use.

    `model` is the processor's, empty where nobody tells.
    """

    model: str
    topology: Topology
    usable_cpus: int
    memory_gib: float
    available_gib: float
    disks: tuple[Disk, ...]
    open_files: int
    conda: str


def look(directory: Path) -> Machine:
    """Measure what a run in the directory would find on this machine."""
    limits = launcher.limits()
    temporary = Path(tempfile.gettempdir())
    status, told = answer(list(LSCPU))
    return Machine(
        model=lscpu_fields(told if status == 0 else "").get("Model name", ""),
        topology=topology(),
        usable_cpus=limits.cpus,
        memory_gib=limits.memory_mib / MIB_PER_GIB,
        available_gib=limits.memory_available_mib / MIB_PER_GIB,
        disks=tuple(Disk(str(path), shutil.disk_usage(path).free / GIB) for path in (directory, temporary)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        conda=conda(),
    )


def conda() -> str:
    """The path of conda, empty where there is none."""
    return shutil.which("conda") or ""


def topology() -> Topology:
    """The processor's, by lscpu. Its JSON is no JSON where a column has no number, so that its other form is read."""
    status, text = answer(["lscpu", "--parse=CPU,CORE,SOCKET,NODE,CACHE"])
    return parse_lscpu(text if status == 0 else "")


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
        cpus=len(rows) or None,
        cores=cores,
        sockets=_distinct(row.get("Socket") for row in rows),
        numa_nodes=_distinct(row.get("Node") for row in rows),
        l3_groups=_distinct(row.get("L3") for row in rows),
        threads_per_core=len(rows) // cores if cores else None,
    )


def lscpu_fields(text: str) -> dict[str, str]:
    """What `lscpu --json` prints, by name; newer versions nest it."""

    def entries(found: Iterable[dict]) -> Iterator[tuple[str, str]]:
        for entry in found:
            yield entry["field"].strip().rstrip(":"), (entry["data"] or "").strip()
            yield from entries(entry.get("children", ()))

    told = entries(json.loads(text)["lscpu"]) if text else ()
    return {name: value for name, value in told if value and value != "-"}


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
