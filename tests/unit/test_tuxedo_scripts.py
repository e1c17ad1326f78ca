"""What the Tuxedo rules run beside the tools: annotations, strandedness, cuffdiff's tables."""

import gzip
import importlib.util
import io
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "resources" / "demo" / "tuxedo"))

from compare_expression import compare_expression  # noqa: E402

SCRIPTS = (
    "annotation",
    "design",
    "cuffdiff_tables",
    "skipped_loci",
    "strandedness",
    "library_type",
    "gene_table",
)


def load(name):
    spec = importlib.util.spec_from_file_location(f"tuxedo_{name}", ROOT / f"workflow/scripts/tuxedo/{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


annotation, design, expression, skipped_loci, strandedness, library_type, gene_table = map(load, SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_need_the_standard_library_alone(name):
    from test_architecture import imports

    assert imports(ROOT / f"workflow/scripts/tuxedo/{name}.py") <= sys.stdlib_module_names


# ---- annotation


def exon(contig, start, end, strand="+", feature="exon", attributes='gene_id "G"; transcript_id "T";'):
    return f"{contig}\tx\t{feature}\t{start}\t{end}\t.\t{strand}\t.\t{attributes}\n"


def test_annotation_reads_gzip_and_counts_exons_a_contig(tmp_path):
    path = tmp_path / "genes.gtf"  # the name does not say that it is compressed
    path.write_bytes(gzip.compress((exon("1", 1, 9) + exon("2", 1, 9) + exon("1", 20, 30)).encode()))
    assert annotation.read(str(path))[:2] == ("GTF", {"1": 2, "2": 1})


def test_lines_without_transcript_are_fine_where_they_are_no_exons(tmp_path):
    path = tmp_path / "genes.gtf"
    path.write_text(exon("1", 1, 30, feature="gene", attributes='gene_id "G";') + exon("1", 1, 9))
    assert annotation.read(str(path)).exons == {"1": 1}


def test_gff3_is_known_without_its_header(tmp_path):
    path = tmp_path / "genes.gff"
    path.write_text(exon("1", 1, 9, attributes="ID=e1;Parent=T"))
    assert annotation.read(str(path)).format == "GFF3"


def test_usable_lines_get_a_gene_name():
    lines = [
        exon("1", 1, 9, attributes='gene_id "G1"; transcript_id "T"; gene_name "abc";'),
        exon("1", 1, 9, attributes='gene_id "G2"; gene_symbol "def"; transcript_id "T";'),
        exon("1", 1, 9, attributes='gene_id "G3"; transcript_id "T"'),
        exon("2", 1, 9),
        exon("1", 1, 9, feature="start_codon"),
        "# comment\n",
    ]
    names = [annotation.attribute("gene_name", line) for line in annotation.usable(lines, {"1"}, {})]
    assert names == ["abc", "def", "G3"]


def test_a_transcript_on_two_contigs_or_strands_is_split_and_told(tmp_path):
    lines = [exon("1", 1, 9), exon("1", 20, 30), exon("2", 1, 9), exon("1", 50, 60, "-"), exon("2", 20, 30)]
    made = [annotation.attribute("transcript_id", line) for line in annotation.usable(lines, {"1", "2"}, {})]
    assert made == ["T", "T", "T_dup1", "T_dup2", "T_dup1"]
    path = tmp_path / "genes.gtf"
    path.write_text("".join(lines))
    _, (warning,) = annotation.compare(annotation.read(str(path)), ["1", "2"], "genome.fa")
    assert warning.startswith("has 1 transcripts on several contigs or strands under one name (T): ")


def test_two_places_of_a_transcript_on_a_contig_are_told_and_long_introns_are_not(tmp_path):
    def named(name, start, number=""):
        number = f' exon_number "{number}";' if number else ""
        return exon("1", start, start + 9, attributes=f'gene_id "G"; transcript_id "{name}";{number}')

    blocks = [named(f"U{number}", 1) + named(f"U{number}", 900_000) for number in range(20)]
    again = [named("A", 1), named("B", 9), named("A", 90_000)]
    numbered = [named("N", 1, 1), named("N", 50_000, 2), named("N", 99_000, 1)]
    in_order = [named(name, start) for start in (1, 90_000) for name in ("P", "Q", "R")]
    for text, found in ((blocks, ()), (blocks + again, ("A",)), (numbered, ("N",)), (in_order, ())):
        path = tmp_path / "genes.gtf"
        path.write_text("".join(text))
        assert annotation.read(str(path)).repeated == found


def test_genes_are_masked_by_their_biotype(monkeypatch, capsys):
    kinds = {"gene_biotype": "rRNA", "gene_type": "Mt_rRNA", "gene_source": "rRNA"}
    lines = [exon("1", 1, 9, attributes=f'gene_id "G"; {name} "{value}";') for name, value in kinds.items()]
    for biotypes, found in ((["rRNA", "Mt_rRNA"], lines[:2]), (["lncRNA"], [])):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(lines)))
        assert annotation.main(["masked", *biotypes]) == (not found)
        out, error = capsys.readouterr()
        assert (out, bool(error)) == ("".join(found), not found)


