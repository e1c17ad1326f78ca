"""What the workflow would do, from dry runs: no tool of the pipelines is needed."""

import os
import re
import shlex
from pathlib import Path

import pytest
from conftest import Cohort, commands, planned_jobs, tiny_cohort

PER_SAMPLE = (
    "mark_duplicates",
    "base_recalibrator",
    "base_recalibration",
    "haplotype_caller",
    "samtools_stats",
)
BY_INTERVAL = ("genomics_db_import", "genotype_interval", "hard_filter_interval")
VQSR = {
    "snps": {
        "resources": {"hapmap": {"vcf": "known.vcf", "known": False, "training": True, "truth": True, "prior": 15}}
    },
    "indels": {
        "resources": {"mills": {"vcf": "known.vcf", "known": False, "training": True, "truth": True, "prior": 12}}
    },
}
LABELLED = {"resources": {"best": {"vcf": "known.vcf", "training": True, "calibration": True}}}
VETS = {"snps": LABELLED, "indels": LABELLED}

ANNOTATION = "2000 1 11\n0 chr1 (null)\n0 2000 0\n"  # of an index of the cohort's reference


def plan(cohort: Cohort, *arguments: str, **config: object) -> dict[str, int]:
    cohort.config |= config
    ran = cohort.snakemake("--dry-run", *arguments)
    assert ran.exit_code == 0, ran.output
    return planned_jobs(ran)


def test_one_job_a_lane_and_one_call_set_a_sample(cohort):
    ran = cohort.snakemake("--dry-run")
    jobs = planned_jobs(ran)
    assert jobs["map_and_sort"] == 4
    assert {rule: jobs[rule] for rule in PER_SAMPLE} == dict.fromkeys(PER_SAMPLE, 2)
    assert jobs["genotype_gvcfs"] == jobs["hard_filter"] == jobs["bcftools_stats"] == 2
    assert jobs["depth"] == jobs["call_genotypes"] == 2
    assert jobs["indexed_vcf"] == 1, "of known sites that have no index"
    assert not {"realigner_targets", "variant_recalibration", "alignment", "genomics_db_import"} & set(jobs)
    assert "contamination" not in jobs, "no common sites are known"
    assert "results/bcftools_stats/novel" not in ran.output, "dbsnp names no variants"


@pytest.mark.deep
def test_the_last_step_after_the_filter_makes_the_final_calls(cohort):
    jobs = plan(cohort, normalise="align")
    assert jobs["normalise"] == 2 and "consequences" not in jobs
    ran = cohort.snakemake("--dry-run")
    assert "results: calls results/normalise/{sample}.vcf.gz, " in ran.output
    (stats, *_) = re.findall(r"^rule bcftools_stats:\n    input: (.*)", ran.output, re.MULTILINE)
    assert stats.startswith("results/normalise/")


@pytest.mark.deep
def test_an_annotation_that_bcftools_cannot_use_is_refused(cohort):
    (cohort.folder / "genes.gtf").write_text('chr1\tx\texon\t1\t9\t.\t+\t.\tgene_id "G"; transcript_id "T";\n')
    for path, fault in (("genes.gtf", "is no GFF3"), ("missing.gff3", "does not exist")):
        cohort.config["annotation"] = path
        ran = cohort.snakemake("--dry-run")
        assert ran.exit_code == 1
        assert f"config: annotation {path} {fault}" in ran.output


@pytest.mark.deep
def test_joint_calling_makes_one_call_set(cohort):
    jobs = plan(cohort, calling="joint")
    assert jobs["haplotype_caller"] == 2
    assert {rule: jobs[rule] for rule in BY_INTERVAL} == dict.fromkeys(BY_INTERVAL, 1)
    assert jobs["gather_genotypes"] == jobs["gather_hard_filter"] == jobs["bcftools_stats"] == 1
    assert "quality_gate" not in jobs


@pytest.mark.deep
def test_joint_calling_is_jobs_by_interval(cohort):
    jobs = plan(cohort, calling="joint", joint_intervals=7)
    assert {rule: jobs[rule] for rule in BY_INTERVAL} == dict.fromkeys(BY_INTERVAL, 7)
    assert jobs["gather_genotypes"] == jobs["gather_hard_filter"] == 1


