"""1,000 samples' verdicts, by the workflow's own rules, from what tools said of genomes at 30x."""

import csv
import json
import random
from collections.abc import Iterator
from operator import add
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, random_sequence, write_fastq, write_vcf

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SAMPLES = [f"SAMPLE-{number:04}-OF-A-LARGE-COHORT" for number in range(1000)]
TWIN, SHALLOW = SAMPLES[500], SAMPLES[501]
SITES = 60_000  # as small_exac_common has
CONTIGS, DEPTHS = 25, 400  # of the distribution of depth
RECORDED = ROOT / "tests/golden/quality"
RULES = ("reference", "n_free_intervals", "indexed_vcf", "list_files", "identity", "quality")
MOST_S = 120
COPIES = b"0112" * 64  # by a random byte


def genotypes(seed: int) -> str:
    return random.Random(seed).randbytes(SITES).translate(COPIES).decode()


def base_content() -> str:
    return "".join(f"GCT\t{cycle}\t30.00\t20.00\t20.00\t30.00\n" for cycle in range(1, 151))


def distribution() -> str:
    """As long as a genome's: a line for each depth of each contig."""
    names = ["chr1", *(f"other{number}" for number in range(CONTIGS - 1)), "total"]
    return "".join(
        f"{name}\t{depth}\t{1 - depth / (DEPTHS + 1):.6f}\n" for name in names for depth in reversed(range(DEPTHS))
    )


def texts() -> Iterator[tuple[str, str]]:
    """What is the same of all samples, by the path of the file."""
    yield "samtools_stats/{}.txt", (RECORDED / "samtools_stats.txt").read_text() + base_content()
    yield "mark_duplicates/{}.txt", (RECORDED / "markdup.txt").read_text()
    yield "depth/distribution/{}.txt", distribution()
    yield "contamination/{}.tsv", "sample\tcontamination\terror\nx\t0.001\t0.0001\n"
    yield "lanes/{}.tsv", "lane\treads\tother_allele\nL1\t2000\t0.001\nL2\t2000\t0.001\n"


def write_results(folder: Path) -> None:
    common = dict(texts())
    for pattern in (*common, "contamination/genotypes/{}.tsv", "depth/{}.txt", "bcftools_stats/all_records/{}"):
        (folder / pattern).parent.mkdir(parents=True, exist_ok=True)
    sites = [f"chr1\t{place}\t" for place in range(SITES)]
    for number, sample in enumerate(SAMPLES):
        for pattern, text in common.items():
            (folder / pattern.format(sample)).write_text(text)
        copies = genotypes(number if sample != TWIN else 0)
        lines = "\n".join(map(add, sites, copies))
        (folder / f"contamination/genotypes/{sample}.tsv").write_text(f"contig\tposition\t{sample}\n{lines}\n")
        bases = 300_000 * (5 if sample == SHALLOW else 30 + number % 7)
        of_region = f"chr1_region\t300000\t{bases}\ntotal_region\t300000\t{bases}\n"
        (folder / f"depth/{sample}.txt").write_text(f"chrom\tlength\tbases\tmean\tmin\tmax\n{of_region}")
    psc = "".join(f"PSC\t0\t{sample}\t100\t60\t120\t120\t60\t20\t30.0\t5\t0\t0\t0\n" for sample in SAMPLES)
    for path in ("bcftools_stats", "bcftools_stats/all_records"):
        (folder / path / "cohort.txt").write_text(psc)
    (folder / "filtered_alone").mkdir()
    (folder / "filtered_alone/cohort.tsv").write_text("SNP_SOR3\t0\t100\n")


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Cohort:
    folder = tmp_path_factory.mktemp("large")
    (folder / "genome.fa").write_text(f">chr1\n{random_sequence(300_000, seed=1)}\n")
    write_vcf(folder / "known.vcf", {"chr1": 300_000}, [("chr1", 100, "A", "C")])
    config = {"reference": {"fasta": "genome.fa"}, "known_sites": ["known.vcf"], "common_sites": "known.vcf"}
    cohort = Cohort(folder, config | {"calling": "joint", "scatter": "none"})
    for sample in SAMPLES:
        cohort.add_unit(sample, "L1", fq1=write_fastq(folder / f"{sample}.fq", [("r", "ACGT")]))
    write_results(folder / "results")
    ran = cohort.snakemake("--allowed-rules", *RULES, "--", "results/qc/samples.tsv")
    assert ran.exit_code == 0, ran.output[-5000:]
    return cohort


def test_all_samples_have_a_verdict(judged):
    with (judged.folder / "results/qc/samples.tsv").open() as table:
        rows = {row["sample_name"]: row for row in csv.DictReader(table, delimiter="\t")}
    assert list(rows) == SAMPLES
    named = {name: row["reason"] for name, row in rows.items() if row["verdict"] != "pass"}
    assert named.keys() == {SAMPLES[0], TWIN, SHALLOW}
    assert named[TWIN] == f"same person as {SAMPLES[0]}"
    assert named[SHALLOW].startswith(
        "coverage 5 is below 15 (gnomAD v3's limit); coverage 5 is an outlier of the cohort (robust z -"
    )
    _, *first = (judged.folder / "results/qc/samples_mqc.tsv").read_text().split("\nsample_name\t")[1].splitlines()[:4]
    assert [line.split("\t")[:2] for line in first] == [[SHALLOW, "fail"], [SAMPLES[0], "warn"], [TWIN, "warn"]]


def test_it_takes_less_than_two_minutes(judged, figure):
    lines = (judged.folder / "ledger.jsonl").read_text().splitlines()
    jobs = {record["rule"]: record for record in map(json.loads, lines)}
    seconds = {rule: jobs[rule]["cpu_s"] for rule in ("identity", "quality")}
    memory = {rule: jobs[rule]["peak_rss_mib"] for rule in seconds}
    figure(f"verdicts of {len(SAMPLES)} samples, {SITES} sites: CPU s {seconds}, MiB {memory}")
    assert sum(seconds.values()) < MOST_S
    assert max(memory.values()) < 2000
