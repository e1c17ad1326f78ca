"""The runs of a throughput study, in their order, and the samples that each of them draws. Pure."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, zip_longest

from gpd.errors import GpdError
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import UNBOUND, Binding, BindingName, with_smt
from gpd.records.run_spec import (
    INDEPENDENT,
    SHARED,
    STREAM,
    CurveKey,
    Mode,
    PipelineName,
    RunSpec,
    StreamSpec,
)
from gpd.records.study import Sample, Study
from gpd.statistics.saturation import Observation, around, find_saturation, next_n
from gpd.tables.columns import ConfigurationRow
from gpd.tables.repeats import rule

MOST_DIGITS = 9  # of a sample's number in a stream


class StudyError(GpdError):
    """Settings that can't be run; the message is one line a fault."""


def curves(study: Study, pipeline: PipelineName) -> Iterator[CurveKey]:
    """The curves of a pipeline. Independent runs know nothing of each other, and have no CPU allocations."""
    return _curves(study, pipeline, [mode for mode in study.modes if mode != STREAM])


def _curves(study: Study, pipeline: PipelineName, modes: Sequence[Mode]) -> Iterator[CurveKey]:
    for mode in modes:
        bindings = (UNBOUND,) if mode == INDEPENDENT else study.bindings
        for binding, smt in product(bindings, study.smt or (None,)):
            yield CurveKey(pipeline, mode, binding if smt is None else with_smt(binding, smt))


def node_threads(study: Study, binding: BindingName, cores: int) -> int:
    """How many threads run at once on so many cores: with SMT as many as they have together."""
    smt = Binding.parse(binding).smt
    return round(cores * (study.threads_per_core or 1)) if smt else cores


def planned(
    study: Study,
    pools: Mapping[PipelineName, Sequence[Sample]],
    cores: int,
    seen: Mapping[tuple[CurveKey, int], ConfigurationRow] | None = None,
) -> list[RunSpec]:
    """The runs whose N is known before the first is run, in the order in which they are run.

    `seen` says what repeats that have ended came to: by that `repeats: auto` says how many there are to be.
    """
    specs: list[RunSpec] = []
    for pipeline in study.pipelines:
        pool, configurations = pools[pipeline], list(product(curves(study, pipeline), study.concurrent_samples))
        for number in range(1, study.warm_up + 1 if configurations else 1):
            specs.append(spec(study, *configurations[0], 0, pool, cores, warm_up=number))
        specs += block(study, configurations, pool, cores, seen or {})
    return specs


def block(
    study: Study,
    configurations: Sequence[tuple[CurveKey, int]],
    pool: Sequence[Sample],
    cores: int,
    seen: Mapping[tuple[CurveKey, int], ConfigurationRow],
) -> Iterator[RunSpec]:
    """The repeats of a pipeline's configurations: each repeat of all of them comes before the next repeat of any.

    Within a repeat the order is shuffled, so that what changes meanwhile (heat, other users) does not fall on one N,
    mode or binding.
    """
    wanted = {configuration: rule(study).wanted(seen.get(configuration)) for configuration in configurations}
    for repeat in range(1, max(wanted.values(), default=0) + 1):
        dice = random.Random(f"{study.seed}/{configurations[0][0].pipeline}/{repeat}/order")
        order = dice.sample(configurations, len(configurations))
        yield from (
            spec(study, *configuration, repeat, pool, cores)
            for configuration in order
            if repeat <= wanted[configuration]
        )


def search(
    study: Study,
    pipeline: PipelineName,
    pool: Sequence[Sample],
    cores: int,
    observed: Mapping[CurveKey, Mapping[int, Observation]],
    seen: Mapping[tuple[CurveKey, int], ConfigurationRow],
    guess: Callable[[RunSpec], Observation | None] = lambda spec: None,
) -> Iterator[RunSpec]:
    """The runs that seek each curve's saturation point, and the block that measures what they found, as far as known.

    Each N is sought with one run, and `observed` is what those that have ended came to, `guess` what others would come
    to: they tell which N to try next, and nothing else. Once all curves have been sought, the N around the best of each
    are measured as one block.
    """
    lines = list(curves(study, pipeline))
    for number in range(1, study.warm_up + 1):
        yield spec(study, lines[0], 1, 0, pool, cores, warm_up=number)
    sought: dict[CurveKey, list[Observation]] = {line: [] for line in lines}
    for line, found in sought.items():
        while pool and (n := next_n(found, len(pool), study.precision)) is not None:
            next_one = seek(study, line, n, pool, cores)
            yield next_one
            seen_there = observed.get(line, {}).get(n) or guess(next_one)
            if seen_there is None:
                return
            found.append(seen_there)
    yield from block(study, _to_measure(study, sought), pool, cores, seen)


def _to_measure(study: Study, sought: Mapping[CurveKey, Sequence[Observation]]) -> list[tuple[CurveKey, int]]:
    """The configurations of the block, by what the searches found so far."""
    return [(line, n) for line in sought for n in _numbers_of(study, line, sought)]


def _numbers_of(study: Study, line: CurveKey, sought: Mapping[CurveKey, Sequence[Observation]]) -> list[int]:
    """The N around a curve's best, and the best N of other curves, so that curves are compared at equal N."""
    most = max((seen.n for seen in sought[line] if seen.without_failures), default=0)
    best = {find_saturation(found, study.precision).best_n for found in sought.values()}
    return sorted({*around(sought[line], study.precision), *(n for n in best if n is not None and n <= most)})


