"""The record of a node, node.json: how fast its memory, caches, clocks and disks are, and what it is made of.

Missing is None, or not in a mapping, and never zero; `missing` says why. A record may come from anywhere: it is held
against the types below, whose limits also bound its size. `gpd node --schema` prints the JSON
schema made of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gpd.records.decoding import read_record
from gpd.records.host import Host
from gpd.records.run import Time

SCHEMA_VERSION: Final = 1
FILE = "node.json"
MOST_BYTES = 8 * 1024**2  # of a file; the largest that is written has a tenth of it
MOST_CORES = 4096
MOST_PAIRS = 10_000
LONGEST = 300  # of a text, in characters
REMEDY = "remove it, and 'gpd node' makes a new one"

Text = Annotated[str, Meta(max_length=LONGEST, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]  # no control characters
Positive = Annotated[float, Meta(gt=0, lt=1e12)]
Number = Annotated[int, Meta(ge=0, le=1_000_000)]
Repeats = Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=100)]
Scope = Literal["core", "l3", "numa", "socket", "node"]
Kernel = Literal["triad", "copy"]
Block = Literal["same core", "same L3", "same NUMA node", "same socket", "across sockets", "apart"]

Level = Literal["l3", "numa", "socket"]
SAME: Mapping[Level, Block] = {"l3": "same L3", "numa": "same NUMA node", "socket": "same socket"}
SCOPES: Mapping[Scope, str] = {
    "core": "one core",
    "l3": "one L3 group",
    "numa": "one NUMA node",
    "socket": "one socket",
    "node": "the node",
}


@dataclass(frozen=True)
class Core:
    """A core: its CPUs, and the numbers of its groups; None where the machine does not report them."""

    cpus: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=16)]
    l3: Number | None = None
    numa: Number | None = None
    socket: Number | None = None


# ---- bandwidth -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Place:
    """The bandwidth that the cores of a scope draw together, one thread each, from memory beside them.

    `cpus` are those of the scope, `ran_on` those with a thread, as kernel lists. `mb_s` has all repeats of each kernel,
    in 10^6 bytes a second. `same_as`: a scope of the same CPUs, that has the figures. `bounded`: memory allowed no
    working set of the size that was wanted.
    """

    scope: Scope
    cpus: Text
    ran_on: Text = ""
    cache_mib: Positive | None = None
    working_set_mib: Positive | None = None
    bounded: bool = False
    same_as: Scope | None = None
    mb_s: Mapping[Kernel, Repeats] = field(default_factory=dict)

    def median(self, kernel: Kernel) -> float | None:
        return median(self.mb_s[kernel]) if kernel in self.mb_s else None


@dataclass(frozen=True, kw_only=True)
class Remote:
    """What all cores of one NUMA node draw from the memory of another, or of their own."""

    cpus_of: Number
    memory_of: Number
    mb_s: Repeats


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """By likwid-bench, whose names `kernels` has; `matrix` is of the kernel triad."""

    tool: Text
    kernels: Mapping[Kernel, Text]
    places: Annotated[tuple[Place, ...], Meta(max_length=len(SCOPES))] = ()
    matrix: Annotated[tuple[Remote, ...], Meta(max_length=4096)] = ()

    def place(self, scope: Scope) -> Place | None:
        """The place that has a scope's figures: its own, or the one of the same CPUs."""
        own = self._own(scope)
        return self._own(own.same_as) if own and own.same_as else own

    def _own(self, scope: Scope) -> Place | None:
        return next((place for place in self.places if place.scope == scope), None)

    def penalty(self, remote: Remote) -> float | None:
        """The share of its local bandwidth that a NUMA node loses on another's memory."""
        own = next((one for one in self.matrix if one.cpus_of == one.memory_of == remote.cpus_of), None)
        return 1 - median(remote.mb_s) / median(own.mb_s) if own else None

    def penalties(self) -> list[float]:
        """Those of all remote pairs."""
        found = [self.penalty(one) for one in self.matrix if one.cpus_of != one.memory_of]
        return [penalty for penalty in found if penalty is not None]


# ---- latency ---------------------------------------------------------------------------------------------------

Pair = tuple[Number, Number, Positive, Positive, Positive]  # two CPUs, median, lower and upper quartile (ns)


@dataclass(frozen=True, kw_only=True)
class BlockLatency:
    """The pairs of cores that are as near to each other: how many, the median of their medians, least and greatest."""

    block: Block
    pairs: int
    ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True, kw_only=True)
class Latency:
    """How long a cache line takes from core to core: half of a round trip.

    Of each pair: the median of `samples`, each the mean of `rounds` round trips, after `warm_up` round trips that do
    not count. `of_pairs`: how many pairs there are; where fewer were measured, they were drawn with `seed`.
    """

    method: Text
    warm_up: Number
    samples: Number
    rounds: Number
    of_pairs: Number
    seed: Number
    pairs: Annotated[tuple[Pair, ...], Meta(max_length=MOST_PAIRS)] = ()


def block_of(one: Core, other: Core, levels: Sequence[Level]) -> Block:
    """The nearest thing that two cores share, of `levels`; "apart" where it is not known what they share."""
    if one.cpus == other.cpus:
        return "same core"
    for level in levels:
        mine, its = getattr(one, level), getattr(other, level)
        if mine is not None and mine == its:
            return SAME[level]
    return "apart" if one.socket is None or other.socket is None else "across sockets"


def nearest(cores: Sequence[Core]) -> list[Level]:
    """The levels, finest first: on some machines an L3 spans several NUMA nodes."""
    return sorted(SAME, key=lambda level: -len({getattr(core, level) for core in cores}))


