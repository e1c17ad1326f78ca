"""Trimming (`trim: fastp`): what it takes is counted, and what it leaves is mapped whole; damaged reads are named."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from conftest import Cohort, Ran, one_contig_cohort, sample_pairs, write_fastq
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e
ADAPTERS = ("AGATCGGAAGAGCACACGTCTGAACTCCAGTCA", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT")
PAIRS, SHORT = 200, 20  # of a lane; of them so many of fragments that are shorter than a read


def adapted(pairs: tuple[list, list]) -> tuple[list, list]:
    """The pairs, of which the first SHORT are of fragments of 60 bases, and go on into the adapter."""
    mates = ([], [])
    for number, ((name, one), (_, two)) in enumerate(zip(*pairs, strict=True)):
        fragment = one[:60]
        ends = (fragment, reverse(fragment)) if number < SHORT else (one, two)
        for reads, end, adapter in zip(mates, ends, ADAPTERS, strict=True):
            reads.append((name, (end + adapter + "G" * 100)[:100] if number < SHORT else end))
    return mates


def reverse(bases: str) -> str:
    return bases[::-1].translate(str.maketrans("ACGT", "TGCA"))


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    """A sample of a lane of pairs and a lane of single reads, one of them in a plain file, under odd names."""
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    made.config |= {"trim": "fastp", "bqsr": "none"}
    names = {"L1": ("a b'_R1.fq.gz", "a b'_R2.fq"), "L2": ("single.fq.gz",)}
    for seed, (lane, files) in enumerate(names.items()):
        mates = adapted(sample_pairs(genome, PAIRS, seed))
        columns = {f"fq{mate}": write_fastq(tmp_path / name, reads).relative_to(tmp_path)
                   for mate, (name, reads) in enumerate(zip(files, mates, strict=False), 1)}  # fmt: skip
        made.add_unit("S1", lane, **columns)
    return made


def counts(folder: Path, lane: str) -> dict:
    return json.loads((folder / f"results/trim/S1/{lane}.json").read_text())


def ran_well(ran: Ran) -> None:
    assert ran.exit_code == 0, ran.output


def test_what_fastp_removes_is_in_the_samples_table_and_in_multiqc(cohort: Cohort) -> None:
    ran_well(cohort.snakemake("--", "results/multiqc/multiqc.html"))
    found = {lane: counts(cohort.folder, lane) for lane in ("L1", "L2")}
    assert [lane["found"]["reads"] for lane in found.values()] == [2 * PAIRS, PAIRS]
    mapped = [json.loads((cohort.folder / f"results/map_and_sort/S1/{lane}.json").read_text()) for lane in found]
    assert [unit["reads"] for unit in mapped] == [lane["kept"]["reads"] for lane in found.values()]
    assert found["L1"]["found"]["bases"] - found["L1"]["kept"]["bases"] == 2 * SHORT * 40
    (row,) = csv.DictReader((cohort.folder / "results/qc/samples.tsv").open(), delimiter="\t")
    taken = sum(lane["found"]["bases"] - lane["kept"]["bases"] for lane in found.values())
    assert float(row["trimmed_bases"]) == pytest.approx(taken / (3 * PAIRS * 100), abs=1e-3)
    assert not [*(cohort.folder / "results/trim").rglob("*.fq.gz")], "trimmed reads stay"
    page = (cohort.folder / "results/multiqc/multiqc.html").read_text()
    assert "fastp" in page
    assert "S1.L1" in page


@pytest.mark.parametrize(("number", "end"), [(".{}", b"\n"), ("", b"\r\n")])
def test_reads_that_not_every_tool_takes_go_through(cohort: Cohort, number: str, end: bytes) -> None:
    """Names as of fastq-dump -I, or line ends of Windows; reads without bases."""
    genome = (cohort.folder / "genome.fa").read_text().splitlines()[1]
    for mate, reads in enumerate(sample_pairs(genome, PAIRS, 9), 1):
        named = [(name + number.format(mate), bases if at % 50 else "") for at, (name, bases) in enumerate(reads)]
        path = write_fastq(cohort.folder / f"R{mate}.fq", named)
        path.write_bytes(path.read_bytes().replace(b"\n", end))
    cohort.units = []
    cohort.add_unit("S1", "L1", fq1="R1.fq", fq2="R2.fq")
    ran_well(cohort.snakemake("--", "results/mark_duplicates/S1.bam"))
    found = counts(cohort.folder, "L1")
    assert found["found"]["reads"] == 2 * PAIRS
    assert found["kept"]["reads"] == 2 * (PAIRS - PAIRS // 50)


def torn(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def scrambled(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-200] ^= 0xFF
    file.write_bytes(data)


def shorter(file: Path) -> None:
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join(lines[:-4])))


@pytest.mark.parametrize("damage", [torn, scrambled, shorter])
def test_damaged_reads_are_named(cohort: Cohort, damage) -> None:
    genome = (cohort.folder / "genome.fa").read_text().splitlines()[1]
    for mate, reads in enumerate(sample_pairs(genome, 2000, 9), 1):  # more than is looked at before the run
        write_fastq(cohort.folder / f"R{mate}.fq.gz", reads, level=0)
    damage(cohort.folder / "R2.fq.gz")
    cohort.units = []
    cohort.add_unit("S1", "L1", fq1="R1.fq.gz", fq2="R2.fq.gz")
    ran = cohort.snakemake("--", "results/mark_duplicates/S1.bam")
    assert ran.exit_code == 1
    log = (cohort.folder / "logs/trim/S1/L1.log").read_text()
    assert "R2.fq.gz" in [line for line in log.splitlines() if line.startswith("error: ")][-1]
    assert not (cohort.folder / "results/trim/S1/L1.json").exists()


def test_rna_is_trimmed_and_counted(tmp_path: Path) -> None:
    made = tiny_experiment(tmp_path, ("A1",))
    made.config |= {"trim": "fastp", "stop_after": "quantify", "min_mapped": 0, "extra": {"trim": "--max_len1 70"}}
    ran_well(made.snakemake("--", "results/align/A1.bam"))
    lanes = [json.loads((tmp_path / f"results/trim/A1/L{lane}.json").read_text()) for lane in (1, 2)]
    assert [lane["kept"] for lane in lanes] == [{"reads": 40, "bases": 40 * 70}] * 2
    assert json.loads((tmp_path / "results/align/A1.json").read_text())["reads"] == 80
