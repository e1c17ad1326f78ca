"""Figures of RNA-Seq samples: what reads lie on, what expression tells of a sample beside the others."""

import json
import random
from pathlib import Path

import pytest
from conftest import ROOT, script

features, expression = (script(ROOT / f"workflow/scripts/tuxedo/{name}.py") for name in ("read_features", "expression"))
figures, verdicts = (script(ROOT / f"workflow/scripts/quality/{name}.py") for name in ("rna_figures", "verdicts"))
COLUMNS = verdicts.read_columns(ROOT / "workflow/scripts/quality/tuxedo.tsv")


def exon(contig: str, start: int, end: int, strand: str, gene: str, more: str = "", transcript: str = "T") -> str:
    attributes = f'gene_id "{gene}"; transcript_id "{transcript}{gene}"; {more}'
    return f"{contig}\tx\texon\t{start}\t{end}\t.\t{strand}\t.\t{attributes}\n"


GENES = [
    exon("chr1", 101, 400, "+", "G1"),
    exon("chr1", 601, 900, "+", "G1"),
    exon("chr1", 601, 650, "+", "G1", transcript="short"),
    exon("chr1", 851, 1000, "-", "G2"),
    exon("chr1", 2001, 2500, "+", "R", 'gene_biotype "rRNA";'),
    exon("chrM", 1, 500, "+", "M"),
]


# ---- reads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (("chr1", 100), ("intergenic", "")),
        (("chr1", 101), ("exons", "G1")),
        (("chr1", 500), ("introns", "")),
        (("chr1", 620), ("exons", "G1")),
        (("chr1", 870), ("exons", "")),
        (("chr1", 950), ("exons", "G2")),
        (("chr1", 1001), ("intergenic", "")),
        (("chr1", 2100), ("rrna", "R")),
        (("chrM", 9), ("mitochondria", "M")),
        (("chrM", 900), ("mitochondria", "")),
        (("chr9", 9), ("intergenic", "")),
    ],
)
def test_what_a_place_is(place, found):
    feature, gene = features.Genes(GENES).at(*place)
    assert (feature, gene.partition("\t")[0]) == found


def test_the_place_within_the_longest_transcript():
    longest = features.Genes(GENES).longest
    g1, g2 = (next(each for name, each in longest.items() if name.startswith(gene)) for gene in ("G1", "G2"))
    assert (g1.length, g1.share(101), g1.share(601), g1.share(500)) == (600, 0.0, 0.5, None)
    assert g2.share(851) == 1.0


@pytest.mark.parametrize(
    ("cigar", "place"), [("100M", 150), ("50M300N50M", 450), ("10S40M5D40M20S", 145), ("20S", 100)]
)
def test_the_middle_of_the_aligned_bases(cigar, place):
    assert features.middle(100, cigar) == place


def sam(number: int, flag: int, place: int, cigar: str = "100M", mate: int = 0, tags: str = "NH:i:1") -> str:
    return f"r{number}\t{flag}\tchr1\t{place}\t60\t{cigar}\t=\t{mate}\t0\t*\t*\t{tags}\n"


def sample_of(lines: list[str]) -> dict:
    sample = features.SampleReads(features.Genes(GENES), 1)
    for line in lines:
        sample.add(line)
    return sample.figures(["chr1", "chrM"])


def test_the_figures_of_a_library():
    """Three pairs of which two are one molecule, and a single read that is spliced and lies elsewhere, too."""
    pairs = [(1, 110, 250), (2, 110, 250), (3, 110, 260)]
    lines = [sam(number, 0x1 | 0x40, place, mate=mate) for number, place, mate in pairs]
    lines += [sam(number, 0x1 | 0x80 | 0x10, mate, mate=place) for number, place, mate in pairs]
    lines.append(sam(4, 0, 351, "50M200N50M", tags="AS:i:0\tNH:i:3"))
    found = sample_of(lines)
    assert found["spliced"] == found["multi_mapped"] == pytest.approx(1 / 7)
    assert found["duplicates"] == pytest.approx(1 / 4) and found["library_size"] >= 3
    assert (found["exons"], found["introns"], found["rrna"], found["mitochondria"]) == (1.0, 0, 0, 0)
    assert "five_prime" not in found, "of one gene nothing is said"


