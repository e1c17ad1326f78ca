"""Simulated faults, each named by exactly its sample and cause, by the real tools.

Alignments are simulated, not reads: what maps them and what calls them has tests of its own, and takes longer.
"""

import csv
import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import wrong_samples
from conftest import Cohort, random_sequence, sample_pairs, tiny_cohort, write_fastq

pytestmark = pytest.mark.e2e

LENGTHS = {"chr1": 150_000, "chrX": 40_000, "chrY": 20_000}
SNP_EVERY, READ, FRAGMENT, COVERAGE = 50, 100, 300, 30
RULES = ("reference", "n_free_intervals", "indexed_vcf", "samtools_stats", "depth", "contamination", "lanes")
RULES += ("quality_gate",)
RULES += ("list_files", "identity", "quality")
TABLE = "results/qc/samples.tsv"
# sample: sex in the sheet and of the reads, whose genotypes, depth, copies of each pair, share of reads that are MALE's
FEMALE, MALE, HALF, COPIED, OTHER_SEX, MIXED, AGAIN = "FEMALE", "MALE", "HALF", "COPIED", "OTHER_SEX", "MIXED", "AGAIN"
LANES = "LANES"  # whose third lane is another woman's
SWAPPED_A, SWAPPED_B = "SWAPPED_A", "SWAPPED_B"
PEOPLE = {
    FEMALE: ("female", "XX", 1, COVERAGE, 1.0, 0.0),
    MALE: ("male", "XY", 2, COVERAGE, 1.0, 0.0),
    HALF: ("male", "XY", 3, 0.45 * COVERAGE, 1.0, 0.0),
    COPIED: ("female", "XX", 4, COVERAGE, 2.5, 0.0),
    OTHER_SEX: ("male", "XX", 5, COVERAGE, 1.0, 0.0),
    MIXED: ("female", "XX", 6, COVERAGE, 1.0, 0.03),
    AGAIN: ("female", "XX", 1, COVERAGE, 1.0, 0.0),
    LANES: ("female", "XX", 7, COVERAGE, 1.0, 0.0),
    SWAPPED_A: ("male", "XY", 10, COVERAGE, 1.0, 0.0),
    SWAPPED_B: ("male", "XY", 9, COVERAGE, 1.0, 0.0),
}
STRANGER = 8
# whose genotypes an array knows: all but those of one sample, and somebody's besides
KNOWN = {name: person for name, (_, _, person, *_) in PEOPLE.items() if name != AGAIN}
KNOWN |= {SWAPPED_A: 9, SWAPPED_B: 10, "an earlier sample": STRANGER}
# samples of a panel
CAPTURED, UNCAPTURED, DIMERS = "CAPTURED", "UNCAPTURED", "DIMERS"
PANEL, TARGETS, DEPTH, SHARE_OF_DIMERS = {"chr1": 12_000}, [(2000, 2400), (8000, 8320)], 160, 0.25
ADAPTERS = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT"
PSC = "PSC\t0\t{}\t100\t60\t120\t120\t60\t20\t30.0\t5\t0\t0\t0\n"


