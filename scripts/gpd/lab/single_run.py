"""Run one run of a study, and record what it came to: here its folder is laid out, timed and closed."""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count, islice, repeat
from pathlib import Path
from threading import Event, Lock
from typing import Any

import yaml

from gpd.cluster import slurm
from gpd.errors import GpdError
from gpd.execution import interruption, snakemake_log, workflow
from gpd.files import write_text
from gpd.lab import digests, disk, page_cache, provenance
from gpd.lab.placement import Placement, mark
from gpd.lab.pool import Source, beside_policy, bound, lay_out
from gpd.lab.study import arrivals_s, copy_name, drawn
from gpd.machines import counters, host, launcher, rapl
from gpd.machines.topology import Policy
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import Binding, is_unbound
from gpd.records.host import Host, machine_differences
from gpd.records.ledger import Attempt, last_attempts, read_ledger
from gpd.records.old_names import SPEC
from gpd.records.run import InputRecord, OutputRecord, Passage, ProcessRecord, RunRecord, Settings, read_run
from gpd.records.run_spec import INDEPENDENT, RunSpec, StepCopies, StreamSpec
from gpd.records.study import BEGAN, ENDED, STARTS, StudyRecord
from gpd.statistics.stream import LEAST_ENDS, Window
from gpd.tables.summary import summarize
from gpd.text.cpu_lists import format_cpus
from gpd.text.formats import counted, number, percent

RECORD, LEDGER = "run.json", "ledger.jsonl"
RESULTS = Path("results")
REFERENCE = RESULTS / "reference"
# independent pipelines are those of the published studies: gatk starts its JVMs as they come
ENVIRONMENT = {INDEPENDENT: {"GATK_CLASS_ARCHIVE": ""}}
CONFIG = {INDEPENDENT: {"tiny_data": False}}
SCRATCH, SCRATCH_PREFIX = "tmp", "gpd-scratch-"
# what the workflow says of the machine before its first job: nothing, or nothing of what samples take of its disk
NO_PREFLIGHT, OF_MACHINE_ALONE = {"GPD_PREFLIGHT": "none"}, {"GPD_PREFLIGHT": "machine"}
CACHE_TRIES, CACHE_TOLERANCE = 3, 0.01
NO_CACHE = "set cache: as_is, or end what holds them, or make room for them"
LOOK_S = 0.2  # for a signal to end, while no sample has arrived
LOG_HEAD = 2**18  # characters of a log: what a tool says of itself comes before its progress

Changed = Callable[[str, workflow.Progress], None]


class StudyRunError(GpdError):
    """A run, or what it needs, could not be run at all; the message says why."""


@dataclass(frozen=True)
class Setup:
    """What is the same for every run of a pipeline in a study.

    `settings` is that part of a run's record; `lock` a descriptor that everything started here inherits; `options`
    are Snakemake's. `placement` is there where Slurm places the jobs, and `mem_mb` where they are on this machine.
    """

    folder: Path
    source: Source
    settings: Settings
    mem_mb: int | None
    keep_results: bool
    lock: int
    options: tuple[str, ...] = ()
    placement: Placement | None = None

    @property
    def pipeline(self) -> str:
        return self.source.config["pipeline"]

    @property
    def prepared(self) -> Path:
        """The folder of what all runs share: indexes, dictionaries, the annotation."""
        return self.folder / "reference" / self.pipeline


@dataclass(frozen=True)
class Process:
    """A Snakemake process of a run: its folder, and the samples that it takes through the pipeline."""

    folder: Path
    samples: tuple[str, ...]


@dataclass(frozen=True)
class EndedProcess(Process):
    """One that has ended, with the attempts at its jobs; in a stream with its way through that."""

    finished: workflow.Finished
    attempts: tuple[Attempt, ...]
    passage: Passage | None = None


@dataclass(frozen=True)
class Left:
    """What a process left: what was read of its samples, digests of what they came to, and the size of its results."""

    inputs: Mapping[str, InputRecord]
    outputs: tuple[OutputRecord, ...]
    mib: float


def is_finished(study: Path, spec: RunSpec) -> bool:
    """Whether the run has its record. Without one it counts nothing, and is run from its start."""
    return (study / spec.name / RECORD).exists()


