"""The machine of a study, from the runs of one curve of the germline pipeline."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import mean, median

from gpd.errors import GpdError
from gpd.pipelines import GERMLINE
from gpd.records.binding import Binding
from gpd.records.host import Host
from gpd.records.node import NodeRecord
from gpd.records.run import RunRecord
from gpd.records.run_spec import SHARED
from gpd.sizing.machine import Machine, Measured, Range
from gpd.statistics.estimates import estimate
from gpd.statistics.known import most, most_at_once, whole_sum
from gpd.tables.collect import Tables
from gpd.tables.columns import JobRow, RunRow
from gpd.text.formats import counted, listed

# what is the same in all runs of a curve: of one machine
CURVE = ("pipeline", "mode", "binding", "sku", "cores")


def watts_and_bandwidth(node: NodeRecord | None) -> tuple[float | None, float | None]:
    """Watts of packages and memory while all cores are busy, and the node's memory bandwidth in MB/s."""
    busy = (clock.watts for clock in node.clocks if clock.busy == "all cores" and clock.watts) if node else ()
    place = node.bandwidth.place("node") if node and node.bandwidth else None
    return next((sum(watts.values()) for watts in busy), None), place.median("triad") if place else None


def machine(name: str, tables: Tables) -> Machine:
    """What the curve with most runs tells, one of `shared` before others; clusters are no single node.

    Raises GpdError where no run ended without failures.
    """
    rows_of_curve = _curve(name, tables)
    host = next((record.host for record in tables.records if record.host), None)
    watts, bandwidth = watts_and_bandwidth(tables.node)
    of_n = {n: [row for row in rows_of_curve if row.n == n] for n in sorted({int(row.n) for row in rows_of_curve})}
    with_failures = [n for n, rows in of_n.items() if any(row.failed for row in rows)]
    runs = {n: whole for n, rows in of_n.items() if n not in with_failures and (whole := _whole(rows))}
    if not runs:
        raise GpdError(f"{name}: at each N samples failed; measure fewer at once")
    first, declared = rows_of_curve[0], _declared_mib(tables.jobs)
    drawn = {record.spec.name: watts for record in tables.records if (watts := _watts(record))}
    return Machine(
        name=name,
        source="study",
        skus=(first.sku,) if first.sku else (),
        sockets=host.sockets if host and host.virtual_machine == "none" else None,  # of others' processors, too
        cores=cores_of(first, host),
        measured=tuple(_measured(n, rows, declared, drawn) for n, rows in runs.items()),
        n_failed=min(with_failures, default=None),
        memory_mib=(host.memory_limit_mib or host.memory_mib) if host else None,
        watts=watts,
        bandwidth_mb_s=bandwidth,
        notes=tuple(_notes(first, runs)),
    )


def cores_of(run: RunRow, host: Host | None) -> int:
    """The cores of a run; with SMT it was given threads."""
    binding = Binding.parse(run.binding)
    given_threads = run.smt and (binding.smt or not binding.unbound)
    of_thread = host.cores / host.threads if given_threads and host and host.cores and host.threads else 1.0
    return max(1, round(run.cores * of_thread))


def _curve(name: str, tables: Tables) -> list[RunRow]:
    """The counted runs of one curve."""
    rows = [row for row in tables.runs if row.counted and row.pipeline == GERMLINE.name]
    kind = attrgetter(*CURVE)
    kinds = list(map(kind, _whole(rows)))
    if not kinds:
        raise GpdError(f"{name}: no batch of the germline pipeline on one machine ended without failures")
    chosen = max(dict.fromkeys(kinds), key=lambda one: (SHARED in one, kinds.count(one), str(one)))
    return [row for row in rows if kind(row) == chosen]


def _whole(rows: Iterable[RunRow]) -> list[RunRow]:
    """The runs that have gigabases a day."""
    return [row for row in rows if row.gigabases_per_day]


def _gigabases(whole: RunRow) -> float:
    assert whole.gigabases, "a run that has gigabases a day has gigabases"
    return whole.gigabases


def _declared_mib(jobs: Iterable[JobRow]) -> dict[str, float]:
    """The largest sum of what jobs asked for that ran at one time, of each run in which it is known of every job."""
    spans: dict[str, list[tuple[float, float, float]]] = {}
    silent = set()
    for job in jobs:
        if job.start_s is None or job.end_s is None:
            continue  # it never began, or nobody saw its end
        if job.mem_mb is None:
            silent.add(job.run)
        else:
            spans.setdefault(job.run, []).append((job.start_s, job.end_s, job.mem_mb))
    return {run: most_at_once(own) for run, own in spans.items() if run not in silent}


def _watts(record: RunRecord) -> float | None:
    """What processors and memory drew over a run; None: nobody counted."""
    return sum(record.energy_j.values()) / record.wall_s if record.energy_j and record.wall_s else None


def _measured(n: int, runs: Sequence[RunRow], declared: Mapping[str, float], drawn: Mapping[str, float]) -> Measured:
    daily = estimate(row.gigabases_per_day for row in runs)
    shared = [whole_sum([row.shared_inputs_mib, row.shared_outputs_mib]) for row in runs]
    return Measured(
        n=n,
        gigabases=mean(_gigabases(row) / n for row in runs),
        gigabases_per_day=Range.of(daily.mean or 0.0, daily),
        se=daily.se,
        cpu_utilisation=_middle(row.cpu_utilisation for row in runs),
        memory_mib=most(row.peak_memory_mib for row in runs),
        declared_mib=max((declared[row.run] for row in runs if row.run in declared), default=None),
        disk_mib_per_gb=_a_gigabase(runs, [row.peak_disk_mib for row in runs]),
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
    return _middle(None if amount is None else amount / _gigabases(row) for row, amount in pairs)


def _notes(first: RunRow, runs: Mapping[int, Sequence[RunRow]]) -> Iterable[str]:
    count, numbers = counted(sum(map(len, runs.values())), "run"), listed(str(n) for n in runs)
    yield f"measured: {count} of {first.mode}, {first.binding} binding; N = {numbers}"
    if single := [str(n) for n, rows in runs.items() if len(rows) == 1]:
        yield f"N = {listed(single)} ran once: repeats would give an interval"
