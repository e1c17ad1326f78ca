#!/usr/bin/env python3
"""Simulate a small cohort with known truth: reference, reads, known sites, training sets, tables, config.

The same arguments give the same bytes. README.md beside this file says what is simulated and what is not.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from demo_germline.genome import Genome, Microsatellite, add_gaps, between_gaps, simulate_genome, write_fasta
from demo_germline.reads import LANES, READ_BP, simulate_lane
from demo_germline.slippage import RUNS, TANDEM_REPEATS, Profile
from demo_germline.tools import ToolError, require_tools, run, write_indexed_vcf
from demo_germline.variants import INDEL_SHARE, Variant, apply_variants, draw_genotypes, simulate_population

DEFAULT_LENGTH_BP = 1_200_000
DEFAULT_COVERAGE = 20.0
MIN_LENGTH_BP, MAX_LENGTH_BP = 20_000, 200_000_000
MIN_GAPS_EVERY_BP = 10_000
DEFAULT_VARIANTS_EVERY_BP = 100
MOST_SAMPLES = 9_999
# one segment in so many bases stands twice in every sample, and once in the reference
PARALOG_EVERY_BP, PARALOG_BP, PARALOG_DIFFERENCE_EVERY_BP = 250_000, (2000, 4500), 110
TEMPLATE = Path(__file__).with_name("config.template.yaml")


@dataclass(frozen=True)
class Resource:
    """A stand-in for a public call set: which true variants it lists, and how many sites that are none.

    `share` is the part of the eligible true variants that it lists, `false_share` the part of its records
    that are sites without a variant, `paralog_share` the part of the paralogous differences that it takes for
    variants.
    """

    name: str
    snps: bool
    indels: bool
    share: float
    min_frequency: float
    false_share: float
    paralog_share: float


RESOURCES = (
    Resource("known_sites", True, True, 0.80, 0.0, 0.15, 0.30),
    Resource("known_indels", False, True, 0.60, 0.05, 0.03, 0.0),
    Resource("hapmap", True, False, 0.50, 0.10, 0.0, 0.0),
    Resource("omni", True, False, 0.60, 0.05, 0.01, 0.0),
    Resource("thousand_genomes", True, False, 0.80, 0.02, 0.05, 0.05),
    Resource("mills", False, True, 0.70, 0.05, 0.02, 0.0),
)


@dataclass(frozen=True)
class Population:
    """Everything the samples share."""

    genome: Genome
    variants: list[Variant]
    paralogs: dict[str, str]
    paralog_differences: list[Variant]


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """An independent generator a purpose, so that adding a sample leaves the others as they were."""
    return np.random.default_rng([seed, *purpose])


def simulate_shared(
    seed: int, length: int, gaps_every: int = 0, variants_every: int = DEFAULT_VARIANTS_EVERY_BP
) -> Population:
    """The genome, the variants of its population and its paralogs."""
    genome = simulate_genome(stream(seed, 0), length)
    if gaps_every:
        genome = add_gaps(stream(seed, 6), genome, gaps_every)
    variants = simulate_population(stream(seed, 1), genome, variants_every)
    paralogs, differences = simulate_paralogs(stream(seed, 2), genome)
    return Population(genome, variants, paralogs, differences)


def simulate_paralogs(rng: np.random.Generator, genome: Genome) -> tuple[dict[str, str], list[Variant]]:
    """Diverged second copies of segments that the reference lacks, and the calls they would lead to.

    They are what collapsed duplications are in real references: a source of false calls at good base quality.
    """
    copies, differences = {}, []
    for contig, sequence in genome.contigs.items():
        for i in range(max(1, round(len(sequence) / PARALOG_EVERY_BP))):
            size = int(rng.integers(*PARALOG_BP))
            start = int(rng.integers(len(sequence) - size))
            while "N" in sequence[start : start + size]:
                start = int(rng.integers(len(sequence) - size))
            name = f"paralog_{contig}_{i + 1}"
            inside = tuple(
                Microsatellite(name, m.start - start, m.end - start, m.unit)
                for m in genome.microsatellites
                if m.contig == contig and start <= m.start and m.end <= start + size
            )
            segment = Genome({name: sequence[start : start + size]}, inside)
            found = simulate_population(rng, segment, PARALOG_DIFFERENCE_EVERY_BP)
            copies |= apply_variants(segment.contigs, found)
            differences += [Variant(contig, v.pos + start, v.ref, v.alt, v.frequency) for v in found]
    return copies, differences


def vcf_text(
    contigs: dict[str, str], variants: Iterable[Variant], sample: str = "", alleles: np.ndarray | None = None
) -> str:
    """A VCF of sites with their population frequencies, or of one sample's phased genotypes.

    With `alleles` (a row a variant, two columns) only the variants that the sample carries are listed.
    """
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO"]
    lines = ["##fileformat=VCFv4.2", '##FILTER=<ID=PASS,Description="All filters passed">']
    lines += ['##INFO=<ID=AF,Number=A,Type=Float,Description="Allele frequency in the simulated population">']
    lines += [f"##contig=<ID={name},length={len(sequence)}>" for name, sequence in contigs.items()]
    if alleles is not None:
        lines += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype, phased">']
        columns += ["FORMAT", sample]
    lines += ["\t".join(columns)]
    for i, v in enumerate(variants):
        row = [v.contig, str(v.pos + 1), ".", v.ref, v.alt, ".", "PASS", f"AF={v.frequency:.4f}"]
        if alleles is not None:
            if not alleles[i].any():
                continue
            row += ["GT", f"{alleles[i, 0]}|{alleles[i, 1]}"]
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def choose_sites(rng: np.random.Generator, population: Population, resource: Resource) -> list[Variant]:
    """The records of a resource, in reference order, one a position."""

    def eligible(variants: Sequence[Variant]) -> list[Variant]:
        return [v for v in variants if (resource.snps if v.is_snp else resource.indels)]

    def part(variants: Sequence[Variant], share: float) -> list[Variant]:
        return [v for v, drawn in zip(variants, rng.random(len(variants)), strict=True) if drawn < share]

    true = part(eligible(population.variants), resource.share)
    true = [v for v in true if v.frequency >= resource.min_frequency]
    indel_share = 1.0 if not resource.snps else 0.0 if not resource.indels else INDEL_SHARE
    wanted = len(true) * resource.false_share / (1 - resource.false_share)
    decoys: list[Variant] = []
    if wanted:
        decoys = simulate_population(rng, population.genome, population.genome.length / wanted, indel_share)
    mistaken = part(eligible(population.paralog_differences), resource.paralog_share)
    by_place = {(v.contig, v.pos): v for v in [*decoys, *mistaken]}
    for v in population.variants:  # a false record must not hit a true variant by chance
        by_place.pop((v.contig, v.pos), None)
    by_place |= {(v.contig, v.pos): v for v in true}
    order = list(population.genome.contigs)
    return sorted(by_place.values(), key=lambda v: (order.index(v.contig), v.pos))


def write_sample(
    seed: int, index: int, name: str, population: Population, coverage: float, slippage: Profile, output: Path
) -> None:
    """One sample's truth and reads."""
    contigs = population.genome.contigs
    alleles = draw_genotypes(stream(seed, 3, index), population.variants)
    text = vcf_text(contigs, population.variants, name, alleles)
    write_indexed_vcf(text, output / "truth" / f"{name}.vcf.gz")
    haplotypes = {}
    for copy in (0, 1):
        carried = [v for v, allele in zip(population.variants, alleles[:, copy], strict=True) if allele]
        sequences = apply_variants(contigs, carried) | population.paralogs
        haplotypes |= {f"{part}_h{copy + 1}": sequence for part, sequence in between_gaps(sequences).items()}
    # coverage is that of the diploid genome, so the paralogs' reads come on top
    bases = coverage * sum(map(len, haplotypes.values())) / 2
    with tempfile.TemporaryDirectory(dir=output) as scratch:
        fasta = Path(scratch) / "haplotypes.fa"
        write_fasta(fasta, haplotypes)
        for i, lane in enumerate(LANES):
            pairs = round(bases / len(LANES) / (2 * READ_BP))
            simulate_lane(stream(seed, 4, index, i), lane, fasta, pairs, name, output / "reads", slippage)


