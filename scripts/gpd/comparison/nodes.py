"""What a node's record says, a figure a line, and nodes side by side."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from gpd.comparison.results import Side
from gpd.records.host_texts import filled, texts
from gpd.records.node import SCOPES, Disk, Kernel, NodeRecord, Scope
from gpd.text.formats import counted, listed, number, percent
from gpd.text.grid import Entry, Grid, Group, Line

MB_PER_GB, MHZ_PER_GHZ = 1000, 1000
BLOCKS = ("same core", "same L3", "same NUMA node", "same socket", "across sockets", "apart")
CAPTION = "Nodes"
NOTE = (
    "nodes: medians, as 'gpd node' measured them (triad and copy: likwid-bench, bytes that the kernel asks for; core to"
    " core: half of a round trip)"
)


def gigabytes(mb_s: float | None) -> str:
    """A bandwidth in GB/s."""
    return "" if mb_s is None else number(mb_s / MB_PER_GB)


# ---- figures ---------------------------------------------------------------------------------------------------


def _bandwidth(record: NodeRecord, scope: Scope, kernel: Kernel) -> str:
    place = record.bandwidth.place(scope) if record.bandwidth else None
    return gigabytes(place.median(kernel)) if place else ""


def _penalty(record: NodeRecord) -> str:
    penalties = record.bandwidth.penalties() if record.bandwidth else []
    return f"{percent(median(penalties))} ({percent(min(penalties))} to {percent(max(penalties))})" if penalties else ""


def _latency(record: NodeRecord, block: str) -> str:
    return next((number(found.ns) for found in record.blocks() if found.block == block), "")


def _frequency(record: NodeRecord, busy: str) -> str:
    return next((number(clock.mhz / MHZ_PER_GHZ) for clock in record.clocks if clock.busy == busy and clock.mhz), "")


def _watts(record: NodeRecord) -> str:
    watts = next((clock.watts for clock in record.clocks if clock.busy == "all cores"), {})
    return listed(f"{name} {number(value)}" for name, value in watts.items())


def _disk(record: NodeRecord, name: str) -> str:
    disk = record.disks.get(name)
    if disk and disk.same_as:
        return f"as {disk.same_as}"
    return disk_text(disk) if disk else ""


def disk_text(disk: Disk) -> str:
    """Its figures: written, read in order, and read here and there."""
    rates = (
        ("write", disk.write_mib_s, "MiB/s"),
        ("read", disk.read_mib_s, "MiB/s"),
        ("random", disk.random_read_iops, "IOPS"),
    )
    parts = [f"{name} {number(value)} {unit}" for name, value, unit in rates if value is not None]
    return ", ".join([*parts, *([] if disk.direct else ["through the page cache"])])


FIGURES: Mapping[str, Callable[[NodeRecord], str]] = {
    **{f"triad, {name}, GB/s": partial(_bandwidth, scope=scope, kernel="triad") for scope, name in SCOPES.items()},
    **{f"copy, {name}, GB/s": partial(_bandwidth, scope=scope, kernel="copy") for scope, name in SCOPES.items()},
    "lost on memory of other NUMA nodes": _penalty,
    **{f"core to core, {block}, ns": partial(_latency, block=block) for block in BLOCKS},
    "one busy core, GHz": partial(_frequency, busy="one core"),
    "all cores busy, GHz": partial(_frequency, busy="all cores"),
    "watts, all cores busy": _watts,
    "disk, work folder": partial(_disk, name="work"),
    "disk, temporary folder": partial(_disk, name="temp"),
}


# ---- test bed --------------------------------------------------------------------------------------------------


def _of_host(*parts: str) -> Callable[[NodeRecord], str]:
    return lambda record: filled(parts, texts(record.host))


def _modules(record: NodeRecord) -> str:
    kinds = Counter((one.size_gib, one.type, one.configured_mts or one.rated_mts) for one in record.test_bed.modules)
    described = []
    for (size, kind, speed), count in kinds.items():
        modules = f"{count} x {size:g} GiB" if size else counted(count, "module")
        described.append(", ".join(filter(None, (modules, kind, f"{speed:,} MT/s" if speed else ""))))
    return "; ".join(described)


def _bios(record: NodeRecord) -> str:
    bed = record.test_bed
    return ", ".join(filter(None, (bed.bios_vendor, bed.bios_version, bed.bios_date)))


TEST_BED: Mapping[str, Callable[[NodeRecord], str]] = {
    "processor": _of_host(
        *("{cpu_model}", "family {cpu_family}", "model {cpu_model_number}", "stepping {cpu_stepping}")
    ),
    "microcode": _of_host("{microcode}"),
    "system": lambda record: "; ".join(filter(None, (record.test_bed.system, record.test_bed.board))),
    "BIOS": _bios,
    "BIOS profile": lambda record: record.test_bed.profile or "",
    "memory modules": _modules,
    "memory channels with a module": lambda record: str(record.test_bed.channels or ""),
    "NUMA nodes a socket": _of_host("{numa_nodes_a_socket}"),
    "SMT": _of_host("{smt}"),
    "governor": _of_host("{governor}"),
    "boost": _of_host("{boost}"),
    "kernel": _of_host("{kernel}"),
    "huge pages": _of_host("transparent: {transparent_huge_pages}", "{huge_pages} of {huge_page_mib} MiB"),
    "mitigations": _of_host("{mitigations}"),
}


# ---- side by side ----------------------------------------------------------------------------------------------


def node_grid(sides: Sequence[Side]) -> Grid | None:
    """A column a study; nothing where no study has a record of its node, or all are of one study."""
    studies = {side.study: side for side in sides if not side.published}
    records = {side.study: side.node for side in studies.values() if side.node is not None}
    if not records or len(studies) < 2:
        return None
    columns = list(records)
    groups = [
        Group(tuple(_lines(fields, [records[name] for name in columns])), title)
        for title, fields in (("measured", FIGURES), ("test bed", TEST_BED))
    ]
    silent = [f"{name} has no record of its node: 'gpd node' makes one" for name in studies if name not in records]
    warned = [f"{name}: {warning}" for name in columns for warning in records[name].warnings]
    return Grid(CAPTION, ("", *columns), tuple(groups), (NOTE, *silent, *warned), numeric=False)


def _lines(fields: Mapping[str, Callable[[NodeRecord], str]], records: Sequence[NodeRecord]) -> list[Line]:
    shown = [(name, [show(record) for record in records]) for name, show in fields.items()]
    return [Line(name, tuple(map(Entry, texts))) for name, texts in shown if any(texts)]


def described(record: NodeRecord) -> dict[str, Any]:
    """The medians of a record, for JSON."""
    drawn = record.bandwidth
    scopes = {scope: drawn.place(scope) for scope in SCOPES} if drawn else {}
    return {
        "bandwidth_mb_s": {
            scope: {kernel: place.median(kernel) for kernel in place.mb_s} for scope, place in scopes.items() if place
        },
        "remote_penalty": median(drawn.penalties()) if drawn and drawn.penalties() else None,
        "latency_ns": {found.block: found.ns for found in record.blocks()},
        "clock_mhz": {clock.busy: clock.mhz for clock in record.clocks},
        "warnings": record.warnings,
        "missing": dict(record.missing),
    }