@pytest.mark.deep
def test_the_number_of_intervals_stays_as_a_cohort_grows(cohort):
    made = cohort.folder / "results/reference/intervals"
    made.mkdir(parents=True)
    (made / "1of3.wide.bed").touch()
    assert plan(cohort, calling="joint")["genotype_interval"] == 3
    assert plan(cohort, joint_intervals=2)["genotype_interval"] == 2


@pytest.mark.deep
def test_models_of_a_joint_call_set_have_its_sites_alone(cohort):
    jobs = plan(cohort, calling="joint", filter="vqsr", vqsr=VQSR, joint_intervals=2)
    assert jobs["sites_only"] == jobs["recalibrate_interval"] == jobs["variant_recalibration"] == 2
    assert jobs["gather_sites"] == jobs["gather_recalibrated"] == 1
    ran = cohort.snakemake("--dry-run", "results/variant_recalibration/cohort.snps.recal")
    inputs = ran.output.partition("rule variant_recalibration:")[2].partition("output:")[0]
    assert "results/sites_only/cohort.vcf.gz" in inputs
    assert "results/genotype_gvcfs" not in inputs


@pytest.mark.deep
def test_vqsr_models_snps_and_indels_of_each_call_set(cohort):
    jobs = plan(cohort, filter="vqsr", vqsr=VQSR)
    assert jobs["variant_recalibration"] == 4
    assert jobs["apply_variant_recalibration"] == 2
    assert "hard_filter" not in jobs


@pytest.mark.deep
def test_vets_models_snps_and_indels_of_each_call_set(cohort):
    jobs = plan(cohort, filter="vets", vets=VETS)
    assert jobs["extract_variant_annotations"] == jobs["train_variant_annotations"] == 4
    assert jobs["score_variant_annotations"] == 2
    assert jobs["indexed_vcf"] == 1, "known sites are the training set, too"
    assert not {"hard_filter", "variant_recalibration"} & set(jobs)


@pytest.mark.deep
def test_vets_of_a_joint_call_set_learns_of_its_sites_alone_and_scores_by_interval(cohort):
    cohort.config |= {"calling": "joint", "filter": "vets", "vets": VETS, "joint_intervals": 2}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    jobs, text = planned_jobs(ran), ran.output
    assert jobs["sites_only"] == jobs["score_interval"] == jobs["train_variant_annotations"] == 2
    assert jobs["gather_sites"] == jobs["gather_scores"] == 1
    assert "score_variant_annotations" not in jobs
    assert "ExtractVariantAnnotations -R results/reference/genome.fa -V results/sites_only/cohort.vcf.gz" in text
    assert "--resource:best,training=true,calibration=true results/reference/vcf/known_sites_1.vcf.gz" in text
    assert "--model-prefix results/train_variant_annotations/cohort" in text
    kept = {"snp": "0.995", "indel": "0.99"}
    for kind, share in kept.items():
        assert text.count(f"--{kind}-calibration-sensitivity-threshold {share} --model-prefix") == 2


@pytest.mark.deep
def test_filter_none_ends_with_genotyping_and_cram_is_made_where_asked_for(cohort):
    jobs = plan(cohort, filter="none", alignment_format="cram")
    assert jobs["genotype_gvcfs"] == jobs["alignment"] == 2
    assert not {"hard_filter", "variant_recalibration"} & set(jobs)


@pytest.mark.deep
@pytest.mark.usefixtures("gatk3_command")
def test_gatk3_with_realigner_runs_all_nine_steps(cohort):
    jobs = plan(cohort, gatk="gatk3", realigner="gatk3", calling="joint", filter="vqsr", vqsr=VQSR)
    nine = {
        "map_and_sort": 4,
        "mark_duplicates": 2,
        "realigner_targets": 2,
        "realign_indels": 2,
        "base_recalibration": 2,
        "haplotype_caller": 2,
        "genotype_gvcfs": 1,
        "variant_recalibration": 2,
        "apply_variant_recalibration": 1,
    }
    assert {rule: jobs[rule] for rule in nine} == nine


