"""The options that JVMs get: collector by threads, heap by memory, second compiler by the size of the input."""

import re
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Cohort, planned_jobs, snakemake, tiny_cohort, with_memory
from test_plan import VQSR

C1 = "-XX:TieredStopAtLevel=1"
GATHER = "GatherBQSRReports"  # joins what pieces of a walk have made
SPARING_C2 = "-XX:FreqInlineSize=80"
MIB = 1024 * 1024
PROFILES = ROOT / "profiles"
# what each walker walks over, alone or in a joint call set
WALKED = {
    "base_recalibrator": "results/mark_duplicates/S1.bam",
    "base_recalibration": "results/mark_duplicates/S1.bam",
    "haplotype_caller": "results/base_recalibration/S1.bam",
    "genotype_gvcfs": "results/haplotype_caller/S1.g.vcf.gz",
    "hard_filter": "results/genotype_gvcfs/S1.vcf.gz",
    "variant_recalibration": "results/genotype_gvcfs/S1.vcf.gz",
    "apply_variant_recalibration": "results/genotype_gvcfs/S1.vcf.gz",
}


BY_INTERVAL = ("genomics_db_import", "genotype_interval", "hard_filter_interval", "sites_only", "recalibrate_interval")


@pytest.fixture
def single(tmp_path: Path) -> Cohort:
    """A cohort of one sample and one lane."""
    return tiny_cohort(tmp_path, samples=["S1"], lanes=1)


def java_options(cohort: Cohort, *arguments: str) -> dict[str, set[str]]:
    """The options of each rule's JVMs, and of GATHER's, as Snakemake would start them with the files that are there."""
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--forceall", *arguments)
    assert ran.exit_code == 0, ran.said
    told = r"--rule (\w+) .*?--mem-mb (\d+) .*?<<'END_OF_COMMAND'\n(.*?)\nEND_OF_COMMAND"
    found: dict[str, set[str]] = {}
    for rule, mem_mb, text in re.findall(told, ran.said, re.DOTALL):
        for options, tool in re.findall(r'--java-options "([^"]*)" (\w+)', with_memory(text, int(mem_mb))):
            found.setdefault(GATHER if tool == GATHER else rule, set()).add(options)
    return found


def scattered_commands(cohort: Cohort, *arguments: str) -> dict[str, str]:
    """The text of each rule that may be run in pieces."""
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--forceall", *arguments)
    assert ran.exit_code == 0, ran.said
    told = r"\$GPD_LAUNCH\" scatter [^\n]*--rule (\w+) [^\n]*<<'END_OF_COMMAND'\n(.*?)\nEND_OF_COMMAND"
    return dict(re.findall(told, ran.said, re.DOTALL))


@pytest.mark.usefixtures("gatk3_command")
@pytest.mark.parametrize("gatk", ["gatk4", "gatk3"])
def test_an_attempt_with_more_memory_elsewhere_has_the_same_text_and_goes_on_with_pieces(single, gatk):
    single.config["gatk"] = gatk
    first = scattered_commands(single)
    assert set(first) >= {"base_recalibration", "haplotype_caller", "genotype_gvcfs"}
    memory = [f"{rule}:mem_mb=12345" for rule in first]
    elsewhere = ["--default-resources", "tmpdir='/scratch/job 2'", "--set-resources", *memory]
    assert scattered_commands(single, *elsewhere) == first
    assert all("$((GPD_MEM_MB*" in text and "'-Xmx" not in text for text in first.values())


def put(cohort: Cohort, path: str, size: int) -> None:
    """A file of `size` bytes that takes no disk."""
    file = cohort.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as sparse:
        sparse.truncate(size)


# sizes in MiB of what is walked, and which rules do without the second compiler where it is a byte smaller
SIZES = {
    "hard": {"mark_duplicates": 15, "base_recalibration": 4, "haplotype_caller": 4, "genotype_gvcfs": 10},
    "vqsr": {"mark_duplicates": 15, "base_recalibration": 4, "haplotype_caller": 4, "genotype_gvcfs": 1},
}
ALWAYS = {"base_recalibrator", "base_recalibration", "haplotype_caller", "genotype_gvcfs"}
SHORT = {
    ("hard", "below"): {*ALWAYS, "hard_filter"},
    ("hard", "above"): set(),
    ("vqsr", "below"): {*ALWAYS, "variant_recalibration", "apply_variant_recalibration"},
    ("vqsr", "above"): {"apply_variant_recalibration"},
}


@pytest.mark.deep
@pytest.mark.parametrize(("filters", "side"), SHORT)
def test_a_walk_over_little_does_without_the_second_compiler(single, filters, side):
    single.config |= {"filter": "vqsr", "vqsr": VQSR} if filters == "vqsr" else {"filter": "hard"}
    for path in WALKED.values():
        put(single, path, SIZES[filters][Path(path).parent.name] * MIB - (side == "below"))
    found = {rule: options for rule, options in java_options(single).items() if rule in WALKED}
    assert all(len(options) == 1 for options in found.values())
    assert all("m -XX:+UseSerialGC" in text for options in found.values() for text in options)
    short = {rule for rule, (options,) in found.items() if options.endswith(C1)}
    assert short == SHORT[filters, side]
    assert {rule for rule, (options,) in found.items() if SPARING_C2 in options} == set(found) - short


