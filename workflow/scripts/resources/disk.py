"""How much disk samples take: while jobs of each of their rules run, and when they are done.

It follows from the sizes of read files and of the genome, and from what the rules make, flag temp() and put into the
temporary folder. What these files take was measured on small samples (tests/golden/disk), and tests hold each to 25%;
who begins samples beside others keeps as much more. Where a step may scatter, it is taken to be. What TopHat writes on
its way is not in it. The workflow loads this by its path.
"""

import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
MARGIN = 1.25  # of what is predicted, for samples beside others
HEAD = 1 << 16  # bytes of a read file that are looked at ...
HEADS = 4  # ... of so many files of a cohort, which is taken to be of one kind

# of BAM and CRAM files, of which nothing is looked at; not measured
BASES_A_BYTE = {".bam": 2.0, ".cram": 5.0}
FASTQ_A_BYTE = {".bam": 1.0, ".cram": 2.5}

# of FASTQ compressed by gzip
SORTED = 0.95  # BAM of bwa's alignments, level 1
RECALIBRATED = 1.05  # with recalibrated qualities, which take more values than a newer sequencer's ...
QUANTIZED = 0.55  # ... unless they are rounded to a few
SPLICED = 0.8  # BAM of HISAT2's alignments
GVCF = 0.1
REBLOCKED = 0.4  # of the GVCF that it is made of, or less

FIRST = 0.2  # bytes of a base of BAM and of GVCF where no other read is like it: of the genome that is covered

# of the BAM file that they are made of, without that
RECALIBRATED_CRAM, QUANTIZED_CRAM, CRAM = 0.5, 0.25, 0.22
EXPRESSION = 0.1  # transcripts and counted expression, of the spliced one

# bytes of temporary files a base: sambamba notes where each pair lies (of reads of 100 bases; longer ones are fewer),
# samtools keeps all alignments
MARKING = {"sambamba": 0.125, "samtools": 1.1}

IN_MEMORY = 2.5  # bytes of a base in a sorter's memory
SAMBAMBA = 5 / 48  # of mem_mb: of a quarter (-m) it fills halves of five sixths, and writes each when it is full
SAMTOOLS = 1 / 4
READS_A_FILE, SHORT = 600_000, 100  # sambamba markdup's --overflow-list-size; bases of a read
SHARD = 16 * MIB  # the smallest shard of a BAM file (shard_mib of its rules)

# of a sample: statistics, indexes, native libraries that GATK unpacks
SMALL = {"germline": MIB, "tuxedo": 0.75 * MIB}
TABLE, TABLE_A_BASE = 0.45 * MIB, 0.4  # recalibration table: of a read group, which has so much for each base at most
COHORT = 8 * MIB  # of all samples together: MultiQC's page, call sets, tables
SPLICED_INDEX = 1.5  # of HISAT2 or Bowtie2, bytes a base of the genome


@dataclass(frozen=True)
class Reads:
    """A unit's reads: bases, bytes of their FASTQ as gzip has it, and those of the BAM or CRAM that they come from."""

    bases: float
    fastq: float
    aligned: int = 0


@dataclass(frozen=True)
class Space:
    """Bytes in the folder of results, and in that of temporary files."""

    results: float
    temporary: float = 0


@dataclass(frozen=True)
class Need:
    """What a sample takes while jobs of each rule run, what it leaves (`kept`), and of that its GVCF, bytes."""

    rules: Mapping[str, Space]
    kept: float
    gvcf: float = 0

    @property
    def results(self) -> float:
        return max(space.results for space in self.rules.values())

    @property
    def temporary(self) -> float:
        return max(space.temporary for space in self.rules.values())

    @property
    def peak(self) -> float:
        """The most of both together."""
        return max(space.results + space.temporary for space in self.rules.values())


# ---- what there is to read --------------------------------------------------------------------------


@dataclass(frozen=True)
class Density:
    """Bases, and bytes of FASTQ as gzip has it, that a byte of a FASTQ file stands for."""

    bases: float
    fastq: float


def measure(cohort: Iterable[Iterable[Mapping[str, str]]]) -> list[list[Reads]]:
    """The reads of each unit of each sample; files that are not there count nothing."""
    rows = [list(units) for units in cohort]
    paths = [row["fq1"] for units in rows for row in units if row["fq1"]]
    packed, plain = (mean_density([path for path in paths if path.endswith(".gz") == ends]) for ends in (True, False))
    return [[_reads(row, packed, plain) for row in units] for units in rows]


