"""Measure where the CPU time of GATK's walkers over one sample goes, and what their settings change.

    python scripts/bench/gatk.py [--cohorts mb1 mb5] [--repeats 3] [--changes NAME ...] [--smallest]

One simulated sample at 30x, a variant a kilobase, is mapped, recalibrated and called once. Then each walker runs on one
thread as the workflow runs it and with one thing changed, all in turns. Ratios are taken within a turn: above 1, the
change costs CPU time. Seconds of the pair-HMM and of Smith-Waterman are GATK's own count, those of compilation the
JVM's. Profiled, HaplotypeCaller's thread is sampled by Java's Flight Recorder: compilation is no part of it, and
what is in none of its parts is its start and the passing of reads between parts.

On 2 cores `mb1` takes some 20 minutes and `mb5` 80; `mb40`, a chromosome's size, a day: `--changes` tries those that it
names alone, with the walkers that have them. `--smallest` takes 20 kb. The borders of workflow/compilers.tsv are the
bench compilers' question.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from benches import cohorts, flight_recorder, measurements
from benches.cohorts import Real, Simulated
from benches.jvms import FIRST_ALONE, SECOND_ALONE
from benches.measurements import Measurement, timed
from benches.runs import Runner, run_bench

from gpd.paths import ROOT

COHORTS: Mapping[str, Simulated | Real] = {
    **{f"mb{mb}": Simulated(f"mb{mb}", samples=1, length=round(mb * 1e6), coverage=30) for mb in (0.1, 1, 5, 40)},
    "mb1_15x": Simulated("mb1_15x", samples=1, length=1_000_000, coverage=15),
    "tiny": cohorts.TINY,
}
SETTINGS: dict[str, object] = {"calling": "per_sample", "filter": "hard", "scatter": "none"}
MARKED, FINAL = "results/mark_duplicates/{sample}.bam", "results/base_recalibration/{sample}.bam"
TABLE = "results/base_recalibrator/{sample}.table"
GVCF, VCF = "results/haplotype_caller/{sample}.g.vcf.gz", "results/genotype_gvcfs/{sample}.vcf.gz"
ALIGNED = (MARKED, f"{MARKED}.bai", TABLE, FINAL, FINAL.replace(".bam", ".bai"))
BEFORE = (*ALIGNED, GVCF, f"{GVCF}.tbi", VCF, f"{VCF}.tbi")
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"
GUARDS = {"snps": "vc.isSNP()", "indels": "!vc.isSNP()"}
RECALIBRATION_HEAP, CALLING_HEAP = "-Xmx3200m", "-Xmx4800m"  # four fifths of what the rules ask for
SERIAL = "-XX:+UseSerialGC"
USUAL = f"{SERIAL} {SECOND_ALONE}"
BANDS = tuple(word for band in range(10, 100, 10) for word in ("-GQB", str(band)))
ANNOTATIONS = ("StandardAnnotation", "StandardHCAnnotation", "AS_StandardAnnotation")
ALLELE_SPECIFIC = tuple(word for group in ANNOTATIONS for word in ("-G", group))
JDK = ("--use-jdk-inflater", "--use-jdk-deflater")
AS_RUN, PROFILED = "as run", "profiled"
RECORDING, OUTPUT = "recording.jfr", "output"  # in the folder that the walkers run in
PARTS = {  # of HaplotypeCaller's thread: the method that a sample of each is in
    "assembly": "ReadThreadingAssembler.runLocalAssembly",
    "pair-HMM": "PairHMMLikelihoodCalculationEngine.computeReadLikelihoods",
    "rank-sum tests": "RankSumTest.annotate",
    "genotyping besides": "HaplotypeCallerGenotypingEngine.assignGenotypeLikelihoods",
    "reference confidence": "ReferenceConfidenceModel.calculateRefConfidence",
    "activity of loci": "HaplotypeCallerEngine.isActive",
    "reading": "AssemblyRegionIterator.next",
    "writing of the GVCF": "GVCFWriter.add",
}


@dataclass(frozen=True)
class Change:
    """What is otherwise than as the workflow runs a walker: options of the JVM in place of its own, words besides."""

    java: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walker:
    """A walker with what it reads and writes, and the changes that are tried."""

    name: str
    words: tuple[str, ...]
    output: str
    heap: str
    changes: Mapping[str, Change]

    def command(self, change: Change, output: Path) -> list[str | Path]:
        java = f"{self.heap} {change.java or USUAL}"
        written = ["-O", output] if self.output else []
        return ["gatk", "--java-options", java, self.name, *self.words, *change.words, *written]


def walkers(folder: Path, contig: str) -> Iterator[Walker]:
    """Reading alone, reading and writing, then those of the workflow; some read what the one before wrote."""
    files = (MARKED, FINAL, TABLE, GVCF, VCF)
    marked, final, table, gvcf, vcf = (str(folder / path.format(sample="DEMO01")) for path in files)
    reference = ("-R", str(folder / "results/reference/genome.fa"))
    sites = ("--known-sites", str(folder / "results/reference/vcf/known_sites_1.vcf.gz"))
    compilers = {
        "first compiler alone": Change(java=f"{SERIAL} {FIRST_ALONE}"),
        "both compilers": Change(java=SERIAL),
    }
    usual = {**compilers, "Java's own inflater and deflater": Change(words=JDK)}
    levels = {
        f"compression level {level}": Change(java=f"{USUAL} -Dsamjdk.compression_level={level}") for level in (1, 5)
    }
    start = {"one base": Change(words=("-L", f"{contig}:1-1"))}
    yield Walker("CountReads", (*reference, "-I", marked), "", RECALIBRATION_HEAP, start)
    yield Walker("PrintReads", (*reference, "-I", marked), ".bam", RECALIBRATION_HEAP, levels)
    yield Walker("BaseRecalibrator", (*reference, "-I", marked, *sites), ".table", RECALIBRATION_HEAP, usual)
    recalibrated = (*reference, "-I", marked, "--bqsr-recal-file", table)
    yield Walker("ApplyBQSR", recalibrated, ".bam", RECALIBRATION_HEAP, usual | levels)
    calling = (*reference, "-I", final, "-ERC", "GVCF", "--native-pair-hmm-threads", "1")
    changes = {
        **usual,
        "parallel collector": Change(java=f"-XX:+UseParallelGC -XX:ParallelGCThreads=1 {SECOND_ALONE}"),
        "G1 collector": Change(java=f"-XX:+UseG1GC {SECOND_ALONE}"),
        "huge pages": Change(java=f"{USUAL} -XX:+UseTransparentHugePages"),
        "heap of 1 GB": Change(java=f"{USUAL} -Xmx1g"),
        "no AppCDS archive": Change(java=f"{USUAL} -Xshare:off"),
        "bands of 10": Change(words=BANDS),
        PROFILED: Change(java=f"{USUAL} -XX:+CITime {flight_recorder.option(RECORDING)}"),
        "allele-specific annotations": Change(words=ALLELE_SPECIFIC),
    }
    yield Walker("HaplotypeCaller", calling, ".g.vcf.gz", CALLING_HEAP, changes)
    yield Walker("GenotypeGVCFs", (*reference, "-V", gvcf), ".vcf.gz", CALLING_HEAP, compilers)
    filtering = (*reference, "-V", vcf, *hard_filters())
    yield Walker("VariantFiltration", filtering, ".vcf.gz", RECALIBRATION_HEAP, compilers)


def hard_filters() -> list[str]:
    """VariantFiltration's arguments with the configuration's defaults."""
    kinds = yaml.safe_load(SCHEMA.read_text())["properties"]["hard_filters"]["properties"]
    return [
        word
        for kind, guard in GUARDS.items()
        for name, expression in kinds[kind]["default"].items()
        for word in ("--filter-name", f"{kind}_{name}", "--filter-expression", f"{guard} && ({expression})")
    ]


def first_contig(folder: Path) -> str:
    return (folder / "results/reference/genome.fa.fai").read_text().partition("\t")[0]


def with_changes(every: Iterable[Walker], names: Collection[str] | None) -> Iterator[Walker]:
    """Those that have changes of these names, with these alone; all where no names are given."""
    for walker in every:
        changes = {name: change for name, change in walker.changes.items() if names is None or name in names}
        if changes:
            yield replace(walker, changes=changes)


def measure(cohort: Simulated, folder: Path, repeats: int, changes: Collection[str] | None) -> Iterator[Measurement]:
    """Each walker as run and changed, in turns."""
    source = cohort.write(folder / "pool", 1)
    Runner(source, ("DEMO01",), SETTINGS).begin(folder / "run", BEFORE)
    for walker in with_changes(walkers(folder / "run", first_contig(folder / "run")), changes):
        yield from in_turns(f"{cohort.name}: {walker.name}", walker, folder, repeats)


def in_turns(what: str, walker: Walker, folder: Path, repeats: int) -> Iterator[Measurement]:
    cpu_s: dict[str, list[float]] = {name: [] for name in (AS_RUN, *walker.changes)}
    parts: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    for _ in range(repeats):
        for name in cpu_s:
            output, log = folder / f"{OUTPUT}{walker.output}", folder / "log"
            taken = timed(walker.command(walker.changes.get(name, Change()), output), log=log, cwd=folder)[1]
            cpu_s[name].append(taken)
            for part, share in shares(name, log.read_text(), taken, folder / RECORDING):
                parts.setdefault(part, []).append(share)
            if walker.output:
                sizes[name] = output.stat().st_size
    yield Measurement(f"{what}: CPU seconds", tuple(cpu_s[AS_RUN]), decimals=1)
    for part, found in parts.items():
        yield Measurement(f"{what}: {part}", tuple(found))
    for name in walker.changes:
        ratios = tuple(changed / plain for changed, plain in zip(cpu_s[name], cpu_s[AS_RUN], strict=True))
        yield Measurement(f"{what}, {name}: CPU time to that as run", ratios)
        if walker.output and round(sizes[name] / sizes[AS_RUN], 3) != 1:
            yield Measurement(f"{what}, {name}: bytes to those as run", (sizes[name] / sizes[AS_RUN],))


def shares(name: str, log: str, cpu_s: float, recording: Path) -> Iterator[tuple[str, float]]:
    """What is said of parts of its work: by GATK of a run as it is, by Java of one that is profiled."""
    patterns = {
        AS_RUN: {
            "pair-HMM": r"Total compute time in PairHMM computeLogLikelihoods\(\) : ([\d.]+)",
            "Smith-Waterman": r"Total compute time in .*Smith-Waterman : ([\d.]+)",
        },
        PROFILED: {"compilation": r"Total compilation time +: +([\d.]+)"},
    }
    for part, pattern in patterns.get(name, {}).items():
        if found := re.findall(pattern, log):
            yield f"{part}, of its CPU time", sum(map(float, found)) / cpu_s
    if name == PROFILED:
        for part, share in flight_recorder.shares(recording, "main", PARTS).items():
            yield f"{part}, of its thread's samples", share


def main() -> int:
    """Print the figures; none has a bound."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=COHORTS, default=["mb1", "mb5"])
    parser.add_argument("--repeats", type=int, default=3)
    names = {name for walker in walkers(Path(), "") for name in walker.changes}
    parser.add_argument("--changes", nargs="+", choices=sorted(names), metavar="NAME", help="as the page names them")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cohorts, arguments.repeats = ["tiny"], 1
    words = arguments.repeats, arguments.changes
    return run_bench(arguments, COHORTS, lambda name, folder: measure(COHORTS[name], folder, *words))


if __name__ == "__main__":
    sys.exit(main())
