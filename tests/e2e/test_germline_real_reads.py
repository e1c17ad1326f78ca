"""The germline pipeline with the real tools on real reads with truth."""

import csv
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, Ran, shared, snakemake

sys.path.insert(0, str(ROOT / "scripts" / "bench"))
from benches.filtering import takings

pytestmark = pytest.mark.e2e

CALLS = "results/hard_filter/cohort.vcf.gz"


def cohort_of(folder: Path, data: Path, fasta: str, sites: str, indels: str, **config: object) -> Cohort:
    """A cohort of the sample whose lanes lie in data/reads."""
    made = Cohort(
        folder,
        {
            "reference": {"fasta": str(data / fasta)},
            "known_sites": [str(data / "known_sites" / sites)],
            "known_indels": [str(data / "known_sites" / indels)],
            **config,
        },
    )
    for fq1 in sorted((data / "reads").glob("*_R1.fastq.gz")):
        sample, _, lane = fq1.name.removesuffix("_R1.fastq.gz").partition("_")
        made.add_unit(sample, lane, fq1=fq1, fq2=fq1.with_name(fq1.name.replace("_R1.", "_R2.")))
    return made


def concordance(folder: Path, calls: Path, truth: Path, regions: Path) -> dict[str, tuple[float, float]]:
    """Recall and precision of SNPs and indels, from GATK Concordance; both sides normalised first."""
    reference = folder / "results" / "reference" / "genome.fa"
    sides = {"calls": calls, "truth": truth}
    for name, vcf in sides.items():
        normal = ["bcftools", "norm", "--multiallelics", "-any", "-f", reference, "-O", "z", "-o"]
        subprocess.run([*normal, folder / f"{name}.vcf.gz", vcf], check=True, capture_output=True)
        subprocess.run(["bcftools", "index", "--tbi", folder / f"{name}.vcf.gz"], check=True)
    summary = folder / "concordance.tsv"
    compare = ["gatk", "Concordance", "-R", reference, "-L", regions, "--summary", summary]
    sides = ["--eval", folder / "calls.vcf.gz", "--truth", folder / "truth.vcf.gz"]
    subprocess.run([*compare, *sides], check=True, capture_output=True)
    with summary.open() as table:
        rows = csv.DictReader(table, delimiter="\t")
        return {row["type"]: (float(row["RECALL"]), float(row["PRECISION"])) for row in rows}


def assert_passes(cohort: Cohort) -> None:
    """No figure of the sample is beyond a threshold."""
    with (results(cohort) / "qc/samples.tsv").open(newline="") as table:
        (row,) = csv.DictReader(table, delimiter="\t")
    assert (row["sample_name"], row["verdict"], row["reason"]) == ("NA12878", "pass", "")
    assert float(row["adapter_dimers"]) < 0.01 and float(row["coverage"]) > 15


