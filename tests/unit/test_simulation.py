"""The simulator of rehearsal and benchmark: the same bytes everywhere, reads of haplotypes with few errors."""

import hashlib
import sys
from statistics import mean, stdev

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "resources" / "simulation"))

from simulation import design, genome, reads, variants
from simulation.bases import LETTERS, reverse_complement
from simulation.contigs import SHORTEST
from simulation.streams import Stream

REHEARSAL = ROOT / "resources" / "rehearsal"
SCALE = 0.001


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