@pytest.mark.deep
def test_an_existing_bwa_index_is_used(cohort):
    for ending in ("amb", "bwt", "pac", "sa"):
        (cohort.folder / f"index.{ending}").write_text("made elsewhere")
    (cohort.folder / "index.ann").write_text(ANNOTATION)
    jobs = plan(cohort, reference={"fasta": "genome.fa", "bwa_index": "index"})
    assert "bwa_index" not in jobs
    assert jobs["bwa_index_check"] == 1


@pytest.mark.deep
def test_single_end_units_plan(cohort):
    for unit in cohort.units:
        unit["fq2"] = ""
    assert plan(cohort)["map_and_sort"] == 4


@pytest.mark.deep
def test_a_large_cohort_plans(tmp_path):
    """50 samples of 2 lanes; `make bench` says how long more of them take."""
    large = tiny_cohort(tmp_path, [f"S{number}" for number in range(50)], lanes=2)
    assert plan(large, "--quiet", "rules")["map_and_sort"] == 100


@pytest.mark.deep
def test_each_job_that_maps_asks_for_memory_for_an_index_of_its_own(cohort):
    (cohort.folder / "index.ann").write_text(ANNOTATION)
    for ending in ("amb", "bwt", "pac", "sa"):
        with (cohort.folder / f"index.{ending}").open("wb") as sparse:
            sparse.truncate(4_000_000_000 if ending == "bwt" else 1)
    cohort.config["reference"]["bwa_index"] = "index"
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--set-threads=map_and_sort=1")
    assert ran.exit_code == 0, ran.output
    asked = [job.resources["mem_mb"] for job in commands(ran) if job.rule == "map_and_sort"]
    assert asked == [str(4200 + 450 + 4000)] * 4


@pytest.mark.deep
@pytest.mark.parametrize(
    ("mapper", "called"), [("bwa-mem2", "bwa-mem2"), ("bwa-mem4", "BWA4_NO_BATCH_OVERLAP=1 bwa-mem4")]
)
def test_another_mapper_has_its_index_and_its_command(cohort, mapper_command, mapper, called):
    """No test runs bwa-mem2: conda alone has it."""
    cohort.config["mapper"] = mapper
    machine = ("--cores", "16", "--resources", "mem_mb=200000")
    ran = cohort.snakemake("--dry-run", "--printshellcmds", *machine, "--", "results/map_and_sort/S1/L1.bam")
    assert ran.exit_code == 0, ran.output
    assert f"{mapper} index results/reference/genome.fa &> " in ran.output
    group = r"@RG\tID:S1.L1\tSM:S1\tLB:S1\tPL:ILLUMINA\tPU:L1"
    streams = " ".join(f"<(stream reads/S1_L1_R{mate}.fq.gz)" for mate in (1, 2))
    command = f"{called} mem -t 4 -Y -K 100000000  -R '{group}' \"$index\" {streams} \\"
    assert command in map(str.strip, ran.lines)
    assert all(f"results/reference/genome.fa.{ending}" in ran.output for ending in ("0123", "bwt.2bit.64"))
    assert "genome.fa.sa" not in ran.output


@pytest.mark.deep
def test_a_mapper_that_is_not_installed_is_refused_before_any_job(cohort, monkeypatch):
    folders = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(each for each in folders if not Path(each, "bwa-mem4").exists()))
    cohort.config["mapper"] = "bwa-mem4"
    ran = cohort.snakemake()
    assert ran.exit_code == 1
    assert not (cohort.folder / "logs").exists()
    assert "bwa-mem4 is not on the PATH: make setup-bwa-mem4" in ran.lines


