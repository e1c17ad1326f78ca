"""Figures and verdicts of samples, from recorded outputs of the real tools (tests/golden/quality, of the demo)."""

import io
import json
import random
import re
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, script

from gpd.commands import run_display

FOLDER = ROOT / "workflow/scripts/quality"
figures, genotypes, haploid, identity, lanes, verdicts = (
    script(FOLDER / f"{name}.py") for name in ("figures", "genotypes", "haploid", "identity", "lanes", "verdicts")
)
COLUMNS = verdicts.read_columns(FOLDER / "germline.tsv")
RECORDED = ROOT / "tests/golden/quality"
CALLED = "chr1\t0\t60000\t1\t60000\nchr2\t0\t40000\t2\t40000\n"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def measured(targets: bool = False, called: str = CALLED) -> dict:
    """The figures of the recorded sample."""
    cohort = figures.CohortFigures(called, targets)
    for kind, file in (
        ("samtools_stats", "samtools_stats.txt"),
        ("mark_duplicates", "markdup.txt"),
        ("depth", "mosdepth.summary.txt"),
        ("distribution", "mosdepth.region.dist.txt"),
        ("contamination", "contamination.tsv"),
    ):
        cohort.add("DEMO01:male", kind, recorded(file))
    return cohort.samples["DEMO01"]


def thresholds() -> dict:
    """The defaults."""
    return verdicts.read_limits(FOLDER / "thresholds.tsv")


def judged(rows: dict, kind: str = "genome", **others) -> dict:
    verdicts.judge_all(rows, COLUMNS, kind, thresholds() | others)
    return {name: (row["verdict"], row["reason"]) for name, row in rows.items()}


# ---- figures ------------------------------------------------------------------------------------------


def test_the_figures_of_reads_and_depth():
    found = measured()
    assert found["reads"] == 21620 and found["mapped"] == pytest.approx(21496 / 21620)
    assert found["duplicates"] == pytest.approx(1724 / 21496)
    assert found["optical_duplicates"] == pytest.approx(1722 / 21496)
    assert (found["insert_size"], found["insert_size_mad"], found["read_length"]) == (380, 39, 150)
    assert found["gc"] == pytest.approx(0.41, abs=0.005)
    assert found["coverage"] == pytest.approx(29.37, abs=0.01) and found["coverage_median"] == 28
    assert found["share_20x"] == pytest.approx(0.9396, abs=0.0001)
    assert found["contigs"]["chr2"] > 1 > found["contigs"]["chr1"]
    assert found["contamination"] == pytest.approx(0.0256, abs=0.0001)


def base_content(dimers: float, adapter: str, cycles: int = 100) -> str:
    """Lines of samtools stats, of reads of which a share are dimers."""
    usual = {"A": 0.3, "C": 0.2, "G": 0.2, "T": 0.3}
    lines = []
    for cycle in range(cycles):
        own = adapter[cycle : cycle + 1] or "A"
        shares = [100 * ((1 - dimers) * usual[base] + dimers * (base == own)) for base in "ACGT"]
        lines.append("\t".join(["GCT", str(cycle + 1), *(f"{each:.2f}" for each in shares)]))
    return "\n".join(lines)


def test_what_trimming_took_of_all_lanes_is_a_share_of_the_sample():
    cohort = figures.CohortFigures(CALLED, targets=False)
    cohort.add("S1:male", "samtools_stats", recorded("samtools_stats.txt"))
    for found, kept in ((100, 90), (300, 210)):
        counts = {when: {"reads": count, "bases": 10 * count} for when, count in (("found", found), ("kept", kept))}
        cohort.add("S1:male", "trim", json.dumps(counts))
    assert cohort.samples["S1"]["trimmed_reads"] == pytest.approx(0.25)
    assert cohort.samples["S1"]["trimmed_bases"] == pytest.approx(0.25)


def test_the_counts_of_a_lane_lie_in_a_folder_of_its_sample():
    assert figures.kind_of(Path("results/trim/depth/L1.json")) == "trim"
    assert figures.kind_of(Path("results/depth/trim.txt")) == "depth"


