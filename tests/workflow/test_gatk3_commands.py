"""GATK 3 can't be had from every registry, so what its rules would run is compared word for word.

The expected lines are those that ran clean on real BAMs with GATK 3.8.
"""

import itertools
import os
import shlex
import zipfile
from pathlib import Path

import pytest
from conftest import Cohort, tiny_cohort
from conftest import commands as commands_of
from test_plan import VQSR

pytestmark = pytest.mark.usefixtures("gatk3_command")

JAVA = "-Xmx{heap}m -XX:+UseSerialGC -Djava.io.tmpdir=$TMPDIR"
PARALLEL = "-Xmx{heap}m -XX:+UseParallelGC -XX:ParallelGCThreads=2 -Djava.io.tmpdir=$TMPDIR"
REFERENCE = "-R results/reference/genome.fa"
KNOWN = "results/reference/vcf/known_sites_1.vcf.gz"
INDELS = "results/reference/vcf/known_indels_1.vcf.gz"

EXPECTED = {
    "realigner_targets": f"gatk3 {PARALLEL.format(heap=3840)} -T RealignerTargetCreator -nt 2 {REFERENCE} "
    f"-I results/mark_duplicates/S1.bam -known {INDELS} -o results/realigner_targets/S1.intervals",
    "realign_indels": f"gatk3 {JAVA.format(heap=6400)} -T IndelRealigner {REFERENCE} -I results/mark_duplicates/S1.bam "
    f"-known {INDELS} -targetIntervals results/realigner_targets/S1.intervals -o results/realign_indels/S1.bam",
    "base_recalibrator": f"gatk3 {PARALLEL.format(heap=3840)} -T BaseRecalibrator -nct 2 {REFERENCE} "
    f"-I results/realign_indels/S1.bam -knownSites {KNOWN} -knownSites {INDELS} -o results/base_recalibrator/S1.table",
    "base_recalibration": f"gatk3 {PARALLEL.format(heap=3840)} -T PrintReads -nct 2 {REFERENCE} "
    "-I results/realign_indels/S1.bam -BQSR results/base_recalibrator/S1.table -o results/base_recalibration/S1.bam",
    "haplotype_caller": f"gatk3 {PARALLEL.format(heap=3840)} -T HaplotypeCaller -nct 2 {REFERENCE} "
    "-I results/base_recalibration/S1.bam --emitRefConfidence GVCF -o results/haplotype_caller/S1.g.vcf.gz",
    "genotype_gvcfs": f"gatk3 {PARALLEL.format(heap=12800)} -T GenotypeGVCFs -nt 2 {REFERENCE} "
    "-V results/haplotype_caller/S1.g.vcf.gz -o results/genotype_gvcfs/S1.vcf.gz",
    "variant_recalibration": f"gatk3 {JAVA.format(heap=6400)} -T VariantRecalibrator {REFERENCE} "
    "-input results/genotype_gvcfs/S1.vcf.gz -resource:hapmap,known=false,training=true,truth=true,prior=15 "
    "results/reference/vcf/known_sites_1.vcf.gz -an QD -an FS -tranche 100.0 -tranche 99.9 "
    "-tranche 99.5 -tranche 99.0 -tranche 90.0 -mode SNP --maxGaussians $gaussians "
    "-recalFile results/variant_recalibration/S1.snps.recal "
    "-tranchesFile results/variant_recalibration/S1.snps.tranches",
    "apply_variant_recalibration": f"gatk3 {JAVA.format(heap=3200)} -T ApplyRecalibration {REFERENCE} "
    "-input results/genotype_gvcfs/S1.vcf.gz -recalFile results/variant_recalibration/S1.snps.recal "
    "-tranchesFile results/variant_recalibration/S1.snps.tranches -mode SNP --ts_filter_level 99.5 "
    "-o results/apply_variant_recalibration/snps/S1.vcf.gz",
}


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> dict[str, list[list[str]]]:
    """The words of each GATK 3 command that a run would start, by rule."""
    cohort = tiny_cohort(tmp_path_factory.mktemp("gatk3"), samples=["S1"], lanes=1)
    vqsr = {mode: {**model, "annotations": ["QD", "FS"], "max_gaussians": 2} for mode, model in VQSR.items()}
    cohort.config |= {
        "gatk": "gatk3",
        "realigner": "gatk3",
        "filter": "vqsr",
        "vqsr": vqsr,
        "known_indels": ["known2.vcf"],
    }
    (cohort.folder / "known2.vcf").write_bytes((cohort.folder / "known.vcf").read_bytes())
    return gatk3_commands(cohort)


