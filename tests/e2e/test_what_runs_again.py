"""Every key of the configuration and every column of the tables, changed after a run: what is due, what must not be.

No tool of the pipelines runs: a run is pretended, and what Snakemake would do after a change is held against the tables
below. They name the rules that have a reason of their own; what hangs on these follows them.
"""

import copy
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, Cohort, Ran, pretend, tiny_cohort
from launching import PINNED
from tuxedo_cohort import Experiment, tiny_experiment

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("gatk3_command")]

SCHEMAS = ROOT / "workflow/schemas"
SIDE_BY_SIDE = 2

TRAINING = {"vcf": "known.vcf", "known": False, "training": True, "truth": True, "prior": 15}
MARKED = {"vcf": "other.vcf", "known": True, "training": False, "truth": False, "prior": 2}
VQSR = {mode: {"resources": {"best": TRAINING, "more": MARKED}} for mode in ("snps", "indels")}
LABELLED, MORE = {"vcf": "known.vcf", "training": True, "calibration": True}, {"vcf": "other.vcf", "training": True}
VETS = {mode: {"resources": {"best": LABELLED, "more": MORE}} for mode in ("snps", "indels")}

# what is run, by the differences from the defaults
ROUTES = {
    "gatk4": {},
    "bam": {},  # units of aligned reads
    "cram": {"bam_input": "remap"},
    "decoy": {},  # a contig that is not called
    "joint": {"calling": "joint", "filter": "vqsr", "vqsr": VQSR, "intervals": "regions.bed", "reblock": True},
    "vets": {"filter": "vets", "vets": VETS},
    "gatk3": {
        "gatk": "gatk3",
        "gatk3_jar": "3.jar",
        "gatk3_java": "jvm/java 8",
        "realigner": "gatk3",
        "known_indels": ["other.vcf"],
    },
    "trimmed": {"trim": "fastp"},
    "hisat2": {"bias_correction": True},
    "tophat2": {"aligner": "tophat2"},
}
ESSENTIAL = "gatk4"  # the others are long

