"""The memory modules in a machine's slots, as dmidecode prints what firmware tells. Pure."""

import re
from collections.abc import Mapping, Sequence

from gpd.records.node import LONGEST, Module

GIB = {"kB": 2**-20, "KiB": 2**-20, "MB": 2**-10, "MiB": 2**-10, "GB": 1, "GiB": 1, "TB": 2**10, "TiB": 2**10}


def modules(dmidecode: str) -> tuple[Module, ...]:
    """The slots that hold a module, of what `dmidecode --type 17` prints."""
    slots = [_fields(block) for block in dmidecode.split("\n\n") if "Memory Device\n" in block]
    return tuple(_module(slot) for slot in slots if re.match(r"\d+ [KMGT]i?B", slot.get("Size", "")))


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _module(slot: Mapping[str, str]) -> Module:
    number, unit = slot["Size"].split()[:2]
    return Module(
        locator=_said(slot.get("Locator")),
        bank=_said(slot.get("Bank Locator")),
        size_gib=int(number) * GIB[unit] or None,
        type=_said(slot.get("Type")),
        rated_mts=_leading(slot.get("Speed")),
        configured_mts=_leading(slot.get("Configured Memory Speed") or slot.get("Configured Clock Speed")),
        part=_said(slot.get("Part Number")),
    )


def line(text: str | None) -> str | None:
    """One line of printable characters."""
    words = " ".join((text or "").split())[:LONGEST]
    return "".join(char for char in words if char.isprintable()) or None


def _said(text: str | None) -> str | None:
    """What firmware puts where it knows nothing is nothing."""
    told = line(text)
    return None if told is None or re.fullmatch(r"(?i)(unknown|not specified|none|no dimm|n/a|\W*)", told) else told


def _leading(text: str | None) -> int | None:
    found = re.match(r"\d+", text or "")
    return int(found[0]) if found and int(found[0]) else None


def channels(found: Sequence[Module]) -> int | None:
    """The memory channels that have a module, by the names of slots: `P0 CHANNEL A`, `CPU1_DIMM_A1`; None: no telling.

    All names have to tell, and no two modules of a channel may count twice.
    """
    told = [_channel(module) for module in found]
    return len(set(told)) if told and None not in told else None


def _channel(module: Module) -> str | None:
    for name in (module.bank, module.locator):
        if found := re.search(r"(?i)(.*)\bchannel[ _-]?(\w+)", name or ""):
            return f"{found[1]}{found[2]}"
        if found := re.fullmatch(r"(?i)(.*DIMM[ _-]?)([A-Z])\d+", name or ""):
            return f"{found[1]}{found[2]}"
    return None
