"""What a run's record says of the machine, and what of it is held against other records. Missing is None.

`TRAITS` is the one list of what can be set on a machine, or change on it from one cell to the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cache:
    """One L3 cache and the CPUs that share it, in the kernel's list format."""

    cpus: str
    mib: float | None = None


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node, its CPUs and its memory."""

    node: int
    cpus: str
    memory_mib: float | None = None


@dataclass(frozen=True)
class FileSystem:
    """Where a run reads and writes. `rotational` is None where a hypervisor stands between: it says so of any disk."""

    mount: str | None = None
    type: str | None = None
    device: str | None = None
    rotational: bool | None = None
    options: tuple[str, ...] = ()
    size_gib: float | None = None
    free_gib: float | None = None


@dataclass(frozen=True)
class Load:
    """What was at work on the whole node before the start: load averages, and shares of all CPUs over `window_s`.

    `busy_share` counts user, system, interrupts and what a hypervisor gave to others (`steal_share`); waiting for disks
    (`iowait_share`) is not work. `busy_cpus` = busy_share x CPUs; above `threshold_cpus` the node is busy.
    """

    load_1min: float | None = None
    load_5min: float | None = None
    load_15min: float | None = None
    window_s: float | None = None
    busy_share: float | None = None
    steal_share: float | None = None
    iowait_share: float | None = None
    busy_cpus: float | None = None
    threshold_cpus: float | None = None
    busy: bool | None = None


@dataclass(frozen=True)
class Host:
    """A machine, as it was when a run began.

    `threads` counts hardware threads, `usable_threads` those that this process may run on. `base_mhz` and `top_mhz` are
    the CPU's own, not what it ran at. `l3_mib` is the sum over `l3`. `memory_speed_mts` is the slowest module's, in
    megatransfers a second. `virtual_machine` and `container` are "none" where it was looked and nothing was found.
    `cpu_quota_cpus` and `memory_limit_mib` are the tightest of the control groups' and Slurm's, None where none limits.
    """

    hostname: str | None = None
    cpu_model: str | None = None
    sku: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    usable_threads: int | None = None
    smt: bool | None = None
    base_mhz: float | None = None
    top_mhz: float | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    boost: bool | None = None
    microcode: str | None = None
    l3_groups: int | None = None
    l3_mib: float | None = None
    l3: tuple[Cache, ...] = ()
    numa_nodes: int | None = None
    numa: tuple[NumaNode, ...] = ()
    memory_mib: float | None = None
    memory_available_mib: float | None = None
    memory_speed_mts: int | None = None
    memory_type: str | None = None
    memory_modules: int | None = None
    swap_mib: float | None = None
    swap_used_mib: float | None = None
    transparent_huge_pages: str | None = None
    huge_pages: int | None = None
    huge_page_mib: float | None = None
    architecture: str | None = None
    kernel: str | None = None
    os: str | None = None
    virtual_machine: str | None = None
    container: str | None = None
    cpu_quota_cpus: float | None = None
    memory_limit_mib: float | None = None
    open_files: int | None = None
    open_files_hard: int | None = None
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    load: Load | None = None


@dataclass(frozen=True)
class Trait:
    """Something of a machine that changes its speed: its key in the record, and what a reader calls it.

    `settable`: it is a setting, so that two machines can have it alike.
    """

    key: str
    name: str
    settable: bool = False


TRAITS = (
    Trait("governor", "governor", settable=True),
    Trait("boost", "boost", settable=True),
    Trait("transparent_huge_pages", "transparent huge pages", settable=True),
    Trait("smt", "SMT"),
    Trait("usable_threads", "usable threads"),
    Trait("kernel", "kernel"),
    Trait("microcode", "microcode"),
    Trait("cpu_quota_cpus", "CPU quota"),
    Trait("memory_limit_mib", "memory limit"),
)
