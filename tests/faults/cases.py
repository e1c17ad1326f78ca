"""The fault matrix: every case as data, in the order of the table in README.md."""

import errno
import gzip
import re
from collections.abc import Callable, Iterator

from cluster_faults import Forbidden, Full, Grown, Refused, WithoutInodes
from conftest import random_sequence
from injection import BEGINS, ENDS, WRITING, Strike
from small_cohorts import HEALTHY, KINDS, STRUCK
from trial import (
    FAILS,
    REFUSED,
    THROUGH,
    All,
    Another,
    Case,
    Clock,
    Fault,
    Filling,
    Loaded,
    Moved,
    Named,
    Nothing,
    Spoilt,
    Tool,
    Torn,
    Under,
)

KILLED_BY = {  # process: what is said of it
    "wrapper": "the launcher was killed",
    "supervisor": "the job's supervisor was killed",
    "shell": "SIGKILL",
}
ROLES = {"wrapper": "the launcher's wrapper", "supervisor": "the launcher's supervisor", "shell": "the job's bash"}


def short(kind: str) -> str:
    same = {"large germline": "germline", "recalibrated": "germline", "large tuxedo": "tuxedo", "drawn": "tuxedo"}
    same |= {"judged": "germline", "judged tuxedo": "tuxedo"}
    return same.get(kind, kind)


JOBS = {  # words of commands in which the name of the rule's first result is not
    "bwa_index": "bwa index",
    "hisat2_index": "hisat2-build-s",
    "differential_expression": "results/differential_expression",
}


def strike(kind: str, rule: str, sample: str, tool: str, deed: str, **more: object) -> Tool:
    """A strike at a tool of the job that makes a rule's results."""
    result = KINDS[kind].results(rule, sample)[0]
    return Tool(Strike(tool=tool, job=JOBS.get(rule, result), deed=deed, file=result, **more))


# ---- processes killed -----------------------------------------------------------------------------------------------


def killed(kind: str, rule: str, tool: str, moment: str | int = WRITING, sample: str = STRUCK) -> Iterator[Case]:
    """Each process of a job is killed: what watches it once the tool has written all, the tool while it does."""
    for victim in KILLED_BY:
        yield watcher_killed(kind, rule, tool, victim, ENDS, sample)
    yield tool_killed(kind, rule, tool, moment, sample=sample)


def watcher_killed(kind: str, rule: str, tool: str, victim: str, moment: str, sample: str = STRUCK) -> Case:
    return Case(
        f"{short(kind)}.{rule}.{victim}-killed",
        kind,
        rule,
        strike(kind, rule, sample, tool, "kill", what=victim, moment=moment),
        f"kill -9 {ROLES[victim]} as {tool} {moment}",
        words=(KILLED_BY[victim],),
        sample=sample,
    )


def tool_killed(
    kind: str,
    rule: str,
    tool: str,
    moment: str | int,
    *,
    sample: str = STRUCK,
    subcommand: str = "",
    what: str = "tool",
    name: str = "",
    causes: tuple[str, ...] = ("killed",),
    words: tuple[str, ...] = (),
) -> Case:
    whole_name = name or f"{tool} {subcommand}".strip()
    when = {BEGINS: "as it begins", WRITING: "as it writes", ENDS: "when it has written all"}
    return Case(
        f"{short(kind)}.{rule}.{whole_name.replace(' ', '-')}-killed",
        kind,
        rule,
        strike(kind, rule, sample, tool, "kill", what=what, moment=moment, subcommand=subcommand),
        f"kill -9 {whole_name} {when.get(moment, f'{moment} bytes into its output')}",
        causes=causes,
        words=words,
        sample=sample,
    )


