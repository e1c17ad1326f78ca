"""Whether samples that ran in several runs came to the same results. Pure: it compares what run.json says."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpd.records.run import RunRecord


@dataclass(frozen=True)
class Disagreement:
    """An output of one kind, from the same samples, with more than one digest: in which runs each was found."""

    kind: str
    samples: tuple[str, ...]
    digests: Mapping[str, tuple[str, ...]]
    pipeline: str


def by_name(record: RunRecord, sample: str) -> str:
    """A sample is known by its name: right within one study, whose samples come from one pool."""
    return sample


def by_input(record: RunRecord, sample: str) -> str:
    """A sample is known by what was read of it, wherever it was recorded: right between studies."""
    return record.input(sample).digest or sample


def disagreements(records: Iterable[RunRecord]) -> list[Disagreement]:
    """Return the outputs of one study that differ between its runs."""
    return differing([(record.spec.name, record) for record in records])


def compared(records: Iterable[RunRecord]) -> int:
    """Return how many outputs were seen in at least two runs of one study."""
    return seen_twice([(record.spec.name, record) for record in records])


def differing(
    named: Iterable[tuple[str, RunRecord]], identity: Callable[[RunRecord, str], str] = by_name
) -> list[Disagreement]:
    """Return the outputs that differ between records, each under the name that is given with it."""
    return [
        Disagreement(group.kind, group.samples, {d: tuple(names) for d, names in group.digests.items()}, group.pipeline)
        for group in _grouped(named, identity)
        if len(group.digests) > 1
    ]


def seen_twice(named: Iterable[tuple[str, RunRecord]], identity: Callable[[RunRecord, str], str] = by_name) -> int:
    """Return how many outputs are in at least two records."""
    return sum(len({n for names in g.digests.values() for n in names}) > 1 for g in _grouped(named, identity))


@dataclass
class _Group:
    """One output wherever it was found: names by digest, in the order of the records."""

    pipeline: str
    kind: str
    samples: tuple[str, ...]
    digests: dict[str, list[str]]


def _grouped(named: Iterable[tuple[str, RunRecord]], identity: Callable[[RunRecord, str], str]) -> list[_Group]:
    """Gather outputs by pipeline, kind and samples; one without a digest says nothing and is left out."""
    groups: dict[tuple, _Group] = {}
    for name, record in named:
        pipeline = record.spec.pipeline
        for output in record.outputs:
            if output.digest is None:
                continue
            samples = tuple(sorted(output.samples))
            key = (pipeline, output.kind, tuple(sorted(identity(record, sample) for sample in samples)))
            group = groups.setdefault(key, _Group(pipeline, output.kind, samples, {}))
            names = group.digests.setdefault(output.digest, [])
            if name not in names:
                names.append(name)
    return list(groups.values())