class Genome:
    """Contigs, and SNPs of chr1 with their frequencies."""

    def __init__(self) -> None:
        draw = random.Random(5)
        self.contigs = {name: random_sequence(length, seed) for seed, (name, length) in enumerate(LENGTHS.items())}
        chr1 = self.contigs["chr1"]
        self.snps = [
            (place, chr1[place], draw.choice([base for base in "ACGT" if base != chr1[place]]), draw.choice([0.2, 0.4]))
            for place in range(1000, LENGTHS["chr1"] - 1000, SNP_EVERY)
        ]

    def haplotypes(self, person: int) -> list[str]:
        """chr1 twice."""
        draw, copies = random.Random(person), []
        for _ in range(2):
            bases = list(self.contigs["chr1"])
            for place, _, alt, frequency in self.snps:
                if draw.random() < frequency:
                    bases[place] = alt
            copies.append("".join(bases))
        return copies

    def vcf(self, path: Path) -> None:
        contigs = [f"##contig=<ID={name},length={length}>" for name, length in LENGTHS.items()]
        info = '##INFO=<ID=AF,Number=A,Type=Float,Description="frequency">'
        rows = [f"chr1\t{at + 1}\t.\t{ref}\t{alt}\t.\tPASS\tAF={often}" for at, ref, alt, often in self.snps]
        head = ["##fileformat=VCFv4.2", info, *contigs, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
        path.write_text("\n".join([*head, *rows]) + "\n")

    def known_genotypes(self, path: Path) -> None:
        """Of KNOWN, at each second SNP, and at a place that is none of the common sites."""
        gt = '##FORMAT=<ID=GT,Number=1,Type=String,Description="genotype">'
        copies = [self.haplotypes(person) for person in KNOWN.values()]
        lines = ["##fileformat=VCFv4.2", gt, "##contig=<ID=chr1>"]
        lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *KNOWN]))
        lines.append("\t".join(["chr1", "500", ".", "A", "C", ".", ".", ".", "GT", *("0/1" for _ in KNOWN)]))
        for place, ref, alt, _ in self.snps[::2]:
            genotypes = (f"{int(one[place] == alt)}/{int(other[place] == alt)}" for one, other in copies)
            lines.append("\t".join(["chr1", str(place + 1), ".", ref, alt, ".", ".", ".", "GT", *genotypes]))
        path.write_text("\n".join(lines) + "\n")
        run("bgzip", path)


def fragments(genome: Genome, person: int, sex: str, coverage: float, seed: int) -> list[tuple[str, int, str]]:
    """(contig, place, bases) of fragments."""
    draw, found = random.Random(seed), []
    sources = [("chr1", copy) for copy in genome.haplotypes(person)]
    sources += [(f"chr{name}", genome.contigs[f"chr{name}"]) for name in sex]
    for contig, sequence in sources:
        for _ in range(round(coverage / 2 * len(sequence) / (2 * READ))):
            start, length = draw.randrange(len(sequence) - 2 * FRAGMENT), FRAGMENT + draw.randint(-50, 50)
            found.append((contig, start + 1, sequence[start : start + length]))
    return found


def write_bam(
    folder: Path,
    sample: str,
    of_lanes: list[list[tuple[str, int, str]]],
    lengths: Mapping[str, int] = LENGTHS,
    dimers: int = 0,
) -> None:
    """The final alignment of a sample, with its duplicates marked by the real tool; and pairs of adapters alone."""
    lines = ["@HD\tVN:1.6", *(f"@SQ\tSN:{name}\tLN:{length}" for name, length in lengths.items())]
    lanes = [f"{sample}.L{number}" for number in range(1, len(of_lanes) + 1)]
    lines += [f"@RG\tID:{lane}\tSM:{sample}\tLB:{sample}\tPL:ILLUMINA" for lane in lanes]
    drawn = [(lane, *fragment) for lane, found in zip(lanes, of_lanes, strict=True) for fragment in found]
    for number, (lane, contig, place, bases) in enumerate(drawn):
        end = f"{'I' * READ}\tRG:Z:{lane}\tMC:Z:{READ}M\tNM:i:0"
        size, mate = len(bases), place + len(bases) - READ
        lines.append(f"r{number}\t99\t{contig}\t{place}\t60\t{READ}M\t=\t{mate}\t{size}\t{bases[:READ]}\t{end}")
        lines.append(f"r{number}\t147\t{contig}\t{mate}\t60\t{READ}M\t=\t{place}\t-{size}\t{bases[-READ:]}\t{end}")
    for number in range(dimers):
        for flag, adapter in zip((77, 141), ADAPTERS, strict=True):
            end = f"{adapter:A<{READ}}\t{'I' * READ}\tRG:Z:{lanes[0]}"
            lines.append(f"d{number}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{end}")
    for name in ("mark_duplicates", "base_recalibration"):
        (folder / "results" / name).mkdir(parents=True, exist_ok=True)
    sorted_bam, final = folder / f"{sample}.bam", folder / f"results/base_recalibration/{sample}.bam"
    run("samtools", "sort", "-o", sorted_bam, "-", text="\n".join(lines) + "\n")
    told = run("sambamba", "markdup", "--tmpdir", folder, sorted_bam, final)
    (folder / f"results/mark_duplicates/{sample}.txt").write_text(told)
    final.with_name(f"{sample}.bam.bai").rename(final.with_suffix(".bai"))


