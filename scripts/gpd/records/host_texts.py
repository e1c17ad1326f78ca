"""What a machine says of itself, as readers see it: a text for each field, and lines that name several. Pure."""

from collections.abc import Mapping
from dataclasses import fields

from gpd.records.host import FileSystem, Host
from gpd.text.formats import number, some

MIB_PER_GIB, MHZ_PER_GHZ = 1024, 1000
MOST_SHOWN = 4  # NUMA nodes
DISKS = {True: "rotating", False: "solid state", None: ""}


def texts(host: Host) -> dict[str, str]:
    """Each field by its name, and what follows from several; empty where it is not known."""
    gib = {f"{name}_gib": getattr(host, f"{name}_mib") for name in ("memory", "memory_limit")}
    ghz = {f"{name}_ghz": getattr(host, f"{name}_mhz") for name in ("base", "top")}
    kinds = "; ".join(f"{kind.name}: CPUs {kind.cpus}" for kind in host.core_kinds)
    disks = host.file_systems.items()
    shown = {
        **{field.name: getattr(host, field.name) for field in fields(host)},
        **{name: mib and mib / MIB_PER_GIB for name, mib in gib.items()},
        **{name: mhz and mhz / MHZ_PER_GHZ for name, mhz in ghz.items()},
        "cpu_model": host.cpu_model or host.sku,
        "core_kinds": kinds,
        "kinds_of_cores": kinds or (host.cores and "one"),
        "some_partial_cores": host.partial_cores or None,
        "quota": host.cpu_quota_cpus or (host.usable_threads and "none"),
        "numa_nodes_a_socket": host.numa_nodes_a_socket and f"{host.numa_nodes_a_socket:g}",
        "numa": some([f"{node.node}: CPUs {node.cpus}" for node in host.numa], MOST_SHOWN),
        "huge_pages": host.huge_pages or None,
        "mitigations": "; ".join(f"{flaw}: {state}" for flaw, state in host.mitigations.items()),
        "storage": "; ".join(f"{name} on {_disk(disk)}" for name, disk in sorted(disks) if disk.type),
        "file_systems": "; ".join(f"{name}: {_sized(disk)}" for name, disk in disks),
    }
    return {name: text(value) for name, value in shown.items()}


def filled(parts: tuple[str, ...], of: Mapping[str, str]) -> str:
    """Parts such as `{cores} cores`, of those whose first field is known."""
    known = (part for part in parts if of[part[part.index("{") + 1 : part.index("}")]])
    return ", ".join(part.format_map(of) for part in known)


def text(value: object) -> str:
    """A value of a record; empty: not known."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _disk(disk: FileSystem) -> str:
    kind = "NVMe" if (disk.device or "").startswith("nvme") else DISKS[disk.rotational]
    return f"{disk.type or ''} {kind}".strip()


def _sized(disk: FileSystem) -> str:
    size = "" if disk.size_gib is None else f"{number(disk.size_gib)} GiB"
    return ", ".join(filter(None, (_disk(disk), size)))