@pytest.mark.deep
def test_what_is_not_there_yet_counts_as_large(single):
    options = java_options(single)
    (short,) = options.pop(GATHER)
    assert short.endswith(f" {C1}"), "whatever was walked over"
    assert {"base_recalibrator", "haplotype_caller", "genotype_gvcfs", "hard_filter"} <= set(options)
    assert not [text for texts in options.values() for text in texts if C1 in text]


@pytest.mark.deep
def test_joint_genotyping_goes_by_the_size_of_its_workspace(single):
    single.config["calling"] = "joint"
    for contig in ("chr1", "chr2"):
        put(single, f"results/genomics_db_import/1of1/{contig}/part", 2 * MIB)
    (sparing,) = java_options(single)["genotype_interval"]
    assert SPARING_C2 in sparing
    put(single, "results/genomics_db_import/1of1/chr2/part", 2 * MIB - 1)
    options = java_options(single)
    # most of what reads a GenomicsDB is native code, and what it holds grows with the samples
    assert options["genotype_interval"] == {f"-Xmx{(6000 + 20) * 2 // 5}m -XX:+UseSerialGC {C1}"}
    # the importer's work is native code, outside of the heap
    (native,) = options["genomics_db_import"]
    assert native.startswith("-Xmx3200m -XX:+UseSerialGC ")


@pytest.mark.deep
def test_a_profile_moves_the_bound(single):
    put(single, WALKED["hard_filter"], 11 * MIB)
    (moved,) = java_options(single, "--set-resources", "hard_filter:c1_below_mib=12")["hard_filter"]
    assert C1 in moved


@pytest.mark.deep
def test_the_published_profile_leaves_the_jvm_as_it_comes(single):
    for path in WALKED.values():
        put(single, path, 1)
    options = java_options(single, "--workflow-profile", str(PROFILES / "published"))
    assert not [text for texts in options.values() for text in texts if C1 in text or SPARING_C2 in text]
    settings = yaml.safe_load((PROFILES / "published/config.yaml").read_text())["set-resources"]
    assert settings == {rule: {"c1_below_mib": 0} for rule in [*WALKED, *BY_INTERVAL]}


def threads_of_jobs(said: str) -> dict[str, set[int]]:
    """Threads by rule, of the jobs that a dry run lists; jobs of one thread say nothing."""
    blocks = re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", said, re.MULTILINE)
    found: dict[str, set[int]] = {}
    for rule, text in blocks:
        threads = re.search(r"^    threads: (\d+)$", text, re.MULTILINE)
        found.setdefault(rule, set()).add(int(threads[1]) if threads else 1)
    return found


ROUTES = {
    "gatk4": {"alignment_format": "cram"},
    "gatk3": {"gatk": "gatk3", "realigner": "gatk3", "known_indels": ["known.vcf"], "known_sites": ["known2.vcf"]},
}


@pytest.mark.deep
@pytest.mark.usefixtures("gatk3_command")
@pytest.mark.parametrize("route", ROUTES)
def test_the_throughput_profile_gives_each_job_one_thread(single, route):
    (single.folder / "known2.vcf").write_bytes((single.folder / "known.vcf").read_bytes())
    single.config |= ROUTES[route]
    single.write()
    machine = ("--resources", "mem_mb=512000", "--cores", "64")
    ran = snakemake(single.folder, "--dry-run", "--workflow-profile", str(PROFILES / "throughput"), *machine, "results")
    assert ran.exit_code == 0, ran.said
    threads = threads_of_jobs(ran.said)
    assert set(threads) >= set(planned_jobs(ran)) - {"total"}
    reference = {"reference", "bwa_index", "indexed_vcf"}
    assert {rule: counts for rule, counts in threads.items() if counts != {1} and rule not in reference} == {}


NOT_OF_ONE_SAMPLE = {"hisat2_index", "bowtie2_index", "merge", "differential_expression"}


def test_the_throughput_profile_names_every_rule_of_a_sample_that_asks_for_threads():
    """Rules of the reference part alone keep theirs: they are outside every timing."""
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").rglob("*.smk"))
    rules = re.split(r"^rule ", text, flags=re.MULTILINE)[1:]
    wide = {rule.partition(":")[0] for rule in rules if re.search(r"^    threads: (?!1$)\d+$", rule, re.MULTILINE)}
    named = yaml.safe_load((PROFILES / "throughput/config.yaml").read_text())["set-threads"]
    assert set(named) == wide - NOT_OF_ONE_SAMPLE | {"base_recalibrator", "base_recalibration"}
    assert set(named.values()) == {1}
