"""The simulator of rehearsal and benchmark: the same bytes everywhere, reads of haplotypes with few errors."""

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from statistics import mean, stdev

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "resources" / "simulation"))

from simulation import design, genome, reads, steps, transcripts, variants
from simulation.bases import LETTERS, reverse_complement
from simulation.contigs import SHORTEST
from simulation.streams import Stream

REHEARSAL = ROOT / "resources" / "rehearsal"
SCALE = 0.001
VECTORS = ("AVX2", "FMA3", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR")


@pytest.fixture(scope="module")
def sequence():
    of = design.read(REHEARSAL, SCALE)
    return genome.sequence(of.seed, of.contigs["chr21"], of.gaps(of.contigs["chr21"]))


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def test_numbers_are_the_same_on_every_machine():
    """A digest that differs here means that no benchmark can be compared with one made before."""
    stream = Stream(1, "test")
    drawn = {
        "words": stream.words(5),
        "below": stream.below(np.array([10, 1000]), (3, 2)),
        "small": stream.small(3, 1001),
        "hits": stream.hits(np.array([0.1, 0.9]), (100, 2)),
        "evenly": stream.evenly(0.2, 0.7, 100),
        "bell": stream.bell((50, 2)),
        "geometric": stream.geometric(0.4, 12, 100),
        "order": stream.order(100),
    }
    assert {name: sha256(array) for name, array in drawn.items()} == {
        "words": "1008d746091eba56",
        "below": "f6f4198dfbed46ea",
        "small": "23128619e66decee",
        "hits": "8d5c7925b01b0900",
        "evenly": "9c78657b66c16b0b",
        "bell": "c228b46074ef8492",
        "geometric": "74a879a1d087f8ce",
        "order": "dbe03c17bc25d73f",
    }


@pytest.mark.parametrize("contig", ["chr21", "chrM"])
def test_reads_that_are_dealt_leave_no_file_empty_however_few_they_are(tmp_path, contig):
    """Of a small part of a genome at 0.1x. A folder that has an empty file, or none, is no whole output of a job."""
    of = design.read(REHEARSAL, SCALE)
    np.save(tmp_path / f"{contig}.npy", genome.sequence(of.seed, of.contigs[contig], of.gaps(of.contigs[contig])))
    dealt = tmp_path / "dealt"
    steps.deal_reads(of, of.samples["SHALLOW1"], of.contigs[contig], str(tmp_path), str(dealt))
    sizes = {path.name: path.stat().st_size for path in dealt.iterdir()}
    pairs = int((dealt / "pairs").read_text())
    assert sizes.pop("pairs") and all(sizes.values())
    assert sum(sizes.values()) == pairs * 2 * reads.RECORD_BYTES
    assert len(sizes) < steps.BUCKETS


@pytest.mark.deep
def test_bytes_are_the_same_on_a_cpu_without_vector_units(tmp_path):
    """numpy has other code for each kind of CPU, which may round in another way, or add in another order."""
    of = ROOT / "resources" / "benchmark" / "tiny-rna-1"
    command = [sys.executable, "-W", "ignore", "-m", "simulation", "--design", str(of), "chromosome", "chr2"]
    made = []
    for number, without in enumerate(({}, {"NPY_DISABLE_CPU_FEATURES": " ".join(VECTORS)})):
        path = tmp_path / f"{number}.npy"
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "resources" / "simulation"), **without}
        subprocess.run([*command, str(path)], env=environment, check=True)
        made.append(path.read_bytes())
    assert made[0] == made[1] and len(made[0]) > 300_000


def test_numbers_are_spread_as_they_are_to_be():
    stream = Stream(1, "spread")
    assert mean(stream.evenly(0.2, 0.7, 10_000)) == pytest.approx(0.45, abs=0.01)
    bell = stream.bell(10_000).tolist()
    assert (mean(bell), stdev(bell)) == (pytest.approx(0, abs=0.05), pytest.approx(1, abs=0.05))
    assert stream.hits(0.25, 10_000).mean() == pytest.approx(0.25, abs=0.02)
    trials = stream.geometric(0.4, 12, 10_000)
    assert (trials.min(), trials.max()) == (1, 12) and trials.mean() == pytest.approx(2.5, abs=0.1)
    assert sorted(stream.order(100)) == list(range(100))
    assert set(stream.small(3, 1000)) == {0, 1, 2} and set(stream.below(3, 1000)) == {0, 1, 2}


def test_a_scale_keeps_every_contig():
    whole, small = design.read(REHEARSAL).contigs, design.read(REHEARSAL, SCALE).contigs
    assert len(whole) == 3366 and list(whole) == list(small)
    assert whole["chr21"].length == 46_709_983
    assert all(small[name].length >= min(SHORTEST, contig.length) for name, contig in whole.items())


