"""Each bad input gives its exact line; good ones give none."""

import gzip
import hashlib
import importlib.util
import os
import random
import re
import struct
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]


def load(name):
    """The module alone, loaded by its path as the workflow does."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"workflow/scripts/checks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables, inputs = load("tables"), load("inputs")
SCHEMAS = tables.SCHEMAS
SAMPLES, UNITS = tables.load_schema(SCHEMAS["samples"]), tables.load_schema(SCHEMAS["units"])
REFERENCE = {"chr20": 500, "chr21": 300}
BWA_INDEX = ("amb", "ann", "bwt", "pac", "sa")


# --- making files ---


def fastq(names, mate, length=50):
    rng = random.Random(7)
    records = []
    for name in names:
        bases = "".join(rng.choices("ACGT", k=length))
        records.append(f"@{name}/{mate}\n{bases}\n+\n{'I' * length}\n")
    return "".join(records).encode()


def bgzip(data):
    """BGZF blocks of the data, without the end marker."""
    blocks = []
    for at in range(0, len(data), 60_000):
        packed = gzip.compress(data[at : at + 60_000], mtime=0)
        header, body = packed[:10], packed[10:]
        extra = b"BC" + struct.pack("<HH", 2, len(packed) + 8 - 1)
        blocks.append(header[:3] + b"\x04" + header[4:] + struct.pack("<H", len(extra)) + extra + body)
    return b"".join(blocks)


def sam_header(contigs, read_groups, order, programs=(), sums=()):
    lines = [
        f"@HD\tVN:1.6\tSO:{order}",
        *(
            f"@SQ\tSN:{name}\tLN:{length}" + (f"\tM5:{sums[name]}" if name in sums else "")
            for name, length in contigs.items()
        ),
    ]
    lines += [f"@RG\tID:{number}\t{fields}" for number, fields in enumerate(read_groups)]
    lines += [f"@PG\t{fields}" for fields in programs]
    return "\n".join(lines).encode() + b"\n"


def bam(contigs, read_groups=("SM:S1",), order="coordinate", programs=(), sums=()):
    text = sam_header(contigs, read_groups, order, programs, sums)
    data = b"BAM\1" + struct.pack("<i", len(text)) + text + struct.pack("<i", len(contigs))
    for name, length in contigs.items():
        data += struct.pack("<i", len(name) + 1) + name.encode() + b"\0" + struct.pack("<i", length)
    return bgzip(data) + inputs.BGZF_END


def itf8(number):
    """CRAM's integers: the bits set first say how many bytes follow."""
    if number < 1 << 7:
        return struct.pack(">B", number)
    if number < 1 << 14:
        return struct.pack(">H", number | 0x8000)
    if number < 1 << 21:
        return struct.pack(">I", number | 0xC00000)[1:]
    return struct.pack(">I", number | 0xE0000000) if number < 1 << 28 else None


PACKERS = (bytes, partial(gzip.compress, mtime=0))  # CRAM's methods 0 and 1


def cram(contigs, read_groups=("SM:S1",), order="coordinate", version=3, method=1, sums=()):
    text = sam_header(contigs, read_groups, order, sums=sums)
    data = struct.pack("<i", len(text)) + text
    packed, checksum = PACKERS[method](data), bytes(4 if version > 2 else 0)
    block = bytes([method, 0, 0]) + itf8(len(packed)) + itf8(len(data)) + packed + checksum
    container = struct.pack("<i", len(block)) + bytes(6) + itf8(1) + itf8(1) + itf8(0) + checksum
    end = inputs.CRAM_ENDS[0 if version > 2 else 1]
    return b"CRAM" + bytes([version, 0]) + bytes(20) + container + block + end


def vcf(*contigs, header=()):
    lines = ["##fileformat=VCFv4.2", *(f"##contig=<ID={contig}>" for contig in header)]
    lines += ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    return "\n".join(lines + [f"{contig}\t10\t.\tA\tC\t50\tPASS\t." for contig in contigs]).encode() + b"\n"


class Project:
    """A working directory with good inputs, of which a test spoils one."""

    def __init__(self):
        names = [f"read{number}" for number in range(1, 41)]
        self.reads = {mate: fastq(names, mate) for mate in (1, 2)}
        self.write("genome.fa", "".join(f">{name} text\n{'ACGTN' * (n // 5)}\n" for name, n in REFERENCE.items()))
        self.write("dbsnp.vcf", vcf("chr20", "chr21"))
        self.write("samples.tsv", "sample_name\nS1\n")
        self.write("units.tsv", "sample_name\tunit_name\tfq1\tfq2\nS1\tL1\tr1.fq.gz\tr2.fq.gz\n")
        self.write("r1.fq.gz", gzip.compress(self.reads[1]))
        self.write("r2.fq.gz", gzip.compress(self.reads[2]))
        self.config = {
            "samples": "samples.tsv",
            "units": "units.tsv",
            "reference": {"fasta": "genome.fa"},
            "known_sites": ["dbsnp.vcf"],
        }

    def write(self, path, content):
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)

    def write_bam(self, content, path="s1.bam"):
        self.write(path, content)
        self.write("units.tsv", f"sample_name\tunit_name\tbam\nS1\tL1\t{path}\n")

    def errors(self, **changes):
        cohort = tables.read_cohort(self.config | changes, SCHEMAS)
        found = inputs.check(cohort.config, cohort.units, index_endings=BWA_INDEX) if cohort.config else []
        return cohort.errors + found


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project()


FQ1 = "units.tsv line 2: sample S1: fq1 r1.fq.gz "
FQ2 = "units.tsv line 2: sample S1: fq2 r2.fq.gz "
BAM = "units.tsv line 2: sample S1: bam s1.bam "
KNOWN = "config: known_sites dbsnp.vcf "
NAMED = "a name is made of letters, digits, '.', '_' and '-', and starts with a letter or digit"
SAME = ": they must hold the same reads in the same order"
CUT = "is cut off: its compressed data ends too early; copy or create it again"
BUILD = ": use files of one genome build"
LACKS = f"that the reference genome.fa lacks (it has chr20, chr21){BUILD}"
OUTSIDE = "has an empty interval or one outside of contig"


def test_good_inputs_have_no_errors(project):
    assert project.errors() == []


