"""The cohorts that faults are tried on, so small that a step takes seconds, each run once undisturbed.

In each there is a sample that is struck, S1, and one beside it to which nothing is done, H1.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import yaml
from conftest import Cohort, Ran, one_contig_cohort, random_sequence, sample_pairs, snakemake, write_fastq
from tuxedo_cohort import GENES, Experiment

from gpd.lab import digests

STRUCK, HEALTHY = "S1", "H1"
STALL_S = 8  # no job of these is idle for so long
UNREAD_BYTES = 8 << 20  # larger files are not read before the start; long comments get there with few reads
MANY_PAIRS, COMMENT = 8000, "x" * 1000
ONE_THREAD = ("--max-threads", "1", "--keep-going", "--notemp", "--rerun-incomplete")


@dataclass(frozen=True)
class Kind:
    """A cohort: how it is made, and the rules of its pipeline in their order, with the results of each.

    Results of a rule are of each sample, where {sample} is in them, or of the cohort. `source`: a cohort that is run
    before, and goes on as this one. `last`: the rule up to which it is run.
    """

    name: str
    make: Callable[[Path], None]
    rules: dict[str, tuple[str, ...]]
    last: str
    samples: tuple[str, ...] = (STRUCK, HEALTHY)
    source: str = ""

    def results(self, rule: str, sample: str = "") -> list[str]:
        """The results of a rule: those of a sample, or of all."""
        samples = (sample,) if sample else self.samples
        return list(dict.fromkeys(path.format(sample=each) for path in self.rules[rule] for each in samples))

    def from_rule_on(self, rule: str) -> list[str]:
        names = list(self.rules)
        return names[names.index(rule) : names.index(self.last) + 1]

    def run(self, folder: Path, until: str) -> Ran:
        return snakemake(folder, *arguments_until(self, until))


def arguments_until(kind: Kind, *rules: str) -> tuple[str, ...]:
    """What Snakemake is told to make: the results of these rules."""
    return (*ONE_THREAD, "--", *dict.fromkeys(path for rule in rules for path in kind.results(rule)))


# ---- germline -------------------------------------------------------------------------------------------------------


def pairs(genome: str, number: int, count: int = 400) -> tuple[list, list]:
    """Reads of a sample that has a variant of its own every 700 bases."""
    at = range(300 + 50 * number, len(genome), 700)
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}
    changed = "".join(other[base] if place in at else base for place, base in enumerate(genome))
    return sample_pairs(changed, count, seed=10 + number)


def add_pairs(made: Cohort, sample: str, reads: tuple[list, list], level: int = 6) -> None:
    files = {}
    for column, mates in zip(("fq1", "fq2"), reads, strict=True):
        path = write_fastq(made.folder / "reads" / f"{sample}_{column}.fq.gz", mates, level)
        files[column] = path.relative_to(made.folder)
    made.add_unit(sample, "L1", **files)


def many(reads: tuple[list, list]) -> tuple[list, list]:
    """The reads with comments that make their files large."""
    first, second = ([(f"{name} {COMMENT}", bases) for name, bases in mates] for mates in reads)
    return first, second


def germline(folder: Path, *, large: bool = False) -> None:
    made, genome = one_contig_cohort(folder, 5000, seed=5)
    made.config |= {"scatter": "none"}
    for number, sample in enumerate((STRUCK, HEALTHY)):
        if large and sample == STRUCK:
            add_pairs(made, sample, many(pairs(genome, number, MANY_PAIRS)), level=0)
        else:
            add_pairs(made, sample, pairs(genome, number))
    made.write()


def joint(folder: Path) -> None:
    """The germline cohort, called jointly."""
    config = folder / "config/config.yaml"
    config.write_text(f"{config.read_text()}calling: joint\n")


def aligned(folder: Path) -> None:
    """S1 comes as a BAM file, C1 as a CRAM file."""
    made, genome = one_contig_cohort(folder, 5000, seed=5)
    made.config["bam_input"] = "remap"
    (folder / "reads").mkdir()
    for number, (sample, ending) in enumerate(((STRUCK, "bam"), ("C1", "cram"))):
        rows = unmapped(pairs(genome, number, 4000))
        write = ["samtools", "view", "-O", ending, "-T", "genome.fa", "-o", f"reads/{sample}.{ending}", "-"]
        subprocess.run(write, cwd=folder, input=rows.encode(), check=True, capture_output=True)
        made.add_unit(sample, "L1", bam=f"reads/{sample}.{ending}")
    (folder / "genome.fa.fai").unlink(missing_ok=True)
    add_pairs(made, HEALTHY, pairs(genome, 3))
    made.write()


def unmapped(reads: tuple[list, list]) -> str:
    """Reads as SAM of no place."""
    rows = (
        f"{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{'I' * len(bases)}\n"
        for mates in zip(*reads, strict=True)
        for flag, (name, bases) in zip((77, 141), mates, strict=True)
    )
    return "@HD\tVN:1.6\tSO:unsorted\n" + "".join(rows)


REFERENCE = {
    "reference": ("results/reference/genome.fa", "results/reference/genome.dict"),
    "bwa_index": tuple(f"results/reference/genome.fa.{part}" for part in ("amb", "ann", "bwt", "pac", "sa")),
    "indexed_vcf": ("results/reference/vcf/known_sites_1.vcf.gz",),
}
MAPPED = "results/map_and_sort/{sample}/L1"
MAPPING = REFERENCE | {
    "map_and_sort": (f"{MAPPED}.bam", f"{MAPPED}.bam.bai", f"{MAPPED}.json"),
    "mark_duplicates": ("results/mark_duplicates/{sample}.bam", "results/mark_duplicates/{sample}.bam.bai"),
}
SAMPLES = MAPPING | {
    "base_recalibrator": ("results/base_recalibrator/{sample}.table",),
    "base_recalibration": ("results/base_recalibration/{sample}.bam", "results/base_recalibration/{sample}.bai"),
    "haplotype_caller": (
        "results/haplotype_caller/{sample}.g.vcf.gz",
        "results/haplotype_caller/{sample}.g.vcf.gz.tbi",
    ),
}


def calls(callset: str) -> dict[str, tuple[str, ...]]:
    return {
        rule: (f"results/{rule}/{callset}.vcf.gz", f"results/{rule}/{callset}.vcf.gz.tbi")
        for rule in ("genotype_gvcfs", "hard_filter")
    }


CALLED = SAMPLES | calls("{sample}")
JOINT = {
    "genomics_db_import": ("results/genomics_db_import/1of1",),
    "genotype_interval": ("results/genotype_interval/1of1.vcf.gz",),
    "gather_genotypes": calls("cohort")["genotype_gvcfs"],
    "hard_filter_interval": ("results/hard_filter_interval/1of1.vcf.gz",),
    "gather_hard_filter": calls("cohort")["hard_filter"],
}
RECALIBRATED = CALLED | {
    "variant_recalibration": tuple(  # the indels' are made by a job of their own
        f"results/variant_recalibration/{{sample}}.snps.{ending}" for ending in ("recal", "recal.idx", "tranches")
    ),
    "apply_variant_recalibration": (
        "results/apply_variant_recalibration/{sample}.vcf.gz",
        "results/apply_variant_recalibration/{sample}.vcf.gz.tbi",
    ),
}
ANNOTATIONS = {"QD": (20, 3), "FS": (3, 1), "SOR": (1, 0.3), "MQRankSum": (0, 1), "ReadPosRankSum": (0, 1)}
SNPS, INDELS = range(2, 4900, 4), range(4, 4900, 12)  # where calls are


def recalibrated(folder: Path) -> None:
    """The germline cohort with calls enough for VQSR's models in place of its own, drawn at random."""
    genome = "".join((folder / "genome.fa").read_text().split("\n")[1:])
    for number, sample in enumerate((STRUCK, HEALTHY)):
        write_calls(folder, f"results/genotype_gvcfs/{sample}.vcf.gz", sample, genome, Random(number))
    write_calls(folder, "training.vcf.gz", STRUCK, genome, Random(9))
    trained = {"vcf": "training.vcf.gz", "training": True, "truth": True, "prior": 12}
    model = {"resources": {"simulated": trained}, "max_gaussians": 1, "annotations": [*ANNOTATIONS]}
    config = folder / "config/config.yaml"
    config.write_text(config.read_text() + yaml.safe_dump({"filter": "vqsr", "vqsr": {"snps": model, "indels": model}}))


