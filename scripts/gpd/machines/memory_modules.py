"""The memory modules of a machine, as dmidecode prints what firmware reports. Pure."""

import re
from collections.abc import Mapping, Sequence

from gpd.records.node import LONGEST, Module

GIB = {"k": 2**-20, "M": 2**-10, "G": 1, "T": 2**10}
NOTHING = re.compile(r"(?i)(unknown|not specified|none|no dimm|n/a|\W*)")  # firmware's words where it knows nothing


def modules(dmidecode: str) -> tuple[Module, ...]:
    """The modules that `dmidecode --type 17` lists; empty slots are left out."""
    slots = [_fields(block) for block in dmidecode.split("\n\n") if "Memory Device\n" in block]
    return tuple(_module(slot) for slot in slots if re.match(r"\d+ [kMGT]i?B", slot.get("Size", "")))


def _fields(block: str) -> dict[str, str]:
    pairs = (entry.partition(":") for entry in block.splitlines())
    return {name.strip(): text for name, _, value in pairs if (text := line(value)) and not NOTHING.fullmatch(text)}


def _module(slot: Mapping[str, str]) -> Module:
    number, unit = slot["Size"].split()[:2]
    return Module(
        locator=slot.get("Locator"),
        bank=slot.get("Bank Locator"),
        size_gib=int(number) * GIB[unit[0]] or None,
        type=slot.get("Type"),
        rated_mts=_leading(slot.get("Speed")),
        configured_mts=_leading(slot.get("Configured Memory Speed") or slot.get("Configured Clock Speed")),
        part=slot.get("Part Number"),
    )


def line(text: str | None) -> str | None:
    """One line of printable characters."""
    words = " ".join((text or "").split())[:LONGEST]
    return "".join(filter(str.isprintable, words)) or None


def _leading(text: str | None) -> int | None:
    found = re.match(r"\d+", text or "")
    return int(found[0]) or None if found else None


def channels(found: Sequence[Module]) -> int | None:
    """The memory channels with a module, by the names of all slots: `P0 CHANNEL A`, `CPU1_DIMM_A1`; None: not known."""
    known = {_channel(module) for module in found}
    return len(known) if known and None not in known else None


def _channel(module: Module) -> str | None:
    for name in (module.bank or "", module.locator or ""):
        bank = re.search(r"(?i)(.*)\bchannel[ _-]?(\w+)", name)
        if found := bank or re.fullmatch(r"(?i)(.*DIMM[ _-]?)([A-Z])\d+", name):
            return f"{found[1]}{found[2]}"
    return None
