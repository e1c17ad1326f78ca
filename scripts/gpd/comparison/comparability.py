"""Which conditions must be the same for figures to be set side by side, or pooled as repeats of one configuration.

It reads run.json records alone. The machine may differ between studies: that is what they are compared for.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpd.comparison.agreement import by_input, differing
from gpd.pipelines import PIPELINES
from gpd.records.binding import describe_binding, is_unbound
from gpd.records.host import TRAITS, Host
from gpd.records.run import RunRecord
from gpd.records.run_spec import MODES, CurveKey
from gpd.text.formats import listed, some

# what may differ between two studies if it is asked for
ALLOWABLE = (
    *("inputs", "reference", "tools", "environment", "preset", "settings", "workflow"),
    *("threads", "profile", "cache", "binding", "mode", "outputs"),
)
# what may differ between parts of one study: its settings asked for it
ASKED_OF_A_STUDY = ("mode", "binding", "threads", "profile")
DIGEST = re.compile("[0-9a-f]{64}")
MOST_SHOWN = 4  # values a line
NOT_RECORDED = "not recorded"
PAIR_HMM = "pair-HMM"

Named = Sequence[tuple[str, RunRecord]]  # records, each with the name of its study or run
Values = Mapping[tuple[str, str], str | None]  # by what, and which of its kind: ("tools", "bwa")
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
    configuration: str = ""

    @property
    def is_of_digests(self) -> bool:
        """Whether its values are digests, which tell a reader nothing."""
        return all(DIGEST.fullmatch(value or "") for value in self.holders)

    def __str__(self) -> str:
        if self.is_of_digests:
            values = "not the same in " + listed(dict.fromkeys(some(own, MOST_SHOWN) for own in self.holders.values()))
        else:
            shown = [f"{_shown(value, self.name)} ({some(own, MOST_SHOWN)})" for value, own in self.holders.items()]
            values = some(shown, MOST_SHOWN)
        return ": ".join(filter(None, (self.configuration, self.name, self.detail, values)))


@dataclass(frozen=True)
class CommonKey:
    """What curves of one pipeline that stand side by side have in common; None: it is not the same."""

    pipeline: str
    mode: str | None
    binding: str | None

    @classmethod
    def of(cls, curves: Sequence[CurveKey]) -> "CommonKey":
        every = ({getattr(key, name) for key in curves} for name in ("mode", "binding"))
        return cls(curves[0].pipeline, *(one.pop() if len(one) == 1 else None for one in every))


def curve_name(key: CurveKey | CommonKey, n: int | None = None) -> str:
    """The name of a curve, or of its configuration at N."""
    binding = key.binding and describe_binding(key.binding)
    mode = key.mode and MODES[key.mode]
    return ", ".join(filter(None, (key.pipeline, f"N = {n}" if n else "", mode, binding)))


def holders_of(pairs: Iterable[tuple[str, str | None]]) -> Holders:
    """Return each value with the names of those that have it, each once, from pairs of name and value."""
    found: Holders = {}
    for name, value in pairs:
        names = found.get(value, ())
        found[value] = names if name in names else (*names, name)
    return found


def grouped(found: Iterable[Difference]) -> list[Difference]:
    """Return differences for a reader: those of one kind, between the same values of the same holders, as one."""
    groups: dict[tuple, list[Difference]] = {}
    for one in found:
        groups.setdefault((one.name, one.configuration, one.by_machine, tuple(one.holders.items())), []).append(one)
    return [replace(group[0], detail=some([one.detail for one in group], MOST_SHOWN)) for group in groups.values()]


# -------------------------------------------------------------------------------------- between studies


def differences(named: Named) -> list[Difference]:
    """Return what is not the same in records of several studies, each record with its study's name."""
    machines = _holders(named, _processor)
    cores, processors = machines["host", "cores"], machines["host", "SKU"]
    found = [*_differing_inputs(named), *_differing(named, conditions), *_binding_differences(named)]
    if len(processors) > 1 and None not in processors:  # another processor has other instructions for the pair-HMM
        found = [replace(one, by_machine=True) if _is_native_pair_hmm(one) else one for one in found]
    found += [replace(one, by_machine=True) for one in _differing(named, _machine_settings)]
    threads = [one.detail for one in found if one.name == "threads"]
    if len(cores) == 1 or not threads:
        return found
    by_cores = Difference("threads", f"they follow from the cores ({some(threads, MOST_SHOWN)})", cores, True)
    return [*(one for one in found if one.name != "threads"), by_cores]


