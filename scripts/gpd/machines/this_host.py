"""The host record: what a reader of a measurement must know of the machine that it was made on.

`look` collects facts and describes them; the rest is pure. What the machine does not report is None, never a guess.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from gpd.machines.facts import WINDOW_S, Facts, gather, lscpu_rows
from gpd.machines.memory_modules import line, modules
from gpd.records.contention import threshold_before
from gpd.records.host import Cache, CoreKind, FileSystem, Host, Load, NumaNode
from gpd.text.cpu_lists import format_cpus, parse_cpus

KIB_PER_MIB = 1024
# what hypervisors put in place of a microcode version
MADE_UP_MICROCODE = {"0x1", "0x1000065", "0xffffffff"}
FLAGS_DIGITS = 16  # of their digest
KINDS = {"core": "performance", "atom": "efficiency", "lowpower": "low-power efficiency"}  # as Linux calls them
CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"

# What counts is where the name stands, so that a name of tomorrow is read, too, and no number is taken for a product
# that is none: QEMU's "Xeon E312xx" stands for a family, "Genuine Intel(R) CPU 0000" is a sample before its time.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Xeon Platinum 8352Y, Gold 6258R, Max 9480, 6 6980P, w9-3495X, W-2295, D-2146NT, E5-2690 v4, X5650
        r"\bXeon\b (?:CPU )?(?:Platinum |Gold |Silver |Bronze |Max |6 )?(?P<sku>"
        r"\d{4}[A-Z]{0,3}\+?|(?:E[357]?|W|D|w\d)-\d{4,5}[A-Z]{0,3}(?: v\d)?|[ELWX]\d{4})(?![\w-])",
        r"\bIntel Core (?P<sku>(?:Ultra \d \d{3}[A-Z]{0,2}|[im]\d-\w+))(?![\w-])",
        r"\bAMD EPYC (?P<sku>\d[0-9A-Z]{3,4}X?)(?![\w-])",
        r"\bAMD Ryzen (?:AI )?(?:Threadripper |\d )?(?:PRO )?(?P<sku>\d{4}[A-Z]{0,3}\d?D?)(?![\w-])",
        r"\bAMD Opteron (?:Processor )?(?P<sku>\d{4}[A-Z]{0,2})(?![\w-])",
        r"\b(?P<sku>Graviton ?\d*E?)(?![\w-])",
        r"\bAmpere(?:One)? (?:Altra )?(?:Max )?(?:Processor )?(?P<sku>[AQM]\d{2,3}-\d{2}[A-Z]?)(?![\w-])",
        r"\b(?P<sku>AmpereOne|Altra Max|Altra|Kunpeng[ -]920|Neoverse-\w+|A64FX)(?![\w-])",
    )
)
_MARKS = re.compile(r"\((?:R|TM|C)\)|[®™]", re.IGNORECASE)
_FREQUENCY = re.compile(r"@\s*(?P<ghz>\d+(?:\.\d+)?)\s*GHz", re.IGNORECASE)


def look(directories: Mapping[str, Path], window_s: float = WINDOW_S) -> Host:
    """Look at this machine; `directories` names the folders whose file systems count, such as work and temp."""
    return describe(gather(directories, window_s))


def describe(facts: Facts) -> Host:
    """Make the record of what a machine reports."""
    vm = virtual_machine(facts)
    return Host(
        **_processor(facts),
        **_memory(facts),
        hostname=facts.hostname,
        node=facts.slurm.get("SLURMD_NODENAME"),
        partition=facts.slurm.get("SLURM_JOB_PARTITION"),
        architecture=facts.architecture,
        kernel=facts.kernel,
        os=facts.os,
        mitigations=mitigations(facts.files),
        virtual_machine=vm,
        container=facts.outputs.get("container", "").strip() or None,
        cpu_quota_cpus=facts.limits.cpu_quota_cpus,
        memory_limit_mib=facts.limits.memory_limit_mib,
        open_files=facts.open_files[0],
        open_files_hard=facts.open_files[1],
        file_systems={name: _unhidden(found, vm) for name, found in facts.file_systems.items()},
        load=load(facts),
    )


def _processor(facts: Facts) -> dict[str, Any]:
    """What the record has of processors, cores and L3 caches."""
    files, lscpu, topology = facts.files, facts.lscpu, facts.topology
    cpus, cores = topology["cpus"], topology["cores"]
    model, caches = lscpu.get("Model name"), l3_caches(files)
    base, boost = base_mhz(files, model or ""), boost_state(files)
    microcode = re.search(r"^microcode\s*: *(\S+)$", files.get("/proc/cpuinfo", ""), re.MULTILINE)
    cache_mib = [cache.mib for cache in caches if cache.mib is not None]
    return {
        "cpu_model": model,
        "sku": short_name(model or "", lscpu.get("BIOS Model name", "")),
        "cpu_family": lscpu.get("CPU family"),
        "cpu_model_number": lscpu.get("Model"),
        "cpu_stepping": lscpu.get("Stepping"),
        "cpu_flags": flags_digest(lscpu.get("Flags", "")),
        "sockets": topology["sockets"],
        "cores": cores,
        "threads": cpus,
        "usable_threads": facts.usable_cpus,
        "usable_cpus": format_cpus(facts.affinity) or None,
        "partial_cores": partial_cores(facts),
        "core_kinds": core_kinds(files),
        "smt": cpus > cores if cpus and cores else None,
        "base_mhz": base,
        "top_mhz": top_mhz(files, base, boost),
        "governor": _joined(_values(files, "cpufreq/scaling_governor")),
        "frequency_driver": _joined(_values(files, "cpufreq/scaling_driver")),
        "boost": boost,
        "microcode": microcode[1] if microcode and microcode[1] not in MADE_UP_MICROCODE else None,
        "l3_groups": topology["l3_groups"] or len(caches) or None,
        "l3_mib": sum(cache_mib) if cache_mib and len(cache_mib) == len(caches) else None,
        "l3": caches,
    }


def _memory(facts: Facts) -> dict[str, Any]:
    """What the record has of memory and NUMA nodes."""
    nodes, memory = numa_nodes(facts.files), memory_sizes(facts.files.get("/proc/meminfo", ""))
    swap, swap_free = memory.get("SwapTotal"), memory.get("SwapFree")
    huge_pages = re.search(r"\[([\w+-]+)\]", facts.files.get("/sys/kernel/mm/transparent_hugepage/enabled", ""))
    dimms = modules(facts.outputs.get("memory_modules", ""))
    return {
        "numa_nodes": facts.topology["numa_nodes"] or len(nodes) or None,
        "numa": nodes,
        "memory_mib": memory.get("MemTotal"),
        "memory_available_mib": memory.get("MemAvailable"),
        "memory_speed_mts": min((dimm.configured_mts for dimm in dimms if dimm.configured_mts), default=None),
        "memory_type": _joined(dimm.type for dimm in dimms if re.match(r"(LP)?DDR|HBM", dimm.type or "")),
        "memory_modules": len(dimms) or None,
        "swap_mib": swap,
        "swap_used_mib": None if swap is None or swap_free is None else swap - swap_free,
        "transparent_huge_pages": huge_pages[1] if huge_pages else None,
        "huge_pages": memory.get("HugePages_Total"),
        "huge_page_mib": memory.get("Hugepagesize"),
    }


# ---- processor -----------------------------------------------------------------------------------------


def sku(model: str) -> str | None:
    """The product's short name in a processor's model name, as in price lists: 8352Y, 7763; None where it has none."""
    plain = " ".join(_MARKS.sub(" ", model).split())
    found = next(filter(None, (pattern.search(plain) for pattern in _PATTERNS)), None)
    return found["sku"] if found else None


def stated_mhz(model: str) -> float | None:
    """The base frequency that Intel prints at the end of its model names."""
    found = _FREQUENCY.search(model)
    return float(found["ghz"]) * 1000 if found and "intel" in model.casefold() else None


def short_name(model: str, product: str) -> str | None:
    """The SKU. ARM's model name is the core's design, so the product that the firmware names goes before it."""
    known = sku(model)
    return (sku(product) or known) if known is None or known.startswith("Neoverse") else known


def flags_digest(flags: str) -> str | None:
    """A digest of what the CPU can do, in whatever order the kernel lists it."""
    return sha256(" ".join(sorted(flags.split())).encode()).hexdigest()[:FLAGS_DIGITS] if flags else None


def partial_cores(facts: Facts) -> int | None:
    """How many cores this process may use in part; None where the machine does not report its cores."""
    cores: dict[tuple[str | None, str | None], set[bool]] = {}
    for row in lscpu_rows(facts.outputs.get("cpus", "")):
        cores.setdefault((row.get("Core"), row.get("Socket")), set()).add(int(row["CPU"]) in facts.affinity)
    return sum(len(found) > 1 for found in cores.values()) if cores and facts.affinity else None


def core_kinds(files: Mapping[str, str]) -> tuple[CoreKind, ...]:
    """The kinds of cores of a hybrid processor; nothing where all are of one kind.

    Intel's have a folder each (cpu_core, cpu_atom); elsewhere the kernel says how much a CPU does beside the fastest.
    """
    folders = {path: re.fullmatch(r"/sys/devices/cpu_(\w+)/cpus", path) for path in files}
    kinds = {KINDS.get(found[1], found[1]): set(parse_cpus(files[path])) for path, found in folders.items() if found}
    if not kinds:
        for path, text in files.items():
            if found := re.fullmatch(rf"{CPU}/cpu(\d+)/cpu_capacity", path):
                kinds.setdefault(f"capacity {text.strip()}", set()).add(int(found[1]))
    several = sorted(kinds.items(), key=lambda kind: min(kind[1], default=0)) if len(kinds) > 1 else []
    return tuple(CoreKind(name, format_cpus(cpus)) for name, cpus in several)


def _values(files: Mapping[str, str], name: str) -> list[str]:
    """The texts of the files of this name, CPU by CPU."""
    pattern = re.compile(rf"{CPU}/cpu\d+/{name}")
    return [text.strip() for path, text in files.items() if pattern.fullmatch(path) and text.strip()]


def _joined(values: Iterable[str | None]) -> str | None:
    return ",".join(sorted({value for value in values if value})) or None


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


def virtual_machine(facts: Facts) -> str | None:
    """The hypervisor's name, "none", or None where it is not known: an x86 CPU has a flag for it, but no name."""
    detected, lscpu = facts.outputs.get("vm", "").strip() or None, facts.lscpu
    if detected in (None, "none") and "Hypervisor vendor" in lscpu:
        return lscpu["Hypervisor vendor"].casefold()
    flags = lscpu.get("Flags", "").split()
    bare = facts.architecture == "x86_64" and flags and "hypervisor" not in flags
    return "none" if detected is None and bare else detected