def test_what_is_not_known_is_missing():
    bare = features.SampleReads(features.Genes(GENES[:2]), 1)
    assert bare.figures(["chr1"]) == {}
    bare.add(sam(1, 0, 200))
    assert not {"rrna", "mitochondria", "library_size", "five_prime"} & bare.figures(["chr1"]).keys()


@pytest.mark.parametrize("molecules", [1000, 50_000])
def test_the_size_of_a_library_is_that_of_which_it_was_drawn(molecules):
    draw, library = random.Random(1), features.Library()
    drawn = sorted(draw.randrange(molecules) for _ in range(20_000))
    for each in drawn:
        library.add(0, "chr1", str(each), "100M", "0")
    assert library.molecules == pytest.approx(molecules, rel=0.03)
    assert library.duplicates == pytest.approx(1 - len(set(drawn)) / len(drawn))


# ---- expression ---------------------------------------------------------------------------------------


ANNOTATION = [
    exon("chr1", 101, 200, "+", "A", 'gene_name "name of A";'),
    exon("chr1", 151, 300, "+", "A", 'gene_name "name of A";', transcript="U"),
    exon("chr2", 1, 100, "-", "A"),
    exon("chr1", 501, 600, "-", "B"),
]


def counted(tmp_path, **tables: str) -> dict[str, Path]:
    """The matrices of samples, whose tables have such lines."""
    (tmp_path / "genes.gtf").write_text("".join(ANNOTATION))
    for name, lines in tables.items():
        (tmp_path / f"{name}.tsv").write_text(f"gene_id\tfragments\n{lines}")
    (tmp_path / "files.txt").write_text("".join(f"{tmp_path / name}.tsv\n" for name in tables))
    outs = {name: tmp_path / f"gene_{name}.tsv" for name in ("counts", "tpm", "genes")}
    words = [word for name, path in outs.items() for word in (f"--{name}", str(path))]
    words += ["--annotation", str(tmp_path / "genes.gtf"), "--files", str(tmp_path / "files.txt")]
    assert expression.main(["matrices", *words]) == 0
    return outs


def test_counts_stand_as_they_are_and_tpm_add_up(tmp_path):
    outs = counted(tmp_path, S1="B\t10\nA\t3\n", EMPTY="A\t0\nB\t0\n")
    assert outs["counts"].read_text() == "gene_id\tS1\tEMPTY\nA\t3\t0\nB\t10\t0\n"
    _, *lines = (line.split("\t") for line in outs["tpm"].read_text().splitlines())
    assert [line[2] for line in lines] == ["0", "0"]
    assert [float(line[1]) for line in lines] == pytest.approx([1e6 * 0.01 / 0.11, 1e6 * 0.1 / 0.11], rel=1e-5)
    counts, tpm = figures.profiles(outs["counts"], outs["tpm"])
    assert list(counts["S1"]) == [10] and list(tpm["S1"]) == [float(lines[1][1])], "of A no sample has enough"
    assert outs["genes"].read_text().splitlines()[1:] == [
        "A\tname of A\tchr1:101-300,chr2:1-100\t300",
        "B\tB\tchr1:501-600\t100",
    ]


def test_a_table_of_another_annotation_is_refused(tmp_path):
    for lines in ("A\t3\n", "A\t3\nB\t3\nC\t3\n"):
        with pytest.raises(SystemExit, match="has other genes than the annotation: make results/gene_counts"):
            counted(tmp_path, S1=lines)


def test_the_table_of_a_sample_has_all_genes(tmp_path):
    """Without alignments featureCounts is not asked; a table that it left cut off is none."""
    exons, counts = tmp_path / "exons.saf", tmp_path / "counts"
    exons.write_text("".join(f"{line}\n" for line in expression.saf(ANNOTATION)))
    assert list(expression.table(exons, None)) == ["gene_id\tfragments", "A\t0", "B\t0"]
    head = "# featureCounts\nGeneid\tChr\tStart\tEnd\tStrand\tLength\ta.bam\n"
    lines = ["B\tchr1\t501\t600\t-\t100\t7\n", "A\tchr1;chr2\t1;1\t9;9\t+;-\t300\t3\n"]
    counts.write_text("".join([head, *lines]))
    assert list(expression.table(exons, counts))[1:] == ["A\t3", "B\t7"]
    for cut in (0, 1):
        counts.write_text("".join([head, *lines[:cut]]))
        with pytest.raises(SystemExit, match=f"featureCounts told of {cut} genes, of 2"):
            list(expression.table(exons, counts))