# ---- the rest --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BusyClock:
    """What busy cores ran at, all of them or the first: median, least and greatest over cores and moments.

    `watts`: what the machine's own counters tell of packages and memory meanwhile.
    """

    busy: Literal["one core", "all cores"]
    source: Text
    load: Text
    mhz: Positive | None = None
    low_mhz: Positive | None = None
    high_mhz: Positive | None = None
    watts: Annotated[Mapping[Text, Positive], Meta(max_length=256)] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Module:
    """A memory module as the firmware describes it: where it sits, its size, its rated and its configured speed."""

    locator: Text | None = None
    bank: Text | None = None
    size_gib: Positive | None = None
    type: Text | None = None
    rated_mts: Number | None = None
    configured_mts: Number | None = None
    part: Text | None = None


@dataclass(frozen=True, kw_only=True)
class TestBed:
    """What the machine is made of, beside its Host.

    `channels`: how many memory channels have a module, where the firmware's names of slots tell channels.
    """

    __test__ = False  # no test of pytest's

    system: Text | None = None
    board: Text | None = None
    bios_vendor: Text | None = None
    bios_version: Text | None = None
    bios_date: Text | None = None
    profile: Text | None = None
    modules: Annotated[tuple[Module, ...], Meta(max_length=512)] = ()
    channels: Number | None = None


@dataclass(frozen=True, kw_only=True)
class Disk:
    """What fio measured in a folder, one job. `direct`: past the page cache. `same_as`: one on the same file system.

    Sequential: blocks of 1 MiB; random reads: 4 KiB, one at a time, with their median latency.
    """

    tool: Text | None = None
    direct: bool | None = None
    size_mib: Positive | None = None
    same_as: Text | None = None
    write_mib_s: Positive | None = None
    read_mib_s: Positive | None = None
    random_read_iops: Positive | None = None
    random_read_us: Positive | None = None


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """A node, measured. `missing` says of what is not here why; `root_adds` what a superuser would learn besides.

    Raises ValueError for a host whose words are no words.
    """

    schema: Literal[1] = SCHEMA_VERSION
    start: Time
    wall_s: Positive
    gpd_version: Text | None = None
    host: Host
    cores: Annotated[tuple[Core, ...], Meta(max_length=MOST_CORES)] = ()
    bandwidth: Bandwidth | None = None
    latency: Latency | None = None
    clocks: Annotated[tuple[BusyClock, ...], Meta(max_length=2)] = ()
    test_bed: TestBed = field(default_factory=TestBed)
    disks: Annotated[Mapping[Text, Disk], Meta(max_length=8)] = field(default_factory=dict)
    missing: Annotated[Mapping[Text, Text], Meta(max_length=64)] = field(default_factory=dict)
    root_adds: Annotated[tuple[Text, ...], Meta(max_length=16)] = ()

    def __post_init__(self) -> None:
        """A Host is made of this machine's own words; those of a record may be anybody's."""
        for name, value in vars(self.host).items():
            if isinstance(value, str) and not (value.isprintable() and len(value) <= LONGEST):
                raise ValueError(f"host: {name}: too long, or with control characters")
            if isinstance(value, tuple | dict) and len(value) > MOST_CORES:
                raise ValueError(f"host: {name}: more than {MOST_CORES} entries")

    @property
    def warnings(self) -> list[str]:
        """What weakens its figures."""
        found = []
        load = self.host.load
        if load and load.busy:
            found.append(f"{load.busy_cpus:g} CPUs were at work on the node before the start: its figures are too low")
        quota = self.host.cpu_quota_cpus
        if quota is not None and quota < len(self.cores):
            found.append(f"{quota:g} CPUs are all that this process may use at once: figures of more cores are too low")
        bounded = [place for place in self.bandwidth.places if place.bounded] if self.bandwidth else []
        for place in bounded:
            sizes = f"{place.working_set_mib:,.0f} MiB, and the caches in reach have {place.cache_mib or 0:,.0f} MiB"
            found.append(f"bandwidth of {SCOPES[place.scope]}: memory allows no larger working set than {sizes}")
        return found

    def blocks(self) -> list[BlockLatency]:
        """The latencies by what two cores share, nearest first."""
        core_of, levels = {cpu: core for core in self.cores for cpu in core.cpus}, nearest(self.cores)
        found: dict[Block, list[float]] = {}
        for first, second, ns, _, _ in self.latency.pairs if self.latency else ():
            if first in core_of and second in core_of:
                found.setdefault(block_of(core_of[first], core_of[second], levels), []).append(ns)
        return [
            BlockLatency(block=name, pairs=len(ns), ns=median(ns), low_ns=min(ns), high_ns=max(ns))
            for name, ns in sorted(
                found.items(), key=lambda item: (item[0] != "same core", item[0] == "across sockets", median(item[1]))
            )
        ]

    def to_json(self) -> str:
        """As JSON, a line a part: thousands of pairs would make as many pages."""
        parts = (f"{json.dumps(name)}: {json.dumps(part)}" for name, part in msgspec.to_builtins(self).items())
        return "{\n" + ",\n".join(parts) + "\n}\n"


def read_node(path: Path) -> NodeRecord:
    """Read a node.json, of any origin. Raises RecordError."""
    return read_record(path, NodeRecord, REMEDY, MOST_BYTES)


def schema() -> dict[str, Any]:
    """The JSON schema of a record."""
    return msgspec.json.schema(NodeRecord) | {"title": "gpd node.json"}