def run(*words: str | Path, text: str | None = None) -> str:
    return subprocess.run(words, input=text, check=True, capture_output=True, text=True).stderr


def write_sample(genome: Genome, folder: Path, sample: str, seed: int) -> None:
    _, sex, person, coverage, copies, mixed = PEOPLE[sample]
    drawn = fragments(genome, person, sex, coverage * (1 - mixed), seed)
    if mixed:
        _, other_sex, other, *_ = PEOPLE[MALE]
        drawn += fragments(genome, other, other_sex, coverage * mixed, seed + 100)
    drawn += random.Random(seed).choices(drawn, k=round((copies - 1) * len(drawn)))
    write_bam(folder, sample, lanes_of(genome, drawn, sample, seed))


def lanes_of(
    genome: Genome, drawn: list[tuple[str, int, str]], sample: str, seed: int
) -> list[list[tuple[str, int, str]]]:
    """Each sample has two lanes; of LANES the fragments are of two, and a third one is another person's."""
    order = random.Random(seed).sample(drawn, len(drawn))
    if sample != LANES:
        return [order[::2], order[1::2]]
    third = len(order) // 3
    stranger = fragments(genome, STRANGER, "XX", COVERAGE / 3, seed + 100)
    return [order[:third], order[third : 2 * third], stranger]


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Cohort:
    folder, genome = tmp_path_factory.mktemp("faulty"), Genome()
    fasta = "".join(f">{name}\n{sequence}\n" for name, sequence in genome.contigs.items())
    (folder / "genome.fa").write_text(fasta)
    genome.vcf(folder / "common.vcf")
    genome.known_genotypes(folder / "known.vcf")
    cohort = Cohort(folder, {"reference": {"fasta": "genome.fa"}, "known_sites": ["common.vcf"]})
    cohort.config |= {"common_sites": "common.vcf", "calling": "joint", "scatter": "none"}
    # of a small genome, depth that is drawn makes outliers
    cohort.config["qc"] = {"known_genotypes": "known.vcf.gz", "thresholds": {"outlier_z": {}}}
    first, second = sample_pairs(genome.contigs["chr1"], 2, seed=1)
    for seed, sample in enumerate(PEOPLE, 10):
        write_sample(genome, folder, sample, seed)
        files = {
            "fq1": write_fastq(folder / f"{sample}_1.fq", first),
            "fq2": write_fastq(folder / f"{sample}_2.fq", second),
        }
        cohort.add_unit(sample, "L1", **files)
        cohort.sexes[sample] = PEOPLE[sample][0]
    statistics = folder / "results/bcftools_stats/all_records"
    statistics.mkdir(parents=True)
    for path in (statistics, statistics.parent):
        (path / "cohort.txt").write_text("".join(map(PSC.format, PEOPLE)))
    (folder / "results/filtered_alone").mkdir()
    (folder / "results/filtered_alone/cohort.tsv").write_text("SNP_SOR3\t0\t100\n")
    ran = cohort.snakemake("--notemp", "--allowed-rules", *RULES, "--", TABLE)
    assert ran.exit_code == 0, ran.output
    return cohort


def rows(cohort: Cohort) -> dict[str, dict[str, str]]:
    with (cohort.folder / TABLE).open() as file:
        return {row["sample_name"]: row for row in csv.DictReader(file, delimiter="\t")}


