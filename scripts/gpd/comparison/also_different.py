"""In what machines differ besides what is compared, and what disturbed a study: a reader has to know both."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from gpd.comparison.comparability import Difference, Named, grouped, holders_of
from gpd.records.host import FileSystem, Host
from gpd.tables.columns import RunRow
from gpd.tables.disturbances import lines
from gpd.text.formats import number, of_copies, of_reads, some

MIB_PER_GIB = 1024
NAME = "also different"
NOT_AFFECTED = "not affected"
MOST_NAMED = 4  # runs


def _storage(host: Host) -> str | None:
    known = {name: _disk(disk) for name, disk in host.file_systems.items() if disk.type}
    return "; ".join(f"{name} on {disk}" for name, disk in sorted(known.items())) or None


def _disk(disk: FileSystem) -> str:
    kinds = {True: "rotating", False: "solid state", None: ""}
    kind = "NVMe" if (disk.device or "").startswith("nvme") else kinds[disk.rotational]
    return f"{disk.type} {kind}".rstrip()


def _memory(host: Host) -> str | None:
    return None if host.memory_mib is None else f"{number(host.memory_mib / MIB_PER_GIB)} GiB"


def _kinds(host: Host) -> str | None:
    return "; ".join(f"{kind.name}: CPUs {kind.cpus}" for kind in host.core_kinds) or ("one" if host.cores else None)


# what machines may have alike or not, whatever their processors are
TRAITS: Mapping[str, Callable[[Host], object]] = {
    "storage": _storage,
    "kernel": lambda host: host.kernel,
    "memory": _memory,
    "memory speed, MT/s": lambda host: host.memory_speed_mts,
    "NUMA nodes a socket": lambda host: host.numa_nodes_a_socket and f"{host.numa_nodes_a_socket:g}",
    "virtual machine": lambda host: host.virtual_machine,
    "container": lambda host: host.container,
    "SMT": lambda host: None if host.smt is None else "on" if host.smt else "off",
    "cores usable in part": lambda host: host.partial_cores,
    "kinds of cores": _kinds,
    "CPU quota, CPUs": lambda host: host.cpu_quota_cpus or ("none" if host.usable_threads else None),
}


def also_different(named: Named) -> list[Difference]:
    """Return in what the machines of several studies differ; what is not recorded may be the same."""
    hosts = [(name, host) for name, record in named for host in record.machines]
    found = [_difference(trait, hosts, of) for trait, of in TRAITS.items()]
    flaws = sorted({flaw for _, host in hosts for flaw in host.mitigations})
    found += [_difference(f"mitigation of {flaw}", hosts, partial(_state, flaw=flaw)) for flaw in flaws]
    return grouped(one for one in found if len(one.holders) > 1)


def _state(host: Host, flaw: str) -> str | None:
    return host.mitigations.get(flaw, NOT_AFFECTED) if host.mitigations else None


def _difference(trait: str, hosts: Iterable[tuple[str, Host]], of: Callable[[Host], object]) -> Difference:
    known = ((name, str(value)) for name, host in hosts if (value := of(host)) is not None)
    return Difference(NAME, trait, holders_of(known), by_machine=True)


def disturbances(study: str, runs: Sequence[RunRow]) -> Iterator[str]:
    """Say what of a study's runs was not as it should be: its figures are no better than that."""
    yield from dict.fromkeys(
        f"{study}: {part}"
        for run in runs
        for part in (of_reads(run.fraction) and f"measured {of_reads(run.fraction)}", of_copies(run.samples_per_genome))
        if part
    )
    if broken := [run.run for run in runs if run.jobs.binding_ok is False]:
        yield f"{study}: binding was broken: {some(broken, MOST_NAMED)}"
    yield from (f"{study}: {line}" for line in lines(runs))
