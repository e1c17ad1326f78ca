"""Run one run of a study, and record what it came to: here it is timed and closed; what runs in it is its workload."""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from gpd.cluster import slurm
from gpd.execution import workflow
from gpd.files import open_plain, write_text
from gpd.lab import continuing, disk, page_cache, provenance
from gpd.lab.batch import BatchWorkload
from gpd.lab.continuing import Begun
from gpd.lab.placement import mark
from gpd.lab.pool import Source, lay_out
from gpd.lab.snakemake_process import (
    ENVIRONMENT,
    LEDGER,
    REFERENCE,
    Changed,
    EndedProcess,
    Setup,
    StudyRunError,
    Workload,
    inputs_of,
    reason,
    refuse_failed,
    remove_results,
    snakemake,
    starter,
    write_profile,
)
from gpd.lab.stream import StreamWorkload
from gpd.machines import counters, host, launcher, rapl
from gpd.machines.topology import Policy
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import Binding, is_unbound
from gpd.records.host import Host, machine_differences
from gpd.records.ledger import read_ledger
from gpd.records.run import SPEC, ProcessRecord, RunRecord, read_run
from gpd.records.run_spec import RunSpec, StepCopies
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


def prepare(setup: Setup, cores: int, changed: Changed) -> None:
    """Make what all runs of a pipeline share, and have the workflow check all of its pool. Raises StudyRunError.

    A workflow that is not ours is planned, and nothing is made.
    """
    if not setup.source.ours:
        plan_dry(setup.source)
        return
    lay_out(setup.source, [member.name for member in setup.source.members], setup.prepared)
    profile = workflow.PROFILES / "default"
    if setup.placement:
        profile = write_profile(setup.placement.confined(len(setup.placement.nodes), setup.prepared), setup.prepared)
    _make(setup, cores, profile, ["prepare"], ["--nolock"], changed)


def prepare_step(spec: RunSpec, step: StepCopies, setup: Setup, changed: Changed) -> None:
    """Run the workflow up to a step, on all cores, and keep what it makes on the way. Raises StudyRunError."""
    everyone = [member.name for member in setup.source.members]
    lay_out(setup.source, everyone if PIPELINES[spec.pipeline].of_cohort else spec.samples, setup.prepared)
    profile = workflow.read_profile(workflow.PROFILES / "default" / "config.yaml") | {
        "set-threads": share(1, spec.cores)
    }
    options = ["--nolock", "--notemp", "--omit-from", *step.rules]
    _make(setup, spec.cores, write_profile(profile, setup.prepared), step.targets, options, changed)


def _make(
    setup: Setup, cores: int, profile: Path, targets: Sequence[str], options: Sequence[str], changed: Changed
) -> None:
    """Run Snakemake in the folder that all runs share. Raises StudyRunError where it does not end well."""
    folder, earlier = setup.prepared, len(read_ledger(setup.prepared / LEDGER))
    with _jobs_elsewhere(setup, folder):
        finished = snakemake(setup, folder, cores, profile, targets, options, {}, lambda state: changed("", state))
    refuse_failed(finished, read_ledger(folder / LEDGER)[earlier:], folder)


def plan_dry(
    source: Source,
    samples: Collection[str] | None = None,
    threads: Mapping[str, int] | None = None,
    cores: int = 1,
    mem_mb: int | None = None,
    **settings: Any,
) -> list[str]:
    """Have the workflow check a pool and plan; nothing is run. What Snakemake says.

    Of a throughput study all samples are planned. Raises StudyRunError with what it says.
    """
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch)
        lay_out(source, samples or [member.name for member in source.members], folder, **settings)
        profile = workflow.read_profile(workflow.PROFILES / "default" / "config.yaml")
        written = write_profile(profile | ({"set-threads": dict(threads)} if threads else {}), folder)
        quiet = [] if threads else ["--quiet", "all"]
        options = [*source.options, "--dry-run", "--nolock", *quiet, "--", *source.targets]
        arguments = workflow.command(
            folder, cores, mem_mb, written, [], options, snakefile=source.snakefile, python=source.python
        )
        finished = workflow.run(arguments, folder / workflow.LOG, lambda state: None)
        if finished.exit_code:
            raise StudyRunError(reason(finished))
        return list(finished.output)


def run(spec: RunSpec, setup: Setup, changed: Changed) -> None:
    """Run a run. Its record comes last, and at once: a run that has one ran to its end.

    A sample that fails is part of the result. Raises StudyRunError where no job ran.
    """
    folder = setup.folder / spec.name
    with _jobs_elsewhere(setup, folder):
        _run(spec, setup, folder, changed)


