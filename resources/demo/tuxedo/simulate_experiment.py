#!/usr/bin/env python3
"""Simulate an RNA-Seq experiment with known truth: genome, genes, reads of two or more conditions, tables, config.

The same arguments give the same bytes. Truth is in truth/genes.tsv: expected fragments a sample in each condition, and
the fold change of the second over the first. README.md beside this file says what is simulated and what is not.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NoReturn

import numpy as np
from demo_tuxedo.expression import Amount, draw_counts, simulate_amounts
from demo_tuxedo.genes import Genome, fasta, gtf, simulate_genome, spliced
from demo_tuxedo.reads import draw_pairs, write_fastq

DEFAULT_GENES, DEFAULT_CONDITIONS, DEFAULT_REPLICATES = 120, 2, 3
CONDITIONS = ("control", "treated", "starved", "heated", "cooled", "irradiated")
LANES = ("L001", "L002")
MAJOR_ISOFORM_SHARE = 0.7
TEMPLATE = Path(__file__).with_name("config.template.yaml")


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """An independent generator a purpose, so that adding a replicate leaves the others as they were."""
    return np.random.default_rng([seed, *purpose])


def write_sample(
    seed: int, condition: int, replicate: int, genome: Genome, amounts: Sequence[Amount], folder: Path
) -> None:
    """The reads of one replicate, in two lanes."""
    rng = stream(seed, 2, condition, replicate)
    expected = [amount.fragments[condition] for amount in amounts]
    transcripts, counts = {}, {}
    for gene, total in zip(genome.genes, draw_counts(rng, expected), strict=True):
        shares = [1.0] if len(gene.transcripts) == 1 else [MAJOR_ISOFORM_SHARE, 1 - MAJOR_ISOFORM_SHARE]
        for transcript, count in zip(gene.transcripts, rng.multinomial(total, shares), strict=True):
            transcripts[transcript.name] = spliced(genome, gene, transcript)
            counts[transcript.name] = int(count)
    pairs = draw_pairs(rng, transcripts, counts)
    size = -(-len(pairs.names) // len(LANES))
    for number, lane in enumerate(LANES):
        paths = [folder / f"{sample_name(condition, replicate)}_{lane}_R{mate}.fastq.gz" for mate in (1, 2)]
        write_fastq(rng, pairs, slice(number * size, (number + 1) * size), (paths[0], paths[1]))


def sample_name(condition: int, replicate: int) -> str:
    """The name of a replicate; both count from 0."""
    return f"{CONDITIONS[condition]}{replicate + 1}"


def write_experiment(output: Path, genes: int, conditions: int, replicates: int, seed: int) -> None:
    """Write the whole experiment into the empty folder `output`."""
    for folder in ("reads", "truth"):
        (output / folder).mkdir()
    genome = simulate_genome(stream(seed, 0), genes)
    amounts = simulate_amounts(stream(seed, 1), [gene.name for gene in genome.genes], conditions)
    (output / "genome.fa").write_text(fasta(genome))
    (output / "genes.gtf.gz").write_bytes(gzip.compress(gtf(genome.genes).encode(), mtime=0))
    write_truth(output / "truth" / "genes.tsv", CONDITIONS[:conditions], amounts)
    samples = list(product(range(conditions), range(replicates)))
    write_tables(output, samples)
    shutil.copyfile(TEMPLATE, output / "config.yaml")
    with ProcessPoolExecutor(min(len(samples), len(os.sched_getaffinity(0)))) as pool:
        jobs = [pool.submit(write_sample, seed, *sample, genome, amounts, output / "reads") for sample in samples]
        for job in jobs:
            job.result()


def write_truth(path: Path, conditions: Sequence[str], amounts: Sequence[Amount]) -> None:
    """A row a gene: expected fragments a sample in each condition, and the second over the first."""
    header = "\t".join(["gene_id", *(f"{condition}_fragments" for condition in conditions), "fold_change"])
    rows = [
        "\t".join([a.gene, *(f"{fragments:.2f}" for fragments in a.fragments), f"{a.fold_change:.4f}"]) for a in amounts
    ]
    path.write_text("\n".join([header, *rows]) + "\n")


def write_tables(output: Path, samples: Sequence[tuple[int, int]]) -> None:
    """samples.tsv and units.tsv; paths are relative to the experiment's folder."""
    names = [(sample_name(*sample), CONDITIONS[sample[0]]) for sample in samples]
    table = "".join(f"{name}\t{condition}\n" for name, condition in names)
    (output / "samples.tsv").write_text(f"sample_name\tcondition\n{table}")
    lines = ["sample_name\tunit_name\tfq1\tfq2"]
    for name, _ in names:
        for lane in LANES:
            lines.append("\t".join([name, lane, *(f"reads/{name}_{lane}_R{mate}.fastq.gz" for mate in (1, 2))]))
    (output / "units.tsv").write_text("\n".join(lines) + "\n")


class _OneLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read and check the command line; a bad value ends the program with one line and exit code 2."""
    parser = _OneLineParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to create")
    parser.add_argument("--genes", type=int, default=DEFAULT_GENES, help="40 to 900 (%(default)s)")
    parser.add_argument("--conditions", type=int, default=DEFAULT_CONDITIONS, help="2 to 6 (%(default)s)")
    parser.add_argument("--replicates", type=int, default=DEFAULT_REPLICATES, help="of each, 1 to 99 (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="0 or more (%(default)s)")
    given = parser.parse_args(arguments)
    problem = ""
    if not 40 <= given.genes <= 900:
        problem = f"--genes {given.genes}: give 40 to 900"
    elif not 2 <= given.conditions <= len(CONDITIONS):
        problem = f"--conditions {given.conditions}: give 2 to {len(CONDITIONS)}"
    elif not 1 <= given.replicates <= 99:
        problem = f"--replicates {given.replicates}: give 1 to 99"
    elif given.seed < 0:
        problem = f"--seed {given.seed}: give 0 or more"
    elif given.output.exists() and not (given.output.is_dir() and not any(given.output.iterdir())):
        problem = f"--output {given.output}: exists and is not an empty folder; remove it or name another"
    if problem:
        parser.error(problem)
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 where the file system failed."""
    given = parse_arguments(arguments)
    output = given.output.absolute()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # built beside its place and moved there whole, so that a half-written experiment never passes for one
        with tempfile.TemporaryDirectory(prefix=".experiment-", dir=output.parent) as scratch:
            building = Path(scratch) / "experiment"
            building.mkdir()
            write_experiment(building, given.genes, given.conditions, given.replicates, given.seed)
            building.rename(output)
    except OSError as error:
        print(f"simulate_experiment.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