# route -> key -> (another value, the rules that must run again for it)
AGAIN: dict[str, dict[str, tuple[Any, set[str]]]] = {
    "gatk4": {
        "reference.fasta": ("other.fa", {"reference"}),
        "reference.bwa_index": ("index", {"bwa_index_check"}),
        "mapper": ("bwa-mem2", {"bwa_index"}),
        "duplicates": ("samtools", {"map_and_sort"}),
        "known_sites": (["known.vcf", "other.vcf"], {"indexed_vcf"}),
        "known_indels": (["other.vcf"], {"indexed_vcf"}),
        "intervals": ("regions.bed", {"n_free_intervals"}),
        "ploidy_regions": ("once.bed", {"haplotype_caller"}),
        "dbsnp": ("other.vcf", {"indexed_vcf"}),
        "pcr_free": (True, {"haplotype_caller"}),
        "preset": ("dragen-gatk", {"compose_str_table", "mark_duplicates"}),
        "dragen_mode": (True, {"compose_str_table"}),
        "gvcf": (False, {"call_variants"}),
        "extra.map_and_sort": ("-M", {"map_and_sort"}),
        "extra.base_recalibrator": ("--quantizing-levels 8", {"base_recalibrator"}),
        "extra.base_recalibration": ("--preserve-qscores-less-than 3", {"base_recalibration"}),
        "extra.haplotype_caller": ("--min-pruning 3", {"haplotype_caller"}),
        "extra.genotype_gvcfs": ("--max-alternate-alleles 4", {"genotype_gvcfs"}),
        "gatk": ("gatk3", {"base_recalibrator"}),
        "realigner": ("gatk3", {"realigner_targets"}),
        "leave_out": (["S2"], {"left_out", "list_files"}),
        "bqsr": ("none", {"mark_duplicates"}),
        "quantize": ([10, 20, 30], {"base_recalibration"}),
        "reblock": (True, {"reblock_gvcf"}),
        "calling": ("joint", {"joint_intervals", "list_files"}),
        "filter": ("none", {"bcftools_stats", "call_genotypes"}),
        "normalise": ("split", {"normalise"}),
        "annotation": ("genes.gff3", {"gene_models"}),
        "alignment_format": ("cram", {"alignment"}),
        "common_sites": ("other.vcf", {"indexed_vcf"}),
        "failed_samples": ("stop_on_quality", {"quality_gate"}),
        "qc.known_genotypes": ("known genotypes.vcf", {"identity"}),
        "qc.thresholds": ({"mapped": {}}, {"quality"}),
        "hard_filters.snps": ({"QD2": "QD < 2.5"}, {"hard_filter"}),
        "hard_filters.indels": ({"QD2": "QD < 2.5"}, {"hard_filter"}),
    },
    "bam": {"bam_input": ("remap", {"bwa_alt", "bwa_index"})},
    "cram": {"cram_reference": ("other.fa", {"cram_reference"})},
    "trimmed": {"trim": ("none", {"map_and_sort"}), "extra.trim": ("--length_required 30", {"trim"})},
    "decoy": {"calling_contigs": ("all", {"n_free_intervals"})},
    "joint": {
        "leave_out": (["S2"], {"list_files"}),
        "intervals": ("others.bed", {"n_free_intervals"}),
        "interval_padding": (100, {"padded_intervals"}),
        "calling": ("per_sample", {"genotype_gvcfs"}),
        "reblock": (False, {"list_files"}),
        "extra.reblock_gvcf": ("--keep-all-alts", {"reblock_gvcf"}),
        "joint_intervals": (2, {"joint_intervals"}),
        "filter": ("hard", {"hard_filter_interval"}),
        "qc.sex_contigs": (["chr1", "other"], {"quality"}),
        "vqsr.snps.resources": ({"best": TRAINING}, {"variant_recalibration"}),
        "vqsr.snps.resources.more.vcf": ("another.vcf", {"indexed_vcf"}),
        "vqsr.snps.resources.more.known": (False, {"variant_recalibration"}),
        "vqsr.snps.resources.more.training": (True, {"variant_recalibration"}),
        "vqsr.indels.resources.more.truth": (True, {"variant_recalibration"}),
        "vqsr.indels.resources.more.prior": (3, {"variant_recalibration"}),
        "vqsr.snps.annotations": (["QD", "FS"], {"variant_recalibration"}),
        "vqsr.snps.max_gaussians": (4, {"variant_recalibration"}),
        "vqsr.snps.sensitivity": (99.7, {"variant_recalibration"}),
        "vqsr.indels.resources": ({"best": TRAINING}, {"variant_recalibration"}),
        "vqsr.indels.annotations": (["QD", "FS"], {"variant_recalibration"}),
        "vqsr.indels.max_gaussians": (2, {"variant_recalibration"}),
        # a tranche that the model has already
        "vqsr.indels.sensitivity": (99.9, {"recalibrate_interval"}),
    },
    "vets": {
        "filter": ("hard", {"hard_filter"}),
        "vets.snps.resources": ({"best": LABELLED}, {"extract_variant_annotations"}),
        "vets.indels.resources": ({"best": LABELLED}, {"extract_variant_annotations"}),
        "vets.snps.resources.more.vcf": ("another.vcf", {"indexed_vcf"}),
        "vets.snps.resources.more.training": (False, {"extract_variant_annotations"}),
        "vets.indels.resources.more.calibration": (True, {"extract_variant_annotations"}),
        "vets.snps.annotations": (["QD", "FS"], {"extract_variant_annotations"}),
        "vets.indels.annotations": (["QD", "FS"], {"extract_variant_annotations"}),
        "vets.snps.sensitivity": (99.7, {"score_variant_annotations"}),
        "vets.indels.sensitivity": (99.9, {"score_variant_annotations"}),
    },
    "gatk3": {
        "gatk3_java": ("jvm/another java 8", set()),
        "gatk3_jar": ("3.8.jar", {"realigner_targets"}),
        "known_indels": (["another.vcf"], {"indexed_vcf"}),
    },
    "hisat2": {
        "leave_out": (["A2"], {"library_type", "list_files"}),
        "failed_samples": ("stop_on_quality", {"quality_gate"}),
        "annotation": ("others.gtf", {"annotation"}),
        "aligner": ("tophat2", {"bowtie2_index"}),
        "strandedness": ("fr-firststrand", {"align"}),
        "assembly": ("de_novo", {"assemble"}),
        "fragment_length": (150, {"assemble"}),
        "fragment_length_sd": (50, {"assemble"}),
        "bias_correction": (False, {"assemble"}),
        "multi_read_correction": (True, {"assemble"}),
        "max_bundle_frags": (1000, {"assemble"}),
        "mask": ("others.gtf", {"mask"}),
        "mask_biotypes": (["rRNA"], {"mask"}),
        "cuffdiff.library_norm_method": ("quartile", {"differential_expression"}),
        "cuffdiff.dispersion_method": ("blind", {"differential_expression"}),
        "cuffdiff.scv_correction": (False, {"differential_expression"}),
        "cuffdiff.fdr": (0.1, {"differential_expression"}),
        "cuffdiff.min_alignment_count": (5, {"differential_expression"}),
        "contrasts": ([["b", "a"]], {"differential_expression"}),
        "visualize.top_genes": (3, {"visualize"}),
        "stop_after": ("quantify", {"skipped_loci", "list_files"}),
        "qc.thresholds": ({"rrna": {}}, {"quality"}),
    },
    "tophat2": {
        "extra.tophat2": ("-r 20", {"tophat2"}),
        "strandedness": ("fr-firststrand", {"tophat2"}),
        "assembly": ("reference_only", {"tophat2"}),
    },
}