def _run(spec: RunSpec, setup: Setup, folder: Path, changed: Changed) -> None:
    inputs, own = inputs_of(spec, setup.source), made_with(spec, setup.source)
    workload: Workload = (
        StreamWorkload(spec, spec.stream, setup, folder, inputs)
        if spec.stream
        else BatchWorkload(spec, setup, folder, inputs)
    )
    begun = _begin(spec, setup, folder, workload, continuing.digest(spec, setup.settings, inputs, own))
    run_id = begun.run
    _note(setup.folder, spec, run_id, BEGAN)
    here = setup.placement is None
    with scratch_folder(folder) as scratch:
        if here:
            page_cache.write_back([setup.folder, scratch])
        cached = _set_cache(spec, setup) if here else None
        if here:
            workload.find_room(scratch)
        node = host.look({"work": folder, "temp": scratch}) if here else None
        _refuse_other_machine(setup.folder, node)
        began, start = time.monotonic(), datetime.now(UTC)
        begun = begun.begin(folder, node, start)
        cpus = usable_cpus(spec) if here else None
        of_mode = ENVIRONMENT.get(spec.mode, {}) if setup.source.ours else {}
        environment = {"GPD_RUN": run_id, **of_mode, **Binding.parse(spec.binding).variables}
        environment |= {"TMPDIR": str(scratch)} if here else {}
        with (
            disk.watch([folder, scratch]) as peak,
            rapl.watch() as energy,
            counters.watch() if node else nullcontext() as watched,
        ):
            ended = workload.run(starter(spec, setup, workload.share, environment, cpus, changed))
            wall_s, end = time.monotonic() - began, datetime.now(UTC)
    for each in ended:
        if spec.step or each.idle:  # without a single job it is no failed sample, but a fault to be mended
            refuse_failed(each.finished, each.attempts, each.folder)
    (folder / continuing.BEGUN).unlink(missing_ok=True)  # going on would not mend what is damaged
    left = workload.left(ended)
    kept = whole_sum(each.mib for each in left)
    cpu_s = round(sum(each.finished.cpu.own_s + each.finished.cpu.below_s for each in ended), 2)
    record = RunRecord(
        run=run_id,
        spec=spec,
        start=start,
        end=end,
        wall_s=round(wall_s, 6),
        cpu_s=cpu_s,
        snakemake_cpu_s=round(sum(each.finished.cpu.own_s for each in ended), 2),
        peak_disk_mib=peak.mib and round(peak.mib, 3),
        kept_disk_mib=None if kept is None else round(kept, 3),
        genome_mb=_genome_mb(setup.prepared / REFERENCE / "genome.fa.fai"),
        energy_j=energy.joules if here else None,
        processes=tuple(
            ProcessRecord(
                directory=str(each.folder.relative_to(folder)),
                samples=each.samples,
                exit_code=each.finished.exit_code,
                passage=each.passage,
            )
            for each in ended
        ),
        inputs=dict(chain.from_iterable(each.inputs.items() for each in left)),
        outputs=tuple(chain.from_iterable(each.outputs for each in left)),
        settings=setup.settings,
        **own,
        **_by_jobs(ended),
        host=node,
        cached=cached,
        cpus=None if cpus is None else format_cpus(cpus),
        machine_use=watched.use(cpu_s) if watched else None,
        nodes=tuple(each.host for each in setup.placement.chosen(spec.nodes)) if setup.placement else (),
    )
    if not setup.keep_results:  # logs, ledger and configuration stay in any case
        for each in ended:
            remove_results(each, setup.source)
    write_record(folder / RECORD, begun.marked(record))
    _note(setup.folder, spec, run_id, ENDED)


def _begin(spec: RunSpec, setup: Setup, folder: Path, workload: Workload, digest: str | None) -> Begun:
    """Begin a run in a folder made anew, or go on in that of one that was cut off, where the study allows it."""
    if setup.continue_runs and (former := continuing.former(folder, digest)):
        _clear_scratch(folder)
        return former
    clear(folder)
    folder.mkdir(parents=True)
    write_text(folder / SPEC, json.dumps(spec.to_dict(), indent=2) + "\n")
    workload.lay_out()
    # a launcher that is killed may leave its record to a later one, which then writes it here
    return Begun(run=f"{spec.name}-{secrets.token_hex(4)}", digest=digest)


def _refuse_other_machine(study: Path, here: Host | None) -> None:
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
    _clear_scratch(folder)
    if folder.exists():
        shutil.rmtree(folder)


def _clear_scratch(folder: Path) -> None:
    scratch = folder / SCRATCH
    target = scratch.readlink() if scratch.is_symlink() else Path()
    # in a study from elsewhere the link may lead to anything
    if str(target.parent) == tempfile.gettempdir() and target.name.startswith(SCRATCH_PREFIX):
        shutil.rmtree(target, ignore_errors=True)
    scratch.unlink(missing_ok=True)


@contextmanager
def _jobs_elsewhere(setup: Setup, folder: Path) -> Iterator[None]:
    """Within, Slurm runs jobs of a folder: none of an earlier run that was killed, none after ours is broken off."""
    if setup.placement is None:
        yield
        return
    slurm.end(mark(folder))
    try:
        yield
    except BaseException:
        slurm.end(mark(folder))
        raise


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
    """The CPUs that jobs of a run may use: where none are allocated and SMT is off, the first thread of each core."""
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
