"""Made-up streams, recorded as runs record them: each sample takes SAMPLE_S on a CPU of its own."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import recorded_studies
from packing import BASES, BOOT, BOOTED, HOST, HOST_RECORD

from gpd.lab import study
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
    home, run_id, draw = folder / spec.name, f"{spec.name}-0123abcd", random.Random(1)
    made = RECORD.RunSpec("germline", spec.samples, "shared", 1)
    (home / "samples").mkdir(parents=True)
    processes, names, drawn = [], {}, study.drawn(spec)
    for number, (server, started_s) in enumerate(passages(spec), 1):
        sample = next(drawn)
        name = study.copy_name(sample, number)
        names[name] = sample
        lines = []
        for place, (rule, step, more, _, rss_mib, after) in enumerate(RECORD.GERMLINE):
            kind = "callset" if rule in RECORD.CALLSET_RULES else "sample"
            begins = 10 * (started_s + place * JOB_S)
            job = RECORD.Job(rule, step, name, {kind: name, **more}, 10 * JOB_S, rss_mib, after)
            job.start, job.cpu = begins, server
            line = RECORD.record(made, start, job, draw) | {"run": run_id, "host": HOST, "node": HOST.partition(".")[0]}
            line |= {"boot": BOOT, "uptime_s": round((start - BOOTED).total_seconds() + begins / 10, 6)}
            line |= {"cpu_contention": False, "other_cpu_s": 0.0, "steal_s": 0.0, "recorded": line["end"]}
            lines.append(json.dumps(line))
        own = home / "samples" / name
        own.mkdir()
        (own / "ledger.jsonl").write_text("\n".join(lines) + "\n")
        way = {"copy_of": sample, "started_s": started_s, "ended_s": started_s + SAMPLE_S}
        processes.append({"directory": f"samples/{name}", "samples": [name], "exit_code": 0, "passage": way})
    whole_s = max(each["passage"]["ended_s"] for each in processes)
    record = RECORD.outcome(made, start, [job]) | {"run": run_id, "spec": spec.to_dict(), "processes": processes}
    record |= {"start": start.isoformat(), "end": (start + timedelta(seconds=whole_s)).isoformat(), "wall_s": whole_s}
    record |= {"cpu_s": SAMPLE_S * len(processes), "cached": 1.0}
    record["host"] = HOST_RECORD | {"load": record["host"]["load"]}
    record["inputs"] = {name: record["inputs"][sample] | {"bases": BASES} for name, sample in names.items()}
    record["outputs"] = [{"kind": "calls", "samples": [name], "digest": RECORD.digest(name)} for name in names]
    (home / "spec.json").write_text(json.dumps(spec.to_dict(), indent=1))
    (home / "run.json").write_text(json.dumps(record, indent=1))
    with (folder / "starts.jsonl").open("a") as starts:
        for what in ("start", "end"):
            noted = {"name": spec.name, "run": run_id, {"start": "began", "end": "ended"}[what]: record[what]}
            starts.write(json.dumps(noted) + "\n")