def write_cohort(
    output: Path,
    samples: int,
    seed: int,
    length: int,
    coverage: float,
    gaps_every: int,
    variants_every: int,
    slippage: Profile,
) -> None:
    """Write the whole cohort into the empty folder `output`."""
    for folder in ("reads", "known", "truth"):
        (output / folder).mkdir()
    digits = max(2, len(str(samples)))
    names = [f"DEMO{i + 1:0{digits}d}" for i in range(samples)]
    population = simulate_shared(seed, length, gaps_every, variants_every)
    write_fasta(output / "genome.fa", population.genome.contigs)
    run(["samtools", "faidx", str(output / "genome.fa")])
    contigs = population.genome.contigs
    write_indexed_vcf(vcf_text(contigs, population.variants), output / "truth" / "population.vcf.gz")
    for i, resource in enumerate(RESOURCES):
        sites = choose_sites(stream(seed, 5, i), population, resource)
        write_indexed_vcf(vcf_text(contigs, sites), output / "known" / f"{resource.name}.vcf.gz")
    write_tables(output, names)
    shutil.copyfile(TEMPLATE, output / "config.yaml")
    workers = min(samples, len(os.sched_getaffinity(0)))
    with ProcessPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(write_sample, seed, i, name, population, coverage, slippage, output)
            for i, name in enumerate(names)
        ]
        for job in jobs:
            job.result()


