"""How jobs get their CPUs: policy, boundary and memory, and the name that tells one binding from another. Pure.

A name is the policy, and behind it what a study sets besides: `compact`, `compact-numa`, `scatter-socket-interleave`.
What it leaves out is the configuration's.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

UNBOUND: Final = "none"  # the binding of jobs that are allocated no CPUs
POLICIES: Final = ("compact", "scatter", UNBOUND)
BOUNDARIES: Final = ("l3", "numa", "socket")
MEMORIES: Final = ("default", "local", "interleave")

PATTERN: Final = re.compile(
    r"(?P<policy>none\Z|compact|scatter)(-(?P<boundary>l3|numa|socket))?(-(?P<memory>default|local|interleave))?"
)
BindingName = Annotated[
    str, Meta(pattern=r"^(none|(compact|scatter)(-(l3|numa|socket))?(-(default|local|interleave))?)\Z")
]


@dataclass(frozen=True)
class Binding:
    """A policy, and the boundary and memory policy that go with it; None: as the configuration has them."""

    policy: str
    boundary: str | None = None
    memory: str | None = None

    @classmethod
    def parse(cls, name: str) -> "Binding":
        """The binding of a name. Raises ValueError where it is none."""
        if not (found := PATTERN.fullmatch(name)):
            raise ValueError(
                f"{name!r} is no binding: {', '.join(POLICIES)}, and behind the first two, with a hyphen each, a "
                f"boundary ({', '.join(BOUNDARIES)}) and a memory policy ({', '.join(MEMORIES)})"
            )
        return cls(**found.groupdict())

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.policy, self.boundary, self.memory)))

    @property
    def settings(self) -> dict[str, str]:
        """What it sets of a configuration's `binding`."""
        every = {"policy": self.policy, "boundary": self.boundary, "memory": self.memory}
        return {key: value for key, value in every.items() if value is not None}


def is_binding(name: str) -> bool:
    """Tell whether this is a binding's name."""
    return PATTERN.fullmatch(name) is not None


def describe_binding(name: str) -> str:
    """Say in words how jobs are bound."""
    binding = Binding.parse(name)
    parts = ["not bound to CPUs" if name == UNBOUND else f"{binding.policy} binding"]
    parts += [f"boundary {binding.boundary}"] if binding.boundary else []
    parts += [f"memory {binding.memory}"] if binding.memory else []
    return ", ".join(parts)