@pytest.mark.long
def test_each_fault_is_named_by_its_sample_and_cause_and_nothing_else_is(judged):
    found = {name: (row["verdict"], row["reason"]) for name, row in rows(judged).items()}
    causes = {
        name: (verdict, [part.split(" ")[0] for part in reason.split("; ")])
        for name, (verdict, reason) in found.items()
    }
    assert causes == {
        FEMALE: ("warn", ["same"]),
        MALE: ("pass", [""]),
        HALF: ("fail", ["coverage"]),
        COPIED: ("fail", ["duplicates"]),
        OTHER_SEX: ("fail", ["sex"]),
        MIXED: ("warn", ["contamination"]),
        AGAIN: ("warn", ["same"]),
        LANES: ("fail", ["lanes", "contamination"]),
        SWAPPED_A: ("fail", ["its"]),
        SWAPPED_B: ("fail", ["its"]),
    }
    assert found[FEMALE][1] == f"same person as {AGAIN}" and found[AGAIN][1] == f"same person as {FEMALE}"
    assert found[LANES][1].startswith(
        f"lanes of another person, with the share of their reads that differ: {LANES}.L3 (0.3"
    )
    assert found[OTHER_SEX][1].startswith("sex male in the sheet, XX by depth (")
    own = r"with its own known ones -?0\.[01]\d at \d{4} sites\)"
    for one, other in ((SWAPPED_A, SWAPPED_B), (SWAPPED_B, SWAPPED_A)):
        assert re.fullmatch(rf"its genotypes are those of {other} \(kinship 0\.(49|50), {own}", found[one][1])


@pytest.mark.long
@pytest.mark.faults  # a row of the fault table each
@pytest.mark.parametrize("case", wrong_samples.COHORT, ids=lambda case: case.id)
def test_each_fault_is_in_the_table(judged, record_property, case):
    row = rows(judged)[case.sample]
    record_property("case", case.id)
    record_property("seen", case.seen(row["verdict"], row["reason"]))


@pytest.mark.long
def test_the_figures_are_those_that_were_simulated(judged):
    table = rows(judged)
    assert float(table[MIXED]["contamination"]) == pytest.approx(0.03, abs=0.01)
    assert table[MIXED]["contamination_by"] == "common_sites"
    assert float(table[COPIED]["duplicates"]) == pytest.approx(0.6, abs=0.03)
    assert float(table[HALF]["coverage"]) / float(table[MALE]["coverage"]) == pytest.approx(0.45, abs=0.03)
    assert float(table[MALE]["insert_size"]) == pytest.approx(FRAGMENT, abs=5) and table[MALE]["read_length"] == str(
        READ
    )
    assert float(table[FEMALE]["share_1x"]) == pytest.approx(1 - LENGTHS["chrY"] / sum(LENGTHS.values()), abs=0.01)
    assert [table[name]["sex_found"] for name in (FEMALE, MALE)] == ["XX", "XY"]
    assert [table[MALE][name] for name in ("snps", "indels", "ti_tv", "het_hom")] == ["180", "20", "2", "2"]
    assert table[MALE]["optical_duplicates"] == table[MALE]["on_target"] == "", "what is not known is no zero"


@pytest.mark.long
def test_a_wrong_sex_ends_before_calling_where_it_decides_the_ploidy(judged):
    (judged.folder / "male.bed").write_text("chrX\t0\t40000\t1\n")
    sexed = judged.with_config(ploidy_regions={"male": "male.bed", "female": ""})
    paths = {sample: f"results/sex_check/{sample}.tsv" for sample in (MALE, FEMALE, HALF, OTHER_SEX)}
    ran = sexed.snakemake("--keep-going", "--retries", "0", "--allowed-rules", "sex_check", "--", *paths.values())
    assert ran.exit_code != 0
    made = [sample for sample, path in paths.items() if (judged.folder / path).exists()]
    assert made == [MALE, FEMALE, HALF], "coverage is no matter here"
    assert f"error: {OTHER_SEX}: sex male in the sheet, XX by depth (" in ran.output
    assert "(ploidy_regions in the config)" in ran.output
    # a Y of too few bases, as one of an unknown name
    bases = judged.folder / "results/reference/n_free_intervals.bed"
    known = bases.read_text()
    bases.write_text(known.replace("\t20000\n", "\t9000\n"))
    for policy, code in (("stop", 0), ("drop_on_quality", 1)):
        ran = sexed.with_config(failed_samples=policy).snakemake(
            "--retries", "0", "--allowed-rules", "sex_check", "--", paths[MALE]
        )
        assert (ran.exit_code != 0) == code, ran.output
    assert (
        f"error: {MALE}: sex male in the sheet, not known by depth: no contigs with reads are known as X" in ran.output
    )
    bases.write_text(known)


