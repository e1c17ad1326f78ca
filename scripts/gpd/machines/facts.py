"""What a machine says of itself, in the words of its kernel and of programs: the one module that collects it."""

import contextlib
import os
import platform
import re
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gpd.machines import file_systems, launcher, machine
from gpd.machines.launcher import Limits
from gpd.machines.machine import LSCPU, Topology, lscpu_fields
from gpd.records.host import FileSystem

WINDOW_S = 1.0  # how long it is watched how busy the CPUs are
# of what firmware tells of board and BIOS, what is of no single machine
DMI = ("bios_date", "bios_vendor", "bios_version", "board_name", "board_vendor", "product_name", "sys_vendor")
# what the kernel tells of itself and of the machine, for whoever may read it
FILES = (
    *("/proc/cpuinfo", "/proc/meminfo"),
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
# for root alone.
COMMANDS = {
    "lscpu": (LSCPU, (0,)),
    "vm": (("systemd-detect-virt", "--vm"), (0, 1)),
    "container": (("systemd-detect-virt", "--container"), (0, 1)),
    "memory_modules": (("dmidecode", "--type", "17"), (0,)),
}
SLURM = ("SLURMD_NODENAME", "SLURM_JOB_PARTITION")  # what a job of Slurm's is told of where it is

CpuTimes = Mapping[str, float]  # seconds of all CPUs since the boot, by the kernel's names


@dataclass(frozen=True)
class Facts:
    """What a machine says of itself, in its own words; what it does not say is not in there.

    `slurm` holds what Slurm told the job that we are in, by its variables; empty outside of one.
    `files` holds texts by path, `answers` what the COMMANDS printed, `cpu_times` those before and after `window_s`.
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
    file_systems: Mapping[str, FileSystem]
    loads: tuple[float, ...]
    cpu_times: tuple[CpuTimes, CpuTimes]
    window_s: float
    os: str | None = None
    slurm: Mapping[str, str] = field(default_factory=dict)

    @property
    def lscpu(self) -> dict[str, str]:
        """What lscpu says of the processor, by its names."""
        return lscpu_fields(self.answers.get("lscpu", ""))

    @property
    def microcode(self) -> str | None:
        """The first CPU's."""
        found = re.search(r"^microcode\s*: *(\S+)$", self.files.get("/proc/cpuinfo", ""), re.MULTILINE)
        return found[1] if found else None


def gather(directories: Mapping[str, Path], window_s: float = WINDOW_S) -> Facts:
    """Read all that the host record is made of; needs no root and no tool, but tells more with them.

    `directories` names the folders whose file systems count, such as work and temp.
    """
    system = os.uname()
    answers = dict(_answers())
    files = _read(path for pattern in FILES for path in Path("/").glob(pattern.lstrip("/")))
    topology = machine.topology()
    folders = {name: file_systems.look(directory) for name, directory in directories.items()}
    limits = launcher.limits()
    before = psutil.cpu_times()._asdict()  # last, so that what was started above is not counted
    time.sleep(window_s)
    return Facts(
        hostname=system.nodename,
        kernel=system.release,
        architecture=system.machine,
        topology=topology,
        usable_cpus=len(os.sched_getaffinity(0)),
        limits=limits,
        open_files=_open_files(),
        files=files,
        answers=answers,
        file_systems=folders,
        loads=tuple(round(load, 2) for load in os.getloadavg()),
        cpu_times=(before, psutil.cpu_times()._asdict()),
        window_s=window_s,
        os=_distribution(),
        slurm={name: os.environ[name] for name in SLURM if name in os.environ},
    )


def _open_files() -> tuple[int | None, int | None]:
    """The soft limit and the hard one; None: there is none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _limit(soft), _limit(hard)


def _limit(value: int) -> int | None:
    return None if value == resource.RLIM_INFINITY else value


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _answers() -> Iterator[tuple[str, str]]:
    """What those of the COMMANDS say that are here and may."""
    for name, (command, statuses) in COMMANDS.items():
        status, output = machine.answer(list(command))
        if status in statuses:
            yield name, output


def _read(paths: Iterable[Path]) -> dict[str, str]:
    """The texts of those files that are there and may be read."""
    texts = {}
    for path in paths:
        with contextlib.suppress(OSError):
            texts[str(path)] = path.read_text(errors="replace")
    return texts
