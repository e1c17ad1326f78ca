"""Checks of circumstances: CPUs that two jobs shared, what else was at work, page cache, pinning and machines."""

from gpd.outcomes import steps_of
from gpd.packages.check_verdicts import MOST_SHOWN, NO_PLAN, UNKNOWN, Found, verdict
from gpd.packages.evidence import Recomputed
from gpd.records.binding import is_unbound
from gpd.records.host import TRAITS, machine_differences
from gpd.records.ledger_check import duplicates, overlaps
from gpd.records.run import RunRecord
from gpd.records.run_spec import STREAM
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import counted, listed, percent, some

CACHE_TOLERANCE = 0.01  # of the share of files that is in the page cache

# what a record has to disclose of a machine, and of the software that was run on it
DISCLOSED = (
    *("hostname", "cpu_model", "sockets", "cores", "threads", "numa_nodes", "memory_mib", "kernel", "os"),
    *("virtual_machine", "container", "file_systems"),
)
DISCLOSED_SOFTWARE = ("workflow_digest", "environments_digest", "config_digest", "reference_digest", "tools")


def ledgers(found: Recomputed) -> Found:
    """Each attempt is recorded once, and no CPU was two jobs' at one time."""
    every = found.lines.values()
    wrong = [fault for lines in every for fault in (*duplicates(lines), *overlaps(lines))]
    attempts = counted(sum(map(len, every)), "attempt")
    return verdict(wrong, [f"{attempts}, each recorded once, and no CPU was two jobs' at one time"])


def quiet(found: Recomputed) -> Found:
    """No run was disturbed, as the column `disturbances` has it, as far as it was looked for."""
    disturbed = {row.run: row.disturbances for row in found.tables.runs}
    wrong, doubts, watched = [], [], 0
    for record in found.counted:
        name, load = record.spec.name, record.host.load if record.host else None
        jobs = [line for _, line in found.lines_of(record) if line.other_cpu_s is not None or line.cpu_contention]
        watched += len(jobs)
        if what := disturbed[name]:
            wrong.append(f"{name}: {what}")
        if not jobs and (load is None or load.busy is None):
            doubts.append(f"{name}: what else was at work is not known")
    well = f"before {counted(len(found.counted), 'run')} and on the CPUs of {counted(watched, 'job')} nothing else was"
    return verdict(wrong, [well], doubts)


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
            if line.step not in steps or not line.start:
                continue
            allocated, observed = line.cpus, [line.cpus_allowed, line.cpus_seen]
            if allocated is None:
                wrong.append(f"{place}: {line.rule}: no CPUs were allocated")
            elif line.binding_ok is False or any(parse_cpus(cpus) - parse_cpus(allocated) for cpus in observed if cpus):
                wrong.append(f"{place}: {line.rule}: had CPUs {allocated}, and was seen on others")
            elif not any(observed):
                doubts.append(f"{place}: {line.rule}: on which CPUs it was is not known")
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
            silent += [name for name in DISCLOSED if getattr(host, name) in (None, {}, ())]
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
        if len(values) > 1:
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
