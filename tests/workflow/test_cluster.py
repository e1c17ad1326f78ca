"""What a cohort asks of a Slurm cluster, from dry runs."""

import csv
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Cohort, Ran, snakemake, tiny_cohort, write_fastq
from tuxedo_cohort import tiny_experiment

SLURM = ("--workflow-profile", str(ROOT / "profiles" / "slurm"))


def dry_run(cohort: Cohort, *arguments: str) -> Ran:
    """As a person would, with the profile's cores."""
    cohort.write()
    return snakemake(cohort.folder, "--dry-run", *SLURM, *arguments, cores=None)


def plan(cohort: Cohort, *arguments: str) -> Ran:
    ran = dry_run(cohort, *arguments)
    assert ran.exit_code == 0, ran.output
    return ran


def asked(ran: Ran) -> dict[str, dict[str, str]]:
    """By rule, what its jobs ask for: threads, and resources by name. Jobs of a group are indented."""
    found: dict[str, dict[str, str]] = {}
    for line in map(str.strip, ran.lines):
        if rule := re.fullmatch(r"(?:local)?rule (\w+):", line):
            of_rule = found.setdefault(rule[1], {"threads": "1"})
        elif threads := re.fullmatch(r"threads: (\d+)", line):
            of_rule["threads"] = threads[1]
        elif line.startswith("resources: "):
            of_rule |= dict(pair.split("=", 1) for pair in line.removeprefix("resources: ").split(", "))
    return found


@pytest.mark.deep
def test_the_profile_plans_without_conda_and_asks_for_ordinary_nodes(cohort):
    of = asked(plan(cohort))
    assert {int(each["threads"]) for each in of.values()} <= {1, 4, 8}
    assert of["map_and_sort"]["threads"] == of["haplotype_caller"]["threads"] == "8"
    assert all(int(each["runtime"]) >= 60 for rule, each in of.items() if rule != "all")
    assert of["haplotype_caller"]["mem_mb"] == of["haplotype_caller"]["mem_mb_per_cpu"] == "6000"


@pytest.mark.deep
def test_the_tuxedo_pipeline_plans_with_it(tmp_path: Path):
    of = asked(plan(tiny_experiment(tmp_path)))
    assert of["align"]["threads"] == of["quantify"]["threads"] == "8"


@pytest.mark.deep
def test_cores_fit_all_rules_to_smaller_nodes(cohort):
    of = asked(plan(cohort, "--cores", "4"))
    assert max(int(each["threads"]) for each in of.values()) == 4
    narrow = asked(plan(cohort, "--cores", "1"))["mark_duplicates"]
    assert narrow["mem_mb_per_cpu"] == narrow["mem_mb"] == "8000"


@pytest.mark.deep
def test_a_sample_is_its_lanes_a_group_and_what_stands_alone(cohort):
    ran = plan(cohort)
    assert re.findall(r"Group job (\w+) ", ran.output) == ["alignments"] * 2
    alone = re.findall(r"^rule (\w+):$", ran.output, re.MULTILINE)
    assert alone.count("map_and_sort") == 4
    assert alone.count("haplotype_caller") == alone.count("samtools_stats") == alone.count("hard_filter") == 2
    assert not {"mark_duplicates", "base_recalibrator", "base_recalibration"} & set(alone)


@pytest.mark.deep
@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_each_attempt_asks_for_more(cohort, attempt):
    of = asked(plan(cohort, "--cores", "4", "--attempt", str(attempt)))
    assert of["haplotype_caller"]["mem_mb_per_cpu"] == str(6000 * attempt)
    assert of["mark_duplicates"]["mem_mb"] == str(8000 * attempt)
    assert of["mark_duplicates"]["mem_mb_per_cpu"] == str(4000 * attempt)
    assert of["haplotype_caller"]["runtime"] == str(61 * attempt)


@pytest.mark.deep
def test_a_job_takes_no_more_memory_than_it_was_granted(cohort, monkeypatch):
    """A later attempt's own Snakemake, in the job, works out anew how much that is; and knows no node."""
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "5000")
    of = asked(cohort.snakemake("--dry-run", "--mode", "remote", "--attempt", "3"))
    assert of["hard_filter"]["mem_mb"] == "5000"
    assert of["samtools_stats"]["mem_mb"] == "3000"