# --- configuration ---


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"filter": "vqrs"}, "filter: 'vqrs' is not one of vqsr, vets, hard, none; did you mean vqsr?"),
        ({"vets": {"snps": {"resources": {"a": {}}}}}, "vets.snps.resources.a.vcf: missing"),
        (
            {"vets": {"indels": {"resources": {"a": {"vcf": "a", "truth": True}}}}},
            "vets.indels.resources.a.truth: unknown key; known are vcf, training, calibration",
        ),
        ({"vets": {"snps": {"sensitivity": 0}}}, "vets.snps.sensitivity: 0 is less than or equal to the minimum of 0"),
        ({"gatk": "freebayes"}, "gatk: 'freebayes' is not one of gatk4, gatk3"),
        ({"known_sitez": []}, "known_sitez: unknown key; did you mean known_sites?"),
        ({"known_sites": "dbsnp.vcf"}, "known_sites: expected list, got 'dbsnp.vcf'"),
        ({"known_sites": None}, "known_sites: expected list, got nothing"),
        ({"known_sites": ["a.vcf", "a.vcf"]}, "known_sites: ['a.vcf', 'a.vcf'] has non-unique elements"),
        (
            {"known_sites": ["{a}.vcf"]},
            "known_sites.0: '{a}.vcf': must be a path without braces or control characters",
        ),
        (
            {"known_sites": ["azure://a.org/a.vcf"]},
            "known_sites.0: 'azure://a.org/a.vcf': is neither a path nor an address of https, ftp, s3, gs",
        ),
        (
            {"dbsnp": "dx://bucket/a.vcf"},
            "dbsnp: 'dx://bucket/a.vcf': is neither a path nor an address of https, ftp, s3, gs",
        ),
        ({"samples": 3}, "samples: expected string, got 3"),
        ({"reference": {}}, "reference.fasta: missing"),
        ({"reference": {"fasta": "a", "x": 1}}, "reference.x: unknown key; known are fasta, bwa_index"),
        (
            {"vqsr": {"snps": {"max_gaussians": "four"}}},
            "vqsr.snps.max_gaussians: expected integer, got 'four'",
        ),
        ({"qc": {"action": "x"}}, "qc.action: unknown key; known are known_genotypes, sex_contigs, thresholds"),
        (
            {"qc": {"thresholds": {"coverag": {}}}},
            "qc.thresholds.coverag: no figure that is judged; did you mean coverage?",
        ),
        (
            {"qc": {"thresholds": {"coverage": {"genom": {}}}}},
            "qc.thresholds.coverage: 'genom' is not one of genome, exome, panel, rna; did you mean genome?",
        ),
        (
            {"qc": {"thresholds": {"coverage": {"genome": {"fail": "15"}}}}},
            "qc.thresholds.coverage.genome.fail: expected number, got '15'",
        ),
        ({"vqsr": {"snps": {"max_gaussians": True}}}, "vqsr.snps.max_gaussians: expected integer, got True"),
        ({"vqsr": {"snps": {"max_gaussians": 0}}}, "vqsr.snps.max_gaussians: 0 is less than the minimum of 1"),
        ({"vqsr": {"indels": {"sensitivity": 101}}}, "vqsr.indels.sensitivity: 101 is greater than the maximum of 100"),
        ({"vqsr": {"indels": {"annotations": []}}}, "vqsr.indels.annotations: [] should be non-empty"),
        ({"vqsr": {"snps": {"resources": {"a": {"vcf": "a"}}}}}, "vqsr.snps.resources.a.prior: missing"),
        (
            {"vqsr": {"snps": {"resources": {"a b": {"vcf": "a", "prior": 1}}}}},
            f"vqsr.snps.resources: 'a b': {NAMED}",
        ),
        (
            {"hard_filters": {"snps": {"Q": " "}}},
            "hard_filters.snps.Q: ' ': must be a GATK expression such as \"QD < 2.0\"",
        ),
        (
            {"hard_filters": {"snps": {}}},
            "hard_filters.snps: filter hard needs at least one expression; or set filter: none",
        ),
        (
            {"known_sites": []},
            "known_sites: base quality recalibration needs at least one VCF in known_sites or known_indels; or set "
            "bqsr: none",
        ),
        (
            {"extra": {"haplotype_caller": "--min-pruning 'x"}},
            'extra.haplotype_caller: "--min-pruning \'x": no closing quotation',
        ),
        (
            {"extra": {"genotype_gvcfs": "--dbsnp=x.vcf"}},
            "extra.genotype_gvcfs: --dbsnp=x.vcf: the workflow gives this argument itself",
        ),
        (
            {"extra": {"map_and_sort": "-M -t8"}},
            "extra.map_and_sort: -t8: the workflow gives this argument itself",
        ),
        (
            {"extra": {"haplotype_caller": "a\nb"}},
            "extra.haplotype_caller: 'a\\nb': must be arguments in one line, without braces or control characters",
        ),
        (
            {"interval_padding": 50},
            "interval_padding: there are no intervals to extend: name them, or leave interval_padding out",
        ),
        (
            {"quantize": [10], "bqsr": "none"},
            "quantize: qualities that are not recalibrated are not rounded: leave it out, or bqsr: none",
        ),
        (
            {"reblock": True, "gatk": "gatk3"},
            "reblock: GATK 3 cannot make GVCFs smaller: set gatk: gatk4, or leave reblock out",
        ),
        (
            {"preset": "dragen-gatk", "gatk": "gatk3"},
            "dragen_mode: GATK 3 has no DRAGEN mode: set gatk: gatk4, or dragen_mode: false",
        ),
        (
            {"preset": "dragen", "gvcf": True},
            "preset: 'dragen' is not one of gatk-best-practices, dragen-gatk; did you mean dragen-gatk?",
        ),
        (
            {"gvcf": False, "calling": "joint"},
            "gvcf: joint calling needs GVCFs: leave gvcf: false out, or set calling: per_sample",
        ),
        (
            {"gvcf": False, "reblock": True},
            "reblock: with gvcf: false there is no GVCF to make smaller: leave one of them out",
        ),
        (
            {"gvcf": False, "gatk": "gatk3"},
            "gvcf: GATK 3 runs as published, by way of GVCFs: set gatk: gatk4, or leave gvcf: false out",
        ),
        (
            {"extra": {"haplotype_caller": "--dragen-mode"}},
            "extra.haplotype_caller: --dragen-mode: the workflow gives this argument itself",
        ),
        ({"dbsnp": "nowhere.vcf"}, "dbsnp nowhere.vcf does not exist"),
    ],
)
def test_config(project, change, line):
    assert project.errors(**change) == [f"config: {line}"]


def test_what_samtools_markdup_cannot_mark_is_refused(project):
    project.write_bam(bam(REFERENCE))
    assert project.errors(duplicates="sambamba") == project.errors(duplicates="samtools", bam_input="remap") == []
    assert project.errors(duplicates="samtools") == [
        "config: duplicates: samtools: sample S1, unit L1: alignments that are kept lack what it goes by: set "
        "duplicates: sambamba, or bam_input: remap"
    ]
    rows = "S1\tL1\tr1.fq.gz\t\nS1\tL2\tr2.fq.gz\tlib2\n"
    project.write("units.tsv", f"sample_name\tunit_name\tfq1\tlibrary\n{rows}")
    assert project.errors(duplicates="sambamba") == []
    assert project.errors(duplicates="samtools") == [
        "config: duplicates: samtools: sample S1: it takes libraries (S1, lib2) for one: set duplicates: sambamba"
    ]


def test_a_library_is_what_the_read_group_that_is_written_says(project):
    for lane, library in (("L1", "a"), ("L2", "b")):
        project.write(f"{lane}.bam", bam(REFERENCE, read_groups=(f"SM:S1\tLB:{library}",)))
    header = "sample_name\tunit_name\tbam\tlibrary\n"
    project.write("units.tsv", f"{header}S1\tL1\tL1.bam\t\nS1\tL2\tL2.bam\t\n")
    assert project.errors(duplicates="samtools", bam_input="remap") == [
        "config: duplicates: samtools: sample S1: it takes libraries (a, b) for one: set duplicates: sambamba"
    ]
    project.write("units.tsv", f"{header}S1\tL1\tL1.bam\t\nS1\tL2\tL2.bam\ta\n")
    assert project.errors(duplicates="samtools", bam_input="remap") == []


def test_config_lists_every_error(project):
    assert project.errors(gatk="gatk5", filtre="hard", calling=1) == [
        "config: calling: 1 is not one of per_sample, joint",
        "config: filtre: unknown key; did you mean filter?",
        "config: gatk: 'gatk5' is not one of gatk4, gatk3; did you mean gatk4?",
    ]


def test_vqsr_needs_training_and_truth(project):
    one = {"resources": {"mills": {"vcf": "dbsnp.vcf", "training": True, "prior": 12}}}
    assert project.errors(filter="vqsr", vqsr={"indels": one, "snps": one}) == [
        f"config: vqsr.{kind}.resources: filter vqsr needs one with truth: true; or set filter: hard"
        for kind in ("indels", "snps")
    ]


def test_vets_needs_training_and_calibration_and_gatk_4(project):
    best = {"resources": {"mills": {"vcf": "dbsnp.vcf", "training": True, "calibration": True}}}
    one = {"resources": {"mills": {"vcf": "dbsnp.vcf", "training": True}}}
    assert project.errors(filter="vets", vets={"indels": best, "snps": best}) == []
    assert project.errors(filter="vets", vets={"indels": one, "snps": best}) == [
        "config: vets.indels.resources: filter vets needs one with calibration: true; or set filter: hard"
    ]
    assert project.errors(filter="vets", vets={"indels": best, "snps": best}, gatk="gatk3") == [
        "config: filter: GATK 3 has no VETS: set gatk: gatk4, or filter: vqsr"
    ]


def test_vqsr_is_fitted_as_genomes_are_and_depth_of_targets_is_warned_of(project):
    """The default is what GATK's production pipelines have; a model without DP is nobody's business."""
    best = {"resources": {"best": {"vcf": "dbsnp.vcf", "training": True, "truth": True, "prior": 12}}}

    def fitted(**changes):
        config = project.config | {"filter": "vqsr", "vqsr": {"snps": best, "indels": best}} | changes
        cohort, output = tables.read_cohort(config, SCHEMAS), []
        assert [*cohort.errors, *inputs.check(cohort.config, cohort.units, warn=output.append)] == []
        return {kind: set(model["annotations"]) for kind, model in cohort.config["vqsr"].items()}, output

    indels = {"QD", "DP", "FS", "ReadPosRankSum", "MQRankSum", "SOR"}
    assert fitted() == ({"snps": indels | {"MQ"}, "indels": indels}, [])
    project.write("targets.bed", "chr20\t0\t100\n")
    project.config["intervals"] = "targets.bed"
    (warning,) = fitted()[1]
    assert warning.startswith("config: annotations of vqsr.snps and vqsr.indels hold DP: ")
    without = {kind: best | {"annotations": ["QD", "FS"]} for kind in ("snps", "indels")}
    assert fitted(vqsr=without)[1] == fitted(filter="hard", vqsr={})[1] == []
    forest = {"resources": {"best": {"vcf": "dbsnp.vcf", "training": True, "calibration": True}}}
    (warning,) = fitted(filter="vets", vets={"snps": forest, "indels": forest | {"annotations": ["QD"]}})[1]
    assert warning.startswith("config: annotations of vets.snps hold DP: ")


