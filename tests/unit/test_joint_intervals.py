"""The intervals that a cohort is called in: they hold the genome once, as many as were asked for."""

import os
from itertools import chain
from pathlib import Path

import pytest
from conftest import ROOT, script
from hypothesis import given
from hypothesis import strategies as st

joint = script(ROOT / "workflow/scripts/intervals/joint_calling.py")
MB = 1_000_000


def contig(name: str, length: int, gaps: tuple[int, ...] = (), bases: int | None = None):
    return joint.Contig(name, length, [(0, length, length if bases is None else bases)], list(gaps))


@st.composite
def genomes(draw):
    lengths = draw(st.lists(st.integers(1, 100) | st.integers(1000, MB), min_size=1, max_size=80))
    return [
        contig(
            f"c{number}", length, sorted(draw(st.sets(st.integers(1, length - 1), max_size=3))) if length > 1 else ()
        )
        if draw(st.booleans())
        else contig(f"c{number}", length, bases=0)
        for number, length in enumerate(lengths)
    ]


@pytest.mark.deep
@given(genomes(), st.sampled_from([1, 2, 3, 7, 60]))
def test_each_base_is_in_one_interval_and_many_contigs_come_whole(genome, count):
    count = min(count, sum(each.length for each in genome))
    intervals = joint.split(genome, count)
    assert len(intervals) == count
    for parts in intervals:
        assert parts
        assert len(parts) <= joint.MANY or all((part.start, part.end) == (0, part.contig.length) for part in parts)
    joined: list[list] = []
    for part in chain(*intervals):
        assert part.start < part.end
        if joined and joined[-1][0] == part.contig.name:
            assert joined[-1][1] == part.start
            joined[-1][1] = part.end
        else:
            assert part.start == 0
            joined.append([part.contig.name, part.end])
    assert joined == [[each.name, each.length] for each in genome]


@pytest.mark.deep
def test_intervals_of_a_human_genome_with_thousands_of_contigs_are_alike():
    """Mb of GRCh38's chromosomes, then its 3,341 other contigs."""
    sizes = [
        248,
        242,
        198,
        190,
        181,
        170,
        159,
        145,
        138,
        133,
        135,
        133,
        114,
        107,
        101,
        90,
        83,
        80,
        58,
        64,
        46,
        50,
        156,
        57,
    ]
    genome = [contig(f"chr{number}", size * MB, (size * MB * 2 // 5,)) for number, size in enumerate(sizes)]
    genome += [contig(f"HLA-A*{number}:01", 4_000) for number in range(3_341)]
    work = sorted(sum(part.work for part in parts) for parts in joint.split(genome, 104))
    assert work[-1] < 1.1 * sum(work) / len(work)
    assert work[5] > 0.9 * sum(work) / len(work)


@pytest.mark.parametrize(
    ("bases", "samples", "intervals"),
    [
        *(
            (2_000, 3, 1),
            (1.2 * MB, 3, 2),
            (5 * MB, 3, 2),
            (120 * MB, 3, 11),
            (3_100 * MB, 3, 100),
            (30_000 * MB, 3, 100),
        ),
        *((3_100 * MB, 190, 100), (3_100 * MB, 500, 259), (3_100 * MB, 1000, 500), (3_100 * MB, 9000, 500)),
        *((60 * MB, 100, 8), (60 * MB, 5000, 50), (4 * MB, 1000, 2)),  # exomes, bacteria
    ],
)
def test_how_many_intervals_serve(bases, samples, intervals):
    assert joint.how_many(bases, samples) == intervals


def test_how_many_there_are_is_that_of_the_last_call_set(tmp_path):
    assert joint.number_there(tmp_path / "none") is None
    for age, number in enumerate([7, 100, 2]):
        for path in (tmp_path / f"1of{number}.bed", tmp_path / f"1of{number}.wide.bed"):
            path.touch()
            os.utime(path, (1000 - age, 1000 - age))
    assert joint.number_there(tmp_path) == 7


def test_memory_for_models_follows_the_genomes():
    one, thousand = (joint.sites_mb(3_100 * MB, samples) for samples in (1, 1000))
    assert one < 2_000
    assert 12_000 < thousand < 24_000, "60 million sites or so"


def test_an_interval_ends_in_a_run_of_n_where_one_is_near():
    (first,), (second,) = joint.split([contig("a", 100_000, (48_000,))], 2)
    assert (first.end, second.lead()) == (48_000, 48_000)
    (first,), (second,) = joint.split([contig("a", 100_000, (20_000,))], 2)
    assert (first.end, second.lead()) == (50_000, 50_000 - joint.LEAD)


def run(tmp_path: Path, count: int) -> int:
    (tmp_path / "genome.bed").write_text("a\t0\t900\t1\t900\nb\t0\t500\t2\t500\nc\t0\t100\t3\t100\n")
    (tmp_path / "called.bed").write_text("a\t100\t200\t1\t100\na\t800\t900\t1\t100\nc\t20\t60\t3\t40\n")
    return joint.main(tmp_path / "genome.bed", tmp_path / "called.bed", count, tmp_path / "intervals")


def test_work_is_what_is_called_and_spans_are_of_contigs_that_have_any(tmp_path):
    """GVCFs hold nothing else, and one span a contig is read sooner than a span a region."""
    assert run(tmp_path, 2) == 0
    found = {path.name: path.read_text() for path in (tmp_path / "intervals").iterdir()}
    assert found["1of2.bed"] == "a\t0\t820\n"
    assert found["2of2.bed"] == "a\t820\t900\nc\t0\t100\n"
    assert found["2of2.wide.bed"] == "a\t0\t900\nc\t0\t100\n"


def test_more_intervals_than_bases_are_refused(tmp_path, capsys):
    assert run(tmp_path, 1001) == 1
    output = capsys.readouterr().err
    assert output == "error: joint_intervals: 1001: there are 1000 bases to call; ask for fewer\n"
    assert not (tmp_path / "intervals").exists()