@pytest.mark.deep
def test_without_recalibration_the_alignment_of_the_step_before_is_the_final_one(cohort):
    """No known sites are wanted then."""
    cohort.config |= {"bqsr": "none", "known_sites": []}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    jobs = planned_jobs(ran)
    assert not {"base_recalibrator", "base_recalibration", "indexed_vcf"} & jobs.keys()
    assert "HaplotypeCaller  -R results/reference/genome.fa -I results/mark_duplicates/S1.bam " in ran.output
    assert ran.output.count(" sample --bam results/mark_duplicates/S") == 2, "no read was lost"
    assert "Would remove temporary output results/mark_duplicates" not in ran.output
    assert jobs["mark_duplicates"] == jobs["haplotype_caller"] == 2


@pytest.mark.deep
def test_without_recalibration_cram_is_made_of_the_alignment_of_the_step_before(cohort):
    cohort.config |= {"bqsr": "none", "alignment_format": "cram"}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert "results/alignment/S1.cram results/mark_duplicates/S1.bam" in ran.output
    assert "Would remove temporary output results/mark_duplicates/S1.bam" in ran.output


@pytest.mark.deep
def test_with_gatk_3_realigned_reads_are_the_final_ones_where_they_are_not_recalibrated(cohort, gatk3_command):
    cohort.config |= {"bqsr": "none", "gatk": "gatk3", "realigner": "gatk3", "known_indels": ["known.vcf"]}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    jobs = planned_jobs(ran)
    assert not {"base_recalibrator", "base_recalibration"} & jobs.keys()
    assert jobs["realign_indels"] == 2
    calling = "HaplotypeCaller  -nct @threads -R results/reference/genome.fa -I results/realign_indels/S1.bam "
    assert calling in ran.output
    assert ran.output.count(" sample --bam results/realign_indels/S") == 2


@pytest.mark.deep
@pytest.mark.parametrize("calling", ["per_sample", "joint"])
def test_dragen_gatk_fits_a_model_of_each_sample_and_does_not_recalibrate(cohort, calling):
    cohort.config |= {"preset": "dragen-gatk", "calling": calling, "known_sites": [], "pcr_free": True}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert ran.exit_code == 0, ran.output
    jobs = planned_jobs(ran)
    assert jobs["compose_str_table"] == 1
    assert jobs["calibrate_dragstr_model"] == jobs["haplotype_caller"] == 2
    assert not {"base_recalibrator", "base_recalibration"} & jobs.keys()
    assert "CalibrateDragstrModel -R results/reference/genome.fa -I results/mark_duplicates/S1.bam " in ran.output
    model = "results/calibrate_dragstr_model/S1.txt"
    assert f"--dragen-mode --dragstr-params-path {model} --native-pair-hmm-threads" in ran.output
    assert "--pcr-indel-model" not in ran.output, "the model is of these errors"
    assert "GenotypeGVCFs  --standard-min-confidence-threshold-for-calling 10.0 -R" in ran.output
    filters = "--filter-name SNP_QUAL30 --filter-expression 'vc.isSNP() && (QUAL < 30.0)'"
    assert f"{filters} --filter-name INDEL_DRAGENHardQUAL" in ran.output
    assert "SOR" not in ran.output


@pytest.mark.deep
@pytest.mark.parametrize("preset", ["gatk-best-practices", "dragen-gatk"])
def test_without_gvcf_the_caller_genotypes_and_filters_follow(cohort, preset):
    cohort.config |= {"preset": preset, "gvcf": False, "dbsnp": "known.vcf"}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert ran.exit_code == 0, ran.output
    jobs = planned_jobs(ran)
    assert jobs["call_variants"] == jobs["hard_filter"] == 2
    assert not {"haplotype_caller", "genotype_gvcfs"} & jobs.keys()
    assert "HaplotypeCaller --dbsnp results/reference/vcf/" in ran.output
    assert "-V results/call_variants/S1.vcf.gz" in ran.output
    assert ("--filter-expression 'vc.isSNP() && (QUAL < 10.4139)'" in ran.output) == (preset == "dragen-gatk")
    assert "GVCF" not in ran.output
    assert ".g.vcf" not in ran.output


@pytest.mark.deep
def test_without_gvcf_and_filters_the_callers_calls_are_the_results(cohort):
    cohort.config |= {"gvcf": False, "filter": "none"}
    ran = cohort.snakemake("--dry-run")
    assert planned_jobs(ran)["bcftools_stats"] == 2
    assert "Would remove temporary output results/call_variants" not in ran.output