# --- tables ---


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("sample_name\nS1\nS1\n", ["samples.tsv line 3: sample S1: occurs twice, first in line 2"]),
        ("sample_name\nS1\nS2\n", ["samples.tsv line 3: sample S2: has no units"]),
        ("# who\n\nsample_name\nS1\n\n# and\nS2\n", ["samples.tsv line 7: sample S2: has no units"]),
        (
            "sample_name,condition\nS1,a\n",
            [
                "samples.tsv line 1: no tabs in the header 'sample_name,condition': "
                "separate columns by tabs, not by commas or spaces"
            ],
        ),
        (
            "sample_name\tconditon\nS1\ta\n",
            ["samples.tsv line 1: column conditon: unknown key; did you mean condition?"],
        ),
        ("condition\nS1\n", ["samples.tsv line 1: column sample_name: missing"]),
        ("sample_name\tsample_name\nS1\tS1\n", ["samples.tsv line 1: column sample_name occurs 2 times"]),
        ("sample_name\nS1\tx\n", ["samples.tsv line 2: 2 fields, but the header has 1 columns"]),
        ("sample_name\tcondition\n\ta\nS1\tb\n", ["samples.tsv line 2: sample_name: missing"]),
        ("sample_name\n", ["samples.tsv: no rows below the header"]),
        ("", ["samples.tsv: samples.tsv is empty: a header line is expected"]),
        (b"sample_name\nS\xff\n", ["samples.tsv: samples.tsv is not a text file in UTF-8"]),
    ],
)
def test_samples_table(project, table, lines):
    project.write("samples.tsv", table)
    assert [line for line in project.errors() if "sample : " not in line] == lines


def test_missing_table(project):
    assert project.errors(samples="no.tsv") == ["no.tsv: no.tsv does not exist"]


def test_table_that_is_a_directory(project):
    Path("tables").mkdir()
    assert project.errors(samples="tables") == ["tables: tables cannot be read: Is a directory"]


@pytest.mark.parametrize(
    "text", ["\ufeffsample_name\nS1\n", "sample_name\r\nS1\r\n", "sample_name\rS1\r", "sample_name\nS1"]
)
def test_byte_order_marks_and_line_ends_do_not_matter(project, text):
    project.write("samples.tsv", text)
    assert project.errors() == []


NO_READS = "line 2: must name fq1, and fq2 of pairs, or else bam"
FIRST = "S1\tL1\tr1.fq.gz\tr2.fq.gz\t"


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        (f"{FIRST}\nS1\tL1\tr3.fq\t\t", ["line 3: sample S1: unit L1: occurs twice, first in line 2"]),
        (
            f"{FIRST}\nS1a\tL1\tr3.fq\t\t",
            ["line 3: sample S1a: is not in the table of samples; did you mean S1?"],
        ),
        ("S1\tL1\tr1.fq.gz\tr1.fq.gz\t", ["line 2: sample S1: fq2 r1.fq.gz is also fq1 in line 2"]),
        (
            "S1\tL1\tr1.fq.gz\t\t\nS1\tL2\t./r1.fq.gz\t\t",
            ["line 3: sample S1: fq1 ./r1.fq.gz is also fq1 in line 2"],
        ),
        (
            "S1\tL1\tsra://bucket/r1.fq.gz\t\t",
            ["line 2: fq1: 'sra://bucket/r1.fq.gz': is neither a path nor an address of https, ftp, s3, gs"],
        ),
        ("S1\tL1\t\t\t", [NO_READS]),
        ("S1\tL1\tr1.fq.gz\t\tr3.fq", [NO_READS]),
        ("S1\tL1\t\tr2.fq.gz\t", [NO_READS]),
        ("S1\tL1\t\tr2.fq.gz\tr3.fq", [NO_READS]),
        (
            "S1\tL/1\tr1.fq.gz\t\t",
            [f"line 2: unit_name: 'L/1': {NAMED}"],
        ),
    ],
)
def test_units_table(project, row, lines):
    project.write("r3.fq", fastq(["a"], 1))
    project.write("units.tsv", f"sample_name\tunit_name\tfq1\tfq2\tbam\n{row}\n")
    cohort = tables.read_cohort(project.config, SCHEMAS)
    assert cohort.errors == [f"units.tsv {line}" for line in lines]


def test_values_of_units(project):
    project.write(
        "units.tsv",
        "unit_name\tsample_name\tfq1\tplatform\nL1\tS1\tr1.fq.gz\tIllumina\nL2\tS1\tr2.fq.gz\t\n",
    )
    cohort = tables.read_cohort(project.config, SCHEMAS)
    assert cohort.errors == []
    assert list(cohort.units) == ["S1"]
    assert [row["platform"] for row in cohort.units["S1"].values()] == ["ILLUMINA", ""]
    assert cohort.units["S1"]["L2"] | {"line": 3, "fq2": "", "bam": "", "library": ""} == cohort.units["S1"]["L2"]


def test_a_job_reads_the_tables_and_looks_at_no_file_of_other_jobs(project, monkeypatch):
    """The run has checked them: 10,000 jobs would look at 10,000 files each."""
    whole = tables.read_cohort(project.config, SCHEMAS)
    monkeypatch.setattr(tables, "_shared_files", None)
    monkeypatch.setattr(tables.Path, "resolve", None)
    again = tables.read_cohort(project.config, SCHEMAS, check=False)
    assert (again.samples, again.units, again.errors) == (whole.samples, whole.units, [])


def test_unknown_platform(project):
    project.write("units.tsv", "sample_name\tunit_name\tfq1\tplatform\nS1\tL1\tr1.fq.gz\tilumina\n")
    (line,) = project.errors()
    assert line.startswith("units.tsv line 2: platform: 'ILUMINA' is not one of CAPILLARY, DNBSEQ")
    assert line.endswith("; did you mean ILLUMINA?")


SAFE = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=20))
def test_unsafe_names_are_refused(tmp_path_factory, name):
    path = tmp_path_factory.getbasetemp() / "names.tsv"
    path.write_text(f"condition\tsample_name\nx\t{name}\n", encoding="utf-8")
    rows, errors = tables.read_table(path, SAMPLES)
    safe = set(name.strip()) <= SAFE and name.strip()[:1] not in ("", ".", "_", "-")
    assert bool(errors) != safe
    if safe:
        assert rows[0]["sample_name"] == name.strip()


@given(st.binary(max_size=300) | st.text("sample_nit\t\n\r#1", max_size=100).map(str.encode))
def test_reading_a_table_never_raises(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.tsv"
    path.write_bytes(data)
    for schema in (SAMPLES, UNITS):
        rows, errors = tables.read_table(path, schema)
        assert rows or errors


# --- FASTQ ---


NO_FASTQ = "is not FASTQ of four lines a read at record"


def cut(data, part=0.6):
    return data[: int(len(data) * part)]


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda reads: b"", "is empty (0 bytes)"),
        (lambda reads: reads, "is not gzip compressed, though its name ends in .gz"),
        (lambda reads: gzip.compress(b""), "holds no reads"),
        (
            lambda reads: cut(gzip.compress(reads)),
            CUT,
        ),
        (
            lambda reads: cut(bgzip(reads)),
            CUT,
        ),
        (lambda reads: gzip.compress(reads[:-60]), "is cut off inside record 40"),
        (lambda reads: gzip.compress(reads[:-3]), "is cut off inside record 40"),
        (lambda reads: gzip.compress(b">chr1\nACGT\n"), f"{NO_FASTQ} 1, which starts with '>chr1'"),
        (
            lambda reads: gzip.compress(b"PK\x03\x04 zip\n"),
            f"{NO_FASTQ} 1, which starts with 'PK\\x03\\x04 zip'",
        ),
        (lambda reads: gzip.compress(b"@a\nACGT\n+\nIII\n"), "has 4 bases but 3 base qualities in record 1"),
        (
            lambda reads: gzip.compress(b"@a\nACGT\nACGT\n+\nIIII\nIIII\n"),
            f"{NO_FASTQ} 1, which starts with '@a'",
        ),
        (
            lambda reads: gzip.compress(reads.replace(b"@read7/", b"read7/")),
            f"{NO_FASTQ} 7, which starts with 'read7/1'",
        ),
    ],
)
def test_fastq(project, spoil, fault):
    project.write("r1.fq.gz", spoil(project.reads[1]))
    assert project.errors() == [FQ1 + fault]