def test_novel_snps_are_those_without_an_identifier_of_dbsnp(tmp_path):
    cohort = tiny_cohort(tmp_path, ("S1",), lanes=1)
    cohort.config["dbsnp"] = "known.vcf"
    head = ["##fileformat=VCFv4.2", "##contig=<ID=chr1>", '##FILTER=<ID=bad,Description="">']
    head += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="">']
    head += ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1"]
    calls = [
        ("rs1", "PASS", "0/1"),
        (".", "PASS", "0/1"),
        (".", "bad", "0/1"),
        ("rs2", ".", "1/1"),
        ("rs3", "PASS", "0/1"),
    ]
    lines = [f"chr1\t{at}\t{name}\tA\tC\t9\t{kept}\t.\tGT\t{call}" for at, (name, kept, call) in enumerate(calls, 50)]
    vcf = tmp_path / "results/hard_filter/S1.vcf.gz"
    vcf.parent.mkdir(parents=True)
    (tmp_path / "calls.vcf").write_text("\n".join([*head, *lines]) + "\n")
    run("bcftools", "view", "-Oz", "-o", vcf, tmp_path / "calls.vcf")
    paths = [f"results/bcftools_stats/{of}S1.txt" for of in ("", "novel/")]
    ran = cohort.snakemake("--allowed-rules", "bcftools_stats", "--", *paths)
    assert ran.exit_code == 0, ran.output
    found = [
        line.split("\t")[4:6]
        for path in paths
        for line in (tmp_path / path).read_text().splitlines()
        if line[:4] == "PSC\t"
    ]
    assert found == [["1", "3"], ["0", "1"]], "of those that pass 4, of which 1 is novel"


