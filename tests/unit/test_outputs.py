"""What counts as a whole file: each kind as its tool writes it, cut off in several places; the launcher's verdict."""

import gzip
import json
import os
import struct
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from shlex import quote

import pytest
from conftest import script
from launching import PINNED

outputs = script(PINNED / "launcher" / "outputs.py")

VCF = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t5\t.\tA\tC\t.\t.\tDP=1\n"
REPORT = """\
#:GATKReport.v1.1:2
#:GATKTable:2:1:%s:%s:;
#:GATKTable:Arguments:Recalibration argument collection values used in this run
Argument  Value
covariate  Context

#:GATKTable:2:2:%d:%d:;
#:GATKTable:Quantized:Quality quantization map
QualityScore  Count
0  12
1  13

"""
TRANCHES = "# Variant quality score tranches file\n# Version number 5\na,b,c\n90.00,1,2\n99.00,3,4\n"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(32)  # up to where its superblock, of version 0, says the end of the file


def block(data: bytes) -> bytes:
    """One BGZF block."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(data) + packer.flush()
    header = b"\x1f\x8b\x08\x04" + bytes(6) + b"\x06\x00BC\x02\x00" + struct.pack("<H", len(packed) + 25)
    return header + packed + struct.pack("<II", zlib.crc32(data), len(data))


def bgzip(data: bytes) -> bytes:
    return block(data) + outputs.BGZF_END


def cuffquant(end: bytes, boost: int = 18) -> bytes:
    """An archive of Cuffquant's, whose last locus ends so."""
    return struct.pack("<Q22sHQQ", 22, b"serialization::archive", boost, 0, 1) + bytes(range(100)) + end


WHOLE = {
    "x.bam": bgzip(b"BAM\1" + bytes(8)),
    "x.cram": b"CRAM\3\0" + bytes(100) + outputs.CRAM_END,
    "x.cram.crai": gzip.compress(b"0\t1\t2\t26\t3\t4\n", mtime=0),
    "x.g.vcf.gz": bgzip(VCF),
    "x.g.vcf.gz.tbi": bgzip(b"TBI\1" + bytes(40)),
    "x.recal": VCF,
    "x.tranches": TRANCHES.encode(),
    "x.table": REPORT.encode(),
    "x.cxb": cuffquant(struct.pack("<QIQI", 0, 1, 0, 0)),
    "y.cxb": cuffquant(struct.pack("<QIHId", 1, 0, 8, 2, 31.5)),
    "x.intervals": b"chr1:1-5\nchr1:90-120\n",
    "x.gtf": b'chr1\tt\texon\t1\t5\t.\t+\t.\tgene_id "g";\n' * 3,
    "gene_exp.diff": b"test_id\tgene\tq_value\ng1\t-\t0.25\n",
    "x.json": b'{"reads": 5}\n',
    "x.dict": b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:8\n",
    "x.fa.fai": b"chr1\t8\t6\t4\t5\n",
    "x.html": b"<html></html>\n",
    "x.png": b"\x89PNG" + bytes(40) + outputs.PNG_END,
    "x.pdf": b"%PDF-1.4\n" + bytes(40) + b"%%EOF\n",
    "x.txt": b"SN\treads:\t5\n",
    "x.annot.hdf5": HDF5 + struct.pack("<Q", 400) + bytes(352),
    "x.scorer.pkl": b"\x80\x04\x95" + bytes(100) + b"R.",
}
MAY_BE_EMPTY = {"x.intervals", "x.gtf"}


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def faults(folder: Path) -> dict[str, str]:
    found = {path.name: outputs.file_fault(str(path)) for path in sorted(folder.iterdir())}
    return {name: fault for name, fault in found.items() if fault}