def test_damaged_gzip(project):
    packed = bytearray(gzip.compress(project.reads[1]))
    packed[-6] ^= 0xFF
    project.write("r1.fq.gz", bytes(packed))
    (line,) = project.errors()
    assert line.startswith(FQ1 + "is damaged: CRC check failed")
    assert line.endswith("; copy or create it again")


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bgzip, lambda data: bgzip(data) + inputs.BGZF_END])
def test_good_fastq_in_every_packing(project, pack):
    # BGZF without an end marker is what some base callers write, and it is complete
    for mate in (1, 2):
        project.write(f"r{mate}.fq", pack(project.reads[mate] + b"\n\n"))
    project.write("units.tsv", "sample_name\tunit_name\tfq1\tfq2\nS1\tL1\tr1.fq\tr2.fq\n")
    assert project.errors() == []


def test_single_end_reads_with_carriage_returns(project):
    project.write("r1.fq.gz", gzip.compress(project.reads[1].replace(b"\n", b"\r\n")))
    project.write("units.tsv", "sample_name\tunit_name\tfq1\nS1\tL1\tr1.fq.gz\n")
    assert project.errors() == []


def test_missing_file(project):
    Path("r2.fq.gz").unlink()
    assert project.errors() == [FQ2 + "does not exist"]
    Path("r2.fq.gz").symlink_to("nowhere")
    assert project.errors() == [FQ2 + "is a link to a file that does not exist"]


def test_directory_in_place_of_a_file(project):
    Path("r2.fq.gz").unlink()
    Path("r2.fq.gz").mkdir()
    assert project.errors() == [FQ2 + "is a directory, not a file"]


def test_pipe_in_place_of_a_file(project):
    Path("r2.fq.gz").unlink()
    os.mkfifo("r2.fq.gz")
    assert project.errors() == [FQ2 + "is not a regular file"]


def test_unreadable_file(project, monkeypatch):
    # permissions do not stop root, so the answer of the system is given here
    monkeypatch.setattr(inputs.os, "access", lambda path, mode: str(path) != "r2.fq.gz")
    assert project.errors() == [FQ2 + "cannot be read: permission denied"]


@pytest.mark.parametrize("kept", [(40, 15), (15, 40)])
def test_mates_of_different_number(project, kept):
    names = [f"read{number}" for number in range(1, 41)]
    for mate, count in zip((1, 2), kept, strict=True):
        project.write(f"r{mate}.fq.gz", gzip.compress(fastq(names[:count], mate)))
    one, two = ("read read16" if count > 15 else "no read" for count in kept)
    assert project.errors() == [f"{FQ2}has {two} in record 16, but fq1 r1.fq.gz has {one}{SAME}"]


def test_a_read_lost_in_the_middle_is_reported_where_it_was(project):
    names = [f"read{number}" for number in range(1, 41) if number != 9]
    project.write("r1.fq.gz", gzip.compress(fastq(names, 1)))
    assert project.errors() == [f"{FQ2}has read read9 in record 9, but fq1 r1.fq.gz has read read10{SAME}"]


def test_mates_in_different_order(project):
    names = [f"read{number}" for number in range(1, 41)]
    names[4], names[5] = names[5], names[4]
    project.write("r2.fq.gz", gzip.compress(fastq(names, 2)))
    assert project.errors() == [f"{FQ2}has read read6 in record 5, but fq1 r1.fq.gz has read read5{SAME}"]


def test_both_files_of_a_pair_are_reported(project):
    for mate in (1, 2):
        project.write(f"r{mate}.fq.gz", cut(gzip.compress(project.reads[mate])))
    assert sorted(project.errors()) == [FQ1 + CUT, FQ2 + CUT]


def test_every_bad_unit_is_reported(project):
    header, row = "sample_name\tunit_name\tfq1\tfq2\n", "S1\tL{0}\t{0}_1.fq\t{0}_2.fq\n"
    project.write("units.tsv", header + "".join(row.format(number) for number in range(3)))
    assert len(project.errors()) == 6


GIVEN, DIVIDED = (
    "the workflow gives this argument itself",
    "the workflow divides the genome itself: name regions in intervals",
)
ONE_FILE = "all samples, and all parts of one, would write this one file"


@pytest.mark.parametrize(
    ("rule", "word", "fault"),
    [
        *(("haplotype_caller", word, ONE_FILE) for word in ("--bam-output", "-bamout", "--bamOutput=x.bam", "-graph")),
        *(
            ("haplotype_caller", word, DIVIDED)
            for word in ("--exclude-intervals", "-XL", "-L", "-Lchr1", "--intervals=x")
        ),
        *(("base_recalibrator", word, GIVEN) for word in ("-I", "-I:tag", "-Ireads.bam", "-O", "--knownSites", "-R")),
        ("genotype_gvcfs", "--arguments_file", "what such a file holds is not looked at: name its arguments here"),
        *(("map_and_sort", word, GIVEN) for word in ("-t8", "-fout.sam")),
        *(("tophat2", word, GIVEN) for word in ("-p", "-p8", "--num-threads", "--output-dir=x", "--library-type")),
    ],
)
def test_arguments_that_a_tool_cannot_have_are_refused_by_name(project, rule, word, fault):
    assert project.errors(extra={rule: word if rule == "map_and_sort" else f"{word} x"})[0] == (
        f"config: extra.{rule}: {word}: {fault}"
    )


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("map_and_sort", "-M -k 19 -I 300,30 -x intractg"),
        ("haplotype_caller", "-OVM -LE --output-mode EMIT_ALL_ACTIVE_SITES"),
        ("tophat2", "-r -20 --mate-std-dev=30 -g 5 --no-coverage-search"),
    ],
)
def test_other_arguments_pass(project, rule, arguments):
    assert project.errors(extra={rule: arguments}) == []


def known(*records):
    """A VCF of records of contig, position and REF."""
    return vcf() + "".join(f"{contig}\t{at}\t.\t{ref}\tC\t.\t.\t.\n" for contig, at, ref in records).encode()


MANY = [("chr20", at, "A") for at in range(1, 8000)]


@pytest.mark.parametrize("pack", [bytes, lambda data: bgzip(data) + inputs.BGZF_END], ids=["text", "bgzip"])
@pytest.mark.parametrize(
    ("records", "fault"),
    [
        ([("chr20", 9, "A"), ("chr20", 8, "A")], "chr20:8 stands after chr20:9 in line 4"),
        ([("chr20", 9, "A"), ("chr21", 8, "A"), ("chr20", 10, "A")], "chr20:10 stands after chr21:8 in line 5"),
        ([*MANY, ("chr20", 8, "A")], "chr20:8 stands after chr20:7999"),
    ],
    ids=["position", "contig", "behind the head"],
)
def test_known_sites_that_are_not_sorted_are_refused(project, monkeypatch, pack, records, fault):
    monkeypatch.setattr(inputs, "HEAD_BYTES", 1000)
    monkeypatch.setattr(inputs, "TAIL_BYTES", 20_000)
    project.write("dbsnp.vcf", pack(known(*records)))
    assert project.errors() == [f"{KNOWN}is not sorted: {fault}: sort it (bcftools sort)"]


def test_known_sites_of_other_letters_are_told(project):
    project.write("dbsnp.vcf", known(("chr20", 8, "A"), ("chr20", 9, "R"), ("chr20", 10, "ACM"), ("chr21", 2, "n")))
    cohort, warned = tables.read_cohort(project.config, SCHEMAS), []
    assert inputs.check(cohort.config, cohort.units, warn=warned.append) == []
    (line,) = warned
    assert line.startswith(f"{KNOWN}has records whose REF is not made of A, C, G, T and N (2 of those looked at)")


OFFSET_64 = (
    "has base qualities with offset 64, as Illumina wrote them before version 1.8, which would be taken for 31 more "
    "than they are: convert it (seqtk seq -VQ64)"
)