def prepare(setup: Setup, cores: int, changed: Changed) -> None:
    """Make what all runs of a pipeline share, and have the workflow check all of its pool. Raises StudyRunError."""
    lay_out(setup.source, [member.name for member in setup.source.members], setup.prepared)
    profile = workflow.PROFILES / "default"
    if setup.placement:
        profile = write_profile(setup.placement.confined(len(setup.placement.nodes), setup.prepared), setup.prepared)
    _make(setup, cores, profile, ["prepare"], ["--nolock"], changed)


def prepare_step(spec: RunSpec, step: StepCopies, setup: Setup, changed: Changed) -> None:
    """Run the workflow up to a step, on all cores, and keep what it makes on the way. Raises StudyRunError."""
    everyone = [member.name for member in setup.source.members]
    lay_out(setup.source, everyone if PIPELINES[spec.pipeline].of_cohort else spec.samples, setup.prepared)
    profile = read_profile(workflow.PROFILES / "default" / "config.yaml") | {"set-threads": share(1, spec.cores)}
    options = ["--nolock", "--notemp", "--omit-from", *step.rules]
    _make(setup, spec.cores, write_profile(profile, setup.prepared), step.targets, options, changed)


def _make(
    setup: Setup, cores: int, profile: Path, targets: Sequence[str], options: Sequence[str], changed: Changed
) -> None:
    """Run Snakemake in the folder that all runs share. Raises StudyRunError where it does not end well."""
    folder, earlier = setup.prepared, len(read_ledger(setup.prepared / LEDGER))
    with _jobs_elsewhere(setup, folder):
        finished = _snakemake(
            setup, folder, cores, profile, targets, options, OF_MACHINE_ALONE, lambda state: changed("", state)
        )
    _refuse_failed(finished, read_ledger(folder / LEDGER)[earlier:], folder)


def plan_dry(
    source: Source,
    samples: Collection[str] | None = None,
    threads: Mapping[str, int] | None = None,
    cores: int = 1,
    mem_mb: int | None = None,
    **settings: Any,
) -> list[str]:
    """Have the workflow check a pool and plan; nothing is run. What Snakemake says.

    Of a throughput study all samples are planned, and this machine's cores, memory and tools do not matter. Raises
    StudyRunError with what it says.
    """
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch)
        lay_out(source, samples or [member.name for member in source.members], folder, **settings)
        profile = read_profile(workflow.PROFILES / "default" / "config.yaml")
        written = write_profile(profile | ({"set-threads": dict(threads)} if threads else {}), folder)
        quiet = [] if threads else ["--quiet", "all"]
        options = ["--dry-run", "--nolock", *quiet, "--", str(RESULTS)]
        arguments = workflow.command(folder, cores, mem_mb, written, [], options)
        environment = {} if threads else NO_PREFLIGHT
        finished = workflow.run(arguments, folder / workflow.LOG, lambda state: None, environment)
        if finished.exit_code:
            raise StudyRunError(_reason(finished))
        return list(finished.output)


def run(spec: RunSpec, setup: Setup, changed: Changed) -> None:
    """Run a run in a folder made anew. Its record comes last, and at once: a run that has one ran to its end.

    A sample that fails is part of the result. Raises StudyRunError where no job ran.
    """
    folder = setup.folder / spec.name
    if spec.stream and spec.stream.per_day:
        _refuse_few_arrivals(spec, spec.stream)
    with _jobs_elsewhere(setup, folder):
        clear(folder)
        folder.mkdir(parents=True)
        _run(spec, setup, folder, changed)


