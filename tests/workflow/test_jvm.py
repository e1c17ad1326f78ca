"""The options that JVMs get: collector by threads, heap by memory, the compiler by the walk."""

import csv
import math
import os
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from conftest import (
    ROOT,
    Cohort,
    commands,
    planned_jobs,
    random_sequence,
    script,
    snakemake,
    tiny_cohort,
    write_fastq,
)
from test_plan import VETS, VQSR

from gpd.sizing import rehearsal_machine

C1, C2 = "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"
PROFILES = ROOT / "profiles"
HEAP = script(ROOT / "workflow/scripts/scatter.py").HEAP  # what scatter.py leaves out of the command that it compares


@pytest.fixture
def single(tmp_path: Path) -> Cohort:
    """A cohort of one sample and one lane."""
    return tiny_cohort(tmp_path, samples=["S1"], lanes=1)


def java_options(cohort: Cohort, *arguments: str) -> dict[str, set[str]]:
    """The options of each rule's JVMs, as Snakemake would start them."""
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--forceall", *arguments)
    assert ran.exit_code == 0, ran.output
    found: dict[str, set[str]] = {}
    for job in commands(ran):
        for options in re.findall(r'--java-options "([^"]*)"', job.text):
            found.setdefault(job.rule, set()).add(options)
    return found


def scattered_commands(cohort: Cohort, *arguments: str) -> dict[str, str]:
    """The text of each rule that may be scattered."""
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "--forceall", *arguments)
    assert ran.exit_code == 0, ran.output
    return {job.rule: job.text for job in commands(ran) if "/scatter.py " in job.text}


@pytest.mark.long
@pytest.mark.usefixtures("gatk3_command")
@pytest.mark.parametrize("gatk", ["gatk4", "gatk3"])
def test_an_attempt_with_more_memory_elsewhere_has_the_same_text_and_goes_on_with_shards(single, gatk):
    single.config["gatk"] = gatk
    first = scattered_commands(single)
    assert set(first) >= {"base_recalibration", "haplotype_caller", "genotype_gvcfs"}
    memory = [f"{rule}:mem_mb=12345" for rule in first]
    elsewhere = ["--default-resources", "tmpdir='/scratch/job 2'", "--set-resources", *memory]
    more = scattered_commands(single, *elsewhere)
    assert more != first
    assert {rule: HEAP.sub("", text) for rule, text in more.items()} == {
        rule: HEAP.sub("", text) for rule, text in first.items()
    }


@pytest.mark.parametrize(("old", "new"), [("piece_mib", "shard_mib"), ("binding", "pinned_binding")])
def test_a_resource_by_its_earlier_name_is_refused(single, old, new):
    ran = single.snakemake("--dry-run", "--set-resources", f"haplotype_caller:{old}=7")
    assert ran.exit_code == 1
    assert f"set-resources: haplotype_caller: {old} is called {new} now: rename it" in ran.lines


OTHER_STEPS = [
    {"calling": "joint"},
    {"filter": "vqsr", "vqsr": VQSR},
    {"preset": "dragen-gatk", "gvcf": False, "bqsr": "gatk", "filter": "vets", "vets": VETS},
]
BASES_A_BYTE = 0.45  # of plain reads, as runtimes.py has it


def grown(cohort: Cohort, megabases: float) -> None:
    """Make the reads those of a genome of so many megabases at 30x: files whose beginnings alone are no holes."""
    reads = [(f"read{number}", random_sequence(50, number)) for number in range(1100)]
    for unit in cohort.units:
        for column in ("fq1", "fq2"):
            path = write_fastq(cohort.folder / f"{column}.fq", reads)
            os.truncate(path, round(megabases * 1e6 * 30 / BASES_A_BYTE / 2))
            unit[column] = path.name


@pytest.mark.parametrize("config", [{}, *(pytest.param(each, marks=pytest.mark.deep) for each in OTHER_STEPS)])
def test_jvms_have_the_first_compiler_alone_for_short_walks_and_the_second_alone_for_long_ones(single, config):
    single.config |= config
    short = java_options(single)
    assert {"base_recalibrator", "base_recalibration"} < set(short)
    assert {"haplotype_caller", "call_variants"} & set(short)
    assert all(re.fullmatch(rf"-Xmx\d+m -XX:\+UseSerialGC {C1}", text) for texts in short.values() for text in texts)
    grown(single, 3000)
    assert java_options(single) == {rule: {text.replace(C1, C2) for text in texts} for rule, texts in short.items()}


@pytest.mark.deep
def test_each_walker_has_its_own_border_and_shards_have_their_share(single):
    grown(single, 1.6)  # above the border of HaplotypeCaller and ApplyBQSR, below those of the others
    compilers = {rule: text.split()[-1] for rule, (text,) in java_options(single).items()}
    assert {rule for rule, compiler in compilers.items() if compiler == C2} == {
        "base_recalibration",
        "haplotype_caller",
    }
    from_shards = {
        rule: float(re.search(r"--short-from ([\d.]+)", text)[1]) for rule, text in scattered_commands(single).items()
    }
    assert from_shards["haplotype_caller"] == pytest.approx(1.8, abs=0.1)
    assert {rule for rule, number in from_shards.items() if number > 1} == {"base_recalibration", "haplotype_caller"}


