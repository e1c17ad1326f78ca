"""How jobs get their CPUs: policy, boundary and memory, and the name that tells one binding from another. Pure.

A name is the policy, and behind it what a study sets besides: `compact`, `compact-numa`, `scatter-socket-interleave`.
What it leaves out is USUAL.
"""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Final

from msgspec import Meta

UNBOUND: Final = "none"  # the binding of jobs that are allocated no CPUs
POLICIES: Final = ("compact", "scatter", UNBOUND)
BOUNDARIES: Final = ("l3", "numa", "socket")
MEMORIES: Final = ("default", "local", "interleave")

# what a name leaves out, as the executor has it
USUAL: Final[dict[str, str | bool]] = {"boundary": "l3", "memory": "default", "smt": False}

SMT: Final = {"smt": True, "nosmt": False}  # hyperthreads are CPUs; a thread has a core

PATTERN: Final = re.compile(
    r"(?P<policy>none(?=-smt|-nosmt|\Z)|compact|scatter)(-(?P<boundary>l3|numa|socket))?"
    r"(-(?P<memory>default|local|interleave))?(-(?P<smt>smt|nosmt))?"
)
BindingName = Annotated[
    str,
    Meta(pattern=r"^(none|(compact|scatter)(-(l3|numa|socket))?(-(default|local|interleave))?)(-(smt|nosmt))?\Z"),
]


@dataclass(frozen=True)
class Binding:
    """A policy, and what goes with it; None: as usual.

    `smt`: whether jobs may use all threads of a core, or one of each.
    """

    policy: str
    boundary: str | None = None
    memory: str | None = None
    smt: bool | None = None

    @classmethod
    def parse(cls, name: str) -> "Binding":
        """The binding of a name. Raises ValueError where it is none."""
        if not (found := PATTERN.fullmatch(name)):
            raise ValueError(
                f"{name!r} is no binding: {', '.join(POLICIES)}, and behind the first two, with a hyphen each, a "
                f"boundary ({', '.join(BOUNDARIES)}) and a memory policy ({', '.join(MEMORIES)}); behind any "
                f"{' or '.join(SMT)}"
            )
        return cls(found["policy"], found["boundary"], found["memory"], SMT.get(found["smt"] or ""))

    @property
    def name(self) -> str:
        smt = next((name for name, value in SMT.items() if value is self.smt), None)
        return "-".join(filter(None, (self.policy, self.boundary, self.memory, smt)))

    @property
    def unbound(self) -> bool:
        """Whether jobs are allocated no CPUs."""
        return self.policy == UNBOUND

    @property
    def settings(self) -> dict[str, str | bool]:
        """What it sets of how jobs are bound."""
        every = {"policy": self.policy, "boundary": self.boundary, "memory": self.memory, "smt": self.smt}
        return {key: value for key, value in every.items() if value is not None}

    @property
    def beside_policy(self) -> dict[str, str | bool]:
        """How jobs are bound, but for the policy, by which curve are told apart."""
        return {**USUAL, **{key: value for key, value in self.settings.items() if key != "policy"}}

    @property
    def variables(self) -> dict[str, str]:
        """The environment by which the executor `pinned` binds so, whatever a profile says."""
        every = {"binding": self.policy, **self.beside_policy}
        return {f"SNAKEMAKE_PINNED_{key.upper()}": str(value) for key, value in every.items()}


def is_binding(name: str) -> bool:
    """Tell whether this is a binding's name."""
    return PATTERN.fullmatch(name) is not None


def describe_binding(name: str) -> str:
    """Say in words how jobs are bound."""
    binding = Binding.parse(name)
    parts = ["not bound to CPUs" if binding.unbound else f"{binding.policy} binding"]
    parts += [f"boundary {binding.boundary}"] if binding.boundary else []
    parts += [f"memory {binding.memory}"] if binding.memory else []
    parts += [] if binding.smt is None else ["all threads of a core" if binding.smt else "one thread a core"]
    return ", ".join(parts)


def with_smt(name: str, smt: bool) -> str:
    """The same binding, with SMT on or off."""
    return replace(Binding.parse(name), smt=smt).name


def is_unbound(name: str) -> bool:
    """Tell whether jobs of a binding are allocated no CPUs."""
    return Binding.parse(name).unbound
