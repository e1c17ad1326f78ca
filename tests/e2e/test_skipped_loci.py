"""Loci of too many fragments for Cufflinks and Cuffquant, with the real tools: none is lost without a word."""

import csv
import random
from pathlib import Path

import pytest
from conftest import random_sequence, sample_pairs, write_fastq
from tuxedo_cohort import Experiment

pytestmark = pytest.mark.e2e

GENES = {"G1": (1000, 3000), "G2": (6000, 8000), "G3": (12000, 14000)}
PAIRS = {"A1": (300, 1500, 200), "A2": (310, 900, 210), "B1": (600, 1500, 100), "B2": (620, 1500, 90)}  # of each gene
OVER = ("A1", "B1", "B2")  # have MOST in G2
MOST = 1000
TABLE = "results/skipped_loci/counts.tsv"


def gtf(*genes: str) -> str:
    attributes = 'gene_id "{0}"; transcript_id "T{0}"; gene_name "{0}";'
    rows = ((name, *GENES[name]) for name in genes)
    return "".join(f"chr1\tx\texon\t{a + 1}\t{b}\t.\t+\t.\t{attributes.format(name)}\n" for name, a, b in rows)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """With replicates: cuffdiff fits a dispersion where it has none, which takes it minutes."""
    genome = random_sequence(20_000, seed=1)
    (tmp_path / "genome.fa").write_text(f">chr1\n{genome}\n")
    (tmp_path / "genes.gtf").write_text(gtf(*GENES).replace('gene_id "G2";', 'gene_id "G2"; gene_type "rRNA";'))
    (tmp_path / "mask.gtf").write_text(gtf("G3"))
    config = {"pipeline": "tuxedo", "reference": {"fasta": "genome.fa"}, "annotation": "genes.gtf"}
    config |= {"max_bundle_frags": MOST, "cuffdiff": {"dispersion_method": "poisson"}}
    made = Experiment(tmp_path, config, conditions={sample: sample[0].lower() for sample in PAIRS})
    for sample, counts in PAIRS.items():
        mates: tuple[list, list] = ([], [])
        for (gene, (start, end)), count in zip(GENES.items(), counts, strict=True):
            for kept, reads in zip(mates, sample_pairs(genome[start:end], count, seed=count), strict=True):
                kept += [(f"{gene}.{name}", sequence) for name, sequence in reads]
        order = random.Random(1).sample(range(sum(counts)), sum(counts))
        files = {mate: f"{sample}_{mate}.fq.gz" for mate in ("fq1", "fq2")}
        for path, reads in zip(files.values(), mates, strict=True):
            write_fastq(tmp_path / path, [reads[at] for at in order])
        made.add_unit(sample, "L1", **files)
    return made


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))


def test_skipped_loci_are_told_of_and_a_mask_ends_it(experiment: Experiment) -> None:
    ran = experiment.snakemake(TABLE)
    assert ran.exit_code == 0, ran.output
    results = experiment.folder / "results"
    listed = {
        (row["step"], row["of"], row["gene"], row["status"]) for row in rows(results / "skipped_loci/skipped_loci.tsv")
    }
    assert listed == {
        *(("assemble", sample, "", "skipped") for sample in OVER),
        *(("quantify", sample, "G2", "HIDATA") for sample in OVER),
        ("differential_expression", "a vs b", "G2", "LOWDATA"),
    }
    columns = ("sample_name", "not assembled", "HIDATA", "LOWDATA", "FAIL")
    counted = [tuple(row[column] for column in columns) for row in rows(experiment.folder / TABLE)]
    assert counted == [(sample, *["1" if sample in OVER else "0"] * 2, "0", "0") for sample in PAIRS]
    log = (experiment.folder / "logs/skipped_loci/skipped_loci.log").read_text().splitlines()
    assert len(log) == 3
    for line in log:
        assert f"warning: {line}" in ran.output
    assert "Cuffquant counted nothing of 1 locus (G2 (chr1:" in log[1]

    experiment.config |= {"mask": "mask.gtf", "mask_biotypes": ["rRNA"]}
    ran = experiment.snakemake(TABLE)
    assert ran.exit_code == 0, ran.output
    listed = {(row["step"], row["status"]) for row in rows(results / "skipped_loci/skipped_loci.tsv")}
    assert not {("assemble", "skipped"), ("quantify", "HIDATA")} & listed
    of = {row["gene"]: float(row["value_1"]) for row in rows(results / "differential_expression/gene_exp.diff")}
    assert of["G1"] > 0
    assert max(of["G2"], of["G3"]) < of["G1"] / 10, "their reads are ignored"