def with_qualities(data, qualities):
    """The FASTQ text, its reads with these qualities one after the other."""
    lines = data.split(b"\n")
    for number in range(len(lines) // 4):
        text = qualities[number % len(qualities)].encode()
        lines[4 * number + 1], lines[4 * number + 3] = b"A" * len(text), text
    return b"\n".join(lines)


@pytest.mark.parametrize("qualities", [["Bhhg", "ffBB"], [";hhh"], ["BBBB"] * 39 + ["Bahg"]])
@pytest.mark.parametrize("head", [1000, 20])
def test_qualities_of_offset_64_are_refused(project, monkeypatch, qualities, head):
    """Where the first reads are bad all through, later ones tell."""
    monkeypatch.setattr(inputs, "HEAD_READS", head)
    for mate in (1, 2):
        project.write(f"r{mate}.fq.gz", gzip.compress(with_qualities(project.reads[mate], qualities)))
    assert project.errors() == [FQ1 + OFFSET_64, FQ2 + OFFSET_64]


@pytest.mark.parametrize("qualities", [["IIII"], ["FFFF", "FF:F"], ["hhhh"] * 39 + ["#hhh"], ["~~~~"], ["BBBB"], [""]])
def test_qualities_of_offset_33_pass(project, qualities):
    for mate in (1, 2):
        project.write(f"r{mate}.fq.gz", gzip.compress(with_qualities(project.reads[mate], qualities)))
    assert project.errors() == []


@pytest.mark.parametrize(("one", "two", "same"), [(b".1", b".2", True), (b".3", b".4", False)])
def test_mates_may_be_numbered_after_a_dot(project, one, two, same):
    """As fastq-dump -I does."""
    for mate, number in ((1, one), (2, two)):
        project.write(f"r{mate}.fq.gz", gzip.compress(project.reads[mate].replace(b"/%d\n" % mate, number + b" x\n")))
    assert [SAME in error for error in project.errors()] == [True] * (not same)


class TestLargeFiles:
    """Of each file the head and the tail are looked at."""

    @pytest.fixture(autouse=True)
    def low_limits(self, monkeypatch):
        monkeypatch.setattr(inputs, "HEAD_READS", 10)

    def test_good(self, project):
        assert project.errors() == []

    def test_faults_behind_the_head_are_left_to_the_mapping_job(self, project):
        project.write("r1.fq.gz", gzip.compress(project.reads[1][:-300]))
        assert project.errors() == []

    def test_faults_in_the_head(self, project):
        project.write("r1.fq.gz", gzip.compress(project.reads[1].replace(b"@read7/", b"@other/")))
        assert project.errors() == [f"{FQ2}has read read7 in record 7, but fq1 r1.fq.gz has read other{SAME}"]

    def test_few_mates(self, project):
        project.write("r2.fq.gz", gzip.compress(fastq(["read1", "read2"], 2)))
        assert project.errors() == [f"{FQ2}has no read in record 3, but fq1 r1.fq.gz has read read3{SAME}"]

    def test_cut_in_its_first_block(self, project):
        project.write("r1.fq.gz", gzip.compress(project.reads[1])[:30])
        assert project.errors() == [FQ1 + CUT]

    def test_bgzf_cut_behind_the_head(self, project):
        many = [f"read{number}" for number in range(1, 5001)]
        for mate in (1, 2):
            project.write(f"r{mate}.fq.gz", bgzip(fastq(many, mate)))
        assert project.errors() == []
        project.write("r2.fq.gz", bgzip(fastq(many, 2))[:-5])
        assert project.errors() == [FQ2 + "is cut off: it ends inside a compressed block; copy or create it again"]


# --- BAM and CRAM ---

SUMS = {name: hashlib.md5(b"ACGTN" * (length // 5)).hexdigest() for name, length in REFERENCE.items()}
OTHERS = SUMS | {"chr21": "0" * 32}
OTHER_FASTA = (
    "was made with another FASTA than {}, which lacks contig {} or has other bases there (M5): set bam_input: remap; "
    "of CRAM, name the FASTA that it was made with in cram_reference, too"
)


def test_sums_of_contigs_are_those_of_dictionaries(project):
    project.write("genome.fa", ">chr20 text\r\n" + "acgtn\r\nACG TN\r\n" * 50 + f">chr21\n{'ACGTN' * 60}")
    assert inputs.fasta_sums("genome.fa") == SUMS


def write_dictionary(path, sums):
    Path(path).write_text("@HD\n" + "".join(f"@SQ\tSN:{name}\tLN:1\tM5:{own}\n" for name, own in sums.items()))


@pytest.mark.parametrize("dictionary", ["genome.dict", "genome.fa.dict"])
@pytest.mark.parametrize("mode", ["keep", "remap"])
@pytest.mark.parametrize("form", [bam, cram])
def test_alignments_of_another_fasta_are_told_before_the_run(project, form, mode, dictionary):
    """The names and lengths are alike, and the bases are not; reads of a BAM file can be mapped again all the same."""
    write_dictionary(dictionary, SUMS)
    project.write_bam(form(REFERENCE, sums=SUMS))
    assert project.errors(bam_input=mode) == []
    project.write_bam(form(REFERENCE, sums=OTHERS))
    faults = [] if (form, mode) == (bam, "remap") else [BAM + OTHER_FASTA.format("genome.fa", "chr21")]
    assert project.errors(bam_input=mode) == faults
    write_dictionary(dictionary, OTHERS)
    os.utime(dictionary, (1, 1))
    faults = faults if form is cram else []
    assert project.errors(bam_input=mode) == faults, "of one that is older than the FASTA nothing is believed"


def test_cram_that_is_mapped_again_is_held_against_the_fasta_that_is_named_for_it(project):
    project.write("made with.fa", Path("genome.fa").read_bytes())
    write_dictionary("made with.dict", SUMS)
    write_dictionary("genome.dict", OTHERS)
    choices = {"bam_input": "remap", "cram_reference": "made with.fa"}
    project.write_bam(cram(REFERENCE, sums=SUMS))
    assert project.errors(**choices) == []
    assert project.errors(**choices | {"bam_input": "keep"}) == [BAM + OTHER_FASTA.format("genome.fa", "chr21")]
    project.write_bam(cram(REFERENCE, sums=OTHERS))
    assert project.errors(**choices) == [BAM + OTHER_FASTA.format("made with.fa", "chr21")]
    project.write_bam(bam(REFERENCE, sums=OTHERS))
    assert project.errors(**choices) == []


@pytest.mark.parametrize("variable", ["", "REF_PATH", "REF_CACHE"])
def test_contigs_that_no_fasta_has_are_told_unless_samtools_was_told_where_they_are(project, monkeypatch, variable):
    for name in ("REF_PATH", "REF_CACHE"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "cache")
    project.write_bam(cram(REFERENCE | {"decoy": 5}, sums=SUMS | {"decoy": "0" * 32}))
    faults = [] if variable else [BAM + OTHER_FASTA.format("genome.fa", "decoy")]
    assert project.errors(bam_input="remap") == faults


def test_a_fasta_for_cram_that_cannot_be_read(project):
    project.write_bam(cram(REFERENCE, sums=SUMS))
    write_dictionary("other.dict", SUMS)
    fault = "config: cram_reference other.fa does not exist"
    assert project.errors(bam_input="remap", cram_reference="other.fa") == [fault]


@pytest.mark.parametrize("form", [bam, cram])
@pytest.mark.parametrize(
    ("header", "faults"),
    [
        ({}, []),
        (
            {"contigs": {"chr20": 500}},
            [f"lacks contig chr21 of the reference genome.fa{BUILD}; or set bam_input: remap"],
        ),
        (
            {"order": "unsorted"},
            ["is not sorted by coordinate (its header lacks SO:coordinate): sort it, or set bam_input: remap"],
        ),
        ({"read_groups": ()}, ["has no read group (@RG): add one, or set bam_input: remap"]),
        (
            {"read_groups": ("SM:S1", "SM:S9")},
            ["has a read group of sample 'S9' (SM): rename one of the two, or set bam_input: remap"],
        ),
        (
            {"contigs": {"20": 500, **REFERENCE}},
            [f"names contig 20 {LACKS}; or set bam_input: remap"],
        ),
        (
            {"contigs": {"chr20": 499, "chr21": 300}},
            [f"gives contig chr20 a length of 499, but the reference genome.fa 500{BUILD}; or set bam_input: remap"],
        ),
    ],
)
def test_alignments(project, form, header, faults):
    project.write_bam(form(**{"contigs": REFERENCE} | header))
    assert project.errors() == [BAM + fault for fault in faults]


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (b"@HD\tVN:1.6\n", ["is neither BAM nor CRAM"]),
        (bam(REFERENCE)[:-28], ["is cut off: the end marker of BAM is missing; copy or create it again"]),
        (bam(REFERENCE)[:60], [CUT]),
        (cram(REFERENCE)[:-38], ["is cut off: the end marker of CRAM is missing; copy or create it again"]),
        (cram(REFERENCE)[:60], ["is damaged or cut off: its header cannot be read; copy or create it again"]),
        (
            cram(REFERENCE, version=1),
            ["is CRAM version 1, of which no header can be read here: convert it to version 3"],
        ),
    ],
    ids=["SAM", "BAM without end", "cut BAM", "CRAM without end", "cut CRAM", "old CRAM"],
)
def test_files_that_are_no_whole_alignments(project, content, faults):
    project.write_bam(content)
    assert project.errors() == [BAM + fault for fault in faults]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("method", range(len(PACKERS)))
@pytest.mark.parametrize("count", [1, 30, 3000])
def test_headers_of_cram_however_they_are_packed(project, version, method, count):
    contigs = {f"chr{number}": 1000 + number for number in range(count)}
    project.write("s1.cram", cram(contigs, version=version, method=method))
    header = inputs.read_header("s1.cram")
    assert {fields["SN"]: int(fields["LN"]) for kind, fields in header if kind == "@SQ"} == contigs
    assert ("@RG", {"ID": "0", "SM": "S1"}) in header


@pytest.mark.parametrize("form", [bam, cram])
def test_alignments_that_are_mapped_anew_need_no_particular_header(project, form):
    project.write_bam(form({"20": 1}, read_groups=(), order="unsorted"))
    assert project.errors(bam_input="remap") == []


@pytest.mark.parametrize("form", [bam, cram])
def test_of_several_read_groups_none_is_lost_in_silence(project, form):
    lanes = ("SM:S1\tLB:a\tPU:1", "SM:S1\tLB:b\tPU:2", "SM:S1", "SM:S1")
    project.write_bam(form(REFERENCE, read_groups=lanes))
    assert project.errors() == []
    assert project.errors(bam_input="remap") == [
        BAM + "has 4 read groups (0, 1, 2, ...), of which bam_input: remap would make one: split it (samtools split) "
        "and make each part a unit of its own"
    ]
    project.write_bam(form(REFERENCE, read_groups=lanes[:1]))
    assert project.errors(bam_input="remap") == []


@pytest.mark.deep
@pytest.mark.parametrize(
    ("program", "recalibrated"),
    [
        ("ID:GATK ApplyBQSR\tVN:4.6.2.0\tPN:GATK ApplyBQSR", "GATK ApplyBQSR"),
        ("ID:GATK ApplyBQSRSpark.2\tVN:4.1\tPP:bwa", "GATK ApplyBQSRSpark.2"),
        ("ID:GATK PrintReads\tVN:3.8-1-0-gf15c1c3ef\tCL:readGroup=null", "GATK PrintReads"),
        ("ID:GATK PrintReads\tVN:4.6.2.0\tPN:GATK PrintReads", ""),
        ("ID:bwa\tPN:bwa\tVN:0.7.17\tCL:bwa mem ApplyBQSR", ""),
    ],
)
@pytest.mark.parametrize("way", ["keep", "remap"])
def test_base_qualities_that_were_recalibrated(project, way, program, recalibrated):
    project.write_bam(bam(REFERENCE, programs=["ID:other\tPN:other", program]))
    advice = "set bqsr: none, or bqsr: again to recalibrate them once more"
    line = (
        f"units.tsv line 2: sample S1: bam s1.bam has base qualities that {recalibrated} recalibrated (@PG): {advice}"
    )
    assert project.errors(bam_input=way) == [line] * bool(recalibrated)
    for choice in ("none", "again"):
        assert project.errors(bam_input=way, bqsr=choice) == []


# --- reference ---


FASTA = "config: reference.fasta genome.fa "


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "is empty (0 bytes)"),
        ("@read\nACGT\n", "is not FASTA: it starts with '@read'"),
        ("\n\n", "holds no sequence"),
        (">chr20\nAC\n>chr21\nAC\n>chr20\nAC\n", "has two contigs chr20"),
        (">chr20\n>chr21\nAC\n", "has a contig chr20 without a sequence"),
        (">\nAC\n", "has a contig without a name"),
        (cut(gzip.compress(b">chr20\nACGT\n", mtime=0)), CUT),
    ],
)
def test_reference(project, content, fault):
    project.write("genome.fa", content)
    assert project.errors() == [FASTA + fault]


