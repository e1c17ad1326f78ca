"""Counting reads: what passes, and what must not."""

import io
import subprocess
import sys

import pytest
from conftest import ROOT, write_fastq

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from reads import count_reads as reads

SCRIPT = ROOT / "workflow" / "scripts" / "reads" / "count_reads.py"
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
    assert reads.counted(tmp_path, str(fastq)) == (2, "")


def test_a_file_that_has_grown_since_it_was_read_is_named(tmp_path):
    """It ended with a record and a member of its gzip file: nothing else tells."""
    fastq = write_fastq(tmp_path / "r.fq.gz", PAIR)
    command = [sys.executable, SCRIPT, "stream", "--counts", tmp_path, fastq]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    before = fastq.read_bytes()
    fastq.write_bytes(before * 2)
    told = f"had {len(before)} bytes when it was read and has {2 * len(before)}: start again when it is whole"
    with pytest.raises(reads.ReadsLostError, match=told):
        reads.counted(tmp_path, str(fastq))


def test_a_truncated_stream_leaves_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq.gz", PAIR * 1000)
    fastq.write_bytes(fastq.read_bytes()[:-20])
    command = [sys.executable, SCRIPT, "stream", "--counts", tmp_path, fastq]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"error: {fastq}: damaged or truncated" in done.stderr
    assert reads.counted(tmp_path, str(fastq)) == (None, "")


def test_a_reader_that_stops_leaves_no_count(tmp_path):
    fastq = write_fastq(tmp_path / "r.fq", PAIR * 100_000)
    command = [sys.executable, str(SCRIPT), "stream", "--counts", str(tmp_path), str(fastq)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert reads.counted(tmp_path, str(fastq)) == (None, "")


def test_the_last_line_needs_no_line_feed():
    assert reads.copy(io.BytesIO(b"@a\nA\n+\nI"), io.BytesIO()) == 4


@pytest.mark.parametrize("blank", [b"", b"\n", b"\n\n", b"\n\n\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize(
    ("records", "lines"),
    [(b"@a\nA\n+\nI\n", 4), (b"@a\nA\n+\nI\n@b\n\n+\n\n", 8), (b"@a\nA\n+\nI\n@b\nA\n", 6), (b"", 0)],
    ids=["whole", "a read without bases", "cut off", "nothing"],
)
@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_blank_lines_at_the_end_are_no_records(monkeypatch, records, lines, blank, chunk):
    """The check before a run passes them, too."""
    monkeypatch.setattr(reads, "CHUNK_BYTES", chunk)
    sink = io.BytesIO()
    assert reads.copy(io.BytesIO(records + blank), sink) == lines
    assert sink.getvalue() == records.replace(b"@b\n\n+\n", b"@b\nN\n+\n!") + blank


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["\\n", "\\r\\n"])
def test_reads_without_bases_are_one_n_each_and_counted(monkeypatch, chunk, end):
    """As cutadapt leaves them; qualities may be + and @."""
    monkeypatch.setattr(reads, "CHUNK_BYTES", chunk)
    whole, without = b"@a\nA\n+\n+\n@b\nC\n+b\n@\n", b"@c\n\n+\n\n@d x\n\n+d x\n\n"
    text, expected = whole + without + whole + without, b"@c\nN\n+\n!\n@d x\nN\n+d x\n!\n"
    sink, mended = io.BytesIO(), reads.Mended()
    assert reads.copy(io.BytesIO(text.replace(b"\n", end)), sink, mended=mended) == 32
    assert sink.getvalue() == (whole + expected + whole + expected).replace(b"\n", end)
    assert mended.without_bases == 4


@pytest.mark.parametrize("chunk", [7, 1 << 17])
def test_numbers_of_mates_are_no_part_of_names(monkeypatch, chunk):
    """As fastq-dump -I numbers them."""
    monkeypatch.setattr(reads, "CHUNK_BYTES", chunk)
    record = b"@r.%d%s 2 length=4\nACGT\n+r.%d.2\n@I.2\n"
    reads.copy(io.BytesIO(b"".join(record % (n, b".2", n) for n in range(30))), sink := io.BytesIO())
    assert sink.getvalue() == b"".join(record % (n, b"", n) for n in range(30))


def test_numbers_of_reads_are():
    """fastq-dump without -I: the first two end as numbered mates do."""
    text = b"".join(b"@r.%d 2 length=4\nACGT\n+\nIIII\n" % n for n in range(1, 30))
    reads.copy(io.BytesIO(text), sink := io.BytesIO())
    assert sink.getvalue() == text


def test_half_a_record_is_an_error(tmp_path):
    fastq = tmp_path / "r.fq"
    fastq.write_text("@a\nA\n")
    with pytest.raises(reads.ReadsLostError, match=r"incomplete \(2 lines\)"):
        reads.stream(str(fastq), tmp_path)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_mates_are_called_alike_however_they_are_read(monkeypatch, size):
    def digest(text):
        names = reads.Names()
        monkeypatch.setattr(reads, "CHUNK_BYTES", size)
        reads.copy(io.BytesIO(text), io.BytesIO(), names)
        return names.digest.hexdigest()

    text = b"".join(b"@r%d/1 1:N\nACGT\n+\n@@@@\n" % number for number in range(50))
    assert digest(text) == digest(text.replace(b"/1 1:N", b"/2"))
    assert digest(text) == digest(text.replace(b"/1 1:N", b".2"))
    assert digest(text) != digest(text.replace(b"r5/1", b"x").replace(b"r6/1", b"r5/1").replace(b"x", b"r6/1"))


def test_mates_in_another_order_are_an_error(tmp_path):
    for name, order in (("1.fq", PAIR), ("2.fq", PAIR[::-1])):
        write_fastq(tmp_path / name, order)
        reads.stream(str(tmp_path / name), tmp_path, with_names=True)
    digests = {name: reads.counted(tmp_path, str(tmp_path / name))[1] for name in ("1.fq", "2.fq")}
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
    ("fastq", "primary", "output"),
    [
        ({"r1": 5, "r2": 4}, 8, "r1 has 5 reads, r2 has 4 reads"),
        ({"r1": None, "r2": 4}, 8, "r1 was not read to its end, r2 has 4 reads"),
        ({"r1": None}, 8, "r1 was not read to its end"),
        ({"r1": 5, "r2": 5}, 9, "10 reads in r1, r2, but 9 in the alignment"),
        ({"bam": 3}, 4, "3 reads in bam, but 4 in the alignment"),
    ],
)
def test_lost_reads_are_an_error(fastq, primary, output):
    with pytest.raises(reads.ReadsLostError, match=output):
        reads.compare_unit(fastq, flagstat(primary, primary))