def write_tables(output: Path, names: Sequence[str]) -> None:
    """samples.tsv and units.tsv; paths are relative to the cohort's folder."""
    (output / "samples.tsv").write_text("sample_name\n" + "".join(f"{name}\n" for name in names))
    lines = ["sample_name\tunit_name\tfq1\tfq2\tplatform\tlibrary"]
    for name in names:
        for lane in LANES:
            mates = "\t".join(f"reads/{name}_{lane.name}_R{mate}.fastq.gz" for mate in (1, 2))
            lines.append(f"{name}\t{lane.name}\t{mates}\tILLUMINA\t{name}_lib1")
    (output / "units.tsv").write_text("\n".join(lines) + "\n")


class _OneLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read and check the command line; a bad value ends the program with one line and exit code 2."""
    parser = _OneLineParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to create")
    parser.add_argument("--samples", type=int, default=2, help=f"number of samples, 1 to {MOST_SAMPLES} (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="0 or more (%(default)s)")
    parser.add_argument("--length", type=int, default=DEFAULT_LENGTH_BP, help="genome in bp (%(default)s)")
    parser.add_argument("--coverage", type=float, default=DEFAULT_COVERAGE, help="mean depth (%(default)s)")
    parser.add_argument("--gaps-every", type=int, default=0, help="a run of N in so many bp; 0: none (%(default)s)")
    parser.add_argument(
        "--variants-every",
        type=int,
        default=DEFAULT_VARIANTS_EVERY_BP,
        help="a variant of the population in so many bp, of which a sample has a third (%(default)s)",
    )
    parser.add_argument(
        "--str-errors",
        dest="slippage",
        action="store_const",
        const=TANDEM_REPEATS,
        default=RUNS,
        help="reads slip in all short tandem repeats, not in runs of one base alone",
    )
    given = parser.parse_args(arguments)
    problem = ""
    if not 1 <= given.samples <= MOST_SAMPLES:
        problem = f"--samples {given.samples}: give 1 to {MOST_SAMPLES}"
    elif given.seed < 0:
        problem = f"--seed {given.seed}: give 0 or more"
    elif not MIN_LENGTH_BP <= given.length <= MAX_LENGTH_BP:
        problem = f"--length {given.length}: give {MIN_LENGTH_BP} to {MAX_LENGTH_BP} bp"
    elif not 0.5 <= given.coverage <= 1000:
        problem = f"--coverage {given.coverage:g}: give 0.5 to 1000"
    elif given.gaps_every and given.gaps_every < MIN_GAPS_EVERY_BP:
        problem = f"--gaps-every {given.gaps_every}: give {MIN_GAPS_EVERY_BP} bp or more, or 0"
    elif given.variants_every < DEFAULT_VARIANTS_EVERY_BP:
        problem = f"--variants-every {given.variants_every}: give {DEFAULT_VARIANTS_EVERY_BP} bp or more"
    elif given.output.exists() and not (given.output.is_dir() and not any(given.output.iterdir())):
        problem = f"--output {given.output}: exists and is not an empty folder; remove it or name another"
    if problem:
        parser.error(problem)
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 where a tool or the file system failed."""
    given = parse_arguments(arguments)
    output = given.output.absolute()
    try:
        require_tools()
        output.parent.mkdir(parents=True, exist_ok=True)
        # built beside its place and moved there whole, so that a half-written cohort never passes for one
        with tempfile.TemporaryDirectory(prefix=".cohort-", dir=output.parent) as scratch:
            building = Path(scratch) / "cohort"
            building.mkdir()
            write_cohort(
                building,
                given.samples,
                given.seed,
                given.length,
                given.coverage,
                given.gaps_every,
                given.variants_every,
                given.slippage,
            )
            building.rename(output)
    except (ToolError, OSError) as error:
        print(f"simulate_cohort.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    # a plain `kill` must unwind too, or the half-built folder would stay
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
