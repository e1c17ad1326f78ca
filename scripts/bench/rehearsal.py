"""What each step of a rehearsal took, beside what the workflow asked for: CPU time and its laws, memory, disk, time.

    python scripts/bench/rehearsal.py [--folder rehearsal-run] [--record FILE]

It reads what `make rehearsal` left, and runs nothing. `--record` keeps the jobs, without reads: `gpd size --rehearsal`
answers from that file. Where no rehearsal has run it shows the recorded one. `--smallest` does so in any case.
Beside it, it shows what `make rehearsal-cohort` and `make rehearsal-rna` left, where they have run.
"""

import re
import runpy
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow/scripts/resources"))

import runtimes  # noqa: E402
from benches import measurements  # noqa: E402
from benches.measurements import Measurement  # noqa: E402
from benches.runs import cpu_s, recorded  # noqa: E402

from gpd.errors import GpdError  # noqa: E402
from gpd.lab.snakemake_process import LEDGER  # noqa: E402
from gpd.pipelines import GERMLINE, HUMAN_30X_GIGABASES  # noqa: E402
from gpd.records.ledger import GATHER, Attempt, read_ledger  # noqa: E402
from gpd.sizing import rehearsal_machine  # noqa: E402
from gpd.sizing.rehearsal_machine import Genome, Law, Rehearsal, RehearsedJob, by_rule  # noqa: E402

RECORDED = ROOT / "tests/golden/rehearsal/rehearsal.json"
SCATTER = runpy.run_path(str(ROOT / "workflow/scripts/scatter.py"))
N_FREE, INTERVALS = "results/reference/n_free_intervals.bed", "results/reference/intervals"
SEEN = 0.25  # GiB below which a job's memory tells more of the tool's start than of its data
TABLE = ROOT / "workflow/runtimes.tsv"
QC, MOST_QC = "qc", 0.03
ENDS = {"genotype_gvcfs", "hard_filter"}  # the steps without which a run has not come to its end
HOUR, KIB = 3600, 1024


def lengths(lines: Iterable[Any]) -> Counter[str]:
    """Gigabases of the reference that lines of intervals have, by contig; runs of N do not count."""
    found = Counter[str]()
    for line in lines:
        found[line.contig] += line.bases / 1e9
    return found


def gigabases(stats: Path) -> float:
    """Those of a sample's reads, by samtools stats."""
    found = re.search(r"^SN\ttotal length:\t(\d+)", stats.read_text(), re.MULTILINE)
    if not found:
        sys.exit(f"{stats}: no output of samtools stats")
    return int(found[1]) / 1e9