COUNTING = ("tool_error", "broken_pipe", "signal")  # what counts beside the pipe: bash tells nobody of its end
KILLS = [
    tool_killed("germline", "reference", "samtools", ENDS, sample="", subcommand="faidx"),
    tool_killed("germline", "bwa_index", "bwa", ENDS, sample="", subcommand="index"),
    tool_killed("germline", "indexed_vcf", "bcftools", ENDS, sample="", subcommand="view"),
    *killed("germline", "map_and_sort", "sambamba"),
    tool_killed("germline", "map_and_sort", "bwa", 20_000),
    tool_killed("germline", "map_and_sort", "samtools", 1000, subcommand="view"),
    tool_killed("germline", "map_and_sort", "tee", 1000),
    tool_killed("germline", "map_and_sort", "samtools", BEGINS, subcommand="flagstat", causes=COUNTING),
    tool_killed("germline", "map_and_sort", "gzip", 1000, causes=COUNTING, words=("S1_fq",)),
    tool_killed(
        "germline",
        "map_and_sort",
        "gzip",
        1000,
        what="parent",
        name="count_reads.py",
        causes=COUNTING,
        words=("not read to its end",),
    ),
    *killed("germline", "mark_duplicates", "sambamba"),
    *killed("germline", "base_recalibrator", "gatk"),
    *killed("germline", "base_recalibration", "gatk"),
    *killed("germline", "haplotype_caller", "gatk"),
    *killed("germline", "genotype_gvcfs", "gatk"),
    *killed("germline", "hard_filter", "gatk"),
    tool_killed("judged", "depth", "mosdepth", ENDS),
    *killed("recalibrated", "variant_recalibration", "gatk", ENDS),
    *killed("recalibrated", "apply_variant_recalibration", "gatk", ENDS),
    *killed("joint", "genomics_db_import", "gatk", sample=""),
    tool_killed("tuxedo", "annotation", "gzip", ENDS, sample=""),
    tool_killed("tuxedo", "hisat2_index", "hisat2-build-s", ENDS, sample=""),
    tool_killed(
        "judged tuxedo",
        "read_features",
        "samtools",
        1000,
        subcommand="view",
        causes=("tool_error",),
        words=("was not read to its end",),
    ),
    tool_killed("judged tuxedo", "gene_counts", "featureCounts", ENDS),
    *killed("tuxedo", "align", "hisat2-align-s", 20_000),
    tool_killed("tuxedo", "align", "samtools", 1000, subcommand="view"),
    tool_killed("tuxedo", "align", "tee", 1000),
    tool_killed("tuxedo", "align", "samtools", BEGINS, subcommand="flagstat", causes=COUNTING),
    tool_killed("tuxedo", "align", "samtools", WRITING, subcommand="sort"),
    tool_killed("tuxedo", "align", "samtools", ENDS, subcommand="index"),
    tool_killed("tuxedo", "align", "gzip", 1000, causes=COUNTING, words=("S1_fq",)),
    *killed("tuxedo", "assemble", "cufflinks", ENDS),
    *killed("tuxedo", "merge", "cuffmerge", ENDS, sample=""),
    tool_killed("tuxedo", "merge", "cufflinks", BEGINS, sample="", causes=("tool_error", "killed")),
    *killed("tuxedo", "quantify", "cuffquant", ENDS),
    *killed("tuxedo", "differential_expression", "cuffdiff", sample=""),
    tool_killed("tuxedo", "differential_expression", "sed", ENDS, sample=""),
    # its plots take R longer than all else together
    *(watcher_killed("drawn", "visualize", "Rscript", victim, BEGINS, sample="") for victim in KILLED_BY),
    tool_killed("drawn", "visualize", "Rscript", BEGINS, sample=""),
]


def snakemake_killed(kind: str, rule: str, tool: str, sample: str = STRUCK) -> Case:
    after = (rule, HEALTHY) if sample else None
    return Case(
        f"{kind}.{rule}.snakemake-killed",
        kind,
        rule,
        strike(kind, rule, sample, tool, "kill", what="snakemake", moment=ENDS, after=after),
        "kill -9 Snakemake; its lock is lifted by --unlock",
        words=("is gone",),
        sample=sample,
    )


KILLS += [
    snakemake_killed("germline", "mark_duplicates", "sambamba"),
    snakemake_killed("germline", "haplotype_caller", "gatk"),
    snakemake_killed("tuxedo", "assemble", "cufflinks"),
    snakemake_killed("tuxedo", "differential_expression", "cuffdiff", sample=""),
]

# ---- tools that say that all is well --------------------------------------------------------------------------------


def halved(
    kind: str,
    rule: str,
    tool: str,
    file: str,
    *,
    sample: str = STRUCK,
    subcommand: str = "",
    causes: tuple[str, ...] = ("broken_output",),
) -> Case:
    return Case(
        f"{short(kind)}.{rule}.half-a-result",
        kind,
        rule,
        strike(kind, rule, sample, tool, "halve", what=file, moment=ENDS, subcommand=subcommand),
        f"half of what {tool} wrote is gone, and it ends with 0",
        causes=causes,
        sample=sample,
    )