def test_whole_files_pass(tmp_path):
    write(tmp_path, WHOLE | {"x.fa": b">chr1\nACGT\nACGT\n"})
    assert faults(tmp_path) == {}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_cut_off_is_found(tmp_path, name):
    data = WHOLE[name]
    for length in (1, len(data) // 2, len(data) * 3 // 4, len(data) - 2):
        (tmp_path / name).write_bytes(data[:length])
        assert outputs.file_fault(str(tmp_path / name)), length


@pytest.mark.parametrize("name", sorted(WHOLE.keys() - MAY_BE_EMPTY))
def test_an_empty_file_is_found(tmp_path, name):
    (tmp_path / name).touch()
    assert outputs.file_fault(str(tmp_path / name)) == "is empty (0 bytes)"


@pytest.mark.parametrize("name", sorted(MAY_BE_EMPTY | {"splice_sites.tsv"}))
def test_what_may_be_empty_is_no_fault(tmp_path, name):
    (tmp_path / name).touch()
    assert outputs.file_fault(str(tmp_path / name)) is None


def test_of_an_archive_of_another_boost_no_end_is_known(tmp_path):
    write(tmp_path, {"x.cxb": cuffquant(b"end", boost=19)})
    assert faults(tmp_path) == {}


def test_an_index_of_bwa_has_the_size_that_its_head_says(tmp_path):
    data = bytes(32) + struct.pack("<q", 80002) + bytes(40108 - 40)  # as bwa 0.7.17 makes it of 40,001 bases
    write(tmp_path, {"g.bwt": data})
    assert faults(tmp_path) == {}
    write(tmp_path, {"g.bwt": data[:-4]})
    assert faults(tmp_path) == {"g.bwt": "is cut off: its 80002 bases need 40108 bytes"}


def test_a_reference_that_is_shorter_than_its_index_says_is_found(tmp_path):
    write(tmp_path, {"x.fa": b">chr1\nACGT\nACGT\n", "x.fa.fai": b"chr1\t800\t6\t4\t5\n"})
    assert faults(tmp_path) == {"x.fa.fai": f"names more sequence than {tmp_path}/x.fa has: that file is cut off"}


@pytest.mark.parametrize("last", [b"A", b"ACG", b"ACGT"])
def test_a_reference_may_end_where_its_index_says_and_not_before(tmp_path, last):
    fasta, length = b">chr1\nACGT\nACGT\n" + last, 8 + len(last)
    write(tmp_path, {"x.fa": fasta, "x.fa.fai": b"chr1\t%d\t6\t4\t5\n" % length})
    assert faults(tmp_path) == {}
    write(tmp_path, {"x.fa": fasta[:-1]})
    assert "names more sequence" in faults(tmp_path)["x.fa.fai"]


def test_a_table_of_recalibration_with_other_rows_than_it_says_is_cut_off(tmp_path):
    """A row that stands where the empty line should: what follows is not where it is looked for."""
    write(tmp_path, {"x.table": REPORT.replace(":2:2:", ":2:1:").encode()})
    assert faults(tmp_path) == {"x.table": "is cut off"}


@pytest.mark.parametrize("index", ["x.bam.bai", "x.bai"])
def test_an_index_that_is_older_than_its_file_is_found(tmp_path, index):
    write(tmp_path, {"x.bam": WHOLE["x.bam"], index: b"BAI\1"})
    assert faults(tmp_path) == {}
    os.utime(tmp_path / index, (1, 1))
    assert faults(tmp_path) == {index: f"is older than {tmp_path}/x.bam"}


def test_an_index_may_be_closed_a_little_before_its_file(tmp_path):
    """Within a minute: clocks of file servers differ, too."""
    write(tmp_path, {"x.bam": WHOLE["x.bam"], "x.bam.bai": b"BAI\1"})
    written = (tmp_path / "x.bam").stat().st_mtime
    os.utime(tmp_path / "x.bam.bai", (written - 59, written - 59))
    assert faults(tmp_path) == {}
    os.utime(tmp_path / "x.bam.bai", (written - 61, written - 61))
    assert faults(tmp_path) == {"x.bam.bai": f"is older than {tmp_path}/x.bam"}


def test_a_folder_is_as_whole_as_its_files(tmp_path):
    plots = tmp_path / "visualize"
    plots.mkdir()
    assert outputs.file_fault(str(plots)) == "holds no files"
    write(plots, {"a.png": WHOLE["x.png"], "b.pdf": WHOLE["x.pdf"], ".snakemake_timestamp": b""})
    assert outputs.file_fault(str(plots)) is None
    (plots / "a.png").write_bytes(WHOLE["x.png"][:-4])
    assert "a.png is cut off" in outputs.file_fault(str(plots))


def test_a_genomics_db_has_empty_files_and_none_that_are_cut_off(tmp_path):
    fragment = tmp_path / "0" / "__fragment"
    fragment.mkdir(parents=True)
    write(tmp_path, {"__tiledb_workspace.tdb": b"", "callset.json": b"{}", "vcfheader.vcf": VCF})
    write(fragment, {"ID_var.tdb": b"", "__book_keeping.tdb.gz": gzip.compress(b"x")})
    assert outputs.file_fault(str(tmp_path)) is None
    (fragment / "__book_keeping.tdb.gz").write_bytes(gzip.compress(b"x" * 100)[:-9])
    assert "__book_keeping.tdb.gz is cut off" in outputs.file_fault(str(tmp_path))
    (fragment / "__book_keeping.tdb.gz").write_bytes(gzip.compress(b"x"))
    (tmp_path / "callset.json").write_text("{")
    assert "callset.json is damaged or cut off" in outputs.file_fault(str(tmp_path))


@pytest.mark.parametrize("name", [*sorted(WHOLE), "x.fa"])
def test_blocks_that_were_lost_are_found(tmp_path, name):
    """As a power cut leaves a file: its size is there, and blocks in its middle were never written."""
    data = WHOLE.get(name, b">chr1\nACGT\n")
    with (tmp_path / name).open("wb") as file:
        file.write(data[: len(data) // 2])
        file.seek(1 << 20, os.SEEK_CUR)
        file.write(data[len(data) // 2 :])
    assert outputs.file_fault(str(tmp_path / name)) == "has a hole, where blocks of it were lost"


@pytest.mark.parametrize("name", ["x.html", "x.png", "x.pdf", "x.json", "x.txt", "gene_exp.diff"])
def test_a_tail_of_zeros_is_found(tmp_path, name):
    (tmp_path / name).write_bytes(WHOLE[name] + bytes(8))
    assert outputs.file_fault(str(tmp_path / name))


def test_the_command_line_names_what_is_not_whole(tmp_path):
    write(tmp_path, {"a.json": b"{}", "b c.json": b""})
    paths = [str(tmp_path / name) for name in ("a.json", "b c.json")]
    done = subprocess.run([sys.executable, outputs.__file__, *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)) == (1, {paths[1]: "is empty (0 bytes)"})
    assert subprocess.run([sys.executable, outputs.__file__, paths[0]], capture_output=True, check=True).stdout


def test_only_results_of_ours_are_looked_at_before_a_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("reads", "results/a"):
        Path(folder).mkdir(parents=True)
        Path(folder, "x.bam").touch()
    assert outputs.first_input_fault(["reads/x.bam", str(tmp_path / "results/a/x.bam"), "results/a/gone.bam"]) is None
    assert outputs.first_input_fault(["results/a/x.bam"]).startswith("results/a/x.bam is empty (0 bytes)")
    Path("table.tsv").write_text("reads/x.bam\nS1\tresults/a/x.bam\n")
    assert "delete it and start again" in outputs.first_input_fault(["@table.tsv"])


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"])
    assert outputs.first_output_fault([str(tmp_path / "x.bam")]) is None
    monkeypatch.setattr(outputs, "full_place", lambda places: next(iter(places)))
    assert "x.bam may be cut off (No space left on device" in outputs.first_output_fault([str(tmp_path / "x.bam")])


def test_an_output_without_a_folder_lies_where_the_job_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.bam").write_bytes(WHOLE["x.bam"])
    monkeypatch.setattr(outputs, "full_place", lambda places: ", ".join(places))
    assert outputs.first_output_fault(["x.bam", f"{tmp_path}/x.bam"]).endswith(
        f"make room where ., {tmp_path} lies, and start again)"
    )


def test_a_full_folder_for_temporary_files_is_named_where_something_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"])
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    monkeypatch.setattr(outputs, "is_full", lambda place, room: place == "/elsewhere")
    assert outputs.first_output_fault([str(tmp_path / "x.bam")]) is None
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"][:-3])
    assert "(No space left on device: make room where /elsewhere lies" in outputs.first_output_fault(
        [str(tmp_path / "x.bam")]
    )


def test_a_job_that_leaves_half_a_file_fails(node):
    """Whatever its exit code, and even where the command leaves by exit 0."""
    command = "mkdir -p results; printf '#:GATKReport.v1.1:5\\n' > 'results/a b.table'; exit 0"
    code, output, record = node.run(command, "--outputs", "results/a b.table")
    assert (code, record["cause"]) == (1, "broken_output")
    assert output.strip() == "step a: broken_output: results/a b.table is cut off (log: logs/a.log)"


def test_a_job_that_makes_nothing_fails_by_name(node):
    code, _, record = node.run("true", "--outputs", "results/x.bam")
    assert (code, record["cause"]) == (1, "broken_output")
    assert record["message"] == "results/x.bam is missing: the command ended well without making it"


def test_a_job_does_not_start_from_half_a_file(node):
    node.run("mkdir -p results; : > results/x.table; touch y", "--outputs", "y")
    code, output, record = node.run("touch ran", "--outputs", "ran", "--inputs", "results/x.table", "--odd.fq")
    assert (code, record["cause"]) == (1, "broken_input")
    assert "results/x.table is empty (0 bytes)" in output
    assert "delete it and start again" in output


def test_a_failed_job_says_its_own_reason(node):
    code, _, record = node.run("echo 'error: mine' >&2; exit 3", "--outputs", "results/x.bam")
    assert (code, record["cause"], record["message"]) == (3, "tool_error", "error: mine")


@pytest.fixture
def ext4(tmp_path):
    """A full ext4 file system, which keeps blocks that root can't use either."""
    image, folder = tmp_path / "image", tmp_path / "full"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    made = f"mkfs.ext4 -q -m 0 {quote(str(image))} && mount -o loop {quote(str(image))} {quote(str(folder))}"
    path = f"{os.environ['PATH']}:/usr/sbin"
    if subprocess.run(made, shell=True, capture_output=True, env=os.environ | {"PATH": path}, check=False).returncode:
        pytest.skip("no ext4 can be made and mounted here: that takes e2fsprogs, root's rights and a loop device")
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_is_full_where_root_cannot_write_either(ext4):
    found = os.statvfs(ext4)
    assert found.f_bfree * found.f_frsize > 1 << 20
    assert outputs.full_place([str(ext4)]) == str(ext4)
    (ext4 / "filler").unlink()
    assert outputs.full_place([str(ext4)]) is None
