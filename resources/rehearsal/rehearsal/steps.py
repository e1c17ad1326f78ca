"""What the jobs of the Snakefile beside this package make: files from files. Chromosomes are arrays of bases (.npy)."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from rehearsal import genome, variants
from rehearsal.bases import LETTERS, Bases
from rehearsal.contigs import Contig
from rehearsal.reads import RECORD_BYTES, pairs

LINE_BP = 60
BUCKETS = 64  # into which reads are dealt, to be shuffled one after the other
SHUFFLE_SEED, READS_SEED, SITES_SEED = 4, 5, 6
KNOWN_SITES = 1_000_000  # of a whole genome
DEEP = "chr21"  # the chromosome that is called in earnest
MALE_ALONE = ("chrX", "chrY")  # of which a man has one copy each
VCF_HEAD = "##fileformat=VCFv4.2\n"


@dataclass(frozen=True)
class Sample:
    """A sample: its sex, the mean depth of the chromosome that is called in earnest, and that of all others."""

    name: str
    number: int
    sex: str
    deep: float
    depth: float

    def depth_of(self, contig: Contig) -> float:
        return self.deep if contig.name == DEEP else self.depth

    def copies(self, contig: Contig) -> int:
        """How many copies of a chromosome the sample has."""
        if contig.name in MALE_ALONE:
            return {"male": 1, "female": 2 if contig.name == "chrX" else 0}[self.sex]
        return 1 if contig.name == "chrM" else 2


SAMPLES = {
    sample.name: sample
    for sample in (
        Sample("DEEP", 1, "male", 30, 0.3),
        Sample("SHALLOW1", 2, "female", 0.1, 0.1),
        Sample("SHALLOW2", 3, "male", 0.1, 0.1),
    )
}


def write_chromosome(seed: int, contig: Contig, scale: float, output: str) -> None:
    np.save(output, genome.sequence(seed, contig, scale))


def write_genome(
    seed: int, contigs: Mapping[str, Contig], scale: float, chromosomes: str, fasta: str, alt: str
) -> None:
    """The FASTA file, and the .alt file, which tells bwa where ALT and HLA contigs are from."""
    with Path(fasta).open("wb") as sequences, Path(alt).open("w") as places:
        for contig in contigs.values():
            if contig.is_chromosome:
                sequence = read_chromosome(chromosomes, contig.name)
            elif contig.is_copy:
                origin = read_chromosome(chromosomes, contig.origin)
                sequence, start = genome.copied(seed, contig, origin, scale)
                places.write(f"{contig.name}\t0\t{contig.origin}\t{start + 1}\t60\t{len(sequence)}M\t*\t0\t0\t*\t*\n")
            else:
                sequence = genome.sequence(seed, contig, scale)
            write_fasta(sequences, contig.name, sequence)


def read_chromosome(folder: str, name: str) -> Bases:
    return np.load(Path(folder, f"{name}.npy"), mmap_mode="r")


def write_fasta(file: IO[bytes], name: str, sequence: Bases) -> None:
    """Lines of LINE_BP bases."""
    letters = LETTERS[sequence]
    whole = len(letters) // LINE_BP * LINE_BP
    lines = np.full((whole // LINE_BP, LINE_BP + 1), ord("\n"), np.uint8)
    lines[:, :-1] = letters[:whole].reshape(-1, LINE_BP)
    rest = letters[whole:].tobytes()
    file.write(b">" + name.encode() + b"\n" + lines.tobytes() + (rest + b"\n" if rest else b""))


@contextmanager
def bgzip(path: str) -> Iterator[IO[bytes]]:
    """A file that is compressed as it is written. Raises CalledProcessError where bgzip fails."""
    with Path(path).open("wb") as file:
        process = subprocess.Popen(["bgzip", "-c", "-l", "1"], stdin=subprocess.PIPE, stdout=file)
        assert process.stdin
        with process.stdin:
            yield process.stdin
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, "bgzip")


# --- variants ---


def alleles(sequence: Bases, found: variants.Variants, at: int) -> tuple[str, str]:
    """REF and ALT of a variant, as VCF has them: an indel begins with the base before it."""
    start, inserted = found.start[at], found.inserted[at]
    if inserted == 0:
        return text(sequence[start : start + 1]), text(found.other[at, :1])
    if inserted < 0:
        return text(sequence[start : start + 1 - inserted]), text(sequence[start : start + 1])
    base = text(sequence[start : start + 1])
    return base, base + text(found.other[at, :inserted])


def text(bases: Bases) -> str:
    return LETTERS[bases].tobytes().decode()


def write_known_sites(seed: int, contigs: Mapping[str, Contig], chromosomes: str, output: str) -> None:
    """A part of the population's variants, drawn at random, and as many as a call set of the whole genome has."""
    rng = np.random.default_rng([seed, SITES_SEED])
    share = KNOWN_SITES * variants.EVERY_BP / 3.1e9
    with bgzip(output) as file:
        frequency = '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency in the population">\n'
        file.write((VCF_HEAD + frequency + contig_lines(contigs) + vcf_columns()).encode())
        for contig in (contig for contig in contigs.values() if contig.is_chromosome):
            sequence = read_chromosome(chromosomes, contig.name)
            found = variants.population(seed, contig.number, sequence)
            for at in np.flatnonzero(rng.random(len(found)) < share):
                ref, alt = alleles(sequence, found, at)
                frequency = f"AF={found.frequency[at]:.4f}"
                line = [contig.name, found.start[at] + 1, ".", ref, alt, ".", "PASS", frequency]
                file.write(("\t".join(map(str, line)) + "\n").encode())