def ended(
    kind: str,
    rule: str,
    tool: str,
    moment: str | int = BEGINS,
    *,
    deed: str = "end",
    sample: str = STRUCK,
    subcommand: str = "",
    causes: tuple[str, ...] = ("tool_error", "broken_pipe"),
    words: tuple[str, ...] = (),
) -> Case:
    name = f"{tool} {subcommand}".strip()
    done = "without having done anything" if moment == BEGINS else f"after {moment} bytes of its output"
    if deed == "read_little":
        done = "once it has read a little (broken pipe)"
    return Case(
        f"{short(kind)}.{rule}.{name.replace(' ', '-')}-ends-too-soon",
        kind,
        rule,
        strike(kind, rule, sample, tool, deed, moment=moment, subcommand=subcommand),
        f"{name} ends with 0 {done}",
        causes=causes,
        words=words,
        sample=sample,
    )


LIES = [
    halved("germline", "map_and_sort", "sambamba", "results/map_and_sort/S1/L1.bam"),
    halved("germline", "mark_duplicates", "sambamba", "results/mark_duplicates/S1.bam"),
    halved("germline", "base_recalibrator", "gatk", "results/base_recalibrator/S1.table"),
    halved("germline", "base_recalibration", "gatk", "results/base_recalibration/S1.bam"),
    halved("germline", "haplotype_caller", "gatk", "results/haplotype_caller/S1.g.vcf.gz"),
    halved("germline", "hard_filter", "gatk", "results/hard_filter/S1.vcf.gz"),
    halved("recalibrated", "variant_recalibration", "gatk", "results/variant_recalibration/S1.snps.recal"),
    halved(
        "recalibrated",
        "apply_variant_recalibration",
        "gatk",
        "results/apply_variant_recalibration/snps/S1.vcf.gz",
        causes=("tool_error", "broken_output"),
    ),
    halved("tuxedo", "align", "samtools", "results/align/S1.bam", subcommand="sort", causes=("tool_error",)),
    halved("tuxedo", "assemble", "cufflinks", "{-o}/transcripts.gtf"),
    halved("tuxedo", "quantify", "cuffquant", "{-o}/abundances.cxb"),
    halved("judged tuxedo", "gene_counts", "featureCounts", "{-o}", causes=("tool_error",)),
    halved("tuxedo", "merge", "cuffmerge", "{-o}/merged.gtf", sample=""),
    halved(
        "tuxedo",
        "differential_expression",
        "cuffdiff",
        "results/differential_expression/gene_exp.diff",
        sample="",
        causes=("tool_error", "broken_output"),
    ),
    ended("germline", "map_and_sort", "bwa", 20_000),
    ended("germline", "map_and_sort", "samtools", 1000, subcommand="view"),
    ended("germline", "map_and_sort", "tee", 1000),
    ended(
        "germline",
        "map_and_sort",
        "sambamba",
        deed="read_little",
        causes=("tool_error", "broken_pipe", "broken_output"),
    ),
    ended("germline", "haplotype_caller", "gatk", causes=("broken_output",), words=("is missing",)),
    ended("tuxedo", "align", "hisat2-align-s", 20_000),
    ended("tuxedo", "align", "samtools", 1000, subcommand="view"),
    ended("tuxedo", "quantify", "cuffquant", causes=("tool_error",), words=("abundances.cxb",)),
]

# ---- what tools run out of ------------------------------------------------------------------------------------------


def starved(
    kind: str, rule: str, tool: str, deed: str, what: str, injected: str, cause: str, sample: str = STRUCK
) -> Case:
    return Case(
        f"{kind}.{rule}.{tool}-{deed.replace('_', '-')}",
        kind,
        rule,
        strike(kind, rule, sample, tool, deed, what=what),
        injected,
        causes=tuple(cause.split()),
        sample=sample,
    )


def full(kind: str, rule: str, tool: str, folder: str, disk: str, outcome: str = FAILS, **more: str) -> Case:
    """The disk of a folder is full at ten moments of the tool's work, once the sample beside has been through it."""
    subcommand, sample = more.get("subcommand", ""), more.get("sample", STRUCK)
    temporary = folder == "tmp"
    result = KINDS[kind].results(rule, sample)[0]
    after = (rule, HEALTHY) if sample else None
    return Case(
        f"{kind}.{rule}.{'temporary-folder' if temporary else 'disk'}-full",
        kind,
        rule,
        Filling(folder, Strike(tool, JOBS.get(rule, result), "watch", subcommand=subcommand, after=after), temporary),
        f"{disk} is full at ten moments of {f'{tool} {subcommand}'.strip()}",
        outcome,
        causes=("disk_full",),
        sample=sample,
    )