def test_missing_reference(project):
    assert project.errors(reference={"fasta": "no.fa"}) == ["config: reference.fasta no.fa does not exist"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bgzip])
def test_contigs_of_a_reference_without_an_index(project, pack):
    project.write("any.fa", pack(b"\n>chr1 first > one\r\nACGT\r\nAC\r\n>chr2\nA\n\nC>T\n>c3\nACGT"))
    assert inputs.scan_fasta("any.fa") == {"chr1": 6, "chr2": 4, "c3": 4}


# fits genome.fa but for a name, which tells that it was read
FAI = "chr20\t500\t12\t500\t501\nchrX\t300\t525\t300\t301\n"
BY_INDEX = {"chr20": 500, "chrX": 300}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_index_that_fits_spares_reading_the_reference(project, pack):
    project.write("genome.fa", pack(Path("genome.fa").read_bytes()))
    project.write("cached.fai", FAI)
    reference = {"fasta": "genome.fa", "bwa_index": ""}
    assert inputs.read_reference(reference, "cached.fai") == (BY_INDEX, [])
    os.utime("cached.fai", (1, 1))
    assert inputs.read_reference(reference, "cached.fai") == (REFERENCE, [])
    project.write("genome.fa.fai", FAI)
    assert inputs.read_reference(reference) == (BY_INDEX, [])


@pytest.mark.parametrize(
    "index",
    ["", "chr20 500\n", FAI.replace("525", "520"), FAI.replace("chrX", "chr20"), FAI.replace("\t301", "")],
)
def test_an_index_that_does_not_fit_is_passed_over(project, index):
    project.write("genome.fa.fai", index)
    assert inputs.read_reference({"fasta": "genome.fa", "bwa_index": ""}) == (REFERENCE, [])


def test_of_a_bgzf_reference_only_the_index_beside_it_is_believed(project):
    project.write("genome.fa", bgzip(Path("genome.fa").read_bytes()) + inputs.BGZF_END)
    reference = {"fasta": "genome.fa", "bwa_index": ""}
    project.write("cached.fai", FAI)
    assert inputs.read_reference(reference, "cached.fai") == (REFERENCE, [])
    project.write("genome.fa.fai", FAI)
    assert inputs.read_reference(reference) == (BY_INDEX, [])


@pytest.mark.parametrize(("length", "refused"), [(2**29 - 1, False), (2**29, True)])
def test_contigs_that_no_bai_and_no_tbi_can_hold_are_refused_in_one_line(project, length, refused):
    """The index alone says how long they are: a contig of wheat is not written here."""
    project.write("genome.fa", bgzip(Path("genome.fa").read_bytes()) + inputs.BGZF_END)
    project.write("genome.fa.fai", f"1A\t{length}\t4\t{length}\t{length + 1}\n2A\t300\t{length + 9}\t300\t301\n")
    contigs, errors = inputs.read_reference({"fasta": "genome.fa", "bwa_index": ""})
    assert bool(errors) == refused == (not contigs)
    if refused:
        (line,) = errors
        assert line.startswith("config: reference.fasta genome.fa has contigs of more than 536,870,911 bases")
        assert "BAI and TBI cannot hold: 1A (536,870,912); split them, as in runs of N" in line


def test_incomplete_bwa_index(project):
    for suffix in ("amb", "bwt", "pac"):
        project.write(f"index.{suffix}", "x")
    project.write("index.ann", ANNOTATION)
    assert project.errors(reference={"fasta": "genome.fa", "bwa_index": "index"}) == [
        "config: reference.bwa_index index.sa does not exist"
    ]


