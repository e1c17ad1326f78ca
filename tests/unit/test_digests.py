"""Digests: what they tell apart, and what they must not be moved by."""

import gzip
import json
import os
import random
from itertools import pairwise
from pathlib import Path

import pytest

from gpd.lab import digests

MIB = digests.MIB


@pytest.fixture
def write(tmp_path):
    """A function that writes a file, with the folders above it."""

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


# ---- input ---------------------------------------------------------------------------------------------


def test_names_of_files_do_not_count(write):
    one = [{"fq1": write("a/S1_R1.fq", "reads 1"), "fq2": write("a/S1_R2.fq", "reads 2")}]
    other = [{"fq2": write("b/y.fq", "reads 2"), "fq1": write("b/x.fq", "reads 1")}]
    assert digests.input_digest(one) == digests.input_digest(other)


def test_what_counts(write):
    first, second, third = (write(name, name) for name in ("1", "2", "3"))
    inputs = (
        [{"fq1": first, "fq2": second}],
        [{"fq1": second, "fq2": first}],
        [{"fq1": first}, {"fq1": second}],
        [{"fq1": second}, {"fq1": first}],
        [{"fq1": first}],
        [{"bam": first}],
        [{"fq1": first, "fq2": third}],
        [],
    )
    assert len({digests.input_digest(units) for units in inputs}) == len(inputs)


def test_what_the_sheets_say_counts(write):
    units = [{"fq1": write("1", "reads")}]
    told = ([], ["1 library a"], ["2 library a"], ["1 library b"], ["1 library a", "1 sex male"])
    assert len({digests.input_digest(units, lines) for lines in told}) == len(told)


@pytest.mark.parametrize("size", [0, 1, 18 * MIB])
def test_small_files_are_read_whole(size):
    assert digests.blocks(size) == [(0, size)]


@pytest.mark.parametrize("size", [18 * MIB + 1, 100 * MIB + 7, 10**11])
def test_large_files_are_sampled_from_end_to_end(size):
    starts, lengths = zip(*digests.blocks(size), strict=True)
    assert set(lengths) == {MIB}
    assert (len(starts), starts[0], starts[-1]) == (18, 0, size - MIB)
    gaps = {later - earlier for earlier, later in pairwise(starts)}
    assert max(gaps) - min(gaps) <= 1


def test_a_large_file(tmp_path):
    """A file that is mostly a hole: nothing but its size, its head, its tail and what lies between them counts."""
    path = tmp_path / "large.fq.gz"
    path.touch()
    os.truncate(path, 10**10)
    seen = {digests.sampled_digest(path)}
    for position in (0, 10**10 - 1, digests.blocks(10**10)[9][0] + 5):
        with path.open("r+b") as file:
            file.seek(position)
            file.write(b"x")
        seen.add(digests.sampled_digest(path))
    os.truncate(path, 10**10 + 1)
    seen.add(digests.sampled_digest(path))
    assert len(seen) == 5


# ---- reference -----------------------------------------------------------------------------------------

CONTIGS = ("SN:chr1\tLN:100\tM5:aa", "SN:chr2\tLN:50\tM5:bb")


def dictionary(write, name, contigs=CONTIGS, where="/data"):
    lines = ["@HD\tVN:1.0\tSO:unsorted", *(f"@SQ\t{contig}\tUR:file://{where}/genome.fa" for contig in contigs)]
    return write(name, "".join(f"{line}\n" for line in lines))


def test_a_reference_is_its_contigs_wherever_it_is(write):
    here, there = dictionary(write, "1.dict"), dictionary(write, "2.dict", where="/elsewhere")
    assert digests.reference_digest(here) == digests.reference_digest(there)


@pytest.mark.parametrize(
    "contigs",
    [
        CONTIGS[::-1],
        CONTIGS[:1],
        (CONTIGS[0], CONTIGS[1].replace("bb", "bc")),
        (CONTIGS[0], CONTIGS[1].replace("50", "51")),
        (CONTIGS[0], CONTIGS[1].replace("chr2", "2")),
    ],
)
def test_another_reference(write, contigs):
    assert digests.reference_digest(dictionary(write, "1.dict")) != digests.reference_digest(
        dictionary(write, "2.dict", contigs)
    )