def test_start_sites_are_seen_where_an_annotation_has_them(tmp_path):
    path = tmp_path / "genes.gtf"
    for attributes, seen in (('tss_id "S"; ', True), ("", False)):
        path.write_text(f'1\tS\texon\t1\t9\t.\t+\t.\tgene_id "G"; transcript_id "T"; {attributes}\n')
        assert annotation.read(str(path)).has_starts is seen


def test_each_condition_has_replicates_where_each_has_a_dispersion_of_its_own():
    config = {"stop_after": "none", "contrasts": [], "cuffdiff": {"dispersion_method": "per-condition"}}
    (error,) = design.errors(config, {}, {"a": ["A1"], "b": ["B1", "B2"]})
    assert error.startswith(
        "samples.tsv: condition a has one replicate: dispersion method per-condition takes two or more"
    )
    assert design.errors(config, {}, {"a": ["A1", "A2"], "b": ["B1", "B2"]}) == []
    config["cuffdiff"]["dispersion_method"] = "pooled"
    assert design.errors(config, {}, {"a": ["A1"], "b": ["B1", "B2"]}) == []


def test_a_gff3_gene_lends_its_name():
    lines = ["##gff-version 3\n", exon("1", 1, 9, feature="gene", attributes="ID=gene:G;Name=my%20gene\n").rstrip()]
    lines += [exon("1", 1, 9, feature="mRNA", attributes="ID=T;Parent=gene:G;Name=T")]
    names = annotation.gene_names(lines)
    assert names == {"gene:G": "my gene"}
    (line,) = annotation.usable([exon("1", 1, 9, attributes='transcript_id "T"; gene_id "gene:G";')], {"1"}, names)
    assert annotation.attribute("gene_name", line) == "my gene"


def test_attributes_are_told_apart_by_their_whole_name():
    assert annotation.attribute("gene_id", 'ref_gene_id "no"; gene_id "yes";') == "yes"


def test_splice_sites_are_the_bases_beside_introns_from_0():
    lines = [
        exon("1", 101, 200),
        exon("1", 301, 400),
        exon("1", 301, 400, attributes='gene_id "G"; transcript_id "U";'),
        exon("1", 101, 200, attributes='gene_id "G"; transcript_id "U";'),
        exon("1", 403, 500),  # a gap of two bases is no intron
    ]
    assert annotation.splice_sites(lines) == [("1", 199, 300, "+")]


# ---- design


def test_a_condition_is_refused_whose_files_are_longer_than_an_argument():
    config = {"stop_after": "visualize", "contrasts": [], "cuffdiff": {"dispersion_method": "pooled"}}
    counted, few = "results/quantify/", f"A{'n' * 61}"

    def errors(last: str) -> list[str]:
        groups = {"a": [*(f"{few}{number:04}" for number in range(1480)), last], "b": ["B1"]}
        found = design.errors(config, {}, groups, counted=counted)
        with nullcontext() if not found else pytest.raises(OSError, match="Argument list too long"):
            subprocess.run(["true", ",".join(f"{counted}{sample}.cxb" for sample in groups["a"])], check=True)
        return found

    room = design.MOST_BYTES - len(f"{counted}.cxb") - 1480 * len(f"{counted}{few}0001.cxb,")
    assert errors("n" * room) == []
    (line,) = errors("n" * (room + 1))
    assert line == (
        "samples.tsv: condition a: the names of its 1481 samples are too long together: cuffdiff takes their files as "
        "one argument, of 131072 bytes here, and Linux 131071 at most; shorten the names, or set stop_after: quantify"
    )