TEMPORARY = ("tmp", "the disk of temporary files")  # which is another than that of results


STARVED = [
    starved("germline", "map_and_sort", "bwa", "stall", "", "bwa hangs", "stalled"),
    starved("germline", "haplotype_caller", "gatk", "stall", "", "gatk hangs", "stalled"),
    starved("tuxedo", "differential_expression", "cuffdiff", "stall", "", "cuffdiff hangs", "stalled", sample=""),
    starved(
        "germline",
        "map_and_sort",
        "sambamba",
        "memory",
        "64",
        "sambamba gets no more than 64 MiB",
        "out_of_memory signal",
    ),
    starved(
        "germline", "haplotype_caller", "gatk", "memory", "1500", "gatk gets no more than 1.5 GiB", "out_of_memory"
    ),
    starved("tuxedo", "assemble", "cufflinks", "memory", "24", "cufflinks gets no more than 24 MiB", "out_of_memory"),
    starved("germline", "haplotype_caller", "gatk", "files", "64", "gatk may open 64 files", "open_file_limit"),
    starved("germline", "map_and_sort", "sambamba", "files", "4", "sambamba may open 4 files", "open_file_limit"),
    Case(
        "germline.mark_duplicates.open-files",
        "germline",
        "mark_duplicates",
        Under(("prlimit", "--nofile=64:64")),
        "Snakemake and all below it may open 64 files",
        THROUGH,
    ),
    Case(
        "tuxedo.align.open-files",
        "tuxedo",
        "align",
        Under(("prlimit", "--nofile=64:64")),
        "Snakemake and all below it may open 64 files",
        THROUGH,
    ),
    full("germline", "map_and_sort", "sambamba", "results/map_and_sort/S1", "the disk of S1's alignments"),
    full("germline", "mark_duplicates", "sambamba", "results/mark_duplicates", "the disk of marked alignments"),
    full("germline", "base_recalibrator", "gatk", "results/base_recalibrator", "the disk of recalibration tables"),
    full("germline", "haplotype_caller", "gatk", "results/haplotype_caller", "the disk of GVCFs"),
    full("tuxedo", "align", "samtools", "results/align", "the disk of alignments", subcommand="sort"),
    full(
        "tuxedo",
        "differential_expression",
        "cuffdiff",
        "results/differential_expression",
        "the disk of cuffdiff's tables",
        sample="",
    ),
    full("germline", "map_and_sort", "sambamba", *TEMPORARY),
    full("germline", "mark_duplicates", "sambamba", *TEMPORARY),
    full("germline", "haplotype_caller", "gatk", *TEMPORARY, THROUGH),
    full("tuxedo", "align", "samtools", *TEMPORARY, subcommand="sort"),
    full("tuxedo", "assemble", "cufflinks", *TEMPORARY),
    full("tuxedo", "merge", "cuffmerge", *TEMPORARY, sample=""),
    full("tuxedo", "quantify", "cuffquant", *TEMPORARY),
]

# ---- folders, clocks, other runs ------------------------------------------------------------------------------------


def deleted(id_: str, kind: str, rule: str, tool: str, what: str, moment: str, **more: object) -> Case:
    injected = f"{what} is deleted as {tool} {'begins' if moment == BEGINS else 'ends'}"
    return Case(id_, kind, rule, strike(kind, rule, STRUCK, tool, "delete", what=what, moment=moment), injected, **more)


AROUND = [
    deleted(
        "germline.mark_duplicates.input-deleted",
        "germline",
        "mark_duplicates",
        "sambamba",
        "results/map_and_sort/S1/L1.bam",
        BEGINS,
        causes=("tool_error",),
        words=("L1.bam",),
    ),
    deleted(
        "germline.map_and_sort.results-deleted",
        "germline",
        "map_and_sort",
        "sambamba",
        "results/map_and_sort/S1",
        ENDS,
        causes=("tool_error", "broken_output"),
        words=("results/map_and_sort/S1/L1",),
    ),
    deleted(
        "germline.map_and_sort.log-deleted",
        "germline",
        "map_and_sort",
        "sambamba",
        "logs/map_and_sort/S1",
        BEGINS,
        outcome=THROUGH,
    ),
    deleted(
        "tuxedo.quantify.input-deleted",
        "tuxedo",
        "quantify",
        "cuffquant",
        "results/align/S1.bam",
        BEGINS,
        causes=("tool_error",),
        words=("results/align/S1.bam",),
        beside=2,
    ),
    Case(
        "germline.mark_duplicates.clock-set-back",
        "germline",
        "mark_duplicates",
        Clock("results/map_and_sort/S1", 2),
        "the clock was set back since S1 was mapped: its alignments are of the day after tomorrow",
        causes=(),
        words=("older modification time", "S1"),
    ),
    Case(
        "germline.mark_duplicates.clock-set-forward",
        "germline",
        "mark_duplicates",
        Clock("results/map_and_sort/S1", -2),
        "the clock was set forward since S1 was mapped: its alignments are two days older than its reads",
        THROUGH,
    ),
    Case(
        "germline.base_recalibrator.another-run",
        "germline",
        "base_recalibrator",
        Another(),
        "another Snakemake is at work in the folder",
        REFUSED,
        words=("cannot be locked",),
    ),
    Case(
        "germline.mark_duplicates.torn-ledger",
        "germline",
        "mark_duplicates",
        Torn(),
        "the ledger ends in the middle of a line",
        THROUGH,
    ),
]