@pytest.mark.deep
def test_what_a_profile_says_goes_before_the_table(cohort):
    settings = ("--set-resources", "haplotype_caller:runtime=600", "map_and_sort:mem_mb=500*attempt", "--attempt", "2")
    of = asked(plan(cohort, *settings))
    assert of["haplotype_caller"]["runtime"] == "600"
    assert of["map_and_sort"]["mem_mb"] == "1000"


@pytest.mark.deep
def test_on_one_machine_jobs_ask_for_no_time(cohort):
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 0, ran.output
    assert "runtime=" not in ran.output


# ---- all rules of both pipelines --------------------------------------------------------------------

SET = {"resources": {"known": {"vcf": "known.vcf", "known": False, "training": True, "truth": True, "prior": 15}}}
VQSR = {"filter": "vqsr", "vqsr": {"snps": SET, "indels": SET}}
LABELLED = {"resources": {"known": {"vcf": "known.vcf", "training": True, "calibration": True}}}
VETS = {"filter": "vets", "vets": {"snps": LABELLED, "indels": LABELLED}}
CONFIGURATIONS = {
    "germline": {"calling": "joint", "alignment_format": "cram", **VQSR},
    "hard": {"calling": "joint"},
    "vets": VETS,
    "joint-vets": {"calling": "joint", **VETS},
    "gatk3": {"gatk": "gatk3", "realigner": "gatk3", **VQSR},
    "hisat2": {"pipeline": "tuxedo"},
    "tophat2": {"pipeline": "tuxedo", "aligner": "tophat2"},
}


@dataclass
class Job:
    """A submitted job of a dry run."""

    rule: str
    told: dict[str, str] = field(default_factory=dict)

    def files(self, kind: str) -> set[str]:
        return set(self.told.get(kind, "").split(", ")) - {""}

    @property
    def of_sample(self) -> bool:
        return "sample=" in self.told.get("wildcards", "")

    @property
    def minutes(self) -> int:
        return int(re.search(r"\bruntime=(\d+)", self.told["resources"])[1])


def jobs_of(ran: Ran) -> list[Job]:
    found: list[Job] = []
    for line in map(str.strip, ran.lines):
        if rule := re.fullmatch(r"(local)?rule (\w+):", line):
            found.append(Job(rule[1] or rule[2]))
        elif found and (told := re.fullmatch(r"(input|output|wildcards|resources): (.*)", line)):
            found[-1].told.setdefault(*told.groups())
    return [job for job in found if job.rule not in ("local", "all")]


def cohort_of(folder: Path, **config: object) -> Cohort:
    made = tiny_experiment(folder) if config.get("pipeline") == "tuxedo" else tiny_cohort(folder)
    made.config |= config
    return made


def without_reads(cohort: Cohort, jobs: list[Job]) -> list[Job]:
    """The jobs that take neither reads, nor what was made of them."""
    files = {unit[column] for unit in cohort.units for column in ("fq1", "fq2")}
    left = jobs
    while more := [job for job in left if job.files("input") & files]:
        files.update(*(job.files("output") for job in more))
        left = [job for job in left if job not in more]
    return left


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory, gatk3_command: None) -> list[tuple[Cohort, list[Job]]]:
    """For each configuration its cohort and the jobs that are submitted."""
    made = [cohort_of(tmp_path_factory.mktemp(name), **config) for name, config in CONFIGURATIONS.items()]
    return [(each, jobs_of(plan(each))) for each in made]


@pytest.fixture(scope="module")
def rules() -> dict[str, str]:
    """The text of each rule that makes something and is submitted."""
    text = "\n".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    rule = r"^ *(?:use rule \w+ as|rule) (\w+)(?: with)?:\n(.*?)(?=^ *(?:use )?rule |\Z)"
    blocks = re.findall(rule, text, re.MULTILINE | re.DOTALL)
    return {name: block for name, block in blocks if "output:" in block and "localrule: True" not in block}


# rules that read little however many samples or reads there are: of the reference, indexes, tables of some kB
SMALL = {
    *("bwa_index_check", "cram_reference", "called_contigs", "padded_intervals", "target_intervals", "mask"),
    *("compose_str_table", "gene_models"),
    *("quality_gate", "sex_check", "library_type"),
}


