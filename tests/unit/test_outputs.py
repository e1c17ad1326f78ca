"""What counts as a whole file: each kind as its tool writes it, cut off in several places; the launcher's verdict."""

import gzip
import json
import os
import struct
import sys
import zlib
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import outputs

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


def block(data: bytes) -> bytes:
    """One BGZF block."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(data) + packer.flush()
    header = b"\x1f\x8b\x08\x04" + bytes(6) + b"\x06\x00BC\x02\x00" + struct.pack("<H", len(packed) + 25)
    return header + packed + struct.pack("<II", zlib.crc32(data), len(data))


def bins(furthest: int) -> bytes:
    """One reference of an index: a bin with a chunk up to a block of the file, no windows."""
    return struct.pack("<iIiQQi", 1, 4681, 1, 0, furthest << 16, 0)


def bgzip(data: bytes) -> bytes:
    return block(data) + outputs.BGZF_END


def tabix(furthest: int) -> bytes:
    return bgzip(b"TBI\1" + struct.pack("<8i", 1, 2, 1, 2, 0, 35, 0, 5) + b"chr1\0" + bins(furthest))


def gatk_index(size: int) -> bytes:
    start = b"TIDX" + struct.pack("<ii", 1, 3) + b"file:///x.recal\0" + struct.pack("<qq", size, 0) + b"\0"
    return start + struct.pack("<iii", 0, 0, 1) + b"chr1\0" + struct.pack("<5iqq", 16000, 1, 1, 0, 1, 100, size)


def cuffquant(loci: int, boost: int = outputs.KNOWN_BOOST) -> bytes:
    """Loci that have a read group's count, by turns with such as have none, as Cufflinks ends them."""
    start = struct.pack("<Q22sHQQ", 22, b"serialization::archive", boost, 0, loci)[: outputs.CXB_HEAD - 8]
    counted = bytes(8) + outputs.COUNTED + struct.pack("<HId", 8, 2, 31.5)
    tails = [outputs.UNCOUNTED, counted]
    bodies = [bytes(outputs.LEAST_LOCUS - 4 - len(tail)) + tail for tail in tails]
    return (
        start
        + struct.pack("<Q", loci)
        + b"".join(struct.pack("<I", number) + bodies[number % 2] for number in range(1, loci + 1))
    )


WHOLE = {
    "x.bam": bgzip(b"BAM\1" + bytes(8)),
    "x.bam.bai": b"BAI\1" + struct.pack("<i", 1) + bins(0) + bytes(8),
    "x.cram": b"CRAM\3\0" + bytes(100) + outputs.CRAM_ENDS[0],
    "x.cram.crai": gzip.compress(b"0\t1\t2\t26\t3\t4\n", mtime=0),
    "x.g.vcf.gz": bgzip(VCF),
    "x.g.vcf.gz.tbi": tabix(len(bgzip(VCF)) - 28),
    "x.recal": VCF,
    "x.recal.idx": gatk_index(len(VCF)),
    "x.tranches": TRANCHES.encode(),
    "x.table": REPORT.encode(),
    "x.intervals": b"chr1:1-5\nchr1:90-120\n",
    "x.gtf": b'chr1\tt\texon\t1\t5\t.\t+\t.\tgene_id "g";\n' * 3,
    "x.cxb": cuffquant(300),
    "gene_exp.diff": b"test_id\tgene\tq_value\ng1\t-\t0.25\n",
    "x.json": b'{"reads": 5}\n',
    "x.dict": b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:8\n",
    "x.fa.fai": b"chr1\t8\t6\t4\t5\n",
    "x.html": b"<html></html>\n",
    "x.png": b"\x89PNG" + bytes(40) + outputs.PNG_END,
    "x.pdf": b"%PDF-1.4\n" + bytes(40) + b"%%EOF\n",
    "x.txt": b"SN\treads:\t5\n",
}
MAY_BE_EMPTY = {"x.intervals", "x.gtf"}


def bwa_files(bases: int) -> dict[str, bytes]:
    """The sizes are those that bwa 0.7.17 gave contigs of these lengths."""
    sizes = {40001: (10002, 40108, 20056), 2000: (502, 2096, 1056)}[bases]
    names = dict(zip(("pac", "bwt", "sa"), sizes, strict=True))
    texts = {"ann": f"{bases} 1 11\n0 chr1 (null)\n0 {bases} 0\n".encode(), "amb": f"{bases} 1 0\n".encode()}
    return {f"g.{name}": bytes(size) for name, size in names.items()} | {f"g.{k}": text for k, text in texts.items()}


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def faults(folder: Path) -> dict[str, str]:
    found = {path.name: outputs.file_fault(str(path)) for path in sorted(folder.iterdir())}
    return {name: fault for name, fault in found.items() if fault}


def test_whole_files_pass(tmp_path):
    write(tmp_path, WHOLE | {"x.fa": b">chr1\nACGT\nACGT\n"})
    assert faults(tmp_path) == {}