# ---- results of an earlier step that a power cut has spoilt ---------------------------------------------------------


def cut(data: bytes) -> bytes:
    return data[: len(data) * 95 // 100]


def flipped(data: bytes) -> bytes:
    """One bit is another, three quarters into the file."""
    at = len(data) * 3 // 4
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def left_cut(kind: str, rule: str, file: str, sample: str = STRUCK) -> Case:
    return Case(
        f"{kind}.{rule}.cut-{file.rsplit('/', 1)[1].partition('.')[2].replace('.', '-')}",
        kind,
        rule,
        Spoilt(file, half, result=True),
        f"{file} has lost its second half since it was made",
        causes=("broken_input",),
        words=(file, "delete it and start again"),
        sample=sample,
    )


LEFT_CUT = [
    left_cut("germline", "mark_duplicates", "results/map_and_sort/S1/L1.bam"),
    left_cut("germline", "base_recalibration", "results/map_and_sort/S1/L1.json"),
    left_cut("germline", "genotype_gvcfs", "results/haplotype_caller/S1.g.vcf.gz"),
    left_cut("tuxedo", "merge", "results/assemble/S1.gtf", sample=""),
    left_cut("tuxedo", "differential_expression", "results/quantify/S1.cxb", sample=""),
]

# ---- what clusters do ---------------------------------------------------------------------------------------------


def refused(kind: str, rule: str, tool: str, code: int, cause: str, subcommand: str = "") -> Case:
    result = KINDS[kind].results(rule, STRUCK)[0]
    name = errno.errorcode[code]
    return Case(
        f"{kind}.{rule}.{name}",
        kind,
        rule,
        Refused(Strike(tool, JOBS.get(rule, result), "", subcommand=subcommand), code, result),
        f"each write of {tool} to {result} fails with {name}",
        causes=(cause,),
    )


def suspended(kind: str, rule: str, tool: str, moment: str | int) -> Case:
    return Case(
        f"{kind}.{rule}.{tool}-suspended",
        kind,
        rule,
        strike(kind, rule, STRUCK, tool, "suspend", moment=moment),
        f"{tool} is stopped (SIGSTOP) at its work",
        causes=("stalled",),
    )


def at_marking(deed: str, what: str) -> Strike:
    """A deed as alignments of S1 are about to be marked, and those of H1 are."""
    after = ("mark_duplicates", HEALTHY)
    return strike("germline", "mark_duplicates", STRUCK, "sambamba", deed, what=what, after=after).strike


GROWING = f"reads/{STRUCK}_fq1.fq.gz reads/{STRUCK}_fq2.fq.gz"
MARKED = "results/mark_duplicates"
CLUSTERS = [
    refused("germline", "haplotype_caller", "gatk", errno.ESTALE, "io_error"),
    refused("germline", "base_recalibration", "gatk", errno.EDQUOT, "disk_full"),
    refused("tuxedo", "align", "samtools", errno.EIO, "io_error", "sort"),
    suspended("germline", "map_and_sort", "bwa", 20_000),
    suspended("germline", "mark_duplicates", "sambamba", WRITING),
    Case(
        "germline.map_and_sort.reads-that-grow",
        "germline",
        "map_and_sort",
        Grown(strike("germline", "map_and_sort", STRUCK, "sambamba", "grow", what=GROWING, moment=ENDS).strike),
        "both FASTQ files go on by a record once they are read",
        causes=("tool_error",),
        words=("start again when it is whole",),
    ),
    Case(
        "germline.mark_duplicates.input-forbidden",
        "germline",
        "mark_duplicates",
        Forbidden(at_marking("forbid", f"results/map_and_sort/{STRUCK}/L1.bam")),
        f"chmod 0 results/map_and_sort/{STRUCK}/L1.bam as sambamba begins",
        causes=("tool_error",),
        words=(f"results/map_and_sort/{STRUCK}/L1.bam",),
    ),
    Case(
        "germline.mark_duplicates.no-inodes",
        "germline",
        "mark_duplicates",
        WithoutInodes(at_marking("take_inodes", MARKED)),
        f"the disk of {MARKED} takes no more files",
        causes=("disk_full",),
    ),
    Case(
        "germline.map_and_sort.log-folder-full",
        "germline",
        "map_and_sort",
        Full(f"logs/map_and_sort/{STRUCK}"),
        f"the disk of {STRUCK}'s logs is full, and no other",
        causes=("disk_full",),
    ),
    *(
        Case(
            f"germline.{rule}.temporary-folder-swept",
            "germline",
            rule,
            strike("germline", rule, STRUCK, tool, "sweep"),
            f"systemd-tmpfiles removes the job's temporary folder as {tool} begins",
            causes=("tool_error",),
        )
        for rule, tool in (("map_and_sort", "sambamba"), ("haplotype_caller", "gatk"))
    ),
    left_cut("germline", "genotype_gvcfs", "results/haplotype_caller/S1.g.vcf.gz.tbi"),
    Case(
        "germline.depth.cut-bai",
        "judged",
        "depth",
        Spoilt("results/base_recalibration/S1.bai", half, result=True),
        "results/base_recalibration/S1.bai has lost its second half since it was made",
        causes=("tool_error",),
        words=("index",),
    ),
    # sambamba and GATK look at no checksum, and many a flipped bit is none that they stumble over
    Case(
        "tuxedo.read_features.intermediate-bit-flipped",
        "judged tuxedo",
        "read_features",
        Spoilt("results/align/S1.bam", flipped, result=True),
        "one bit of results/align/S1.bam is another since it was made",
        causes=("tool_error",),
        words=("results/align/S1.bam",),
    ),
]

# ---- input files ----------------------------------------------------------------------------------------------------


def unpacked(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    """A change of the lines in a gzip file, which is packed as it was: hardly, where it is large."""

    def changed(data: bytes) -> bytes:
        text = gzip.decompress(data)
        level = 0 if len(data) > len(text) else 6
        return gzip.compress(b"".join(change(text.splitlines(keepends=True))), level, mtime=0)

    return changed


def at_the_end(lines: list[bytes]) -> int:
    """Where the record begins that is near the end of the file."""
    return len(lines) // 4 * 9 // 10 * 4


def shorter_quality(lines: list[bytes]) -> list[bytes]:
    at = at_the_end(lines)
    return [*lines[: at + 3], lines[at + 3][5:], *lines[at + 4 :]]


def no_last_line(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def lost_record(lines: list[bytes]) -> list[bytes]:
    at = at_the_end(lines)
    return lines[:at] + lines[at + 4 :]


def swapped(lines: list[bytes]) -> list[bytes]:
    at = at_the_end(lines)
    return [*lines[:at], *lines[at + 4 : at + 8], *lines[at : at + 4], *lines[at + 8 :]]


def garbage(data: bytes) -> bytes:
    """What is no gzip follows what is."""
    return data + bytes(range(1, 256)) * 10


SHORTER = "a quality shorter than its sequence"
FASTQ = {  # what is wrong: how it is done, and which of the two files
    "truncated gzip": (cut, "fq1"),
    "truncated record": (unpacked(no_last_line), "fq1"),
    SHORTER: (unpacked(shorter_quality), "fq1"),
    "a mate is missing": (unpacked(lost_record), "fq2"),
    "mates out of order": (unpacked(swapped), "fq2"),
    "garbage behind the gzip data": (garbage, "fq1"),
    "a bit flipped in the deflate stream": (flipped, "fq1"),
}


BY_TOOL = {("large germline", SHORTER): "paired reads have different names"}  # what bwa says, which knows no file


def bad_fastq(kind: str, rule: str, fault: str, outcome: str) -> Case:
    change, column = FASTQ[fault]
    file = f"reads/{STRUCK}_{column}.fq.gz"
    size = "large" if outcome == FAILS else "small"
    return Case(
        f"{short(kind)}.{rule}.{size}-fastq-{fault.replace(' ', '-')}",
        kind,
        rule,
        Spoilt(file, change),
        f"{file}, {'larger' if outcome == FAILS else 'smaller'} than 8 MiB: {fault}",
        outcome,
        causes=("tool_error", "signal"),
        words=(BY_TOOL.get((kind, fault), f"{STRUCK}_fq"),),
    )


# the others of these: tests/workflow/test_bad_input.py (small files), tests/e2e/test_damaged_reads.py (germline)
SMALL = ("truncated record", SHORTER, *list(FASTQ)[-2:])
READS = [
    *(bad_fastq("germline", "map_and_sort", fault, REFUSED) for fault in SMALL),
    *(bad_fastq("large germline", "map_and_sort", fault, FAILS) for fault in SMALL),
    *(bad_fastq("large tuxedo", "align", fault, FAILS) for fault in FASTQ),
]


def in_alignment(end: bytes) -> Callable[[bytes], bytes]:
    """Cut in its middle, with the marker of an end where it ends now: what is looked at before a start is there."""
    return lambda data: data[: len(data) * 6 // 10] + end


BAM_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
CRAM_END = bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b")


def bad_alignment(form: str, fault: str, change: Callable[[bytes], bytes]) -> Case:
    sample = {"bam": STRUCK, "cram": "C1"}[form]
    return Case(
        f"germline.map_and_sort.{form}-{fault.replace(' ', '-')}",
        "aligned",
        "map_and_sort",
        Spoilt(f"reads/{sample}.{form}", change),
        f"reads/{sample}.{form}: {fault}",
        causes=("tool_error",),
        words=(f"{sample}.{form}",),
        sample=sample,
    )


ALIGNMENTS = [
    bad_alignment("bam", "a bit flipped", flipped),
    bad_alignment("bam", "cut, with an end marker", in_alignment(BAM_END)),
    bad_alignment("cram", "a bit flipped", flipped),
    bad_alignment("cram", "cut, with an end marker", in_alignment(CRAM_END)),
]


def bad_file(id_: str, kind: str, rule: str, file: str, change: Callable[[bytes], bytes], what: str) -> Case:
    """A file of the cohort's, which is looked at before any job."""
    fault = Spoilt(file, change)
    return Case(id_, kind, rule, fault, f"{file}: {what}", REFUSED, words=(file,), sample="")


FILES = [
    bad_file("germline.vcf-cut", "germline", "indexed_vcf", "known.vcf", lambda data: data[:-12], "cut in a record"),
    bad_file("germline.vcf-garbage", "germline", "indexed_vcf", "known.vcf", lambda data: b"\x07" * 500, "garbage"),
    bad_file("tuxedo.gtf-cut", "tuxedo", "annotation", "genes.gtf", lambda data: data[:-60], "cut in a line"),
    bad_file("tuxedo.gtf-garbage", "tuxedo", "annotation", "genes.gtf", lambda data: b"\x07" * 500, "garbage"),
    bad_file("germline.reference-garbage", "germline", "reference", "genome.fa", lambda data: b"\x07" * 500, "garbage"),
    bad_file("germline.reference-cut", "germline", "reference", "genome.fa", lambda data: data[:3000], "cut"),
    bad_file("tuxedo.reference-garbage", "tuxedo", "reference", "genome.fa", lambda data: b"\x07" * 500, "garbage"),
]

# ---- another genome -------------------------------------------------------------------------------------------------


def of_contig(change: Callable[[str], str]) -> Callable[[str], str]:
    """A change of the bases of the one contig that a FASTA file has."""

    def changed(text: str) -> str:
        header, bases = text.rstrip("\n").split("\n")
        return f"{header}\n{change(bases)}\n"

    return changed


GENOMES = {  # what another genome is
    "rotated": (
        of_contig(lambda bases: bases[50:] + bases[:50]),
        "the same contig, rotated by 50 bases as in another build",
    ),
    "masked": (of_contig(lambda bases: bases[: len(bases) // 2] + "N" * (len(bases) // 2)), "its second half is N"),
    "random": (of_contig(lambda bases: random_sequence(len(bases), seed=99)), "the same contig of random bases"),
}


def loaded(word: str) -> Case:
    change, what = GENOMES[word]
    return Case(
        f"germline.map_and_sort.{word}-genome-in-shared-memory",
        "germline",
        "map_and_sort",
        Loaded(change),
        f"`bwa shm` has loaded another genome.fa: {what}",
        THROUGH,
        proof="hard_filter",
    )


GENOME = [
    *(loaded(word) for word in GENOMES),
    Case(
        "germline.map_and_sort.index-of-another-genome",
        "germline",
        "map_and_sort",
        Named(lambda text: text.replace(">chr1", ">1")),
        "reference.bwa_index names an index whose contig is 1, not chr1",
        REFUSED,
        words=("reference.bwa_index", "names contig 1"),
    ),
]

# ---- hostile names --------------------------------------------------------------------------------------------------

NAMES = {
    "a-semicolon": "S1; touch pwned",
    "a-command": "$(touch pwned)",
    "backquotes": "`touch pwned`",
    "quotes": "S1'\"",
    "a-folder-above": "../S1",
    "no-ASCII": "Sé1",
    "255-letters": "AB" * 127 + "C",
    "a-leading-dash": "-S1",
}


def renamed(column: str, name: str) -> Fault:
    """S1, or its unit, has another name in the tables."""
    place = rb"(?m)^S1\b" if column == "sample_name" else rb"(?m)^(S1\t)L1\b"

    def change(data: bytes) -> bytes:
        return re.sub(place, lambda found: b"".join(found.groups()) + name.encode(), data)

    tables = ("config/units.tsv", "config/samples.tsv") if column == "sample_name" else ("config/units.tsv",)
    return All(tuple(Spoilt(table, change) for table in tables))


def bad_name(column: str, kind: str, rule: str, word: str, name: str) -> Case:
    shown = name if len(name) < 50 else f"{name[:8]}... of {len(name)} letters"
    return Case(
        f"{kind}.{column.replace('_', '-')}-with-{word}",
        kind,
        rule,
        renamed(column, name),
        f"{column} {shown}",
        REFUSED,
        words=(column, "line 2"),
    )


PATHS = {  # of R1 and R2
    "commands": ("; touch pwned;.fq.gz", "$(touch pwned)`touch pwned`.fq.gz"),
    "quotes": ("reads/a 'b\" c\\.fq.gz", "reads/é *?[x]& | > pwned.fq.gz"),
    "240-letters": ("-".join(["x" * 79] * 3) + ".fq.gz", "reads/R2 $HOME ~ !.fq.gz"),
}


def dashed(data: bytes) -> bytes:
    return data.replace(b"reads/S1_fq1", b"-rf")


FOLDER = "a 'b\" $(touch pwned); `touch pwned` é #%"
HOSTILE = [
    Case(
        "germline.fastq-path-with-a-leading-dash",
        "germline",
        "mark_duplicates",
        Spoilt("config/units.tsv", dashed),
        "reads in -rf.fq.gz",
        REFUSED,
        words=("fq1", "-rf.fq.gz", "./"),
    ),
    *(bad_name("sample_name", "germline", "mark_duplicates", word, name) for word, name in NAMES.items()),
    *(bad_name("unit_name", "germline", "mark_duplicates", word, NAMES[word]) for word in list(NAMES)[:1]),
    *(bad_name("sample_name", "tuxedo", "assemble", word, NAMES[word]) for word in list(NAMES)[:1]),
    *(
        Case(
            f"{kind}.fastq-path-with-{word}",
            kind,
            rule,
            Moved(dict(zip(("fq1", "fq2"), names, strict=True))),
            "reads in " + " and ".join(name if len(name) < 50 else f"{name[:5]}..." for name in names),
            THROUGH,
        )
        for kind, rule in (("germline", "map_and_sort"), ("tuxedo", "align"))
        for word, names in PATHS.items()
    ),
    *(
        Case(
            f"{kind}.folder-with-commands-and-quotes",
            kind,
            rule,
            Nothing(),
            f"the run's folder is called {FOLDER}",
            THROUGH,
            sample=sample,
            proof=proof,
            named=FOLDER,
        )
        for kind, rule, sample, proof in (
            ("germline", "map_and_sort", STRUCK, "haplotype_caller"),
            ("tuxedo", "annotation", "", "differential_expression"),
        )
    ),
]

PARTS = {  # of the table
    "Processes killed": KILLS,
    "Tools that end with 0 all the same": LIES,
    "Hangs, memory, open files, full disks": STARVED,
    "Folders, clocks, other runs, the ledger": AROUND,
    "Results that were cut since they were made": LEFT_CUT,
    "What clusters do": CLUSTERS,
    "Reads": READS + ALIGNMENTS,
    "Reference, known sites, annotation": FILES,
    "Another genome": GENOME,
    "Names": HOSTILE,
}
CASES = [case for cases in PARTS.values() for case in cases]