HOSTILE = """--annotation 'a b' $(touch x) ; `touch x` "two words" && | > x"""


@pytest.mark.deep
@pytest.mark.parametrize("calling", ["per_sample", "joint"])
def test_arguments_of_ones_own_come_as_words_and_ids_from_dbsnp(cohort, calling):
    """Nothing in them means anything to a shell."""
    cohort.config |= {"calling": calling, "dbsnp": "known.vcf", "pcr_free": True, "quantize": [10, 30]}
    cohort.config["reblock"] = True
    cohort.config["extra"] = {
        "map_and_sort": "-M -B '4 5'",
        "base_recalibrator": "--quantizing-levels 8",
        "base_recalibration": "--preserve-qscores-less-than 3",
        "haplotype_caller": HOSTILE,
        "reblock_gvcf": "--keep-all-alts",
        "genotype_gvcfs": "--max-alternate-alleles 4",
    }
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert ran.exit_code == 0, ran.output
    words = shlex.join(shlex.split(HOSTILE))
    assert f"HaplotypeCaller --pcr-indel-model NONE {words} -R " in ran.output
    assert " -Y -K 100000000 -M -B '4 5' -R " in ran.output
    assert "BaseRecalibrator --quantizing-levels 8 -R " in ran.output
    assert ran.output.count("ReblockGVCF --keep-all-alts -R ") == 2
    quantized = "--static-quantized-quals 10 --static-quantized-quals 30"
    assert f"ApplyBQSR {quantized} --preserve-qscores-less-than 3 -R " in ran.output
    named = "GenotypeGVCFs --dbsnp results/reference/vcf/known_sites_1.vcf.gz --max-alternate-alleles 4 -R "
    assert ran.output.count(named) == {"per_sample": 2, "joint": 1}[calling]


@pytest.mark.parametrize(
    ("calling", "reader"),
    [("per_sample", "genotype_gvcfs"), pytest.param("joint", "genomics_db_import", marks=pytest.mark.deep)],
)
def test_gvcfs_are_made_smaller_before_anything_reads_them(cohort, calling, reader):
    cohort.config |= {"calling": calling, "reblock": True}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert planned_jobs(ran)["reblock_gvcf"] == 2
    made, smaller = (f"results/{rule}/S1.g.vcf.gz" for rule in ("haplotype_caller", "reblock_gvcf"))
    assert (
        f"ReblockGVCF  -R results/reference/genome.fa -V {made} \\\n"
        f'            --floor-blocks -GQB 20 -GQB 30 -GQB 40 --tmp-dir "$TMPDIR" -O {smaller} &>'
    ) in ran.output
    inputs = re.findall(rf"^rule {reader}:\n    input: (.*)", ran.output, re.MULTILINE)
    assert any(smaller in files for files in inputs) and not any(made in files for files in inputs)
    assert f"Would remove temporary output {made}" in ran.output
    assert f"Would remove temporary output {smaller}" not in ran.output


@pytest.mark.deep
def test_intervals_are_extended_before_anything_reads_them(cohort):
    (cohort.folder / "regions.bed").write_text("chr1\t100\t200\n")
    cohort.config |= {"intervals": "regions.bed", "interval_padding": 50}
    ran = cohort.snakemake("--dry-run", "--printshellcmds")
    assert planned_jobs(ran)["padded_intervals"] == 1
    assert "regions.bed 50 >results/reference/padded_intervals.bed" in ran.output
    assert "--regions=results/reference/padded_intervals.bed" in ran.output
    assert "--regions=regions.bed" not in ran.output


@pytest.mark.deep
def test_a_file_in_several_roles_is_compressed_once_unless_an_earlier_run_made_more(cohort):
    same = {"dbsnp": "known.vcf", "common_sites": str(cohort.folder / "known.vcf"), "filter": "vqsr", "vqsr": VQSR}
    assert plan(cohort, **same)["indexed_vcf"] == 1
    made = cohort.folder / "results/reference/vcf/dbsnp.vcf.gz"
    made.parent.mkdir(parents=True)
    made.touch()
    assert plan(cohort)["indexed_vcf"] == 2
    assert plan(cohort, bqsr="none", known_sites=[])["indexed_vcf"] == 2, "of dbsnp, with VQSR, and of common sites"