@pytest.mark.parametrize(
    ("contrasts", "errors"),
    [
        ([["a", "b"], ["b", "a"]], []),
        ([["a", "d"]], ["d is no condition of the samples, which are of a, b, b_vs_c, a_vs_b, c"]),
        ([["a", "a"]], ["a is compared with itself: name two conditions"]),
        ([["a", "b_vs_c"], ["a_vs_b", "c"]], ["two of them would be called a_vs_b_vs_c: rename a condition"]),
    ],
)
def test_contrasts_are_of_two_conditions_and_have_names_of_their_own(contrasts, errors):
    config = {"stop_after": "visualize", "contrasts": contrasts, "cuffdiff": {"dispersion_method": "pooled"}}
    groups = {name: [f"{name}1", f"{name}2"] for name in ("a", "b", "b_vs_c", "a_vs_b", "c")}
    assert design.errors(config, {}, groups) == [f"config: contrasts: {line}" for line in errors]


def test_of_each_contrast_it_is_told_whether_there_are_replicates():
    groups = {"a": ["A1"], "b": ["B1"], "c": ["C1", "C2"]}
    config = {"stop_after": "visualize", "cuffdiff": {"dispersion_method": "pooled"}}
    assert [
        line.removeprefix("samples.tsv: ").partition(" has")[0]
        for line in design.warnings(config | {"contrasts": []}, groups)
    ] == ["condition a", "condition b"]
    (line,) = design.warnings(config | {"contrasts": [["a", "b"]]}, groups)
    assert line.startswith("samples.tsv: no condition of a and b has replicates")


# ---- strandedness

GENES = [exon("1", 1, 1000), exon("1", 2001, 3000, "-"), exon("1", 2500, 2600)]


def sam(flag, place):
    return f"r\t{flag}\t1\t{place}\t60\t50M\n"


@pytest.mark.parametrize(
    ("flag", "place", "sense"),
    [
        (0, 10, [True]),
        (16, 10, [False]),
        (0, 2100, [False]),
        (16, 2100, [True]),
        (0x80 | 16, 10, [True]),  # the second mate of a fragment that lies on the gene's strand
        (0x40 | 16, 10, [False]),
        (0, 2550, []),  # genes on both strands
        (0, 1500, []),  # none
    ],
)
def test_side_of_a_read(flag, place, sense):
    assert list(strandedness.sides([sam(flag, place)], strandedness.one_sided(GENES))) == sense


@pytest.mark.parametrize(
    ("sense", "total", "found"),
    [
        (990, 1000, "fr-secondstrand"),
        (10, 1000, "fr-firststrand"),
        (520, 1000, "fr-unstranded"),
        (720, 1000, ""),
        (50, 50, ""),
    ],
)
def test_verdict(sense, total, found):
    assert strandedness.verdict(sense, total) == found


def record(declared, found, reads=900, sense=0.01):
    return {"declared": declared, "found": found, "reads": reads, "sense": sense}


@pytest.mark.parametrize(
    ("of_sample", "library"),
    [
        (record("auto", "fr-firststrand"), "fr-firststrand"),
        (record("fr-firststrand", "fr-firststrand"), "fr-firststrand"),
        (record("fr-secondstrand", "", 3, 1.0), "fr-secondstrand"),  # too few reads to contradict it
        (record("fr-secondstrand", "", 900, 0.72), "fr-secondstrand"),
    ],
)
def test_library_type_of_a_sample(of_sample, library):
    assert library_type.library("S1", of_sample) == library


