"""What a run's record says of the machine, and what of it is held against other records. Missing is None.

`TRAITS` is the one list of what is named, shown and checked of a machine.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpd.text.formats import some

MOST_SHOWN = 4  # values of a trait


@dataclass(frozen=True)
class Cache:
    """One L3 cache and the CPUs that share it, in the kernel's list format."""

    cpus: str
    mib: float | None = None


@dataclass(frozen=True)
class CoreKind:
    """Cores of one kind, where a processor has several: what the kernel calls it, and their CPUs as a kernel list."""

    name: str
    cpus: str


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

    `threads` counts hardware threads, `usable_threads` those that this process may run on: `usable_cpus`, and
    `partial_cores` are cores of which it may use some threads and not others. `base_mhz` and `top_mhz` are
    the CPU's own, not what it ran at. `l3_mib` is the sum over `l3`. `memory_speed_mts` is the slowest module's, in
    megatransfers a second. `virtual_machine` and `container` are "none" where it was looked and nothing was found.
    `mitigations`: what the kernel does about each flaw that the processor has.
    `node` and `partition` are Slurm's words for it, within a job of Slurm's.
    `cpu_family`, `cpu_model_number` and `cpu_stepping` are the processor's own numbers, also where a virtual machine's
    CPU has no name; `cpu_flags` is a digest of what it can do.
    `cpu_quota_cpus` and `memory_limit_mib` are the tightest of the control groups' and Slurm's, None where none limits.
    """

    hostname: str | None = None
    node: str | None = None
    partition: str | None = None
    cpu_model: str | None = None
    sku: str | None = None
    cpu_family: str | None = None
    cpu_model_number: str | None = None
    cpu_stepping: str | None = None
    cpu_flags: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    usable_threads: int | None = None
    usable_cpus: str | None = None
    partial_cores: int | None = None
    core_kinds: tuple[CoreKind, ...] = ()
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
    mitigations: Mapping[str, str] = field(default_factory=dict)
    virtual_machine: str | None = None
    container: str | None = None
    cpu_quota_cpus: float | None = None
    memory_limit_mib: float | None = None
    open_files: int | None = None
    open_files_hard: int | None = None
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    load: Load | None = None

    @property
    def numa_nodes_a_socket(self) -> float | None:
        return self.numa_nodes / self.sockets if self.numa_nodes and self.sockets else None


@dataclass(frozen=True)
class Trait:
    """Something of a machine: its key in the record, what a reader calls it, its unit, and how it is checked.

    `identity`: a machine that has another one is another machine. `pooled`: it must not change between repeats whose
    figures go into one mean. `setting`: two machines can have it alike, so that a comparison says where they do not.
    Numbers that differ by no more than the share `tolerance` are the same.
    """

    key: str
    name: str
    unit: str = ""
    identity: bool = False
    pooled: bool = False
    setting: bool = False
    tolerance: float = 0.0

    def of(self, host: Host) -> Any:
        """What the machine said of it; None: nothing."""
        return getattr(host, self.key)

    def values(self, hosts: Iterable[Host]) -> list[Any]:
        """What machines have of it, each once; what one does not tell may be what any other has."""
        found = dict.fromkeys(value for host in hosts if (value := self.of(host)) is not None)
        alike = self.tolerance and found and max(found) - min(found) <= self.tolerance * max(found)
        return list(found)[:1] if alike else list(found)


TRAITS = (
    Trait("hostname", "name", pooled=True),
    Trait("node", "Slurm node", pooled=True),
    Trait("partition", "Slurm partition"),
    Trait("cpu_model", "CPU", identity=True),
    Trait("sku", "SKU", identity=True),
    Trait("cpu_family", "CPU family", identity=True),
    Trait("cpu_model_number", "CPU model number", identity=True),
    Trait("cpu_stepping", "CPU stepping", identity=True),
    Trait("cpu_flags", "CPU flags", identity=True),
    Trait("cores", "cores", "cores", identity=True),
    Trait("numa_nodes", "NUMA nodes", "nodes", identity=True),
    # of the same memory, each kernel keeps a little more or less for itself
    Trait("memory_mib", "memory", "MiB", identity=True, tolerance=0.01),
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
IDENTITY = tuple(trait for trait in TRAITS if trait.identity)


def machine_differences(hosts: Iterable[Host]) -> str:
    """By what these are several machines: each such trait with its values; empty where they may be one."""
    every = list(hosts)
    found = ((trait.name, trait.values(every)) for trait in IDENTITY)
    return "; ".join(f"{name}: {some(list(map(str, own)), MOST_SHOWN)}" for name, own in found if len(own) > 1)


def machine_numbers(hosts: Iterable[Host | None]) -> list[int | None]:
    """Number machines from 1 as they first come: a record is of the first of whose records none contradicts it."""
    known: list[list[Host]] = []
    numbers: dict[tuple[Any, ...], int] = {}

    def number(host: Host) -> int:
        key = tuple(trait.of(host) for trait in IDENTITY)
        if key not in numbers:
            new = len(known) + 1
            numbers[key] = next((at for at, own in enumerate(known, 1) if not machine_differences([*own, host])), new)
            known.extend([[]] if numbers[key] == new else [])
            known[numbers[key] - 1].append(host)
        return numbers[key]

    return [None if host is None else number(host) for host in hosts]