class RehearsedFolder:
    """What a run left, as far as it came: its jobs, with the reference and the reads that each worked on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        last = {(each.job, each.shard): each for each in read_ledger(path / LEDGER) if each.succeeded}
        self.attempts = [each for each in last.values() if each.cpu_s is not None and each.shard != GATHER]
        self.lines = SCATTER["read_lines"](path / N_FREE)
        self.reference = lengths(self.lines)
        known = (stats for stats in path.glob("results/samtools_stats/*.txt") if self._depth(stats.stem).exists())
        self.gigabases = {stats.stem: gigabases(stats) for stats in sorted(known)}
        self.reads = {sample: self._reads(sample) for sample in self.gigabases}

    def _depth(self, sample: str) -> Path:
        return self.path / f"results/depth/{sample}.txt"

    def _reads(self, sample: str) -> Mapping[str, float]:
        """Gigabases of a sample's reads by contig, as its depth is, which counts overlapping mates once."""
        depth = pd.read_csv(self._depth(sample), sep="\t", index_col="chrom")["bases"]
        bases = {contig: depth.get(contig, 0) for contig in self.reference}
        return {contig: count / sum(bases.values()) * self.gigabases[sample] for contig, count in bases.items()}

    def _part(self, attempt: Attempt) -> tuple[str | None, Counter[str]]:
        """Which part a job worked on, of how many, and the gigabases there: a shard, or an interval of a call set."""
        if interval := attempt.wildcards.get("interval"):
            rows = (row.split("\t")[:3] for row in (self.path / INTERVALS / f"{interval}.bed").read_text().splitlines())
            return interval.replace("of", "/"), lengths(chain.from_iterable(self._within(*row) for row in rows))
        if attempt.shard is None:
            return None, self.reference
        number, count = map(int, attempt.shard.split("/"))
        return attempt.shard, lengths(SCATTER["split"](self.lines, count)[number - 1])

    def _within(self, contig: str, start: str, end: str) -> Iterator[Any]:
        """The parts of lines that lie in a region; runs of N lie evenly in each line."""
        for line in (line for line in self.lines if line.contig == contig):
            share = max(0, min(line.end, int(end)) - max(line.start, int(start))) / (line.end - line.start)
            yield line._replace(bases=line.bases * share)

    def job(self, attempt: Attempt) -> RehearsedJob:
        shard, part = self._part(attempt)
        sample = attempt.owner if attempt.owner in self.gigabases else None
        samples = [sample] if sample else list(self.gigabases) if shard else []  # an interval has reads of all
        depth = {contig: sum(self.reads[each][contig] for each in samples) / self.reference[contig] for contig in part}
        return RehearsedJob(
            step=attempt.step,
            rule=attempt.rule,
            reference_gb=round(part.total(), 6),
            cpu_s=cpu_s(attempt),
            wall_s=recorded(attempt, "wall_s"),
            sample=sample,
            shard=shard,
            gigabases=round(float(sum(depth[contig] * bases for contig, bases in part.items())), 6),
            threads=attempt.threads,
            peak_rss_mib=attempt.peak_rss_mib,
            mem_mb=attempt.mem_mb,
            read_mib=attempt.read_mib,
            write_mib=attempt.write_mib,
            peak_temporary_mib=attempt.peak_temporary_mib,
            peak_open_files=attempt.peak_open_files,
        )

    def record(self) -> Rehearsal:
        here, made = measurements.machine(), measurements.record()
        return Rehearsal(
            commit=str(made["commit"]),
            cpu=str(here["cpu"]),
            cores=int(here["threads"]),
            memory_gib=float(here["memory_gib"]),
            reference_gb=round(self.reference.total(), 6),
            gigabases={sample: round(float(bases), 6) for sample, bases in self.gigabases.items()},
            jobs=tuple(map(self.job, self.attempts)),
        )


def steps(found: Rehearsal) -> pd.DataFrame:
    """A row a rule: what its jobs took, the terms of its law, and what the workflow asks for."""
    asked = runtimes.read(TABLE, ("gatk4", "bwa"))
    return pd.DataFrame([row(rule, jobs, asked) for rule, jobs in by_rule(found.jobs).items()])


def row(rule: str, jobs: list[RehearsedJob], asked: Mapping[str, runtimes.Row]) -> dict[str, object]:
    """`asked, min` is of the job with most reads, with its margin."""
    largest, limit = max(jobs, key=lambda job: job.gigabases), asked.get(rule, asked[runtimes.OTHERS])
    start, reference, reads = terms(jobs)
    temporary = highest(job.peak_temporary_mib for job in jobs)
    peak, most = highest(job.peak_rss_mib for job in jobs), highest(job.mem_mb for job in jobs)
    return {
        "rule": rule,
        "jobs": len(jobs),
        "CPU s": round(sum(job.cpu_s for job in jobs)),
        "s a start": start and round(start, 1),
        "s a Gb of reference": reference and round(reference) if any(job.shard for job in jobs) else None,
        "s a Gb of reads": reads and round(reads, 1),
        "asked, s a Gb of reads": limit.core_s_per_gigabase if rule in asked else None,
        "longest, s": round(max(job.wall_s for job in jobs)),
        "asked, min": limit.runtime(largest.gigabases, largest.threads, scatters=False),
        "peak, GiB": peak and round(peak / KIB, 2),
        "granted, GiB": most and round(most / KIB, 2),
        "granted/peak": peak and most and round(most / peak, 1),
        "read, GiB": gibibytes(job.read_mib for job in jobs),
        "written, GiB": gibibytes(job.write_mib for job in jobs),
        "TMPDIR, GiB": temporary and round(temporary / KIB, 2),
        "open files": highest(job.peak_open_files for job in jobs),
    }


