"""What has to be the same for figures to be set side by side, or to be pooled as repeats of one thing. Pure.

It reads run.json records alone. The machine may differ between studies: that is what they are compared for.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpd.comparison.agreement import by_input, differing
from gpd.pipelines import PIPELINES
from gpd.records.binding import UNBOUND, told_binding
from gpd.records.host import TRAITS, Host
from gpd.records.run import RunRecord, Settings
from gpd.records.run_spec import CLUSTER, CurveKey, counted_runs
from gpd.text.formats import counted, some

# what may differ between two studies if it is asked for
ALLOWABLE = (
    "inputs",
    "reference",
    "tools",
    "environment",
    "settings",
    "workflow",
    "threads",
    "profile",
    "cache",
    "binding",
    "mode",
    "outputs",
)
# what may differ between parts of one study: its settings asked for it
ASKED_OF_A_STUDY = ("mode", "binding", "threads", "profile")
DIGEST = re.compile("[0-9a-f]{40,}")  # commits, too
DIGEST_SHOWN = 12  # characters
MOST_SHOWN = 4  # values a line
NOT_RECORDED = "not recorded"
PAIR_HMM = "pair-HMM"

Named = Sequence[tuple[str, RunRecord]]  # records, each with the name of its study or run
Key = tuple[str, str]  # what, and which of its kind: ("tools", "bwa")
Holders = dict[str | None, tuple[str, ...]]  # each value with the names of those that have it


@dataclass(frozen=True)
class Difference:
    """A thing that is not the same: each value with the studies, or the runs, that have it; None: not recorded.

    `name` is what --allow names. `by_machine`: it follows from the machine, which may differ. `configuration`: where.
    """

    name: str
    detail: str
    holders: Mapping[str | None, tuple[str, ...]]
    by_machine: bool = False
    point: str = ""

    def __str__(self) -> str:
        values = [f"{_shown(value, self.name)} ({some(names, MOST_SHOWN)})" for value, names in self.holders.items()]
        return ": ".join(filter(None, (self.point, self.name, self.detail, some(values, MOST_SHOWN))))


@dataclass(frozen=True)
class Shared:
    """What curves that stand side by side have in common; None: it is not the same."""

    pipeline: str
    mode: str | None
    binding: str | None
    nodes: int | None


def shared(curves: Sequence[CurveKey]) -> Shared:
    """Return what curves of one pipeline have in common."""
    (pipeline,) = {curve_key.pipeline for curve_key in curves}
    every = ({getattr(curve_key, name) for curve_key in curves} for name in ("mode", "binding", "nodes"))
    return Shared(pipeline, *(one.pop() if len(one) == 1 else None for one in every))


def grouped(found: Iterable[Difference]) -> list[Difference]:
    """Return differences for a reader: those of one kind, between the same values of the same holders, as one."""
    groups: dict[tuple, list[Difference]] = {}
    for one in found:
        groups.setdefault((one.name, one.point, one.by_machine, tuple(one.holders.items())), []).append(one)
    return [replace(group[0], detail=some([one.detail for one in group], MOST_SHOWN)) for group in groups.values()]


# -------------------------------------------------------------------------------------- between studies


def differences(named: Named) -> list[Difference]:
    """Return what is not the same in records of several studies, each record with its study's name."""
    found = [*_differing_inputs(named), *_differing(named, conditions), *_binding_differences(named)]
    found = [*map(_by_processor(named), found), *(replace(one, by_machine=True) for one in _differing(named, _set_up))]
    cores = _holders(named, _machine)["host", "cores"]
    threads = [one.detail for one in found if one.name == "threads"]
    if len(cores) == 1 or not threads:
        return found
    apart = Difference("threads", f"they follow from the cores ({some(threads, MOST_SHOWN)})", cores, by_machine=True)
    return [*(one for one in found if one.name != "threads"), apart]


def _by_processor(named: Named) -> Callable[[Difference], Difference]:
    """Mark a difference that follows from the machine: another processor has other instructions for the pair-HMM.

    What was done in Java for want of a library is none of the machine's.
    """
    processors = _holders(named, _machine)["host", "SKU"]
    apart = len(processors) > 1 and None not in processors

    def marked(one: Difference) -> Difference:
        native = all(value is not None and "Java" not in value for value in one.holders)
        return replace(one, by_machine=True) if one.detail == PAIR_HMM and apart and native else one

    return marked


def output_differences(named: Named) -> list[Difference]:
    """Return the outputs that the same input came to in more than one way, each record with its study's name."""
    found = differing(named, by_input)
    return [
        Difference("outputs", f"{one.kind} of {some(one.samples, MOST_SHOWN)}", dict(one.digests.items()))
        for one in found
    ]


def doubts(named: Named) -> list[str]:
    """Return what records do not tell, so that it may differ unseen."""
    bound = [(name, record) for name, record in named if record.spec.binding != UNBOUND]
    silent = [
        f"{name} {detail}".rstrip()
        for (name, detail), holders in (*_holders(named, conditions).items(), *_holders(bound, binding).items())
        if set(holders) == {None}
    ]
    if not any(record.settings.tools for _, record in named):
        silent.append("tools")
    if any(_digest(record, sample) is None for _, record in named for sample in record.spec.samples):
        silent.append("inputs of some samples")
    return [f"not recorded, so it may differ: {', '.join(silent)}"] if silent else []


def _differing_inputs(named: Named) -> list[Difference]:
    """Return the samples that not every study drew, as one difference: by what was read, and not by its name."""
    holders: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for name, record in named:
        for sample in record.spec.samples:
            identity = by_input(record, sample)
            titles.setdefault(identity, f"{sample} {_shown(_digest(record, sample))}")
            if name not in holders.setdefault(identity, []):
                holders[identity].append(name)
    everyone = {name for name, _ in named}
    partial: Holders = {titles[key]: tuple(names) for key, names in holders.items() if set(names) != everyone}
    return [Difference("inputs", "", partial)] if partial else []


