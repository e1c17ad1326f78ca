"""A throughput study: its settings, the grid of its runs, and the samples that each of them draws. Pure."""

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product, zip_longest
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import yaml

from gpd.errors import GpdError
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import UNBOUND, Binding, BindingName, with_smt
from gpd.records.run_spec import (
    CLUSTER,
    INDEPENDENT,
    SHARED,
    STREAM,
    CurveKey,
    Mode,
    PipelineName,
    RunSpec,
    StreamSpec,
)
from gpd.records.study import OF_OURS, PROFILES, Arrivals, Pool, Sample, Study, Subsample
from gpd.statistics.saturation import Observation, around, find_saturation, next_n
from gpd.tables.repeats import RepeatStats, rule
from gpd.text.formats import SECONDS_PER_DAY, visible

SATURATION = "saturation"
MOST_VALUES = 10_000  # of the settings
LARGEST = 10**15  # number
LONGEST_LINE = 1000
MOST_DIGITS = 9  # of a sample's number in a stream
MERGE = "tag:yaml.org,2002:merge"  # `<<`


class StudyError(GpdError):
    """Settings that can't be run; the message is one line a fault."""


def read_study(path: Path) -> Study:
    """Read throughput.yaml. Raises StudyError with a line for each fault, OSError where there is no such file."""
    given = _read_yaml(path)
    if not isinstance(given, dict):
        raise StudyError(
            f"{path}: {_printable(given)}: must be keys with values, at least `pipelines: {{germline: {{}}}}`"
        )
    values, faults = _values(given)
    if faults:
        raise StudyError("\n".join(f"{path}: {_printable(fault)}" for fault in faults))
    return Study(**values)