def terms(jobs: Sequence[RehearsedJob]) -> Sequence[float | None]:
    """Those of the law of jobs of which it is known what they read, where they tell one."""
    try:
        return Law.of(jobs).terms if jobs[0].sample or jobs[0].shard else (None, None, None)
    except GpdError:
        return (None, None, None)


def gibibytes(values: Iterable[float | None]) -> float | None:
    """The sum of MiB; None where one of them is not known."""
    known = list(values)
    return None if None in known else round(sum(filter(None, known)) / KIB, 2)


def highest(values: Iterable[float | None]) -> float | None:
    """The most of those that are known."""
    return max((value for value in values if value is not None), default=None)


def measure(found: Rehearsal) -> Iterator[Measurement]:
    """How much there was, what laws foretell, memory, the share of quality, and a genome of 30x."""
    yield Measurement("bases of the genome without N, Gb", (found.reference_gb,), decimals=3)
    yield Measurement("bases of reads of all samples, Gb", (sum(found.gigabases.values()),), decimals=3)
    for rule, jobs in by_rule(found.jobs, lambda job: job.shard is not None).items():
        yield from foretold(rule, jobs)
    shares = [
        job.peak_rss_mib / job.mem_mb
        for job in found.jobs
        if job.mem_mb and job.peak_rss_mib and job.peak_rss_mib / KIB > SEEN
    ]
    if shares:
        yield Measurement("peak memory of a job, of what it asks for", (max(shares),), most=1, decimals=2)
    yield from quality(found)
    yield from genome(found)


def foretold(rule: str, jobs: list[RehearsedJob]) -> Iterator[Measurement]:
    """How far the law of the other shards is off for the deepest one, and the law with it for the others.

    Nothing of a rule of which too few shards have ended yet.
    """
    deepest = max(jobs, key=lambda job: job.gigabases / job.reference_gb)
    others = [job for job in jobs if job is not deepest]
    if not others:
        return
    try:
        rest, every = Law.of(others), Law.of(jobs)
    except GpdError:
        return
    ratio = rest.predict(deepest.reference_gb, deepest.gigabases).value / deepest.cpu_s
    yield Measurement(f"{rule}: the chromosome of 30x as the rest foretells it, over measured", (ratio,), decimals=2)
    ratios = tuple(every.predict(job.reference_gb, job.gigabases).value / job.cpu_s for job in others)
    yield Measurement(f"{rule}: the rest as the law of all has it, over measured", ratios, decimals=2)


def quality(found: Rehearsal) -> Iterator[Measurement]:
    """What part of the pipeline's CPU time quality takes."""
    jobs = [job for job in found.jobs if job.step in (QC, *GERMLINE.steps)]
    if total := sum(job.cpu_s for job in jobs):
        share = sum(job.cpu_s for job in jobs if job.step == QC) / total
        yield Measurement("share of quality in CPU time", (share,), most=MOST_QC)


def genome(found: Rehearsal) -> Iterator[Measurement]:
    """Core hours of a genome of 30x by step, and in all with the ends of its interval; nothing where too little ran."""
    human = Genome(found, HUMAN_30X_GIGABASES)
    try:
        of_one = human.steps
    except GpdError as error:
        print(f"no genome of 30x yet: {error}")
        return
    for step, seconds in of_one.items():
        yield Measurement(f"a genome of 30x, extrapolated: CPU hours of {step}", (seconds.value / HOUR,), decimals=2)
    if ENDS - human.steps.keys():
        return  # of a part there is no total
    total = human.seconds
    ends = [end for end in (total.low, total.value, total.high) if end is not None]
    yield Measurement("a genome of 30x, extrapolated: CPU hours", tuple(end / HOUR for end in ends), decimals=1)


