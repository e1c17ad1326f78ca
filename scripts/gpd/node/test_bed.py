"""What a machine is made of, beside its Host: by the texts of /proc, /sys and dmidecode that machine.py read. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpd.machines.host import fields_of, first_processor
from gpd.records.host import Host
from gpd.records.node import Module, TestBed

DMI = "/sys/class/dmi/id"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
PROFILE = "/sys/firmware/acpi/platform_profile"
GIB = {"kB": 2**-20, "KiB": 2**-20, "MB": 2**-10, "MiB": 2**-10, "GB": 1, "GiB": 1, "TB": 2**10, "TiB": 2**10}
LONGEST = 300  # characters of what others wrote


def describe(host: Host, files: Mapping[str, str], modules_told: str) -> TestBed:
    """Read what a machine says of itself; `modules_told` is what dmidecode printed, empty where it may not."""
    cpu = first_processor(files.get("/proc/cpuinfo", ""))
    modules = memory_modules(modules_told)
    return TestBed(
        family=_whole(cpu.get("cpu family")),
        model=_whole(cpu.get("model")),
        stepping=_whole(cpu.get("stepping") or cpu.get("CPU revision")),
        system=_joined(files, "sys_vendor", "product_name"),
        board=_joined(files, "board_vendor", "board_name"),
        bios_vendor=_joined(files, "bios_vendor"),
        bios_version=_joined(files, "bios_version"),
        bios_date=_joined(files, "bios_date"),
        profile=_line(files.get(PROFILE)),
        nps=host.numa_nodes / host.sockets if host.numa_nodes and host.sockets else None,
        modules=modules,
        channels=channels(modules),
        mitigations=mitigations(files),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _line(text: str | None) -> str | None:
    """One line of printable characters."""
    words = " ".join((text or "").split())[:LONGEST]
    return "".join(char for char in words if char.isprintable()) or None


def _joined(files: Mapping[str, str], *names: str) -> str | None:
    return _line(" ".join(files.get(f"{DMI}/{name}", "") for name in names))


def mitigations(files: Mapping[str, str]) -> dict[str, str]:
    """What the kernel does about each flaw of the processor, without those that it does not have."""
    told = {path.rpartition("/")[2]: _line(text) for path, text in files.items() if path.startswith(VULNERABILITIES)}
    return {name: said for name, said in sorted(told.items()) if said and said != "Not affected"}


def memory_modules(dmidecode: str) -> tuple[Module, ...]:
    """The slots that hold a module, of what `dmidecode --type 17` prints."""
    slots = [fields_of(block) for block in dmidecode.split("\n\n") if "Memory Device\n" in block]
    return tuple(_module(slot) for slot in slots if re.match(r"\d+ [KMGT]i?B", slot.get("Size", "")))


def _module(slot: Mapping[str, str]) -> Module:
    number, unit = slot["Size"].split()[:2]
    told: dict[str, Any] = {
        "locator": _said(slot.get("Locator")),
        "bank": _said(slot.get("Bank Locator")),
        "size_gib": int(number) * GIB[unit] or None,
        "type": _said(slot.get("Type")),
        "rated_mts": _leading(slot.get("Speed")),
        "configured_mts": _leading(slot.get("Configured Memory Speed") or slot.get("Configured Clock Speed")),
        "part": _said(slot.get("Part Number")),
    }
    return Module(**told)


def _said(text: str | None) -> str | None:
    """What firmware puts where it knows nothing is nothing."""
    line = _line(text)
    return None if line is None or re.fullmatch(r"(?i)(unknown|not specified|none|no dimm|n/a|\W*)", line) else line


def _leading(text: str | None) -> int | None:
    found = re.match(r"\d+", text or "")
    return int(found[0]) if found and int(found[0]) else None


def channels(modules: Sequence[Module]) -> int | None:
    """The memory channels that have a module, by the names of slots: `P0 CHANNEL A`, `CPU1_DIMM_A1`; None: no telling.

    All names have to tell, and no two modules of a channel may count twice.
    """
    told = [_channel(module) for module in modules]
    return len(set(told)) if told and None not in told else None


def _channel(module: Module) -> str | None:
    for name in (module.bank, module.locator):
        if found := re.search(r"(?i)(.*)\bchannel[ _-]?(\w+)", name or ""):
            return f"{found[1]}{found[2]}"
        if found := re.fullmatch(r"(?i)(.*DIMM[ _-]?)([A-Z])\d+", name or ""):
            return f"{found[1]}{found[2]}"
    return None