@pytest.mark.parametrize(
    ("of_sample", "error"),
    [
        (
            record("fr-unstranded", "fr-firststrand"),
            "sample S1: strandedness is fr-unstranded in the config, but 1% of its 900 reads in genes lie on the "
            "gene's strand, as in fr-firststrand libraries: correct it, or set strandedness: auto",
        ),
        (
            record("auto", "", 3, 1.0),
            "sample S1: its library type cannot be told: 100% of its 3 reads in genes lie on the gene's strand, which "
            "is too few, or neither half of them nor nearly all or none: set strandedness, or leave the sample out "
            "(leave_out)",
        ),
        (
            record("auto", "", 900, 0.72),
            "sample S1: its library type cannot be told: 72% of its 900 reads in genes lie on the gene's strand, which "
            "is too few, or neither half of them nor nearly all or none: set strandedness, or leave the sample out "
            "(leave_out)",
        ),
    ],
)
def test_a_library_type_that_reads_contradict_or_do_not_tell_is_refused(of_sample, error):
    with pytest.raises(SystemExit) as raised:
        library_type.library("S1", of_sample)
    assert str(raised.value) == f"error: {error}"


def test_samples_of_different_libraries_are_named():
    records = {f"S{number}": record("auto", "fr-firststrand") for number in range(9)}
    assert library_type.libraries(records) == "fr-firststrand"
    with pytest.raises(SystemExit) as raised:
        library_type.libraries(records | {"X.1": record("auto", "fr-unstranded", sense=0.5)})
    assert str(raised.value) == (
        "error: samples of different library types are not compared: 9 are fr-firststrand by their reads, but X.1 "
        "(fr-unstranded): leave those out (leave_out), or run them apart"
    )


# ---- loci that are passed over

SKIPPED = """\
chr1\tCufflinks\texon\t6001\t8000\t0\t+\t.\tgene_id "mask_1"; transcript_id "mask_id1/+";
chr1\tCufflinks\texon\t6001\t8000\t0\t-\t.\tgene_id "mask_1"; transcript_id "mask_id1/-";
"""
# as cuffdiff writes them of CXB files: a gene that was skipped has HIDATA a replicate, and LOWDATA in the test
COMPARED = {
    "gene_exp.diff": """\
test_id\tgene_id\tgene\tlocus\tsample_1\tsample_2\tstatus\tvalue_1
G1\tG1\tONE\tchr1:1000-3000\ta\tb\tOK\t9
G2\tG2\tTWO\tchr1:6000-8000\ta\tb\tLOWDATA\t0
G3\tG3\t-\tchr1:12000-14000\ta\tb\tFAIL\t0
G4\tG4\tFOUR\tchr1:15000-16000\ta\tb\tNOTEST\t0
""",
    "read_groups.info": """\
file\tcondition\treplicate_num\ttotal_mass
results/quantify/A.1.cxb\ta\t0\t1
results/quantify/A2.cxb\ta\t1\t1
results/quantify/B1.cxb\tb\t0\t1
""",
    "genes.read_group_tracking": """\
tracking_id\tcondition\treplicate\tFPKM\tstatus
G1\ta\t0\t9\tOK
G2\ta\t0\t0\tHIDATA
G2\ta\t1\t0\tHIDATA
G2\tb\t0\t5\tOK
G3\tb\t0\t0\tFAIL
""",
}