@pytest.mark.parametrize("adapter", figures.ADAPTERS)
@pytest.mark.parametrize("dimers", [0.0, 0.02, 0.3])
def test_adapter_dimers_show_in_the_first_cycles(adapter, dimers):
    """What follows the adapter, here A, makes the share somewhat larger."""
    found = figures.samtools_stats(base_content(dimers, adapter))
    assert found == {"adapter_dimers": pytest.approx(dimers, abs=0.2 * dimers + 0.001)}


def test_other_first_bases_are_no_adapter_and_of_short_reads_nothing_is_known():
    """Of all reads the first 13 bases are a primer of a panel, or a transposase's site."""
    assert figures.adapter_dimers(base_content(1.0, "GTTCAAGCCTTGA")) < 0.01
    assert figures.adapter_dimers(base_content(0.3, figures.ADAPTERS[0], cycles=25)) is None
    assert figures.adapter_dimers("") is None


def test_what_is_not_known_is_missing():
    found = measured()
    assert not {"on_target", "fold_80", "x_copies", "sex_found", "het_balance", "same_person"} & found.keys()
    assert figures.duplicate_metrics(recorded("sambamba.txt")) == {}
    assert figures.samtools_stats("") == figures.duplicate_metrics("") == figures.depth("", {"chr1": 9}, True) == {}
    assert figures.distribution("", {}, 0, True) == {}


def test_of_targets_there_is_more():
    found = measured(targets=True)
    assert found["on_target"] == 1.0
    assert found["fold_80"] == pytest.approx(29.4 / 23, abs=0.03)


def test_runs_of_n_are_not_counted():
    """The same reads, of a genome of which half is N."""
    gaps = "chr1\t0\t60000\t1\t30000\nchr2\t0\t40000\t2\t20000\n"
    assert measured(called=gaps)["coverage"] == pytest.approx(2 * measured()["coverage"])


def test_shares_are_of_contigs_without_reads_too():
    """mosdepth leaves them out."""
    found = measured(called=CALLED + "chrY\t0\t300000\t3\t300000\n")
    assert found["share_1x"] == pytest.approx(0.25, abs=0.001)
    assert found["coverage"] == pytest.approx(29.37 / 4, abs=0.01) and found["coverage_median"] == 0


@pytest.mark.parametrize(
    ("depths", "sex"),
    [((15, 14), "XY"), ((30, 0), "XX"), ((31, 1), "XX"), ((15, 0), "X0"), ((30, 13), "XXY"), ((45, 0), "XXX")],
)
def test_the_sex_by_depth(depths, sex):
    called = {"chr1": 10**6, "chr2": 10**6, "chrX": 10**5, "chrY": 10**5}
    of_contigs = zip(called, (30, 30, *depths), strict=True)
    summary = "\n".join(["head", *(f"{name}_region\t9\t{depth * called[name]}\t1" for name, depth in of_contigs)])
    assert figures.depth(f"{summary}\ntotal_region\t9\t1\t1", called, False)["sex_found"] == sex


NAMES = [
    ("1", "X", "Y"),
    ("CM000663.2", "CM000685.2", "CM000686.2"),  # GRCh38
    ("NC_000001.10", "NC_000023.10", "NC_000024.9"),  # GRCh37
    ("NC_060925.1", "NC_060947.1", "NC_060948.1"),  # T2T-CHM13
    ("CP068277.2", "CP068255.2", "CP086569.2"),
    ("NC_000067.7", "NC_000086.8", "NC_000087.8"),  # GRCm39
    ("CM000994.3", "CM001013.3", "CM001014.3"),
]


@pytest.mark.parametrize("names", NAMES)
def test_the_sex_is_known_by_the_names_of_four_archives(names):
    """A male's X is no large contig of half the depth."""
    called = dict(zip(names, (10**6, 10**5, 10**5), strict=True))
    reads = "\n".join(f"{name}\t9\t{count}\t0" for name, count in zip(names, (9000, 450, 450), strict=True))
    found = figures.contig_reads(reads, called)
    assert found["sex_found"] == "XY" and [*found["contigs"]] == [names[0]]


