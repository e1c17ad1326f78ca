"""The machines and the software of a study, as tables of a report, from the records of its runs. Pure.

Shown is what a reader must know to place a figure. Names of folders and mounts are not: they say nothing of speed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpd.records.host import TRAITS, FileSystem, Host, Trait
from gpd.records.run import RunRecord
from gpd.reports.grids import short
from gpd.text.formats import counted, number, some
from gpd.text.grid import Entry, Grid, Group, Line

MIB_PER_GIB, MHZ_PER_GHZ = 1024, 1000
MOST_SHOWN = 4
LIMITS = "limits of the container"
ELSEWHERE = (LIMITS, "Slurm node", "Slurm partition")  # not to have them is not to be silent


def machines(records: Iterable[RunRecord]) -> list[tuple[Host, list[RunRecord]]]:
    """Return each machine once, as its first run saw it, with the records of its runs."""
    found: list[tuple[Host, list[RunRecord]]] = []
    for record in records:
        for machine in record.machines:
            lasting = _lasting(machine)
            own = next((own for host, own in found if _lasting(host) == lasting), None)
            if own is None:
                found.append((machine, [record]))
            else:
                own.append(record)
    return found


def _lasting(host: Host) -> Host:
    """What stays the same on one machine from run to run."""
    disks = {name: replace(disk, free_gib=None) for name, disk in host.file_systems.items()}
    return replace(host, load=None, memory_available_mib=None, swap_used_mib=None, file_systems=disks)


def host_grid(records: Iterable[RunRecord]) -> tuple[Grid | None, str]:
    """A column a machine; and what none of them told."""
    found = machines(records)
    values = {name: [show(host) for host, _ in found] for name, show in FIELDS.items()}
    values["load before the start"] = [_load(own) for _, own in found]
    told = {name: texts for name, texts in values.items() if any(texts)}
    lines = tuple(Line(name, tuple(map(Entry, texts))) for name, texts in told.items())
    silent = [name for name in values if name not in told and name not in ELSEWHERE]
    if not lines:
        return None, "No run has a record of its machine."
    heads = ("machine", *(host.hostname or "unnamed" for host, _ in found))
    said = f"Not told by {'the machine' if len(found) == 1 else 'any machine'}: {some(silent, len(silent))}."
    return Grid("Machines", heads, (Group(lines),), figures=False), said if silent else ""


def busy_runs(records: Iterable[RunRecord]) -> list[str]:
    """Return the runs before whose start others were at work on the node."""
    return [record.spec.name for record in records if record.host and record.host.load and record.host.load.busy]


def cpu_names(records: Iterable[RunRecord]) -> list[str]:
    """Return the models of the processors, each once."""
    return list(filter(None, dict.fromkeys(_cpu(host) for record in records for host in record.machines)))


# --------------------------------------------------------------------------------------------- fields


def _shown(host: Host, trait: Trait) -> str:
    """A trait as its unit is written for readers."""
    value = trait.of(host)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value / MHZ_PER_GHZ:.2f} GHz" if trait.unit == "MHz" else str(value)


def _either(value: bool | None, yes: str, no: str) -> str:
    return "" if value is None else yes if value else no


def _cpu(host: Host) -> str:
    return host.cpu_model or host.sku or ""


def _counts(host: Host) -> str:
    named = (("sockets", "socket"), ("cores", "core"), ("threads", "thread"))
    parts = [counted(getattr(host, name), noun) for name, noun in named if getattr(host, name) is not None]
    usable = host.usable_threads
    if usable is not None and usable != host.threads:
        parts.append(f"{usable} usable")
    return ", ".join(parts)


def _governor(host: Host) -> str:
    boost = _either(host.boost, "boost on", "boost off")
    return ", ".join(filter(None, (host.governor, host.frequency_driver, boost)))


def _l3(host: Host) -> str:
    groups = "" if host.l3_groups is None else counted(host.l3_groups, "group")
    size = "" if host.l3_mib is None else f"{number(host.l3_mib)} MiB in all"
    return ", ".join(filter(None, (groups, size)))


def _numa(host: Host) -> str:
    listed = [f"{node.node}: CPUs {node.cpus}" for node in host.numa]
    count = "" if host.numa_nodes is None else counted(host.numa_nodes, "node")
    return f"{count} ({some(listed, MOST_SHOWN)})" if listed and count else count


def _gib(mib: float | None) -> str:
    return "" if mib is None else f"{number(mib / MIB_PER_GIB)} GiB"


def _memory(host: Host) -> str:
    speed = host.memory_speed_mts
    modules = host.memory_modules
    parts = (
        _gib(host.memory_mib),
        counted(modules, "module") if modules else "",
        host.memory_type,
        f"{speed:,} MT/s" if speed else "",
    )
    return ", ".join(filter(None, parts))


def _limits(host: Host) -> str:
    quota, memory = host.cpu_quota_cpus, host.memory_limit_mib
    parts = ("" if quota is None else f"{number(quota)} CPUs", _gib(memory))
    return ", ".join(filter(None, parts))


def _system(host: Host) -> str:
    inside = {"virtual_machine": "virtual machine", "container": "container"}
    kinds = [f"{noun}: {kind}" for name, noun in inside.items() if (kind := getattr(host, name)) not in (None, "none")]
    return ", ".join(filter(None, (host.os, host.kernel, *kinds)))


def _disks(host: Host) -> str:
    return "; ".join(f"{name}: {_disk(disk)}" for name, disk in host.file_systems.items())


def _disk(disk: FileSystem) -> str:
    kind = _either(disk.rotational, "rotating", "solid state")
    size = "" if disk.size_gib is None else f"{number(disk.size_gib)} GiB"
    return ", ".join(filter(None, (disk.type, kind, size)))


def _traits(*keys: str) -> dict[str, Callable[[Host], str]]:
    return {trait.name: partial(_shown, trait=trait) for trait in TRAITS if trait.key in keys}


# of the traits those that stand alone, and what several keys say together; in the order of the table
FIELDS: Mapping[str, Callable[[Host], str]] = {
    "CPU": _cpu,
    **_traits("node", "partition", "sku"),
    "processors": _counts,
    **_traits("smt", "base_mhz", "top_mhz"),
    "governor": _governor,
    "L3": _l3,
    "NUMA": _numa,
    "memory": _memory,
    LIMITS: _limits,
    "system": _system,
    "file systems": _disks,
}


def _load(own: Sequence[RunRecord]) -> str:
    """The most that was at work before any run of a machine."""
    loads = (record.host.load for record in own if record.host and record.host.load)
    most = max((load.busy_cpus for load in loads if load.busy_cpus is not None), default=None)
    if most is None:
        return ""
    busy = f"busy before {len(busy_runs(own))} of {counted(len(own), 'run')}"
    return f"at most {number(most, 2)} CPUs at work; {busy}"


# ------------------------------------------------------------------------------------------- software


def software_grid(records: Sequence[RunRecord]) -> Grid | None:
    """A column a pipeline: the workflow's commit, its configuration and the tools; all values where runs differ."""
    pipelines = list(dict.fromkeys(record.spec.pipeline for record in records))
    told = [_software([r for r in records if r.spec.pipeline == pipeline]) for pipeline in pipelines]
    names = dict.fromkeys(name for values in told for name in values)
    lines = tuple(Line(name, tuple(Entry(some(values.get(name, []), MOST_SHOWN)) for values in told)) for name in names)
    return Grid("Software", ("software", *pipelines), (Group(lines),), figures=False) if lines else None


def _binding(record: RunRecord) -> str:
    """How jobs were bound beside the policy; nothing where they were not."""
    told = dict(record.binding or {}) | {"memory applied": record.memory_applied}
    return ", ".join(f"{name} {_told(value)}" for name, value in told.items() if value is not None)


def _told(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _software(records: Iterable[RunRecord]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for record in records:
        settings = record.settings
        values = {
            "workflow": settings.workflow_commit and short(settings.workflow_commit),
            "configuration": settings.config_digest and short(settings.config_digest),
            "reference": settings.reference_digest and short(settings.reference_digest),
            "gpd": settings.gpd_version,
            **dict(sorted((settings.tools or {}).items())),
            "pair-HMM": record.pair_hmm,
            "environment variables": " ".join(f"{k}={v}" for k, v in (settings.environment or {}).items()),
            "binding": _binding(record),
        }
        for name, value in values.items():
            if value:
                found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}
