"""In what machines differ besides what is compared, and what disturbed a study: a reader has to know both."""

from collections.abc import Iterator, Mapping, Sequence

from gpd.comparison.comparability import Difference, Named, grouped, holders_of
from gpd.records.host_texts import filled, texts
from gpd.tables.columns import RunRow
from gpd.tables.disturbances import lines
from gpd.text.formats import of_copies, of_reads, some

NAME = "also different"
NOT_AFFECTED = "not affected"
MOST_NAMED = 4  # runs


# what machines may have alike or not, whatever their processors are
TRAITS: Mapping[str, str] = {
    "storage": "{storage}",
    "kernel": "{kernel}",
    "memory": "{memory_gib} GiB",
    "memory speed, MT/s": "{memory_speed_mts}",
    "NUMA nodes a socket": "{numa_nodes_a_socket}",
    "virtual machine": "{virtual_machine}",
    "container": "{container}",
    "SMT": "{smt}",
    "cores usable in part": "{partial_cores}",
    "kinds of cores": "{kinds_of_cores}",
    "CPU quota, CPUs": "{quota}",
}


def also_different(named: Named) -> list[Difference]:
    """Return in what the machines of several studies differ; what is not recorded may be the same."""
    hosts = [(name, host, texts(host)) for name, record in named for host in record.machines]
    values = {trait: [(name, filled((part,), of)) for name, _, of in hosts] for trait, part in TRAITS.items()}
    for flaw in sorted({flaw for _, host, _ in hosts for flaw in host.mitigations}):
        states = ((name, host.mitigations) for name, host, _ in hosts if host.mitigations)
        values[f"mitigation of {flaw}"] = [(name, known.get(flaw, NOT_AFFECTED)) for name, known in states]
    held = {trait: holders_of(pair for pair in pairs if pair[1]) for trait, pairs in values.items()}
    differing = {trait: holders for trait, holders in held.items() if len(holders) > 1}
    return grouped(Difference(NAME, trait, holders, by_machine=True) for trait, holders in differing.items())


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
