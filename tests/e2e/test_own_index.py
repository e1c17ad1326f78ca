"""An index of bwa's that comes with the reference: held against its FASTA file, base by base."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, one_contig_cohort, random_sequence, sample_pairs, write_fastq

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from checks import same_genome

pytestmark = pytest.mark.e2e

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


def compare_index(folder: Path, contigs: dict[str, str], prefix: str, **layout) -> str:
    fasta = write_fasta(folder / "genome.fa", contigs, **layout)
    subprocess.run(["samtools", "faidx", fasta], check=True, capture_output=True)
    command = [sys.executable, "-S", "-E", same_genome.__file__, "index", "--fasta", fasta, prefix]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == bool(done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1
    return done.stderr or done.stdout


@pytest.mark.parametrize("layout", [{}, {"width": 7}, {"width": 1000}, {"end": "\r\n"}], ids=str)
def test_an_index_of_the_reference_however_its_lines_are_broken(tmp_path, layout):
    assert "all bases are the same" in compare_index(tmp_path, CONTIGS, indexed(tmp_path, CONTIGS), **layout)


@pytest.mark.parametrize("block", [4, 8, 64, 256, 1 << 24])
def test_blocks_of_any_size_compare_alike(tmp_path, monkeypatch, block):
    monkeypatch.setattr(same_genome, "BLOCK", block)
    prefix = indexed(tmp_path, CONTIGS)
    for contig, at in (("chr1", 0), ("chr1", 202), ("HLA-A*01:01", 6), ("one", 0), ("last", 149)):
        bases = CONTIGS[contig]
        other = bases[:at] + {"A": "C", "C": "G", "G": "T", "T": "A"}[bases[at].upper()] + bases[at + 1 :]
        fasta = write_fasta(tmp_path / "genome.fa", CONTIGS | {contig: other})
        subprocess.run(["samtools", "faidx", fasta], check=True, capture_output=True)
        with pytest.raises(
            same_genome.OtherGenomeError, match=f"they differ from {contig}:{at + 1} on".replace("*", ".")
        ):
            same_genome.compare_index(fasta, prefix)


def changed(contig: str, change) -> dict[str, str]:
    return CONTIGS | {contig: change(CONTIGS[contig])}


@pytest.mark.parametrize(
    ("contigs", "fault"),
    [
        (changed("last", lambda bases: bases[50:] + bases[:50]), "they differ from last:"),
        (changed("last", lambda bases: bases[:75] + "N" * 75), "they differ from last:76 on"),
        (changed("chr1", lambda bases: bases.replace("N", "A")), "they differ from chr1:204 on"),
        (changed("chr1", lambda bases: bases[:-1]), "they differ from chr1:300 on"),
    ],
    ids=["rotated", "masked", "unmasked", "shorter"],
)
def test_an_index_of_another_genome(tmp_path, contigs, fault):
    said = compare_index(tmp_path, CONTIGS, indexed(tmp_path, contigs))
    assert said.startswith(f"error: reference.bwa_index {tmp_path}/other.fa is not of {tmp_path}/genome.fa: {fault}")


@pytest.mark.parametrize(
    ("ending", "content", "fault"),
    [
        ("amb", b"x\ny z\n", "it cannot be read"),
        ("pac", b"", "they differ from chr1:1 on"),
        ("pac", None, "they differ from last:147 on"),
    ],
)
def test_an_index_of_which_a_file_is_not_its_own(tmp_path, ending, content, fault):
    prefix = indexed(tmp_path, CONTIGS)
    file = Path(f"{prefix}.{ending}")
    length = sum(map(len, CONTIGS.values()))
    file.write_bytes(file.read_bytes()[: (length - 1) // 4] if content is None else content)
    assert fault in compare_index(tmp_path, CONTIGS, prefix)


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
        "error: reference.bwa_index own/other.fa is not of results/reference/genome.fa: they differ from chr1:1"
        in ran.said
    )
    assert not (tmp_path / target).exists()
    indexed(tmp_path / "own", {"chr1": genome})
    ran = cohort.snakemake(target)
    assert ran.exit_code == 0, ran.said
    assert "Nothing to be done" in cohort.snakemake(target).said
    indexed(tmp_path / "own", {"chr2": genome})
    ran = cohort.snakemake(target)
    assert (
        "config: reference.bwa_index own/other.fa.ann names contig chr2 that the reference genome.fa lacks" in ran.said
    )
