"""Measure whether `gpd node` agrees with likwid-bench started by hand: memory bandwidth of one core and of the node.

    python scripts/bench/node.py [--repeats 5] [--smallest]

Both alternate, triad and copy, so that a machine that others use slows both. By hand the working set is in round
megabytes, the group is that of all CPUs, and its count of walks is its own: a command line as its manual has it. It
takes about a minute. Exits with 1 where medians differ by more than 5%; `--smallest` only shows that it works.
"""

import re
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benches.figures import Figure, finish, parser, show, show_machine, spread

from gpd.machines import facts, host, launcher
from gpd.machines.topology import Policy
from gpd.node import bandwidth, plan

AGREES = 0.05
SCOPES = ("core", "node")


def by_hand(kernel: str, mib: float, threads: int, siblings: int) -> float:
    """What likwid-bench tells, MB/s, started as its manual has it."""
    group = f"N:{round(mib * 1024**2 / 1e6)}MB:{threads}:1:{siblings}"
    command = ["likwid-bench", "-t", kernel, "-W", group]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"MByte/s:\s+(\S+)", said)[1])


def figures(repeats: int) -> Iterator[Figure]:
    """The ratio of medians, by scope and kernel."""
    told = facts.gather({})
    cores = launcher.lay_out(Policy(threads=1, binding="compact", boundary="l3", smt=False)).cores
    planned = plan.make(cores, host.describe(told), launcher.limits().memory_available_mib, repeats)
    tool = bandwidth.find_tool(told.lscpu.get("Flags", "").split())
    places = {place.scope: place for place in planned.places if place.scope in SCOPES}
    rates: dict[tuple[str, str, str], list[float]] = {}
    siblings = len(cores[0].cpus)
    for _ in range(repeats):
        for scope, place in places.items():
            for kernel, name in tool.kernels.items():
                command = bandwidth.place_command(place, name, tool.domains)
                said = bandwidth.run(command, bandwidth.TIMEOUT_S)
                rates.setdefault((scope, kernel, "gpd node"), []).append(bandwidth.parse_rate(said))
                rates.setdefault((scope, kernel, "by hand"), []).append(
                    by_hand(name, place.set_mib, place.cores, siblings)
                )
    for scope in places:
        for kernel in tool.kernels:
            ours, theirs = (rates[scope, kernel, way] for way in ("gpd node", "by hand"))
            for way, values in (("gpd node", ours), ("by hand", theirs)):
                print(f"{kernel}, {scope}, {way}: {spread(values, 0)} MB/s")
            ratio = statistics.median(ours) / statistics.median(theirs)
            yield Figure(f"{kernel}, {scope}: median by gpd node over that by hand", (ratio,), 1 - AGREES, 1 + AGREES)


def main() -> int:
    made = parser(__doc__)
    made.add_argument("--repeats", type=int, default=5)
    options = made.parse_args()
    show_machine(options.smallest)
    return finish(options, show(figures(1 if options.smallest else options.repeats), options.smallest))


if __name__ == "__main__":
    sys.exit(main())
