"""Which runs a scaling study has: steps, thread counts, bindings, occupancies and repeats, in a seeded order. Pure."""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from gpd.execution.snakemake_log import PlannedJob
from gpd.lab.study_runs import StudyError
from gpd.pipelines import PIPELINES
from gpd.records.binding import Binding
from gpd.records.run_spec import ALONE, FULL, SHARED, WHOLE, Occupancy, PipelineName, RunSpec, StepCopies

EVERY_STEP = "all"
PROFILE = "profiles/default"


@dataclass(frozen=True)
class Options:
    """What is to be measured. `threads` is empty where thread counts are 1, 2, 4, ... up to the node's cores."""

    steps: tuple[str, ...]
    threads: tuple[int, ...]
    bindings: tuple[str, ...]
    occupancies: tuple[Occupancy, ...]
    repeats: int
    seed: int
    scatter: str = WHOLE


@dataclass(frozen=True)
class Node:
    """What a node holds: threads that may run at once, and memory for all jobs."""

    cores: int
    mem_mb: int


@dataclass(frozen=True)
class Step:
    """A step as the workflow plans it for its samples: what it makes, and by threads the memory that a job asks for."""

    pipeline: PipelineName
    name: str
    samples: tuple[str, ...]
    targets: tuple[str, ...]
    uses_threads: bool
    mem_mb: Mapping[int, int]

    @property
    def rules(self) -> tuple[str, ...]:
        return PIPELINES[self.pipeline].rules_of(self.name)


def numbers_of(text: str) -> tuple[int, ...]:
    """The thread counts of a list with commas. Raises StudyError."""
    words = [word.strip() for word in text.split(",")] if text else []
    if wrong := [word for word in words if not (word.isdecimal() and int(word))]:
        raise StudyError(f"--threads {text}: {wrong[0]!r} is no whole number from 1")
    return tuple(sorted({int(word) for word in words}))


def bindings_of(text: str) -> tuple[str, ...]:
    """The bindings of a list with commas, by their names. Raises StudyError."""
    words = dict.fromkeys(word.strip() for word in text.split(",")) if text else {}
    try:
        return tuple(Binding.parse(word).name for word in words)
    except ValueError as error:
        raise StudyError(f"--bindings {text}: {error}") from error


def scatter_of(text: str) -> str:
    """How a step is scattered. Raises StudyError."""
    if text not in (WHOLE, "auto") and not (text.isdecimal() and int(text)):
        raise StudyError(f"--scatter {text}: must be {WHOLE}, auto or a number from 1")
    return text


def thread_counts(wanted: Sequence[int], cores: int) -> tuple[int, ...]:
    """The thread counts to try: those named, else 1, 2, 4, ... and all cores."""
    return tuple(sorted(set(wanted) or {*(2**power for power in range(cores.bit_length())), cores}))


def refuse_too_many(options: Options, node: Node) -> None:
    """Raise StudyError where the node has none of these thread counts; specs() leaves single ones out."""
    if options.threads and min(options.threads) > node.cores:
        wanted = _listed(options.threads)
        raise StudyError(f"--threads {wanted}: more than the {node.cores} cores that may be used here: name fewer")


def chosen_steps(pipeline: str, names: Sequence[str], there: Collection[str]) -> list[str]:
    """The steps of these names, in the pipeline's order; `there` are those that its configuration has.

    Raises StudyError for one that it has not.
    """
    order = PIPELINES[pipeline].steps
    if unknown := [name for name in names if name not in (*order, EVERY_STEP)]:
        raise StudyError(f"--step {', '.join(unknown)}: steps of {pipeline} are {', '.join(order)}, or {EVERY_STEP}")
    if absent := [name for name in names if name != EVERY_STEP and name not in there]:
        raise StudyError(f"--step {', '.join(absent)}: not run with this configuration, which has {', '.join(there)}")
    wanted = set(there) if EVERY_STEP in names else set(names)
    return [step for step in order if step in wanted]


def steps_of(
    planned: Mapping[int, Sequence[PlannedJob]], samples: Sequence[str], config: Mapping[str, Any]
) -> list[Step]:
    """The steps that a configuration has for these samples, by what dry runs plan with each number of threads."""
    pipeline: PipelineName = config["pipeline"]
    found = []
    for step in PIPELINES[pipeline].steps_of({job.rule for jobs in planned.values() for job in jobs}):
        rules = PIPELINES[pipeline].rules_of(step)
        own = {threads: [job for job in jobs if job.rule in rules] for threads, jobs in planned.items()}
        targets = tuple(path for job in own[min(own)] for path in job.outputs)
        memory = {threads: max((job.mem_mb or 0 for job in jobs), default=0) for threads, jobs in own.items()}
        threaded = PIPELINES[pipeline].uses_threads(step, config)
        if targets:
            found.append(Step(pipeline, step, tuple(samples), targets, threaded, memory))
    return found


