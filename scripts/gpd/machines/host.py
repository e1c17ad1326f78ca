"""The host record: what a reader of a measurement must know of the machine that it was made on.

`look` asks machine.py, which does all the looking; the rest is pure and only reads what the machine said of itself.
What it did not say is None. Nothing is guessed.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gpd.machines import machine
from gpd.machines.mounts import Mount, mount_of, parse_mounts
from gpd.machines.sku import sku, stated_mhz
from gpd.records.host import Cache, FileSystem, Host, Load, NumaNode

KIB_PER_MIB = 1024
# A node is busy when more than this was at work on it before the start. One foreign job on one CPU counts on a large
# node, too, for it takes a share of caches and memory; on a small one a tenth of a CPU does.
BUSY_CPUS = 0.5
BUSY_SHARE = 0.05
# what hypervisors put in place of a microcode version
MADE_UP_MICROCODE = {"0x1", "0x1000065", "0xffffffff"}
CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"


def look(directories: Mapping[str, Path], window_s: float = machine.WINDOW_S) -> Host:
    """Look at this machine; `directories` names the folders whose file systems count, such as work and temp."""
    return describe(machine.gather(directories, window_s))


def describe(seen: machine.Seen) -> Host:
    """Make the record of what a machine said."""
    system = lscpu_fields(seen.answers.get("lscpu", ""))
    vm = virtual_machine(seen, system)
    mounts = parse_mounts(seen.files.get("/proc/self/mountinfo", ""))
    memory = memory_sizes(seen.files.get("/proc/meminfo", ""))
    return Host(
        hostname=seen.hostname,
        node=seen.slurm.get("SLURMD_NODENAME"),
        partition=seen.slurm.get("SLURM_JOB_PARTITION"),
        architecture=seen.architecture,
        kernel=seen.kernel,
        os=assignments(seen.files.get("/etc/os-release", "")).get("PRETTY_NAME"),
        usable_threads=seen.usable_cpus,
        open_files=seen.open_files[0],
        open_files_hard=seen.open_files[1],
        virtual_machine=vm,
        container=one_word(seen.answers.get("container", "")),
        transparent_huge_pages=chosen(seen.files.get("/sys/kernel/mm/transparent_hugepage/enabled", "")),
        cpu_quota_cpus=seen.limits.cpu_quota_cpus,
        memory_limit_mib=seen.limits.memory_limit_mib,
        file_systems={name: file_system(folder, seen.files, mounts, vm) for name, folder in seen.folders.items()},
        load=load(seen),
        **processor(seen, system),
        **caches_and_nodes(seen),
        **memory_fields(memory),
        **memory_modules(seen.answers.get("memory_modules", "")),
    )


# ---- processor -----------------------------------------------------------------------------------------


def processor(seen: machine.Seen, system: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the processor: its name, counts, frequencies, microcode."""
    topology, cpuinfo = seen.topology, first_processor(seen.files.get("/proc/cpuinfo", ""))
    model = topology.model or system.get("Model name") or None
    base, boost = base_mhz(seen.files, model or ""), boost_state(seen.files)
    microcode = cpuinfo.get("microcode")
    return {
        "cpu_model": model,
        "sku": short_name(model or "", system.get("BIOS Model name", "")),
        "sockets": topology.sockets,
        "cores": topology.cores,
        "threads": topology.cpus,
        "smt": None if topology.threads_per_core is None else topology.threads_per_core > 1,
        "base_mhz": base,
        "top_mhz": top_mhz(seen.files, base, boost),
        "governor": _joined(_values(seen.files, "cpufreq/scaling_governor")),
        "frequency_driver": _joined(_values(seen.files, "cpufreq/scaling_driver")),
        "boost": boost,
        "microcode": None if microcode in MADE_UP_MICROCODE else microcode,
    }


def short_name(model: str, product: str) -> str | None:
    """The SKU. ARM's model name is the core's design, so the product that the firmware names goes before it."""
    known = sku(model)
    return (sku(product) or known) if known is None or known.startswith("Neoverse") else known


def first_processor(cpuinfo: str) -> dict[str, str]:
    """Read the first block of /proc/cpuinfo."""
    return fields_of(cpuinfo.partition("\n\n")[0])


def lscpu_fields(text: str) -> dict[str, str]:
    """Read what lscpu prints for people, in the C locale; newer versions indent it."""
    return {name: value for name, value in fields_of(text).items() if value and value != "-"}


