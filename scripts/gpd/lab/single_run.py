"""Run one run of a study, and record what it came to: here it is timed and closed; what runs in it is its workload."""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from gpd.execution import workflow
from gpd.files import open_plain, write_text
from gpd.lab import disk_room, page_cache, provenance
from gpd.lab.batch_workload import BatchWorkload
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import (
    ENVIRONMENT,
    REFERENCE,
    Changed,
    EndedProcess,
    Left,
    Setup,
    Start,
    StudyRunError,
    Workload,
    inputs_of,
    refuse_failed,
    remove_results,
    starter,
)
from gpd.lab.stream_workload import StreamWorkload
from gpd.machines import counters, launcher, rapl, this_host
from gpd.machines.topology import Policy
from gpd.records.binding import Binding, is_unbound
from gpd.records.host import Host, machine_differences
from gpd.records.run import SPEC, ProcessRecord, RunRecord, read_run
from gpd.records.run_spec import RunSpec
from gpd.records.study import BEGAN, ENDED, STARTS, StudyRecord
from gpd.statistics.known import whole_sum
from gpd.text.cpu_lists import format_cpus
from gpd.text.formats import percent

RECORD = "run.json"
SCRATCH, SCRATCH_PREFIX = "tmp", "gpd-scratch-"
CACHE_TRIES, CACHE_TOLERANCE = 3, 0.01
NO_CACHE = "set cache: as_is, or end what holds them, or make room for them"
LOG_HEAD = 2**18  # characters of a log: what a tool says of itself comes before its progress


def is_finished(study: Path, spec: RunSpec) -> bool:
    """Whether the run has its record. Without one it counts nothing, and is run from its start."""
    return (study / spec.name / RECORD).exists()


def run(spec: RunSpec, setup: Setup, changed: Changed) -> None:
    """Run a run. Its record comes last, and at once: a run that has one ran to its end.

    A sample that fails is part of the result. Raises StudyRunError where no job ran.
    """
    folder = setup.folder / spec.name
    inputs, own = inputs_of(spec, setup.source), made_with(spec, setup.source)
    workload: Workload = (
        StreamWorkload(spec, spec.stream, setup, folder, inputs)
        if spec.stream
        else BatchWorkload(spec, setup, folder, inputs)
    )
    run_id = _begin(spec, folder, workload)
    _note(setup.folder, spec, run_id, BEGAN)
    with scratch_folder(folder) as scratch:
        page_cache.write_back([setup.folder, scratch])
        cached = _set_cache(spec, setup)
        workload.find_room(scratch)
        node = this_host.look({"work": folder, "temp": scratch})
        _refuse_other_machine(setup.folder, node)
        cpus = usable_cpus(spec)
        start = starter(spec, setup, workload.share, _environment(spec, setup, run_id, scratch), cpus, changed)
        ended, measured = _measured(workload, start, [folder, scratch])
    for each in ended:
        if spec.step or each.idle:  # without a single job it is no failed sample, but a fault to be mended
            refuse_failed(each.finished, each.attempts, each.folder)
    record = RunRecord(
        run=run_id,
        spec=spec,
        **measured,
        **_left_behind(workload.left(ended)),
        processes=tuple(_process_record(each, folder) for each in ended),
        genome_mb=_genome_mb(setup.prepared / REFERENCE / "genome.fa.fai"),
        settings=setup.settings,
        **own,
        **_by_jobs(ended),
        host=node,
        cached=cached,
        cpus=format_cpus(cpus),
    )
    if not setup.keep_results:  # logs, ledger and configuration stay in any case
        for each in ended:
            remove_results(each, setup.source)
    write_record(folder / RECORD, record)
    _note(setup.folder, spec, run_id, ENDED)


def _environment(spec: RunSpec, setup: Setup, run_id: str, scratch: Path) -> dict[str, str]:
    """The variables of a run's processes."""
    of_mode = ENVIRONMENT.get(spec.mode, {}) if setup.source.ours else {}
    return {"GPD_RUN": run_id, **of_mode, **Binding.parse(spec.binding).variables, "TMPDIR": str(scratch)}


def _measured(
    workload: Workload, start: Start, folders: Sequence[Path]
) -> tuple[Sequence[EndedProcess], dict[str, Any]]:
    """Run the processes of a run; what was measured meanwhile, as its record has it."""
    began, begin = time.monotonic(), datetime.now(UTC)
    with disk_room.watch(folders) as peak, rapl.watch() as energy, counters.watch() as watched:
        ended = workload.run(start)
        wall_s, end = time.monotonic() - began, datetime.now(UTC)
    cpu_s = round(sum(each.finished.cpu.own_s + each.finished.cpu.below_s for each in ended), 2)
    return ended, {
        "start": begin,
        "end": end,
        "wall_s": round(wall_s, 6),
        "cpu_s": cpu_s,
        "snakemake_cpu_s": round(sum(each.finished.cpu.own_s for each in ended), 2),
        "peak_disk_mib": peak.mib and round(peak.mib, 3),
        "energy_j": energy.joules,
        "machine_use": watched.use(cpu_s),
    }


def _left_behind(left: Iterable[Left]) -> dict[str, Any]:
    """What the processes of a run left, as its record has it."""
    every = list(left)
    kept = whole_sum(each.mib for each in every)
    return {
        "kept_disk_mib": None if kept is None else round(kept, 3),
        "inputs": dict(chain.from_iterable(each.inputs.items() for each in every)),
        "outputs": tuple(chain.from_iterable(each.outputs for each in every)),
    }