ANNOTATION = "800 2 11\n0 chr20 (null)\n0 500 0\n0 chr21 a comment\n500 300 0\n"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("", "", ""),
        (
            "500 0\n0 chr21",
            "499 0\n0 chr21",
            f"gives contig chr20 a length of 499, but the reference genome.fa 500{BUILD}",
        ),
        ("chr20", "20", f"names contig 20 {LACKS}"),
        ("0 chr21 a comment\n500 300 0\n", "", f"lacks contig chr21 of the reference genome.fa{BUILD}"),
        ("500 300 0\n", "", "is not the .ann file of a whole index: make the index again"),
        ("300", "?", "is not the .ann file of a whole index: make the index again"),
    ],
)
def test_an_index_of_another_reference(project, old, new, fault):
    for suffix in BWA_INDEX:
        project.write(f"index.{suffix}", "x")
    project.write("index.ann", ANNOTATION.replace(old, new))
    errors = project.errors(reference={"fasta": "genome.fa", "bwa_index": "index"})
    assert errors[:1] == [f"config: reference.bwa_index index.ann {fault}"] * bool(fault)


# --- VCF ---

NO_GENOTYPES = "has no genotypes: FORMAT of its first record does not begin with GT"


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (vcf("chr20", "chr20", "chr21"), []),
        (vcf(), []),
        (vcf("chr20", header=("chr20", "chr1", "chr21")), []),
        (gzip.compress(vcf("chr20"), mtime=0), []),
        (bgzip(vcf("chr20")) + inputs.BGZF_END, []),
        (bgzip(vcf("chr20")), ["is cut off: the end marker of bgzip is missing; copy or create it again"]),
        (b"", ["is empty (0 bytes)"]),
        (b"chr20\t1\n", ["is not VCF: it starts with 'chr20\\t1'"]),
        (b"##fileformat=VCFv4.2\nchr20\t1\n", ["is not VCF: it has no line that starts with #CHROM"]),
        (vcf("chr20", "chr21")[:-20], ["is damaged or cut off: its last line has fewer than 8 columns"]),
        (
            vcf("20", "chr21"),
            [f"names contig 20 {LACKS}"],
        ),
        (
            vcf("20", header=("19", "20")),
            [f"names contig 20 {LACKS}"],
        ),
        (
            vcf("chr20", header=("chr20,length=64444167",)),
            [f"gives contig chr20 a length of 64444167, but the reference genome.fa 500{BUILD}"],
        ),
        (
            vcf("chr20", header=("chr21", "chr20")),
            ["has contig chr21 where the reference genome.fa has chr20: sort it by the order of the reference"],
        ),
    ],
)
def test_known_sites(project, content, faults):
    project.write("dbsnp.vcf", content)
    assert project.errors() == [KNOWN + fault for fault in faults]


GENOTYPES = vcf("chr20").decode().replace("INFO", "INFO\tFORMAT\tS1\tS 2")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (GENOTYPES.replace("PASS\t.", "PASS\t.\tGT\t0/1\t./."), ""),
        (GENOTYPES.replace("PASS\t.", "PASS\t.\tGT:AD\t0/1:9,9\t.").replace("S1", "S3\tS1"), ""),
        (GENOTYPES.replace("PASS\t.", "PASS\t.\tGTX\t0/1\t./."), NO_GENOTYPES),
        (vcf("chr20").decode(), NO_GENOTYPES),
        (vcf().decode(), NO_GENOTYPES),
        (
            GENOTYPES.replace("PASS\t.", "PASS\t.\tGT\t0/1\t./.").replace("S1", "NA1"),
            "has none of the samples, but NA1, S 2: name them as the sample sheet does (bcftools reheader)",
        ),
        (GENOTYPES.replace("chr20", "20"), f"names contig 20 {LACKS}"),
        ("", "is empty (0 bytes)"),
    ],
)
def test_known_genotypes(project, content, fault):
    project.write("array.vcf", content)
    errors = project.errors(qc={"known_genotypes": "array.vcf"})
    assert errors[:1] == [f"config: qc.known_genotypes array.vcf {fault}"] * bool(fault)


def test_missing_vcf(project):
    assert project.errors(known_indels=["mills.vcf.gz"]) == ["config: known_indels mills.vcf.gz does not exist"]


def test_only_the_files_of_the_chosen_route_are_checked(project):
    resource = {"vcf": "hapmap.vcf", "training": True, "truth": True, "prior": 15}
    vqsr = {kind: {"resources": {"hapmap": resource}} for kind in ("snps", "indels")}
    assert project.errors(vqsr=vqsr, filter="hard") == []
    assert project.errors(vqsr=vqsr, filter="vqsr") == [
        f"config: vqsr.{kind}.resources.hapmap.vcf hapmap.vcf does not exist" for kind in ("snps", "indels")
    ]
    labelled = {"resources": {"omni": {"vcf": "omni.vcf", "training": True, "calibration": True}}}
    assert project.errors(vqsr=vqsr, filter="vets", vets={"snps": labelled, "indels": labelled}) == [
        f"config: vets.{kind}.resources.omni.vcf omni.vcf does not exist" for kind in ("snps", "indels")
    ]


# --- intervals, jar ---


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("t.bed", "track name=x\nchr20\t0\t500\n", None),
        ("t.bed", "chr20\t0\t501\n", f"{OUTSIDE} chr20 of 500 bases in line 1"),
        ("t.bed", "#\nchr20\t9\t9\n", f"{OUTSIDE} chr20 of 500 bases in line 2"),
        ("t.bed", "20\t0\t5\n", f"names contig 20 {LACKS}"),
        ("t.bed", "chr20:1-5\n", "is not bed in line 1: 'chr20:1-5'"),
        ("t.bed", "\n", "holds no intervals"),
        ("t.bed", "", "is empty (0 bytes)"),
        (
            "t.txt",
            "chr20\t0\t5\n",
            "must end in what it is, as GATK expects: .bed, .interval_list, .list, .intervals",
        ),
        ("t.interval_list", "@HD\tVN:1.6\nchr20\t1\t500\t+\tx\n", None),
        ("t.interval_list", "chr20\t0\t5\t+\tx\n", f"{OUTSIDE} chr20 of 500 bases in line 1"),
        ("t.list", "chr20\nchr20:7\nchr20:1-1,00\n", None),
        ("t.list", "chr21:200-301\n", f"{OUTSIDE} chr21 of 300 bases in line 1"),
        ("t.intervals", "chr20 1 5\n", "is not intervals in line 1: 'chr20 1 5'"),
    ],
)
def test_intervals(project, name, content, fault):
    project.write(name, content)
    assert project.errors(intervals=name) == ([f"config: intervals {name} {fault}"] if fault else [])


COLUMN = "has no ploidy, a whole number from 1, in column"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("p.bed", "track name=x\nchr20\t0\t500\t1\n", None),
        ("p.bed", "chr20\t0\t500\t1\nchr21\t0\t5\n", f"{COLUMN} 4 of line 2"),
        ("p.bed", "chr20\t0\t500\t0\n", f"{COLUMN} 4 of line 1"),
        ("p.bed", "chr20\t0\t500\tX\n", f"{COLUMN} 4 of line 1"),
        ("p.bed", "chrX\t0\t5\t1\n", f"names contig chrX {LACKS}"),
        ("p.bed", "chr20\t0\t501\t1\n", f"{OUTSIDE} chr20 of 500 bases in line 1"),
        ("p.bed", "", "is empty (0 bytes)"),
        ("p.interval_list", "@HD\tVN:1.6\nchr20\t1\t500\t+\t1\n", None),
        ("p.interval_list", "chr20\t1\t500\t+\tx\n", f"{COLUMN} 5 of line 1"),
        ("p.list", "chr20\n", "must end in what it is, as GATK expects: .bed, .interval_list"),
    ],
)
def test_ploidy_regions(project, name, content, fault):
    project.write(name, content)
    project.write("samples.tsv", "sample_name\tsex\nS1\tmale\n")
    assert project.errors(ploidy_regions=name) == ([f"config: ploidy_regions {name} {fault}"] if fault else [])
    by_sex = project.errors(ploidy_regions={"male": name, "female": ""})
    assert by_sex == ([f"config: ploidy_regions.male {name} {fault}"] if fault else [])


@pytest.mark.parametrize(
    ("samples", "fault"),
    [
        ("sample_name\tsex\nS1\tfemale\n", None),
        ("sample_name\nS1\n", "has no sex, by which ploidy_regions names male, female: give one in the column sex"),
        (
            "sample_name\tsex\nS1\t\n",
            "has no sex, by which ploidy_regions names male, female: give one in the column sex",
        ),
        ("sample_name\tsex\nS1\tmal\n", "sex 'mal' has no ploidy_regions; did you mean male?"),
        ("sample_name\tsex\nS1\tX0\n", "sex 'X0' has no ploidy_regions; ploidy_regions names male, female"),
    ],
)
def test_a_sample_whose_ploidies_are_not_known_is_refused(project, samples, fault):
    project.write("samples.tsv", samples)
    project.write("p.bed", "chr20\t0\t500\t1\n")
    lines = [f"samples.tsv line 2: sample S1: {fault}"] if fault else []
    assert project.errors(ploidy_regions={"male": "p.bed", "female": ""}) == lines
    assert project.errors(ploidy_regions="p.bed") == []


