"""Blocks of reads that TopHat lost: found wherever they lie, and nothing found where reads are merely poor."""

import random
import sys
from pathlib import Path

import pytest
from conftest import ROOT, write_fastq

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from tuxedo import lost_reads as blocks

MATE_FLAGS = (69, 133)  # unmapped, of pairs


@pytest.fixture(autouse=True)
def few_marks(monkeypatch):
    """Enough for small inputs."""
    monkeypatch.setattr(blocks, "MARKS", 1 << 22)


def lane(folder: Path, pairs: int, name: str = "read{}", mates: int = 2, number: int = 1) -> list[Path]:
    reads = [(name.format(at), "ACGT") for at in range(1, pairs + 1)]
    return [write_fastq(folder / f"L{number}_R{mate}.fq", reads) for mate in range(1, mates + 1)]


def unmapped(names: list[str], flags: tuple[int, ...] = MATE_FLAGS) -> list[str]:
    return [f"{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n" for name in names for flag in flags]


def scattered(pairs: int, share: float, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [f"read{at}" for at in range(1, pairs + 1) if draw.random() < share]


def lost(first: int, last: int) -> list[str]:
    return [f"read{at}" for at in range(first, last + 1)]


def found(lanes: list[list[Path]], sam: list[str]) -> list[tuple[int, int]]:
    return [(each.first, each.last) for each in blocks.find(*blocks.count(lanes, blocks.Marks(sam)))]


@pytest.mark.deep
@pytest.mark.parametrize("poor", [0, 0.2, 0.6])
@pytest.mark.parametrize(
    ("pairs", "first", "last"),
    [
        (3000, 2001, 3000),
        (3000, 1, 1000),
        (3000, 951, 2049),
        (2000, 1001, 2000),
        (1500, 1001, 1500),
        (16500, 9001, 10000),
    ],
)
def test_a_lost_block_is_found(tmp_path, poor, pairs, first, last):
    files = lane(tmp_path, pairs)
    ((begin, end),) = found([files], unmapped(sorted({*scattered(pairs, poor), *lost(first, last)})))
    assert abs(begin - first) <= blocks.STEP
    assert abs(end - last) <= blocks.STEP


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("pairs", "poor"), [(50, 0.5), (3000, 0.02), (3000, 0.3), (5000, 0.9), (3000, 1), (3000, 0)])
def test_reads_that_are_poor_all_over_are_none(tmp_path, pairs, poor, seed):
    assert found([lane(tmp_path, pairs)], unmapped(scattered(pairs, poor, seed))) == []


def test_a_part_of_a_flow_run_that_is_half_as_good_is_none(tmp_path):
    bad = [name for name in scattered(6000, 0.4) if 2000 < int(name[4:]) <= 3000]
    assert found([lane(tmp_path, 6000)], unmapped(bad)) == []


def test_two_blocks_are_two(tmp_path):
    assert found([lane(tmp_path, 9000)], unmapped(lost(1001, 2000) + lost(5001, 6000))) == [(1001, 2000), (5001, 6000)]


def test_single_end_reads(tmp_path):
    sam = unmapped(lost(2001, 2950), flags=(4,))
    assert found([lane(tmp_path, 2950, mates=1)], sam) == [(2001, 2950)]


def test_one_mate_alone_is_found(tmp_path):
    """All of one mate, and half of the other."""
    sam = unmapped(lost(2001, 3000), flags=(69,)) + unmapped(lost(2501, 3000), flags=(133,))
    ((begin, end),) = found([lane(tmp_path, 6000)], sam)
    assert 2001 <= begin <= 2501
    assert end == 3000


def test_lanes_are_counted_through(tmp_path):
    lanes = [lane(tmp_path, 2500, "a{}", number=1), lane(tmp_path, 2500, "b{}", number=2)]
    sam = unmapped([f"a{at}" for at in range(2001, 2501)] + [f"b{at}" for at in range(1, 501)])
    assert found(lanes, sam) == [(2001, 3000)]


@pytest.mark.parametrize(
    ("in_fastq", "in_bam"),
    [
        ("SRR1.{} {}/1 length=48", "SRR1.{}"),
        ("H:1:FC:1:1101:{}:7 1:N:0:ACGT", "H:1:FC:1:1101:{}:7"),
        ("old{}/1", "old{}"),
        ("old{}", "old{}/2"),
        ("{}", "{}"),
    ],
)
def test_names_of_any_kind(tmp_path, in_fastq, in_bam):
    sam = unmapped([in_bam.format(at) for at in range(2001, 3001)])
    assert found([lane(tmp_path, 3000, in_fastq.replace("{} {}", "{0} {0}"))], sam) == [(2001, 3000)]


def test_names_that_do_not_fit_are_an_error(tmp_path):
    with pytest.raises(blocks.ReadsLostError, match=r"unmapped reads have other names \(other1\)"):
        blocks.count([lane(tmp_path, 3000)], blocks.Marks(unmapped([f"other{at}" for at in range(1, 200)])))


def test_with_several_threads_it_is_an_error_and_with_one_a_warning(tmp_path, capsys):
    files = lane(tmp_path, 3000)
    with pytest.raises(
        blocks.ReadsLostError, match="TopHat mapped 0% of reads 2001 to 3000, but 100% of others: with 2"
    ):
        blocks.check([files], unmapped(lost(2001, 3000)), threads=2)
    blocks.check([files], unmapped(lost(2001, 3000)), threads=1)
    assert capsys.readouterr().err.startswith("warning: TopHat mapped 0% of reads 2001 to 3000")
