"""Made-up streams, recorded as runs record them: each sample takes SAMPLE_S on a CPU of its own."""

import random
from datetime import datetime, timedelta
from pathlib import Path

import recorded_studies
from packing import record_of, write_ledger, write_record

from gpd.lab import study_runs
from gpd.records.run_spec import RunSpec

RECORD = recorded_studies.script("study")
JOB_S, SAMPLE_S = 3, 30
OFFSET_S = 5  # from the first server's start to the second's, so that samples do not end together


def passages(spec: RunSpec) -> list[tuple[int, float]]:
    """The server of each sample and its start, as long as the window lasts."""
    found: list[tuple[int, float]] = []
    free = [float(OFFSET_S * server) for server in range(spec.n)]
    while (started_s := min(free)) < spec.stream.end_s:
        server = free.index(started_s)
        found.append((server, started_s))
        free[server] = started_s + SAMPLE_S
    return found


def write(folder: Path, spec: RunSpec, start: datetime) -> None:
    """Write a stream's records as they would be, had its samples taken SAMPLE_S each."""
    home, draw = folder / spec.name, random.Random(1)
    made = RECORD.RunSpec("germline", spec.samples, "shared", 1)
    processes, names, drawn = [], {}, study_runs.drawn(spec)
    for number, (server, started_s) in enumerate(passages(spec), 1):
        sample = next(drawn)
        name = study_runs.copy_name(sample, number)
        names[name] = sample
        records = []
        for place, (rule, step, more, _, rss_mib, after) in enumerate(RECORD.GERMLINE):
            kind = "callset" if rule in RECORD.CALLSET_RULES else "sample"
            job = RECORD.Job(rule, step, name, {kind: name, **more}, 10 * JOB_S, rss_mib, after)
            job.start, job.cpu = 10 * (started_s + place * JOB_S), server
            records.append(record_of(spec, made, start, job, draw))
        write_ledger(home / "samples" / name, records)
        way = {"copy_of": sample, "started_s": started_s, "ended_s": started_s + SAMPLE_S}
        processes.append({"directory": f"samples/{name}", "samples": [name], "exit_code": 0, "passage": way})
    whole_s = max(each["passage"]["ended_s"] for each in processes)
    record = RECORD.outcome(made, start, [job]) | {"processes": processes, "wall_s": whole_s, "cached": 1.0}
    record |= {"start": start.isoformat(), "end": (start + timedelta(seconds=whole_s)).isoformat()}
    record["cpu_s"] = SAMPLE_S * len(processes)
    record["inputs"] = {name: dict(record["inputs"][sample]) for name, sample in names.items()}
    record["outputs"] = [{"kind": "calls", "samples": [name], "digest": RECORD.digest(name)} for name in names]
    write_record(folder, spec, record)