def test_a_dictionary_without_sums_is_refused(write):
    for text in ("", "@HD\tVN:1.0\n", "@SQ\tSN:chr1\tLN:100\n"):
        with pytest.raises(digests.DigestError, match=r"genome\.dict: no sequence dictionary with MD5 sums"):
            digests.reference_digest(write("genome.dict", text))


# ---- calls ---------------------------------------------------------------------------------------------

HEAD = '##fileformat=VCFv4.2\n##GATKCommandLine=<ID=X,CommandLine="-O {where}",Date="{date}">\n'
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"


def vcf(samples=("S1",), calls="chr1\t7\t.\tA\tC\t50\tPASS\t.\tGT\t0/1\n", where="/a", date="1 May") -> bytes:
    head = HEAD.format(where=where, date=date)
    return "".join([head, "\t".join([COLUMNS, *samples]), "\n", calls]).encode()


def test_the_header_of_a_vcf_does_not_count(write):
    same = {
        digests.vcf_body_digest(write("1.vcf", vcf())),
        digests.vcf_body_digest(write("2.vcf", vcf(where="/b", date="2 May"))),
        digests.vcf_body_digest(write("3.vcf.gz", gzip.compress(vcf()))),
    }
    assert len(same) == 1


def test_a_bgzip_file_is_read_past_its_first_block(write):
    lines = vcf().splitlines(keepends=True)
    blocks = b"".join(gzip.compress(line) for line in lines)
    cut = b"".join(gzip.compress(line) for line in lines[:-1])
    whole = digests.vcf_body_digest(write("1.vcf.gz", blocks))
    assert whole == digests.vcf_body_digest(write("2.vcf", vcf()))
    assert whole != digests.vcf_body_digest(write("3.vcf.gz", cut))


@pytest.mark.deep
def test_a_vcf_larger_than_what_is_read_at_once(write):
    calls = random.Random(1).randbytes(digests.CHUNK_BYTES + 9).hex()
    one = digests.vcf_body_digest(write("1.vcf", vcf(calls=calls)))
    assert one == digests.vcf_body_digest(write("2.vcf.gz", gzip.compress(vcf(calls=calls))))
    assert one != digests.vcf_body_digest(write("3.vcf", vcf(calls=f"{calls[:-1]}.")))


def test_other_calls_and_other_samples_count(write):
    texts = (vcf(), vcf(samples=("S2",)), vcf(calls="chr1\t7\t.\tA\tG\t50\tPASS\t.\tGT\t0/1\n"), vcf(calls=""))
    assert len({digests.vcf_body_digest(write(f"{n}.vcf", text)) for n, text in enumerate(texts)}) == len(texts)


@pytest.mark.parametrize("info", ["MQ=60.00;QD={};SOR=1.1", "QD={};SOR=1.1", "SOR=1.1;QD={}", "QD={}"])
def test_a_value_that_gatk_draws_at_random_does_not_count(write, info):
    """Above 35 it draws QD around 30, and shards draw otherwise."""
    call = "chr1\t7\t.\tA\tC\t50\tPASS\t{}\tGT\t0/1\n"
    drawn = {digests.vcf_body_digest(write("1.vcf", vcf(calls=call.format(info.format(qd))))) for qd in (25.36, 35.36)}
    assert len(drawn) == 1
    assert drawn != {
        digests.vcf_body_digest(write("2.vcf", vcf(calls=call.format(info.format(30).replace("QD", "MQ")))))
    }


def test_what_is_no_whole_vcf_is_refused(write):
    with pytest.raises(digests.DigestError, match=r"1\.vcf\.gz: damaged or cut short"):
        digests.vcf_body_digest(write("1.vcf.gz", gzip.compress(vcf())[:-9]))
    with pytest.raises(digests.DigestError, match=r"2\.vcf\.gz: damaged or cut short"):
        digests.vcf_body_digest(write("2.vcf.gz", gzip.compress(vcf()) + b"\x1f\x8bnothing"))
    for text in ("", "##fileformat=VCFv4.2\n", "chr1\t7\n"):
        with pytest.raises(digests.DigestError, match=r"3\.vcf: no VCF"):
            digests.vcf_body_digest(write("3.vcf", text))


