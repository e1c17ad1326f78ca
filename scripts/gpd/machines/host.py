"""The host record: what a reader of a measurement must know of the machine that it was made on.

`look` has facts.py look; the rest is pure and only reads what the machine said of itself. What it did not say is None.
Nothing is guessed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpd.machines.facts import WINDOW_S, CpuTimes, Facts, gather
from gpd.machines.memory_modules import modules
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


def look(directories: Mapping[str, Path], window_s: float = WINDOW_S) -> Host:
    """Look at this machine; `directories` names the folders whose file systems count, such as work and temp."""
    return describe(gather(directories, window_s))


def describe(facts: Facts) -> Host:
    """Make the record of what a machine said."""
    vm = virtual_machine(facts)
    return Host(
        hostname=facts.hostname,
        node=facts.slurm.get("SLURMD_NODENAME"),
        partition=facts.slurm.get("SLURM_JOB_PARTITION"),
        architecture=facts.architecture,
        kernel=facts.kernel,
        os=facts.os,
        usable_threads=facts.usable_cpus,
        open_files=facts.open_files[0],
        open_files_hard=facts.open_files[1],
        virtual_machine=vm,
        container=one_word(facts.answers.get("container", "")),
        transparent_huge_pages=chosen(facts.files.get("/sys/kernel/mm/transparent_hugepage/enabled", "")),
        cpu_quota_cpus=facts.limits.cpu_quota_cpus,
        memory_limit_mib=facts.limits.memory_limit_mib,
        file_systems={name: _unhidden(found, vm) for name, found in facts.file_systems.items()},
        load=load(facts),
        **processor(facts),
        **caches_and_nodes(facts),
        **memory_fields(memory_sizes(facts.files.get("/proc/meminfo", ""))),
        **memory_modules(facts.answers.get("memory_modules", "")),
    )


# ---- processor -----------------------------------------------------------------------------------------


def processor(facts: Facts) -> dict[str, Any]:
    """The fields of the processor: its name, counts, frequencies, microcode."""
    topology, system = facts.topology, facts.lscpu
    model = system.get("Model name")
    base, boost = base_mhz(facts.files, model or ""), boost_state(facts.files)
    return {
        "cpu_model": model,
        "sku": short_name(model or "", system.get("BIOS Model name", "")),
        "sockets": topology.sockets,
        "cores": topology.cores,
        "threads": topology.cpus,
        "smt": None if topology.threads_per_core is None else topology.threads_per_core > 1,
        "base_mhz": base,
        "top_mhz": top_mhz(facts.files, base, boost),
        "governor": _joined(_values(facts.files, "cpufreq/scaling_governor")),
        "frequency_driver": _joined(_values(facts.files, "cpufreq/scaling_driver")),
        "boost": boost,
        "microcode": None if facts.microcode in MADE_UP_MICROCODE else facts.microcode,
    }


def short_name(model: str, product: str) -> str | None:
    """The SKU. ARM's model name is the core's design, so the product that the firmware names goes before it."""
    known = sku(model)
    return (sku(product) or known) if known is None or known.startswith("Neoverse") else known


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


def caches_and_nodes(facts: Facts) -> dict[str, Any]:
    """The fields of L3 caches and NUMA nodes."""
    caches, nodes = l3_caches(facts.files), numa_nodes(facts.files)
    sizes = [cache.mib for cache in caches if cache.mib is not None]
    return {
        "l3": caches,
        "l3_groups": facts.topology.l3_groups or len(caches) or None,
        "l3_mib": sum(sizes) if sizes and len(sizes) == len(caches) else None,
        "numa": nodes,
        "numa_nodes": facts.topology.numa_nodes or len(nodes) or None,
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
    """The fields of the modules in their slots; hypervisors tell neither speed nor type."""
    found = modules(dmidecode)
    types = (module.type or "" for module in found)
    return {
        "memory_modules": len(found) or None,
        "memory_speed_mts": min((module.configured_mts for module in found if module.configured_mts), default=None),
        "memory_type": _joined(kind for kind in types if re.match(r"(LP)?DDR|HBM", kind)),
    }


# ---- system --------------------------------------------------------------------------------------------


def chosen(text: str) -> str | None:
    """Return the word in brackets: `always [madvise] never`."""
    found = re.search(r"\[([\w+-]+)\]", text)
    return found[1] if found else None


def one_word(text: str) -> str | None:
    """Return what systemd-detect-virt says, unless it is a complaint."""
    return text.strip() if re.fullmatch(r"[\w-]+", text.strip()) else None


def virtual_machine(facts: Facts) -> str | None:
    """The hypervisor's name, "none", or None where nobody tells: an x86 CPU has a flag for it, but no name."""
    said, system = one_word(facts.answers.get("vm", "")), facts.lscpu
    if said in (None, "none") and "Hypervisor vendor" in system:
        return system["Hypervisor vendor"].casefold()
    flags = system.get("Flags", "").split()
    told = facts.architecture == "x86_64" and flags and "hypervisor" not in flags
    return "none" if said is None and told else said


def _unhidden(found: FileSystem, vm: str | None) -> FileSystem:
    """A hypervisor says of any disk that it rotates."""
    return replace(found, rotational=None) if found.rotational and vm != "none" else found


# ---- load before the start -----------------------------------------------------------------------------


def load(facts: Facts) -> Load:
    """What was at work on the node before the start."""
    load_1min, load_5min, load_15min = facts.loads or (None, None, None)
    cpus = facts.topology.cpus
    shares = cpu_shares(*facts.cpu_times)
    busy_cpus = round(shares["busy"] * cpus, 2) if cpus and shares else None
    threshold = min(BUSY_CPUS, BUSY_SHARE * cpus) if cpus else None
    return Load(
        load_1min,
        load_5min,
        load_15min,
        window_s=facts.window_s,
        busy_share=shares.get("busy"),
        steal_share=shares.get("steal"),
        iowait_share=shares.get("iowait"),
        busy_cpus=busy_cpus,
        threshold_cpus=threshold,
        busy=None if busy_cpus is None or threshold is None else busy_cpus > threshold,
    )


def cpu_shares(before: CpuTimes, after: CpuTimes) -> dict[str, float]:
    """Return how all CPUs spent the time between two readings; empty where none went by.

    Guests' time is within user's and nice.
    """
    spent = {name: after[name] - before[name] for name in before if not name.startswith("guest")}
    total = sum(spent.values())
    if total <= 0:
        return {}
    busy = total - spent["idle"] - spent["iowait"]
    shares = {"busy": busy, "iowait": spent["iowait"], "steal": spent["steal"]}
    return {name: round(seconds / total, 4) for name, seconds in shares.items()}
