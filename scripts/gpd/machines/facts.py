"""What kernel, firmware and programs report of this machine: the one module that collects it."""

import json
import os
import platform
import resource
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gpd.machines import file_systems, launcher
from gpd.machines.launcher import Limits
from gpd.processes import ProcessError, run
from gpd.records.host import FileSystem

WINDOW_S = 1.0  # in which the CPUs' load is measured
# what firmware reports of board and BIOS, without serial numbers
DMI = ("bios_date", "bios_vendor", "bios_version", "board_name", "board_vendor", "product_name", "sys_vendor")
FILES = (
    *("/proc/cpuinfo", "/proc/meminfo"),
    "/sys/devices/cpu_*/cpus",
    "/sys/devices/system/cpu/cpu*/acpi_cppc/nominal_freq",
    "/sys/devices/system/cpu/cpu*/cache/index3/[ls]*",
    "/sys/devices/system/cpu/cpu*/cpu_capacity",
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
COMMANDS = {
    "lscpu": ("env", "LC_ALL=C", "lscpu", "--json"),
    "cpus": ("lscpu", "--parse=CPU,CORE,SOCKET,NODE,CACHE"),  # lscpu's JSON of these is not always valid
    "vm": ("systemd-detect-virt", "--vm"),
    "container": ("systemd-detect-virt", "--container"),
    "memory_modules": ("dmidecode", "--type", "17"),  # for root alone
}
SLURM = ("SLURMD_NODENAME", "SLURM_JOB_PARTITION")


@dataclass(frozen=True)
class Facts:
    """What a machine reports of itself, as text; what it does not report is not in there.

    `files` holds texts by path, `outputs` what the COMMANDS printed, `slurm` the variables of a Slurm job around us,
    `cpu_percent` how all CPUs spent `window_s`. `usable_cpus` are those that this process may run on, `open_files` the
    soft limit and the hard one, None without a limit.
    """

    hostname: str
    kernel: str
    architecture: str
    usable_cpus: int
    limits: Limits
    open_files: tuple[int | None, int | None]
    files: Mapping[str, str]
    outputs: Mapping[str, str]
    file_systems: Mapping[str, FileSystem]
    loads: tuple[float, ...]
    cpu_percent: Mapping[str, float]
    window_s: float
    os: str | None = None
    slurm: Mapping[str, str] = field(default_factory=dict)
    affinity: frozenset[int] = frozenset()

    @property
    def topology(self) -> dict[str, int | None]:
        """How many sockets, cores and so on the processor has; None where the machine does not report it."""
        return parse_lscpu(self.outputs.get("cpus", ""))

    @property
    def lscpu(self) -> dict[str, str]:
        """What lscpu reports of the processor, by its names."""
        return lscpu_fields(self.outputs.get("lscpu", ""))


def gather(directories: Mapping[str, Path], window_s: float = WINDOW_S) -> Facts:
    """Read all that the host record is made of; needs no root and no tool, but finds more with them.

    `directories` names the folders whose file systems count, such as work and temp.
    """
    system = os.uname()
    files, outputs = dict[str, str](), dict[str, str]()
    for path in (path for pattern in FILES for path in Path("/").glob(pattern.lstrip("/"))):
        with suppress(OSError):  # it may not be read
            files[str(path)] = path.read_text(errors="replace")
    for name, command in COMMANDS.items():
        with suppress(ProcessError):
            done = run(command)
            if done.returncode == 0 or name in ("vm", "container"):  # these end with 1 where they find nothing
                outputs[name] = done.stdout
    folders = {name: file_systems.look(directory) for name, directory in directories.items()}
    limits = launcher.limits()
    soft, hard = (None if n == resource.RLIM_INFINITY else n for n in resource.getrlimit(resource.RLIMIT_NOFILE))
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        distribution = None
    return Facts(
        hostname=system.nodename,
        kernel=system.release,
        architecture=system.machine,
        usable_cpus=len(os.sched_getaffinity(0)),
        limits=limits,
        open_files=(soft, hard),
        files=files,
        outputs=outputs,
        file_systems=folders,
        loads=tuple(round(load, 2) for load in os.getloadavg()),
        cpu_percent=psutil.cpu_times_percent(window_s)._asdict(),  # last, so that what was started above is not counted
        window_s=window_s,
        os=distribution,
        slurm={name: os.environ[name] for name in SLURM if name in os.environ},
        affinity=frozenset(os.sched_getaffinity(0)),
    )


def lscpu_rows(text: str) -> list[dict[str, str]]:
    """The rows of `lscpu --parse`, one a CPU, by the columns that its last comment names."""
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    columns = comments[-1].lstrip("# ").split(",") if comments else []
    return [dict(zip(columns, line.split(","), strict=False)) for line in lines if line and line[0] != "#"]


def parse_lscpu(text: str) -> dict[str, int | None]:
    """Count what `lscpu --parse=CPU,CORE,SOCKET,NODE,CACHE` lists: a row per CPU, after comments that name columns."""
    rows = lscpu_rows(text)

    def count(column: str, *within: str) -> int | None:
        return len({tuple(map(row.get, (column, *within))) for row in rows if row.get(column)}) or None

    return {
        "cpus": len(rows) or None,
        "cores": count("Core", "Socket"),
        "sockets": count("Socket"),
        "numa_nodes": count("Node"),
        "l3_groups": count("L3"),
    }


def lscpu_fields(text: str) -> dict[str, str]:
    """What `lscpu --json` prints, by name; newer versions nest it."""

    def entries(found: Iterable[dict]) -> Iterator[tuple[str, str]]:
        for entry in found:
            yield entry["field"].strip().rstrip(":"), (entry["data"] or "").strip()
            yield from entries(entry.get("children", ()))

    pairs = entries(json.loads(text)["lscpu"]) if text else ()
    return {name: value for name, value in pairs if value and value != "-"}