def gatk3_commands(cohort: Cohort, program: str = "gatk3") -> dict[str, list[list[str]]]:
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--default-resources", "tmpdir='/tmp'")
    assert ran.exit_code == 0, ran.output
    found: dict[str, list[list[str]]] = {}
    for job in commands_of(ran):
        walks = [line for line in job.lines if line.rpartition(" -- ")[2].lstrip().startswith(program)]
        found.setdefault(job.rule, []).extend(as_whole(line, job.told.get("threads", "1")) for line in walks)
    return found


def as_whole(line: str, threads: str) -> list[str]:
    """The words of a command as they are where its step is run whole, not scattered; without where output goes."""
    options, _, command = line.rpartition(" -- ")
    given, words = shlex.split(options), shlex.split(command.partition(" &>")[0])
    regions = [word.partition("=")[2] for word in given if word.startswith("--regions=")]
    words += ["-L", *(value for name, value in itertools.pairwise(given) if name == "-L")] if "-L" in given else []
    named = {
        "@shard": [value for name, value in itertools.pairwise(given) if name == "--out"],
        "@threads": [threads],
        "@regions": ["-L", *regions] if any(regions) else [],
    }
    return [one for word in words for one in named.get(word, [word])]


@pytest.mark.deep
@pytest.mark.parametrize("rule", EXPECTED)
def test_command_is_the_one_that_ran_clean(commands, rule):
    assert EXPECTED[rule].split() in commands[rule], commands[rule]


@pytest.mark.deep
def test_filters_of_snps_and_indels_share_no_name(tmp_path):
    """GATK keys filters by name and keeps the last of two, in silence."""
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    cohort.config["gatk"] = "gatk3"
    (words,) = gatk3_commands(cohort)["hard_filter"]
    names = [name for flag, name in itertools.pairwise(words) if flag == "--filterName"]
    assert {"SNP_QD2", "INDEL_QD2"} <= set(names)
    assert len(names) == len(set(names)) == 11


