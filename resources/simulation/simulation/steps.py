"""What the jobs of the Snakefile beside this package make: files from files. Chromosomes are arrays of bases (.npy)."""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from simulation import genome, reads, transcripts, variants
from simulation.bases import LETTERS, Bases
from simulation.contigs import Contig
from simulation.design import Design, Sample
from simulation.streams import Stream

LINE_BP = 60
BUCKETS = 64  # into which reads are dealt, to be shuffled one after the other
VCF_HEAD = "##fileformat=VCFv4.2\n"


def write_chromosome(of: Design, contig: Contig, output: str) -> None:
    made = genome.sequence(of.seed, contig, of.gaps(contig))
    transcripts.add_splice_sites(made, genes_of(of, contig))
    np.save(output, made)


def genes_of(of: Design, contig: Contig) -> list[transcripts.Gene]:
    return transcripts.genes(of.seed, contig, of.gaps(contig), of.genes.every_bp) if of.genes else []


def write_genome(of: Design, chromosomes: str, fasta: str, alt: str | None) -> None:
    """The FASTA file, and the .alt file, which tells bwa where ALT and HLA contigs are from."""
    places = []
    with Path(fasta).open("wb") as sequences:
        for contig in of.contigs.values():
            if contig.is_chromosome:
                sequence = read_chromosome(chromosomes, contig.name)
            elif contig.is_copy:
                origin = read_chromosome(chromosomes, contig.origin)
                sequence, start = genome.copied(of.seed, contig, origin, of.scale)
                places += [f"{contig.name}\t0\t{contig.origin}\t{start + 1}\t60\t{len(sequence)}M\t*\t0\t0\t*\t*\n"]
            else:
                sequence = genome.sequence(of.seed, contig, of.gaps(contig))
            write_fasta(sequences, contig.name, sequence)
    if alt:
        Path(alt).write_text("".join(places))


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


def write_known_sites(of: Design, chromosomes: str, output: str) -> None:
    """A part of the population's variants, drawn at random."""
    stream = Stream(of.seed, "known sites")
    with bgzip(output) as file:
        frequency = '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency in the population">\n'
        file.write((VCF_HEAD + frequency + contig_lines(of.contigs.values()) + vcf_columns()).encode())
        for contig in of.chromosomes:
            sequence = read_chromosome(chromosomes, contig.name)
            found = variants.population(of.seed, contig.number, sequence)
            for at in np.flatnonzero(stream.hits(of.known_share, len(found))):
                ref, alt = alleles(sequence, found, at)
                frequency = f"AF={found.frequency[at]:.4f}"
                line = [contig.name, found.start[at] + 1, ".", ref, alt, ".", "PASS", frequency]
                file.write(("\t".join(map(str, line)) + "\n").encode())


def write_truth(of: Design, sample: Sample, chromosomes: str, output: str) -> None:
    """The sample's genotypes on the chromosome that is called in earnest."""
    contig, sequence = of.contigs[of.deep], read_chromosome(chromosomes, of.deep)
    found = variants.population(of.seed, contig.number, sequence)
    carried = variants.genotypes(of.seed, sample.number, contig.number, found, sample.copies(contig))
    with bgzip(output) as file:
        genotype = '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        head = VCF_HEAD + genotype + contig_lines(of.contigs.values()) + vcf_columns("FORMAT", sample.name)
        file.write(head.encode())
        for at in np.flatnonzero(carried.any(axis=0)):
            ref, alt = alleles(sequence, found, at)
            line = [contig.name, found.start[at] + 1, ".", ref, alt, ".", "PASS", ".", "GT"]
            line += ["|".join(map(str, carried[:, at].astype(int)))]
            file.write(("\t".join(map(str, line)) + "\n").encode())


def contig_lines(contigs: Iterable[Contig]) -> str:
    return "".join(f"##contig=<ID={contig.name},length={contig.length}>\n" for contig in contigs)


def vcf_columns(*more: str) -> str:
    return "\t".join(("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", *more)) + "\n"


# --- reads ---