# ---- what trimming leaves ------------------------------------------------------------------------------


def fastp(reads_found: int, reads_kept: int) -> dict:
    """What fastp reports of reads of 100 bases."""
    counts = {"before_filtering": reads_found, "after_filtering": reads_kept}
    return {"summary": {when: {"total_reads": n, "total_bases": 100 * n} for when, n in counts.items()}}


def test_what_trimming_removes_is_counted_against_the_reads():
    assert reads.trimmed({"r1": 5, "r2": 5}, fastp(10, 8)) == {
        "fastq": {"r1": 5, "r2": 5},
        "found": {"reads": 10, "bases": 1000},
        "kept": {"reads": 8, "bases": 800},
    }


@pytest.mark.parametrize(
    ("fastq", "found", "error"),
    [
        ({"r1": 5, "r2": 5}, 8, "10 reads in r1, r2, but fastp read 8"),
        ({"r1": 5, "r2": 4}, 8, "r1 has 5 reads, r2 has 4 reads"),
        ({"r1": 5, "r2": None}, 10, "r2 was not read to its end"),
    ],
)
def test_reads_that_fastp_did_not_see_are_an_error(fastq, found, error):
    with pytest.raises(reads.ReadsLostError, match=error):
        reads.trimmed(fastq, fastp(found, found))


@pytest.mark.parametrize(
    ("fastq", "kept"),
    [({"r1": 4, "r2": 4}, [8]), ({"r1": 4}, [4]), ({"a1": 4, "a2": 4, "b1": 3, "b2": 3}, [8, 6]), ({}, [])],
)
def test_trimmed_files_that_are_whole_pass(fastq, kept):
    reads.compare_trimmed(fastq, [{"kept": {"reads": count}} for count in kept])


def test_trimmed_files_that_lack_reads_are_an_error():
    with pytest.raises(reads.ReadsLostError, match="b2 has 2 reads, but fastp left 3 in it"):
        reads.compare_trimmed({"a1": 4, "a2": 4, "b1": 3, "b2": 2}, [{"kept": {"reads": 8}}, {"kept": {"reads": 6}}])