def _process_record(ended: EndedProcess, folder: Path) -> ProcessRecord:
    return ProcessRecord(
        directory=str(ended.folder.relative_to(folder)),
        samples=ended.samples,
        exit_code=ended.finished.exit_code,
        passage=ended.passage,
    )


def _begin(spec: RunSpec, folder: Path, workload: Workload) -> str:
    """Begin a run in a folder made anew, whatever was cut off in it. Return the mark of its jobs' records."""
    clear(folder)
    folder.mkdir(parents=True)
    write_text(folder / SPEC, json.dumps(spec.to_dict(), indent=2) + "\n")
    workload.lay_out()
    # a launcher that is killed may leave its record to a later one, which then writes it here
    return f"{spec.name}-{secrets.token_hex(4)}"


def _refuse_other_machine(study: Path, here: Host) -> None:
    """Raise StudyRunError where runs of the study ended on another machine: no mean may be of both."""
    ended = [read_run(path).host for path in study.glob(f"*/{RECORD}")]
    if found := machine_differences(host for host in (*ended, here) if host):
        raise StudyRunError(f"{study}: its runs ran on another machine than this: {found}: give the study another name")


def _note(study: Path, spec: RunSpec, run_id: str, what: str) -> None:
    """Note in the study's folder when a run began or ended, whatever becomes of the run's own."""
    line = {"name": spec.name, "run": run_id, what: datetime.now(UTC).isoformat()}
    with open_plain(study / STARTS, "ab+") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        cut = file.read(1) not in (b"", b"\n")  # a power cut left half a line
        file.write(b"\n" * cut + json.dumps(line).encode() + b"\n")


def write_record(path: Path, record: RunRecord | StudyRecord) -> None:
    """Write a record so that it is there whole or not at all, also after a power cut."""
    write_text(path, record.to_json())


def clear(folder: Path) -> None:
    """Remove a run that was cut off, and its scratch folder elsewhere."""
    scratch = folder / SCRATCH
    target = scratch.readlink() if scratch.is_symlink() else Path()
    # in a study from elsewhere the link may lead to anything
    if str(target.parent) == tempfile.gettempdir() and target.name.startswith(SCRATCH_PREFIX):
        shutil.rmtree(target, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder)


# ---- before ------------------------------------------------------------------------------------------


def made_with(spec: RunSpec, source: Source) -> dict[str, Any]:
    """What a run is made with of its own: its profile's content, and how its jobs are bound, if they are."""
    profile = workflow.read_profile(workflow.find_profile(spec.profile) / "config.yaml")
    stall = {"stall_s": profile.get("pinned-stall-s", 0)}
    return {
        "profile_digest": provenance.profile_digest(profile, spec.threads),
        "binding": None if is_unbound(spec.binding) else Binding.parse(spec.binding).beside_policy | stall,
        "job_names": source.job_names,
    }


def _set_cache(spec: RunSpec, setup: Setup) -> float | None:
    """Bring the page cache into the state that the run names, for reads and reference; the share that is in it then.

    Raises StudyRunError where that is another state.
    """
    reads = [path for sample in spec.samples for path in setup.source.reads(sample)]
    files = [*reads, *setup.source.shared_files(setup.prepared)]
    change = {"warm": page_cache.load, "cold": page_cache.drop}.get(spec.cache)
    if change is None:
        return page_cache.cached_share(files)
    for _ in range(CACHE_TRIES):  # the kernel keeps pages that a CPU is just putting into its lists
        change(files)
        cached = page_cache.cached_share(files)
        if cached is None or abs(cached - (spec.cache == "warm")) <= CACHE_TOLERANCE:
            return cached
    raise StudyRunError(f"cache: {spec.cache}: {percent(cached)} of reads and reference are in memory: {NO_CACHE}")


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder for temporary files, where they go here; a link in the run's folder tells a later run of it."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
    (folder / SCRATCH).symlink_to(scratch)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        (folder / SCRATCH).unlink(missing_ok=True)


def usable_cpus(spec: RunSpec) -> frozenset[int]:
    """The CPUs that jobs of a run may use: without allocations and with SMT off, the first thread of each core."""
    binding, every = Binding.parse(spec.binding), frozenset(os.sched_getaffinity(0))
    if binding.smt is not False or not binding.unbound:
        return every
    whole = Policy(threads=1, binding="compact", boundary="l3", smt=False)
    return frozenset(min(core.cpus) for core in launcher.lay_out(whole).cores)


# ---- after -------------------------------------------------------------------------------------------


def _genome_mb(index: Path) -> float | None:
    """Million bases of the reference, by its index; None where it has none."""
    if not index.is_file():
        return None
    return sum(int(line.split("\t")[1]) for line in index.read_text().splitlines()) / 1e6


def _by_jobs(processes: Iterable[EndedProcess]) -> dict[str, Any]:
    """The memory policies that jobs on allocated CPUs had, and GATK's pair-HMMs by its logs; None where none tells."""
    policies, chosen = set(), set()
    for process in processes:
        policies |= {attempt.memory_applied for attempt in process.attempts if attempt.cpus}
        logs = [process.folder / each.log for each in process.attempts if each.step == "haplotype_caller"]
        for log in filter(Path.is_file, logs):
            with log.open(encoding="utf-8", errors="replace") as file:
                chosen.add(provenance.pair_hmm(file.read(LOG_HEAD)))
    return {
        "memory_applied": ", ".join(sorted(filter(None, policies))) or None,
        "pair_hmm": "; ".join(sorted(filter(None, chosen))) or None,
    }