# how jobs are run, and where tables lie, makes no result another
NEVER = {
    "samples": "config/samples of others.tsv",
    "units": "config/units of others.tsv",
    "min_mapped": 0.9,
    "container": "image.sif",
    "scatter": 8,
    "genomicsdb": "kept",
    "failed_samples": "drop",
}
# what a route does not look at, besides
UNUSED = {
    "gatk4": {
        "gatk3_jar": "3.jar",
        "calling_contigs": "all",  # names leave out none
        "bam_input": "remap",
        "cram_reference": "other.fa",  # no unit is CRAM
        "vqsr.snps.sensitivity": 90,
        "vets.snps.sensitivity": 90,
        "aligner": "tophat2",
        "strandedness": "fr-firststrand",
    },
    "joint": {"hard_filters.snps": {"QD2": "QD < 2.5"}, "bam_input": "remap"},
    "bam": {"cram_reference": "other.fa"},
    "hisat2": {
        "extra.tophat2": "-r 20",
        "gatk": "gatk3",
        "calling": "joint",
        "filter": "none",
    },
}

# route -> what becomes of the first row of the tables -> the jobs that must run again
COLUMNS: dict[str, list[tuple[dict[str, str], set[str]]]] = {
    "gatk4": [
        ({"sample_name": "S9"}, {"map_and_sort sample=S9, unit=L1"}),
        ({"unit_name": "L9"}, {"map_and_sort sample=S1, unit=L9"}),
        ({"fq1": "reads/more_R1.fq.gz", "fq2": "reads/more_R2.fq.gz"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"fq1": "reads/S1_L1_R2.fq.gz", "fq2": "reads/S1_L1_R1.fq.gz"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"fq2": ""}, {"map_and_sort sample=S1, unit=L1"}),
        ({"platform": "ELEMENT"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"library": "lib7"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"platform_unit": "HFJWFDSXX:1"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"center": "lab7"}, {"map_and_sort sample=S1, unit=L1"}),
        ({"condition": "c"}, set()),
        ({"sex": "male"}, {"quality"}),
    ],
    "bam": [({"bam": "more.bam"}, {"take_alignment sample=S1, unit=L1"})],
    "hisat2": [
        ({"sample_name": "A9"}, {"align sample=A9"}),
        ({"condition": "b"}, {"differential_expression", "quality"}),
        ({"unit_name": "L9"}, set()),
        ({"fq1": "reads/more_R1.fq.gz", "fq2": "reads/more_R2.fq.gz"}, {"align sample=A1"}),
        ({"fq1": "reads/A1_L1_R2.fq.gz", "fq2": "reads/A1_L1_R1.fq.gz"}, {"align sample=A1"}),
        ({"platform": "ELEMENT", "library": "lib7"}, set()),
    ],
    "tophat2": [({"fq1": "reads/A1_L1_R2.fq.gz", "fq2": "reads/A1_L1_R1.fq.gz"}, {"tophat2 sample=A1"})],
}

JAVA8 = "#!/bin/sh\necho 'openjdk version \"1.8.0_412\"' >&2\n"