def write_truth(seed: int, sample: Sample, contigs: Mapping[str, Contig], chromosomes: str, output: str) -> None:
    """The sample's genotypes on the chromosome DEEP."""
    contig, sequence = contigs[DEEP], read_chromosome(chromosomes, DEEP)
    found = variants.population(seed, contig.number, sequence)
    carried = variants.genotypes(seed, sample.number, contig.number, found, sample.copies(contig))
    with bgzip(output) as file:
        genotype = '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        file.write((VCF_HEAD + genotype + contig_lines(contigs) + vcf_columns("FORMAT", sample.name)).encode())
        for at in np.flatnonzero(carried.any(axis=0)):
            ref, alt = alleles(sequence, found, at)
            line = [contig.name, found.start[at] + 1, ".", ref, alt, ".", "PASS", ".", "GT"]
            line += ["|".join(map(str, carried[:, at].astype(int)))]
            file.write(("\t".join(map(str, line)) + "\n").encode())


def contig_lines(contigs: Mapping[str, Contig]) -> str:
    return "".join(f"##contig=<ID={name},length={contig.length}>\n" for name, contig in contigs.items())


def vcf_columns(*more: str) -> str:
    return "\t".join(("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", *more)) + "\n"


# --- reads ---


def deal_reads(seed: int, sample: Sample, contig: Contig, chromosomes: str, folder: str) -> None:
    """The sample's reads of one chromosome, each pair in a bucket at random: a file of its records for each."""
    sequence = np.asarray(read_chromosome(chromosomes, contig.name))
    found = variants.population(seed, contig.number, sequence)
    carried = variants.genotypes(seed, sample.number, contig.number, found, sample.copies(contig))
    rng = np.random.default_rng([seed, contig.number, READS_SEED, sample.number])
    Path(folder).mkdir(parents=True)
    files = [Path(folder, str(bucket)) for bucket in range(BUCKETS)]
    for file in files:
        file.touch()
    for copy, own in enumerate(carried):
        haplotype = variants.haplotype(sequence, found, own)
        prefix = f"{contig.number:02d}{copy}."  # reads.PREFIX letters
        for first, second in pairs(rng, haplotype, sample.depth_of(contig) / 2, prefix):
            both, bucket = np.hstack([first, second]), rng.integers(0, BUCKETS, len(first))
            for number, path in enumerate(files):
                with path.open("ab") as file:
                    file.write(both[bucket == number].tobytes())


def shuffle_reads(seed: int, sample: Sample, folders: Sequence[str], outputs: Sequence[str]) -> None:
    """The reads of all chromosomes in random order, as FASTQ files of both mates."""
    rng = np.random.default_rng([seed, SHUFFLE_SEED, sample.number])
    with bgzip(outputs[0]) as first, bgzip(outputs[1]) as second:
        for bucket in range(BUCKETS):
            parts = [
                np.fromfile(Path(folder, str(bucket)), np.uint8).reshape(-1, 2 * RECORD_BYTES) for folder in folders
            ]
            both = np.concatenate(parts)
            rng.shuffle(both)
            first.write(both[:, :RECORD_BYTES].tobytes())
            second.write(both[:, RECORD_BYTES:].tobytes())


def write_tables(contigs: Mapping[str, Contig], samples: str, units: str, ploidy: str) -> None:
    """The workflow's tables of samples and their files, and where a man has one copy of a chromosome."""
    rows = "".join(f"{sample.name}\t{sample.sex}\n" for sample in SAMPLES.values())
    Path(samples).write_text(f"sample_name\tsex\n{rows}")
    rows = "".join(f"{name}\tL1\treads/{name}_R1.fastq.gz\treads/{name}_R2.fastq.gz\n" for name in SAMPLES)
    Path(units).write_text(f"sample_name\tunit_name\tfq1\tfq2\n{rows}")
    Path(ploidy).write_text("".join(f"{name}\t0\t{contigs[name].length}\t1\n" for name in MALE_ALONE))
