"""The method of a study in a dozen lines: what a number of its report is, and what it is not. Pure."""

from collections.abc import Iterator

from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.reports.grids import counted_in
from gpd.tables.collect import Tables
from gpd.tables.repeats import in_words, stops
from gpd.text.formats import counted, listed, of_copies, of_reads

BEST = (
    "The best N of a curve, in the headline, as saturation point and in comparisons, is the smallest that is as good as"
    " the best, within 0.5% and one standard error of the difference, of N without failed samples where there are any."
)
LISTED = "Its repeats are those that it was chosen by among the N listed, which flatters it a little."
SEARCHED = (
    "The N to measure were sought with single runs, one N and one curve after the other. What they gave is in no "
    "mean: the best N of each curve and its neighbours were then measured anew, all curves in one block, in shuffled "
    "order within each repeat. That block alone says which N is best, and what it gives."
)
COPIES = (
    "Genomes serve as several samples each. Their files were copied byte by byte, so that each is read from the disk "
    "and kept in memory on its own:"
)
SHARE = (
    "The reads were drawn once, before any timing, by the seed; pairs keep together. Samples a day are those of such "
    "samples, and no time of whole ones is derived from them:"
)
DEFINITIONS = (
    "Clocks: the launcher of each job records its start and end (UTC). A step's elapsed time goes from its first job's "
    "start to its last job's end over all samples; steps overlap in a shared workflow, so these need not add up.",
    "Summed step time of a step is the sum of its jobs' wall times, failed attempts included.",
    "Makespan: from the first start of a step's job to the last end, over all samples of the run.",
    "A day's genomes = 24 x samples that succeeded / makespan in hours. Gigabases count what was sequenced of them; "
    f"human genomes at 30x are gigabases / {HUMAN_30X_GIGABASES:g}.",
    "Errors are half-widths of 95% intervals of the mean over repeats: Student's t (n - 1 degrees of freedom) x sample "
    "standard deviation / square root of n. One repeat has none, and of two it is 12.7 standard errors.",
    "Outside of every timing: indexes and dictionaries of the reference, quality control, and Snakemake's own start "
    "and end.",
    "CPU utilisation = CPU seconds of the tools in the named steps / (usable threads x makespan). CPU seconds are the "
    "kernel's, of each job's whole tree of processes.",
)


def method_lines(tables: Tables) -> Iterator[str]:
    """What a reader has to know of the numbers, a line each."""
    counting, ended = counted_in(tables.runs), tables.runs
    counts = listed(str(n) for n in sorted({run.n for run in counting}))
    warm_ups, sought = sum(run.warm_up for run in ended), sum(run.seeking for run in ended)
    others = len(ended) - len(counting) - warm_ups - sought
    besides = listed(
        [
            counted(warm_ups, "warm-up"),
            *([f"{counted(sought, 'run')} that sought N"] if sought else []),
            *([f"{counted(others, 'run')} for bad samples"] if others else []),
        ]
    )
    yield (
        f"{counted(len(counting), 'run')} that ended, N = {counts or 'none'}. Means are over repeats. Shared: one "
        f"workflow for all samples; independent: one for each, side by side. {besides} besides, in no "
        "statistics."
    )
    if tables.plan and (stopped := stops(tables.plan, tables.configurations)):
        yield f"Repeats: {in_words(tables.plan.study)}; every run counts. {'; '.join(map(str, stopped))}."
    yield f"{BEST} {SEARCHED if sought else LISTED}"
    seeds = listed(sorted({str(record.spec.seed) for record in tables.records}))
    caches = listed(sorted({run.cache for run in ended})).replace("_", " ")
    if any(run.samples_per_genome > 1 for run in ended):
        yield f"{COPIES} {listed(dict.fromkeys(of_copies(run.samples_per_genome) for run in ended))}."
    if any(run.fraction < 1 for run in ended):
        yield f"{SHARE} {listed(dict.fromkeys(of_reads(run.fraction) for run in ended))}."
    yield (
        f"Samples of a run are all different, drawn from the pool with seed {seeds or 'none'}, and recorded. Page "
        f"cache at the start: {caches or 'not known'}."
    )
    yield from DEFINITIONS
    yield _pinning(tables)


def _pinning(tables: Tables) -> str:
    timed = [job for job in tables.jobs if job.timed]
    allocated = sum(job.cpus is not None for job in timed)
    proven = sum(job.binding_ok is True for job in timed)
    split = sum(run.jobs.split_jobs or 0 for run in tables.runs)
    across = f"; {counted(split, 'allocation')} crossed a boundary of caches or memory needlessly" if split else ""
    return (
        f"Pinning: {allocated:,} of {counted(len(timed), 'job')} of the steps had an allocation of CPUs, disjoint from "
        f"all others; {proven:,} were seen to keep to it{across}."
    )