def _is_native_pair_hmm(one: Difference) -> bool:
    """Whether it follows from the processor: falling back to Java, for want of a library, does not."""
    return one.detail == PAIR_HMM and all(value is not None and "Java" not in value for value in one.holders)


def output_differences(named: Named) -> list[Difference]:
    """Return the outputs that the same input came to in more than one way, each record with its study's name."""
    found = differing(named, by_input)
    return [
        Difference("outputs", f"{one.kind} of {some(one.samples, MOST_SHOWN)}", dict(one.digests.items()))
        for one in found
    ]


def doubts(named: Named) -> list[str]:
    """Return what records do not tell, so that it may differ unseen."""
    silent = [
        f"{name} {detail}".rstrip()
        for (name, detail), holders in (*_holders(named, conditions).items(), *_holders(_bound(named), binding).items())
        if set(holders) == {None}
    ]
    if not any(record.settings.tools for _, record in named):
        silent.append("tools")
    if any(record.input(sample).digest is None for _, record in named for sample in record.spec.samples):
        silent.append("inputs of some samples")
    return [f"not recorded, so it may differ: {', '.join(silent)}"] if silent else []


def _differing_inputs(named: Named) -> list[Difference]:
    """Return the samples that not every study drew, as one difference: by what was read, and not by its name.

    Each repeat draws anew, and a study may have more of them (`repeats: auto`): those that all have are looked at.
    """
    holders: dict[str, dict[str, None]] = {}
    titles: dict[str, str] = {}
    repeats: dict[str, set[int]] = {}
    for name, record in named:
        repeats.setdefault(name, set()).add(record.spec.repeat)
    common = set.intersection(*repeats.values())
    for name, record in named:
        if common and record.spec.repeat not in common:
            continue
        for sample in record.spec.samples:
            identity = by_input(record, sample)
            titles.setdefault(identity, sample)
            holders.setdefault(identity, {})[name] = None
    everyone = {name for name, _ in named}
    unlike = {key: names for key, names in holders.items() if set(names) != everyone}
    same_name = Counter(titles[key] for key in unlike)
    partial: Holders = {}
    for key, names in unlike.items():
        title = titles[key] if same_name[titles[key]] == 1 else f"{titles[key]}, not the same reads"
        partial[title] = (*partial.get(title, ()), *names)
    return [Difference("inputs", "", partial)] if partial else []


# ------------------------------------------------------------------------------------- within one study


def pooled_differences(records: Iterable[RunRecord]) -> list[Difference]:
    """Return what differs between the repeats of a configuration of one study, whose figures go into one mean.

    The machine counts here. That another repeat draws other samples is meant; that a sample changed is not.
    """
    configurations: dict[tuple[CurveKey, int], list[tuple[str, RunRecord]]] = {}
    for record in counted_records(records):
        spec = record.spec
        configurations.setdefault((spec.curve_key, spec.n), []).append((spec.name, record))
    return [
        replace(difference, configuration=curve_name(key, n))
        for (key, n), named in configurations.items()
        for difference in (
            *_differing(named, conditions),
            *_binding_differences(named),
            *_differing(named, _machine),
            *_changed_inputs(named),
        )
    ]


def _changed_inputs(named: Named) -> list[Difference]:
    digests: dict[str, list[tuple[str, str | None]]] = {}
    for name, record in named:
        for sample in record.spec.samples:
            digests.setdefault(sample, []).append((name, record.input(sample).digest))
    held = {sample: holders_of(pairs) for sample, pairs in digests.items()}
    return [Difference("inputs", sample, holders) for sample, holders in held.items() if len(holders) > 1]