def germline(write, folder: str, **callsets: tuple[str, ...]) -> Path:
    """A results folder with GVCFs of S1 and S2, and call sets with their samples."""
    for sample in ("S1", "S2"):
        gvcf = write(f"{folder}/results/haplotype_caller/{sample}.g.vcf.gz", gzip.compress(vcf((sample,))))
    for name, samples in callsets.items():
        step, _, callset = name.partition("__")
        write(f"{folder}/results/{step}/{callset}.vcf.gz", gzip.compress(vcf(samples)))
    return gvcf.parents[1]


def found(pipeline: str, results: Path, *samples: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(output.kind, output.samples) for output in digests.outputs(pipeline, results, samples)]


def test_calls_of_a_cohort(write):
    results = germline(write, "run", genotype_gvcfs__cohort=("S1", "S2"), hard_filter__cohort=("S1", "S2"))
    assert found("germline", results, "S1", "S2") == [("gvcf", ("S1",)), ("gvcf", ("S2",)), ("calls", ("S1", "S2"))]
    (*_, calls) = digests.outputs("germline", results, ["S1", "S2"])
    assert calls.digest == digests.vcf_body_digest(results / "hard_filter" / "cohort.vcf.gz")


def test_calls_of_samples_alone(write):
    results = germline(write, "run", apply_variant_recalibration__S1=("S1",), genotype_gvcfs__S2=("S2",))
    assert found("germline", results, "S1") == [("gvcf", ("S1",)), ("calls", ("S1",))]


def test_gvcfs_that_were_made_smaller_are_a_kind_of_their_own(write):
    results = germline(write, "run")
    (results / "haplotype_caller").rename(results / "reblock_gvcf")
    assert found("germline", results, "S1") == [("reblocked gvcf", ("S1",))]


def test_calls_that_a_failed_sample_is_part_of_are_left_out(write):
    results = germline(write, "run", genotype_gvcfs__cohort=("S1", "S2"))
    assert found("germline", results, "S2") == [("gvcf", ("S2",))]
    assert found("germline", results) == []


# ---- expression ----------------------------------------------------------------------------------------


def transcript(start: int, number: str, fpkm: str) -> str:
    attributes = f'gene_id "CUFF.{number}"; transcript_id "CUFF.{number}.1"; FPKM "{fpkm}"; frac "1.000000";'
    return f"chr1\tCufflinks\ttranscript\t{start}\t{start + 9}\t1000\t+\t.\t{attributes}\n"


def test_the_order_in_which_threads_end_does_not_count(write):
    one = write("1.gtf", transcript(1, "1", "27585.4169462038") + transcript(50, "2", "3.5"))
    other = write("2.gtf", transcript(50, "1", "3.5") + transcript(1, "12", "27585.4169462039"))
    assert digests.assembly_digest(one) == digests.assembly_digest(other)


@pytest.mark.parametrize(
    "text",
    [
        transcript(1, "1", "27586.4169462038") + transcript(50, "2", "3.5"),
        transcript(2, "1", "27585.4169462038") + transcript(50, "2", "3.5"),
        transcript(1, "1", "27585.4169462038"),
    ],
)
def test_another_assembly(write, text):
    one = write("1.gtf", transcript(1, "1", "27585.4169462038") + transcript(50, "2", "3.5"))
    assert digests.assembly_digest(one) != digests.assembly_digest(write("2.gtf", text))


# of a SAM file with 3 pairs of 10 and 7 bases; one is a duplicate, one is unmapped with a mate that did not pass the
# filter, and one read has a secondary alignment and a supplementary one of 5 bases, too
STATISTICS = """\
# This file was produced by samtools stats (1.16.1+htslib-1.16)
# The command line was:  stats {where}
CHK\t28b0a0d1\t7f3c0a2e\t0a1b2c3d
SN\traw total sequences:\t6\t# excluding supplementary and secondary reads
SN\tsequences:\t6
SN\treads QC failed:\t1
SN\ttotal length:\t54\t# ignores clipping
SN\ttotal first fragment length:\t27\t# ignores clipping
"""


def test_the_command_line_of_the_statistics_does_not_count(write):
    one, other = (write(f"{name}.txt", STATISTICS.format(where=name)) for name in ("a", "b"))
    assert digests.statistics_digest(one) == digests.statistics_digest(other)
    changed = write("c.txt", STATISTICS.replace("28b0a0d1", "28b0a0d2"))
    assert digests.statistics_digest(one) != digests.statistics_digest(changed)