def reads_in(fastqs: list[Path]) -> int:
    return sum(gzip.decompress(fastq.read_bytes()).count(b"\n") // 4 for fastq in fastqs)


def primary_alignments(alignment: Path) -> int:
    count = ["samtools", "view", "-c", "-F", "0x900", alignment]
    return int(subprocess.run(count, check=True, capture_output=True, text=True).stdout)


def body(vcf: Path) -> list[str]:
    return [line for line in gzip.decompress(vcf.read_bytes()).decode().splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def platinum(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """NA12878 over 100 kb of chr20 at 52x, called jointly in intervals; what is temporary is kept."""
    data = shared("germline_chr20")
    cohort = cohort_of(
        tmp_path_factory.mktemp("chr20"),
        data,
        "chr20_1100kb.fa.gz",
        "HG002_only.sites.1100kb.vcf.gz",
        "HG002_only.indels.1100kb.vcf.gz",
        intervals=str(data / "truth" / "calling_region.1100kb.bed"),
        calling="joint",
        qc={"thresholds": {"coverage": {"panel": {"fail": 15}}}},  # regions of a genome, no panel
    )
    ran = cohort.snakemake("--notemp", CALLS)
    assert ran.exit_code == 0, ran.output
    return cohort


@pytest.mark.long
@pytest.mark.parametrize("choice", [{"bqsr": "gatk"}, {"bqsr": "none"}, {"quantize": [10, 20, 30]}], ids=str)
def test_accuracy_on_platinum_reads(
    platinum: Cohort, tmp_path: Path, figure: Callable[[str], None], choice: dict
) -> None:
    """Against GIAB inside its confident regions; each choice goes on from the same alignments of the reads."""
    data = shared("germline_chr20")
    shutil.copytree(platinum.folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    cohort = Cohort(tmp_path, platinum.config | choice, platinum.units)
    ran = cohort.snakemake("--notemp", CALLS, "results/qc/samples.tsv")
    assert ran.exit_code == 0, ran.output
    calls = results(cohort) / "hard_filter" / "cohort.vcf.gz"
    truth, regions = (
        data / "truth" / name for name in ("NA12878.truth.1100kb.vcf.gz", "NA12878.confident.10.0-10.1M.1100kb.bed")
    )
    figures = concordance(tmp_path, calls, truth, regions)
    for kind, (recall, precision) in figures.items():
        figure(f"germline_chr20, {choice}, {kind}: recall {recall:.4f}, precision {precision:.4f}")
    for line in takings(calls, truth, results(cohort) / "reference" / "genome.fa", "NA12878", regions):
        figure(f"germline_chr20, {choice}, {line}")
    snp_recall, snp_precision = figures["SNP"]
    assert snp_recall >= 0.99
    assert snp_precision >= 0.98
    assert min(figures["INDEL"]) >= 0.95
    assert_passes(cohort)
    step = "mark_duplicates" if choice.get("bqsr") == "none" else "base_recalibration"
    bam, cram = results(cohort) / step / "NA12878.bam", tmp_path / "NA12878.cram"
    assert bam.with_name(f"{bam.name}.bai").exists() or bam.with_suffix(".bai").exists()
    assert primary_alignments(bam) == reads_in(list((data / "reads").glob("*.fastq.gz")))
    subprocess.run(
        ["samtools", "view", "-C", "-T", results(cohort) / "reference/genome.fa", "-o", cram, bam], check=True
    )
    figure(f"germline_chr20, {choice}: BAM {bam.stat().st_size:,} bytes, CRAM {cram.stat().st_size:,}")
    if "quantize" in choice:
        view = subprocess.run(["samtools", "view", bam], check=True, capture_output=True, text=True).stdout
        qualities = set().union(*(line.split("\t")[10] for line in view.splitlines()))
        assert {ord(each) - 33 for each in qualities if ord(each) - 33 > 6} == {10, 20, 30}


@pytest.fixture(scope="module")
def twelve_lanes(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """NA12878 over 40 kb of chr22 in 12 lanes, run to its end."""
    data = shared("germline_chr22")
    cohort = cohort_of(
        tmp_path_factory.mktemp("chr22"),
        data,
        "chr22_40kb.fa.gz",
        "dbsnp_146.hg38.vcf.gz",
        "mills_and_1000G.indels.vcf.gz",
        calling="joint",
        alignment_format="cram",
        dbsnp=str(data / "known_sites" / "dbsnp_146.hg38.vcf.gz"),
        extra={"haplotype_caller": "-A 'AlleleFraction'"},
    )
    ran = cohort.snakemake()
    assert ran.exit_code == 0, ran.output
    return cohort


def results(cohort: Cohort) -> Path:
    return cohort.folder / "results"


def test_twelve_lanes_become_one_alignment(twelve_lanes: Cohort) -> None:
    cram = results(twelve_lanes) / "alignment" / "NA12878.cram"
    assert cram.read_bytes()[:6] == b"CRAM\x03\x00", "GATK reads no CRAM 3.1"
    header = subprocess.run(["samtools", "view", "-H", cram], check=True, capture_output=True, text=True).stdout
    groups = [line for line in header.splitlines() if line.startswith("@RG")]
    assert len(groups) == 12
    assert all("SM:NA12878" in group and "PL:ILLUMINA" in group for group in groups)
    units = sorted((results(twelve_lanes) / "map_and_sort" / "NA12878").glob("*.json"))
    counted = sum(json.loads(unit.read_text())["reads"] for unit in units)
    fastqs = [Path(unit[column]) for unit in twelve_lanes.units for column in ("fq1", "fq2")]
    assert primary_alignments(cram) == counted == reads_in(fastqs)


def test_the_sample_passes(twelve_lanes: Cohort) -> None:
    assert_passes(twelve_lanes)


def test_what_is_kept_and_what_is_not(twelve_lanes: Cohort) -> None:
    kept = {str(path.relative_to(results(twelve_lanes))) for path in results(twelve_lanes).rglob("*") if path.is_file()}
    assert {
        "alignment/NA12878.cram",
        "alignment/NA12878.cram.crai",
        "haplotype_caller/NA12878.g.vcf.gz",
        "haplotype_caller/NA12878.g.vcf.gz.tbi",
        "hard_filter/cohort.vcf.gz",
        "hard_filter/cohort.vcf.gz.tbi",
        "multiqc/multiqc.html",
    } <= kept
    assert not [name for name in kept if name.endswith(".bam")]
    assert body(results(twelve_lanes) / "hard_filter" / "cohort.vcf.gz")
    page = (results(twelve_lanes) / "multiqc" / "multiqc.html").read_text()
    assert "NA12878" in page
    assert "Samples and verdicts" in page


def test_calls_have_the_ids_of_dbsnp_and_arguments_of_ones_own_are_heeded(twelve_lanes: Cohort) -> None:
    called = [line.split("\t")[2] for line in body(results(twelve_lanes) / "hard_filter" / "cohort.vcf.gz")]
    assert sum(name.startswith("rs") for name in called) > len(called) / 2
    gvcf = body(results(twelve_lanes) / "haplotype_caller" / "NA12878.g.vcf.gz")
    assert any("AF" in line.split("\t")[8].split(":") for line in gvcf)


def test_what_each_filter_takes(twelve_lanes: Cohort, figure: Callable[[str], None]) -> None:
    """The truth has no confident regions here: alleles that it lacks may be true all the same."""
    calls = results(twelve_lanes) / "hard_filter" / "cohort.vcf.gz"
    truth = shared("germline_chr22") / "truth" / "NA12878.GIAB.chr22_40kb.vcf.gz"
    lines = [*takings(calls, truth, results(twelve_lanes) / "reference" / "genome.fa", "NA12878")]
    for line in lines:
        figure(f"germline_chr22 {line}")
    assert int(lines[0].split()[0]) >= 80


def test_snakemake_report(twelve_lanes: Cohort) -> None:
    ran = twelve_lanes.snakemake("--report", "report.html")
    assert ran.exit_code == 0, ran.output
    assert (twelve_lanes.folder / "report.html").stat().st_size > 0


def test_a_moved_cohort_has_nothing_left_to_do(twelve_lanes: Cohort, tmp_path: Path) -> None:
    """Neither another folder nor another start of Snakemake passes for changed code."""
    shutil.copytree(twelve_lanes.folder, tmp_path / "moved", symlinks=True)
    ran = snakemake(tmp_path / "moved", "--dry-run")
    assert "Nothing to be done" in ran.output, ran.output


def entered(twelve_lanes: Cohort, folder: Path, way: str) -> Cohort:
    """A cohort whose input is the alignment that the reads gave, run up to its calls."""
    choices = {"bam_input": way, "alignment_format": "bam", "bqsr": "none"}  # what is recalibrated already
    cohort = Cohort(folder, twelve_lanes.config | choices)
    cram = results(twelve_lanes) / "alignment" / "NA12878.cram"
    if way == "keep":
        cohort.add_unit("NA12878", "all", bam=cram)
    else:  # of each read group a unit
        genome = results(twelve_lanes) / "reference" / "genome.fa"
        split = ["samtools", "split", "--reference", genome, "-f", folder / "%#.%.", cram]
        subprocess.run(split, cwd=twelve_lanes.folder, check=True)
        for bam in sorted(folder.glob("*.bam")):
            cohort.add_unit("NA12878", f"L{bam.stem}", bam=bam.name)
    ran = cohort.snakemake("results/mark_duplicates/NA12878.bam", "results/hard_filter/cohort.vcf.gz")
    assert ran.exit_code == 0, ran.output
    return cohort


@pytest.fixture(scope="module")
def kept(twelve_lanes: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    return entered(twelve_lanes, tmp_path_factory.mktemp("kept"), "keep")


@pytest.mark.long
@pytest.mark.parametrize("way", ["keep", "remap"])
def test_entry_from_cram(twelve_lanes: Cohort, tmp_path: Path, request: pytest.FixtureRequest, way: str) -> None:
    """Alignments as input give the calls that their reads gave."""
    cohort = request.getfixturevalue("kept") if way == "keep" else entered(twelve_lanes, tmp_path, way)
    cram = results(twelve_lanes) / "alignment" / "NA12878.cram"
    bam = results(cohort) / "mark_duplicates" / "NA12878.bam"
    assert primary_alignments(bam) == primary_alignments(cram)
    before, after = (
        {tuple(line.split("\t")[:5:1])[:2] for line in body(folder / "hard_filter" / "cohort.vcf.gz")}
        for folder in (results(twelve_lanes), results(cohort))
    )
    shared_sites = before & after
    assert len(shared_sites) >= 0.95 * max(len(before), len(after))


def test_a_cram_that_was_recalibrated_is_not_recalibrated_again_unless_one_asks_for_it(
    twelve_lanes: Cohort, tmp_path: Path
) -> None:
    cohort = Cohort(tmp_path, twelve_lanes.config)
    cohort.add_unit("NA12878", "all", bam=results(twelve_lanes) / "alignment" / "NA12878.cram")
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 1
    assert "has base qualities that GATK ApplyBQSR recalibrated (@PG): set bqsr: none, or bqsr: again" in ran.output
    cohort.config["bqsr"] = "again"
    assert "base_recalibrator" in cohort.snakemake("--dry-run").output


def test_a_cram_of_another_sample_is_refused(twelve_lanes: Cohort, tmp_path: Path) -> None:
    """Its alignments would be taken as they are, and the calls be those of NA12878."""
    cohort = Cohort(tmp_path, twelve_lanes.config | {"bqsr": "none"})
    cohort.add_unit("OTHER", "all", bam=results(twelve_lanes) / "alignment" / "NA12878.cram")
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 1
    assert "has a read group of sample 'NA12878' (SM): rename one of the two, or set bam_input: remap" in ran.output


def genotypes(vcf: Path) -> list[tuple[int, str]]:
    rows = [line.split("\t") for line in body(vcf)]
    return [(int(row[1]), row[9].split(":")[0]) for row in rows]


@pytest.mark.long
def test_regions_of_one_copy_get_haploid_genotypes(kept: Cohort, tmp_path: Path) -> None:
    """The finished run again, the sample male by the table, and part of the contig to be there once in males."""
    folder = tmp_path / "males only"
    shutil.copytree(kept.folder, folder, symlinks=True)
    (folder / "X only once.bed").write_text("chr22\t5000\t20000\t1\n")
    config = kept.config | {"ploidy_regions": {"male": "X only once.bed", "female": ""}}
    cohort = Cohort(folder, config, kept.units, {"NA12878": "male"})
    ran = cohort.snakemake("results/genotype_gvcfs/cohort.vcf.gz")
    assert ran.exit_code == 0, ran.output
    called = genotypes(results(cohort) / "genotype_gvcfs" / "cohort.vcf.gz")
    once = {genotype for position, genotype in called if 5000 < position <= 20000}
    twice = {genotype for position, genotype in called if not 5000 < position <= 20000}
    assert once == {"1"}
    assert twice >= {"0/1", "1/1"}
    assert all(len(genotype) == 3 for genotype in twice)
    diploid = genotypes(results(kept) / "genotype_gvcfs" / "cohort.vcf.gz")
    assert all(len(genotype) == 3 for _, genotype in diploid)


@pytest.mark.long
def test_vqsr_on_too_few_variants_says_so(twelve_lanes: Cohort, tmp_path: Path) -> None:
    folder = tmp_path / "vqsr"
    shutil.copytree(twelve_lanes.folder, folder, symlinks=True)
    known = {role: twelve_lanes.config[role][0] for role in ("known_sites", "known_indels")}
    model = {"known": False, "training": True, "truth": True, "prior": 12}
    vqsr = {
        "snps": {"resources": {"dbsnp": {"vcf": known["known_sites"], **model}}, "max_gaussians": 1},
        "indels": {"resources": {"mills": {"vcf": known["known_indels"], **model}}, "max_gaussians": 1},
    }
    cohort = Cohort(folder, twelve_lanes.config | {"filter": "vqsr", "vqsr": vqsr}, twelve_lanes.units)
    ran: Ran = cohort.snakemake("--keep-going")
    assert ran.exit_code == 1
    assert "VQSR found no model for the snps of cohort" in ran.output
    assert "filter: hard" in ran.output
    assert not list((folder / "results" / "variant_recalibration").glob("*"))
