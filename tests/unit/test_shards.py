"""Where genomes are split, and into what."""

import gzip
import io
import sys
from itertools import chain

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import scatter
from intervals import join_gvcf, n_free
from scatter import Line

GENOME = [Line("a", 0, 100, 1, 100), Line("a", 100, 150, 2, 50), Line("b", 0, 80, 3, 80), Line("c", 0, 10, 4, 10)]


def write_genome(folder, contigs, width=10):
    """Write a FASTA file and its index; return its path."""
    fasta, rows, offset = folder / "genome.fa", [], 0
    with fasta.open("w") as out:
        for name, sequence in contigs.items():
            lines = [sequence[at : at + width] for at in range(0, len(sequence), width)]
            out.write(f">{name}\n" + "".join(f"{line}\n" for line in lines))
            offset += len(name) + 2
            rows.append(f"{name}\t{len(sequence)}\t{offset}\t{width}\t{width + 1}\n")
            offset += len(sequence) + len(lines)
    fasta.with_name("genome.fa.fai").write_text("".join(rows))
    return fasta


def lines_of(fasta, regions=None):
    return list(n_free.lines(fasta, f"{fasta}.fai", regions))


def test_a_genome_is_split_between_contigs_and_in_the_middle_of_long_runs_of_n(tmp_path):
    fasta = write_genome(tmp_path, {"a": "ACGT" * 25 + "N" * 1001 + "ACGTT", "b": "ACG"})
    assert lines_of(fasta) == [("a", 0, 600, 1, 100), ("a", 600, 1106, 2, 5), ("b", 0, 3, 3, 3)]


@pytest.mark.parametrize("run", ["N" * 999, "N" * 500 + "A" + "N" * 600])
def test_a_short_run_is_no_place_to_split(tmp_path, run):
    sequence = "ACGT" + run + "ACGT"
    assert lines_of(write_genome(tmp_path, {"a": sequence})) == [("a", 0, len(sequence), 1, len(sequence))]


def test_runs_at_the_ends_of_a_contig_are_no_work_and_no_place_to_split(tmp_path):
    fasta = write_genome(tmp_path, {"a": "n" * 2000 + "ACGT" + "N" * 1500})
    assert lines_of(fasta) == [("a", 0, 3504, 1, 4)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.bed", "b\t1\t3\na\t10\t50\nb\t2\t3\na\t590\t610\n"),
        ("r.interval_list", "@HD\tVN:1.6\na\t11\t50\t+\t.\na\t591\t610\t+\t.\nb\t2\t3\t+\t.\n"),
        ("r.list", "a:11-50\na:591-610\nb:2-3\n"),
        ("r.intervals", "a:11-50\n\na:591-610\nb:2\nb:3\n"),
    ],
)
def test_regions_are_split_where_the_genome_is(tmp_path, name, text):
    fasta = write_genome(tmp_path, {"a": "ACGT" * 25 + "N" * 1001 + "ACGTT", "b": "ACG"})
    (tmp_path / name).write_text(text)
    found = [("a", 10, 50, 1, 40), ("a", 590, 600, 1, 10), ("a", 600, 610, 2, 10), ("b", 1, 3, 3, 2)]
    assert lines_of(fasta, tmp_path / name) == found


def test_padded_regions_end_with_their_contig_and_are_one_where_they_meet(tmp_path):
    (tmp_path / "genome.fai").write_text("chr1\t1000\t6\t60\t61\nchr2\t500\t1100\t60\t61\n")
    (tmp_path / "own.bed").write_text("chr2\t450\t480\nchr1\t400\t410\nchr1\t20\t30\nchr1\t300\t350\nchr1\t461\t470\n")
    found = list(n_free.padded("genome.fa", tmp_path / "genome.fai", tmp_path / "own.bed", "25"))
    assert found == [("chr1", 0, 55), ("chr1", 275, 435), ("chr1", 436, 495), ("chr2", 425, 500)]