def cohort_steps(attempts: Sequence[Attempt]) -> pd.DataFrame:
    """A row a rule of a cohort of small samples."""
    jobs = pd.DataFrame(
        {
            "rule": [each.rule for each in attempts],
            "cpu_s": [each.cpu_s for each in attempts],
            "wall_s": [each.wall_s for each in attempts],
            "peak": [each.peak_rss_mib and each.peak_rss_mib / KIB for each in attempts],
            "granted": [each.mem_mb and each.mem_mb / KIB for each in attempts],
            "read": [each.read_mib and each.read_mib / KIB for each in attempts],
            "written": [each.write_mib and each.write_mib / KIB for each in attempts],
            "temporary": [each.peak_temporary_mib and each.peak_temporary_mib / KIB for each in attempts],
            "files": [each.peak_open_files for each in attempts],
        }
    )
    columns = {
        "jobs": ("cpu_s", "size"),
        "CPU s": ("cpu_s", "sum"),
        "CPU s, median": ("cpu_s", "median"),
        "longest, s": ("wall_s", "max"),
        "peak, GiB": ("peak", "max"),
        "granted, GiB": ("granted", "max"),
        "read, GiB": ("read", lambda values: values.sum(skipna=False)),
        "written, GiB": ("written", lambda values: values.sum(skipna=False)),
        "TMPDIR, GiB": ("temporary", "max"),
        "open files": ("files", "max"),
    }
    return jobs.groupby("rule").agg(**columns).round(2).reset_index()


def pace(name: str, attempts: Sequence[Attempt]) -> Iterator[Measurement]:
    """Jobs, and how many of them an hour end while a run is at work, over all its starts."""
    starts: dict[str | None, list[datetime]] = {}
    for each in attempts:
        if each.start and each.end:
            starts.setdefault(each.run, []).extend((each.start, each.end))
    hours = sum((max(times) - min(times)).total_seconds() for times in starts.values()) / HOUR
    yield Measurement(f"{name}: jobs", (len(attempts),), decimals=0)
    yield Measurement(f"{name}: hours from the first job to the last, over {len(starts)} starts", (hours,), decimals=2)
    yield Measurement(f"{name}: jobs an hour", (len(attempts) / hours,), decimals=0)


def chosen(arguments: Namespace) -> tuple[str, Rehearsal]:
    """That of the folder, else the recorded one; and the heading of its steps, which tells one from the other."""
    if arguments.smallest or not (arguments.folder / LEDGER).exists():
        found = rehearsal_machine.read(RECORDED)
        kept = RECORDED.relative_to(ROOT)
        return f"steps, as recorded in {kept}: commit {found.commit}, {found.cpu}, {found.cores} threads", found
    return "steps", RehearsedFolder(arguments.folder).record()


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "rehearsal-run", help="where it ran (%(default)s)")
    for name in ("cohort", "rna"):
        text = f"where make rehearsal-{name} ran (%(default)s)"
        parser.add_argument(f"--{name}", type=Path, default=ROOT / f"rehearsal-run-{name}", help=text)
    parser.add_argument("--record", type=Path, help="write its jobs to this file, for gpd size --rehearsal")
    arguments = parser.parse_args()
    heading, found = chosen(arguments)
    if arguments.record:
        arguments.record.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    tables, figures = {heading: steps(found)}, [measure(found)]
    folders = {"genome": arguments.folder, "cohort": arguments.cohort, "RNA-Seq cohort": arguments.rna}
    for name, folder in folders.items():
        if not (folder / LEDGER).exists() or arguments.smallest:
            continue
        if folder != arguments.folder:
            attempts = [each for each in read_ledger(folder / LEDGER) if each.succeeded and each.cpu_s is not None]
            tables[name] = cohort_steps(attempts)
            figures.append(pace(name, attempts))
    outputs = {name: [name, *table.to_string(index=False, na_rep="").splitlines()] for name, table in tables.items()}
    print(*(line for lines in outputs.values() for line in lines), sep="\n")
    return measurements.finish(arguments, measurements.show(chain.from_iterable(figures)), outputs=outputs)


if __name__ == "__main__":
    sys.exit(main())
