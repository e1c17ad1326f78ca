"""The machine of a study, from the table `summary` of one curve of the germline pipeline."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import median

from gpd.errors import GpdError
from gpd.pipelines import GERMLINE
from gpd.records.binding import Binding
from gpd.records.host import Host
from gpd.records.node import NodeRecord
from gpd.records.run import RunRecord
from gpd.records.run_spec import SHARED
from gpd.sizing.machine import Machine, Measured, above_zero
from gpd.statistics.estimates import Estimate
from gpd.statistics.known import mean, most, most_at_once, whole_sum
from gpd.tables.collect import Tables
from gpd.tables.columns import CONFIGURATION, ConfigurationRow, JobRow, RunRow
from gpd.text.formats import counted, listed

KEY = attrgetter(*CONFIGURATION)
CURVE = attrgetter(*(name for name in CONFIGURATION if name != "n"))


def watts_and_bandwidth(node: NodeRecord | None) -> tuple[float | None, float | None]:
    """Watts of packages and memory while all cores are busy, and the node's memory bandwidth in MB/s."""
    busy = (clock.watts for clock in node.clocks if clock.busy == "all cores" and clock.watts) if node else ()
    place = node.bandwidth.place("node") if node and node.bandwidth else None
    return next((sum(watts.values()) for watts in busy), None), place.median("triad") if place else None


def machine(name: str, tables: Tables) -> Machine:
    """What the curve with most runs tells, one of `shared` before others.

    Raises GpdError where no sample succeeded, or some failed at each N.
    """
    curve = _curve(name, tables.configurations)
    overloaded = [one.n for one in curve if one.failed]
    if not (whole := [one for one in curve if one.n not in overloaded and one.gigabases_per_day.value]):
        raise GpdError(f"{name}: at each N samples failed; measure fewer at once")
    keys = {KEY(one) for one in whole}
    runs: dict[int, list[RunRow]] = {}
    for run in tables.runs:
        if run.counted and KEY(run) in keys:
            runs.setdefault(run.n, []).append(run)
    means = {(row.n, row.metric): row.estimate for row in tables.summary if row.step is None and KEY(row) in keys}
    declared, drawn = _declared_mib(tables.jobs), _watts(tables.records)
    host = next((record.host for record in tables.records if record.host), None)
    watts, bandwidth = watts_and_bandwidth(tables.node)
    return Machine(
        name=name,
        source="study",
        skus=(whole[0].sku,) if whole[0].sku else (),
        cores=cores_of(runs[whole[0].n][0], host),
        measured=tuple(_measured(one, runs[one.n], means, declared, drawn) for one in whole),
        n_failed=min(overloaded, default=None),
        memory_mib=(host.memory_limit_mib or host.memory_mib) if host else None,
        watts=watts,
        bandwidth_mb_s=bandwidth,
        notes=tuple(_notes(whole)),
    )


def _curve(name: str, configurations: Iterable[ConfigurationRow]) -> list[ConfigurationRow]:
    """The configurations of one curve by N."""
    rows = [row for row in configurations if row.pipeline == GERMLINE.name]
    repeats: dict[tuple, int] = {}
    for row in rows:
        if row.gigabases_per_day.value:
            repeats[CURVE(row)] = repeats.get(CURVE(row), 0) + row.repeats
    if not repeats:
        raise GpdError(f"{name}: no batch of the germline pipeline on one machine has a sample that succeeded")
    chosen = max(repeats, key=lambda key: (SHARED in key, repeats[key], str(key)))
    return sorted((row for row in rows if CURVE(row) == chosen), key=attrgetter("n"))


def cores_of(run: RunRow, host: Host | None) -> int:
    """The cores of a run; with SMT it was given threads."""
    binding = Binding.parse(run.binding)
    given_threads = run.smt and (binding.smt or not binding.unbound)
    of_thread = host.cores / host.threads if given_threads and host and host.cores and host.threads else 1.0
    return max(1, round(run.cores * of_thread))


def _declared_mib(jobs: Iterable[JobRow]) -> dict[str, float]:
    """The largest sum of what jobs asked for that ran at one time, of each run in which it is known of every job."""
    spans: dict[str, list[tuple[float, float, float]]] = {}
    silent = set()
    for job in jobs:
        if job.start_s is None or job.end_s is None:
            continue  # it never began, or its end was not seen
        if job.mem_mb is None:
            silent.add(job.run)
        else:
            spans.setdefault(job.run, []).append((job.start_s, job.end_s, job.mem_mb))
    return {run: most_at_once(own) for run, own in spans.items() if run not in silent}


def _watts(records: Iterable[RunRecord]) -> dict[str, float]:
    """What processors and memory drew over each run in which it was counted, W."""
    return {one.spec.name: sum(one.energy_j.values()) / one.wall_s for one in records if one.energy_j and one.wall_s}


def _measured(
    configuration: ConfigurationRow,
    runs: Sequence[RunRow],
    means: Mapping[tuple[int, str], Estimate],
    declared: Mapping[str, float],
    drawn: Mapping[str, float],
) -> Measured:
    n = configuration.n
    daily, makespan_s, busy = (means[n, name] for name in ("gigabases_per_day", "makespan_s", "cpu_utilisation"))
    shared = [whole_sum([row.shared_inputs_mib, row.shared_outputs_mib]) for row in runs]
    gigabases = mean(row.gigabases / row.succeeded for row in runs if row.gigabases and row.succeeded) or 0.0
    disk_mib = means[n, "disk_per_sample_mib"].value
    return Measured(
        n=n,
        gigabases=gigabases,
        gigabases_per_day=above_zero(daily),
        makespan_s=None if makespan_s.value is None else above_zero(makespan_s),
        cpu_utilisation=None if busy.value is None else above_zero(busy),
        memory_mib=most(row.peak_memory_mib for row in runs),
        declared_mib=most(declared.get(row.run) for row in runs),
        disk_mib_per_gb=None if disk_mib is None or not gigabases else disk_mib / gigabases,
        kept_mib_per_gb=_a_gigabase(runs, [row.kept_disk_mib for row in runs]),
        watts=_middle(drawn.get(row.run) for row in runs),
        shared_mib_per_gb=_a_gigabase(runs, shared),
    )


def _middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _a_gigabase(runs: Sequence[RunRow], amounts: Sequence[float | None]) -> float | None:
    pairs = zip(runs, amounts, strict=True)
    return _middle(amount / row.gigabases for row, amount in pairs if amount is not None and row.gigabases)


def _notes(configurations: Sequence[ConfigurationRow]) -> Iterable[str]:
    first, repeats = configurations[0], sum(one.repeats for one in configurations)
    numbers = listed(str(one.n) for one in configurations)
    yield f"measured: {counted(repeats, 'run')} of {first.mode}, {first.binding} binding; N = {numbers}"
    if single := [str(one.n) for one in configurations if one.repeats == 1]:
        yield f"N = {listed(single)} ran once: repeats would give an interval"
    repeated = [one for one in configurations if one.repeats > 1]
    if wide := [str(one.n) for one in repeated if above_zero(one.gigabases_per_day).low is None]:
        yield f"N = {listed(wide)}: repeats scatter so widely that their interval reaches zero; more would narrow it"