# ------------------------------------------------------------------------------------- within one study


def pooled_differences(records: Iterable[RunRecord]) -> list[Difference]:
    """Return what differs between the repeats of a configuration of one study, whose figures go into one mean.

    The machine counts here. That another repeat draws other samples is meant; that a sample changed is not.
    """
    points: dict[tuple[CurveKey, int], list[tuple[str, RunRecord]]] = {}
    for record in counted_records(records):
        spec = record.spec
        points.setdefault((spec.curve_key, spec.n), []).append((spec.name, record))
    return [
        replace(difference, point=told(curve_key, n))
        for (curve_key, n), named in points.items()
        for difference in (
            *_differing(named, conditions),
            *_binding_differences(named),
            *_differing(named, _machine),
            *_changed_inputs(named),
        )
    ]


def _changed_inputs(named: Named) -> list[Difference]:
    digests: dict[str, dict[str | None, tuple[str, ...]]] = {}
    for name, record in named:
        for sample in record.spec.samples:
            held = digests.setdefault(sample, {})
            held[_digest(record, sample)] = (*held.get(_digest(record, sample), ()), name)
    return [Difference("inputs", sample, held) for sample, held in digests.items() if len(held) > 1]


def counted_records(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records of one study that are in its statistics."""
    every = list(records)
    counted = counted_runs(record.spec for record in every)
    return [record for record in every if record.spec.name in counted]


def told(curve_key: CurveKey | Shared, n: int | None = None) -> str:
    """Say which configuration, or which curve."""
    binding = curve_key.binding and told_binding(curve_key.binding)
    nodes = counted(curve_key.nodes, "node") if curve_key.mode == CLUSTER and curve_key.nodes else ""
    return ", ".join(filter(None, (curve_key.pipeline, f"N = {n}" if n else "", curve_key.mode, nodes, binding)))


# ------------------------------------------------------------------------------------- what is compared


def conditions(record: RunRecord) -> dict[Key, str | None]:
    """Return what has to be the same in two records; inputs and outputs are looked at apart."""
    spec, settings = record.spec, record.settings
    return {
        ("reference", ""): settings.reference_digest,
        **{("tools", tool): version for tool, version in (settings.tools or {}).items()},
        **({("tools", PAIR_HMM): record.pair_hmm} if PIPELINES[spec.pipeline].genomes else {}),
        ("environment", ""): _variables(settings.environment),
        ("settings", ""): settings.config_digest,
        **_workflow(settings),
        **{("threads", rule): _text(threads) for rule, threads in spec.threads.items()},
        **_profile(record),
        ("cache", ""): spec.cache,
    }


def _variables(environment: Mapping[str, str] | None) -> str | None:
    if environment is None:
        return None
    return " ".join(f"{name}={value}" for name, value in sorted(environment.items())) or "no variable set"


def _profile(record: RunRecord) -> dict[Key, str | None]:
    """Its content says which profile it was; where that is not recorded, its name."""
    if digest := record.profile_digest:
        return {("profile", "content"): digest}
    return {("profile", ""): record.spec.profile}


def _binding_differences(named: Named) -> list[Difference]:
    """Return in what bindings differ beside their policy, where jobs are bound at all."""
    return _differing([(name, record) for name, record in named if record.spec.binding != UNBOUND], binding)


def binding(record: RunRecord) -> dict[Key, str | None]:
    """Return how jobs were bound beside the policy, the memory policy that was really in force included."""
    told = record.binding or {}
    keys = ("boundary", "memory", "smt", "stall_s")
    return {
        **{("binding", key): _text(told.get(key)) for key in keys},
        ("binding", "memory applied"): record.memory_applied,
    }


def _workflow(settings: Settings) -> dict[Key, str | None]:
    """Its files say which workflow it was; where they are not recorded, its commit."""
    if digest := settings.workflow_digest:
        return {("workflow", "files"): digest, ("workflow", "environments"): settings.environments_digest}
    return {("workflow", "commit"): settings.workflow_commit}


def _machine(record: RunRecord) -> dict[Key, str | None]:
    host = record.host or Host()
    traits = {("host", trait.name): _text(trait.of(host)) for trait in TRAITS if trait.pooled}
    return traits | {("host", "cores"): _text(record.spec.cores)}


def _set_up(record: RunRecord) -> dict[Key, str | None]:
    host = record.host or Host()
    return {("host", trait.name): _text(trait.of(host)) for trait in TRAITS if trait.setting}


def _digest(record: RunRecord, sample: str) -> str | None:
    return record.input(sample).digest


def _text(value: object) -> str | None:
    return str(value) if value is not None else None


def _differing(named: Named, keys: Callable[[RunRecord], Mapping[Key, str | None]]) -> list[Difference]:
    found = _holders(named, keys).items()
    return [Difference(name, detail, holders) for (name, detail), holders in found if len(holders) > 1]


def _holders(named: Named, keys: Callable[[RunRecord], Mapping[Key, str | None]]) -> dict[Key, Holders]:
    """Return for each key who holds which value; a record without the key holds None."""
    read = [(name, keys(record)) for name, record in named]
    found: dict[Key, Holders] = {key: {} for _, values in read for key in values}
    for key, holders in found.items():
        for name, values in read:
            names = holders.get(values.get(key), ())
            holders[values.get(key)] = names if name in names else (*names, name)
    return found


def _shown(value: str | None, name: str = "") -> str:
    if value is None:
        return "the profile's" if name == "threads" else NOT_RECORDED
    return value[:DIGEST_SHOWN] if DIGEST.fullmatch(value) else value