@pytest.fixture
def compared(tmp_path):
    for name, text in COMPARED.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_loci_that_are_passed_over_are_listed_counted_and_warned_of(compared):
    (compared / "skipped.gtf").write_text(SKIPPED)
    (compared / "none.gtf").write_text("")
    samples = {"A.1": str(compared / "skipped.gtf"), "A2": str(compared / "none.gtf"), "B1": str(compared / "none.gtf")}
    found, table, warnings = skipped_loci.report(samples, [compared], 1000)
    assert found == [
        ("assemble", "A.1", "", "chr1:6001-8000", "skipped"),
        ("differential_expression", "a vs b", "TWO", "chr1:6000-8000", "LOWDATA"),
        ("differential_expression", "a vs b", "G3", "chr1:12000-14000", "FAIL"),
        ("quantify", "A.1", "TWO", "chr1:6000-8000", "HIDATA"),
        ("quantify", "A2", "TWO", "chr1:6000-8000", "HIDATA"),
        ("quantify", "B1", "G3", "chr1:12000-14000", "FAIL"),
    ]
    assert table.splitlines() == [
        "sample_name\tnot assembled\tHIDATA\tLOWDATA\tFAIL",
        "A.1\t1\t1\t0\t0",
        "A2\t0\t1\t0\t0",
        "B1\t0\t0\t0\t1",
    ]
    many = "for max_bundle_frags (1000) fragments or more: raise that key where they matter, or mask them"
    listed = "; results/skipped_loci/skipped_loci.tsv names all"
    assert warnings == [
        f"Cufflinks assembled nothing of 1 locus (chr1:6001-8000) of A.1, {many}{listed}",
        f"Cuffquant counted nothing of 1 locus (TWO (chr1:6000-8000)) of A.1, A2, {many}{listed}",
        "Cuffdiff has no test of 2 loci (TWO (chr1:6000-8000), G3 (chr1:12000-14000)) of a vs b, which are HIDATA, "
        f"LOWDATA or FAIL in gene_exp.diff{listed}",
    ]


def test_what_was_not_looked_at_for_skipped_loci_is_empty(compared):
    (compared / "none.gtf").write_text("")
    _, table, warnings = skipped_loci.report({"A2": str(compared / "none.gtf")}, [], 1000)
    assert (table.splitlines()[-1], warnings) == ("A2\t0\t\t\t", [])
    _, table, _ = skipped_loci.report({"A2": "", "C1": ""}, [compared], 1000)
    assert table.splitlines()[1:] == ["A2\t\t1\t0\t0", "C1\t\t\t\t"], "C1 is in no contrast"


def test_a_sample_of_several_contrasts_is_counted_once(compared, tmp_path):
    other = shutil.copytree(compared, tmp_path / "other")
    tests = (other / "gene_exp.diff").read_text()
    (other / "gene_exp.diff").write_text(tests.replace("\ta\tb\t", "\ta\tc\t"))
    found, table, _ = skipped_loci.report({"A2": ""}, [compared, other], 1000)
    assert "A2\t\t1\t0\t0" in table
    assert [each.of for each in found if each.gene == "TWO"] == ["a vs b", "A.1", "A2", "a vs c"]


# ---- cuffdiff's tables


@pytest.fixture
def folder(tmp_path):
    """Whole tables of two genes and two conditions."""
    for level, features in expression.LEVELS.items():
        for kind in ("fpkm", "count", "read_group"):
            (tmp_path / f"{features}.{kind}_tracking").write_text("id\tfpkm\nG1\t1\nG2\t2\n")
        (tmp_path / f"{level}_exp.diff").write_text("id\tp\nG1\t1\nG2\t0.5\n")
    for table in ("splicing.diff", "promoters.diff", "cds.diff"):
        (tmp_path / table).write_text("id\tp\n")
    (tmp_path / "run.info").write_text("param\tvalue\nv\t1\n")
    (tmp_path / "read_groups.info").write_text("file\tcondition\nx\ta\n")
    return tmp_path


def test_whole_tables_pass(folder):
    expression.check(folder, 2)


@pytest.mark.parametrize(
    ("table", "content", "fault"),
    [
        ("gene_exp.diff", "", "gene_exp.diff is empty"),
        ("gene_exp.diff", "id\tp\nG1\t1\nG2\t0.", "gene_exp.diff is cut off in line 3"),
        ("gene_exp.diff", "id\tp\nG1\t1\nG2", "gene_exp.diff is cut off in line 3"),
        ("isoform_exp.diff", "id\tp\nG1\t1\n", "isoform_exp.diff has 1 rows, not 2 x 1"),
        ("genes.read_group_tracking", "id\tfpkm\nG1\t1\n", "genes.read_group_tracking has 1 rows, not 2 x 1"),
        ("splicing.diff", "id\tp\nG1", "splicing.diff is cut off in line 2"),
        ("run.info", "", "run.info is empty"),
        ("cds.fpkm_tracking", None, "cds.fpkm_tracking is missing"),
    ],
)
def test_broken_tables_fail_whatever_the_exit_code(folder, table, content, fault):
    if content is None:
        (folder / table).unlink()
    else:
        (folder / table).write_text(content)
    with pytest.raises(SystemExit) as refused:
        expression.check(folder, 2)
    assert str(refused.value).startswith("error: cuffdiff did not finish its tables")
    assert fault in str(refused.value)