def mitigations(files: Mapping[str, str]) -> dict[str, str]:
    """What the kernel does about each flaw of the processor, without those that it does not have."""
    flaws = {path.rpartition("/")[2]: line(text) for path, text in files.items() if path.startswith(VULNERABILITIES)}
    return {name: text for name, text in sorted(flaws.items()) if text and text != "Not affected"}


# ---- caches, memory, file systems ----------------------------------------------------------------------


def l3_caches(files: Mapping[str, str]) -> tuple[Cache, ...]:
    """Each L3 cache once, in the order of its first CPU: each of its CPUs lists it."""
    pattern = re.compile(rf"({CPU}/cpu\d+/cache/index3)/shared_cpu_list")
    found = {}
    for path, cpus in files.items():
        folder = pattern.fullmatch(path)
        if folder and files.get(f"{folder[1]}/level", "").strip() == "3":
            found[cpus.strip()] = Cache(cpus.strip(), _mib(files.get(f"{folder[1]}/size", "")))
    return tuple(sorted(found.values(), key=lambda cache: int(re.split(r"\D", cache.cpus)[0] or 0)))


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


def memory_sizes(meminfo: str) -> dict[str, Any]:
    """The sizes of /proc/meminfo, or of a NUMA node's, in MiB; plain counts stay as they are."""
    found = re.finditer(r"^(?:Node \d+ )?([\w()]+): +(\d+)( kB)?$", meminfo, re.MULTILINE)
    return {match[1]: round(int(match[2]) / KIB_PER_MIB, 1) if match[3] else int(match[2]) for match in found}