def test_the_sex_is_known_by_contigs_that_the_user_names():
    called = {"a": 10**6, "b": 10**5, "c": 10**5}
    reads = "a\t9\t9000\t0\nb\t9\t450\t0\nc\t9\t900\t0"
    assert "sex_found" not in figures.contig_reads(reads, called)
    found = figures.contig_reads(reads, called, {"x": "c", "y": "b"})
    assert (found["sex_found"], found["x_copies"]) == ("XXY", pytest.approx(2))
    assert figures.sex_contigs(["chrX", "NC_000024.10", "a"]) == {"chrX": "x", "NC_000024.10": "y"}


@pytest.mark.parametrize("level", ["warn", "fail"])
def test_a_sex_that_decides_and_cannot_be_judged_is_said(level):
    reason = "sex Male in the sheet, not known by depth: no contigs with reads are known as X and Y; "
    reason += "qc.sex_contigs in the config names them"
    assert [*verdicts.sex_findings({"sex": "Male"}, level)] == [(level, reason)]
    assert [*verdicts.sex_findings({"sex": "queen"}, level)] == [], "a sex that no depth tells of"
    assert [*verdicts.sex_findings({"sex": "male"})] == [], "it decides nothing"


def test_the_tenth_chromosome_of_yeast_is_no_sex_chromosome():
    called = {"chrI": 10**6, "chrX": 10**6}
    assert "x_copies" not in figures.depth("h\nchrI_region\t9\t100\t1\ntotal_region\t9\t100\t1", called, False)


def test_the_sex_by_reads_of_the_index():
    called = {"chr1": 10**6, "chr2": 10**6, "chrX": 10**5, "chrY": 10**5}
    reads = zip(called.items(), (9000, 9100, 450, 440), strict=True)
    rows = (f"{name}\t{2 * bases}\t{mapped}\t3" for (name, bases), mapped in reads)
    found = figures.contig_reads("\n".join([*rows, "*\t0\t0\t99"]), called)
    assert found["sex_found"] == "XY" and found["x_copies"] == pytest.approx(1, abs=0.01)


def test_lanes_of_another_person_are_named():
    text = "lane\treads\tother_allele\nS1.L1\t900\t0.02500\nS1.L2\t90\t\nS1.L3\t900\t0.33000\n"
    assert figures.lanes(text) == {"other_lanes": "S1.L3 (0.330)"}
    assert figures.lanes("lane\treads\tother_allele\nS1.L1\t0\t\n") == {}
    rows = {"S1": {"sex": "", "other_lanes": "S1.L3 (0.330)"}}
    assert judged(rows)["S1"][0] == "fail"


def test_a_lane_is_held_against_the_others_where_they_are_homozygous():
    """Three lanes: REF alone, a heterozygous site that tells of none, ALT alone; the third one is another person's."""
    known = lanes.sites(["chr1\t5\tA\tC\n", "chr1\t6\tA\tC\n", "chr1\t7\tA\tC\n", "chr1\t9\tA\tCT\n"])
    assert len(known) == 3, "an indel is none"
    lines = [
        "chr1\t5\tA\tG,C\t20,0,0\t20,1,0\t0,0,20\n",
        "chr1\t6\tA\tC\t10,10\t10,10\t10,10\n",
        "chr1\t7\tA\tC\t0,20\t0,20\t15,5\n",
        "chr1\t8\tA\t<*>\t9\t9\t9\n",
        "chr1\t7\tA\t<*>\t.\t.\t.\n",
    ]
    assert lanes.compare(lanes.counts(lines, known), 3) == [(0, 0), (0, 0), (40, 35)]


def test_variants_of_each_sample_of_a_call_set():
    found = dict(figures.bcftools_stats(recorded("bcftools_stats.txt"), "_all", {}))
    assert found["DEMO01"]["snps_all"] == 97 + 229 and found["DEMO01"]["indels_all"] == 67
    assert found["DEMO01"]["ti_tv_all"] == pytest.approx(227 / 99)
    assert found["DEMO02"]["het_hom_all"] == pytest.approx(229 / 81)