def _values(given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings as their types have them, and a line for each fault."""
    values: dict[str, Any] = {}
    faults = [*_unknown("settings", given, Study)]
    if "pipelines" not in given:
        faults.append("settings: pipelines is needed, at least `pipelines: {germline: {}}`")
    for key, kind in get_type_hints(Study, include_extras=True).items():
        if key in given:
            try:
                values[key] = msgspec.convert(FROM_YAML[key](given[key]) if key in FROM_YAML else given[key], kind)
            except (TypeError, ValueError):  # msgspec's own are ValueErrors
                wanted = next(meta.description for meta in kind.__metadata__ if meta.description)
                faults.append(f"{key}: {given[key]!r}: must be {wanted}")
                continue
            if isinstance(values[key], tuple) and len(set(values[key])) < len(values[key]):
                faults.append(f"{key}: {given[key]!r}: names one twice")
    for name, pool in values.get("pipelines", {}).items():
        faults += _faults_of_pool(name, pool, given["pipelines"][name])
    for name, known in (("arrivals", Arrivals), ("subsample", Subsample)):
        if values.get(name):
            faults += _unknown(name, given[name], known)
    return values, faults


def _faults_of_pool(name: str, pool: Pool, given: Mapping[Any, Any]) -> Iterator[str]:
    """Lines about a pipeline: of ours with what is a workflow's alone, or unknown and without a workflow."""
    where, ours = f"pipelines.{name}", name in PIPELINES
    if ours and pool.workflow:
        yield f"{where}: workflow: {name} is a pipeline of ours: give yours another name"
    elif not ours and not pool.workflow:
        known = " and ".join(PIPELINES)
        yield f"{where}: pipelines of ours are {known}: for your own set `workflow: PATH/TO/Snakefile`"
    else:
        yield from _unknown(where, given, Pool, OF_OURS if ours else ())


def _unknown(
    where: str,
    given: Mapping[Any, Any],
    kind: type[Study | Pool | Arrivals | Subsample],
    only: Collection[str] = (),
) -> Iterator[str]:
    known = [field.name for field in fields(kind) if not only or field.name in only]
    if unknown := sorted(str(key) for key in given if key not in known):
        yield f"{where}: unknown: {', '.join(unknown)}; known are {', '.join(known)}"


def _numbers(given: Any) -> Any:
    """Of `concurrent_samples`: a study has none where the saturation point is sought."""
    if given == []:
        raise ValueError(given)
    return [] if given == SATURATION else given


def _bindings(given: Any) -> list[str]:
    """The names of bindings, each its policy alone or what it sets of policy, boundary and memory."""
    return [entry if isinstance(entry, str) else Binding(**entry).name for entry in given]


# where the file has another form than the record of a study
FROM_YAML = {"concurrent_samples": _numbers, "bindings": _bindings, "profiles": lambda given: {**PROFILES, **given}}


class UniqueKeys(yaml.SafeLoader):
    """PyYAML, which else takes the last of the keys that stand twice in one mapping, in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                line, first = key.start_mark.line + 1, lines.get((key.tag, key.value))
                if first:
                    raise StudyError(
                        f"line {line}: {_printable(repr(key.value))} is given twice, first in line {first}"
                    )
                lines[key.tag, key.value] = line
        return node


def _read_yaml(path: Path) -> Any:
    """What the file holds, of a size that can be checked. Raises StudyError."""
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error
    # of PyYAML: a 31st of February, `!!int x`, `!!bool x`
    except (yaml.YAMLError, LookupError, AttributeError, ValueError, RecursionError) as error:
        raise StudyError(f"{path}: not YAML: {_printable(error)}") from error
    if not _is_bounded(given):
        raise StudyError(f"{path}: more than {MOST_VALUES:,} values, or a number beyond {LARGEST:,}")
    return given


def _is_bounded(given: Any) -> bool:
    """Whether there are not too many values in it: a few lines with aliases unfold beyond any memory."""
    waiting = [given]
    for _ in range(MOST_VALUES):
        if not waiting:
            return True
        value = waiting.pop()
        if isinstance(value, int) and abs(value) > LARGEST:
            return False
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return False


def _printable(given: Any) -> str:
    """A line that can be printed."""
    return visible(" ".join(str(given).split()))[:LONGEST_LINE]


def curves(study: Study, pipeline: PipelineName) -> Iterator[CurveKey]:
    """The curves of a pipeline. Independent runs know nothing of each other, and have no CPU allocations."""
    return _curves(study, pipeline, [mode for mode in study.modes if mode != STREAM])


def _curves(study: Study, pipeline: PipelineName, modes: Sequence[Mode]) -> Iterator[CurveKey]:
    for mode in modes:
        bindings = (UNBOUND,) if mode == INDEPENDENT else study.bindings
        for binding, smt, nodes in product(bindings, study.smt or (None,), study.nodes if mode == CLUSTER else (1,)):
            yield CurveKey(pipeline, mode, binding if smt is None else with_smt(binding, smt), nodes)


def node_threads(study: Study, binding: BindingName, cores: int) -> int:
    """How many threads run at once on a node's cores: with SMT as many as they have together."""
    smt = Binding.parse(binding).smt
    return round(cores * (study.threads_per_core or 1)) if smt else cores


def grid(
    study: Study,
    pools: Mapping[PipelineName, Sequence[Sample]],
    cores: int,
    bad: Mapping[str, Collection[str]] | None = None,
    seen: Mapping[tuple[CurveKey, int], RepeatStats] | None = None,
) -> list[RunSpec]:
    """The runs whose N is known before the first is run, in the order in which they are run; `cores` are a node's.

    `bad` names the samples of each pipeline that are known to have bad data; `seen` says what repeats that have ended
    came to: by that `repeats: auto` says how many there are to be.
    """
    specs: list[RunSpec] = []
    for pipeline in study.pipelines:
        pool, known = pools[pipeline], (bad or {}).get(pipeline, ())
        configurations = list(product(curves(study, pipeline), study.concurrent_samples))
        for number in range(1, study.warm_up + 1 if configurations else 1):
            specs.append(spec(study, *configurations[0], 0, pool, cores, known, warm_up=number))
        specs += block(study, configurations, pool, cores, known, seen or {})
    return specs


def block(
    study: Study,
    configurations: Sequence[tuple[CurveKey, int]],
    pool: Sequence[Sample],
    cores: int,
    bad: Collection[str],
    seen: Mapping[tuple[CurveKey, int], RepeatStats],
) -> Iterator[RunSpec]:
    """The repeats of a pipeline's configurations: each repeat of all of them comes before the next repeat of any.

    Within a repeat the order is shuffled, so that what changes meanwhile (heat, other users) does not fall on one N,
    mode or binding.
    """
    wanted = {
        configuration: rule(study).wanted(seen.get(configuration, RepeatStats())) for configuration in configurations
    }
    for repeat in range(1, max(wanted.values(), default=0) + 1):
        dice = random.Random(f"{study.seed}/{configurations[0][0].pipeline}/{repeat}/order")
        order = dice.sample(configurations, len(configurations))
        yield from (
            spec(study, *configuration, repeat, pool, cores, bad)
            for configuration in order
            if repeat <= wanted[configuration]
        )


def search(
    study: Study,
    pipeline: PipelineName,
    pool: Sequence[Sample],
    cores: int,
    bad: Collection[str],
    observed: Mapping[CurveKey, Mapping[int, Observation]],
    seen: Mapping[tuple[CurveKey, int], RepeatStats],
    affords: Callable[[Sequence[RunSpec]], bool] = lambda specs: True,
) -> Iterator[RunSpec]:
    """The runs that seek each curve's saturation point, and the block that measures what they found, as far as known.

    Each N is sought with one run, and `observed` is what those that have ended came to: they tell which N to try next,
    and nothing else. Once all curves have been sought, the N around the best of each are measured as one block. A curve
    is sought no further where what is left of a budget no longer `affords` that and the block.
    """
    lines, limit = list(curves(study, pipeline)), len(pool) - len(bad)
    for number in range(1, study.warm_up + 1):
        yield spec(study, lines[0], 1, 0, pool, cores, bad, warm_up=number)
    sought: dict[CurveKey, list[Observation]] = {line: [] for line in lines}
    for line, found in sought.items():
        while limit and (n := next_n(found, limit, study.precision)) is not None:
            next_one = seek(study, line, n, pool, cores, bad)
            if n not in observed.get(line, {}):
                if found and not affords([next_one, *block(study, _to_measure(study, sought), pool, cores, bad, {})]):
                    break
                yield next_one
                return
            yield next_one
            found.append(observed[line][n])
    yield from block(study, _to_measure(study, sought), pool, cores, bad, seen)


def _to_measure(study: Study, sought: Mapping[CurveKey, Sequence[Observation]]) -> list[tuple[CurveKey, int]]:
    """The configurations of the block, by what the searches found so far."""
    return [(line, n) for line in sought for n in _numbers_of(study, line, sought)]


def _numbers_of(study: Study, line: CurveKey, sought: Mapping[CurveKey, Sequence[Observation]]) -> list[int]:
    """The N around a curve's best, and the best of the other curves, for they stand beside each other at the same N."""
    most = max((seen.n for seen in sought[line] if not seen.overloaded), default=0)
    best = {
        find_saturation(found, study.precision).best_n for other, found in sought.items() if other.nodes == line.nodes
    }
    return sorted({*around(sought[line], study.precision), *(n for n in best if n is not None and n <= most)})


def spec(
    study: Study,
    line: CurveKey,
    n: int,
    repeat: int,
    pool: Sequence[Sample],
    cores: int,
    bad: Collection[str] = (),
    warm_up: int = 0,
) -> RunSpec:
    """The run of a curve at N, in one of its repeats; `warm_up` numbers those that come before them.

    Where it would draw samples with bad data, it draws others, and its name says so.
    """
    when = f"warmup{warm_up}" if warm_up else f"r{repeat}"
    samples, left_out = draw(pool, n, f"{study.seed}/{line.pipeline}/{when}", bad)
    without = f"-without{len(left_out)}" if left_out else ""
    drawn = _run(study, line, f"{when}{without}", samples, cores)
    return replace(drawn, repeat=repeat, warm_up=bool(warm_up), left_out=left_out)


def seek(
    study: Study, line: CurveKey, n: int, pool: Sequence[Sample], cores: int, bad: Collection[str] = ()
) -> RunSpec:
    """The run that tells a search what a curve gives at N; it draws samples of its own."""
    samples, left_out = draw(pool, n, f"{study.seed}/{line.pipeline}/seek", bad)
    without = f"-without{len(left_out)}" if left_out else ""
    return replace(_run(study, line, f"seek{without}", samples, cores), seeking=True, left_out=left_out)


def alone(study: Study, line: CurveKey, sample: str, cores: int) -> RunSpec:
    """The run that tells whether a sample, which failed beside others, fails alone, too."""
    return replace(_run(study, line, f"alone-{sample}", (sample,), cores), alone=True)


def streams(
    study: Study,
    pipeline: PipelineName,
    pool: Sequence[Sample],
    cores: int,
    bad: Collection[str],
    measured: Mapping[tuple[CurveKey, int], float],
) -> Iterator[RunSpec]:
    """The streams of a pipeline: the full ones, then those that samples arrive in, as far as these can be known.

    `measured` are the genomes a day of the full streams that have ended, of which arrivals are shares.
    """
    modes: list[Mode] = [STREAM] if study.streams else []
    for line in _curves(study, pipeline, modes):
        for n in study.concurrent_samples:
            yield stream(study, line, n, pool, cores, bad)
    wanted = study.arrivals or Arrivals()
    for line, n in ((line, n) for line in _curves(study, pipeline, modes) for n in study.concurrent_samples):
        for of_full in wanted.rate if measured.get((line, n)) else ():
            yield stream(study, line, n, pool, cores, bad, of_full, of_full * measured[line, n])
        for per_day in wanted.per_day:
            yield stream(study, line, n, pool, cores, bad, None, per_day)


def stream(
    study: Study,
    line: CurveKey,
    n: int,
    pool: Sequence[Sample],
    cores: int,
    bad: Collection[str] = (),
    share: float | None = None,
    per_day: float | None = None,
) -> RunSpec:
    """The run that keeps n samples in flight, or as many of those that arrive; samples with bad data are left out."""
    names = sorted(sample.name for sample in pool)
    good = tuple(name for name in names if name not in bad)
    load = "full" if per_day is None else f"daily{_digits(per_day)}" if share is None else f"load{_digits(100 * share)}"
    window = StreamSpec(
        warm_up_s=study.window_warm_up_s or 0.0, window_s=study.window_s or 0.0, share=share, per_day=per_day
    )
    made = _run(study, line, load, good or tuple(names), cores, n, window)
    return replace(made, repeat=1, left_out=tuple(name for name in names if good and name in bad))


def _digits(value: float) -> str:
    return f"{value:.12g}".replace("+", "")


def drawn(spec: RunSpec) -> Iterator[str]:
    """The samples of a stream as they start, without end: all of them in one order, then in another, and so on."""
    dice = random.Random(f"{spec.seed}/{spec.pipeline}/stream")
    while True:
        yield from dice.sample(spec.samples, len(spec.samples))


def arrivals_s(spec: RunSpec, stream: StreamSpec) -> Iterator[float]:
    """When samples arrive in a stream, since its start, up to the end of its window: at random, a Poisson process.

    Streams of the same seed differ in the length of the gaps alone.
    """
    dice, now_s = random.Random(f"{spec.seed}/{spec.pipeline}/arrivals"), 0.0
    a_second = (stream.per_day or 0.0) / SECONDS_PER_DAY
    while a_second:
        now_s += dice.expovariate(1.0) / a_second
        if now_s > stream.end_s:
            return
        yield round(now_s, 6)


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
    n, place = at_once or len(samples), f"{line.mode}{line.nodes}" if line.mode == CLUSTER else line.mode
    usable = node_threads(study, line.binding, cores)
    return RunSpec(
        study=study.name,
        name=f"{line.pipeline}-n{n}-{place}-{line.binding}-{when}",
        pipeline=line.pipeline,
        n=n,
        mode=line.mode,
        binding=line.binding,
        nodes=line.nodes,
        repeat=0,
        warm_up=False,
        samples=samples,
        fraction=study.fraction,
        samples_per_genome=study.copies,
        seed=study.seed,
        cache=study.cache,
        cores=usable * line.nodes,
        threads=threads(study, line.mode, n, usable) if line.pipeline in PIPELINES else dict(study.threads),
        profile=study.profile_of(line.pipeline, line.mode),
        config=study.pipelines[line.pipeline].config,
        directory=study.pipelines[line.pipeline].directory,
        stream=stream,
    )


def draw(
    pool: Sequence[Sample], n: int, seed: str, bad: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """N different samples at random, evenly from the conditions; those of a smaller N are among those of a larger.

    Whatever its mode and binding, a repeat's run draws the same samples, so that they can be compared pair by pair.
    Where samples with `bad` data are drawn, it is drawn again without them, as long as there are enough others; which
    were left out comes with the draw. Raises StudyError where the pool is too small.
    """
    if n > len(pool):
        raise StudyError(f"concurrent_samples: {n} is more than the {len(pool)} samples of the pool")
    dice = random.Random(seed)
    shuffled = dice.sample(sorted(pool, key=lambda sample: sample.name), len(pool))
    left_out: list[str] = []
    while len(pool) - len(left_out) >= n:
        names = _first(n, [sample for sample in shuffled if sample.name not in left_out])
        found = [name for name in names if name in bad]
        if not found:
            return names, tuple(left_out)
        left_out += found
    return _first(n, shuffled), ()


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