def write_calls(folder: Path, name: str, sample: str, genome: str, draw: Random) -> None:
    """SNPs and indels whose annotations vary; a tenth are bad in all of them."""
    head = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID=chr1,length={len(genome)}>",
        *(f'##INFO=<ID={each},Number=1,Type=Float,Description="">' for each in ANNOTATIONS),
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{sample}",
    ]
    rows = [call(at, genome[at - 1], at in INDELS, draw) for at in sorted({*SNPS, *INDELS})]
    written = subprocess.run(
        ["bcftools", "view", "-O", "z", "-o", name, "-"], cwd=folder, input="\n".join([*head, *rows, ""]).encode()
    )
    written.check_returncode()
    subprocess.run(["bcftools", "index", "--tbi", "--force", name], cwd=folder, check=True)


def call(position: int, base: str, indel: bool, draw: Random) -> str:
    worse = 4 if draw.random() < 0.1 else 0
    values = (f"{name}={draw.gauss(mean - worse * spread, spread):.3f}" for name, (mean, spread) in ANNOTATIONS.items())
    other = "A" if base != "A" else "C"
    return f"chr1\t{position}\t.\t{base}\t{base * indel}{other}\t100\t.\t{';'.join(values)}\tGT\t0/1"


# ---- tuxedo ---------------------------------------------------------------------------------------------------------

