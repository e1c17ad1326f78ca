"""Whether the machine has counters of what goes over its memory controllers."""

from pathlib import Path

SOURCES = Path("/sys/bus/event_source/devices")
CONTROLLERS = ("uncore_imc", "amd_umc", "arm_cmn", "nvidia_scf")  # event sources of memory traffic begin with these


def bandwidth_missing(sources: Path = SOURCES) -> str:
    """Why it is not known how much memory bandwidth a step drew, in a clause."""
    found = sorted(path.name for path in sources.glob("*") if path.name.startswith(CONTROLLERS))
    if found:
        return f"the machine has counters of its memory controllers ({found[0]}), which are not read"
    return "this machine shows no counters of its memory controllers, as virtual machines seldom do"
