"""What a run's record says of the machine, and what of it is held against other records. Missing is None.

`TRAITS` is the one list of what is named, shown and checked of a machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
    `node` and `partition` are Slurm's words for it, within a job of Slurm's.
    `cpu_quota_cpus` and `memory_limit_mib` are the tightest of the control groups' and Slurm's, None where none limits.
    """

    hostname: str | None = None
    node: str | None = None
    partition: str | None = None
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
    """Something of a machine: its key in the record, what a reader calls it, its unit, and how it is checked.

    `pooled`: it must not change between repeats whose figures go into one mean. `setting`: two machines can have it
    alike, so that a comparison says where they do not.
    """

    key: str
    name: str
    unit: str = ""
    pooled: bool = False
    setting: bool = False

    def of(self, host: Host) -> Any:
        """What the machine said of it; None: nothing."""
        return getattr(host, self.key)


TRAITS = (
    Trait("hostname", "name", pooled=True),
    Trait("node", "Slurm node", pooled=True),
    Trait("partition", "Slurm partition"),
    Trait("cpu_model", "CPU"),
    Trait("sku", "SKU", pooled=True),
    Trait("smt", "SMT", pooled=True),
    Trait("base_mhz", "base frequency", "MHz"),
    Trait("top_mhz", "top frequency", "MHz"),
    Trait("governor", "governor", pooled=True, setting=True),
    Trait("boost", "boost", pooled=True, setting=True),
    Trait("transparent_huge_pages", "transparent huge pages", pooled=True, setting=True),
    Trait("usable_threads", "usable threads", "threads", pooled=True),
    Trait("kernel", "kernel", pooled=True),
    Trait("microcode", "microcode", pooled=True),
    Trait("cpu_quota_cpus", "CPU quota", "CPUs", pooled=True),
    Trait("memory_limit_mib", "memory limit", "MiB", pooled=True),
)