@pytest.mark.parametrize("config", [{"ploidy_regions": "once.bed"}, {"extra": {"haplotype_caller": "-ploidy 1"}}])
def test_haploid_and_polyploid_calls_are_counted_and_what_is_not_known_of_them_is_no_zero(tmp_path, config):
    """SNPs: two transitions, of which one is filtered, and a transversion; an insertion; ten more are REF."""
    cohort = tiny_cohort(tmp_path, ("H", "T"), lanes=1)
    cohort.config |= {"known_sites": ["known.vcf"], "dbsnp": "known.vcf", "calling": "joint"} | config
    (tmp_path / "once.bed").write_text("chr1\t40\t60\t1\nchr1\t40\t70\t1\n")
    head = ["##fileformat=VCFv4.2", "##contig=<ID=chr1>", '##FILTER=<ID=bad,Description="">']
    head += [
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
        '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="">',
    ]
    head += ['##INFO=<ID=AF,Number=A,Type=Float,Description="">']
    head += ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tH\tT"]
    calls = [
        ("rs1", "A", "G", "PASS", "1", "0/0/0/1"),
        (".", "A", "G", "bad", "1", "1/1/1/1"),
        (".", "A", "C,T", "PASS", "1", "0/2/2/2"),
        ("rs2", "A", "AT", "PASS", "1", "0/0/1/1"),
        ("rs3", "A", "*,T", "PASS", "1", "0/0/0/0"),
        *[(".", "A", "T", "PASS", "0", "0/0/0/0")] * 10,
    ]
    lines = [
        f"chr1\t{at}\t{name}\t{ref}\t{alts}\t9\t{kept}\tAF=0.5\tGT:AD\t{one}:1,20\t{four}:9,11"
        for at, (name, ref, alts, kept, one, four) in enumerate(calls, 50)
    ]
    vcf = tmp_path / "results/hard_filter/cohort.vcf.gz"
    vcf.parent.mkdir(parents=True)
    (tmp_path / "calls.vcf").write_text("\n".join([*head, *lines]) + "\n")
    run("bcftools", "view", "-Oz", "-o", vcf, tmp_path / "calls.vcf")
    run("bcftools", "index", "--tbi", vcf)
    (tmp_path / "results/reference").mkdir()
    (tmp_path / "results/reference/called_intervals.bed").write_text("chr1\t0\t2000\t1\t2000\n")
    for kind in ("samtools_stats", "mark_duplicates", "depth", "depth/distribution"):
        for sample in ("H", "T"):
            path = tmp_path / f"results/{kind}/{sample}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n")
    rules = ("bcftools_stats", "filtered_alone", "haploid_calls", "call_genotypes", "list_files", "identity", "quality")
    ran = cohort.snakemake("--allowed-rules", *rules, "--", TABLE)
    assert ran.exit_code == 0, ran.output
    names = ("snps", "indels", "ti_tv", "snps_all", "ti_tv_all", "novel", "het_hom_all", "contamination", "same_person")
    found = {sample: [row[name] for name in names] for sample, row in rows(cohort).items()}
    assert found["H"] == ["2", "1", "1", "3", "2", "0.5", "", "", "not known"]
    assert found["T"] == ["2", "1", "1", "3", "2", "0.5", "2", "", "not known"]


@pytest.mark.long
def test_a_gate_stops_who_fails_and_says_why(judged):
    """Before joint calling, by alignments alone: so it knows of no relatives."""
    gated = judged.with_config(qc={}, failed_samples="stop_on_quality")
    gates = [f"results/quality_gate/{sample}.tsv" for sample in (FEMALE, HALF, OTHER_SEX)]
    ran = gated.snakemake("--keep-going", "--retries", "0", "--allowed-rules", *RULES, "--", *gates)
    assert ran.exit_code != 0
    assert [(judged.folder / path).exists() for path in gates] == [True, False, False]
    assert f"error: {HALF}: coverage " in ran.output
    assert f"error: {OTHER_SEX}: sex male in the sheet, XX by depth (" in ran.output


# ---- a panel ------------------------------------------------------------------------------------------


def drawn_from(sequence: str, regions: list[tuple[int, int]], depth: float, seed: int) -> list[tuple[str, int, str]]:
    """Fragments that lie about even over regions."""
    draw, found = random.Random(seed), []
    for start, end in regions:
        places = range(max(0, start - FRAGMENT), min(end, len(sequence) - 2 * FRAGMENT))
        for _ in range(round(depth * len(places) / (2 * READ))):
            place, length = draw.choice(places), FRAGMENT + draw.randint(-50, 50)
            found.append(("chr1", place + 1, sequence[place : place + length]))
    return found


@pytest.fixture(scope="module")
def panel(tmp_path_factory) -> Cohort:
    folder, sequence = tmp_path_factory.mktemp("panel"), random_sequence(PANEL["chr1"], seed=3)
    (folder / "genome.fa").write_text(f">chr1\n{sequence}\n")
    (folder / "targets.bed").write_text("".join(f"chr1\t{start}\t{end}\n" for start, end in TARGETS))
    cohort = Cohort(folder, {"reference": {"fasta": "genome.fa"}, "intervals": "targets.bed", "bqsr": "gatk"})
    cohort.config |= {"known_sites": ["known.vcf"], "failed_samples": "stop_on_quality"}
    (folder / "known.vcf").write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    reads = sample_pairs(sequence, 2, seed=1)
    for seed, sample in enumerate((CAPTURED, UNCAPTURED, DIMERS)):
        everywhere = drawn_from(sequence, [(0, len(sequence))], DEPTH * (1 if sample == UNCAPTURED else 0.02), seed)
        found = everywhere + ([] if sample == UNCAPTURED else drawn_from(sequence, TARGETS, DEPTH, seed + 10))
        dimers = round(len(found) * SHARE_OF_DIMERS / (1 - SHARE_OF_DIMERS)) if sample == DIMERS else 0
        write_bam(folder, sample, [found], PANEL, dimers)
        files = {f"fq{mate}": write_fastq(folder / f"{sample}_{mate}.fq", each) for mate, each in enumerate(reads, 1)}
        cohort.add_unit(sample, "L1", **files)
    return cohort


