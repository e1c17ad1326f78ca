"""The rehearsal in small: all contigs of a human genome, short, through the pipeline, and the variants come out."""

import subprocess
import sys

import pytest
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "resources" / "demo" / "germline"))

from compare_calls import compare_calls

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SCALE = 0.001
SAMPLE, CHROMOSOME = "DEEP", "chr21"  # the chromosome that has 30x
ALIGNMENT = f"results/alignment/{SAMPLE}.cram"
CALLS = f"results/hard_filter/{SAMPLE}.vcf.gz"


def run(*words):
    ran = subprocess.run([sys.executable, "-m", *map(str, words)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def lines_of(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout.splitlines()


def make(folder, *words):
    subprocess.run(["make", "-C", ROOT, *words, f"REHEARSAL={folder}", f"SCALE={SCALE}"], check=True)


def stage(folder, target, *made):
    """A stage of the Makefile, on data that are there, leaves what it is for."""
    make(folder, "-o", "rehearsal-data", target)
    assert [path for path in made if not (folder / path).exists()] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the sample with a chromosome of 30x has been called, alone."""
    folder = tmp_path_factory.mktemp("rehearsal")
    resources = ROOT / "resources/rehearsal"
    make(folder, "rehearsal-data")
    units = folder / "units.tsv"
    units.write_text("".join(line for line in units.open() if line.startswith(("sample_name", SAMPLE))))
    samples = folder / "samples.tsv"
    samples.write_text("".join(line for line in samples.open() if line.startswith(("sample_name", SAMPLE))))
    settings = yaml.safe_load((resources / "config.yaml").read_text()) | {"calling": "per_sample", "scatter": "none"}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    stage(folder, "rehearsal-reference", "results/reference/genome.fa.bwt", "results/reference/n_free_intervals.bed")
    stage(folder, "rehearsal-map", f"results/base_recalibration/{SAMPLE}.bam")
    run("gpd", "run", "germline", "--directory", folder, "--configfile", folder / "config.yaml", "--", CALLS, ALIGNMENT)
    return folder


def test_every_contig_is_in_the_alignment_and_in_the_calls(folder):
    """HLA names have `*` and `:`, as regions do; decoys and ALT contigs are thousands."""
    names = [line.split("\t")[0] for line in (folder / "results/reference/genome.fa.fai").open()]
    assert len(names) == 3366
    assert any("*" in name and ":" in name for name in names)
    header = lines_of("bcftools", "view", "-h", folder / CALLS)
    assert [
        line.partition("ID=")[2].rpartition(",length")[0] for line in header if line.startswith("##contig")
    ] == names
    aligned = lines_of("samtools", "view", "-H", folder / ALIGNMENT)
    assert [line.split("\t")[1].removeprefix("SN:") for line in aligned if line.startswith("@SQ")] == names


def test_the_variants_of_the_deep_chromosome_come_out(folder, tmp_path, figure):
    calls = tmp_path / "calls.vcf.gz"
    lines_of("bcftools", "view", "-r", CHROMOSOME, "-O", "z", "-o", calls, folder / CALLS)
    found = compare_calls(calls, folder / f"truth/{SAMPLE}.vcf.gz", folder / "genome.fa", SAMPLE)
    figure(f"rehearsal, scale {SCALE}: SNPs {found.snp}, indels {found.indel}")
    assert found.snp.recall > 0.95 and found.snp.precision > 0.95


def test_a_man_has_one_copy_of_x(folder):
    genotypes = set(lines_of("bcftools", "query", "-r", "chrX", "-f", "[%GT]\n", folder / CALLS))
    assert genotypes == {"1"}
