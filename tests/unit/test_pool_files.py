"""Reads that a study makes of its pool's: a seeded share of each sample's, in step, and real copies."""

import gzip
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gpd.errors import Interrupted
from gpd.execution import interruption
from gpd.lab import digests, pool_files
from gpd.lab.pool import Source
from gpd.lab.study_runs import StudyError
from gpd.records.study import Pool, Study, Subsample

PAIRS = 2000


def write_fastq(path: Path, mate: int, pairs: int = PAIRS) -> Path:
    text = "".join(f"@r{at} {mate}:N:0\nACGT\n+\nIIII\n" for at in range(pairs)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def names(path: Path) -> list[str]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.split()[0] for line in content.decode().splitlines()[::4]]


@pytest.fixture
def source(tmp_path):
    """A sample with a lane of gzipped pairs in two folders that name them alike, and one of single ends."""
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
    units = (
        {
            **{"sample_name": "S1", "unit_name": "L1", "bam": ""},
            **{
                "fq1": str(write_fastq(tmp_path / "1/a b.fq.gz", 1)),
                "fq2": str(write_fastq(tmp_path / "2/a b.fq.gz", 2)),
            },
        },
        {
            **{"sample_name": "S1", "unit_name": "L2", "bam": "", "fq2": ""},
            "fq1": str(write_fastq(tmp_path / "single.fq", 1)),
        },
    )
    return Source({"pipeline": "germline", "reference": {"fasta": "g.fa"}}, ({"sample_name": "S1"},), units)


@pytest.fixture
def study(tmp_path):
    return Study(directory=str(tmp_path / "runs"), pipelines={"germline": Pool()}, subsample=Subsample(0.1), seed=7)


def made(study, source):
    pool_files.make(study.folder, pool_files.made_files(study, source))
    return pool_files.drawn_from(study, source)


def test_without_settings_the_pool_is_as_it_was(study, source):
    whole = replace(study, subsample=None)
    assert not pool_files.made_files(whole, source)
    assert pool_files.drawn_from(whole, source) == source


def test_cram_is_decoded_as_the_workflow_does(study, source):
    """Alignments that are kept are of the reference."""
    for way, fasta in {"remap": "cram.fa", "keep": "g.fa"}.items():
        other = replace(source, config=source.config | {"cram_reference": "cram.fa", "bam_input": way})
        assert {file.fasta for file in pool_files.made_files(study, other)} == {fasta}
    assert {file.fasta for file in pool_files.made_files(study, source)} == {"g.fa"}


def test_a_share_of_the_reads_is_drawn_and_pairs_keep_in_step(study, source):
    lane, single = made(study, source).units_of("S1")
    first, second, alone = names(lane["fq1"]), names(lane["fq2"]), names(single["fq1"])
    assert first == second, "the same pairs of both files"
    assert len(first) == pytest.approx(0.1 * PAIRS, rel=0.3) and len(alone) == pytest.approx(0.1 * PAIRS, rel=0.3)
    assert first != alone, "each lane has a draw of its own"
    assert set(first) <= {f"@r{at}" for at in range(PAIRS)} and len(set(first)) == len(first)
    assert {path.name for path in (lane["fq1"], lane["fq2"])} == {"a b.fq.gz"}, "names stay, and do not collide"
    assert lane["fq1"].is_relative_to(study.folder)


def test_records_are_drawn_whole(study, source):
    lane, _ = made(study, source).units_of("S1")
    lines = gzip.decompress(lane["fq2"].read_bytes()).decode().splitlines()
    for name, bases, plus, quality in zip(*[iter(lines)] * 4, strict=True):
        assert name.endswith(" 2:N:0") and (bases, plus, quality) == ("ACGT", "+", "IIII")


def test_what_was_made_is_taken_as_it_is_while_input_share_and_seed_are_the_same(study, source, tmp_path):
    path = made(study, source).reads("S1")[0]
    before, content = path.stat().st_ino, path.read_bytes()
    assert made(study, source).reads("S1")[0].stat().st_ino == before
    made(replace(study, seed=8), source)
    assert path.read_bytes() != content
    made(study, source)
    assert path.read_bytes() == content, "the same seed gives the same bytes"
    larger = replace(study, subsample=Subsample(0.2))
    assert len(pool_files.missing(pool_files.made_files(larger, source))) == 3
    write_fastq(tmp_path / "single.fq", 1, pairs=PAIRS + 1)
    (changed,) = pool_files.missing(pool_files.made_files(study, source))
    assert changed.origin == tmp_path / "single.fq"