def test_a_design_may_have_the_contigs_of_another():
    full, rehearsed = (design.read(of, SCALE) for of in (ROOT / "resources/benchmark/full-1", REHEARSAL))
    assert full.contigs == rehearsed.contigs and full.has_copies
    chr1 = full.contigs["chr1"]
    assert len(full.gaps(chr1)) > 2 and full.gaps(chr1) == rehearsed.gaps(rehearsed.contigs["chr1"])
    assert {full.depth(sample, chr1) for sample in full.samples.values()} == {30}


def test_a_haplotype_has_the_variants_that_it_carries(sequence):
    found = variants.population(1, 20, sequence)
    assert len(found)
    nothing, everything = np.zeros(len(found), bool), np.ones(len(found), bool)
    assert (variants.haplotype(sequence, found, nothing) == sequence).all()
    assert len(variants.haplotype(sequence, found, everything)) == len(sequence) + found.inserted.sum()


def test_reads_are_of_their_haplotype_but_for_few_errors(sequence):
    stream = Stream(1, "reads")
    first, second = reads.fragments(stream, sequence, 500)
    text = LETTERS[sequence].tobytes()
    for read in (*first, *second):
        assert LETTERS[read].tobytes() in text or LETTERS[reverse_complement(read)].tobytes() in text
    records = reads.records(stream, first, 1, 0, "201.")
    assert records.shape == (len(first), reads.RECORD_BYTES)
    start = len("@") + reads.PREFIX + reads.NAME + len("/1\n")
    sequenced = records[:, start : start + reads.READ_BP]
    assert 0 < (sequenced != LETTERS[first]).mean() < 0.02


# ---- RNA -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rna():
    """A design with genes, the sequence of its first chromosome and the genes on it."""
    of = design.read(ROOT / "resources" / "benchmark" / "tiny-rna-1")
    contig = of.contigs["chr1"]
    made = genome.sequence(of.seed, contig, of.gaps(contig))
    genes = transcripts.genes(of.seed, contig, of.gaps(contig), of.genes.every_bp)
    transcripts.add_splice_sites(made, genes)
    return of, made, genes


def test_genes_lie_one_after_the_other_and_outside_of_gaps(rna):
    of, made, genes = rna
    ends = [(gene.exons[0][0], gene.exons[-1][1]) for gene in genes]
    assert len(genes) >= 25 and all(end < start for (_, end), (start, _) in pairwise(ends))
    assert all(end <= of.contigs["chr1"].length and not (made[start:end] == 4).any() for start, end in ends)
    assert {gene.forward for gene in genes} == {True, False}
    assert {len(gene.transcripts) for gene in genes} == {1, 2}


def test_introns_begin_with_gt_and_end_with_ag_as_the_gene_is_read(rna):
    _, made, genes = rna
    for gene in genes:
        for (_, start), (end, _) in pairwise(gene.exons):
            intron = made[start:end] if gene.forward else reverse_complement(made[start:end])
            assert LETTERS[intron[:2]].tobytes() == b"GT" and LETTERS[intron[-2:]].tobytes() == b"AG"


def test_a_line_of_the_annotation_is_an_exon_of_a_transcript(rna):
    _, made, genes = rna
    gene = next(gene for gene in genes if gene.skipped)
    lines = [line.split("\t") for line in transcripts.gtf([gene])]
    whole, fewer = (spliced for _, spliced, _ in gene.transcripts)
    assert [(int(line[3]) - 1, int(line[4])) for line in lines] == [*whole, *fewer]
    assert len(transcripts.spliced(made, gene, whole)) == sum(end - start for start, end in whole)


def test_conditions_differ_in_some_genes_and_replicates_in_all_by_little(rna):
    of, _, genes = rna
    control, treated, again = (
        transcripts.amounts(of.seed, of.samples[name], "control", genes) for name in ("S1", "S2", "S3")
    )
    expressed = control > 0
    assert (expressed == (treated > 0)).all() and expressed.mean() > 0.8
    little, ratios = again[expressed] / control[expressed], treated[expressed] / control[expressed]
    assert (little > 0.5).all() and (little < 2).all() and len(set(little.tolist())) == len(little)
    changed = (ratios > 2) | (ratios < 0.5)
    assert 0 < changed.mean() < 0.3


def test_rna_reads_are_of_transcripts_as_much_as_there_is_of_each():
    found = [genome.composed(Stream(1, "transcript", number), length) for number, length in enumerate((900, 300, 600))]
    ((first, second),) = transcripts.pairs(Stream(1, "rna"), found, np.array([3.0, 1.0, 0.0]), 2000)
    texts = [LETTERS[each].tobytes() + b"N" + LETTERS[reverse_complement(each)].tobytes() for each in found]
    start = len("@") + reads.PREFIX + reads.NAME + len("/1\n")
    origin = [
        [number for number, text in enumerate(texts) if record[start : start + reads.READ_BP].tobytes() in text]
        for record in (*first, *second)
    ]
    known = [numbers[0] for numbers in origin if numbers]  # the others have errors
    assert len(known) > 1500 and known.count(2) == 0
    assert known.count(0) / len(known) == pytest.approx(0.75, abs=0.03)