@pytest.mark.parametrize(
    ("ref", "alt", "kind"),
    [
        *(("A", "G", "transitions"), ("t", "C", "transitions"), ("A", "C", "transversions"), ("AT", "A", "indels")),
        *(("AT", "GT", "transitions"), ("AT", "GC", ""), ("A", "*", ""), ("A", "<NON_REF>", ""), ("A", "AG", "indels")),
    ],
)
def test_the_kind_of_a_haploid_call(ref, alt, kind):
    assert haploid.kind_of(ref, alt) == kind


def test_filters_that_alone_take_many_variants_are_named():
    text = "SNP_SOR3\t24\t1000\nSNP_MQ40\t10\t1000\nINDEL_QD2\t0\t1000\n"
    assert figures.filtered_alone(text) == {"filtered_alone": "SNP_SOR3 (0.024)"}
    assert figures.filtered_alone("SNP_SOR3\t0\t0\n") == figures.filtered_alone("") == {}


def test_what_filters_of_a_joint_call_set_take_is_said_of_each_sample():
    cohort = figures.CohortFigures(CALLED, False)
    for name in ("A", "B"):
        cohort.add(f"{name}:", "mark_duplicates", "")
    cohort.add("A", "filtered_alone", "SNP_SOR3\t2\t100\n")
    assert [row.get("filtered_alone") for row in cohort.samples.values()] == ["SNP_SOR3 (0.020)", None]
    cohort.add("cohort", "filtered_alone", "SNP_QD2\t3\t100\n")
    assert [row["filtered_alone"] for row in cohort.samples.values()] == ["SNP_QD2 (0.030)"] * 2


def test_haploid_calls_of_unknown_kind_are_no_zero():
    """bcftools stats tells their number; what they are, haploid.py, if it was there."""
    line = "PSC\t0\tS1\t100\t30\t60\t60\t30\t2\t0\t0\t7\t5\t0\n"
    assert dict(figures.bcftools_stats(line, "", {})) == {"S1": {"het_hom": 2.0}}
    calls = ["S1\tPASS\t.\tA\tG\t1\n"] * 3 + ["S1\t.\trs1\tA\tT,AT\t2\n"] + ["S1\tbad\t.\tA\tC\t1\n"]
    counts = {of: more for _, of, more in figures.haploid_calls("\n".join(haploid.table(haploid.count(calls))))}
    assert counts["passed"] == {"transitions": 3, "transversions": 0, "indels": 1}
    assert (counts["novel"]["indels"], counts["all"]["transversions"]) == (0, 1)
    assert dict(figures.bcftools_stats(line, "", {"S1": counts["passed"]})) == {
        "S1": {"snps": 93, "indels": 3, "ti_tv": pytest.approx(63 / 30), "het_hom": 2.0}
    }


def test_the_share_of_novel_snps_is_of_those_that_pass():
    cohort = figures.CohortFigures(CALLED, False)
    for kind, snps in (("samtools_stats", None), ("bcftools_stats", 90), ("novel", 9)):
        line = f"PSC\t0\tS1\t100\t30\t{snps}\t60\t30\t2\t0\t0\t0\t0\t0\n"
        cohort.add(
            "S1:" if snps is None else "cohort", kind, "" if snps is None else line.replace("\t30\t90", "\t0\t90")
        )
    assert cohort.samples["S1"]["novel"] == pytest.approx((30 + 9) / 90)
    lacking = figures.CohortFigures(CALLED, False)
    lacking.add("S1:", "samtools_stats", "")
    lacking.add("cohort", "bcftools_stats", "PSC\t0\tS1\t100\t0\t90\t60\t30\t2\t0\t0\t0\t0\t0\n")
    assert "novel" not in lacking.samples["S1"], "without dbsnp"


# ---- genotypes and identity ---------------------------------------------------------------------------