def test_what_a_killed_study_left_is_removed_and_what_was_cut_short_is_made_anew(study, source):
    path = made(study, source).reads("S1")[0]
    left = path.with_name(f".{path.name}.0123.tmp")
    left.write_text("half")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    made(study, source)
    assert path.read_bytes() == whole and not left.exists()


def test_an_interrupted_study_leaves_no_half_of_a_file(study, source, monkeypatch):
    def interrupted():
        raise Interrupted(2)

    monkeypatch.setattr(interruption, "check", interrupted)
    with pytest.raises(Interrupted):
        made(study, source)
    assert not [path for path in study.folder.rglob("*") if path.is_file()]


def test_pairs_that_are_out_of_step_are_refused(study, source, tmp_path):
    write_fastq(tmp_path / "2/a b.fq.gz", 2, pairs=PAIRS - 1)
    with pytest.raises(StudyError, match=r"1/a b.fq.gz has 2,000 reads, and .*2/a b.fq.gz 1,999: no pairs"):
        made(study, source)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "a b.fq.gz: damaged or cut short"),
        (lambda path: path.write_bytes(gzip.compress(b">r1\nACGT\n" * 400)), "not FASTQ with four lines a read"),
        (lambda path: path.unlink(), "a b.fq.gz: does not exist"),
        (lambda path: path.write_bytes(gzip.compress(b"")), "none of its 0 reads was drawn"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(study, source, tmp_path, damage, message):
    for folder in "12":
        damage(tmp_path / folder / "a b.fq.gz")
    with pytest.raises(StudyError, match=message) as error:
        made(study, source)
    assert len(str(error.value).splitlines()) == 1


def test_the_disk_is_checked_before(study, source, monkeypatch):
    usage = shutil.disk_usage(study.directory if Path(study.directory).exists() else "/")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=10))
    with pytest.raises(StudyError, match="no room on the disk"):
        made(study, source)
    assert not [path for path in study.folder.rglob("*") if path.is_file()]


def test_what_it_takes_is_known_beforehand(study, source, tmp_path):
    whole = sum(path.stat().st_size for path in source.reads("S1"))
    expected = pool_files.outlook(study.folder, pool_files.made_files(study, source))
    assert expected.bytes == pytest.approx(0.1 * whole * pool_files.SLACK)
    assert expected.seconds is not None and 0 < expected.seconds < 60
    assert not study.folder.exists()


@pytest.mark.skipif(not shutil.which("samtools"), reason="samtools draws the share of alignments")
def test_of_alignments_samtools_draws_the_share_and_keeps_mates(study, source, tmp_path):
    sam = "@HD\tVN:1.6\n" + "".join(
        f"r{at}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n" for at in range(PAIRS) for flag in (77, 141)
    )
    (tmp_path / "s.sam").write_text(sam)
    os.system(f"samtools view -b -o '{tmp_path}/s.bam' '{tmp_path}/s.sam'")
    unit = {"sample_name": "S1", "unit_name": "L1", "fq1": "", "fq2": "", "bam": str(tmp_path / "s.bam")}
    aligned = replace(source, units=(unit,))
    (path,) = made(study, aligned).reads("S1")
    drawn = [line.split("\t")[0] for line in os.popen(f"samtools view '{path}'")]
    assert len(drawn) == pytest.approx(0.2 * PAIRS, rel=0.3)
    assert all(drawn.count(name) == 2 for name in set(drawn))


# ---- copies ------------------------------------------------------------------------------------------


def test_a_genome_serves_several_samples_as_real_copies(study, source, tmp_path):
    copies = replace(study, subsample=None, copies=3)
    pool = made(copies, source)
    assert [sample.name for sample in pool.members] == ["S1", "S1.copy2", "S1.copy3"]
    assert pool.units_of("S1") == source.units_of("S1"), "the first is the genome itself"
    for copy in ("S1.copy2", "S1.copy3"):
        for own, first in zip(pool.reads(copy), source.reads("S1"), strict=True):
            assert own.read_bytes() == first.read_bytes()
            assert own.stat().st_ino != first.stat().st_ino and not own.is_symlink()


def test_copies_of_a_share_are_copies_of_that_share(study, source):
    pool = made(replace(study, copies=2), source)
    first, second = pool.reads("S1"), pool.reads("S1.copy2")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.stat().st_ino for path in first}.isdisjoint(path.stat().st_ino for path in second)


def test_a_copy_is_another_input_for_its_results_name_another_sample(study, source):
    pool = made(replace(study, copies=2), source)
    one, other = (digests.input_digest(pool.units_of(name), pool.sheets_say(name)) for name in ("S1", "S1.copy2"))
    assert one != other