def test_an_exon_without_a_gene_is_of_one_that_has_its_transcripts_name():
    lines = ['chr1\tt\texon\t1\t9\t.\t+\t.\ttranscript_id "T 1"; gene_id "";\n', "chr1\tt\tCDS\t1\t9\t.\t+\t.\t\n"]
    assert list(expression.saf(lines))[1:] == ["T 1\tchr1\t1\t9\t+"]


def experiment(count: int, swapped: tuple[str, ...] = (), genes: int = 300, differing: int = 60):
    """Profiles of two conditions; a sample that is swapped has the profile of the other one."""
    draw = random.Random(4)
    base = [draw.uniform(3, 10) for _ in range(genes)]
    conditions = {f"{condition}{number}": condition for condition in "ab" for number in range(count)}
    found = {}
    for sample, condition in conditions.items():
        b = (condition == "b") != (sample in swapped)
        levels = [level + 2 * (b and gene < differing) for gene, level in enumerate(base)]
        found[sample] = [level + draw.gauss(0, 0.3) for level in levels]
    return found, conditions


def compared(found, conditions):
    """Profiles of logarithms, of genes that are counted well."""
    tpm = {sample: [2**value - 1 for value in values] for sample, values in found.items()}
    return figures.compared(tpm, {sample: [100.0] * len(values) for sample, values in found.items()}, conditions)


def test_two_samples_that_were_swapped_are_named_and_no_other():
    found, conditions = experiment(4, swapped=("a1", "b2"))
    figures_of = compared(found, conditions)
    assert {name: each["nearer_to"] for name, each in figures_of.items() if "nearer_to" in each} == {
        "a1": "b",
        "b2": "a",
    }
    assert figures_of["a0"]["correlation"] > figures_of["a1"]["correlation"]


@pytest.mark.parametrize(("count", "differing"), [(2, 60), (4, 0), (4, 60)])
def test_no_sample_is_nearer_where_none_was_swapped_or_nobody_can_tell(count, differing):
    """With two samples each, one of them swapped, both are as far from each other."""
    swapped = ("a1", "b1") if count == 2 else ()
    found, conditions = experiment(count, swapped, differing=differing)
    assert not [each for each in compared(found, conditions).values() if "nearer_to" in each]


def test_samples_without_a_condition_are_in_no_group():
    found, conditions = experiment(3)
    assert not [each for each in compared(found, dict.fromkeys(conditions, "")).values() if "correlation" in each]


def test_a_condition_is_compared_over_the_genes_that_it_has():
    """Chance rules those that the other condition has alone."""
    draw = random.Random(1)
    has = {"a": 40, "b": 80}
    conditions = {f"{condition}{number}": condition for condition in "ab" for number in range(2)}
    levels = [float(gene + 20) for gene in range(80)]
    counts = {
        sample: [level if gene < has[condition] else draw.choice([0.0, 9.0]) for gene, level in enumerate(levels)]
        for sample, condition in conditions.items()
    }
    found = figures.compared(counts, counts, conditions)
    assert all(each["correlation"] > 0.99 for each in found.values())


def test_few_genes_and_empty_samples_are_not_compared():
    counts = {"S1": [50.0] * 12, "S2": [60.0] * 12, "EMPTY": [0.0] * 12}
    assert set(figures.logarithms(counts, counts)) == {"S1", "S2"}
    assert figures.logarithms(counts, {name: values[:5] + [0.0] * 7 for name, values in counts.items()}) == {}


# ---- all files ----------------------------------------------------------------------------------------


def test_the_figures_of_all_files_by_their_folders(tmp_path):
    def write(name: str, text: str) -> tuple[str, object]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return "all" if name.startswith("expression") else "S1:a", path

    genes = "".join(f"G{number}\t{number}\n" for number in range(20))
    files = [
        write("align/S1.json", json.dumps({"reads": 10, "mapped": 9})),
        write("read_strands/S1.json", json.dumps({"declared": "fr-unstranded", "found": "", "sense": None})),
        write("read_features/S1.json", json.dumps({"exons": 0.9})),
        *(write(f"expression/gene_{name}.tsv", f"gene_id\tS1\n{genes}") for name in ("counts", "tpm")),
        write("skipped/S1.gtf", "".join(f"chr1\tCufflinks\texon\t1\t9\t0\t{strand}\t.\t\n" for strand in "+-")),
    ]
    assert figures.read(files) == {
        "S1": {
            **{"condition": "a", "reads": 10, "mapped": 0.9, "strandedness": "fr-unstranded", "exons": 0.9},
            **{"genes_detected": 10, "skipped_loci": 1},
        }
    }