def test_each_pair_of_conditions_is_expected(folder):
    with pytest.raises(SystemExit, match="has 2 rows, not 2 x 3"):
        expression.check(folder, 3)


# ---- found against true


def test_comparison_counts_found_missed_and_false(tmp_path):
    truth = tmp_path / "genes.tsv"
    truth.write_text(
        "gene_id\tcontrol_fragments\ttreated_fragments\tfold_change\n"
        "UP\t100.00\t400.00\t4.0000\n"
        "DOWN\t600.00\t100.00\t0.1667\n"
        "WRONG\t100.00\t800.00\t8.0000\n"
        "FAINT\t10.00\t80.00\t8.0000\n"
        "WEAK\t100.00\t200.00\t2.0000\n"
        "SAME\t100.00\t100.00\t1.0000\n"
        "SILENT\t0.00\t0.00\t1.0000\n"
    )
    rows = [("up", 2, "yes"), ("down,same", -2.6, "yes"), ("wrong", -3, "yes"), ("weak", 1, "yes")]
    rows += [("same", 0.1, "yes"), ("silent", 0, "no"), ("-", 1, "yes")]
    tests = tmp_path / "gene_exp.diff"
    lines = [f"XLOC_{number}\t{gene}\t{change}\t{sign}\n" for number, (gene, change, sign) in enumerate(rows)]
    tests.write_text("gene_id\tgene\tlog2(fold_change)\tsignificant\n" + "".join(lines))
    found = compare_expression(tests, truth)
    assert found.strong == ("down", "up", "wrong")
    assert found.found == ("down", "up")
    assert found.missed == ("wrong",)
    assert found.false == ("XLOC_6", "same")
    assert found.significant == 6


# ---- genes under the annotation's names


def assembled(locus, near, code="="):
    return {"gene_id": locus, "transcript_id": f"T_{locus}", "nearest_ref": near, "class_code": code}


ANNOTATED = [
    {"gene_id": gene, "transcript_id": transcript} for gene, transcript in (("A", "a1"), ("A", "a2"), ("B", "b"))
]


def test_a_locus_has_the_annotations_genes_whose_exons_its_transcripts_share():
    of_loci = [assembled("X1", "a1"), assembled("X1", "b", "j"), assembled("X1", "a2"), assembled("X2", "a1", "x")]
    assert gene_table.genes_of_loci(of_loci, ANNOTATED) == {"X1": ["A", "B"], "X2": []}


def test_genes_of_an_annotation_alone_are_themselves():
    assert gene_table.genes_of_loci(ANNOTATED, ANNOTATED) == {"A": ["A"], "B": ["B"]}


def test_the_table_of_genes_joins_tests_names_and_counts():
    test = dict.fromkeys(gene_table.OF_TESTS, "1") | {"gene_id": "X1", "locus": "chr1:1-9", "status": "OK"}
    new = test | {"gene_id": "X2"}
    genes = {"A": {"gene_name": "first"}, "B": {"gene_name": "second"}}
    counts = {"A": {"s1": "5", "s2": "6"}, "B": {"s1": "0", "s2": "1"}}
    head, *rows = gene_table.table([test, new], {"X1": ["A", "B"], "X2": []}, genes, counts, ["s1", "s2"])
    found = [
        [row[head.index(name)] for name in ("gene_id", "gene_name", "cuffdiff_id", "status", "s1", "s2")]
        for row in rows
    ]
    assert found == [
        ["A", "first", "X1", "OK", "5", "6"],
        ["B", "second", "X1", "OK", "0", "1"],
        ["", "", "X2", "OK", "", ""],
    ]
    assert {len(row) for row in rows} == {len(head)}