def stand_in(home: Path, version: str = "1.8.0_412") -> Path:
    """What plays Java."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


def write_jar(path: Path, *walkers: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for walker in walkers:
            archive.writestr(f"org/broadinstitute/gatk/tools/walkers/{walker}.class", "")


@pytest.fixture
def with_jar(tmp_path: Path, monkeypatch) -> Cohort:
    """GATK 3 from a jar; no Java 8 but those that a test puts there."""
    monkeypatch.delenv("JAVA8_HOME", raising=False)
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    write_jar(tmp_path / "GATK 3.jar", "haplotypecaller/HaplotypeCaller", "bqsr/BaseRecalibrator")
    cohort.config |= {"gatk": "gatk3", "gatk3_jar": "GATK 3.jar"}
    return cohort


@pytest.mark.deep
def test_a_jar_of_the_user_runs_under_the_java_8_that_the_config_names(with_jar):
    with_jar.config["gatk3_java"] = str(stand_in(with_jar.folder / "my java").relative_to(with_jar.folder))
    java = with_jar.config["gatk3_java"]
    (words,) = gatk3_commands(with_jar, shlex.quote(java))["haplotype_caller"]
    assert words[:2] == [java, "-Xmx3840m"]
    assert words[words.index("-jar") + 1 :][:3] == ["GATK 3.jar", "-T", "HaplotypeCaller"]


@pytest.mark.deep
def test_a_jar_that_lacks_a_walker_is_refused_before_any_job(with_jar):
    with_jar.config["gatk3_java"] = str(stand_in(with_jar.folder / "java"))
    write_jar(with_jar.folder / "GATK 3.jar", "haplotypecaller/HaplotypeCaller")
    ran = with_jar.snakemake("--dry-run")
    assert ran.exit_code == 1
    line = "config: gatk3_jar GATK 3.jar: has no BaseRecalibrator: it is not GATK 3, or not all of it"
    assert [each for each in ran.lines if each.startswith("config: ")] == [line]
    assert "Job stats" not in ran.output
    with_jar.config |= {"bqsr": "none", "known_sites": []}
    assert with_jar.snakemake("--dry-run").exit_code == 0


@pytest.mark.deep
def test_another_java_is_refused_before_the_first_job_and_no_plan_asks_for_it(with_jar):
    java = with_jar.config["gatk3_java"] = str(stand_in(with_jar.folder / "java", "17.0.13"))
    assert with_jar.snakemake("--dry-run").exit_code == 0
    ran = with_jar.snakemake()
    assert ran.exit_code == 1
    (line,) = [line for line in ran.lines if line.startswith("config: ")]
    assert line.startswith(f"config: gatk3_jar GATK 3.jar: gatk3_java {java} is Java 17.0.13; ")
    assert "rule " not in ran.output


WITHOUT = {
    "none": (
        None,
        "config: gatk3_jar: empty, and no command gatk3 is on the PATH; name GenomeAnalysisTK.jar of GATK 3.8 there",
    ),
    "unregistered": (
        'GATK jar file not found. Have you run "gatk3-register"?',
        "does not start its walkers: GATK jar file not found. Have you run "
        '"gatk3-register"?; name GenomeAnalysisTK.jar of GATK 3.8 there',
    ),
    "conda": (
        "",
        "config: gatk3_jar: empty: no conda package brings the jar of GATK 3; name GenomeAnalysisTK.jar of GATK 3.8 "
        "there",
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("case", WITHOUT)
def test_without_a_gatk_3_that_starts_nothing_begins(tmp_path, monkeypatch, case):
    """By either key that wants it: with the realigner alone it would be missed after all mapping."""
    says, reason = WITHOUT[case]
    tools = tmp_path / "bin"
    tools.mkdir()
    if says:
        (tools / "gatk3").write_text(f"#!/bin/sh\necho '{says}'\nexit 1\n")
        (tools / "gatk3").chmod(0o755)
    kept = [] if case == "none" else [os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join([str(tools), *kept, "/usr/bin", "/bin"]))
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    cohort.config["realigner"] = "gatk3"
    (tmp_path / "known2.vcf").write_bytes((tmp_path / "known.vcf").read_bytes())
    cohort.config["known_indels"] = ["known2.vcf"]
    # what shows by starting the command alone shows in no dry run
    options = {"unregistered": [], "conda": ["--dry-run", "--sdm", "conda"]}.get(case, ["--dry-run"])
    ran = cohort.snakemake(*options)
    assert ran.exit_code == 1, ran.output
    (line,) = [line for line in ran.lines if line.startswith("config: ")]
    assert line.endswith(reason)
    assert "rule " not in ran.output


@pytest.mark.deep
def test_conda_brings_java_8_to_a_jar_that_holds_the_walkers(with_jar):
    ran = with_jar.snakemake("--dry-run", "--sdm", "conda")
    assert "config: " not in ran.output
    assert "Building DAG of jobs..." in ran.output, "which wants conda itself next"
    (with_jar.folder / "GATK 3.jar").write_bytes(b"PK")
    refused = with_jar.snakemake("--dry-run", "--sdm", "conda")
    assert refused.exit_code == 1
    assert "config: gatk3_jar GATK 3.jar: is no jar that can be read" in refused.output


@pytest.mark.deep
def test_gatk_4_alone_asks_for_no_java_8(with_jar):
    with_jar.config["gatk"] = "gatk4"
    assert with_jar.snakemake("--dry-run").exit_code == 0