def fields_of(text: str) -> dict[str, str]:
    """Read lines of `name: value`."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _values(files: Mapping[str, str], name: str) -> list[str]:
    """What the files of this name say, CPU by CPU."""
    pattern = re.compile(rf"{CPU}/cpu\d+/{name}")
    return [text.strip() for path, text in files.items() if pattern.fullmatch(path) and text.strip()]


def _joined(values: Iterable[str]) -> str | None:
    return ",".join(sorted(set(values))) or None


def base_mhz(files: Mapping[str, str], model: str) -> float | None:
    """The base frequency: intel_pstate's (kHz), else the firmware's (ACPI CPPC, MHz), else that in the model's name.

    Where CPUs differ, the lowest.
    """
    khz = _positive(_values(files, "cpufreq/base_frequency"))
    mhz = _positive(_values(files, "acpi_cppc/nominal_freq"))
    if khz or mhz:
        return min(khz) / 1000 if khz else min(mhz)
    return stated_mhz(model)


def top_mhz(files: Mapping[str, str], base: float | None, boost: bool | None) -> float | None:
    """The highest frequency of any CPU.

    acpi-cpufreq may know no boost frequency: it then gives the base, or 1 MHz more for all that lies above, and only
    with boost off is that the top.
    """
    khz = _positive(_values(files, "cpufreq/cpuinfo_max_freq"))
    top = max(khz) / 1000 if khz else None
    drivers = _values(files, "cpufreq/scaling_driver")
    if top is None or "acpi-cpufreq" not in drivers or (base is not None and top > base + 1):
        return top
    return base if boost is False else None


def _positive(values: Iterable[str]) -> list[float]:
    return [float(value) for value in values if value.isdecimal() and int(value)]


def boost_state(files: Mapping[str, str]) -> bool | None:
    """Whether CPUs may go above their base frequency."""
    if no_turbo := files.get(f"{CPU}/intel_pstate/no_turbo", "").strip():
        return no_turbo == "0"
    boost = files.get(f"{CPU}/cpufreq/boost", "").strip()
    return boost == "1" if boost else None


# ---- caches, NUMA nodes and memory ---------------------------------------------------------------------


def caches_and_nodes(seen: machine.Seen) -> dict[str, Any]:
    """The fields of L3 caches and NUMA nodes."""
    caches, nodes = l3_caches(seen.files), numa_nodes(seen.files)
    sizes = [cache.mib for cache in caches if cache.mib is not None]
    return {
        "l3": caches,
        "l3_groups": seen.topology.l3_groups or len(caches) or None,
        "l3_mib": sum(sizes) if sizes and len(sizes) == len(caches) else None,
        "numa": nodes,
        "numa_nodes": seen.topology.numa_nodes or len(nodes) or None,
    }


def l3_caches(files: Mapping[str, str]) -> tuple[Cache, ...]:
    """Each L3 cache once, in the order of its first CPU: all of its CPUs tell of it."""
    pattern = re.compile(rf"({CPU}/cpu\d+/cache/index3)/shared_cpu_list")
    found = {}
    for path, cpus in files.items():
        folder = pattern.fullmatch(path)
        if folder and files.get(f"{folder[1]}/level", "").strip() == "3":
            found[cpus.strip()] = Cache(cpus.strip(), _mib(files.get(f"{folder[1]}/size", "")))
    return tuple(sorted(found.values(), key=lambda cache: _first_number(cache.cpus)))


def _first_number(text: str) -> int:
    return int(re.split(r"\D", text, maxsplit=1)[0] or 0)


def _mib(size: str) -> float | None:
    """A cache's size in sysfs: 32768K."""
    found = re.fullmatch(r"(\d+)([KMG])", size.strip())
    return int(found[1]) * {"K": 1 / KIB_PER_MIB, "M": 1, "G": KIB_PER_MIB}[found[2]] if found else None


def numa_nodes(files: Mapping[str, str]) -> tuple[NumaNode, ...]:
    """Each NUMA node, in order."""
    pattern = re.compile(rf"{NODE}/node(\d+)/cpulist")
    found = {int(match[1]): text.strip() for path, text in files.items() if (match := pattern.fullmatch(path))}
    return tuple(
        NumaNode(node, cpus, memory_sizes(files.get(f"{NODE}/node{node}/meminfo", "")).get("MemTotal"))
        for node, cpus in sorted(found.items())
    )


def memory_sizes(meminfo: str) -> dict[str, float]:
    """Return the sizes of /proc/meminfo, or of a NUMA node's, in MiB; plain counts stay as they are."""
    found = re.finditer(r"^(?:Node \d+ )?([\w()]+): +(\d+)( kB)?$", meminfo, re.MULTILINE)
    return {match[1]: round(int(match[2]) / KIB_PER_MIB, 1) if match[3] else int(match[2]) for match in found}


def memory_fields(sizes: Mapping[str, float]) -> dict[str, Any]:
    """The fields of memory and swap."""
    swap, swap_free = sizes.get("SwapTotal"), sizes.get("SwapFree")
    return {
        "memory_mib": sizes.get("MemTotal"),
        "memory_available_mib": sizes.get("MemAvailable"),
        "swap_mib": swap,
        "swap_used_mib": None if swap is None or swap_free is None else swap - swap_free,
        "huge_pages": sizes.get("HugePages_Total"),
        "huge_page_mib": sizes.get("Hugepagesize"),
    }


