"""What a machine is made of, beside its Host: by the facts that it reports."""

import os
import shutil
from collections.abc import Mapping

from gpd.machines.facts import Facts
from gpd.machines.memory_modules import channels, line, modules
from gpd.records.host import Host
from gpd.records.node import TestBed

DMI = "/sys/class/dmi/id"
PROFILE = "/sys/firmware/acpi/platform_profile"


def describe(facts: Facts) -> TestBed:
    """Make the record's part of a machine's facts."""
    files = facts.files
    found = modules(facts.outputs.get("memory_modules", ""))
    return TestBed(
        system=_joined(files, "sys_vendor", "product_name"),
        board=_joined(files, "board_vendor", "board_name"),
        bios_vendor=_joined(files, "bios_vendor"),
        bios_version=_joined(files, "bios_version"),
        bios_date=_joined(files, "bios_date"),
        profile=line(files.get(PROFILE)),
        modules=found,
        channels=channels(found),
    )


def _joined(files: Mapping[str, str], *names: str) -> str | None:
    return line(" ".join(files.get(f"{DMI}/{name}", "") for name in names))


def missing(host: Host, bed: TestBed) -> dict[str, str]:
    """What of the test bed is not known, and why."""
    superuser = " to users other than root" if os.geteuid() else ""
    no_modules = "the firmware reports none" if shutil.which("dmidecode") else "dmidecode is not installed"
    reasons = {
        "governor": (host.governor, "the kernel has no cpufreq for these CPUs"),
        "microcode": (host.microcode, "the kernel reports none, or what a hypervisor made up"),
        "memory modules": (bed.modules, no_modules + superuser),
        "memory channels": (bed.channels or not bed.modules, "the firmware's names of slots have no channel"),
        "BIOS": (bed.bios_version, f"nothing in {DMI}, as on many virtual machines"),
        "BIOS profile": (bed.profile, "the firmware reports none to the system"),
    }
    return {name: reason for name, (known, reason) in reasons.items() if not known}