def counted_records(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records of one study that are in its statistics."""
    return [record for record in records if record.spec.counts]


# ------------------------------------------------------------------------------------- what is compared


def conditions(record: RunRecord) -> Values:
    """Return the conditions that must be the same in two records; inputs and outputs are looked at apart.

    A workflow is its files, and a profile its content; where these are not recorded, its commit, and its name.
    """
    spec, settings = record.spec, record.settings
    values: dict[tuple[str, str], str | None] = {("reference", ""): settings.reference_digest}
    values["inputs", "share of the reads"] = f"{spec.fraction:g}"
    values["inputs", "samples of each genome"] = str(spec.samples_per_genome)
    values |= {("tools", tool): version for tool, version in (settings.tools or {}).items()}
    if PIPELINES[spec.pipeline].genomes:
        values["preset", ""] = settings.preset or PIPELINES[spec.pipeline].preset
        values["tools", PAIR_HMM] = record.pair_hmm
    values["environment", ""] = _variables(settings.environment)
    values["settings", ""] = settings.config_digest
    if settings.workflow_digest:
        values["workflow", "files"] = settings.workflow_digest
        values["workflow", "environments"] = settings.environments_digest
    else:
        values["workflow", "commit"] = settings.workflow_commit
    values |= {("threads", rule): str(threads) for rule, threads in spec.threads.items()}
    values |= {("profile", "content"): digest} if (digest := record.profile_digest) else {("profile", ""): spec.profile}
    return values | {("cache", ""): spec.cache}


def _variables(environment: Mapping[str, str] | None) -> str | None:
    if environment is None:
        return None
    return " ".join(f"{name}={value}" for name, value in sorted(environment.items())) or "no variable set"


def _bound(named: Named) -> Named:
    return [(name, record) for name, record in named if not is_unbound(record.spec.binding)]


def _binding_differences(named: Named) -> list[Difference]:
    """Return in what bindings differ beside their policy, where jobs are bound at all."""
    return _differing(_bound(named), binding)


def binding(record: RunRecord) -> Values:
    """Return how jobs were bound beside the policy, the memory policy that was really in force included."""
    settings = record.binding or {}
    keys = ("boundary", "memory", "smt", "stall_s")
    return {("binding", key): _text(settings.get(key)) for key in keys} | {
        ("binding", "memory applied"): record.memory_applied
    }


def _machine(record: RunRecord) -> Values:
    host = record.host or Host()
    traits = {("host", trait.name): _text(trait.of(host)) for trait in TRAITS if trait.pooled}
    return traits | {("host", "cores"): _text(record.spec.cores)}


def _processor(record: RunRecord) -> Values:
    host = record.host or Host()
    return {("host", "SKU"): _text(host.sku), ("host", "cores"): _text(record.spec.cores)}


def _machine_settings(record: RunRecord) -> Values:
    return {("host", trait.name): _text(trait.of(record.host or Host())) for trait in TRAITS if trait.setting}


def _text(value: object) -> str | None:
    return str(value) if value is not None else None


def _differing(named: Named, values_of: Callable[[RunRecord], Values]) -> list[Difference]:
    found = _holders(named, values_of).items()
    return [Difference(name, detail, holders) for (name, detail), holders in found if len(holders) > 1]


def _holders(named: Named, values_of: Callable[[RunRecord], Values]) -> dict[tuple[str, str], Holders]:
    """Return for each key its values, each with the names that hold it; a record without the key holds None."""
    read = [(name, values_of(record)) for name, record in named]
    keys = dict.fromkeys(key for _, values in read for key in values)
    return {key: holders_of((name, values.get(key)) for name, values in read) for key in keys}


def _shown(value: str | None, name: str = "") -> str:
    if value is None:
        return "the profile's" if name == "threads" else NOT_RECORDED
    return "recorded" if DIGEST.fullmatch(value) else value
