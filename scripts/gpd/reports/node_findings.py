"""What a report says of a node's record: tables, and the latencies as a map. Pure."""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from gpd.comparison.nodes import FIGURES, TEST_BED, gigabytes
from gpd.records.node import SCOPES, Bandwidth, Kernel, Latency, NodeRecord, Place, nearest
from gpd.reports.charts import draw_map
from gpd.reports.page import Notice, Section
from gpd.reports.study_figures import ReportFigure
from gpd.text.formats import counted, listed, number, percent
from gpd.text.grid import Entry, Grid, group

KERNELS: tuple[Kernel, ...] = ("triad", "copy")
LEAST_MAPPED, MOST_MAPPED = 3, 512  # cores: two have one pair, and of more nothing could be seen
MOST_COLUMNS = 64  # NUMA nodes
NODE_TITLE = "What the node can do"


def node_section(record: NodeRecord) -> Section:
    """What a record says, on a page. The same record gives the same section."""
    return Section(
        NODE_TITLE,
        about(record),
        tuple(figures(record)),
        tuple(grids(record)),
        notices=tuple(Notice("warning", f"{warning[:1].upper()}{warning[1:]}.") for warning in record.warnings),
    )


def about(record: NodeRecord) -> str:
    root = f" A superuser would add: {listed(record.root_adds)}." if record.root_adds else ""
    return f"Measured by gpd node, {record.start.isoformat(' ', 'minutes')}, in {record.wall_s:,.0f} s.{root}"


def grids(record: NodeRecord) -> list[Grid]:
    """The tables of a record, each where it has something to say."""
    made = (bandwidth_grid, matrix_grid, latency_grid, test_bed_grid, missing_grid)
    return [found for grid in made if (found := grid(record))]


def _grid(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str | Entry]], numbers: bool = True
) -> Grid | None:
    """A table of rows; None without any."""
    of = group(rows)
    return Grid(caption, tuple(heads), (of,), numeric=numbers) if of.lines else None


# ---- bandwidth -------------------------------------------------------------------------------------------------


def bandwidth_grid(record: NodeRecord) -> Grid | None:
    """A row a scope: its CPUs, its working set, and median and range of each kernel."""
    drawn = record.bandwidth
    if drawn is None:
        return None
    names = [f"{kernel} ({drawn.kernels[kernel]})" for kernel in KERNELS if kernel in drawn.kernels]
    heads = ("", "CPUs with a thread", "L3 in reach", "working set", *names)
    rows: list[tuple[str | Entry, ...]] = [(SCOPES[place.scope], *_place(place, drawn)) for place in drawn.places]
    return _grid(f"Memory bandwidth, GB/s ({drawn.tool}; median, range)", heads, rows)


def _place(place: Place, drawn: Bandwidth) -> Iterator[str | Entry]:
    if place.same_as:
        yield from (f"the same as {SCOPES[place.same_as]}", *[""] * (2 + len(drawn.kernels)))
        return
    yield from (place.ran_on, _mib(place.cache_mib), _mib(place.working_set_mib))
    for kernel in KERNELS:
        if kernel in drawn.kernels:
            rates = place.mb_s.get(kernel, ())
            ends = f"({gigabytes(min(rates))}-{gigabytes(max(rates))})" if len(rates) > 1 else ""
            yield Entry(gigabytes(place.median(kernel)), ends)


def _mib(size: float | None) -> str:
    return "" if size is None else f"{size:,.0f} MiB"


def matrix_grid(record: NodeRecord) -> Grid | None:
    """Bandwidth of each NUMA node's cores on each one's memory, and what they lose; too wide for many nodes."""
    drawn = record.bandwidth
    columns = sorted({remote.memory_of for remote in drawn.matrix}) if drawn else []
    if drawn is None or not 0 < len(columns) <= MOST_COLUMNS:
        return None
    known = {
        (remote.cpus_of, remote.memory_of): Entry(
            gigabytes(median(remote.mb_s)), percent(drawn.penalty(remote) or None)
        )
        for remote in drawn.matrix
    }
    rows: list[tuple[str | Entry, ...]] = [
        (f"cores of {row}", *(known.get((row, column), Entry("")) for column in columns))
        for row in sorted({remote.cpus_of for remote in drawn.matrix})
    ]
    heads = ("NUMA nodes", *(f"memory of {column}" for column in columns))
    return _grid("Bandwidth on the memory of other NUMA nodes, triad, GB/s, and the share that is lost", heads, rows)


# ---- latency, test bed ------------------------------------------------------------------------------------------


def latency_grid(record: NodeRecord) -> Grid | None:
    latency = record.latency
    if latency is None:
        return None
    rows = [
        (of.block, f"{of.pairs:,}", number(of.ns), f"{number(of.low_ns)}-{number(of.high_ns)}")
        for of in record.blocks()
    ]
    part = "" if len(latency.pairs) == latency.of_pairs else f", {len(latency.pairs):,} of {latency.of_pairs:,} pairs"
    return _grid(f"Core to core, ns (half of a round trip{part})", ("", "pairs", "median", "range"), rows)


def test_bed_grid(record: NodeRecord) -> Grid | None:
    """Clocks, watts and disks, and what the node is, a line each: all that is in no table."""
    rows = [
        (name, text)
        for name, show in {**FIGURES, **TEST_BED}.items()
        if not name.startswith(("triad", "copy", "core to core")) and (text := show(record))
    ]
    return _grid("Test bed", ("", record.host.hostname or "the node"), rows, numbers=False)


def missing_grid(record: NodeRecord) -> Grid | None:
    return _grid("Not known", ("", "why"), record.missing.items(), numbers=False)


# ---- map -------------------------------------------------------------------------------------------------------


def figures(record: NodeRecord) -> Iterator[ReportFigure]:
    """The latency from core to core."""
    if record.latency and LEAST_MAPPED <= len(record.cores) <= MOST_MAPPED:
        yield _latency_map(record, record.latency)
    elif record.latency:
        few = "have one pair, which the table has" if len(record.cores) < LEAST_MAPPED else "are too many for one"
        yield ReportFigure(f"No map of latencies: {counted(len(record.cores), 'core')} {few}.")


def _latency_map(record: NodeRecord, latency: Latency) -> ReportFigure:
    """Cores in the order of their groups, so that blocks are seen; SMT siblings on the diagonal."""
    levels = nearest(record.cores)[::-1]
    cores = sorted(record.cores, key=lambda core: ([getattr(core, level) or 0 for level in levels], core.cpus))
    place = {cpu: at for at, core in enumerate(cores) for cpu in core.cpus}
    rows = [[math.nan] * len(cores) for _ in cores]
    for first, second, ns, _, _ in latency.pairs:
        if first in place and second in place:
            rows[place[first]][place[second]] = rows[place[second]][place[first]] = ns
    groups = [(core.l3, core.numa, core.socket) for core in cores]
    edges = [at for at in range(1, len(cores)) if groups[at - 1] != groups[at]]
    labels = [str(core.cpus[0]) for core in cores]
    medians = f"Medians: {listed(f'{found.block} {number(found.ns)} ns' for found in record.blocks())}."
    drawing = draw_map("node-latency", "Latency from core to core", medians, rows, labels, edges)
    siblings = " The diagonal has the two threads of a core." if any(len(core.cpus) > 1 for core in cores) else ""
    return ReportFigure(f"{medians}{siblings} Grey: not measured. Lines part groups.", drawing)
