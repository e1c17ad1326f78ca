"""The machines and the software of a study, as tables of a report, from the records of its runs. Pure.

They have what a reader must know to place a result. Names of folders and mounts are not: they say nothing of speed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpd.records import host_texts
from gpd.records.host import Host, machine_differences
from gpd.records.host_texts import filled
from gpd.records.run import RunRecord
from gpd.text.formats import counted, number, short, some
from gpd.text.grid import Grid, group

MOST_SHOWN = 4
# by row of the table: its parts, each where it is known
FIELDS: Mapping[str, tuple[str, ...]] = {
    "CPU": ("{cpu_model}",),
    "Slurm node": ("{node}",),
    "Slurm partition": ("{partition}",),
    "SKU": ("{sku}", "family {cpu_family}", "model {cpu_model_number}", "stepping {cpu_stepping}"),
    "processors": ("sockets: {sockets}", "cores: {cores}", "threads: {threads}", "usable threads: {usable_threads}"),
    "kinds of cores": ("{core_kinds}", "in part usable: {some_partial_cores}"),
    "SMT": ("{smt}",),
    "base frequency": ("{base_ghz} GHz",),
    "top frequency": ("{top_ghz} GHz",),
    "governor": ("{governor}", "{frequency_driver}", "boost {boost}"),
    "L3": ("groups: {l3_groups}", "{l3_mib} MiB in all"),
    "NUMA": ("nodes: {numa_nodes}", "{numa}"),
    "memory": ("{memory_gib} GiB", "modules: {memory_modules}", "{memory_type}", "{memory_speed_mts} MT/s"),
    "limits of the container": ("{cpu_quota_cpus} CPUs", "{memory_limit_gib} GiB"),
    "system": ("{os}", "{kernel}", "virtual machine: {virtual_machine}", "container: {container}"),
    "file systems": ("{file_systems}",),
}


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


def host_grid(records: Iterable[RunRecord]) -> Grid | None:
    """A column a machine."""
    found = machines(records)
    values = [host_texts.texts(host) for host, _ in found]
    texts = {name: [filled(parts, of) for of in values] for name, parts in FIELDS.items()}
    texts["load before the start"] = [_load(own) for _, own in found]
    rows = [(name, *own) for name, own in texts.items() if any(own)]
    heads = ("machine", *(host.hostname or "unnamed" for host, _ in found))
    return Grid("Machines", heads, (group(rows),), numeric=False) if rows else None


def other_machines(records: Iterable[RunRecord]) -> str:
    """What is to be said of runs on several machines; nothing where they ran on one."""
    found = machine_differences(record.host for record in records if record.host)
    return f"Runs ran on different machines ({found}), which are not pooled." if found else ""


def cpu_names(records: Iterable[RunRecord]) -> list[str]:
    """Return the models of the processors, each once."""
    return list(
        filter(None, dict.fromkeys(host.cpu_model or host.sku for record in records for host in record.machines))
    )


def _load(own: Sequence[RunRecord]) -> str:
    """The most that was at work before any run of a machine."""
    loads = (record.host.load for record in own if record.host and record.host.load)
    most = max((load.busy_cpus for load in loads if load.busy_cpus is not None), default=None)
    return "" if most is None else f"at most {number(most, 2)} CPUs at work, before any of {counted(len(own), 'run')}"


# ------------------------------------------------------------------------------------------- software


def software_grid(records: Sequence[RunRecord]) -> Grid | None:
    """A column a pipeline: the workflow's commit, its configuration and the tools; all values where runs differ."""
    pipelines = list(dict.fromkeys(record.spec.pipeline for record in records))
    versions = [_software([r for r in records if r.spec.pipeline == pipeline]) for pipeline in pipelines]
    names = dict.fromkeys(name for values in versions for name in values)
    rows = [(name, *(some(values.get(name, []), MOST_SHOWN) for values in versions)) for name in names]
    return Grid("Software", ("software", *pipelines), (group(rows),), numeric=False) if rows else None


def _binding(record: RunRecord) -> str:
    """How jobs were bound beside the policy; nothing where they were not."""
    settings = dict(record.binding or {}) | {"memory applied": record.memory_applied}
    return ", ".join(f"{name} {host_texts.text(value)}" for name, value in settings.items() if value is not None)


def _software(records: Iterable[RunRecord]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for record in records:
        settings = record.settings
        values = {
            "workflow": settings.workflow_commit and short(settings.workflow_commit),
            "preset": settings.preset,
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