GENOTYPES = """##fileformat=VCFv4.2
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1
chr1\t100\t.\tA\tC\t.\t.\t.\tGT\t0/1
"""

GFF3 = """##gff-version 3
chr1\tx\tgene\t101\t400\t.\t+\t.\tID=gene:G;biotype=protein_coding
chr1\tx\tmRNA\t101\t400\t.\t+\t.\tID=transcript:T;Parent=gene:G;biotype=protein_coding
chr1\tx\tCDS\t101\t400\t.\t+\t0\tParent=transcript:T
"""

# files that a change names in place of these
COPIES = {
    "genome.fa": ["other.fa"],
    "known.vcf": ["other.vcf", "another.vcf"],
    "genes.gtf": ["others.gtf"],
}


def keys(schema: Mapping, root: Mapping, above: str = "") -> Iterator[str]:
    """The dotted keys that have a value of their own; names that users choose are stars."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
    parts = dict(schema.get("properties", {}))
    if isinstance(named := schema.get("additionalProperties"), dict) and "properties" in named:
        yield above
        parts["*"] = named
    if not parts:
        yield above
    for key, part in parts.items():
        yield from keys(part, root, f"{above}.{key}".lstrip("."))


def test_every_key_and_column_is_in_the_tables_above():
    schema = yaml.safe_load((SCHEMAS / "config.schema.yaml").read_text())
    tried = {key for route in AGAIN.values() for key in route} | set(NEVER)
    known = {re.sub(r"(?<=resources)\.\w+", ".*", key.replace("indels", "snps")) for key in tried}
    wanted = {key.replace("indels", "snps") for key in keys(schema, schema)}
    assert wanted - known == {"pipeline"}, "two pipelines are two workflows"
    columns = {name for route in COLUMNS.values() for change, _ in route for name in change}
    of_schemas = [yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text()) for name in ("samples", "units")]
    assert set().union(*(schema["properties"] for schema in of_schemas)) == columns


def make(route: str, folder: Path) -> Cohort:
    """A cohort whose run was pretended, with the files that changes name."""
    tuxedo = route in ("hisat2", "tophat2")
    cohort = tiny_experiment(folder, lanes=1) if tuxedo else tiny_cohort(folder, lanes=1)
    for mate in (1, 2):
        first = folder / "reads" / f"{cohort.units[0]['sample_name']}_L1_R{mate}.fq.gz"
        shutil.copy(first, folder / "reads" / f"more_R{mate}.fq.gz")
    for source, copies in COPIES.items():
        for name in copies if (folder / source).exists() else ():
            shutil.copy(folder / source, folder / name)
    (folder / "regions.bed").write_text("chr1\t0\t1000\n")
    (folder / "others.bed").write_text("chr1\t0\t900\n")
    (folder / "known genotypes.vcf").write_text(GENOTYPES)
    (folder / "once.bed").write_text("chr1\t0\t900\t1\n")
    (folder / "genes.gff3").write_text(GFF3)
    java = folder / "jvm" / "java 8"
    java.parent.mkdir()
    java.write_text(JAVA8)
    java.chmod(0o755)
    shutil.copy(java, java.with_name("another java 8"))
    for name in ("3.jar", "3.8.jar"):
        with zipfile.ZipFile(folder / name, "w") as jar:
            for walker in ("RealignerTargetCreator", "BaseRecalibrator", "HaplotypeCaller"):
                jar.writestr(f"{walker}.class", "")
    for ending in ("amb", "ann", "bwt", "pac", "sa"):
        (folder / f"index.{ending}").write_text("not looked into")
    (folder / "index.ann").write_text("2000 1 11\n0 chr1 (null)\n0 2000 0\n")
    if route == "decoy":
        with (folder / "genome.fa").open("a") as fasta:
            fasta.write(">chrEBV\n" + 40 * "ACGTC" + "\n")
    if route in ("bam", "cram"):
        for number, unit in enumerate(cohort.units):
            unit.pop("fq1"), unit.pop("fq2")
            unit["bam"] = write_bam(folder / f"{number}.{route}", unit["sample_name"])
        write_bam(folder / "more.bam", "S1")
    if route == "joint":  # X and Y are two contigs
        with (folder / "genome.fa").open("a") as file:
            file.write(">other\nACGT\n")
    cohort.config |= ROUTES[route]
    pretend(cohort)
    return cohort


def write_bam(path: Path, sample: str) -> str:
    header = f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:2000\n@RG\tID:1\tSM:{sample}\n"
    form = ["-C", "-T", path.with_name("genome.fa")] if path.suffix == ".cram" else ["-b"]
    subprocess.run(["samtools", "view", *form, "-o", path, "-"], input=header, text=True, check=True)
    return path.name


def changed(cohort: Cohort, folder: Path, values: Mapping[str, Any] = (), row: Mapping[str, str] = ()) -> Cohort:
    """A copy of the cohort after its run, with keys set otherwise, or columns of its first sample's row."""
    shutil.copytree(cohort.folder, folder)
    other = copy.deepcopy(cohort)
    other.folder = folder
    for key, value in dict(values).items():
        *above, last = key.split(".")
        part = other.config
        for name in above:
            part = part.setdefault(name, {})
        part[last] = value
        if key in ("samples", "units"):
            shutil.copy(folder / f"config/{key}.tsv", folder / value)
    row = dict(row)
    if isinstance(other, Experiment):
        sample = other.units[0]["sample_name"]
        condition = row.pop("condition", other.conditions.pop(sample))
        other.conditions[row.get("sample_name", sample)] = condition
    row.pop("condition", None)
    if sex := row.pop("sex", ""):
        other.sexes = {other.units[0]["sample_name"]: sex}
    other.units[0] |= row
    return other


