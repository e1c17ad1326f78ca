"""Counting reads: what passes, and what must not."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, write_fastq

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import reads

SCRIPT = ROOT / "workflow" / "scripts" / "reads.py"
PAIR = [("a", "ACGT"), ("b", "GGCC")]


def flagstat(primary: int, total: int, mapped: int = 0) -> dict:
    return {
        "QC-passed reads": {"primary": primary, "total": total, "primary mapped": mapped},
        "QC-failed reads": {"primary": 0, "total": 0, "primary mapped": 0},
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", ["r.fq", "r.fq.gz", "a name; with 'quotes'.fq.gz"])
def test_stream_copies_and_counts(tmp_path, name):
    fastq = write_fastq(tmp_path / name, PAIR)
    command = [sys.executable, SCRIPT, "stream", "--counts", tmp_path, fastq]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == b"@a\nACGT\n+\nIIII\n@b\nGGCC\n+\nIIII\n"
    assert reads.counted(tmp_path, str(fastq)) == 2


def test_a_truncated_stream_leaves_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq.gz", PAIR * 1000)
    fastq.write_bytes(fastq.read_bytes()[:-20])
    command = [sys.executable, SCRIPT, "stream", "--counts", tmp_path, fastq]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"error: {fastq}: damaged or truncated" in done.stderr
    assert reads.counted(tmp_path, str(fastq)) is None


def test_a_reader_that_stops_leaves_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq", PAIR * 100_000)
    command = [sys.executable, str(SCRIPT), "stream", "--counts", str(tmp_path), str(fastq)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert reads.counted(tmp_path, str(fastq)) is None


def test_the_last_line_needs_no_line_feed():
    assert reads.copy(io.BytesIO(b"@a\nA\n+\nI"), io.BytesIO()) == 4


def test_half_a_record_is_an_error(tmp_path):
    fastq = tmp_path / "r.fq"
    fastq.write_text("@a\nA\n")
    with pytest.raises(reads.ReadsLostError, match=r"incomplete \(2 lines\)"):
        reads.stream(str(fastq), tmp_path)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_mates_are_called_alike_whatever_the_chunks(size):
    def digest(text):
        names = reads.Names()
        for at in range(0, len(text), size):
            names.take(text[at : at + size])
        return names.digest.hexdigest()

    text = b"".join(b"@r%d/1 1:N\nACGT\n+\n@@@@\n" % number for number in range(50))
    assert digest(text) == digest(text.replace(b"/1 1:N", b"/2"))
    assert digest(text) != digest(text.replace(b"r5/1", b"x").replace(b"r6/1", b"r5/1").replace(b"x", b"r6/1"))


def test_mates_in_another_order_are_an_error(tmp_path):
    for name, order in (("1.fq", PAIR), ("2.fq", PAIR[::-1])):
        write_fastq(tmp_path / name, order)
        reads.stream(str(tmp_path / name), tmp_path, with_names=True)
    digests = {name: reads.names_of(tmp_path, str(tmp_path / name)) for name in ("1.fq", "2.fq")}
    with pytest.raises(reads.ReadsLostError, match=r"same order: 1\.fq and 2\.fq do not"):
        reads.compare_names(digests, lanes=1)
    reads.compare_names(digests, lanes=2)


def test_equal_counts_pass():
    assert reads.compare_unit({"r1": 5, "r2": 5}, flagstat(10, 12, 9)) == {
        "fastq": {"r1": 5, "r2": 5},
        "reads": 10,
        "mapped": 9,
        "alignments": 12,
    }


@pytest.mark.parametrize(
    ("fastq", "primary", "said"),
    [
        ({"r1": 5, "r2": 4}, 8, "r1 has 5 reads, r2 has 4 reads"),
        ({"r1": None, "r2": 4}, 8, "r1 was not read to its end, r2 has 4 reads"),
        ({"r1": None}, 8, "r1 was not read to its end"),
        ({"r1": 5, "r2": 5}, 9, "10 reads in r1, r2, but 9 in the alignment"),
        ({"bam": 3}, 4, "3 reads in bam, but 4 in the alignment"),
    ],
)
def test_lost_reads_are_an_error(fastq, primary, said):
    with pytest.raises(reads.ReadsLostError, match=said):
        reads.compare_unit(fastq, flagstat(primary, primary))


def numbered(count: int, bases: int) -> list[tuple[str, str]]:
    return [(f"r{number}", "A" * bases) for number in range(count)]


def as_records(reads_: list[tuple[str, str]]) -> reads.Records:
    text = "".join(f"@{name}\n{bases}\n+\n{bases}\n" for name, bases in reads_)
    return reads.Records("r.fq", io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    ("mates", "bases", "expected"),
    [
        (1, 10, [0] * 2 + [1] * 2 + [2]),  # full after one read, but its number is odd
        (1, 11, [0] * 2 + [1] * 2 + [2]),
        (1, 21, [0] * 4 + [1]),  # three reads would fill it
        (2, 20, [0, 1, 2, 3, 4]),
        (2, 21, [0, 0, 1, 1, 2]),
    ],
)
def test_batches_end_where_those_of_bwa_do(mates, bases, expected):
    files = [as_records(numbered(5, 10)) for _ in range(mates)]
    assert [batch for batch, _ in reads.batches(files, bases)] == expected


def chunk(tmp_path, part, files, mapper=("cat",)):
    command = [sys.executable, SCRIPT, "chunk", "--counts", tmp_path, "--chunk", part, "--batch-bases", "40", *files]
    return subprocess.run([*command, "--", *mapper], capture_output=True, text=True, check=False, timeout=60)


def test_a_chunk_has_its_batches_and_placeholders_of_those_before(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq.gz", numbered(18, 10))
    done = chunk(tmp_path, "2of3", [fastq])
    assert done.returncode == 0, done.stderr
    names = [line[1:] for line in done.stdout.splitlines() if line[0] in "@>"]
    batch = ["~", "~~", "~", "~~"]
    assert names == [*batch, "r4", "r5", "r6", "r7", *batch, *batch, "r16", "r17"]
    assert [reads.counted(tmp_path, name) for name in (str(fastq), reads.TAKEN)] == [18, 6]


@pytest.mark.deep
def test_chunks_of_pairs_hold_mates_in_step_and_all_reads_once(tmp_path):
    fastqs = [write_fastq(tmp_path / f"{mate}.fq", numbered(30_000, 10)) for mate in (1, 2)]
    taken = 0
    for part in ("1of2", "2of2"):
        assert chunk(tmp_path, part, fastqs, ["cmp"]).returncode == 0  # reads two files in turns, as bwa does
        taken += reads.counted(tmp_path, reads.TAKEN)
    assert taken == 60_000


def test_a_chunk_of_a_truncated_file_has_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq.gz", numbered(1000, 10))
    fastq.write_bytes(fastq.read_bytes()[:-20])
    done = chunk(tmp_path, "1of2", [fastq])
    assert done.returncode == 1
    assert f"error: {fastq}: damaged or truncated" in done.stderr
    assert reads.counted(tmp_path, str(fastq)) is None


@pytest.mark.deep
def test_a_mapper_that_ends_too_early_leaves_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq", numbered(100_000, 10))
    for mapper, code in ((["head", "-n", "1"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137)):
        assert chunk(tmp_path, "1of2", [fastq], mapper).returncode == code
        assert reads.counted(tmp_path, str(fastq)) is None


def test_a_chunk_has_one_primary_alignment_a_read_taken():
    fastq = {"r1": 5, "r2": 5}
    counts = {"fastq": fastq, "reads": 4, "mapped": 3, "alignments": 5}
    assert reads.compare_unit(fastq, flagstat(4, 5, 3), taken=4) == counts
    with pytest.raises(reads.ReadsLostError, match="6 reads in the chunk of r1, r2, but 4 in the alignment"):
        reads.compare_unit(fastq, flagstat(4, 5), taken=6)


def test_a_sample_needs_all_reads_of_its_chunks():
    def units(folder, *mapped):
        return {
            Path(f"{folder}/{number}.json"): {"fastq": {"r1": 5, "r2": 5}, "reads": count, "chunk": f"{number}of2"}
            for number, count in enumerate(mapped, 1)
        }

    reads.require_all_chunks(units("a", 4, 6) | units("b", 10, 0) | {Path("c.json"): {"fastq": {}, "reads": 3}})
    with pytest.raises(reads.ReadsLostError, match="10 reads in r1, r2, but 8 in all of its chunks"):
        reads.require_all_chunks(units("a", 4, 4))