def deal_reads(of: Design, sample: Sample, contig: Contig, chromosomes: str, folder: str) -> None:
    """The sample's reads of one chromosome, each pair in a bucket at random: a file of its records where it has any."""
    sequence = np.asarray(read_chromosome(chromosomes, contig.name))
    found = variants.population(of.seed, contig.number, sequence)
    carried = variants.genotypes(of.seed, sample.number, contig.number, found, sample.copies(contig))
    stream = Stream(of.seed, "reads", contig.number, sample.number)
    Path(folder).mkdir(parents=True)
    files = [Path(folder, str(bucket)) for bucket in range(BUCKETS)]
    pairs = 0
    for copy, own in enumerate(carried):
        haplotype = variants.haplotype(sequence, found, own)
        prefix = f"{contig.number:02d}{copy}."  # reads.PREFIX letters
        for first, second in reads.pairs(stream, haplotype, of.depth(sample, contig) / 2, prefix):
            both, bucket = np.hstack([first, second]), stream.small(BUCKETS, len(first))
            pairs += len(both)
            for number in np.unique(bucket):
                with files[number].open("ab") as file:
                    file.write(both[bucket == number].tobytes())
    Path(folder, "pairs").write_text(f"{pairs}\n")  # of none, too: a folder without files would not be whole


def shuffle_reads(of: Design, sample: Sample, folders: Sequence[str], outputs: Sequence[str]) -> None:
    """The reads of all chromosomes in random order, as FASTQ files of both mates."""
    stream = Stream(of.seed, "order", sample.number)
    with bgzip(outputs[0]) as first, bgzip(outputs[1]) as second:
        for bucket in range(BUCKETS):
            files = [path for folder in folders if (path := Path(folder, str(bucket))).exists()]
            both = np.concatenate([np.empty(0, np.uint8), *(np.fromfile(path, np.uint8) for path in files)])
            both = both.reshape(-1, 2 * reads.RECORD_BYTES)
            both = both[stream.order(len(both))]
            first.write(both[:, : reads.RECORD_BYTES].tobytes())
            second.write(both[:, reads.RECORD_BYTES :].tobytes())


# --- RNA ---


def write_genes(of: Design, output: str) -> None:
    """The annotation of all chromosomes."""
    with bgzip(output) as file:
        for contig in of.chromosomes:
            file.write("".join(transcripts.gtf(genes_of(of, contig))).encode())


def write_rna_reads(of: Design, sample: Sample, chromosomes: str, outputs: Sequence[str]) -> None:
    """The reads of a sample's RNA, as FASTQ files of both mates."""
    assert of.genes
    found = {contig.name: genes_of(of, contig) for contig in of.chromosomes}
    every = [gene for genes in found.values() for gene in genes]
    first_condition = next(iter(of.samples.values())).condition
    sequences: list[Bases] = []
    shares: list[float] = []
    for amount, gene in zip(transcripts.amounts(of.seed, sample, first_condition, every).tolist(), every, strict=True):
        sequence = read_chromosome(chromosomes, gene.contig)
        for _, exons, share in gene.transcripts:
            sequences.append(transcripts.spliced(sequence, gene, exons))
            shares.append(amount * share)
    stream = Stream(of.seed, "rna", sample.number)
    with bgzip(outputs[0]) as first, bgzip(outputs[1]) as second:
        for mates in transcripts.pairs(stream, sequences, np.array(shares), of.genes.pairs):
            for file, records in zip((first, second), mates, strict=True):
                file.write(records.tobytes())


# --- tables ---


def write_tables(of: Design, sample_sheet: str, unit_sheet: str, ploidy: str | None) -> None:
    """The workflow's tables of samples and their files, and where a man has one copy of a chromosome."""
    column = "condition" if of.genes else "sex"
    rows = "".join(f"{sample.name}\t{getattr(sample, column)}\n" for sample in of.samples.values())
    Path(sample_sheet).write_text(f"sample_name\t{column}\n{rows}")
    rows = "".join(f"{name}\tL1\treads/{name}_R1.fastq.gz\treads/{name}_R2.fastq.gz\n" for name in of.samples)
    Path(unit_sheet).write_text(f"sample_name\tunit_name\tfq1\tfq2\n{rows}")
    if ploidy:
        Path(ploidy).write_text("".join(f"{contig.name}\t0\t{contig.length}\t1\n" for contig in of.once_in_men))