def due(ran: Ran) -> set[str]:
    """The jobs that have a reason of their own, by rule and wildcards."""
    assert ran.exit_code == 0, ran.output
    found = set()
    for job in re.split(r"^(?:local)?rule ", ran.output, flags=re.MULTILINE)[1:]:
        rule, _, text = job.partition(":")
        reason, wildcards = (re.search(rf"^    {name}: (.*)", text, re.MULTILINE) for name in ("reason", "wildcards"))
        if "updated by another job" not in reason[1]:
            found.add(f"{rule} {wildcards[1]}" if wildcards else rule)
    return found


@pytest.mark.parametrize(
    "route", [name if name == ESSENTIAL else pytest.param(name, marks=pytest.mark.long) for name in ROUTES]
)
def test_what_is_due_after_a_change(route: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    cohort = make(route, tmp_path / "run")
    changes = [({}, {}, set()), (NEVER | UNUSED.get(route, {}), {}, set())]
    changes += [({key: value}, {}, rules) for key, (value, rules) in AGAIN[route].items()]
    changes += [({}, row, jobs) for row, jobs in COLUMNS.get(route, [])]

    def plan(number: int) -> set[str]:
        values, row, _ = changes[number]
        return due(changed(cohort, tmp_path / str(number), values, row).snakemake("--dry-run"))

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        plans = list(pool.map(plan, range(len(changes))))
    found = {
        str(row or values): jobs if row else {job.partition(" ")[0] for job in jobs}
        for (values, row, _), jobs in zip(changes, plans, strict=True)
    }
    assert found == {str(row or values): jobs for values, row, jobs in changes}


# a script of which a line is another -> the rules that must run again for it
SCRIPTS = {
    "quality/genotypes.py": {"call_genotypes"},
    "intervals/join_gvcf.py": {"haplotype_caller"},
    "reads/count_reads.py": set(),  # looks whether reads got lost
    f"../../{PINNED.relative_to(ROOT)}/launcher/scatter.py": set(),
}


@pytest.mark.long
def test_a_script_that_an_upgrade_changes_makes_again_what_it_makes_and_nothing_else(tmp_path: Path) -> None:
    cohort = make("gatk4", tmp_path)

    def upgraded(folder: Path, script: str, line: str) -> set[str]:
        for name in ("workflow", "envs", "scripts/snakemake-executor-plugin-pinned"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        with (folder / "workflow/scripts" / script).open("a") as file:
            file.write(line)
        found = due(cohort.snakemake("--dry-run", "--snakefile", str(folder / "workflow/Snakefile")))
        return {job.partition(" ")[0] for job in found}

    found = {name: upgraded(tmp_path / f"of {Path(name).name}", name, "\nCHANGED = 1\n") for name in SCRIPTS}
    assert found == SCRIPTS
    assert upgraded(tmp_path / "reworded", "quality/genotypes.py", "\n# a comment\n") == set()


def test_a_gate_that_is_made_anew_calls_no_cohort_again(tmp_path: Path) -> None:
    cohort = tiny_cohort(tmp_path, lanes=1)
    cohort.config |= ROUTES["joint"] | {"filter": "none", "intervals": "", "failed_samples": "stop_on_quality"}
    pretend(cohort)
    ran = cohort.snakemake("--dry-run", "--forcerun", "quality_gate")
    assert "genomics_db_import" not in ran.output
    assert ran.output.count("rule quality_gate:") == 2


def test_an_edited_file_of_intervals_is_called_anew_and_other_threads_and_memory_call_nothing(tmp_path: Path) -> None:
    cohort = make("joint", tmp_path)
    threads = ("--set-threads", "map_and_sort=1", "mark_duplicates=1")
    memory = ("--set-resources", "haplotype_caller:mem_mb=9000", "genotype_interval:mem_mb=9000")
    assert due(cohort.snakemake("--dry-run", *threads, *memory)) == set()
    (tmp_path / "regions.bed").write_text("chr1\t0\t500\n")
    assert {job.partition(" ")[0] for job in due(cohort.snakemake("--dry-run"))} == {"n_free_intervals"}


def test_a_gvcf_that_was_made_smaller_stands_for_the_one_that_is_gone(tmp_path: Path) -> None:
    cohort = make("joint", tmp_path)
    for path in (tmp_path / "results/haplotype_caller").iterdir():
        path.unlink()
    assert due(cohort.snakemake("--dry-run")) == set()
    for key, value in {"extra": {"haplotype_caller": "--min-pruning 3"}, "reblock": False}.items():
        other = copy.deepcopy(cohort)
        other.config[key] = value
        assert due(other.snakemake("--dry-run")) == {f"haplotype_caller sample={name}" for name in ("S1", "S2")}, key


def test_an_index_that_appears_beside_known_sites_makes_nothing_again(tmp_path: Path) -> None:
    cohort = tiny_cohort(tmp_path, lanes=1)
    subprocess.run(["bgzip", "known.vcf"], cwd=tmp_path, check=True)
    cohort.config["known_sites"] = ["known.vcf.gz"]
    pretend(cohort)
    subprocess.run(["tabix", "-p", "vcf", "known.vcf.gz"], cwd=tmp_path, check=True)
    assert due(cohort.snakemake("--dry-run")) == set()
    assert not [line for line in cohort.snakemake().lines if line.startswith(("rule ", "localrule "))]
    (tmp_path / "known.vcf.gz.tbi").unlink()
    assert due(cohort.snakemake("--dry-run")) == set()


def test_swapped_conditions_are_compared_anew(tmp_path: Path) -> None:
    """Labels keep their order, and so do the files that cuffdiff reads: their grouping alone is another."""
    cohort = make("hisat2", tmp_path)
    assert isinstance(cohort, Experiment)
    cohort.conditions |= {"A2": "b", "B2": "a"}
    assert due(cohort.snakemake("--dry-run")) == {"differential_expression", "quality"}


JOINT = {"calling": "joint"}


@pytest.mark.parametrize(
    ("choices", "anew"), [({}, set()), (JOINT, {"cohort"}), (JOINT | {"genomicsdb": "kept"}, {"cohort"})]
)
def test_samples_that_join_run_alone_and_what_is_called_jointly_follows_who_joins_and_leaves(tmp_path, choices, anew):
    cohort = tiny_cohort(tmp_path, ("S1", "S2", "S3"))
    everyone, cohort.config = cohort.units, cohort.config | choices

    def runs(*samples: str) -> set[str]:
        cohort.units = [unit for unit in everyone if unit["sample_name"] in samples]
        ran = cohort.snakemake("--dry-run")
        assert ran.exit_code == 0, ran.output
        return set(re.findall(r"^    wildcards: (?:sample|callset)=(\w+)", ran.output, re.MULTILINE))

    cohort.units = [unit for unit in everyone if unit["sample_name"] != "S3"]
    pretend(cohort)
    assert runs("S1", "S2") == set()
    assert runs("S1", "S2", "S3") == {"S3"} | anew
    assert runs("S1") == anew