def copies(step: Step, threads: int, node: Node, occupancy: Occupancy) -> int:
    """How many copies of a step run side by side: alone one, else as many as the node's cores and memory hold.

    Memory is what the rules ask for, so that it is as many as Snakemake would start.
    """
    if occupancy == ALONE:
        return 1
    by_memory = node.mem_mb // step.mem_mb[threads] if step.mem_mb[threads] else node.cores
    return max(1, min(node.cores // threads, by_memory))


def specs(options: Options, steps: Iterable[Step], node: Node, study: str) -> tuple[list[RunSpec], list[str]]:
    """The runs, in the order in which they are run, and a line for each part of what was wanted that is none.

    A warm-up of each step comes first, with most threads, which takes the least time. Within a repeat the order of all
    runs is shuffled, so that what changes meanwhile (heat, other users) does not fall on one number of threads.
    """
    specs: list[RunSpec] = []
    configurations: list[tuple[Step, StepCopies, str]] = []
    left_out: list[str] = []
    for step in steps:
        counts = _own_thread_counts(options, step, node)
        left_out += [f"{step.name}: {what}" for what in _left_out(options, step, node, counts)]
        own = [
            (step, _step_copies(options, step, threads, occupancy, node), binding)
            for threads, binding, occupancy in product(counts, options.bindings, options.occupancies)
        ]
        configurations += own
        if own:
            with_most_threads = max(
                own, key=lambda configuration: (configuration[1].threads, configuration[1].occupancy == ALONE)
            )
            specs.append(_run(study, *with_most_threads, node, 0))
    for repeat in range(1, options.repeats + 1):
        shuffled = random.Random(f"{options.seed}/{repeat}").sample(configurations, len(configurations))
        specs += [_run(study, *configuration, node, repeat) for configuration in shuffled]
    return specs, left_out


def _step_copies(options: Options, step: Step, threads: int, occupancy: Occupancy, node: Node) -> StepCopies:
    return StepCopies(
        name=step.name,
        threads=threads,
        occupancy=occupancy,
        scatter=options.scatter,
        copies=copies(step, threads, node, occupancy),
        rules=step.rules,
        targets=step.targets,
    )


def _own_thread_counts(options: Options, step: Step, node: Node) -> list[int]:
    """The thread counts that a step is measured with: 1 where it uses no more, none that the node lacks."""
    if not step.uses_threads and options.scatter == WHOLE:
        return [1]
    return [threads for threads in thread_counts(options.threads, node.cores) if threads <= node.cores]


def _left_out(options: Options, step: Step, node: Node, own: Sequence[int]) -> Iterator[str]:
    several, missing = step.uses_threads or options.scatter != WHOLE, set(options.threads) - set(own)
    if several and missing:
        yield f"{_listed(sorted(missing))} threads are more than the node's {node.cores} cores"
    elif not several and set(thread_counts(options.threads, node.cores)) != {1}:
        yield "its tools use one thread alone: one number of threads, alone and on a fully loaded node"
    for threads in own if FULL in options.occupancies else ():
        held, most = copies(step, threads, node, FULL), node.cores // threads
        if held < most:
            wants = f"{held} of {most} copies of {threads} threads: each wants {step.mem_mb[threads]} MB"
            yield f"the node's {node.mem_mb} MB of memory hold {wants}"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _run(study: str, step: Step, run: StepCopies, binding: str, node: Node, repeat: int) -> RunSpec:
    """A run of a configuration; repeat 0 is the warm-up."""
    when = f"r{repeat}" if repeat else "warmup"
    scatter = "" if run.scatter == WHOLE else f"-shards_{run.scatter}"
    return RunSpec(
        study=study,
        name=f"{run.name}-t{run.threads}-{binding}{scatter}-{run.occupancy}-{when}",
        pipeline=step.pipeline,
        n=len(step.samples),
        mode=SHARED,
        binding=binding,
        repeat=repeat,
        warm_up=not repeat,
        samples=step.samples,
        cache="as_is",
        cores=node.cores,
        threads=dict.fromkeys(run.rules, run.threads),
        profile=PROFILE,
        step=run,
    )