def memory_modules(dmidecode: str) -> dict[str, Any]:
    """The fields of the modules in their slots, as dmidecode prints them; hypervisors tell neither speed nor type."""
    slots = [fields_of(block) for block in dmidecode.split("\n\n") if "Memory Device\n" in block]
    modules = [slot for slot in slots if re.match(r"\d+ [KMGT]i?B", slot.get("Size", ""))]
    speeds = [
        int(match[0])
        for module in modules
        if (
            match := re.match(r"\d+", module.get("Configured Memory Speed") or module.get("Configured Clock Speed", ""))
        )
    ]
    types = (module.get("Type", "") for module in modules)
    return {
        "memory_modules": len(modules) or None,
        "memory_speed_mts": min(speeds, default=None),
        "memory_type": _joined(kind for kind in types if re.match(r"(LP)?DDR|HBM", kind)),
    }


# ---- system --------------------------------------------------------------------------------------------


def assignments(text: str) -> dict[str, str]:
    """Read os-release: NAME="value"."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value.strip().strip("\"'") for name, _, value in pairs}


def chosen(text: str) -> str | None:
    """Return the word in brackets: `always [madvise] never`."""
    found = re.search(r"\[([\w+-]+)\]", text)
    return found[1] if found else None


def one_word(text: str) -> str | None:
    """Return what systemd-detect-virt says, unless it is a complaint."""
    return text.strip() if re.fullmatch(r"[\w-]+", text.strip()) else None


def virtual_machine(seen: machine.Seen, system: Mapping[str, str]) -> str | None:
    """The hypervisor's name, "none", or None where nobody tells: an x86 CPU has a flag for it, but no name."""
    said = one_word(seen.answers.get("vm", ""))
    if said in (None, "none") and "Hypervisor vendor" in system:
        return system["Hypervisor vendor"].casefold()
    flags = first_processor(seen.files.get("/proc/cpuinfo", "")).get("flags", "").split()
    return "none" if said is None and flags and "hypervisor" not in flags else said


def file_system(folder: machine.Folder, files: Mapping[str, str], mounts: list[Mount], vm: str | None) -> FileSystem:
    """The file system of a folder."""
    mount = mount_of(PurePosixPath(folder.path), mounts)
    block = f"/sys/dev/block/{folder.block}"
    flags = (files.get(f"{block}/{name}", "").strip() for name in ("queue/rotational", "../queue/rotational"))
    flag = next(filter(None, flags), None)
    hidden = vm != "none" and flag == "1"
    return FileSystem(
        mount=str(mount.point) if mount else None,
        type=mount.type if mount else None,
        device=assignments(files.get(f"{block}/uevent", "")).get("DEVNAME"),
        rotational=None if flag is None or hidden else flag == "1",
        options=mount.telling_options if mount else (),
        size_gib=round(folder.size_gib, 1),
        free_gib=round(folder.free_gib, 1),
    )


# ---- load before the start -----------------------------------------------------------------------------


def load(seen: machine.Seen) -> Load:
    """What was at work on the node before the start."""
    averages = [float(word) for word in seen.files.get("/proc/loadavg", "").split()[:3]]
    load_1min, load_5min, load_15min = averages or (None, None, None)
    cpus = seen.topology.cpus
    shares = cpu_shares(*seen.stat)
    busy_cpus = round(shares["busy"] * cpus, 2) if cpus and shares else None
    threshold = min(BUSY_CPUS, BUSY_SHARE * cpus) if cpus else None
    return Load(
        load_1min,
        load_5min,
        load_15min,
        window_s=seen.window_s,
        busy_share=shares.get("busy"),
        steal_share=shares.get("steal"),
        iowait_share=shares.get("iowait"),
        busy_cpus=busy_cpus,
        threshold_cpus=threshold,
        busy=None if busy_cpus is None or threshold is None else busy_cpus > threshold,
    )


def cpu_shares(before: str, after: str) -> dict[str, float]:
    """Return how all CPUs spent the time between two readings of /proc/stat; empty where none went by.

    The kernel counts user, nice, system, idle, iowait, irq, softirq, steal; guests' time is within user's and nice.
    """
    spent = [end - start for start, end in zip(_ticks(before), _ticks(after), strict=True)]
    total = sum(spent)
    if total <= 0:
        return {}
    idle, iowait, steal = spent[3], spent[4], spent[7]
    shares = {"busy": total - idle - iowait, "iowait": iowait, "steal": steal}
    return {name: round(ticks / total, 4) for name, ticks in shares.items()}


def _ticks(stat: str) -> list[int]:
    return [int(word) for word in stat.partition("\n")[0].split()[1:9]]