def test_genotypes_by_reads():
    lines = [line.split("\t") for line in genotypes.pileups("DEMO01", RECORDED / "pileups.table")]
    assert lines[0] == ["contig", "position", "DEMO01"]
    assert [copies for *_, copies in lines[1:]] == ["1", *"000000000"]
    assert [genotypes.genotype_of(*counts) for counts in ((1, 20, 0), (3, 3, 0), (24, 5, 0), (20, 0, 5))] == list(
        "2..."
    )


def test_the_balance_of_alleles(monkeypatch, tmp_path):
    """Homozygous calls with 1% of REF reads, heterozygous ones with half; a site in so many is kept of both samples."""
    lines = [f"chr1\t{place}\t0/1:20,20\t1|1:1,99\n" for place in range(1000)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join([*lines, "chr1\t1900\t./.:.\t1/1:2,3\n"])))
    kept, balance = tmp_path / "kept", tmp_path / "balance"
    genotypes.calls(10, kept, balance, ["A", "B"])
    assert 70 < len(kept.read_text().splitlines()) < 130
    assert dict(figures.allele_balance(balance.read_text())) == {
        "A": {"het_balance": 0.5},
        "B": {"contamination": pytest.approx(0.03), "contamination_by": "homozygous_calls"},
    }


def people(count: int, sites: int) -> list[list[str]]:
    """Genotypes of a couple's children, and of strangers."""
    draw = random.Random(3)
    frequencies = [draw.uniform(0.1, 0.9) for _ in range(sites)]

    def parent():
        return [(int(draw.random() < often), int(draw.random() < often)) for often in frequencies]

    mother, father = parent(), parent()
    child = [(draw.choice(one), draw.choice(other)) for one, other in zip(mother, father, strict=True)]
    everybody = [mother, father, child, *(parent() for _ in range(count - 3))]
    return [[str(sum(pair)) for pair in person] for person in everybody]


def write(path, names, columns):
    rows = ["\t".join(["chr1", str(place), *row]) for place, row in enumerate(zip(*columns, strict=True))]
    path.write_text("\n".join(["\t".join(["contig", "position", *names]), *rows]) + "\n")
    return path


def test_a_contaminated_sample_is_no_relative_of_strangers(tmp_path):
    """It is heterozygous at many sites, and so shares most heterozygous sites of anybody."""
    one, other, *strangers = people(10, 4000)[3:]
    mixed = [a if a == b else "1" for a, b in zip(one, other, strict=True)]
    names = ["mixed", *(f"P{number}" for number, _ in enumerate(strangers))]
    everybody = identity.read([write(tmp_path / "all", names, [mixed, *strangers])], {})
    assert list(identity.related(everybody)) == []


@pytest.mark.parametrize("absent", [False, True])
def test_relatives_and_nobody_else(tmp_path, absent):
    """`absent`: call sets of one sample each, which list no site that is REF."""
    found = people(12, 3000)
    names = ["mother", "father", "child", *(f"P{number}" for number in range(9)), "again"]
    columns = [*found, found[5]]
    if absent:
        paths = []
        for name, column in zip(names, columns, strict=True):
            rows = [f"chr1\t{place}\t{copies}" for place, copies in enumerate(column) if copies != "0"]
            (tmp_path / name).write_text("\n".join([f"contig\tposition\t{name}", *rows]) + "\n")
            paths.append(tmp_path / name)
    else:
        paths = [write(tmp_path / "all", names, columns)]
    lines = [line.split("\t") for line in identity.related(identity.read(paths, {}))]
    assert {(one, other, relation) for one, other, _, relation, _ in lines} == {
        ("mother", "child", "first_degree"),
        ("father", "child", "first_degree"),
        ("P2", "again", "same_person"),
    }


def test_of_few_sites_nothing_is_said(tmp_path):
    column = people(3, 150)[0]
    assert list(identity.related(identity.read([write(tmp_path / "all", ["A", "B"], [column, column])], {}))) == []