def _unhidden(found: FileSystem, vm: str | None) -> FileSystem:
    """Hypervisors report any disk as rotating."""
    return replace(found, rotational=None) if found.rotational and vm != "none" else found


# ---- load before the start -----------------------------------------------------------------------------


def load(facts: Facts) -> Load:
    """What the node's CPUs did before the start. Guests' time is within user's and nice."""
    load_1min, load_5min, load_15min = facts.loads or (None, None, None)
    shares = {name: value / 100 for name, value in facts.cpu_percent.items() if not name.startswith("guest")}
    cpus, known = facts.topology["cpus"], any(shares.values())
    busy_share = round(sum(shares.values()) - shares["idle"] - shares["iowait"], 4) if known else None
    busy_cpus = None if busy_share is None or not cpus else round(busy_share * cpus, 2)
    threshold = threshold_before(cpus) if cpus else None
    return Load(
        load_1min,
        load_5min,
        load_15min,
        window_s=facts.window_s,
        busy_share=busy_share,
        steal_share=round(shares["steal"], 4) if known else None,
        iowait_share=round(shares["iowait"], 4) if known else None,
        busy_cpus=busy_cpus,
        threshold_cpus=threshold,
        busy=None if busy_cpus is None or threshold is None else busy_cpus > threshold,
    )