@pytest.mark.parametrize("policy", ["stop", "stop_on_quality"])
def test_a_sex_that_no_contig_tells_of_is_said_before_the_run_where_it_decides_the_ploidy(project, policy):
    project.write("p.bed", "chr20\t0\t500\t1\n")
    project.write("samples.tsv", "sample_name\tsex\nS1\tmale\n")

    def warned(sex_contigs=(), sex="male"):
        config = project.config | {"ploidy_regions": {sex: "p.bed"}, "samples": "samples.tsv"}
        config |= {"failed_samples": policy, "qc": {"sex_contigs": list(sex_contigs)}}
        cohort = tables.read_cohort(config, SCHEMAS)
        output = []
        errors = inputs.check(cohort.config, cohort.units, warn=output.append, sex_contigs=lambda contigs: [])
        return (output, errors) if policy == "stop" else (errors, output)

    ((line,), rest) = warned()
    assert line.startswith("config: ploidy_regions go by the sex, which cannot be checked: no contigs of ") and not rest
    assert warned(sex="queen") == ([], []), "it is no sex that depth tells of"
    assert warned(["chr20", "chr21"]) == ([], [])
    (lacking,) = [line for lines in warned(["chr20", "chrY"]) for line in lines]
    assert re.match(r"config: qc\.sex_contigs names chrY, which \S+ lacks \(it has chr20, chr21\)", lacking)
    assert "must name two contigs, X and then Y" in " ".join(project.errors(qc={"sex_contigs": ["chr20"]}))


def test_gatk_3_knows_no_ploidy_regions(project):
    assert project.errors(ploidy_regions="p.bed", gatk="gatk3") == [
        "config: ploidy_regions: GATK 3 knows no regions of other ploidy: set gatk: gatk4, or leave ploidy_regions out"
    ]


def alt_lines(project, *names, **reference):
    """Errors, and warnings, about a reference with ALT contigs of these names."""
    project.write("genome.fa", "".join(f">{name}\nACGT\n" for name in ("chr20", *names)))
    project.write("dbsnp.vcf", vcf("chr20"))
    output = []
    cohort = tables.read_cohort(project.config | {"reference": {"fasta": "genome.fa", **reference}}, SCHEMAS)
    return inputs.check(cohort.config, cohort.units, warn=output.append), output


@pytest.mark.parametrize("names", [("chr20_KI270_alt",), ("HLA-A*01:01",)])
def test_alt_contigs_without_an_alt_file_are_warned_of(project, names):
    errors, (warning,) = alt_lines(project, *names)
    assert errors == []
    assert f"genome.fa has 1 ALT contigs ({names[0]}), but there is no genome.fa.alt: " in warning
    for there in ("genome.fa.alt", "genome.fa.64.alt"):
        project.write(there, f"@SQ\tSN:x\n{names[0]}\t0\tchr20\t1\n")
        assert alt_lines(project, *names) == ([], [])
        Path(there).unlink()


def test_a_reference_without_alt_contigs_is_not_warned_of(project):
    assert alt_lines(project, "chr21", "chrUn_decoy") == ([], [])


@pytest.mark.deep
@pytest.mark.parametrize(("end", "more"), [("\n", " made up"), ("\n", ""), ("\r\n", "")])
@pytest.mark.parametrize("par", ["acgt", "N", "n"])
def test_pseudoautosomal_regions_of_y_that_are_not_masked_are_warned_of(project, monkeypatch, par, end, more):
    """By an index; of compressed files nothing is warned."""
    monkeypatch.setattr(inputs, "PARS_OF_Y", {400: ((100, 160), (300, 360))})
    y = "N" * 100 + (par * 60)[:60] + "ACGT" * 35 + (par * 60)[:60] + "N" * 40
    contigs = {"chr20": "ACGTA" * 101, "chrX": "ACGTG" * 200, "chrY": y, "chrY_random": "A" * 400}
    records = [
        f">{name}{more}{end}" + "".join(f"{s[at : at + 60]}{end}" for at in range(0, len(s), 60))
        for name, s in contigs.items()
    ]

    def write(*records):
        project.write("genome.fa", "".join(records))
        offset, rows = 0, []
        for record in records:
            head, _, _ = record.partition("\n")
            name, length = head.split()[0][1:], len("".join(record.split("\n")[1:]).replace("\r", ""))
            rows.append(f"{name}\t{length}\t{offset + len(head) + 1}\t60\t{60 + len(end)}\n")
            offset += len(record)
        project.write("genome.fa.fai", "".join(rows))

    write(*records)
    project.write("dbsnp.vcf", vcf("chr20"))

    def warned(fasta="genome.fa"):
        output = []
        cohort = tables.read_cohort(project.config | {"reference": {"fasta": fasta}}, SCHEMAS)
        assert inputs.check(cohort.config, cohort.units, warn=output.append) == []
        return output

    found = warned()
    assert len(found) == (par == "acgt")
    for line in found:
        assert "genome.fa has bases in the pseudoautosomal regions of chrY, which X has, too: reads" in line
    Path("genome.fa.gz").write_bytes(gzip.compress(Path("genome.fa").read_bytes()))
    assert warned("genome.fa.gz") == []
    write(*(record.replace(f">chrY{more}{end}", f">Y{more}{end}") for record in records))
    assert len(warned()) == (par == "acgt"), "it is known by its length"


def test_of_a_named_index_its_own_alt_file_counts(project):
    for suffix in ("amb", "bwt", "pac", "sa"):
        project.write(f"index.{suffix}", "x")
    project.write("index.ann", "8 2 11\n0 chr20 (null)\n0 4 0\n0 chr1_alt (null)\n4 4 0\n")
    project.write("genome.fa.alt", "chr1_alt\t0\tchr20\t1\n")
    assert "there is no index.alt" in alt_lines(project, "chr1_alt", bwa_index="index")[1][0]
    project.write("index.alt", "chr1_alt\t0\tchr20\t1\n")
    assert alt_lines(project, "chr1_alt", bwa_index="index") == ([], [])


def test_an_alt_file_of_another_genome_is_refused(project):
    project.write("genome.fa.alt", "alt9\t0\tchr20\t1\n")
    assert alt_lines(project, "chr1_alt")[0] == [
        "config: reference genome.fa.alt names no contig of genome.fa: take the one of this genome, or remove it"
    ]


def test_missing_intervals_and_jar(project):
    assert project.errors(intervals="no.bed", gatk="gatk3", gatk3_jar="no.jar") == [
        "config: gatk3_jar no.jar does not exist",
        "config: intervals no.bed does not exist",
    ]


# --- cost, real data ---


@pytest.mark.deep
def test_a_hundred_samples_of_four_lanes_take_little_time(project):
    rows = []
    for sample in range(100):
        for lane in range(4):
            names = [f"{sample}_{lane}_{mate}.fq.gz" for mate in (1, 2)]
            for mate, name in enumerate(names, 1):
                project.write(name, gzip.compress(project.reads[mate], 1))
            rows.append(f"S{sample}\tL{lane}\t{names[0]}\t{names[1]}\n")
    project.write("samples.tsv", "sample_name\n" + "".join(f"S{sample}\n" for sample in range(100)))
    project.write("units.tsv", "sample_name\tunit_name\tfq1\tfq2\n" + "".join(rows))
    start = time.process_time()
    assert project.errors() == []
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["germline_chr20", "germline_chr22"])
def test_real_data_is_good(project, name):
    data = ROOT.parent / "shared/data" / name
    if not data.is_dir():
        pytest.skip(f"../shared/data/{name} is absent")
    first = sorted(data.glob("reads/*_R1.fastq.gz"))
    rows = [f"S1\tL{number}\t{path}\t{str(path).replace('_R1.', '_R2.')}\n" for number, path in enumerate(first)]
    project.write("units.tsv", "sample_name\tunit_name\tfq1\tfq2\n" + "".join(rows))
    (fasta,) = data.glob("*.fa.gz")
    known = [str(path) for path in sorted(data.glob("known_sites/*.vcf.gz"))]
    assert project.errors(reference={"fasta": str(fasta)}, known_sites=known) == []
