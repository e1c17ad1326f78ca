"""The machines and the software of a study, as tables of a report, from the records of its cells. Pure.

Shown is what a reader must know to place a figure. Names of folders and mounts are not: they say nothing of speed.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpd.comparison.agreement import RunRecord
from gpd.reports.grids import Entry, Grid, Line, short
from gpd.text.formats import counted, number, some

MIB_PER_GIB = 1024
MOST_SHOWN = 4
LIMITS = "limits of the container"
VOLATILE = {"load", "memory_available_mib", "swap_used_mib"}  # what changes on one machine from cell to cell

HostRecord = Mapping[str, Any]


def machines(run_records: Iterable[RunRecord]) -> list[tuple[HostRecord, list[RunRecord]]]:
    """Return each machine once, as its first cell saw it, with the records of its cells."""
    found: dict[str, list[RunRecord]] = {}
    for record in run_records:
        if host := record.get("host"):
            found.setdefault(json.dumps(_lasting(host), sort_keys=True), []).append(record)
    return [(own[0]["host"], own) for own in found.values()]


def _lasting(host: HostRecord) -> dict[str, Any]:
    kept = {name: value for name, value in host.items() if name not in VOLATILE}
    disks = host.get("file_systems") or {}
    sizes = {name: {k: v for k, v in disk.items() if k != "free_gib"} for name, disk in disks.items()}
    return kept | {"file_systems": sizes}


def host_grid(run_records: Iterable[RunRecord]) -> tuple[Grid | None, str]:
    """A column a machine; and what none of them told."""
    found = machines(run_records)
    values = {name: [show(host) for host, _ in found] for name, show in FIELDS.items()}
    values["load before the start"] = [_load(own) for _, own in found]
    told = {name: texts for name, texts in values.items() if any(texts)}
    lines = tuple(Line(name, tuple(map(Entry, texts))) for name, texts in told.items())
    silent = [name for name in values if name not in told and name != LIMITS]  # no limit is not silence
    if not lines:
        return None, "No cell has a record of its machine."
    heads = ("machine", *(host.get("hostname") or "unnamed" for host, _ in found))
    said = f"Not told by {'the machine' if len(found) == 1 else 'any machine'}: {some(silent, len(silent))}."
    return Grid("Machines", heads, lines, figures=False), said if silent else ""


def busy_cells(run_records: Iterable[RunRecord]) -> list[str]:
    """Return the cells before whose start others were at work on the node."""
    return [
        record["cell"]["cell"] for record in run_records if ((record.get("host") or {}).get("load") or {}).get("busy")
    ]


def cpu_names(run_records: Iterable[RunRecord]) -> list[str]:
    """Return the models of the processors, each once."""
    return list(filter(None, dict.fromkeys(_cpu(record.get("host") or {}) for record in run_records)))


# --------------------------------------------------------------------------------------------- fields


def _plain(name: str) -> Callable[[HostRecord], str]:
    return lambda host: "" if host.get(name) is None else str(host[name])


def _cpu(host: HostRecord) -> str:
    model, sku = host.get("cpu_model") or host.get("model"), host.get("sku")
    return model or sku or ""


def _counts(host: HostRecord) -> str:
    named = (("sockets", "socket"), ("cores", "core"), ("threads", "thread"))
    parts = [counted(host[name], noun) for name, noun in named if host.get(name) is not None]
    usable = host.get("usable_threads")
    if usable is not None and usable != host.get("threads"):
        parts.append(f"{usable} usable")
    return ", ".join(parts)


def _smt(host: HostRecord) -> str:
    return {True: "on", False: "off"}.get(host.get("smt"), "")


def _frequency(name: str) -> Callable[[HostRecord], str]:
    return lambda host: f"{host[name] / 1000:.2f} GHz" if host.get(name) else ""


def _governor(host: HostRecord) -> str:
    boost = {True: "boost on", False: "boost off"}.get(host.get("boost"))
    return ", ".join(filter(None, (host.get("governor"), host.get("frequency_driver"), boost)))


def _l3(host: HostRecord) -> str:
    groups = "" if host.get("l3_groups") is None else counted(host["l3_groups"], "group")
    size = "" if host.get("l3_mib") is None else f"{number(host['l3_mib'])} MiB in all"
    return ", ".join(filter(None, (groups, size)))


def _numa(host: HostRecord) -> str:
    nodes = host.get("numa") or ()
    listed = [f"{node['node']}: CPUs {node['cpus']}" for node in nodes]
    count = "" if host.get("numa_nodes") is None else counted(host["numa_nodes"], "node")
    return f"{count} ({some(listed, MOST_SHOWN)})" if listed and count else count


def _gib(mib: float | None) -> str:
    return "" if mib is None else f"{number(mib / MIB_PER_GIB)} GiB"


def _memory(host: HostRecord) -> str:
    speed = host.get("memory_speed_mts")
    modules = host.get("memory_modules")
    parts = (
        _gib(host.get("memory_mib")),
        modules and counted(modules, "module"),
        host.get("memory_type"),
        speed and f"{speed:,} MT/s",
    )
    return ", ".join(filter(None, parts))


def _limits(host: HostRecord) -> str:
    quota, memory = host.get("cpu_quota_cpus"), host.get("memory_limit_mib")
    parts = ("" if quota is None else f"{number(quota)} CPUs", _gib(memory))
    return ", ".join(filter(None, parts))


def _system(host: HostRecord) -> str:
    inside = {"virtual_machine": "virtual machine", "container": "container"}
    kinds = [f"{noun}: {host[name]}" for name, noun in inside.items() if host.get(name) not in (None, "none")]
    return ", ".join(filter(None, (host.get("os"), host.get("kernel"), *kinds)))


def _disks(host: HostRecord) -> str:
    return "; ".join(f"{name}: {_disk(disk)}" for name, disk in (host.get("file_systems") or {}).items())


def _disk(disk: Mapping[str, Any]) -> str:
    kind = {True: "rotating", False: "solid state"}.get(disk.get("rotational"))
    size = "" if disk.get("size_gib") is None else f"{number(disk['size_gib'])} GiB"
    return ", ".join(filter(None, (disk.get("type"), kind, size)))


FIELDS: Mapping[str, Callable[[HostRecord], str]] = {
    "CPU": _cpu,
    "SKU": _plain("sku"),
    "processors": _counts,
    "SMT": _smt,
    "base frequency": _frequency("base_mhz"),
    "top frequency": _frequency("top_mhz"),
    "governor": _governor,
    "L3": _l3,
    "NUMA": _numa,
    "memory": _memory,
    LIMITS: _limits,
    "system": _system,
    "file systems": _disks,
}


def _load(own: Sequence[RunRecord]) -> str:
    """The most that was at work before any cell of a machine."""
    seen = [load["busy_cpus"] for load in _loads(own) if load.get("busy_cpus") is not None]
    if not seen:
        return ""
    busy = f"busy before {len(busy_cells(own))} of {counted(len(own), 'cell')}"
    return f"at most {number(max(seen), 2)} CPUs at work; {busy}"


def _loads(own: Iterable[RunRecord]) -> list[Mapping[str, Any]]:
    return [record["host"].get("load") or {} for record in own]


# ------------------------------------------------------------------------------------------- software


def software_grid(run_records: Sequence[RunRecord]) -> Grid | None:
    """A column a pipeline: the workflow's commit, its configuration and the tools; all values where cells differ."""
    pipelines = list(dict.fromkeys(record["cell"]["pipeline"] for record in run_records))
    told = [_software([r for r in run_records if r["cell"]["pipeline"] == pipeline]) for pipeline in pipelines]
    names = dict.fromkeys(name for values in told for name in values)
    lines = tuple(Line(name, tuple(Entry(some(values.get(name, []), MOST_SHOWN)) for values in told)) for name in names)
    return Grid("Software", ("software", *pipelines), lines, figures=False) if lines else None


def _binding(record: RunRecord) -> str:
    """How jobs were bound beside the policy; nothing where they were not."""
    told = (record.get("binding") or {}) | {"memory applied": record.get("memory_applied")}
    return ", ".join(f"{name} {_told(value)}" for name, value in told.items() if value is not None)


def _told(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _software(run_records: Iterable[RunRecord]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for record in run_records:
        settings = record.get("settings") or {}
        changed = ", changed since" if settings.get("workflow_changed") else ""
        values = {
            "workflow": f"{short(settings['workflow_commit'])}{changed}" if settings.get("workflow_commit") else None,
            "configuration": settings.get("config_digest") and short(settings["config_digest"]),
            "reference": settings.get("reference_digest") and short(settings["reference_digest"]),
            "gpd": settings.get("gpd_version"),
            **dict(sorted((settings.get("tools") or {}).items())),
            "pair-HMM": record.get("pair_hmm"),
            "environment variables": " ".join(f"{k}={v}" for k, v in (settings.get("environment") or {}).items()),
            "binding": _binding(record),
        }
        for name, value in values.items():
            if value:
                found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}