def mean_density(paths: Sequence[str]) -> Density:
    """That of a cohort's files of one kind: over a few of them, evenly spread."""
    some = paths[:: max(1, len(paths) // HEADS)][:HEADS]
    found = [each for each in map(density, map(_head, some)) if each.bases] or [Density(1.0, 1.0)]
    return Density(sum(each.bases for each in found) / len(found), sum(each.fastq for each in found) / len(found))


def density(head: bytes) -> Density:
    """That of a file which begins so; no bases where there is no whole record."""
    packed, unpacking = head[:2] == b"\x1f\x8b", zlib.decompressobj(31)
    try:
        text = unpacking.decompress(head) if packed else head
    except zlib.error:
        text = b""
    lines = text.split(b"\n")[:-1]
    whole = lines[: len(lines) // 4 * 4]
    if not whole:
        return Density(0, 0)
    bases, size = sum(map(len, whole[1::4])), sum(len(line) + 1 for line in whole)
    if packed:
        return Density(bases / size * len(text) / (len(head) - len(unpacking.unused_data)), 1.0)
    return Density(bases / size, len(zlib.compress(b"\n".join(whole))) / size)


def _head(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _reads(row: Mapping[str, str], packed: Density, plain: Density) -> Reads:
    if path := row["bam"]:
        kind, size = Path(path).suffix, _size(path)
        return Reads(size * BASES_A_BYTE.get(kind, 2.0), size * FASTQ_A_BYTE.get(kind, 1.0), size)
    sizes = [(_size(path), packed if path.endswith(".gz") else plain) for path in (row["fq1"], row["fq2"]) if path]
    return Reads(sum(size * of.bases for size, of in sizes), sum(size * of.fastq for size, of in sizes))


# ---- what is made of them ---------------------------------------------------------------------------


def predict(reads: Sequence[Reads], config: Mapping, sort_mb: float, genome: float) -> Need:
    """What a sample takes whose units have these reads.

    `sort_mb` is the mem_mb of the job that sorts, `genome` its bases.
    """
    if config["pipeline"] == "germline":
        rules, kept, gvcf = _germline(reads, config, sort_mb * 1e6, genome)
    else:
        rules, kept = _tuxedo(reads, config, sort_mb * 1e6)
        gvcf = 0
    small = SMALL[config["pipeline"]]
    with_small = {rule: Space(space.results + small, space.temporary) for rule, space in rules.items()}
    return Need(with_small, kept + small, gvcf)


def covered(bases: float, genome: float) -> float:
    """Bases of a genome on which reads of so many bases lie, which begin anywhere (Lander and Waterman)."""
    return genome * -math.expm1(-bases / genome)


def _germline(
    reads: Sequence[Reads], config: Mapping, memory: float, genome: float
) -> tuple[dict[str, Space], float, float]:
    """Each alignment stays until the next is made of it, beside the shards of that where it scatters."""
    fastq, recalibrates = sum(unit.fastq for unit in reads), config["bqsr"] != "none"
    table = sum(min(TABLE, TABLE_A_BASE * unit.bases) for unit in reads) if recalibrates else 0
    bases = sum(unit.bases for unit in reads)
    of_units = [SORTED * unit.fastq + FIRST * covered(unit.bases, genome) for unit in reads]
    first = FIRST * covered(bases, genome)
    mapped, called = SORTED * fastq + first, GVCF * fastq + first
    gvcf = REBLOCKED * called if config["reblock"] else called
    of_fastq, of_bam = SORTED, CRAM
    if recalibrates:
        of_fastq, of_bam = (QUANTIZED, QUANTIZED_CRAM) if config["quantize"] else (RECALIBRATED, RECALIBRATED_CRAM)
    final = of_fastq * fastq + first
    cram = of_bam * of_fastq * fastq if config["alignment_format"] == "cram" else 0
    spilled = [size for size, unit in zip(of_units, reads, strict=True) if _spills(unit, memory * SAMBAMBA)]
    # samtools collate writes BAM, level 1, also of CRAM. Lanes of a sample are begun together, where there are cores
    again = [unit for unit in reads if unit.aligned and config["bam_input"] == "remap"]
    collated = [max(unit.aligned, SORTED * unit.fastq) for unit in again]
    mapping = Space(sum(of_units), sum(spilled) + sum(collated))
    rules = {
        "map_and_sort": mapping,
        "take_alignment": Space(mapped),
        "mark_duplicates": Space(sum(of_units) + mapped, MARKING[config["duplicates"]] * bases),
        "realigner_targets": Space(mapped),
        "realign_indels": Space(mapped + _shards(mapped, mapped, config)),
        "base_recalibrator": Space(mapped + table),
        "base_recalibration": Space(mapped + table + _shards(final, mapped, config)),
        "alignment": Space(table + final + called + cram),
        "haplotype_caller": Space(table + final + cram + _shards(called, final, config)),
        "reblock_gvcf": Space(table + final + cram + called + gvcf),
    }
    if config["realigner"] == "none":
        del rules["realigner_targets"], rules["realign_indels"]
    if not recalibrates:
        del rules["base_recalibrator"], rules["base_recalibration"]
    if not config["reblock"]:
        del rules["reblock_gvcf"]
    return rules, (cram or final) + gvcf + table, gvcf


def _tuxedo(reads: Sequence[Reads], config: Mapping, memory: float) -> tuple[dict[str, Space], float]:
    """Of TopHat's alignments there is a copy until they are proved to be whole."""
    whole = Reads(sum(unit.bases for unit in reads), sum(unit.fastq for unit in reads))
    aligned, hisat2 = SPLICED * whole.fastq, config["aligner"] == "hisat2"
    kept = aligned * (1 + EXPRESSION)
    rules = {
        "tophat2": Space(aligned),
        "align": Space(aligned, aligned if _spills(whole, memory * SAMTOOLS) else 0) if hisat2 else Space(2 * aligned),
        "assemble": Space(kept),
        "quantify": Space(kept),
    }
    return rules, kept


def _spills(reads: Reads, memory: float) -> bool:
    """Whether a sorter with so much memory writes what it has sorted into files, and merges these."""
    return reads.bases * IN_MEMORY > memory


def _shards(made: float, over: float, config: Mapping) -> float:
    """What a step has on the disk of what it makes: all shards beside the whole, where it may scatter (scatter.py)."""
    if config["scatter"] == "none" or (config["scatter"] == "auto" and over < 2 * SHARD):
        return made
    return 2 * made


def shared(config: Mapping, genome: float, needs: Iterable[Need], mapper_index: float) -> float:
    """What there is once for all samples, bytes: the reference with its index, and what is made of the cohort.

    `genome` are its bases, `mapper_index` the bytes of the mapper's index for each.
    """
    germline = config["pipeline"] == "germline"
    given = germline and config["reference"]["bwa_index"]
    index = 0 if given else mapper_index if germline else SPLICED_INDEX
    joint = germline and config["calling"] == "joint" and config["gatk"] == "gatk4"
    imported = sum(need.gvcf for need in needs) if joint else 0  # GenomicsDB is about as large as the GVCFs
    genomes = 1 + (germline and bool(config["cram_reference"]))
    return genome * (genomes + index) + imported + COHORT


def most_files(cohort: Iterable[Sequence[Reads]], config: Mapping, sort_mb: float) -> float:
    """The most temporary files that a tool may hold open for a sample.

    A sorter has one for each time that it filled its memory. sambamba markdup has one for so many reads that wait too
    long for their mates; how many do hangs on the library, so that all are counted, and those as short.
    """
    if config["pipeline"] != "germline":
        return max(sum(unit.bases for unit in reads) for reads in cohort) * IN_MEMORY / (sort_mb * 1e6 * SAMTOOLS)
    chunk = sort_mb * 1e6 * SAMBAMBA / IN_MEMORY  # bases
    return max(
        max(sum(unit.bases for unit in reads) / SHORT / READS_A_FILE, *(unit.bases / chunk for unit in reads))
        for reads in cohort
    )


# ---- for who admits samples -------------------------------------------------------------------------


def write(path: Path, needs: Mapping[str, Need], results: str, temporary: str, in_memory: bool = False) -> None:
    """Leave what is predicted for the scheduler and the lab, whole or not at all. `in_memory`: temporary files are."""
    predicted = {
        "results": results,
        "temporary": temporary,
        "in_memory": in_memory,
        "margin": MARGIN,
        "samples": {
            sample: {
                "kept": round(need.kept),
                "rules": {rule: [round(space.results), round(space.temporary)] for rule, space in need.rules.items()},
            }
            for sample, need in needs.items()
        },
    }
    partial = path.with_name(f"{path.name}.{os.uname().nodename}.{os.getpid()}")
    partial.write_text(json.dumps(predicted), encoding="utf-8")
    partial.replace(path)