QUIET = {  # what takes cuffdiff long, and what it would draw at random
    "cuffdiff": {"dispersion_method": "poisson", "min_alignment_count": 1},
}


REPLICATES = (STRUCK, "S2", HEALTHY, "H2")  # without any, cuffdiff fits a model for minutes


def tuxedo(folder: Path, samples: tuple[str, ...] = REPLICATES, *, large: bool = False) -> None:
    genome = random_sequence(2000, seed=1)
    (folder / "genome.fa").write_text(f">chr1\n{genome}\n")
    (folder / "genes.gtf").write_text(GENES)
    config = {"pipeline": "tuxedo", "reference": {"fasta": "genome.fa"}, "annotation": "genes.gtf", **QUIET}
    made = Experiment(folder, config, conditions={sample: sample[0].lower() for sample in samples})
    for number, sample in enumerate(samples):
        spliced = genome[100:400] + genome[600:900]
        first, second = sample_pairs(spliced, 200, seed=20 + number)
        more = sample_pairs(genome[1200:1900], 100 * (number + 1), seed=30 + number)
        # of the gene on the other strand the other way round: one library type
        reads = first + [(f"x{name}", bases) for name, bases in more[1]]
        mates = second + [(f"x{name}", bases) for name, bases in more[0]]
        if large and sample == STRUCK:
            add_pairs(made, sample, many(sample_pairs(spliced, MANY_PAIRS, seed=40)), level=0)
        else:
            add_pairs(made, sample, (reads, mates))
    made.write()


TABLES = ("gene_exp.diff", "isoform_exp.diff", "genes.fpkm_tracking", "genes.read_group_tracking", "splicing.diff")
ALIGNED = {
    "reference": REFERENCE["reference"],
    "annotation": ("results/reference/genes.gtf",),
    "splice_sites": ("results/reference/splice_sites.tsv",),
    "hisat2_index": tuple(f"results/reference/genome.{part}.ht2" for part in range(1, 9)),
    "align": tuple(f"results/align/{{sample}}.{ending}" for ending in ("bam", "bam.bai", "json", "summary.txt")),
}

COMPARED = ALIGNED | {
    "assemble": ("results/assemble/{sample}.gtf",),
    "merge": ("results/merge/transcripts.gtf",),
    "quantify": ("results/quantify/{sample}.cxb",),
    "differential_expression": tuple(f"results/differential_expression/{table}" for table in TABLES),
}


PLOTS = ("results/visualize",)


def unchanged(folder: Path) -> None:
    """The experiment goes on as it is."""


QUALITY = {"depth": ("results/depth/{sample}.txt", "results/depth/distribution/{sample}.txt")}
LIBRARY = {
    "read_features": ("results/read_features/{sample}.json",),
    "gene_counts": ("results/gene_counts/{sample}.tsv",),
    "quality": ("results/qc/samples.tsv",),
}