@pytest.mark.deep
def test_each_rule_that_takes_reads_has_a_time_that_grows_with_them(planned, rules):
    """A rule without a row, or with the same time for any cohort, takes nothing that grows."""
    with (ROOT / "workflow" / "runtimes.tsv").open() as file:
        rows = {row["rule"]: row for row in csv.DictReader(file, delimiter="\t")}
    fixed = {job.rule for cohort, jobs in planned for job in without_reads(cohort, jobs)}
    assert {"bwa_index", "bowtie2_index", "annotation"} <= fixed
    assert not {"map_and_sort", "genotype_interval", "merge", "multiqc"} & fixed
    takes_reads = rules.keys() - fixed - SMALL
    assert [rule for rule in takes_reads if rule not in rows or not float(rows[rule]["core_s_per_gigabase"])] == []


@pytest.mark.deep
def test_no_qc_and_no_step_of_a_cohort_is_in_a_group(planned, rules):
    """Snakemake removes what all jobs of a group have made where one of them fails."""
    grouped = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())["groups"].keys()
    qc = {rule for rule, text in rules.items() if 'pinned_step="qc"' in text}
    of_cohort = {job.rule for _, jobs in planned for job in jobs if not job.of_sample}
    assert {"samtools_stats", "bcftools_stats", "read_strands"} <= qc
    assert {"genotype_interval", "hard_filter_interval", "merge"} <= of_cohort
    assert sorted(grouped - rules.keys()) == []
    assert sorted(grouped & (qc | of_cohort)) == []


# ---- cohorts of genomes --------------------------------------------------------------------------


def genomes(folder: Path, samples: int, gigabases: float, **config: object) -> Cohort:
    """Samples of so many bases each, by the size of their files: behind the reads that are looked at they are holes."""
    folder.mkdir()
    made = tiny_cohort(folder, samples=["S0"], lanes=1)
    made.config |= config
    first = write_fastq(folder / "first.fq.gz", [(f"read{number}", "A" * 100) for number in range(10_000)]).read_bytes()
    names = [f"reads/S{number}_R{mate}.fq.gz" for number in range(samples) for mate in (1, 2)]
    for path in map(folder.joinpath, names):
        path.write_bytes(first)
        os.truncate(path, int(gigabases * 1e9 / 2 / 2))
    made.units.clear()
    for number, (fq1, fq2) in enumerate(zip(names[::2], names[1::2], strict=True)):
        made.add_unit(f"S{number}", "L1", fq1=fq1, fq2=fq2)
    return made


@pytest.mark.deep
def test_time_grows_with_reads_threads_and_attempts(tmp_path):
    cohort = genomes(tmp_path / "cohort", 1, 93)
    (minutes,) = {job.minutes for job in jobs_of(plan(cohort, "--cores", "16")) if job.rule == "map_and_sort"}
    assert minutes == 60 + -(-2 * 3700 * 93 // (16 * 60))
    third = ("--attempt", "3", "--set-resources", "n_free_intervals:runtime=9")
    minutes = {job.rule: job.minutes for job in jobs_of(plan(cohort, *third))}
    assert minutes["map_and_sort"] == 3 * (60 + -(-2 * 3700 * 93 // (8 * 60)))
    assert minutes["haplotype_caller"] == 3 * 370
    assert minutes["n_free_intervals"] == 9
    assert minutes["base_recalibration"] == 3 * 93


@pytest.mark.deep
@pytest.mark.usefixtures("gatk3_command")
@pytest.mark.parametrize("config", [VQSR, VETS, {"gatk": "gatk3"}], ids=["vqsr", "vets", "gatk3"])
def test_a_joint_call_set_asks_by_the_reads_of_all(tmp_path, figure, config):
    """Ten samples of a hundred genomes' reads are planned in the place of a thousand."""
    jobs = jobs_of(plan(genomes(tmp_path / "ten", 10, 9300, calling="joint", **config)))
    minutes = {job.rule: job.minutes for job in jobs if not job.of_sample}
    figure(f"joint calling of 1,000 genomes, minutes: {minutes}")
    last = minutes.keys() & {"hard_filter", "recalibrate_interval", "score_interval", "bcftools_stats"}
    assert min(minutes[rule] for rule in last) > 10 * 60


@pytest.mark.deep
def test_a_job_by_interval_has_its_part_of_the_cohorts_time(tmp_path):
    cohort = genomes(tmp_path / "cohort", 10, 9300, calling="joint", joint_intervals=100)
    target = "results/genotype_interval/3of100.vcf.gz"
    (job,) = (job for job in jobs_of(plan(cohort, target)) if job.rule == "genotype_interval")
    assert job.minutes == 60 + 2 * 150 * 930 / 60
