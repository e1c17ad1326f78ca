"""The germline demo cohort: what it promises about truth, reads and files."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "resources" / "demo" / "germline"))

import simulate_cohort  # noqa: E402
from demo_germline.genome import Genome, add_gaps, between_gaps, gaps, simulate_genome  # noqa: E402
from demo_germline.reads import DUPLICATE_SHARE, READ_BP, SPARE_BP  # noqa: E402
from demo_germline.slippage import RUNS, TANDEM_REPEATS, Slips, slip  # noqa: E402
from demo_germline.tools import NEEDED  # noqa: E402
from demo_germline.variants import (  # noqa: E402
    EDGE,
    Variant,
    apply_variants,
    left_align,
    simulate_population,
)

needs_tools = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in NEEDED), reason=f"needs {', '.join(NEEDED)}"
)
TINY = ["--length", "20000", "--coverage", "4"]
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("demo") / "cohort"
    assert simulate_cohort.main(["--output", str(output), "--samples", "2", "--seed", "7", *TINY]) == 0
    return output


@pytest.fixture(scope="module")
def genome() -> Genome:
    return simulate_genome(np.random.default_rng(3), 300_000)


@pytest.fixture(scope="module")
def population(genome: Genome) -> list[Variant]:
    return simulate_population(np.random.default_rng(4), genome, every_bp=60)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def read_fasta(path: Path) -> dict[str, str]:
    records = path.read_text().split(">")[1:]
    return {r.split("\n", 1)[0]: r.split("\n", 1)[1].replace("\n", "") for r in records}


def read_vcf(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt") as lines:
        return [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]


def read_fastq(path: Path) -> list[tuple[str, str, str]]:
    with gzip.open(path, "rt") as lines:
        rows = lines.read().splitlines()
    return list(zip(rows[0::4], rows[1::4], rows[3::4], strict=True))


def haplotypes_from_truth(cohort: Path, sample: str) -> dict[str, str]:
    """The haplotypes as the written files give them, built from the right end so that positions hold."""
    sequences = {}
    records = read_vcf(cohort / "truth" / f"{sample}.vcf.gz")[::-1]
    for copy in (0, 1):
        for contig, sequence in read_fasta(cohort / "genome.fa").items():
            for chrom, pos, _, ref, alt, *_, genotype in records:
                if chrom == contig and genotype.split("|")[copy] == "1":
                    start = int(pos) - 1
                    assert sequence[start : start + len(ref)] == ref
                    sequence = sequence[:start] + alt + sequence[start + len(ref) :]
            sequences[f"{contig}_h{copy + 1}"] = sequence
    return sequences


@pytest.mark.deep
@needs_tools
def test_same_seed_same_bytes(cohort: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    assert simulate_cohort.main(["--output", str(again), "--samples", "2", "--seed", "7", *TINY]) == 0
    assert simulate_cohort.main(["--output", str(other), "--samples", "1", "--seed", "8", *TINY]) == 0
    first = digests(cohort)
    assert digests(again) == first
    differing = {name for name, digest in digests(other).items() if first[name] != digest}
    assert {"genome.fa", "truth/DEMO01.vcf.gz", "reads/DEMO01_L001_R1.fastq.gz"} <= differing


@pytest.mark.deep
@needs_tools
def test_another_sample_leaves_the_first_as_it_was(cohort: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    assert simulate_cohort.main(["--output", str(alone), "--samples", "1", "--seed", "7", *TINY]) == 0
    both = digests(cohort)
    assert all(both[name] == digest for name, digest in digests(alone).items() if "DEMO01" in name)


@needs_tools
def test_reads_come_from_the_haplotypes_that_the_truth_describes(cohort: Path) -> None:
    sequences = haplotypes_from_truth(cohort, "DEMO01")
    close = total = 0
    for name, bases, _ in read_fastq(cohort / "reads/DEMO01_L001_R1.fastq.gz"):
        if "paralog" in name or "_rand_" in name:
            continue
        contig, copy, first, _, reverse = name.split("_")[1:6]
        sequence, start = sequences[f"{contig}_{copy}"], int(first) - 1
        expected = sequence[start : start + READ_BP]
        if reverse == "1":
            expected = sequence[start + SPARE_BP : start + SPARE_BP + READ_BP].translate(COMPLEMENT)[::-1]
        total += 1
        close += sum(a != b for a, b in zip(bases, expected, strict=True)) <= 8
    assert total > 100
    assert close / total > 0.95  # the rest holds a slipped run of one base, or many sequencing errors


def codes(text: str) -> np.ndarray:
    return np.array(["ACGT".index(base) for base in text], dtype=np.uint8)


def slipped_lengths(repeat: str, unit: int, profile: dict[int, Slips]) -> set[int]:
    """How long a repeat between other bases is in reads that slip as the profile has it."""
    before, after = "GATCCATG", "CTGCGTAGCATCGTACGATGC"
    reads = np.tile(codes(f"{before}{repeat}{after}"), (200, 1))
    slip(np.random.default_rng(1), reads, profile)
    texts = ["".join("ACGT"[code] for code in read) for read in reads]
    assert all(text.startswith(before + repeat[:unit]) for text in texts)
    return {text.index(after[:12]) - len(before) for text in texts}


@pytest.mark.parametrize("unit", ["A", "AG", "AGT", "AAGT", "AGATT", "AGATTC"])
def test_a_read_gains_or_loses_a_unit_of_a_tandem_repeat(unit: str) -> None:
    repeat, size = unit * 9, len(unit)
    always = {size: Slips(repeats=4, per_repeat=1, most=1)}
    assert slipped_lengths(repeat, size, always) == {8 * size, 10 * size}
    assert slipped_lengths(unit * 3, size, always) == {3 * size}, "too short"


def test_a_repeat_slips_by_its_shortest_unit() -> None:
    always = {unit: Slips(repeats=4, per_repeat=1, most=1) for unit in (2, 4, 6)}
    assert slipped_lengths("A" * 30, 1, always) == {30}
    assert slipped_lengths("AG" * 15, 2, always) == {28, 32}


def test_without_more_reads_slip_in_runs_of_one_base_alone() -> None:
    assert set(RUNS) == {1} and set(TANDEM_REPEATS) == {1, 2, 3, 4, 5, 6}
    rates = [slips.per_repeat for slips in TANDEM_REPEATS.values()]
    assert rates == sorted(rates, reverse=True)
    assert slipped_lengths("AG" * 15, 2, RUNS) == {30}
    assert slipped_lengths("AG" * 15, 2, TANDEM_REPEATS) == {28, 30, 32}


@needs_tools
def test_duplicates_are_new_reads_of_known_fragments(cohort: Path) -> None:
    reads = {name: (bases, scores) for name, bases, scores in read_fastq(cohort / "reads/DEMO02_L002_R1.fastq.gz")}
    copies = [name for name in reads if name.endswith("_dup/1")]
    assert len(copies) == round(len(reads) * DUPLICATE_SHARE) > 0
    originals = [name.replace("_dup/1", "/1") for name in copies]
    assert all(name in reads for name in originals)
    assert all(reads[a][1] != reads[b][1] for a, b in zip(copies, originals, strict=True))
    differences = [
        sum(x != y for x, y in zip(reads[a][0], reads[b][0], strict=True))
        for a, b in zip(copies, originals, strict=True)
    ]
    assert np.median(differences) <= 4  # sequenced twice, from one molecule


@needs_tools
def test_known_sites_overlap_the_truth_in_part(cohort: Path) -> None:
    def places(name: str) -> set[tuple[str, ...]]:
        return {tuple(r[:2] + r[3:5]) for r in read_vcf(cohort / name)}

    truth = places("truth/population.vcf.gz")
    known = places("known/known_sites.vcf.gz")
    assert known - truth and truth - known
    assert 0.7 < len(known & truth) / len(truth) < 0.9
    assert places("known/hapmap.vcf.gz") <= truth
    assert all(len(ref) == len(alt) for *_, ref, alt in places("known/omni.vcf.gz"))
    assert all(len(ref) != len(alt) for *_, ref, alt in places("known/mills.vcf.gz"))


@pytest.mark.deep
def test_variants_of_a_haplotype_never_overlap(genome: Genome, population: list[Variant]) -> None:
    assert len(population) > 3000
    for before, after in pairwise(population):
        assert before.contig != after.contig or before.end < after.pos
    assert all(genome.contigs[v.contig][v.pos : v.end] == v.ref != v.alt for v in population)


def test_gaps_hold_neither_variants_nor_reads(genome: Genome) -> None:
    with_gaps = add_gaps(np.random.default_rng(6), genome, 30_000)
    found = [(name, *gap) for name, sequence in with_gaps.contigs.items() for gap in gaps(sequence)]
    assert len(found) == 10
    assert all(start > 0 and end < len(genome.contigs[name]) for name, start, end in found)
    variants = simulate_population(np.random.default_rng(4), with_gaps, every_bp=60)
    assert len(variants) > 3000
    for name, start, end in found:
        assert not [v for v in variants if v.contig == name and v.pos < end + EDGE and v.end > start - EDGE]
    parts = between_gaps(apply_variants(with_gaps.contigs, variants))  # what fragments are drawn from
    assert len(parts) == len(found) + len(genome.contigs)
    assert not [name for name, sequence in parts.items() if set(sequence) - set("ACGT")]


@pytest.mark.deep
@needs_tools
def test_a_cohort_with_gaps_has_the_coverage_that_was_asked_for(tmp_path: Path) -> None:
    length, coverage = 60_000, 4
    arguments = ["--output", str(tmp_path / "gaps"), "--samples", "1", "--length", str(length)]
    assert simulate_cohort.main([*arguments, "--coverage", str(coverage), "--gaps-every", "10000"]) == 0
    sequences = read_fasta(tmp_path / "gaps" / "genome.fa")
    assert sum(len(gaps(sequence)) for sequence in sequences.values()) == 5  # 3 in 36 kb, 2 in 24 kb
    reads = read_fastq(tmp_path / "gaps" / "reads/DEMO01_L001_R1.fastq.gz")
    bases = 2 * 2 * READ_BP * len(reads)  # lanes and mates
    known = sum(len(sequence) - sequence.count("N") for sequence in sequences.values())
    assert coverage * known < bases < 1.3 * coverage * known  # the paralogs' reads come on top


@given(st.text("AC", min_size=12, max_size=40), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_left_alignment_keeps_the_haplotype(sequence: str, start: int, size: int, insertion: bool) -> None:
    start = min(start + len(sequence) // 2, len(sequence) - size)
    anchor, changed = sequence[start - 1], sequence[start : start + size]
    ref, alt = (anchor, anchor + changed) if insertion else (anchor + changed, anchor)
    pos, new_ref, new_alt = left_align(sequence, start - 1, ref, alt)
    as_given = sequence[: start - 1] + alt + sequence[start - 1 + len(ref) :]
    assert sequence[:pos] + new_alt + sequence[pos + len(new_ref) :] == as_given
    assert min(len(new_ref), len(new_alt)) == 1
    assert pos == 0 or new_ref[-1] != new_alt[-1]
    assert left_align(sequence, pos, new_ref, new_alt) == (pos, new_ref, new_alt)


def test_apply_variants_refuses_what_does_not_fit() -> None:
    contigs = {"chr1": "ACGTACGT"}
    fits = [Variant("chr1", 1, "CG", "C", 0.5), Variant("chr1", 4, "A", "AT", 0.5)]
    assert apply_variants(contigs, fits) == {"chr1": "ACTATCGT"}
    with pytest.raises(ValueError, match="chr1:3: overlaps"):
        apply_variants(contigs, [fits[0], Variant("chr1", 2, "G", "A", 0.5)])
    with pytest.raises(ValueError, match="chr1:2: the reference has not T there"):
        apply_variants(contigs, [Variant("chr1", 1, "T", "A", 0.5)])


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--samples", "0"], "--samples 0: give 1 to 9999"),
        (["--seed", "-1"], "--seed -1: give 0 or more"),
        (["--length", "500"], "--length 500: give 20000 to"),
        (["--coverage", "nan"], "--coverage nan: give 0.5 to 1000"),
        (["--coverage", "0"], "--coverage 0: give 0.5 to 1000"),
        (["--gaps-every", "500"], "--gaps-every 500: give 10000 bp or more, or 0"),
        (["--variants-every", "99"], "--variants-every 99: give 100 bp or more"),
        (["--samples", "two"], "invalid int value: 'two'"),
        (["--depth", "3"], "unrecognized arguments: --depth 3"),
    ],
)
def test_bad_arguments_get_one_line(
    arguments: list[str], printed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    with pytest.raises(SystemExit) as stop:
        simulate_cohort.main(["--output", str(output), *arguments])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert printed in error
    assert error.count("\n") == 1
    assert not output.exists()


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit) as stop:
        simulate_cohort.main(["--output", str(tmp_path), *TINY])
    assert stop.value.code == 2
    assert "exists and is not an empty folder" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_missing_tools_are_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert simulate_cohort.main(["--output", str(tmp_path / "out"), *TINY]) == 1
    assert "not found on the PATH: dwgsim, samtools, bgzip, tabix" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failing_tool_leaves_no_half_cohort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in NEEDED:
        (tools / tool).write_text("#!/bin/sh\necho 'disk on fire' >&2\nexit 3\n")
        (tools / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    assert simulate_cohort.main(["--output", str(tmp_path / "out"), *TINY]) == 1
    assert capsys.readouterr().err == "simulate_cohort.py: samtools failed with exit code 3: disk on fire\n"
    assert [p.name for p in tmp_path.iterdir()] == ["bin"]