KINDS = {
    kind.name: kind
    for kind in (
        Kind("germline", germline, CALLED, "hard_filter"),
        Kind("recalibrated", recalibrated, RECALIBRATED, "apply_variant_recalibration", source="germline"),
        Kind(
            "joint",
            joint,
            SAMPLES | JOINT,
            "gather_hard_filter",
            source="germline",
        ),
        Kind("judged", unchanged, CALLED | QUALITY, "depth", source="germline"),
        Kind("judged tuxedo", unchanged, COMPARED | LIBRARY, "quality", samples=REPLICATES, source="tuxedo"),
        Kind("aligned", aligned, MAPPING, "map_and_sort", samples=(STRUCK, "C1", HEALTHY)),
        Kind("large germline", lambda folder: germline(folder, large=True), MAPPING, "map_and_sort"),
        Kind("tuxedo", tuxedo, COMPARED, "differential_expression", samples=REPLICATES),
        Kind("drawn", unchanged, COMPARED | {"visualize": PLOTS}, "visualize", samples=REPLICATES, source="tuxedo"),
        Kind("large tuxedo", lambda folder: tuxedo(folder, (STRUCK, HEALTHY), large=True), ALIGNED, "align"),
    )
}

# ---- undisturbed runs -----------------------------------------------------------------------------------------------


@cache
def undisturbed(name: str, base: Path) -> Path:
    """The folder of a cohort that was run with nothing in its way; all processes of a test run share it."""
    kind, folder = KINDS[name], base / name.replace(" ", "_")
    with lock(folder.with_suffix(".lock")):
        if not folder.exists():
            part = folder.with_suffix(".part")
            if kind.source:
                shutil.copytree(undisturbed(kind.source, base), part, symlinks=True)
            else:
                part.mkdir()
            kind.make(part)
            ran = kind.run(part, kind.last)
            assert ran.exit_code == 0, ran.output
            part.rename(folder)
    return folder


@contextmanager
def lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- what results hold ----------------------------------------------------------------------------------------------


def content(path: Path) -> object:
    """What a result holds, in a form that is the same in each run of the same data; None where it is not there.

    Indexes belong to their files, and Cuffquant's archives hold addresses of memory: what they hold is compared in
    what is made of them.
    """
    if not path.exists():
        return None
    if path.name == "visualize":
        return sorted(file.name for file in path.iterdir()), (path / "plots.tsv").read_text()
    if path.is_dir():
        return "a database"
    for ending, read in READERS.items():
        if path.name.endswith(ending):
            return read(path)
    return path.read_bytes()


def alignments(path: Path) -> list[str]:
    viewed = subprocess.run(["samtools", "view", path], capture_output=True, text=True, check=True)
    return sorted(viewed.stdout.splitlines())


def counts(path: Path) -> dict:
    """A unit's counts, whatever its files are called; another record as it is."""
    found = json.loads(path.read_text())
    return found | ({"fastq": [*found["fastq"].values()]} if "fastq" in found else {})


def sequences(path: Path) -> str:
    """A dictionary without where the reference lies."""
    return re.sub(r"\tUR:[^\t\n]*", "", path.read_text())


def calls_alone(path: Path) -> list[str]:
    """A VCF file without its header, which has the command."""
    return [line for line in path.read_text().splitlines() if not line.startswith("##")]


def there(path: Path) -> bool:
    return path.stat().st_size > 0


READERS: dict[str, Callable[[Path], object]] = {
    ".bam": alignments,
    ".vcf.gz": digests.vcf_body_digest,
    ".gtf": digests.assembly_digest,
    ".json": counts,
    ".dict": sequences,
    ".recal": calls_alone,
    **dict.fromkeys((".bai", ".tbi", ".cxb", ".idx"), there),
}


def undisturbed_base(shared_base: Path) -> Path:
    """Where undisturbed runs lie: in the folder that the processes of one test run have in common."""
    base = (shared_base.parent if "PYTEST_XDIST_WORKER" in os.environ else shared_base) / "undisturbed"
    base.mkdir(exist_ok=True)
    return base