def spec(
    study: Study, line: CurveKey, n: int, repeat: int, pool: Sequence[Sample], cores: int, warm_up: int = 0
) -> RunSpec:
    """The run of a curve at N, in one of its repeats; `warm_up` numbers those that come before them."""
    when = f"warmup{warm_up}" if warm_up else f"r{repeat}"
    samples = draw(pool, n, f"{study.seed}/{line.pipeline}/{when}")
    return replace(_run(study, line, when, samples, cores), repeat=repeat, warm_up=bool(warm_up))


def seek(study: Study, line: CurveKey, n: int, pool: Sequence[Sample], cores: int) -> RunSpec:
    """The run that tells a search what a curve gives at N; it draws samples of its own."""
    samples = draw(pool, n, f"{study.seed}/{line.pipeline}/seek")
    return replace(_run(study, line, "seek", samples, cores), seeking=True)


def alone(study: Study, line: CurveKey, sample: str, cores: int) -> RunSpec:
    """The run that tells whether a sample, which failed beside others, fails alone, too."""
    return replace(_run(study, line, f"alone-{sample}", (sample,), cores), alone=True)


def streams(study: Study, pipeline: PipelineName, pool: Sequence[Sample], cores: int) -> Iterator[RunSpec]:
    """The streams of a pipeline, one for each curve and N."""
    for line in _curves(study, pipeline, [STREAM] if study.streams else []):
        for n in study.concurrent_samples:
            yield stream(study, line, n, pool, cores)


def stream(study: Study, line: CurveKey, n: int, pool: Sequence[Sample], cores: int) -> RunSpec:
    """The run that keeps n samples in flight."""
    window = StreamSpec(warm_up_s=study.window_warm_up_s or 0.0, window_s=study.window_s or 0.0)
    names = tuple(sorted(sample.name for sample in pool))
    return replace(_run(study, line, "full", names, cores, n, window), repeat=1)


def drawn(spec: RunSpec) -> Iterator[str]:
    """The samples of a stream as they start, without end: all of them in one order, then in another, and so on."""
    dice = random.Random(f"{spec.seed}/{spec.pipeline}/stream")
    while True:
        yield from dice.sample(spec.samples, len(spec.samples))


def copy_name(sample: str, number: int) -> str:
    """The name of the sample that starts as the stream's so-many-th, so that no two have the same."""
    return f"{sample}-{number}"


def copied(sample: str, number: int) -> str:
    """The name of a sample's so-many-th copy in a pool; the first is the sample itself."""
    return sample if number == 1 else f"{sample}.copy{number}"


def with_copies(pool: Sequence[Sample], copies: int) -> list[Sample]:
    """A pool in which each genome serves so many samples."""
    return [replace(each, name=copied(each.name, at)) for each in pool for at in range(1, copies + 1)]


def _run(
    study: Study,
    line: CurveKey,
    when: str,
    samples: tuple[str, ...],
    cores: int,
    at_once: int | None = None,
    stream: StreamSpec | None = None,
) -> RunSpec:
    n = at_once or len(samples)
    usable = node_threads(study, line.binding, cores)
    return RunSpec(
        study=study.name,
        name=f"{line.pipeline}-n{n}-{line.mode}-{line.binding}-{when}",
        pipeline=line.pipeline,
        n=n,
        mode=line.mode,
        binding=line.binding,
        repeat=0,
        warm_up=False,
        samples=samples,
        fraction=study.fraction,
        samples_per_genome=study.copies,
        seed=study.seed,
        cache=study.cache,
        cores=usable,
        threads=threads(study, line.mode, n, usable) if line.pipeline in PIPELINES else dict(study.threads),
        profile=study.profile_of(line.pipeline, line.mode),
        config=study.pipelines[line.pipeline].config,
        directory=study.pipelines[line.pipeline].directory,
        stream=stream,
    )


def draw(pool: Sequence[Sample], n: int, seed: str) -> tuple[str, ...]:
    """N different samples at random, evenly from the conditions; those of a smaller N are among those of a larger.

    Whatever its mode and binding, a repeat's run draws the same samples, so that they can be compared pair by pair.
    Raises StudyError where the pool is too small.
    """
    if n > len(pool):
        raise StudyError(f"concurrent_samples: {n} is more than the {len(pool)} samples of the pool")
    shuffled = random.Random(seed).sample(sorted(pool, key=lambda sample: sample.name), len(pool))
    return _first(n, shuffled)


def _first(n: int, samples: Sequence[Sample]) -> tuple[str, ...]:
    """The first samples, evenly from the conditions."""
    conditions: dict[str, list[str]] = {}
    for sample in samples:
        conditions.setdefault(sample.condition, []).append(sample.name)
    turns = zip_longest(*conditions.values())
    return tuple(name for turn in turns for name in turn if name is not None)[:n]


def threads(study: Study, mode: Mode, n: int, cores: int) -> dict[str, int]:
    """Threads by rule: those of the settings, and for shared runs and streams an even share of the cores."""
    return (share(n, cores) if mode in (SHARED, STREAM) else {}) | dict(study.threads)