def test_identity_is_not_known_of_calls_of_another_ploidy(tmp_path):
    """Sites that a call set lists without copies, as those of a man's X, are not REF."""
    one = people(4, 2000)[3]
    listed = [f"chr1\t{place}\t{copies}" for place, copies in enumerate(one) if copies != "0"]
    for name, more in (("A", []), ("B", [f"chr1\t{place}\t." for place in range(2000, 3000)])):
        (tmp_path / name).write_text("\n".join([f"contig\tposition\t{name}", *listed, *more]) + "\n")
    twos = [f"chr1\t{place}\t2" for place in range(2000, 3000)]
    (tmp_path / "C").write_text("\n".join(["contig\tposition\tC", *listed, *twos]) + "\n")
    (tmp_path / "D").write_text("\n".join(["contig\tposition\tD", *twos]).replace("\t2\n", "\t.\n") + "\n")
    samples = identity.read([tmp_path / name for name in "ABCD"], {})
    lines = [line.split("\t") for line in identity.related(samples)]
    assert ["B", "C", "0.500", "same_person"] in [line[:4] for line in lines]
    (unknown,) = identity.not_known(samples)
    cohort = figures.CohortFigures(CALLED, False)
    cohort.samples = {"D": {"sex": ""}}
    cohort.add("all", "identity", f"{identity.HEADER}\n{unknown}")
    assert cohort.samples["D"]["same_person"] == cohort.samples["D"]["first_degree"] == "not known"
    assert judged(cohort.samples)["D"] == ("pass", "")


def known_lines(names, columns, first=0):
    """As bcftools query has them, beginning with a site."""
    rows = list(enumerate(zip(*columns, strict=True)))[first:]
    genotypes = {"0": "0/0", "1": "1|0", "2": "1/1"}
    return iter(
        [
            "\t".join(names) + "\n",
            *("\t".join(["chr1", str(place), *map(genotypes.get, row)]) + "\n" for place, row in rows),
            "\t".join(["chr9", "7", *("1/1" for _ in names)]) + "\n",
        ]
    )


def known_as(path, samples: dict, known: dict, first: int = 0) -> dict:
    """What figures tells of each sample."""
    bits = {}
    everybody = identity.read([write(path, samples, samples.values())], bits)
    lines = identity.known_as(everybody, identity.read_known(known_lines(known, known.values(), first), bits))
    cohort = figures.CohortFigures(CALLED, False)
    cohort.samples = {name: {"sex": ""} for name in samples}
    cohort.add("all", "identity", "\n".join([identity.HEADER, *lines]))
    return cohort.samples


def test_swapped_samples_name_each_other_and_nobody_else(tmp_path):
    one, other, right, stranger, elsewhere, *_ = people(8, 2000)[3:]
    samples = {"A": one, "B B": other, "C": right, "D": stranger, "E": stranger}
    known = {"B B": one, "A": other, "C": right, "D": elsewhere, "twin of C": right}
    rows = known_as(tmp_path / "all", samples, known)
    found = judged(rows)
    assert found["A"][0] == "fail"
    own = r"with its own known ones -?0\.\d\d at 2000 sites\)"
    assert re.fullmatch(rf"its genotypes are those of B B \(kinship 0\.50, {own}", found["A"][1])
    assert found["B B"][0] == "fail" and found["B B"][1].startswith("its genotypes are those of A (kinship 0.50, ")
    assert found["D"][0] == "fail"
    assert re.fullmatch(rf"its genotypes are those of no known sample \(kinship {own}", found["D"][1])
    assert found["C"] == found["E"] == ("pass", "")
    assert (rows["C"]["known_as"], rows["C"]["own_kinship"]) == ("C", 0.5)
    assert "known_as" not in rows["D"] and not {"known_as", "own_kinship"} & rows["E"].keys(), "E is not known"


def test_a_panel_of_96_sites_tells_who_is_who_and_one_of_24_is_not_judged(tmp_path):
    one, other = people(5, 500)[3:]
    samples, known = {"A": one, "B": other}, {"A": other, "B": one}
    assert known_as(tmp_path / "all", samples, known, first=500 - 96)["A"]["known_as"] == "B"
    assert known_as(tmp_path / "all", samples, known, first=500 - 24)["A"] == {"sex": ""}


