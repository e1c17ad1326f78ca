"""The rehearsal's simulator: contigs of the assembly, reads of the sample's haplotypes with few errors."""

import sys

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "resources" / "rehearsal"))

from rehearsal import genome, reads, variants
from rehearsal.bases import LETTERS, reverse_complement
from rehearsal.contigs import SHORTEST, contigs

SCALE = 0.001


@pytest.fixture(scope="module")
def sequence():
    return genome.sequence(1, contigs(SCALE)["chr21"], SCALE)


def test_a_scale_keeps_every_contig():
    whole, small = contigs(1), contigs(SCALE)
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
    rng = np.random.default_rng(1)
    first, second = reads.fragments(rng, sequence, 500)
    text = LETTERS[sequence].tobytes()
    for read in (*first, *second):
        assert LETTERS[read].tobytes() in text or LETTERS[reverse_complement(read)].tobytes() in text
    records = reads.records(rng, first, 1, 0, "201.")
    assert records.shape == (len(first), reads.RECORD_BYTES)
    start = len("@") + reads.PREFIX + reads.NAME + len("/1\n")
    sequenced = records[:, start : start + reads.READ_BP]
    assert 0 < (sequenced != LETTERS[first]).mean() < 0.02
