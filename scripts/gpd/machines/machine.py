"""What machine this is: the one module that looks."""

import contextlib
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from gpd.machines import launcher
from gpd.machines.launcher import Limits
from gpd.machines.mounts import Mount, mount_of, parse_mounts

TIMEOUT_S = 60.0
GIB = 1024**3
MIB_PER_GIB = 1024
WINDOW_S = 1.0  # how long it is watched how busy the CPUs are

# of what firmware tells of board and BIOS, what is of no single machine
DMI = ("bios_date", "bios_vendor", "bios_version", "board_name", "board_vendor", "product_name", "sys_vendor")
# what the kernel tells of itself and of the machine, for whoever may read it
FILES = (
    *("/etc/os-release", "/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/self/mountinfo"),
    "/sys/devices/system/cpu/cpu*/acpi_cppc/nominal_freq",
    "/sys/devices/system/cpu/cpu*/cache/index3/[ls]*",
    "/sys/devices/system/cpu/cpu*/cpufreq/base_frequency",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_[dg]*r",
    *(f"/sys/class/dmi/id/{name}" for name in DMI),
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/vulnerabilities/*",
    "/sys/devices/system/node/node*/cpulist",
    "/sys/devices/system/node/node*/meminfo",
    "/sys/firmware/acpi/platform_profile",
    "/sys/kernel/mm/transparent_hugepage/enabled",
)
# exit statuses with which a command has answered: systemd-detect-virt ends with 1 where it finds nothing; dmidecode is
# for root alone. lscpu speaks the user's language where it is not told otherwise.
COMMANDS = {
    "lscpu": (("env", "LC_ALL=C", "lscpu"), (0,)),
    "vm": (("systemd-detect-virt", "--vm"), (0, 1)),
    "container": (("systemd-detect-virt", "--container"), (0, 1)),
    "memory_modules": (("dmidecode", "--type", "17"), (0,)),
}

SLURM = ("SLURMD_NODENAME", "SLURM_JOB_PARTITION")  # what a job of Slurm's is told of where it is


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
    """What a run meets here beside the tools; CPUs in use and memory are those that this process may use."""

    topology: Topology
    usable_cpus: int
    memory_gib: float
    available_gib: float
    disks: tuple[Disk, ...]
    open_files: int
    conda: str


@dataclass(frozen=True)
class Folder:
    """A directory without links on its way, and the file system that holds it; `block` is its device, major:minor."""

    path: str
    size_gib: float
    free_gib: float
    block: str | None


@dataclass(frozen=True)
class Seen:
    """What a machine says of itself, in its own words; what it does not say is not in there.

    `slurm` holds what Slurm told the job that we are in, by its variables; empty outside of one.
    `files` holds texts by path, `answers` what the COMMANDS printed, `stat` /proc/stat before and after `window_s`.
    `usable_cpus` are those that this process may run on, `limits` what it may use of them and of the memory.
    """

    hostname: str
    kernel: str
    architecture: str
    topology: Topology
    usable_cpus: int
    limits: Limits
    open_files: tuple[int | None, int | None]
    files: Mapping[str, str]
    answers: Mapping[str, str]
    folders: Mapping[str, Folder]
    stat: tuple[str, str]
    window_s: float
    slurm: Mapping[str, str] = field(default_factory=dict)


def look(directory: Path) -> Machine:
    """Measure what a run in the directory would find on this machine."""
    limits = launcher.limits()
    temporary = Path(tempfile.gettempdir())
    return Machine(
        topology=_topology(),
        usable_cpus=limits.cpus,
        memory_gib=limits.memory_mib / MIB_PER_GIB,
        available_gib=limits.memory_available_mib / MIB_PER_GIB,
        disks=tuple(Disk(str(path), shutil.disk_usage(path).free / GIB) for path in (directory, temporary)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        conda=conda(),
    )


def gather(directories: Mapping[str, Path], window_s: float = WINDOW_S) -> Seen:
    """Read all that the host record is made of; needs no root and no tool, but tells more with them."""
    system = os.uname()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    answers = _answers()
    files = _read(path for pattern in FILES for path in Path("/").glob(pattern.lstrip("/")))
    mounts = parse_mounts(files.get("/proc/self/mountinfo", ""))
    folders = {name: _folder(directory.resolve(), mounts) for name, directory in directories.items()}
    files |= _read(path for folder in folders.values() if folder.block for path in _block_files(folder.block))
    topology = _topology()
    before = Path("/proc/stat").read_text()  # last, so that what was started above is not counted
    time.sleep(window_s)
    return Seen(
        hostname=system.nodename,
        kernel=system.release,
        architecture=system.machine,
        topology=topology,
        usable_cpus=len(os.sched_getaffinity(0)),
        limits=launcher.limits(),
        open_files=(_limit(soft), _limit(hard)),
        files=files,
        answers=answers,
        folders=folders,
        stat=(before, Path("/proc/stat").read_text()),
        window_s=window_s,
        slurm={name: os.environ[name] for name in SLURM if name in os.environ},
    )


def _limit(value: int) -> int | None:
    return None if value == resource.RLIM_INFINITY else value


def _answers() -> dict[str, str]:
    """What those of the COMMANDS say that are here and may."""
    said = {}
    for name, (command, statuses) in COMMANDS.items():
        status, output = answer(list(command))
        if status in statuses:
            said[name] = output
    return said


def _read(paths: Iterable[Path]) -> dict[str, str]:
    """The texts of those files that are there and may be read."""
    texts = {}
    for path in paths:
        with contextlib.suppress(OSError):
            texts[str(path)] = path.read_text(errors="replace")
    return texts


def _block_files(block: str) -> Iterable[Path]:
    """What is told of a block device, and of the whole disk where the device is a partition of it."""
    yield from (Path("/sys/dev/block") / block / name for name in ("uevent", "queue/rotational", "../queue/rotational"))


def _folder(directory: Path, mounts: list[Mount]) -> Folder:
    usage = shutil.disk_usage(directory)
    mount = mount_of(PurePosixPath(directory), mounts)
    return Folder(str(directory), usage.total / GIB, usage.free / GIB, _block(mount) if mount else None)


def _block(mount: Mount) -> str | None:
    """The block device of a mount. Btrfs hides it behind a number of its own, but names it."""
    if not mount.device.startswith("0:"):
        return mount.device
    with contextlib.suppress(OSError):
        device = Path(mount.source).stat().st_rdev if mount.source.startswith("/dev/") else 0
        return f"{os.major(device)}:{os.minor(device)}" if device else None
    return None


def conda() -> str:
    """The path of conda, empty where there is none."""
    return shutil.which("conda") or ""


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
