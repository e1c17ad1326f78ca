"""Units mapped in chunks by several jobs: the same alignments whatever their number, and no work done twice."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, Ran, one_contig_cohort, planned_jobs, snakemake, write_fastq

pytestmark = pytest.mark.e2e

BATCH_BASES = 10_000  # small, so that there are several
PAIRS = 600
DUPLICATE = 0x400
MARKED = "results/mark_duplicates/S1.bam"


@pytest.fixture(scope="module")
def snakefile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow with bwa's batches smaller: real ones have more reads than a test."""
    folder = tmp_path_factory.mktemp("repository")
    for part in ("workflow", "envs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    rules = folder / "workflow/rules/germline/mapping.smk"
    text = rules.read_text()
    assert "BATCH_BASES = 100_000_000" in text
    rules.write_text(text.replace("BATCH_BASES = 100_000_000", f"BATCH_BASES = {BATCH_BASES}"))
    return folder / "workflow/Snakefile"


def pairs(genome: str, seed: int) -> tuple[list, list]:
    """Pairs of reads of uneven lengths; what lies in a repeat has several alignments that are equally good."""
    draw, complement = random.Random(seed), str.maketrans("ACGT", "TGCA")
    first, second = [], []
    for number in range(PAIRS):
        start = draw.randrange(len(genome) - 300)
        fragment = genome[start : start + draw.randrange(200, 300)]
        first.append((f"read{number}", fragment[: draw.randrange(60, 101)]))
        second.append((f"read{number}", fragment.translate(complement)[::-1][: draw.randrange(60, 101)]))
    return first, second


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    """One sample: a unit of pairs, one of single reads, one of pairs and single reads in a BAM file."""
    made, genome = one_contig_cohort(tmp_path, 4800, seed=8)
    genome = "".join([genome[:4200], genome[1000:1600]])
    (tmp_path / "genome.fa").write_text(f">chr1\n{genome}\n")
    first, second = pairs(genome, seed=10)
    fq1, fq2 = (write_fastq(tmp_path / name, reads) for name, reads in (("1.fq.gz", first), ("2.fq.gz", second)))
    made.add_unit("S1", "pairs", fq1=fq1.name, fq2=fq2.name)
    single, _ = pairs(genome, seed=11)
    made.add_unit("S1", "single", fq1=write_fastq(tmp_path / "3.fq", single[:-7]).name)
    first, second = pairs(genome, seed=12)
    lines = [f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{'I' * len(bases)}" for name, bases in first[::3]]
    for (name, bases), (_, mate) in zip(first[1::3], second[1::3], strict=True):
        lines += [
            f"{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{sequence}\t{'I' * len(sequence)}"
            for flag, sequence in ((77, bases), (141, mate))
        ]
    header = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:chr1\tLN:2000\n"
    subprocess.run(
        ["samtools", "view", "-b", "-o", tmp_path / "mixed.bam", "-"],
        input=header + "\n".join(lines) + "\n",
        text=True,
        check=True,
    )
    made.add_unit("S1", "mixed", bam="mixed.bam")
    made.config["bam_input"] = "remap"
    return made


def run(cohort: Cohort, snakefile: Path, chunks: int, *arguments: str) -> Ran:
    cohort.config["map_chunks"] = chunks
    cohort.write()
    ran = snakemake(cohort.folder, *arguments, snakefile=snakefile)
    assert ran.exit_code == 0, ran.said
    return ran


def alignments(bams: list[Path]) -> list[str]:
    """All records of the files, sorted as text: chunks are in no order of their own."""
    text = (
        subprocess.run(["samtools", "view", bam], check=True, capture_output=True, text=True).stdout for bam in bams
    )
    return sorted(line for part in text for line in part.splitlines())


def test_alignments_are_the_same_whatever_the_number_of_chunks(
    cohort: Cohort, snakefile: Path, figure: Callable[[str], None]
) -> None:
    found = {}
    for chunks in (1, 2, 7):
        run(cohort, snakefile, chunks, "--notemp", MARKED)
        folder = cohort.folder / "results" / ("map_and_sort" if chunks == 1 else "map_chunk") / "S1"
        pattern = "{}.bam" if chunks == 1 else f"{{}}/*of{chunks}.bam"
        bams = {unit: sorted(folder.glob(pattern.format(unit))) for unit in ("pairs", "single", "mixed")}
        assert {len(files) for files in bams.values()} == {chunks}
        records = {unit: alignments(files) for unit, files in bams.items()}
        marked = [record.split("\t") for record in alignments([cohort.folder / MARKED])]
        places = sorted(fields[2:6] for fields in marked)
        found[chunks] = (records, places, sum(bool(int(fields[1]) & DUPLICATE) for fields in marked))
        header = subprocess.run(
            ["samtools", "view", "-H", cohort.folder / MARKED], check=True, capture_output=True, text=True
        ).stdout
        assert sorted(re.findall(r"^@RG\tID:(\S+)", header, re.MULTILINE)) == ["S1.mixed", "S1.pairs", "S1.single"]
        shutil.rmtree(cohort.folder / "results/mark_duplicates")
        shutil.rmtree(folder)
    whole, _, duplicates = found[1]
    assert duplicates
    assert sum(len(record.split("\t")[9]) for record in whole["single"]) > 4 * BATCH_BASES
    assert any(record.split("\t")[4] == "0" for record in whole["pairs"]), (
        "no read has two places that are equally good"
    )
    assert found[2] == found[7] == found[1]
    figure(f"map_chunks: {sum(map(len, whole.values()))} alignments are the same in 1, 2 and 7 chunks")


def test_another_number_of_chunks_repeats_no_finished_work(cohort: Cohort, snakefile: Path) -> None:
    run(cohort, snakefile, 2, "results/base_recalibration/S1.bam")
    assert not (cohort.folder / MARKED).exists()
    for chunks in (1, 2, 5):
        assert "Nothing to be done" in run(cohort, snakefile, chunks, "-n", "results/base_recalibration/S1.bam").said
    shutil.rmtree(cohort.folder / "results/map_chunk/S1/pairs")
    jobs = planned_jobs(run(cohort, snakefile, 1, "-n", "results/base_recalibration/S1.bam"))
    assert jobs["map_and_sort"] == 1, "what was removed is made as the configuration says now"