def test_a_contig_by_its_name_alone_is_a_region(tmp_path):
    fasta = write_genome(tmp_path, {"a": "ACGT", "b": "ACG"})
    (tmp_path / "r.list").write_text("b\n")
    assert lines_of(fasta, tmp_path / "r.list") == [("b", 0, 3, 2, 3)]


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [240]), (2, [100, 140]), (3, [100, 50, 90]), (4, [100, 50, 90]), (64, [100, 50, 90])]
)
def test_the_largest_shard_is_as_small_as_can_be(count, sizes):
    """More shards than that would make none of them smaller."""
    assert [sum(line.bases for line in shard) for shard in scatter.split(GENOME, count)] == sizes


GENOMES = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5000)), min_size=1, max_size=80)


def genome(drawn):
    """Lines of N-free intervals, one after the other on their contigs."""
    ends, lines = {}, []
    for number, (contig, size) in enumerate(sorted(drawn), 1):
        start = ends.get(contig, 0)
        ends[contig] = start + size + 1
        lines.append(Line(contig, start, start + size + 1, number, size))
    return lines


@pytest.mark.deep
@given(GENOMES, st.integers(1, 70))
def test_splitting_loses_nothing_and_doubles_nothing(drawn, count):
    lines = genome(drawn)
    found = scatter.split(lines, count)
    assert all(found)
    assert scatter.spans(chain(*found)) == scatter.spans(lines)


@pytest.mark.deep
@given(GENOMES, st.integers(1, 70))
def test_shards_hold_whole_n_free_intervals(drawn, count):
    lines = genome(drawn)
    assert list(chain(*scatter.split(lines, count))) == lines


HEADER = (
    b"##fileformat=VCFv4.2\n"
    + b"##contig=<ID=a>\n" * 5000
    + b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS\n"
)


def block(first, last, sample="0/0:0", contig="a", base="N"):
    return f"{contig}\t{first}\t.\t{base}\t<NON_REF>\t.\t.\tEND={last}\tGT:DP\t{sample}\n".encode()


def variant(position):
    return f"a\t{position}\t.\tA\tC,<NON_REF>\t.\t.\tDP=3\tGT:DP\t0/1:3\n".encode()


def join(folder, *texts):
    """The text of the joined GVCF of shards with these records."""
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"shard {number}.g.vcf.gz"
        path.write_bytes(b"".join(join_gvcf.packed(HEADER + text)) + join_gvcf.BGZF_END)
        paths.append(f"{path}\n")
    (folder / "list").write_text("".join(paths))
    assert join_gvcf.main(str(folder / "list"), str(folder / "out.g.vcf.gz")) == 0
    made = (folder / "out.g.vcf.gz").read_bytes()
    assert made.endswith(join_gvcf.BGZF_END)
    assert [*join_gvcf.blocks(io.BytesIO(made)), join_gvcf.BGZF_END]
    return gzip.decompress(made)


@pytest.mark.deep
@pytest.mark.parametrize("length", [1, 2, 50, 20_000])
@pytest.mark.parametrize("borders", [1, 4])
def test_a_gvcf_in_shards_is_joined_as_it_was(tmp_path, length, borders):
    """Shards of one block of BGZF, of a few and of many, each border within a reference block that then is two."""
    before = b"".join(variant(position) for position in range(1, length + 1))
    text, texts, start = before, [before], length + 1
    for _ in range(borders):
        after = b"".join(variant(position) for position in range(start + 100, start + 100 + length))
        text += block(start, start + 99) + after
        texts[-1] += block(start, start + 49)
        texts.append(block(start + 50, start + 99) + after)
        start += 100 + length
    assert join(tmp_path, *texts) == HEADER + text


def test_a_block_over_several_shards_is_one(tmp_path):
    assert join(tmp_path, block(1, 10), block(11, 20), block(21, 30)) == HEADER + block(1, 30)