def test_reads_of_which_it_is_not_known_what_is_mapped():
    assert figures.of_reads({"reads": 10}) == {"reads": 10}
    assert figures.of_reads({"reads": 0, "mapped": 0}) == {"reads": 0}


@pytest.mark.parametrize(
    ("declared", "found", "verdict"),
    [
        ("fr-firststrand", "fr-firststrand", "pass"),
        ("fr-firststrand", "", "pass"),
        ("fr-firststrand", "fr-secondstrand", "fail"),
        ("fr-firststrand", "fr-unstranded", "fail"),
        ("fr-unstranded", "fr-firststrand", "fail"),
        ("auto", "fr-firststrand", "pass"),
        ("auto", "", "pass"),
    ],
)
def test_a_library_of_another_type(declared, found, verdict):
    row = {"strandedness": declared, "strandedness_found": found, "sense": 0.5, "condition": ""}
    rows = {"S1": row}
    verdicts.judge_all(rows, COLUMNS, verdicts.kind_of(None, False), {})
    assert rows["S1"]["verdict"] == verdict


def test_a_library_of_another_type_than_most_is_wrong_where_reads_shall_tell_it():
    found = {"S1": "fr-firststrand", "S2": "fr-secondstrand", "S3": "", "S4": "fr-firststrand"}
    rows = {
        sample: {"strandedness": "auto", "strandedness_found": each, "sense": 0.99, "condition": ""}
        for sample, each in found.items()
    }
    verdicts.judge_all(rows, COLUMNS, verdicts.kind_of(None, False), {})
    assert {sample: row["reason"] for sample, row in rows.items() if row["verdict"] != "pass"} == {
        "S2": "strandedness fr-firststrand of most samples, fr-secondstrand by reads (99% on the gene's strand)"
    }


def test_each_figure_has_its_column():
    made = {"skipped_loci", "reads", "mapped", "strandedness", "strandedness_found", "sense", "genes_detected"}
    made |= {"rrna", "mitochondria", "exons", "introns", "intergenic", "spliced", "multi_mapped", "five_prime"}
    made |= {"duplicates", "library_size", "correlation", "nearer_to", "condition"}
    made |= {"trimmed_reads", "trimmed_bases"}
    assert {column.name for column in COLUMNS} == made | {"sample_name", "verdict", "reason"}


def test_of_alignments_alone_nothing_is_known_of_expression(tmp_path):
    (tmp_path / "read_features").mkdir()
    path = tmp_path / "read_features/S1.json"
    path.write_text('{"exons": 0.9}')
    assert figures.read([("S1:a", path)]) == {"S1": {"condition": "a", "exons": 0.9}}


def test_what_trimming_took_of_all_lanes_is_a_share_of_the_sample(tmp_path):
    lanes = {"L1": (100, 90), "L2": (300, 210)}
    for lane, (found, kept) in lanes.items():
        path = tmp_path / f"trim/align/{lane}.json"  # a sample that is called as a folder of others
        path.parent.mkdir(parents=True, exist_ok=True)
        counts = {when: {"reads": count, "bases": 10 * count} for when, count in (("found", found), ("kept", kept))}
        path.write_text(json.dumps(counts))
    read = figures.read([("S1:a", tmp_path / f"trim/align/{lane}.json") for lane in lanes])
    assert read == {
        "S1": {"condition": "a", "trimmed_reads": pytest.approx(0.25), "trimmed_bases": pytest.approx(0.25)}
    }


def test_an_attribute_that_ends_in_another_name_is_not_that_one():
    """stringtie --merge adds ref_gene_id behind gene_id."""
    line = '1\tS\texon\t1\t9\t.\t+\t.\tgene_id  "M.1"; transcript_id "T1"; ref_gene_id "E1"; ref_gene_name "abc";\n'
    assert list(expression.read_exons([line])) == [("M.1", "M.1", "1", 1, 9, "+")]
    assert dict(features.ATTRIBUTE.findall(line.split("\t")[8])) == {"gene_id": "M.1", "transcript_id": "T1"}