@pytest.mark.deep
def test_contamination_is_estimated_of_few_sites_by_the_first_compiler_whatever_the_walk_over_reads(single):
    """GATK takes 0.8 CPU s with C1 for 500 sites, and 1.7 with C2."""
    single.config["common_sites"] = "known.vcf"
    grown(single, 100)
    compilers = [options.split()[-1] for options in java_options(single)["contamination"]]
    assert sorted(compilers) == sorted([C1, C2])


@pytest.mark.deep
@pytest.mark.parametrize(("megabases", "compiler"), [(5, C1), (20, C2)])
def test_a_long_walk_over_bases_without_reads_is_long_for_haplotype_caller_alone(single, megabases, compiler):
    """As of a genome at 0.1x. GATK takes 1.2 CPU s a megabase with C1 there, 0.3 with C2."""
    with (single.folder / "genome.fa").open("a") as genome:
        genome.write(">chr9\n" + ("A" * 99 + "\n") * 10_000 * megabases)
    chosen = {rule: text.split()[-1] for rule, (text,) in java_options(single).items()}
    assert chosen.pop("haplotype_caller") == compiler
    assert set(chosen.values()) == {C1}


def test_every_border_says_what_it_rests_on_and_every_walker_of_the_rules_has_one(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts/bench")
    most_mb = max(each.length for each in script(ROOT / "scripts/bench/compilers.py").COHORTS.values()) / 1e6
    with (ROOT / "workflow/compilers.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    borders = defaultdict(set)
    for row in rows:
        borders[row["from"].partition(":")[0]].add(float(row["megabases"]))
        assert "CPU s" in row["from"], f"{row['walker']}: seconds that it took"
    assert borders.keys() == {"measured", "extrapolated", "not reached"}
    assert borders["not reached"] == {10 * most_mb}
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules/germline").glob("*.smk"))
    named = re.findall(r'(?:java|started|scatter_parameters)\("(\w+)"', rules)
    assert {row["walker"] for row in rows} == set(named)


@pytest.mark.deep
def test_what_is_native_code_has_more_outside_of_the_heap(single):
    single.config["calling"] = "joint"
    options = java_options(single)
    # most of what reads a GenomicsDB is native code, and what it holds grows with the samples
    assert options["genotype_interval"] == {f"-Xmx{(4000 + 2) * 2 // 5}m -XX:+UseSerialGC {C1}"}
    assert options["genomics_db_import"] == {f"-Xmx1600m -XX:+UseSerialGC {C1}"}


@pytest.mark.deep
def test_a_jvm_has_a_heap_for_more_than_it_took_at_full_length(single):
    recorded = rehearsal_machine.read(ROOT / "tests/golden/rehearsal/rehearsal.json")
    peaks: dict[str, float] = {}
    for job in recorded.jobs:
        peaks[job.rule] = max(peaks.get(job.rule, 0), (job.peak_rss_mib or 0) * 1.048576)
    single.config |= {"calling": "joint", "filter": "hard"}
    heaps = {
        rule: int(re.search(r"-Xmx(\d+)m", text)[1])
        for rule, texts in java_options(single, "--cores", "8", "--resources", "mem_mb=16000").items()
        for text in texts
    }
    assert {"base_recalibrator", "haplotype_caller", "genotype_interval"} < peaks.keys() & heaps.keys()
    assert {rule: (heaps[rule], peak) for rule, peak in peaks.items() if peak > 0.8 * heaps.get(rule, math.inf)} == {}


def threads_of_jobs(output: str) -> dict[str, set[int]]:
    """Threads by rule, of the jobs that a dry run lists; jobs of one thread say nothing."""
    blocks = re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", output, re.MULTILINE)
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
    assert ran.exit_code == 0, ran.output
    threads = threads_of_jobs(ran.output)
    assert set(threads) >= set(planned_jobs(ran)) - {"total"}
    reference = {"reference", "bwa_index", "indexed_vcf"}
    assert {rule: counts for rule, counts in threads.items() if counts != {1} and rule not in reference} == {}


NOT_OF_ONE_SAMPLE = {"hisat2_index", "bowtie2_index", "merge", "differential_expression"}


def test_the_throughput_profile_names_every_rule_of_a_sample_that_asks_for_threads():
    """Rules of the reference part alone keep theirs: they are outside every timing."""
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").rglob("*.smk"))
    rules = re.split(r"^rule ", text, flags=re.MULTILINE)[1:]
    threads = re.compile(r"^    threads: (?:(?!1$)\d+|by_gatk\(1, \d+\))$", re.MULTILINE)
    wide = {rule.partition(":")[0] for rule in rules if threads.search(rule)}
    named = yaml.safe_load((PROFILES / "throughput/config.yaml").read_text())["set-threads"]
    assert set(named) == wide - NOT_OF_ONE_SAMPLE
    assert set(named.values()) == {1}
