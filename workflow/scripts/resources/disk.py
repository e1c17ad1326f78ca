"""About how much disk samples take, by the sizes of their read files: what each leaves, and the most while at work.

Its factors are bytes a byte of FASTQ as gzip has it. They were measured on small samples (tests/golden/disk), and tests
hold estimates to WITHIN of those. The workflow loads this file by its path; `gpd throughput` runs it.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

WITHIN = 1.3  # an estimate is at most so many times too small or too large, of measured samples
FASTQ = {".gz": 1.0, ".bam": 1.0, ".cram": 2.5}  # that a byte of a file stands for; BAM and CRAM were not measured ...
PLAIN = 0.3  # ... and of FASTQ that is not compressed

MAPPED = 0.95  # BAM of bwa's alignments
# BAM and CRAM, by recalibration
FINAL = {"none": (0.95, 0.21), "recalibrated": (1.05, 0.53), "quantized": (0.55, 0.14)}
GVCF, REBLOCKED = 0.1, 0.04
TRIMMED = 1.2  # FASTQ, compressed less; it goes once it is mapped
MARKING = {"sambamba": 0.2, "samtools": 1.7}  # temporary files where duplicates are marked
SPLICED, EXPRESSION = 0.8, 0.1  # BAM of HISAT2's alignments, and what is counted of them

MIB = 1 << 20
SMALL = {"germline": MIB, "tuxedo": 0.75 * MIB}  # of a sample: statistics, indexes ...
TABLE, TABLE_OF_FEW = 0.45 * MIB, 0.5  # ... and for each read group a recalibration table, smaller of few reads
COHORT = 8 * MIB  # of all samples together: MultiQC's page, call sets, tables
SPLICED_INDEX = 1.5  # of HISAT2 or Bowtie2, bytes a base of the genome


@dataclass(frozen=True)
class Need:
    """Bytes of a sample: what it leaves; the most at work of results, of temporary files, and of both together."""

    kept: float
    results: float
    temporary: float
    both: float
    gvcf: float = 0


def of_sample(units: Iterable[Mapping[str, str]], config: Mapping) -> Need:
    """What a sample of these units takes; files that are not there count nothing."""
    sizes = [sum(fastq_bytes(unit[column]) for column in ("fq1", "fq2", "bam") if unit.get(column)) for unit in units]
    return germline(sizes, config) if config["pipeline"] == "germline" else tuxedo(sum(sizes), config)


def fastq_bytes(path: str) -> float:
    """About how large the reads of a file are as compressed FASTQ."""
    found = Path(path)
    return found.stat().st_size * FASTQ.get(found.suffix, PLAIN) if found.exists() else 0


def germline(sizes: Iterable[float], config: Mapping) -> Need:
    """Each alignment stays until the next is made of it, beside its own shards where that step scatters."""
    sizes, recalibrates = list(sizes), config["bqsr"] != "none"
    fastq = sum(sizes)
    bam, cram = FINAL["none" if not recalibrates else "quantized" if config["quantize"] else "recalibrated"]
    aligned = cram if config["alignment_format"] == "cram" else bam
    gvcf = REBLOCKED if config["reblock"] else GVCF if config["gvcf"] else 0
    shards = 1 if config["scatter"] == "none" else 2
    final = MAPPED + shards * bam if recalibrates else 0
    realigned = MAPPED * (1 + shards) if config["realigner"] != "none" else 0
    unpacked = MAPPED if config["bam_input"] == "remap" else 0  # reads of a BAM or CRAM file, by name
    marking = MARKING[config["duplicates"]]
    trimmed = TRIMMED if config["trim"] != "none" else 0
    results = max(2 * MAPPED, final, realigned, trimmed + MAPPED)
    both = max(results, MAPPED * 2 + max(marking, unpacked, trimmed))
    small = SMALL["germline"] + sum(min(TABLE, TABLE_OF_FEW * size) for size in sizes if recalibrates)
    made = (aligned + gvcf, results, max(MAPPED + unpacked, marking), both)
    kept, results, temporary, both = (share * fastq for share in made)
    return Need(kept + small, results + small, temporary, both + small, gvcf * fastq)


def tuxedo(fastq: float, config: Mapping) -> Need:
    """HISAT2's sorter has temporary files; of TopHat's alignments there is a copy until they are proved to be whole."""
    aligned, small = SPLICED * fastq, SMALL["tuxedo"]
    trimmed = TRIMMED * fastq if config["trim"] != "none" else 0
    kept, twice = aligned + EXPRESSION * fastq + small, 2 * aligned + small
    if config["aligner"] == "tophat2":
        return Need(kept, twice + trimmed, 0, twice + trimmed)
    return Need(kept, max(kept, aligned + trimmed + small), aligned, twice + trimmed)


def shared(config: Mapping, genome: float, needs: Iterable[Need], mapper_index: float) -> float:
    """What there is once for all samples, bytes: the reference with its index, and GenomicsDB of a joint call set.

    `genome` are its bases, `mapper_index` the bytes of the mapper's index for each.
    """
    germline = config["pipeline"] == "germline"
    own_index = germline and config["reference"]["bwa_index"]
    index = 0 if own_index else mapper_index if germline else SPLICED_INDEX
    joint = germline and config["calling"] == "joint" and config["gatk"] == "gatk4"
    genomes = 1 + (germline and bool(config["cram_reference"]))
    return genome * (genomes + index) + (sum(need.gvcf for need in needs) if joint else 0) + COHORT


if __name__ == "__main__":  # a file with a configuration and the units of each sample
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    needs = {sample: asdict(of_sample(units, asked["config"])) for sample, units in asked["samples"].items()}
    print(json.dumps({"within": WITHIN, "samples": needs}))