def _run(spec: RunSpec, setup: Setup, folder: Path, changed: Changed) -> None:
    write_text(folder / SPEC, json.dumps(spec.to_dict(), indent=2) + "\n")
    # a launcher that is killed may leave its record to a later one, which then writes it here
    run_id = f"{spec.name}-{secrets.token_hex(4)}"
    _note(setup.folder, spec, run_id, BEGAN)
    processes = list(_processes(spec, folder))
    for process in processes:
        _set_up(process, spec, setup)
    inputs = {sample: _input(setup.source, sample) for sample in spec.samples}
    with scratch_folder(folder) as scratch:
        if setup.placement is None:
            page_cache.write_back([setup.folder, scratch])
        cached = _set_cache(spec, setup) if setup.placement is None else None
        measured = setup.placement is None and spec.step is None
        first = list(islice(drawn(spec), spec.n)) if spec.stream else spec.samples
        at_once = disk.at_once(setup.prepared, first, folder, scratch) if measured else len(processes)
        if spec.stream and at_once < spec.n:
            raise StudyRunError(f"{spec.name}: the disk has room for {at_once} of {spec.n} samples at once")
        node = host.look({"work": folder, "temp": scratch}) if setup.placement is None else None
        _refuse_other_machine(setup.folder, node)
        began, start = time.monotonic(), datetime.now(UTC)
        cpus = usable_cpus(spec) if setup.placement is None else None
        with (
            disk.watch([folder, scratch]) as peak,
            rapl.watch() as energy,
            counters.watch() if node else nullcontext() as watched,
        ):
            start_process = _starter(spec, setup, run_id, scratch, cpus, changed)
            if spec.stream:
                queue = Queue(spec, spec.stream, began)
                served = _serve(spec, queue, setup, folder, start_process, inputs)
            else:
                ended = _run_all(processes, at_once, start_process)
            wall_s, end = time.monotonic() - began, datetime.now(UTC)
    if spec.stream:
        ended, left = [each for each, _ in served], [what for _, what in served]
        _refuse_short(spec, spec.stream, ended)
    for each in ended:
        if spec.step or not each.attempts:  # without a single job it is no failed sample, but a fault to be mended
            _refuse_failed(each.finished, each.attempts, each.folder)
    if spec.stream is None:
        left = [_left(each, setup, {} if spec.step else inputs) for each in ended]
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
        kept_disk_mib=round(sum(each.mib for each in left), 3),
        genome_mb=_genome_mb((setup.prepared if spec.stream else ended[0].folder) / REFERENCE / "genome.fa.fai"),
        energy_j=energy.joules if setup.placement is None else None,
        waited_for_disk=(
            *chain.from_iterable(each.samples for each in ended[at_once:] if spec.stream is None),
            *chain.from_iterable(snakemake_log.waited_for_disk(each.finished.output) for each in ended),
        ),
        processes=tuple(
            ProcessRecord(
                directory=str(each.folder.relative_to(folder)),
                samples=each.samples,
                exit_code=each.finished.exit_code,
                passage=each.passage,
            )
            for each in ended
        ),
        inputs=inputs if spec.step else dict(chain.from_iterable(each.inputs.items() for each in left)),
        outputs=tuple(chain.from_iterable(each.outputs for each in left)),
        settings=setup.settings,
        **made_with(spec, setup.source),
        **_by_jobs(ended),
        host=node,
        cached=cached,
        cpus=None if cpus is None else format_cpus(cpus),
        machine_use=watched.use(cpu_s) if watched else None,
        nodes=tuple(each.host for each in setup.placement.chosen(spec.nodes)) if setup.placement else (),
    )
    if not setup.keep_results:  # logs, ledger and configuration stay in any case
        for each in ended:
            _remove_results(each)
    write_record(folder / RECORD, record)
    _note(setup.folder, spec, run_id, ENDED)


def _remove_results(process: Process) -> None:
    shutil.rmtree(process.folder / RESULTS, ignore_errors=True)
    shutil.rmtree(process.folder / ".snakemake", ignore_errors=True)


def _refuse_other_machine(study: Path, here: Host | None) -> None:
    """Raise StudyRunError where runs of the study ended on another machine: no mean may be of both."""
    ended = [read_run(path).host for path in study.glob(f"*/{RECORD}")]
    if found := machine_differences(host for host in (*ended, here) if host):
        raise StudyRunError(f"{study}: its runs ran on another machine than this: {found}: give the study another name")


def _note(study: Path, spec: RunSpec, run_id: str, what: str) -> None:
    """Note in the study's folder when a run began or ended, whatever becomes of the run's own."""
    line = {"name": spec.name, "run": run_id, what: datetime.now(UTC).isoformat()}
    with (study / STARTS).open("ab+") as file:
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