@pytest.mark.parametrize(
    "second",
    [block(12, 20), block(11, 20, sample="0/0:1"), block(11, 20, contig="b"), variant(11)],
    ids=["apart", "other depth", "other contig", "variant"],
)
def test_records_that_do_not_say_the_same_stay_apart(tmp_path, second):
    assert join(tmp_path, block(1, 10), second) == HEADER + block(1, 10) + second


def test_shards_without_records_leave_nothing(tmp_path):
    assert join(tmp_path, b"", block(1, 10), b"") == HEADER + block(1, 10)


def test_what_bgzip_did_not_compress_is_refused(tmp_path, capsys):
    (tmp_path / "a.g.vcf.gz").write_bytes(gzip.compress(HEADER))
    (tmp_path / "list").write_text(f"{tmp_path / 'a.g.vcf.gz'}\n")
    assert join_gvcf.main(str(tmp_path / "list"), str(tmp_path / "out")) == 1
    assert "a.g.vcf.gz: damaged, or not compressed as bgzip does" in capsys.readouterr().err


OPTIONS = ["--over", "x.bam", "--intervals", "n_free.bed", "--suffix", ".bam", "--gather", "bam", "--out", "y.bam"]


@pytest.mark.parametrize(
    ("mib", "spare", "options", "count"),
    [
        (75 * 1024, 8, [], 16),  # 10 of 8 GiB, in two rounds of 8: in one and a quarter of a round 6 CPUs would wait
        (75 * 1024, 8, ["--copied"], 8),
        (75 * 1024, 20, [], 20),
        (75 * 1024, 1, [], 10),
        (75 * 1024, 1, ["--copied"], 1),
        (75 * 1024, 0, [], 1),  # nobody knows
        (75 * 1024, 8, ["--shards", "none"], 1),
        (75 * 1024, 8, ["--shards", "3"], 3),
        (10, 8, [], 2),  # of shard_mib at least
        (1, 8, [], 1),
    ],
)
def test_shards_come_in_whole_rounds_over_the_spare_cpus(monkeypatch, tmp_path, mib, spare, options, count):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINNED_LAUNCH", "launcher")
    monkeypatch.setattr(scatter, "ask_spare", lambda: spare)
    with (tmp_path / "x.bam").open("wb") as file:
        file.truncate(mib << 10)
    given, _ = scatter.parse([*OPTIONS, "--shard-mib", str(4 / 1024), *options, "--", "gatk"])
    assert scatter.how_many(given) == count


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([*OPTIONS], "there is no command behind --"),
        ([*OPTIONS, "--shards", "many", "--", "gatk"], "argument --shards: many: auto, none, or a number from 1"),
        ([*OPTIONS, "--shards", "0", "--", "gatk"], "argument --shards: 0: auto, none, or a number from 1"),
    ],
)
def test_what_is_no_command_line_is_refused(words, line, capsys):
    with pytest.raises(SystemExit) as refused:
        scatter.parse(words)
    assert refused.value.code == 2
    assert line in capsys.readouterr().err


def test_the_commands_own_options_are_its_own():
    words = ["tool", "--out", "x", "--", "@regions", "a@shard", "@shard", "@threads"]
    _, command = scatter.parse([*OPTIONS, "--", *words])
    made = scatter.filled(command, "1.bam", ["1.bed", "unmapped"], 1)
    assert made == ["tool", "--out", "x", "--", "-L", "1.bed", "-L", "unmapped", "a@shard", "1.bam", "1"]


@pytest.mark.parametrize(("count", "compiler"), [(3, "-XX:-TieredCompilation"), (4, "-XX:TieredStopAtLevel=1")])
def test_shards_that_are_short_walks_have_the_first_compiler_alone(count, compiler):
    java = "-Xmx9m {}".format
    words = ["gatk", "--java-options", java("-XX:-TieredCompilation"), "HaplotypeCaller"]
    folder = scatter.Folder(*scatter.parse([*OPTIONS, "--short-from", "3.5", "--", *words]))
    made = folder.parts(count)
    assert {tuple(part["commands"][0]) for part in made} == {("gatk", "--java-options", java(compiler), words[-1])}
