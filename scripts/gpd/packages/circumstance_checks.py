"""Checks of circumstances: CPUs that two jobs shared, what else was at work, page cache, pinning and machines."""

from collections.abc import Iterator, Sequence

from gpd.outcomes import steps_of
from gpd.packages.evidence import Recomputed
from gpd.packages.verdicts import MOST_SHOWN, NO_PLAN, UNKNOWN, Found, verdict
from gpd.records.binding import is_unbound
from gpd.records.contention import OF_JOBS
from gpd.records.host import TRAITS, machine_differences
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import duplicates, overlaps
from gpd.records.run import RunRecord
from gpd.records.run_spec import CLUSTER, STREAM
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import counted, listed, number, percent, some

CACHE_TOLERANCE = 0.01  # of the share of files that is in the page cache

# what a record has to disclose of a machine, and of the software that was run on it
DISCLOSED = (
    *("hostname", "cpu_model", "sockets", "cores", "threads", "numa_nodes", "memory_mib", "kernel", "os"),
    *("virtual_machine", "container", "file_systems"),
)
DISCLOSED_BY_SLURM = ("hostname", "cores", "memory_mib")  # of nodes that nobody looked at
DISCLOSED_SOFTWARE = ("workflow_digest", "environments_digest", "config_digest", "reference_digest", "tools")


def ledgers(found: Recomputed) -> Found:
    """Each attempt is recorded once, and no CPU was two jobs' at one time."""
    every = found.lines.values()
    wrong = [fault for lines in every for fault in (*duplicates(lines), *overlaps(lines))]
    attempts = counted(sum(map(len, every)), "attempt")
    return verdict(wrong, [f"{attempts}, each recorded once, and no CPU was two jobs' at one time"])


def quiet(found: Recomputed) -> Found:
    """Nothing else was at work before a run, and on the CPUs of its jobs, as far as somebody looked."""
    wrong, doubts, watched = [], [], 0
    for record in found.counted:
        name, load = record.spec.name, record.host.load if record.host else None
        jobs = [line for _, line in found.lines_of(record) if line.other_cpu_s is not None or line.cpu_contention]
        watched += len(jobs)
        if load is not None and load.busy:
            wrong.append(f"{name}: {number(load.busy_cpus)} CPUs were at work before its start")
        if met := sum(line.cpu_contention is True for line in jobs):
            wrong.append(f"{name}: others were at work on the CPUs of {met} of {counted(len(jobs), 'job')}")
        wrong += [f"{name}: {fault}" for fault in _taken(jobs)]
        pauses = [line.paused_s or 0 for _, line in found.lines_of(record)]
        pauses += [record.machine_use.paused_s or 0] if record.machine_use else []
        if paused_s := max(pauses, default=0):
            wrong.append(f"{name}: suspended for {number(paused_s)} s")
        wrong += [f"{name}: {fault}" for fault in _slowed(record)]
        if not jobs and (load is None or load.busy is None):
            doubts.append(f"{name}: what else was at work nobody looked")
    well = f"before {counted(len(found.counted), 'run')} and on the CPUs of {counted(watched, 'job')} nobody else was"
    return verdict(wrong, [well], doubts)


def _slowed(record: RunRecord) -> Iterator[str]:
    """Say what held the processors of a run back."""
    use = record.machine_use
    if use and use.throttled_s:
        yield f"a CPU quota held its processes for {number(use.throttled_s)} s"
    if use and use.thermal_throttles:
        yield "heat slowed its CPUs"


def _taken(jobs: Sequence[Attempt]) -> Iterator[str]:
    """Say what others took of the CPU time that jobs were allocated, where that is much over all of them."""
    had_s = sum(_width(line) * (line.own_s or 0) for line in jobs)
    taken = {
        "other processes": sum(line.other_cpu_s or 0 for line in jobs),
        "the hypervisor": sum(line.steal_s or 0 for line in jobs),
    }
    for whose, taken_s in taken.items():
        if taken_s > OF_JOBS * had_s:
            yield f"{whose} took {number(taken_s)} s of the {number(had_s)} CPU seconds of its jobs"


def _width(line: Attempt) -> int:
    """The number of CPUs that a job could run on; 0: not known."""
    return len(frozenset().union(*(parse_cpus(cpus or "") for cpus in (line.cpus, line.cpus_allowed, line.cpus_seen))))


