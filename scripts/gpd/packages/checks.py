"""What a result has to be for strangers to trust it: each check a function of the study, all in one table.

A check holds, fails, or it is not known whether it holds, and says why in each case. They are what MLPerf's checks of
submissions and SPEC's run rules are for: a figure is measured and not chosen, long enough, often enough, on a machine
that is disclosed. `CHECKS` is the one list: what counts checks counts its entries.
"""

from gpd.comparison import agreement
from gpd.comparison.comparability import counted_records
from gpd.packages import stream_checks
from gpd.packages.check_verdicts import FAILS, MOST_SHOWN, UNKNOWN, Check, Found, Verdict, at, verdict
from gpd.packages.circumstance_checks import ledgers, machine, one_machine, pinning, quiet, warm_up
from gpd.packages.evidence import Evidence, Recomputed
from gpd.packages.plan_checks import chosen, complete, duration, precision
from gpd.pipelines import ALIKE, HUMAN_30X_GIGABASES, PIPELINES
from gpd.statistics.known import mean
from gpd.tables.columns import ConfigurationRow, SampleRow, StreamRow
from gpd.text.formats import counted, of_copies, of_reads, percent, some


def judge(evidence: Evidence) -> list[Verdict]:
    """Hold a package against every check, in the order of the table."""
    digests = DIGESTS.verdict(verdict(evidence.altered, ["all of them are"]))
    if evidence.study is not None:
        return [digests, *(check.verdict(check.judge(evidence.study)) for check in CHECKS[1:])]
    figures = FIGURES.verdict((FAILS, evidence.broken.splitlines()))
    unknown = UNKNOWN, ["nothing follows from these records"]
    return [digests, figures, *(check.verdict(unknown) for check in CHECKS[2:])]


def figures(found: Recomputed) -> Found:
    rows = sum(len(getattr(found.tables, table)) for table in ("jobs", "samples", "steps", "runs", "configurations"))
    alike = "the same to a millionth" if found.versions else "the same to the last digit"
    same = f"{counted(rows, 'row')} of tables, computed anew, are {alike}"
    return verdict(found.differing, [*filter(None, [found.versions]), same, *found.not_held])


def measured(found: Recomputed) -> Found:
    wrong, doubts = [], []
    samples = found.tables.samples
    rows: list[tuple[ConfigurationRow | StreamRow, list[SampleRow]]] = [
        (row, [one for one in samples if (one.pipeline, one.n, one.counted) == (row.pipeline, row.n, True)])
        for row in found.tables.configurations
        if row.human_30x_per_day.value is not None
    ]
    rows += [
        (row, [one for one in samples if one.run == row.run])
        for row in found.tables.streams
        if row.human_30x_per_day is not None
    ]
    for row, own in rows:
        if not PIPELINES[row.pipeline].genomes:
            continue
        where = at(row.curve_key, row.n)
        size = mean(one.gigabases for one in own)
        if size is None:
            doubts.append(f"{where}: how much was sequenced of its samples is not recorded")
        elif size < ALIKE * HUMAN_30X_GIGABASES:
            share = percent(size / HUMAN_30X_GIGABASES)
            wrong.append(f"{where}: 30x human genomes a day are extrapolated from samples with {share} of their bases")
    runs = counted(len(found.counted), "run")
    parts = dict.fromkeys(of_reads(run.fraction) for run in found.tables.runs if run.fraction < 1)
    well = f"every figure is of {runs} with samples of about its size"
    return verdict(
        wrong, [f"{part}, and no whole sample's time is derived from it" for part in parts] or [well], doubts
    )


def at_once(found: Recomputed) -> Found:
    wrong = []
    for record in counted_records(found.tables.records):
        spec, rows = record.spec, [sample for sample in found.tables.samples if sample.run == record.spec.name]
        says = f"{spec.name}: says {counted(spec.n, 'sample')} at once"
        ran = {name for process in record.processes for name in process.samples}
        if len(rows) != spec.n or ran != set(spec.samples):
            wrong.append(f"{says}, and {len(ran)} were run")
    if found.streams and not wrong:
        wrong += [fault for record in found.streams for fault in stream_checks.contradictions(record)]
    copies = dict.fromkeys(of_copies(run.samples_per_genome) for run in found.tables.runs if run.samples_per_genome > 1)
    well = f"{counted(len(found.counted), 'run')}, each with as many samples at once as it says"
    return verdict(wrong, [well, *copies])


def failures(found: Recomputed) -> Found:
    streamed = {record.spec.name for record in found.streams}
    samples = [sample for sample in found.tables.samples if sample.counted or sample.run in streamed]
    failed = [one for one in samples if not one.succeeded]
    wrong = [
        f"{one.run}: {one.sample} failed: {one.failed_step or 'no step'}: {one.cause or 'no cause'}" for one in failed
    ]
    return verdict(wrong, [f"none of {counted(len(samples), 'sample')} failed in a run that counts"])


def outputs_agree(found: Recomputed) -> Found:
    wrong = [
        f"{one.kind} of {some(one.samples, MOST_SHOWN)} ({one.pipeline}): {len(one.digests)} different results"
        for one in agreement.disagreements(found.tables.records)
    ]
    outputs = agreement.compared(found.tables.records)
    doubts = [] if outputs else ["no output is recorded of a sample that ran in several runs"]
    return verdict(wrong, [f"{counted(outputs, 'output')} of several runs, the same in all of them"], doubts)


DIGESTS = Check("digests", "every file is what the manifest says", lambda _: (UNKNOWN, []))
FIGURES = Check("figures", "every figure follows from the ledgers", figures)
CHECKS = (
    DIGESTS,
    FIGURES,
    Check("ledgers", "every attempt is recorded once, and no two jobs shared a CPU", ledgers),
    Check("precision", "there are enough repeats for the precision that is claimed", precision),
    Check("duration", "runs are long enough for it", duration),
    Check("measured", "nothing is extrapolated", measured),
    Check("at once", "as many samples ran at once as it says", at_once),
    Check("failures", "no sample failed in a run that counts", failures),
    Check("quiet", "nothing else was at work before runs, and on the CPUs of their jobs; none was suspended", quiet),
    Check("warm-up", "warm-up and cache state are recorded", warm_up),
    Check("outputs", "samples gave the same results wherever they ran", outputs_agree),
    Check("pinning", "jobs were seen on the CPUs allocated to them, and on no others", pinning),
    Check("machine", "the machine and the software are disclosed", machine),
    Check("one machine", "records and ledgers are of one machine", one_machine),
    Check("complete", "no run of the plan is missing, and its samples are those drawn", complete),
    Check("every run", "no run is chosen among several runs of it", chosen),
)
