"""Latency from core to core: how long a cache line takes that two pinned processes hand to and fro.

No program that measures it is packaged: core-to-core-latency (a crate), whose atomic exchange this is, takes a Rust
toolchain, and prints means alone. What is needed beside Python are eight instructions, which binutils assemble.
"""

import platform
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles

from gpd.errors import GpdError
from gpd.node.node_plan import SEED, NodePlan
from gpd.processes import output_of
from gpd.records.node import Latency, Pair

PROGRAM = Path(__file__).with_name("ping_pong.py")
METHOD = "compare-and-swap of one cache line by two pinned processes; half of a round trip"
WARM_UP, SAMPLES, ROUNDS = 2000, 31, 1000
TIMEOUT_S, PAIR_S = 60.0, 0.1  # a pair takes a fifth of that, and longer on CPUs that others keep busy


def measure(plan: NodePlan) -> Latency:
    """Measure all planned pairs. Raises GpdError."""
    if not plan.pairs:
        raise GpdError("there is only one core")
    pairs = "".join(f"{first} {second}\n" for first, second in plan.pairs)
    counts = map(str, (WARM_UP, SAMPLES, ROUNDS))
    with tempfile.TemporaryDirectory() as folder:
        library = assemble(Path(folder))
        command = [sys.executable, "-S", "-E", str(PROGRAM), str(library), *counts]
        printed = output_of(command, TIMEOUT_S + PAIR_S * len(plan.pairs), input=pairs)
    return Latency(
        method=METHOD,
        warm_up=WARM_UP,
        samples=SAMPLES,
        rounds=ROUNDS,
        of_pairs=plan.of_pairs,
        seed=SEED,
        pairs=tuple(summarise(printed.splitlines(), plan.pairs)),
    )


def assemble(folder: Path) -> Path:
    """Make the shared library. Raises GpdError without binutils, or where no assembler code for the CPU."""
    source = PROGRAM.with_name(f"ping_pong_{platform.machine()}.s")
    if not source.exists():
        raise GpdError(f"no assembler code for {platform.machine()}")
    made, library = folder / "turn.o", folder / "libturn.so"
    output_of(["as", "-o", str(made), str(source)])
    output_of(["ld", "-shared", "-o", str(library), str(made)])
    return library


def summarise(lines: Iterable[str], wanted: Sequence[tuple[int, int]]) -> list[Pair]:
    """Median and quartiles of each pair's samples. Raises GpdError where a pair is missing."""
    found = []
    for line in lines:
        first, second, *samples = line.split()
        low, _, high = quantiles(map(float, samples), n=4)
        found.append((int(first), int(second), round(median(map(float, samples)), 2), round(low, 2), round(high, 2)))
    if [pair[:2] for pair in found] != list(wanted):
        raise GpdError(f"{PROGRAM.name} measured {len(found)} pairs, not {len(wanted)}")
    return found