@pytest.fixture(scope="module")
def of_panel(panel) -> dict[str, tuple[str, str]]:
    """Verdict and reason of each sample, of gates: by alignments alone."""
    gates = {sample: f"results/quality_gate/{sample}.tsv" for sample in (CAPTURED, UNCAPTURED, DIMERS)}
    ran = panel.snakemake("--keep-going", "--retries", "0", "--allowed-rules", *RULES, "--", *gates.values())
    assert ran.exit_code != 0, ran.output
    lines = [path.read_text() for path in (panel.folder / "results/quality_gate").iterdir()]
    failed = set(re.findall(r"error: ([A-Z]+): (.*?) \(qc in the config\)", ran.output))
    return {name: (verdict, reason) for name, verdict, reason in (line.rstrip("\n").split("\t") for line in lines)} | {
        name: ("fail", reason) for name, reason in failed
    }


def test_a_failed_capture_and_adapter_dimers_are_named_and_nothing_else_is(of_panel):
    causes = {name: [part.split(" ")[0] for part in reason.split("; ")] for name, (_, reason) in of_panel.items()}
    assert causes == {
        CAPTURED: [""],
        UNCAPTURED: ["on_target"],
        DIMERS: ["adapter_dimers", "mapped", "properly_paired"],
    }
    of_target, of_adapters = (float(of_panel[name][1].split(" ")[1]) for name in (UNCAPTURED, DIMERS))
    assert of_target == pytest.approx(sum(end - start for start, end in TARGETS) / PANEL["chr1"], abs=0.01)
    assert of_adapters == pytest.approx(SHARE_OF_DIMERS, abs=0.05)


@pytest.mark.faults  # a row of the fault table each
@pytest.mark.parametrize("case", wrong_samples.PANEL, ids=lambda case: case.id)
def test_each_fault_of_a_panel_is_in_the_table(of_panel, record_property, case):
    verdict, reason = of_panel[case.sample]
    record_property("case", case.id)
    record_property("seen", case.seen(verdict, reason))


def test_padding_is_called_in_and_samples_are_judged_by_the_targets_as_given(panel, of_panel):
    """Beside an exome's targets there is less depth: judged with them, a good sample fails."""
    made = [f"results/depth/{CAPTURED}.txt", f"results/depth/distribution/{CAPTURED}.txt"]
    before = [(panel.folder / path).read_text() for path in made]
    padded = panel.with_config(interval_padding=100)
    called = "results/reference/called_intervals.bed"
    ran = padded.snakemake("--allowed-rules", *RULES, "padded_intervals", "--", called, *made)
    assert ran.exit_code == 0, ran.output
    assert [(panel.folder / path).read_text() for path in made] == before
    bases = sum(int(line.split("\t")[4]) for line in (panel.folder / called).read_text().splitlines())
    assert bases == sum(end - start + 200 for start, end in TARGETS)
    gate = f"results/quality_gate/{CAPTURED}.tsv"
    ran = padded.snakemake("--allowed-rules", *RULES, "padded_intervals", "--", gate)
    assert ran.exit_code == 0, ran.output
    assert (panel.folder / gate).read_text() == f"{CAPTURED}\tpass\t\n"
