"""Whether samples that ran in several runs came to the same results, by what run.json says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpd.records.run import RunRecord

Named = Iterable[tuple[str, RunRecord]]  # records, each with the name of its study or run
Identity = Callable[[RunRecord, str], str]


@dataclass(frozen=True)
class Disagreement:
    """An output of one kind, from the same samples, with more than one digest: in which runs each was found."""

    kind: str
    samples: tuple[str, ...]
    digests: dict[str, tuple[str, ...]]
    pipeline: str


def by_name(record: RunRecord, sample: str) -> str:
    """A sample is known by its name: right within one study, whose samples come from one pool."""
    return sample


def by_input(record: RunRecord, sample: str) -> str:
    """A sample is known by what was read of it, wherever it was recorded: right between studies."""
    return record.input(sample).digest or sample


def disagreements(records: Iterable[RunRecord]) -> list[Disagreement]:
    """Return the outputs of one study that differ between its runs."""
    return differing((record.spec.name, record) for record in records)


def compared(records: Iterable[RunRecord]) -> int:
    """Return how many outputs were seen in at least two runs of one study."""
    return seen_twice((record.spec.name, record) for record in records)


def differing(named: Named, identity: Identity = by_name) -> list[Disagreement]:
    """Return the outputs that differ between records, each under the name that is given with it."""
    return [one for one in _outputs(named, identity) if len(one.digests) > 1]


def seen_twice(named: Named, identity: Identity = by_name) -> int:
    """Return how many outputs are in at least two records."""
    return sum(len(set().union(*one.digests.values())) > 1 for one in _outputs(named, identity))


def _outputs(named: Named, identity: Identity) -> list[Disagreement]:
    """Gather outputs by pipeline, kind and samples; one without a digest says nothing and is left out."""
    found: dict[tuple, Disagreement] = {}
    for name, record in named:
        for output in record.outputs:
            if output.digest is None:
                continue
            pipeline, samples = record.spec.pipeline, tuple(sorted(output.samples))
            key = (pipeline, output.kind, *sorted(identity(record, sample) for sample in samples))
            one = found.setdefault(key, Disagreement(output.kind, samples, {}, pipeline))
            names = one.digests.get(output.digest, ())
            one.digests[output.digest] = names if name in names else (*names, name)
    return list(found.values())