def test_nothing_is_known_without_known_genotypes(tmp_path):
    samples = identity.read([write(tmp_path / "all", ["A"], people(3, 200)[:1])], {})
    assert list(identity.known_as(samples, identity.read_known(iter([]), {}))) == []


# ---- verdicts -----------------------------------------------------------------------------------------


def rows(count: int, **changed) -> dict:
    """Samples that pass; the first one with what is changed."""
    base = {"coverage": 30.0, "duplicates": 0.1, "insert_size": 380.0, "sex": "", "snps": 1000}
    found = {f"S{number}": base | {"snps": 1000 + number % 5} for number in range(count)}
    found["S0"] |= changed
    return found


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, ("pass", "")),
        ({"duplicates": 0.3}, ("pass", "")),
        ({"duplicates": 0.3004}, ("warn", "duplicates 0.3004 is above 0.3 (gpd's limit)")),
        ({"coverage": 15.0}, ("pass", "")),
        ({"coverage": 14.99}, ("fail", "coverage 14.99 is below 15 (gnomAD v3's limit)")),
        ({"coverage": 14.999996}, ("fail", "coverage 14.999996 is below 15 (gnomAD v3's limit)")),
        ({"duplicates": 0.6}, ("fail", "duplicates 0.6 is above 0.5 (gpd's limit)")),
        ({"sex_found": "XX", "x_copies": 2.0, "y_copies": 0.0, "sex": "female"}, ("pass", "")),
        ({"sex_found": "XX", "x_copies": 2.0, "y_copies": 0.0, "sex": "queen"}, ("pass", "")),
        (
            {"sex_found": "XX", "x_copies": 2.0, "y_copies": 0.01, "sex": "Male"},
            ("fail", "sex Male in the sheet, XX by depth (2.00 copies of X, 0.01 of Y)"),
        ),
        (
            {"sex_found": "XXY", "x_copies": 2.0, "y_copies": 0.9, "sex": "male"},
            ("warn", "sex chromosomes XXY by depth (2.00 copies of X, 0.90 of Y)"),
        ),
        ({"contigs": {"chr21": 1.5, "chr1": 1.0}}, ("warn", "depth of chr21 is 1.50 times the usual")),
        (
            {"same_person": "S1", "contamination": 0.06},
            ("fail", "contamination 0.06 is above 0.05 (gnomAD's limit); same person as S1"),
        ),
    ],
)
def test_a_verdict_and_its_reason(changed, verdict):
    found = judged(rows(3, **changed))
    assert found.pop("S0") == verdict
    assert set(found.values()) == {("pass", "")}


def test_an_outlier_of_a_cohort_and_of_too_few():
    assert judged(rows(12, snps=2000))["S0"][1].startswith("snps 2000 is an outlier of the cohort (robust z +")
    assert judged(rows(9, snps=2000))["S0"] == ("pass", "")


def test_a_limit_of_the_configuration_is_said_to_be_that():
    own = verdicts.own_limits({"coverage": {"genome": {"warn": 35}}})
    assert judged(rows(3), **own)["S0"] == ("warn", "coverage 30 is below 35 (your limit)")


def test_a_threshold_that_is_taken_out_judges_nothing():
    assert judged(rows(3, coverage=1.0), coverage={})["S0"] == ("pass", "")


def test_depth_of_targets_is_held_against_the_cohort():
    even = {f"S{number}": {"contigs": {"chr1": 1.0, "chr19": 2.0}, "sex": ""} for number in range(12)}
    even["S3"]["contigs"] = {"chr1": 1.0, "chr19": 3.0}
    found = judged(even, "exome")
    assert {name: reason for name, (_, reason) in found.items() if reason} == {
        "S3": "depth of chr19 is 1.50 times the usual"
    }
    assert judged({"S1": {"contigs": {"chr1": 1.0, "chr19": 2.0}, "sex": ""}}, "exome")["S1"] == ("pass", "")


def test_each_threshold_is_of_a_figure_that_is_judged():
    every = COLUMNS + verdicts.read_columns(FOLDER / "tuxedo.tsv")
    judged_by = {column.name for column in every if column.threshold}
    assert set(thresholds()) == {*judged_by, verdicts.RATIO, verdicts.OUTLIER}


