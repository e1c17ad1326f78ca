"""bwa-mem4 in bwa's place: the same records, and no other genome's index. Skipped where it is not installed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, random_sequence, sample_pairs, shared, write_fastq

MAPPERS = ("bwa", "bwa-mem4")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not shutil.which("bwa-mem4"), reason="bwa-mem4 is not here: make setup-bwa-mem4"),
]


def records(cohort: Cohort, mapper: str) -> dict[str, list[str]]:
    """Header and records of each unit as a mapper gives them, without the lines about programs."""
    folder = cohort.folder.with_name(f"{cohort.folder.name}, {mapper}")
    shutil.copytree(cohort.folder, folder, symlinks=True)
    ran = Cohort(folder, cohort.config | {"mapper": mapper}, cohort.units).snakemake(
        "--notemp", "--until", "map_and_sort"
    )
    assert ran.exit_code == 0, ran.output
    found = {}
    for bam in sorted((folder / "results/map_and_sort").rglob("*.bam")):
        view = subprocess.run(["samtools", "view", "-h", bam], check=True, capture_output=True, text=True).stdout
        found[bam.stem] = [line for line in view.splitlines() if not line.startswith("@PG")]
    return found


def changed(bases: str, every: int) -> str:
    """A genome with a base of another kind, a deletion and an insertion in turns."""
    parts = [bases[start : start + every] for start in range(0, len(bases), every)]
    edits = (
        lambda part: f"{part[:-1]}{'A' if part[-1] != 'A' else 'C'}",
        lambda part: part[:-5],
        lambda part: f"{part}GATTACA",
    )
    return "".join(edits[number % 3](part) for number, part in enumerate(parts))


@pytest.fixture
def simulated(tmp_path: Path) -> Cohort:
    """Pairs and single ends, short reads and long ones, with an ALT contig, repeats, gaps and reads of elsewhere."""
    folder = tmp_path / "run"
    folder.mkdir()
    cohort, genome = one_contig_cohort(folder, 60_000, seed=5)
    genome = f"{genome[:40_000]}{'N' * 200}{genome[10_000:14_000]}{genome[44_200:]}"
    contigs = {"chr1": genome, "chr2": random_sequence(9000, seed=6), "chr1_KI1_alt": changed(genome[2000:6000], 300)}
    (folder / "genome.fa").write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    (folder / "genome.fa.alt").write_text("chr1_KI1_alt\t0\tchr1\t2001\t60\t4000M\t*\t0\t0\t*\t*\n")
    individual = changed(genome.replace("N", ""), 400)
    elsewhere = random_sequence(5000, seed=7)
    for lane, length in (("L1", 100), ("L2", 150), ("L3", 36)):
        mates = sample_pairs(individual, 3000, seed=length, length=length)
        for mate, reads in enumerate(mates, 1):
            strays = sample_pairs(elsewhere, 100, seed=9, length=length)[mate - 1]
            alternatives = sample_pairs(contigs["chr1_KI1_alt"], 300, seed=11, length=length)[mate - 1]
            named = [
                (f"{kind}{name}", bases) for kind, some in (("f", strays), ("a", alternatives)) for name, bases in some
            ]
            write_fastq(folder / f"{lane}_{mate}.fq.gz", [*reads, *named])
        cohort.add_unit("S1", lane, fq1=f"{lane}_1.fq.gz", fq2=f"{lane}_2.fq.gz")
    # reads of one unit need not have one length
    mixed = [
        (f"{lane}{name}", bases) for lane in (36, 250) for name, bases in sample_pairs(individual, 500, lane, lane)[0]
    ]
    write_fastq(folder / "single.fq.gz", mixed)
    cohort.add_unit("S1", "single", fq1="single.fq.gz")
    return cohort


def test_simulated_reads_have_the_records_of_bwa(simulated: Cohort) -> None:
    expected, found = (records(simulated, mapper) for mapper in MAPPERS)
    assert set(expected) == {"L1", "L2", "L3", "single"}
    assert found == expected
    flags = {int(line.split("\t")[1]) for line in expected["L2"] if line[0] != "@"}
    assert any(flag & 0x800 for flag in flags) and any(flag & 0x4 for flag in flags)
    assert any("chr1_KI1_alt" in line.split("\t")[2] for line in expected["L2"])


def real(folder: Path, name: str, fasta: str) -> Cohort:
    """The lanes of NA12878 in a folder of the shared data."""
    data = shared(name)
    folder.mkdir()
    sites = [str(path) for path in (data / "known_sites").glob("*.vcf.gz")]
    cohort = Cohort(folder, {"reference": {"fasta": str(data / fasta)}, "known_sites": sites})
    for fq1 in sorted((data / "reads").glob("*_R1.fastq.gz")):
        sample, _, lane = fq1.name.removesuffix("_R1.fastq.gz").partition("_")
        cohort.add_unit(sample, lane, fq1=fq1, fq2=fq1.with_name(fq1.name.replace("_R1.", "_R2.")))
    return cohort


@pytest.mark.parametrize(
    ("name", "fasta"), [("germline_chr20", "chr20_1100kb.fa.gz"), ("germline_chr22", "chr22_40kb.fa.gz")]
)
def test_real_reads_have_the_records_of_bwa(tmp_path: Path, name: str, fasta: str) -> None:
    expected, found = (records(real(tmp_path / mapper, name, fasta), mapper) for mapper in MAPPERS)
    assert len(expected) in (4, 12)
    assert found == expected


def test_an_index_of_another_genome_is_refused_and_one_of_this_genome_taken(tmp_path: Path) -> None:
    cohort, genome = one_contig_cohort(tmp_path, 2000, seed=1)
    cohort.add_unit("S1", "L1", fq1=write_fastq(tmp_path / "reads.fq", sample_pairs(genome, 20, seed=2)[0]).name)
    cohort.config |= {"mapper": "bwa-mem4", "reference": {"fasta": "genome.fa", "bwa_index": "own/genome.fa"}}
    (tmp_path / "own").mkdir()
    target = "results/map_and_sort/S1/L1.bam"
    for bases, fault in (
        (genome[50:] + genome[:50], "own/genome.fa is not of results/reference/genome.fa"),
        (genome, ""),
    ):
        (tmp_path / "own/genome.fa").write_text(f">chr1\n{bases}\n")
        subprocess.run(["bwa-mem4", "index", tmp_path / "own/genome.fa"], check=True, capture_output=True)
        ran = cohort.snakemake(target)
        assert (ran.exit_code == 0) == (not fault), ran.output
        assert fault in ran.output
        assert (tmp_path / target).exists() == (not fault)


def test_what_lies_beside_an_index_of_ours_and_in_shared_memory_is_not_taken(tmp_path: Path, own_shm: None) -> None:
    """An index of bwa's that has the names of ours, loaded by somebody, and one that bwa-mem4 was to make elsewhere."""
    cohort, genome = one_contig_cohort(tmp_path, 5000, seed=1)
    cohort.add_unit("S1", "L1", fq1=write_fastq(tmp_path / "reads.fq", sample_pairs(genome, 200, seed=2)[0]).name)
    cohort.config |= {"mapper": "bwa-mem4"}
    other = tmp_path / "other/genome.fa"
    other.parent.mkdir()
    other.write_text(f">chr1\n{genome[50:] + genome[:50]}\n")
    subprocess.run(["bwa", "index", other], check=True, capture_output=True)
    subprocess.run(["bwa", "shm", other], check=True, capture_output=True)
    try:
        ran = cohort.snakemake("--notemp", "results/map_and_sort/S1/L1.bam")
    finally:
        subprocess.run(["bwa", "shm", "-d"], check=True, capture_output=True)
    assert ran.exit_code == 0, ran.output
    view = ["samtools", "view", tmp_path / "results/map_and_sort/S1/L1.bam"]
    rows = [
        line.split("\t")
        for line in subprocess.run(view, check=True, capture_output=True, text=True).stdout.splitlines()
    ]
    assert len(rows) == 200
    assert all(genome[int(row[3]) - 1 :].startswith(row[9]) and row[5] == "100M" for row in rows)