def _processes(spec: RunSpec, folder: Path) -> Iterator[Process]:
    if spec.step:
        for copy in spec.step.folders:
            yield Process(folder / copy, spec.samples)
    elif spec.mode == INDEPENDENT:
        for sample in spec.samples:
            yield Process(folder / "samples" / sample, (sample,))
    elif spec.stream is None:  # whose samples have theirs as they start
        yield Process(folder, spec.samples)


def _set_up(process: Process, spec: RunSpec, setup: Setup) -> None:
    """Lay out one run: configuration, tables, profile, and links to what is made already.

    That is the reference; of a step all that rules before it have made. A rule's name is its output folder, so that
    all folders but those of the step's rules are its inputs, or of no use.
    """
    settings = {"binding": bound(setup.source.config, spec.binding), **CONFIG.get(spec.mode, {})}
    made = [REFERENCE.name]
    if spec.step:
        settings |= of_step(setup.source, spec.samples, spec.step.scatter)
        made = [path.name for path in (setup.prepared / RESULTS).iterdir() if path.name not in spec.step.rules]
    lay_out(setup.source, process.samples, process.folder, **settings)
    (process.folder / RESULTS).mkdir(exist_ok=True)
    for name in made:
        (process.folder / RESULTS / name).symlink_to((setup.prepared / RESULTS / name).resolve())
    if setup.placement:
        profile = setup.placement.confined(spec.nodes, process.folder)
    else:
        profile = read_profile(workflow.find_profile(spec.profile) / "config.yaml")
    if threads := {**(profile.get("set-threads") or {}), **spec.threads}:
        profile["set-threads"] = threads  # which Snakemake does not take empty
    write_profile(profile, process.folder)


def of_step(source: Source, samples: Collection[str], scatter: str) -> dict[str, Any]:
    """What the configuration of a step's run sets: how many shards it scatters into, and where single samples end."""
    ends = {"stop_after": "quantify"} if source.needs_conditions and len(samples) == 1 else {}
    return {"scatter": int(scatter) if scatter.isdecimal() else scatter, **ends}


def write_profile(profile: Mapping[str, Any], folder: Path) -> Path:
    """Write a run's own profile into its folder; the folder of the profile."""
    target = folder / "profile"
    target.mkdir(exist_ok=True)
    write_text(target / "config.yaml", yaml.safe_dump(dict(profile), sort_keys=False))
    return target


