"""What a check comes to: it holds, fails, or cannot be known, and why."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpd.packages.evidence import Recomputed
from gpd.records.run_spec import CurveKey

HOLDS, FAILS, UNKNOWN = "holds", "fails", "not known"
MOST_SHOWN = 5
NO_PLAN = "study.json is not in it, as in studies of earlier versions: what was planned is not known"

Found = tuple[str, Sequence[str]]  # a state, and why


@dataclass(frozen=True)
class Verdict:
    """Whether a check holds, and why: where it fails, or what shows that it holds."""

    check: str
    says: str
    state: str
    why: tuple[str, ...]

    @classmethod
    def of(cls, check: str, says: str, found: Found) -> "Verdict":
        """With the first reasons, and how many more there are."""
        state, why = found
        more = [f"and {len(why) - MOST_SHOWN:,} more"] if len(why) > MOST_SHOWN else []
        return cls(check, says, state, (*why[:MOST_SHOWN], *more))


@dataclass(frozen=True)
class Check:
    """A check of a package's study; that of the digests is of the package alone, and looks at no study."""

    name: str
    says: str
    judge: Callable[[Recomputed], Found]

    def verdict(self, found: Found) -> Verdict:
        return Verdict.of(self.name, self.says, found)


def verdict(faults: Iterable[str], otherwise: Sequence[str], doubts: Iterable[str] = ()) -> Found:
    """Fails for any fault, is not known for any doubt, and else holds for another reason."""
    if wrong := list(faults):
        return FAILS, wrong
    unknown = list(doubts)
    return (UNKNOWN, unknown) if unknown else (HOLDS, otherwise)


def at(key: CurveKey, n: int) -> str:
    return f"{key.pipeline} N = {n} ({key.mode}, {key.binding})"