@pytest.fixture
def with_decoy(cohort: Cohort) -> Cohort:
    with (cohort.folder / "genome.fa").open("a") as fasta:
        fasta.write(">chrEBV\n" + 40 * "ACGTC" + "\n")
    return cohort


@pytest.mark.deep
def test_contigs_beside_the_primary_assembly_are_named_and_not_called(with_decoy):
    ran = with_decoy.snakemake("--dry-run", "--printshellcmds")
    assert ran.lines.count("not called: 1 of 2 contigs, 1 EBV (calling_contigs: all calls them)") == 1
    assert planned_jobs(ran)["called_contigs"] == 1
    assert "--regions=results/reference/called_contigs.bed" in ran.output
    assert "called_contigs" not in plan(with_decoy, calling_contigs="all")
    (with_decoy.folder / "regions.bed").write_text("chr1\t100\t200\nchrEBV\t0\t100\n")
    with_decoy.config |= {"intervals": "regions.bed", "calling_contigs": "auto"}
    ran = with_decoy.snakemake("--dry-run", "--printshellcmds")
    assert "--regions=regions.bed" in ran.output and "not called: " not in ran.output


@pytest.mark.deep
def test_where_an_earlier_run_has_called_all_contigs_they_stay_called(with_decoy):
    made = with_decoy.folder / "results/reference/called_intervals.bed"
    made.parent.mkdir(parents=True)
    made.write_text("chr1\t0\t2000\t1\t2000\nchrEBV\t0\t200\t2\t200\n")
    ran = with_decoy.snakemake("--dry-run")
    assert "called_contigs" not in planned_jobs(ran)
    warned = (
        "calling_contigs: auto: as earlier here, all contigs are called; to leave out 1 EBV, and to call all samples"
    )
    assert ran.output.count(warned) == 1


@pytest.mark.deep
def test_joint_calling_waits_for_verdicts_where_samples_that_fail_stop_it(cohort):
    jobs = plan(cohort, "results/hard_filter/cohort.vcf.gz", calling="joint", failed_samples="stop_on_quality")
    assert jobs["quality_gate"] == 2
    assert "quality" not in jobs and "identity" not in jobs


@pytest.mark.deep
def test_contamination_is_that_of_common_sites_where_there_are_any(cohort):
    jobs = plan(cohort, common_sites="known.vcf")
    assert jobs["contamination"] == jobs["lanes"] == 2 and "call_genotypes" not in jobs


@pytest.mark.deep
def test_novel_variants_are_counted_where_dbsnp_names_the_others(cohort):
    novel = "results/bcftools_stats/novel/S1.txt"
    cohort.config["dbsnp"] = "known.vcf"
    ran = cohort.snakemake("--dry-run", "--printshellcmds", novel)
    assert ran.exit_code == 0 and """bcftools view --include 'ID="."'""" in ran.output


@pytest.mark.deep
def test_a_sex_that_decides_the_ploidy_is_checked_before_calling(cohort):
    (cohort.folder / "male.bed").write_text("chr1\t100\t200\t1\n")
    cohort.sexes |= dict.fromkeys(("S1", "S2"), "male")
    gvcf = "results/haplotype_caller/S1.g.vcf.gz"
    assert "sex_check" not in plan(cohort, gvcf, ploidy_regions="male.bed")
    assert plan(cohort, gvcf, ploidy_regions={"male": "male.bed", "female": ""})["sex_check"] == 1
    (cohort.folder / "regions.bed").write_text("chr1\t100\t200\n")
    assert "sex_check" not in plan(cohort, gvcf, intervals="regions.bed"), "of targets, the verdict tells"


@pytest.mark.deep
def test_verdicts_hold_up_no_result(cohort):
    """`results` is made without them."""
    assert not {"depth", "identity", "quality", "call_genotypes"} & plan(cohort, "results").keys()
