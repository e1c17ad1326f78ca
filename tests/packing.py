"""A made-up study of which every check of a package holds, and packages that were tampered with."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import recorded_studies

from gpd.lab import study_runs
from gpd.packages import pack
from gpd.packages.manifest import FILE, TABLES, Manifest, describe
from gpd.packages.pack import Package, archive
from gpd.records.study import Pool, Sample, Study, StudyRecord
from gpd.tables import collect, search

ROOT = Path(__file__).resolve().parents[1]
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
BOOT, BOOTED = "11112222-3333-4444-5555-666677778888", START - timedelta(days=1)
HOST, USER = "secretnode.lab.example", "jdoe"
HOME = f"/home/{USER}"
SAMPLES = ("HG001", "HG002", "HG003", "HG004")
BASES = 93_000_000_000
SPEED = {1: 1.0, 2: 1.01, 3: 0.99, 4: 1.0, 5: 1.0}  # by repeat: precise to a hundredth

SETTINGS = Study(
    name="trusted",
    directory=f"{HOME}/My Work/runs",
    pipelines={"germline": Pool(f"{HOME}/My Work/cohort", "config/config.yaml")},
    concurrent_samples=(1, 2),
    modes=("shared",),
    bindings=("compact",),
    repeats=5,
    precision=0.025,
    most_repeats=7,
    warm_up=1,
    seed=1,
    cache="warm",
    cores=2,
    threads={},
    profiles={"shared": f"{HOME}/profiles/lean", "independent": "profiles/published"},
    keep_results=False,
)


RECORD = recorded_studies.script("study")
HOST_RECORD = RECORD.HOST | {
    "hostname": HOST,
    "file_systems": {
        "work": RECORD.DISK
        | {"mount": f"{HOME}/My Work", "type": "nfs4", "device": "secretstore:/export/vol1"}
        | {"options": ["rw", "relatime", "rsize=1048576", "addr=10.11.12.13", f"username={USER}"]},
    },
}


FAILED = {
    **{"exit_code": 1, "cause": "tool_error"},
    "message": f"{HOST.partition('.')[0]}: cannot write {HOME}/My Work/x.bam, {USER}: see -I{HOME}/y, /scratch/{USER}",
}


def write_study(folder, speed=SPEED, node=None, **settings):
    """Write a study as runs leave it; `speed` is what each repeat's times are stretched by."""
    plan = StudyRecord(study=replace(SETTINGS, **settings), pools={"germline": tuple(map(Sample, SAMPLES))}, cores=2)
    folder.mkdir(parents=True)
    (folder / "study.json").write_text(plan.to_json())
    draw = random.Random(1)
    ruled = replace(plan.study, repeats=len(speed))  # as many are there as there are speeds
    for number, spec in enumerate(_specs(folder, ruled, plan)):
        write_spec(folder, spec, START + timedelta(minutes=10 * number), speed.get(spec.repeat, 1.0), draw)
    if node:
        measured = {"schema": 1, "start": "2026-11-20T07:00:00Z", "wall_s": 100.0}
        measured |= {"host": HOST_RECORD | {"hostname": node}}
        (folder / "node.json").write_text(json.dumps(measured))
    return folder


def _specs(folder, settings, plan):
    """The runs of a study; of a search each follows from what those before it came to."""
    if settings.concurrent_samples:
        yield from study_runs.planned(settings, plan.pools, plan.cores, seen={})
        return
    written = set()
    while True:
        observed = search.observations(collect.collect(folder)) if written else {}
        pool = plan.pools["germline"]
        specs = study_runs.search(settings, "germline", pool, plan.cores, observed, {})
        if not (left := [spec for spec in specs if spec.name not in written]):
            return
        written.add(left[0].name)
        yield left[0]


def write_spec(folder, spec, start, speed, draw):
    made = RECORD.RunSpec("germline", spec.samples, spec.mode, spec.repeat, speed, warm_up=spec.warm_up)
    jobs = RECORD.schedule(made, random.Random(f"jobs of {spec.n}"))
    failed = FAILED if spec.warm_up else {}
    write_ledger(
        folder / spec.name,
        [record_of(spec, made, start, job, draw) | (failed if job.rule == "samtools_stats" else {}) for job in jobs],
    )
    record = RECORD.outcome(made, start, jobs)
    if spec.warm_up:
        record["settings"] |= {"environment": {"_JAVA_OPTIONS": f"-Duser.name={USER} -I{HOME}/lib"}}
    write_record(folder, spec, record)


def run_id(spec):
    return f"{spec.name}-0123abcd"


def record_of(spec, made, start, job, draw):
    """The record of a job."""
    line = RECORD.record(made, start, job, draw) | {"host": HOST, "node": HOST.partition(".")[0], "run": run_id(spec)}
    line |= {"boot": BOOT, "uptime_s": round((start - BOOTED).total_seconds() + job.start / 10, 6)}
    line |= {"cpu_contention": False, "other_cpu_s": 0.02, "steal_s": 0.0} if spec.binding != "none" else {}
    return line | {"recorded": line["end"], "log": f"logs/{job.rule}.log"}


def write_ledger(place, records):
    place.mkdir(parents=True)
    (place / "ledger.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def write_record(folder, spec, record):
    """Write what a run leaves beside its ledgers, and note when it began and ended."""
    for read in record["inputs"].values():
        read["bases"] = BASES
    record |= {"run": run_id(spec), "spec": spec.to_dict(), "host": HOST_RECORD | {"load": record["host"]["load"]}}
    (folder / spec.name / "spec.json").write_text(json.dumps(spec.to_dict(), indent=1))
    (folder / spec.name / "run.json").write_text(json.dumps(record, indent=1))
    with (folder / "starts.jsonl").open("a") as starts:
        for what, moment in (("began", record["start"]), ("ended", record["end"])):
            starts.write(json.dumps({"name": spec.name, "run": run_id(spec), what: moment}) + "\n")


# ---- tampering -----------------------------------------------------------------------------------------


def sealed(package, members):
    """The package with other members, and a manifest that fits them."""
    named = {name: describe(content) for name, content in members.items()}
    return Package(replace(package.manifest, members=named), members)


def recomputed(package, members):
    """The same, with tables that follow from these members, too: all that somebody without the machine can do."""
    plain = {name: content for name, content in members.items() if name not in TABLES.values()}
    return sealed(package, plain | pack.tables_of(plain, check_clocks=False))


def changed_line(content, number, **fields):
    """A ledger with other fields in one line."""
    lines = content.decode().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | fields, ensure_ascii=False)
    return "".join(f"{line}\n" for line in lines).encode()


def raw(members, manifest=None):
    """A package's bytes from members and any manifest."""
    manifest = manifest or Manifest(study="s", members={})
    return archive({**members, FILE: manifest.to_json()})