def read_profile(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {}


def made_with(spec: RunSpec, source: Source) -> dict[str, Any]:
    """What a run is made with of its own: its profile's content, and how its jobs are bound, if they are."""
    profile = read_profile(workflow.find_profile(spec.profile) / "config.yaml")
    return {
        "profile_digest": provenance.profile_digest(profile, spec.threads),
        "binding": None if is_unbound(spec.binding) else beside_policy(bound(source.config, spec.binding)),
    }


def _input(source: Source, sample: str) -> InputRecord:
    size = sum(path.stat().st_size for path in source.reads(sample))
    digest = digests.input_digest(source.units_of(sample), source.sheets_say(sample))
    return InputRecord(digest=digest, mib=round(size / 1024**2, 3))


def _set_cache(spec: RunSpec, setup: Setup) -> float | None:
    """Bring the page cache into the state that the run names, for reads and reference; the share that is in it then.

    Raises StudyRunError where that is another state.
    """
    reads = [path for sample in spec.samples for path in setup.source.reads(sample)]
    files = [*reads, *(path for path in sorted((setup.prepared / REFERENCE).rglob("*")) if path.is_file())]
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


# ---- the runs ----------------------------------------------------------------------------------------


def _starter(
    spec: RunSpec,
    setup: Setup,
    run_id: str,
    tmp: Path,
    cpus: frozenset[int] | None,
    changed: Changed,
) -> Callable[[Process], EndedProcess]:
    """What runs one of a run's Snakemake processes to its end."""
    temporary = {} if setup.placement else {"TMPDIR": str(tmp)}
    environment = {**temporary, "GPD_RUN": run_id, **ENVIRONMENT.get(spec.mode, {})}

    def start(process: Process) -> EndedProcess:
        folder, name = process.folder, process.folder.name if process.folder.name != spec.name else ""
        own, cores, options = setup, spec.cores, ["--printshellcmds"]
        targets: Sequence[str] = ["results"]
        if step := spec.step:  # a copy of a step has its share of the memory, and the step's rules alone
            own = replace(setup, mem_mb=setup.mem_mb and setup.mem_mb // step.copies)
            cores, targets, options = step.threads, step.targets, ["--nolock", "--allowed-rules", *step.rules]
        elif spec.stream:
            own = replace(setup, mem_mb=setup.mem_mb and setup.mem_mb // spec.n)
        elif setup.placement is None and spec.mode != INDEPENDENT:
            options += workflow.ADMISSION
        report = partial(changed, name)
        finished = _snakemake(own, folder, cores, folder / "profile", targets, options, environment, report, cpus)
        attempts = tuple(one for one in read_ledger(folder / LEDGER) if one.run == run_id)
        return EndedProcess(folder, process.samples, finished, attempts)

    return start


def _run_all(
    processes: Sequence[Process], at_once: int, start: Callable[[Process], EndedProcess]
) -> list[EndedProcess]:
    """Run a run's Snakemake processes side by side, to their ends; no more than the disk has room for."""
    with ThreadPoolExecutor(min(at_once, len(processes))) as pool:
        return list(pool.map(start, processes))


def _snakemake(
    setup: Setup,
    folder: Path,
    cores: int,
    profile: Path,
    targets: Sequence[str],
    options: Sequence[str],
    environment: Mapping[str, str],
    changed: Callable[[workflow.Progress], None],
    cpus: frozenset[int] | None = None,
) -> workflow.Finished:
    every = [*setup.options, *options, "--", *targets]
    return workflow.run(
        workflow.command(folder.resolve(), cores, setup.mem_mb, profile.resolve(), [], every),
        folder / workflow.LOG,
        changed,
        environment=environment,
        locks=[setup.lock],
        elsewhere=setup.placement is not None,
        cpus=cpus,
    )


# ---- streams -----------------------------------------------------------------------------------------


class Queue:
    """The samples of a stream, first come, first served: taken by as many threads as samples are to be in flight."""

    def __init__(self, spec: RunSpec, stream: StreamSpec, began: float) -> None:
        self.stream, self.began = stream, began
        self.over = Event()
        self._taking = Lock()
        arrivals: Iterator[float | None] = arrivals_s(spec, stream) if stream.per_day else repeat(None)
        self._samples = zip(count(1), drawn(spec), arrivals, strict=False)

    @property
    def now_s(self) -> float:
        """Since the stream's start."""
        return time.monotonic() - self.began

    def take(self) -> tuple[int, str, float | None] | None:
        """The next sample's number, name and arrival, once it has arrived; None where no more is to start.

        Raises Interrupted where we are to end.
        """
        with self._taking:
            is_late = self.stream.per_day is None and self.now_s >= self.stream.end_s
            taken = None if is_late else next(self._samples, None)
        while taken and not self.over.is_set() and (left_s := (taken[2] or 0.0) - self.now_s) > 0:
            self.over.wait(min(left_s, LOOK_S))
            interruption.check()
        return None if self.over.is_set() else taken


def _serve(
    spec: RunSpec,
    queue: Queue,
    setup: Setup,
    folder: Path,
    start: Callable[[Process], EndedProcess],
    inputs: Mapping[str, InputRecord],
) -> list[tuple[EndedProcess, Left]]:
    """Keep n samples in flight to the end of the window: each of n threads takes the next one when its last has ended.

    All that were taken, or had arrived, run to their ends. What a sample leaves is looked at beside those that run, and
    removed: so a stream takes no more disk the longer it is. In the order of their start.
    """

    def work(after: Executor) -> list[tuple[EndedProcess, Future[Left]]]:
        served = []
        try:
            while (taken := queue.take()) is not None:
                number, sample, arrived_s = taken
                started_s, name = queue.now_s, copy_name(sample, number)
                process = Process(folder / "samples" / name, (name,))
                _set_up(process, spec, replace(setup, source=setup.source.renamed(sample, name)))
                ended = start(process)
                times = {"started_s": round(started_s, 6), "ended_s": round(queue.now_s, 6)}
                if not ended.attempts:
                    _refuse_failed(ended.finished, ended.attempts, ended.folder)
                ended = replace(ended, passage=Passage(copy_of=sample, arrived_s=arrived_s, **times))
                served.append((ended, after.submit(_left_in_stream, ended, setup, {name: inputs[sample]})))
        except BaseException:
            queue.over.set()
            raise
        return served

    with ThreadPoolExecutor(1) as after, ThreadPoolExecutor(spec.n) as pool:
        found = [each for served in pool.map(work, [after] * spec.n) for each in served]
    found.sort(key=lambda each: each[0].passage.started_s if each[0].passage else 0.0)
    return [(ended, left.result()) for ended, left in found]


def _refuse_few_arrivals(spec: RunSpec, stream: StreamSpec) -> None:
    """Raise StudyRunError where too few samples will arrive in a stream's window to tell anything."""
    window = Window(stream.warm_up_s, stream.end_s)
    arrivals = sum(map(window.holds, arrivals_s(spec, stream)))
    if arrivals < LEAST_ENDS:
        raise StudyRunError(
            f"{spec.name}: {counted(arrivals, 'sample')} would arrive in its window of {number(stream.window_s)} s: "
            "set a longer window, or a higher rate"
        )


def _refuse_short(spec: RunSpec, stream: StreamSpec, ended: Sequence[EndedProcess]) -> None:
    """Raise StudyRunError where a stream's window tells nothing."""
    window = Window(stream.warm_up_s, stream.end_s)
    ends = [each.passage.ended_s for each in ended if each.passage and window.holds(each.passage.ended_s)]
    if stream.per_day is None and len(ends) < LEAST_ENDS:
        raise StudyRunError(
            f"{spec.name}: {counted(len(ends), 'sample')} ended in its window of {number(stream.window_s)} s: "
            f"shorter than {LEAST_ENDS} samples: set a longer window"
        )


def _left_in_stream(process: EndedProcess, setup: Setup, inputs: Mapping[str, InputRecord]) -> Left:
    """What a sample of a stream left, which is removed, for more are to come."""
    left = _left(process, setup, inputs)
    if not setup.keep_results:
        _remove_results(process)
    return left


# ---- after -------------------------------------------------------------------------------------------


def _left(process: EndedProcess, setup: Setup, inputs: Mapping[str, InputRecord]) -> Left:
    """What a process left; without `inputs` no more than the size of its results is looked at."""
    read = dict(_inputs(process, setup, inputs)) if inputs else {}
    made = tuple(_outputs(process, setup.pipeline)) if inputs else ()
    return Left(read, made, disk.used_mib(process.folder / RESULTS))


def _refuse_failed(finished: workflow.Finished, attempts: Iterable[Attempt], folder: Path) -> None:
    """Raise StudyRunError where a run in a folder did not end well: the jobs of it that failed, with their logs."""
    if finished.exit_code:
        failed = [attempt for attempt in last_attempts(attempts) if not attempt.succeeded]
        lines = [f"{each.rule}: {each.message} (log: {folder / each.log})" for each in failed]
        raise StudyRunError("\n".join(lines) or _reason(finished))


def _reason(finished: workflow.Finished) -> str:
    """Why Snakemake ended without a job."""
    nothing = f"Snakemake ended with exit code {finished.exit_code} and printed nothing"
    return "\n".join(snakemake_log.reason(finished.output)) or nothing


def _inputs(process: Process, setup: Setup, inputs: Mapping[str, InputRecord]) -> Iterator[tuple[str, InputRecord]]:
    """What was read of each sample, with reads and bases, and how they mapped, as far as it went."""
    for sample in process.samples:
        yield sample, replace(inputs[sample], **digests.read_counts(setup.pipeline, process.folder / RESULTS, sample))


def _genome_mb(index: Path) -> float | None:
    """Million bases of the reference, by its index; None where it has none."""
    if not index.is_file():
        return None
    return sum(int(line.split("\t")[1]) for line in index.read_text().splitlines()) / 1e6


def _outputs(process: EndedProcess, pipeline: str) -> list[OutputRecord]:
    """Digests of what the samples that succeeded came to."""
    summary = summarize(process.attempts, PIPELINES[pipeline].steps, exit_code=process.finished.exit_code)
    return digests.outputs(pipeline, process.folder / RESULTS, summary.succeeded)


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
