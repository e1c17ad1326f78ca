"""An index of bwa's that comes with the reference: held against its FASTA file, base by base."""

import subprocess
from pathlib import Path

import pytest
from conftest import one_contig_cohort, random_sequence, sample_pairs, write_fastq

pytestmark = pytest.mark.e2e

CHECKED = "results/reference/bwa_index.txt"
# four bases a byte, and contigs that begin and end anywhere in one
CONTIGS = {
    "chr1": random_sequence(203, 1) + "N" * 50 + random_sequence(10, 2) + "RYKM" + random_sequence(33, 3),
    "HLA-A*01:01": "NNNNN" + random_sequence(62, 4).lower() + "n-N",
    "n": "N" * 7,
    "one": "a",
    "last": random_sequence(150, 5),
}


def write_fasta(path: Path, contigs: dict[str, str], width: int = 60, end: str = "\n") -> Path:
    lines = (
        [f">{name} x", *(bases[i : i + width] for i in range(0, len(bases), width))] for name, bases in contigs.items()
    )
    path.write_bytes("".join(f"{line}{end}" for contig in lines for line in contig).encode())
    return path


def indexed(folder: Path, contigs: dict[str, str]) -> str:
    """The prefix of an index of bwa."""
    fasta = write_fasta(folder / "other.fa", contigs)
    subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
    return str(fasta)


def check(folder: Path, contigs: dict[str, str], **layout) -> str:
    """What the workflow says of the index; empty where it is of a FASTA file with these contigs."""
    cohort, genome = one_contig_cohort(folder, 2000, seed=1)
    (single, _) = sample_pairs(genome, 20, seed=2)
    cohort.add_unit("S1", "L1", fq1=write_fastq(folder / "reads.fq", single).name)
    write_fasta(folder / "genome.fa", contigs, **layout)
    cohort.config["reference"]["bwa_index"] = "other.fa"
    cohort.config["known_sites"] = ["known.vcf"]
    (folder / "known.vcf").write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    ran = cohort.snakemake(CHECKED)
    assert "Traceback" not in ran.output
    assert (ran.exit_code == 0) == (folder / CHECKED).exists()
    return "" if ran.exit_code == 0 else ran.output


@pytest.mark.parametrize("layout", [{}, {"width": 7}, {"width": 1000}], ids=str)
def test_an_index_of_the_reference_however_its_lines_are_broken(tmp_path, layout):
    indexed(tmp_path, CONTIGS)
    assert check(tmp_path, CONTIGS, **layout) == ""


def changed(contig: str, change) -> dict[str, str]:
    return CONTIGS | {contig: change(CONTIGS[contig])}


@pytest.mark.parametrize(
    ("contigs", "ending"),
    [
        (changed("last", lambda bases: bases[50:] + bases[:50]), "pac"),
        (changed("last", lambda bases: bases[:149] + {"A": "C"}.get(bases[149], "A")), "pac"),
        (changed("last", lambda bases: bases[:75] + "N" * 75), "amb"),
        (changed("chr1", lambda bases: bases.replace("N", "A")), "amb"),
    ],
    ids=["rotated", "last base", "masked", "unmasked"],
)
def test_an_index_of_another_genome(tmp_path, contigs, ending):
    indexed(tmp_path, contigs)
    fault = f"reference.bwa_index other.fa is not of results/reference/genome.fa: its .{ending} differs"
    assert fault in check(tmp_path, CONTIGS)


@pytest.mark.parametrize("ending", ["amb", "pac"])
def test_an_index_of_which_a_file_is_cut_off(tmp_path, ending):
    file = Path(f"{indexed(tmp_path, CONTIGS)}.{ending}")
    file.write_bytes(file.read_bytes()[:-3])
    assert f"its .{ending} differs" in check(tmp_path, CONTIGS)


def test_reads_are_not_mapped_with_an_index_of_another_build(tmp_path):
    cohort, genome = one_contig_cohort(tmp_path, 2000, seed=1)
    (single, _) = sample_pairs(genome, 20, seed=2)
    cohort.add_unit("S1", "L1", fq1=write_fastq(tmp_path / "reads.fq", single).name)
    cohort.config["reference"]["bwa_index"] = "own/other.fa"
    (tmp_path / "own").mkdir()
    target = "results/map_and_sort/S1/L1.bam"
    indexed(tmp_path / "own", {"chr1": genome[50:] + genome[:50]})
    ran = cohort.snakemake(target)
    assert ran.exit_code != 0
    assert (
        "error: reference.bwa_index own/other.fa is not of results/reference/genome.fa: its .pac differs" in ran.output
    )
    assert not (tmp_path / target).exists()
    indexed(tmp_path / "own", {"chr1": genome})
    ran = cohort.snakemake(target)
    assert ran.exit_code == 0, ran.output
    assert "Nothing to be done" in cohort.snakemake(target).output
    indexed(tmp_path / "own", {"chr2": genome})
    ran = cohort.snakemake(target)
    assert (
        "config: reference.bwa_index own/other.fa.ann names contig chr2 that the reference genome.fa lacks"
        in ran.output
    )