def tuxedo(write, folder: str, reads: int = 6) -> Path:
    """A results folder of S1 and S2, as far as their expression was compared."""
    for sample in ("S1", "S2"):
        write(f"{folder}/results/samtools_stats/{sample}.txt", STATISTICS)
        write(f"{folder}/results/assemble/{sample}.gtf", transcript(1, "1", "3.5"))
        write(f"{folder}/results/align/{sample}.json", json.dumps({"reads": reads}))
    groups = "file\tcondition\nresults/quantify/S1.cxb\ta\nresults/quantify/S2.cxb\tb\n"
    write(f"{folder}/results/differential_expression/read_groups.info", groups)
    write(f"{folder}/results/differential_expression/genes.read_group_tracking", "tracking_id\tFPKM\nG1\t3.5\n")
    return write(f"{folder}/results/differential_expression/gene_exp.diff", "test_id\tstatus\nG1\tOK\n").parents[1]


def test_outputs_of_tuxedo(write):
    results = tuxedo(write, "run")
    own = [("alignments", ("S1",)), ("alignments", ("S2",)), ("assembly", ("S1",)), ("assembly", ("S2",))]
    assert found("tuxedo", results, "S1", "S2") == [*own, ("expression", ("S1", "S2"))]


def test_tables_that_a_failed_sample_is_part_of_are_left_out(write):
    results = tuxedo(write, "run")
    assert found("tuxedo", results, "S2") == [("alignments", ("S2",)), ("assembly", ("S2",))]


@pytest.mark.parametrize("name", digests.EXPRESSION_TABLES)
def test_another_expression(write, name):
    one, other = tuxedo(write, "a"), tuxedo(write, "b")
    before = [output.digest for output in digests.outputs("tuxedo", other, ["S1", "S2"])]
    assert before == [output.digest for output in digests.outputs("tuxedo", one, ["S1", "S2"])]
    table = other / "differential_expression" / name
    table.write_text(f"{table.read_text()}G2\t1\n")
    assert before[:-1] == [output.digest for output in digests.outputs("tuxedo", other, ["S1", "S2"])][:-1]
    assert before[-1] != digests.outputs("tuxedo", other, ["S1", "S2"])[-1].digest


# ---- reads and bases -----------------------------------------------------------------------------------


def read_counts(pipeline, results):
    """Reads, bases, and the shares that mapped and mismatched."""
    counts = digests.read_counts(pipeline, results, "S1")
    return tuple(counts[name] for name in ("reads", "bases", "mapped", "mismatches"))


def test_reads_and_bases_of_germline(write):
    results = write("results/samtools_stats/S1.txt", STATISTICS).parents[1]
    assert read_counts("germline", results) == (6, 54, None, None)


def test_reads_and_bases_of_tuxedo(write):
    assert read_counts("tuxedo", tuxedo(write, "hisat2"))[:2] == (6, 54)
    # TopHat: 2 reads more in the FASTQ files, unmapped and so in no alignment; of 9 bases, as the others on average
    assert read_counts("tuxedo", tuxedo(write, "tophat2", reads=8))[:2] == (8, 72)


def test_mapping_rates(write):
    counts = "SN\treads mapped:\t3\nSN\tbases mapped (cigar):\t20\t#\nSN\tmismatches:\t1\t# from NM fields\n"
    results = write("results/samtools_stats/S1.txt", STATISTICS + counts).parents[1]
    assert read_counts("germline", results)[2:] == (0.5, 0.05)
    write("results/align/S1.json", '{"reads": 8, "mapped": 3}')
    assert read_counts("tuxedo", results)[2:] == (0.375, 0.05)


def test_a_sample_of_which_no_read_was_aligned(write):
    results = tuxedo(write, "run", reads=8)
    empty = STATISTICS.replace("sequences:\t6", "sequences:\t0").replace("length:\t54", "length:\t0")
    write("run/results/samtools_stats/S1.txt", empty)
    assert read_counts("tuxedo", results)[:2] == (8, None)


def test_what_was_not_counted_is_missing_and_not_zero(write, tmp_path):
    assert digests.read_counts("germline", tmp_path, "S1") == {}
    results = write("results/samtools_stats/S1.txt", "SN\tsequences:\t6\n").parents[1]
    with pytest.raises(digests.DigestError, match=r"S1\.txt: no statistics of samtools"):
        digests.read_counts("germline", results, "S1")