@pytest.mark.parametrize("loci", [1, 2, 3, 300])
def test_of_few_loci_too_none_may_be_missing(tmp_path, loci):
    data = cuffquant(loci)
    for path, content in [("whole.cxb", data), ("half.cxb", data[: len(data) // 2]), ("less.cxb", data[:-172])]:
        (tmp_path / path).write_bytes(content)
    assert sorted(faults(tmp_path)) == ["half.cxb", "less.cxb"]


def test_of_an_archive_of_another_boost_no_form_is_known(tmp_path):
    data = cuffquant(300, boost=19)
    write(tmp_path, {"x.cxb": data[:-100], "y.cxb": data[:-172]})
    assert list(faults(tmp_path)) == ["y.cxb"]


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


@pytest.mark.parametrize("bases", [40001, 2000])
def test_bwa_indexes_fit_their_genome(tmp_path, bases):
    write(tmp_path, bwa_files(bases))
    assert faults(tmp_path) == {}
    for name, data in bwa_files(bases).items():
        (tmp_path / name).write_bytes(data[:-1])
        assert name in faults(tmp_path)
        (tmp_path / name).write_bytes(data)


@pytest.mark.parametrize(
    ("data", "index", "said"),
    [
        ("x.g.vcf.gz", tabix(1 << 20), "does not fit"),  # it names blocks beyond the end
        ("x.bam", b"BAI\1" + struct.pack("<i", 1) + bins(1 << 20), "does not fit"),
        ("x.recal", gatk_index(len(VCF) + 1), f"had {len(VCF) + 1} bytes when it was indexed"),
        ("x.fa", b"chr1\t800\t6\t4\t5\n", "that file is cut off"),
    ],
    ids=["tabix", "BAI", "GATK", "faidx"],
)
def test_an_index_of_another_file_is_found(tmp_path, data, index, said):
    ending = {"x.g.vcf.gz": ".tbi", "x.bam": ".bai", "x.recal": ".idx", "x.fa": ".fai"}[data]
    write(tmp_path, {data: WHOLE.get(data, b">chr1\nACGT\nACGT\n"), f"{data}{ending}": index})
    assert said in faults(tmp_path)[f"{data}{ending}"]


def test_an_index_that_does_not_reach_the_end_of_its_file_is_found(tmp_path):
    write(tmp_path, {"x.vcf.gz": block(VCF) * 3000 + outputs.BGZF_END, "x.vcf.gz.tbi": tabix(100)})
    assert "one of the two is cut off" in faults(tmp_path)["x.vcf.gz.tbi"]


def test_an_index_that_is_older_than_its_file_is_found(tmp_path):
    write(tmp_path, {name: WHOLE[name] for name in ("x.bam", "x.bam.bai")})
    os.utime(tmp_path / "x.bam.bai", (1, 1))
    assert faults(tmp_path)["x.bam.bai"].startswith("is older than")


def test_a_folder_is_as_whole_as_its_files(tmp_path):
    plots = tmp_path / "visualize"
    plots.mkdir()
    assert outputs.file_fault(str(plots)) == "holds no files"
    write(plots, {"a.png": WHOLE["x.png"], "b.pdf": WHOLE["x.pdf"], ".snakemake_timestamp": b""})
    assert outputs.file_fault(str(plots)) is None
    (plots / "a.png").write_bytes(WHOLE["x.png"][:-4])
    assert "a.png is cut off" in outputs.file_fault(str(plots))


def test_a_genomics_db_needs_what_opens_it(tmp_path):
    fragment = tmp_path / "0" / "__fragment"
    fragment.mkdir(parents=True)
    opened = {"callset.json": b"{}", "vidmap.json": b"{}", "vcfheader.vcf": VCF}
    write(tmp_path, {"__tiledb_workspace.tdb": b""} | opened)
    write(fragment, {"ID_var.tdb": b"", "__book_keeping.tdb.gz": gzip.compress(b"x")})
    assert outputs.file_fault(str(tmp_path)) is None
    (fragment / "__book_keeping.tdb.gz").write_bytes(gzip.compress(b"x" * 100)[:-9])
    assert "__book_keeping.tdb.gz is cut off" in outputs.file_fault(str(tmp_path))
    (fragment / "__book_keeping.tdb.gz").write_bytes(gzip.compress(b"x"))
    (tmp_path / "vidmap.json").unlink()
    assert outputs.file_fault(str(tmp_path)) == f"is not whole: {tmp_path} lacks vidmap.json"


@pytest.mark.parametrize("name", [*sorted(WHOLE.keys() - {"x.bam.bai"}), "x.fa"])
def test_blocks_that_were_lost_are_found(tmp_path, name):
    """As a power cut leaves a file: its size is there, and blocks in its middle were never written."""
    data = WHOLE.get(name, b">chr1\nACGT\n")
    with (tmp_path / name).open("wb") as file:
        file.write(data[: len(data) // 2])
        file.seek(1 << 20, os.SEEK_CUR)
        file.write(data[len(data) // 2 :])
    assert outputs.file_fault(str(tmp_path / name)) == "has a hole, where blocks of it were lost"


@pytest.mark.parametrize("name", ["x.bam", "x.g.vcf.gz"])
def test_a_damaged_last_block_is_found_though_the_end_marker_is_there(tmp_path, name):
    data = bytearray(WHOLE[name])
    data[-len(outputs.BGZF_END) - 6] ^= 1  # of its checksum
    (tmp_path / name).write_bytes(data)
    assert "cannot be unpacked" in outputs.file_fault(str(tmp_path / name))
    (tmp_path / name).write_bytes(WHOLE[name].removesuffix(outputs.BGZF_END) + bytes(8) + outputs.BGZF_END)
    assert "does not end with a whole block" in outputs.file_fault(str(tmp_path / name))


def test_a_vcf_that_ends_within_a_line_is_found(tmp_path):
    (tmp_path / "x.vcf.gz").write_bytes(bgzip(VCF[:-1]))
    assert outputs.file_fault(str(tmp_path / "x.vcf.gz")) == "is cut off: its last line is incomplete"


@pytest.mark.parametrize("name", ["x.html", "x.png", "x.pdf", "x.json", "x.txt", "gene_exp.diff"])
def test_a_tail_of_zeros_is_found(tmp_path, name):
    (tmp_path / name).write_bytes(WHOLE[name] + bytes(8))
    assert outputs.file_fault(str(tmp_path / name))


def test_the_command_line_names_what_is_not_whole(tmp_path, capsys):
    write(tmp_path, {"a.json": b"{}", "b c.json": b"{"})
    paths = [str(tmp_path / name) for name in ("a.json", "b c.json")]
    assert outputs.main(paths) == 1
    assert capsys.readouterr().out == f"{paths[1]} is not JSON, or is cut off\n"
    assert outputs.main(["--json", *paths]) == 1
    assert json.loads(capsys.readouterr().out) == {paths[1]: "is not JSON, or is cut off"}
    assert outputs.main(["--json", paths[0]]) == 0


def test_only_results_of_ours_are_looked_at_before_a_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("reads", "results/a"):
        Path(folder).mkdir(parents=True)
        Path(folder, "x.bam").touch()
    assert outputs.found_fault(["reads/x.bam", str(tmp_path / "results/a/x.bam"), "results/a/gone.bam"]) is None
    assert outputs.found_fault(["results/a/x.bam"]).startswith("results/a/x.bam is empty (0 bytes)")
    Path("table.tsv").write_text("reads/x.bam\nS1\tresults/a/x.bam\n")
    assert "delete it and start again" in outputs.found_fault(["@table.tsv"])


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"])
    assert outputs.made_fault([str(tmp_path / "x.bam")]) is None
    monkeypatch.setattr(outputs, "full_place", lambda places: next(iter(places)))
    assert "x.bam may be cut off (No space left on device" in outputs.made_fault([str(tmp_path / "x.bam")])


def test_a_full_folder_for_temporary_files_is_named_where_something_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"])
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    monkeypatch.setattr(outputs, "is_full", lambda place, room: place == "/elsewhere")
    assert outputs.made_fault([str(tmp_path / "x.bam")]) is None
    (tmp_path / "x.bam").write_bytes(WHOLE["x.bam"][:-3])
    assert "(No space left on device: make room where /elsewhere lies" in outputs.made_fault([str(tmp_path / "x.bam")])


def test_a_job_that_leaves_half_a_file_fails(node):
    """Whatever its exit code, and even where the command leaves by exit 0."""
    command = "mkdir -p results; printf '#:GATKReport.v1.1:5\\n' > 'results/a b.table'; exit 0"
    code, said, record = node.run(command, "--outputs", "results/a b.table")
    assert (code, record["cause"]) == (1, "broken_output")
    assert said.strip() == "step a: broken_output: results/a b.table is cut off (log: logs/a.log)"


def test_a_job_that_makes_nothing_fails_by_name(node):
    code, _, record = node.run("true", "--outputs", "results/x.bam")
    assert (code, record["cause"]) == (1, "broken_output")
    assert record["message"] == "results/x.bam is missing: the command ended well without making it"


def test_a_job_does_not_start_from_half_a_file(node):
    node.run("mkdir -p results; : > results/x.table; touch y", "--outputs", "y")
    code, said, record = node.run("touch ran", "--outputs", "ran", "--inputs", "results/x.table", "--odd.fq")
    assert (code, record["cause"]) == (1, "broken_input")
    assert "results/x.table is empty (0 bytes)" in said
    assert "delete it and start again" in said


def test_a_failed_job_says_its_own_reason(node):
    code, _, record = node.run("echo 'error: mine' >&2; exit 3", "--outputs", "results/x.bam")
    assert (code, record["cause"], record["message"]) == (3, "tool_error", "error: mine")