def warm_up(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    wrong, well = [], []
    settings = found.plan.study
    for pipeline in settings.pipelines:
        own = [record for record in found.tables.records if record.spec.pipeline == pipeline]
        first = min((record.start for record in found.counted if record.spec.pipeline == pipeline), default=None)
        before = [record for record in own if record.spec.warm_up and (first is None or record.end <= first)]
        batches = any(mode != STREAM for mode in settings.modes)  # a stream warms up before its window
        if batches and len(before) < settings.warm_up:
            wrong.append(f"{pipeline}: {len(before)} of {counted(settings.warm_up, 'warm-up')} before the first run")
        warm = counted(len(before), "warm-up") if before else "no warm-up"
        well.append(f"{pipeline}: {warm} before the first measured run; page cache {settings.cache.replace('_', ' ')}")
    wrong += [f"{record.spec.name}: {fault}" for record in found.counted if (fault := _cache_fault(record))]
    others = sorted({record.spec.name for record in found.tables.records if record.spec.cache != settings.cache})
    wrong += [f"{name}: its page cache was not {settings.cache}, as the study says" for name in others]
    return verdict(wrong, well)


def _cache_fault(record: RunRecord) -> str:
    """What the page cache held that it was not to, as it was looked at; nothing where that is not known."""
    wanted = {"cold": 0.0, "warm": 1.0}.get(record.spec.cache)
    if wanted is None or record.cached is None or abs(record.cached - wanted) <= CACHE_TOLERANCE:
        return ""
    return f"says {record.spec.cache}, and {percent(record.cached)} of reads and reference were in memory"


def pinning(found: Recomputed) -> Found:
    wrong, doubts, proved = [], [], 0
    for record in found.counted:
        if is_unbound(record.spec.binding):
            continue
        lines = found.lines[record.spec.name]
        steps = steps_of(record, (line for _, line in lines))
        for place, line in lines:
            if line.step not in steps or not line.start or line.taken_from:
                continue
            allocated, observed = line.cpus, [line.cpus_allowed, line.cpus_seen]
            if allocated is None:
                wrong.append(f"{place}: {line.rule}: no CPUs were allocated")
            elif line.binding_ok is False or any(parse_cpus(cpus) - parse_cpus(allocated) for cpus in observed if cpus):
                wrong.append(f"{place}: {line.rule}: had CPUs {allocated}, and was seen on others")
            elif not any(observed):
                doubts.append(f"{place}: {line.rule}: on which CPUs it was nobody saw")
            else:
                proved += 1
    well = f"{counted(proved, 'job')} of the steps were seen on the CPUs allocated to them, and on no others"
    nothing = "no run is allocated CPUs (binding none), so there is nothing to prove"
    return verdict(wrong, [well if proved else nothing], doubts)


def machine(found: Recomputed) -> Found:
    wrong = []
    for record in found.counted:
        silent = [name for name in DISCLOSED_SOFTWARE if not getattr(record.settings, name)]
        if not record.machines:
            silent.append("machine")
        for host in record.machines:
            names = DISCLOSED if record.host else DISCLOSED_BY_SLURM
            silent += [name for name in names if getattr(host, name) in (None, {}, ())]
        if silent:
            wrong.append(f"{record.spec.name}: does not tell {listed(dict.fromkeys(silent))}")
    models = sorted({host.cpu_model or "a CPU not named" for record in found.counted for host in record.machines})
    why = f"{listed(models)}, with memory, kernel, file systems, versions of tools and digests of settings"
    return verdict(wrong, [why], [] if found.counted else ["no run has ended"])


def one_machine(found: Recomputed) -> Found:
    """Records of a study are of one machine, and ledgers say the same one."""
    wrong = []
    if several := machine_differences(record.host for record in found.counted if record.host):
        wrong.append(several)
    for trait in (trait for trait in TRAITS if trait.pooled):
        values = {tuple(sorted(str(trait.of(host)) for host in record.machines)) for record in found.counted}
        if len(values) > 1 and not any(record.spec.mode == CLUSTER for record in found.counted):
            wrong.append(f"{trait.name}: {listed(sorted(some(each, MOST_SHOWN) for each in values))}")
    for record in found.tables.records:
        known = {name for host in record.machines for name in (host.hostname, host.node)}
        others = sorted(map(str, {line.host for _, line in found.lines[record.spec.name]} - known))
        if record.host is not None and others:
            wrong.append(f"{record.spec.name}: run.json says {record.host.hostname}, its ledger {listed(others)}")
    names = {host.hostname for record in found.tables.records for host in record.machines}
    node = found.tables.node.host.hostname if found.tables.node else None
    if node and node not in names:
        wrong.append(f"node.json is of {node}, and no run ran there")
    runs = counted(len(found.tables.records), "run")
    return verdict(wrong, [f"{runs} and their ledgers name {listed(sorted(filter(None, names))) or 'none'}"])