def test_the_kind_of_what_is_called():
    kinds = [verdicts.kind_of(*of) for of in ((3 * 10**9, False), (36 * 10**6, True), (10**5, True))]
    assert kinds == ["genome", "exome", "panel"]


def test_the_tables_have_a_row_a_sample(tmp_path):
    told = tmp_path / "figures.json"
    told.write_text(json.dumps({"called_bases": 100_000, "samples": {"DEMO01": measured()}}))
    paths = {name: tmp_path / name for name in ("table", "scores", "multiqc")}
    words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    given = [
        "--columns",
        str(FOLDER / "germline.tsv"),
        "--figures",
        str(told),
        "--limits",
        str(FOLDER / "thresholds.tsv"),
    ]
    assert verdicts.main(["table", *given, *words]) == 0
    header, row = (line.split("\t") for line in paths["table"].read_text().splitlines())
    assert header == [column.name for column in COLUMNS] and len(row) == len(header)
    assert dict(zip(header, row, strict=True))["reason"] == "contamination 0.025577 is above 0.02 (VerifyBamID's limit)"
    page = [line for line in paths["multiqc"].read_text().splitlines() if not line.startswith("#")]
    assert page[0].startswith("sample_name\tverdict\treason\t")
    assert "trimmed_reads" in header and "trimmed_reads" not in page[0], "a column that is empty for all"
    assert verdicts.main(["gate", *given]) == 0


def test_the_table_of_multiqc_says_how_it_is_shown():
    """MultiQC would sort by name, and show no table of more than 500 samples."""
    shown = [column for column in COLUMNS if column.shown]
    told = yaml.safe_load("\n".join(line.removeprefix("# ") for line in verdicts.page_header(shown)))
    assert told["pconfig"] == {"id": "samples_and_verdicts", "sort_rows": False, "no_violin": True}
    assert "Failures first" in told["description"]
    assert list(told["headers"]) == [column.name for column in shown]
    formats = {name: told["headers"][name].get("format", "{}") for name in told["headers"]}
    values = {"mapped": 0.99492, "mismatches": 0.0048334, "coverage": 18.379, "ti_tv": 2.0483, "verdict": "pass"}
    found = {name: formats[name].format(value) for name, value in values.items()}
    expected = {"mapped": "99.49%", "mismatches": "0.48%", "coverage": "18.4", "ti_tv": "2.05", "verdict": "pass"}
    assert found == expected
    assert told["headers"]["insert_size"]["title"] == "insert size"


def test_a_gate_names_the_sample_and_the_reason(capsys):
    assert verdicts.gate({"S1": {"verdict": "fail", "reason": "coverage 3 is below 15"}}, "qc") == 1
    assert capsys.readouterr().err == "error: S1: coverage 3 is below 15 (qc in the config)\n"


# ---- the end of a run ---------------------------------------------------------------------------------


def test_a_run_ends_with_the_samples_that_fail_and_warn(tmp_path):
    table = tmp_path / "samples.tsv"
    rows = [f"S{number}\twarn\tsame person as A[b]" for number in range(25)]
    table.write_text("\n".join(["sample_name\tverdict\treason", "OK\tpass\t", *rows, "X\tfail\tcoverage 3"]) + "\n")
    count, *named = run_display.verdict_lines(table)
    assert count == "quality: 1 of 27 samples pass, 1 fail, 25 warn"
    assert named[:2] == ["  fail: X: coverage 3", "  warn: S0: same person as A[b]"]
    assert named[20] == f"  and 6 more: {table}"
    assert "which-sample-is-wrong.md" in "".join(named[21:])
    assert run_display.verdict_lines(tmp_path / "none") == []


def test_a_run_whose_samples_all_pass_says_so_in_a_line(tmp_path):
    table = tmp_path / "samples.tsv"
    table.write_text("sample_name\tverdict\treason\nA\tpass\t\nB\tpass\t\n")
    assert run_display.verdict_lines(table) == ["quality: 2 of 2 samples pass"]
