"""The best of a pipeline, at the top of a report: where it was reached, and how large its samples are. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from gpd.pipelines import ALIKE, HUMAN_30X_GIGABASES, LEAST_ALIKE, PIPELINES
from gpd.reports.grids import counted_in, daily_of, label, mean_entry, rows
from gpd.reports.host_grid import cpu_names
from gpd.reports.page import Headline
from gpd.reports.scope import scope
from gpd.statistics.known import mean
from gpd.statistics.saturation import find_saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow, SampleRow
from gpd.text.formats import counted, listed, number, of_copies, of_reads, sentence
from gpd.text.grid import Entry

SOUGHT = "N was sought, and nothing was measured since."


def headline(pipeline: str, tables: Tables) -> Headline:
    """The curve whose best N gives the most genomes a day: one in which no sample failed, where there is any.

    The best N is that of its saturation point, as everywhere. A sample that fails early frees the machine for the
    others, so that a mean with failures is not one of N samples.
    """
    configurations = [
        configuration
        for configuration in tables.configurations
        if configuration.pipeline == pipeline and configuration.genomes_per_day.value
    ]
    if not configurations:
        measured = any(run.pipeline == pipeline for run in counted_in(tables.runs))
        why = "No sample succeeded at any N." if measured else SOUGHT
        return Headline(pipeline, Entry("none"), daily_of(pipeline, tables.runs), why, (), "")
    best = max(
        _best_configurations(configurations),
        key=lambda configuration: (not configuration.failed, _daily(configuration)),
    )
    most = max(configurations, key=_daily)
    size = _mean_gigabases(best, tables.samples)
    others = [(best.gigabases_per_day, "gigabases a day")]
    others += [(best.human_30x_per_day, "human genomes at 30x a day")] if PIPELINES[pipeline].genomes else []
    whole = " of the samples that succeeded, while others failed" if best.failed else ""
    faster = ""
    if most is not best:
        where = f"N = {most.n} ({label(most.curve_key)})"
        why = f"but there {_freed(most)}" if most.failed else "which is within the noise"
        faster = f" {where} gave {number(most.genomes_per_day.value)}, {why}."
    return Headline(
        pipeline,
        mean_entry(best.genomes_per_day),
        f"{daily_of(pipeline, [best])}{whole}{'' if size is None else f', of {number(size, 2)} gigabases each'}",
        _reached(best, tables) + faster,
        tuple((mean_entry(one), name) for one, name in others if one.value is not None),
        _scale(pipeline, size, best.fraction),
    )


def _best_configurations(configurations: Sequence[ConfigurationRow]) -> Iterator[ConfigurationRow]:
    """Each curve at its best N; of processors that are not pooled, each at its own."""
    for key, sku in dict.fromkeys((configuration.curve_key, configuration.sku) for configuration in configurations):
        own = [
            configuration
            for configuration in configurations
            if (configuration.curve_key, configuration.sku) == (key, sku)
        ]
        n = find_saturation(configuration.observation for configuration in own).best_n
        yield from (configuration for configuration in own if configuration.n == n)


def _daily(configuration: ConfigurationRow) -> float:
    return configuration.genomes_per_day.value or 0.0


def _freed(configuration: ConfigurationRow) -> str:
    return f"{counted(configuration.failed, 'sample')} failed and left the machine to the others"


def _reached(configuration: ConfigurationRow, tables: Tables) -> str:
    runs = counted_in(rows(configuration.curve_key, tables.runs))
    cores = list(dict.fromkeys(run.cores for run in runs))
    own = {run.run for run in runs if run.n == configuration.n}
    records = [record for record in tables.records if record.spec.name in own]
    names = cpu_names(records)
    cpu = f"on {listed(names) or configuration.sku or 'a CPU whose name is not known'}"
    used = f", {' or '.join(map(str, cores))} cores" if cores else ""
    error = {1: "one repeat, no interval known", 2: "mean of 2 repeats, of which there is hardly an interval"}.get(
        configuration.genomes_per_day.n,
        f"mean of {counted(configuration.repeats, 'repeat')} and half-width of its 95% interval",
    )
    failed = f"; no N was without failures, and here {_freed(configuration)}" if configuration.failed else ""
    copies = of_copies(configuration.samples_per_genome)
    at_once = f"N = {configuration.n} samples at once{copies and f' ({copies})'}"
    return f"{at_once}, {label(configuration.curve_key)}, {cpu}{used}; {error}{failed}. {scope(records)}"


def _mean_gigabases(configuration: ConfigurationRow, samples: Iterable[SampleRow]) -> float | None:
    """What a sample that succeeded at a configuration holds on average."""
    return mean(
        sample.gigabases
        for sample in counted_in(rows(configuration.curve_key, samples))
        if sample.n == configuration.n and sample.succeeded
    )


def _scale(pipeline: str, gigabases: float | None, fraction: float) -> str:
    """Say how large a sample is, so that a small one never passes for a human genome."""
    if fraction < 1:
        return f"Measured {of_reads(fraction)}: what whole samples would take does not follow."
    if gigabases is None:
        return "What a sample holds is not known, so this can't be set against other results."
    if not PIPELINES[pipeline].genomes:
        return "Samples are RNA-Seq libraries of this study; libraries of another size take another time."
    share = gigabases / HUMAN_30X_GIGABASES
    of_human = f"a sample has {number(100 * share, 2)}% of the bases of a human genome at 30x"
    if share < LEAST_ALIKE:
        return f"These are no human genomes: {of_human} ({HUMAN_30X_GIGABASES:g} gigabases). Nothing follows for one."
    if share < ALIKE:
        return (
            f"These are not whole human genomes: {of_human} ({HUMAN_30X_GIGABASES:g} gigabases). The human "
            "equivalent assumes that time grows as bases do."
        )
    return sentence(f"{of_human} ({HUMAN_30X_GIGABASES:g} gigabases)")
