"""What a dry run of the Tuxedo pipeline plans, and the exact words of its aligners."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import conftest
import pytest
from conftest import planned_jobs
from tuxedo_cohort import Experiment, tiny_experiment


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return tiny_experiment(tmp_path)


@dataclass(frozen=True)
class Planned:
    """A dry run: jobs a rule, and the command text of each rule, a sample's rules of B2; continued lines are one."""

    jobs: dict[str, int]
    commands: dict[str, str]


def plan(experiment: Experiment) -> Planned:
    ran = experiment.snakemake("--dry-run", "--printshellcmds", "--default-resources", "tmpdir='/tmp'")
    assert ran.exit_code == 0, ran.output
    of_one = [job for job in conftest.commands(ran) if job.told.get("wildcards", "sample=B2") == "sample=B2"]
    return Planned(planned_jobs(ran), {job.rule: "\n".join(job.lines) for job in of_one})


def commands(experiment: Experiment) -> dict[str, str]:
    return plan(experiment).commands


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """The plan of an experiment whose config says no more than it must."""
    return plan(tiny_experiment(tmp_path_factory.mktemp("usual")))


def line_of(text: str, program: str) -> list[str]:
    """The words of the one line that starts the program."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{program} ")]
    return line.split()


@pytest.mark.deep
def test_guided_runs_all_six_steps(usual):
    jobs = usual.jobs
    per_sample = {rule: jobs[rule] for rule in ("align", "assemble", "quantify")}
    assert per_sample == {"align": 4, "assemble": 4, "quantify": 4}
    assert [jobs[rule] for rule in ("merge", "differential_expression", "visualize")] == [1, 1, 1]


@pytest.mark.deep
def test_reference_only_needs_no_assembly_and_what_stops_after_the_comparison_no_plots(experiment):
    experiment.config |= {"assembly": "reference_only", "stop_after": "differential_expression"}
    texts = commands(experiment)
    assert not {"assemble", "merge", "visualize"} & set(texts)
    for rule, program in (("quantify", "cuffquant"), ("differential_expression", "cuffdiff")):
        assert "results/reference/genes.gtf" in line_of(texts[rule], program)


@pytest.mark.deep
def test_de_novo_assembles_without_the_annotation_and_merges_with_it(experiment):
    experiment.config["assembly"] = "de_novo"
    texts = commands(experiment)
    assert "--GTF-guide" not in texts["assemble"]
    assert "--ref-gtf results/reference/genes.gtf" in texts["merge"]


@pytest.mark.deep
def test_stop_after_quantify_needs_no_conditions(experiment):
    experiment.config["stop_after"] = "quantify"
    experiment.conditions.clear()
    jobs = plan(experiment).jobs
    assert jobs["quantify"] == 4
    assert not {"differential_expression", "visualize"} & set(jobs)


@pytest.mark.deep
def test_what_takes_all_samples_waits_for_verdicts_where_samples_that_fail_stop_it(experiment):
    experiment.config["failed_samples"] = "stop_on_quality"
    ran = experiment.snakemake("--dry-run", "--", "results/merge/transcripts.gtf")
    jobs = planned_jobs(ran)
    assert jobs["quality_gate"] == jobs["assemble"] == 4
    assert not {"quality", "expression", "gene_counts"} & set(jobs)


@pytest.mark.deep
def test_reads_tell_the_library_type_where_the_config_does_not(experiment):
    """To Cufflinks' tools; the aligners come before."""
    del experiment.config["strandedness"]
    planned = plan(experiment)
    check_aligner(planned.commands, None, single=False)
    for rule, program in (
        ("assemble", "cufflinks"),
        ("quantify", "cuffquant"),
        ("differential_expression", "cuffdiff"),
    ):
        assert '--library-type "$library"' in planned.commands[rule].partition(f"{program} ")[2]
    assert planned.jobs["read_strands"] == 4 and planned.jobs["library_type"] == 1
    experiment.config |= TOPHAT
    assert "--library-type fr-unstranded" in commands(experiment)["tophat2"]


@pytest.mark.deep
def test_counts_are_of_the_strand_and_of_pairs(usual):
    text = usual.commands["gene_counts"]
    assert "featurecounts <results/read_strands/B2.json" in text
    assert '-p --countReadPairs -s "$strand" -F SAF' in " ".join(line_of(text, "featureCounts"))


@pytest.mark.deep
def test_cuffdiff_gets_each_conditions_replicates(experiment):
    experiment.config |= {
        "strandedness": "fr-secondstrand",
        "bias_correction": True,
        "multi_read_correction": True,
        "cuffdiff": {"library_norm_method": "quartile", "dispersion_method": "per-condition", "fdr": 0.1},
    }
    texts = commands(experiment)
    words = line_of(texts["differential_expression"], "cuffdiff")
    text = " ".join(words)
    assert "-L a,b" in text
    assert "results/quantify/A1.cxb,results/quantify/A2.cxb results/quantify/B1.cxb,results/quantify/B2.cxb" in text
    assert "--library-norm-method quartile --dispersion-method per-condition --FDR 0.1" in text
    experiment.config["cuffdiff"]["scv_correction"] = False
    assert "--dispersion-method per-condition --no-scv-correction --FDR" in " ".join(
        line_of(commands(experiment)["differential_expression"], "cuffdiff")
    )
    for tool in (words, line_of(texts["quantify"], "cuffquant")):
        assert '--frag-bias-correct "$fasta" --multi-read-correct' in " ".join(tool)
    for rule in ("quantify", "differential_expression"):
        assert "fasta=results/reference/genome.fa" in texts[rule]
    check_aligner(texts, "FR", single=False)


@pytest.mark.deep
def test_each_contrast_is_a_job_with_the_samples_of_its_two_conditions(experiment):
    experiment.conditions["A2"] = "c"
    experiment.config["contrasts"] = [["b", "a"], ["a", "c"]]
    ran = experiment.snakemake("--dry-run", "--printshellcmds", "--cores", "9")
    assert ran.exit_code == 0, ran.output
    of = {(job.rule, job.told.get("wildcards")): job for job in conftest.commands(ran)}
    for rule in ("differential_expression", "visualize"):
        assert {wildcards for name, wildcards in of if name == rule} == {"contrast=a_vs_c", "contrast=b_vs_a"}
    job = of["differential_expression", "contrast=b_vs_a"]
    text = " ".join(job.lines)
    assert "-L b,a " in text
    assert "results/quantify/B1.cxb,results/quantify/B2.cxb results/quantify/A1.cxb 2>&1" in text
    assert "A2" not in text
    assert job.told["threads"] == "4", "a share of the cores but one"
    listed = " ".join(of["skipped_loci", None].lines)
    folders = [f"--compared results/differential_expression/{name}" for name in ("b_vs_a", "a_vs_c")]
    assert all(folder in listed for folder in folders)
    assert "results/visualize/a_vs_c 0.05 10 a_vs_c" in " ".join(of["visualize", "contrast=a_vs_c"].lines)


@pytest.mark.deep
def test_samples_are_judged_beside_the_comparison(experiment):
    ran = experiment.snakemake("--dry-run", "--", "results/qc/samples.tsv")
    assert not {"quantify", "differential_expression", "skipped_loci"} & set(planned_jobs(ran))


@pytest.mark.deep
@pytest.mark.parametrize(("corrected", "threads"), [(True, 1), (False, 2)])
def test_a_core_is_left_to_samples_while_the_dispersion_is_corrected(experiment, corrected, threads):
    experiment.config["cuffdiff"] = {"scv_correction": corrected}
    assert f" threads={threads}" in commands(experiment)["differential_expression"]


@pytest.mark.deep
def test_of_a_long_correction_it_is_told(tmp_path):
    many = tiny_experiment(tmp_path, samples=[f"{condition}{number}" for condition in "AB" for number in range(30)])
    told = "note: cuffdiff.scv_correction: it takes some 10 minutes of one thread for the 60 samples"
    assert [line.startswith(told) for line in many.snakemake("--dry-run").lines].count(True) == 1
    many.config["cuffdiff"] = {"scv_correction": False}
    assert not [line for line in many.snakemake("--dry-run").lines if line.startswith("note: ")]


def run_stand_in(command: str, folder: Path, script: str) -> tuple[int, list[str]]:
    """Run the command of differential_expression with a script in place of cuffdiff; its exit code, and its log."""
    stand_in = folder / "cuffdiff"
    stand_in.write_text(f"#!/bin/sh\n{script}")
    stand_in.chmod(0o755)
    (log := folder / "logs/differential_expression/cuffdiff.log").parent.mkdir(parents=True)
    command = command.replace("$(cat results/library_type/library_type.txt)", "fr-unstranded")
    command = command.replace("threads=1", "threads=2", 1)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", re.sub(r"\S+ -S -E \S+/cuffdiff_tables.py", "true", command)],
        env=os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        cwd=folder,
        check=False,
    )
    return ran.returncode, log.read_text().splitlines()


def test_the_log_of_cuffdiff_says_when_each_part_began_and_its_failure_stands(usual, tmp_path):
    code, log = run_stand_in(
        usual.commands["differential_expression"],
        tmp_path,
        "printf '[18:13:03] Modeling fragment count overdispersion.\\n' >&2\n"
        "printf '\\r> Processing Locus chr1:1-9 [ ] 1%%\\r> Processed 2 loci. [*] 100%%\\nError: cut off\\n' >&2\n"
        "exit 3\n",
    )
    assert code == 3
    assert log == ["[18:13:03] Modeling fragment count overdispersion.", "Error: cut off"]


@pytest.mark.parametrize(("sound", "code"), [("1", 0), ("none", 139)])
def test_threads_of_cuffdiff_that_crash_are_followed_by_one_thread(usual, tmp_path, sound, code):
    ended, log = run_stand_in(
        usual.commands["differential_expression"],
        tmp_path,
        f'echo "on $3" >&2\n[ "$3" = {sound} ] || kill -SEGV $$\n',
    )
    assert ended == code
    told = [line for line in log if line.startswith(("on ", "cuffdiff "))]  # bash says what was killed
    assert told == ["on 2", "cuffdiff crashed on 2 threads, and begins anew on one", "on 1"]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("strandedness", "single", "letters"),
    [("fr-firststrand", True, "R"), ("fr-secondstrand", True, "F"), ("fr-firststrand", False, "RF")],
)
def test_hisat2_is_told_the_strandedness(experiment, strandedness, single, letters):
    """The pairs of fr-secondstrand are cuffdiff's replicates, above."""
    experiment.config["strandedness"] = strandedness
    for unit in experiment.units if single else ():
        unit["fq2"] = ""
    check_aligner(commands(experiment), letters, single)


def test_hisat2_is_told_of_no_strandedness_where_there_is_none(usual):
    check_aligner(usual.commands, None, single=False)


def check_aligner(texts: dict[str, str], letters: str | None, single: bool) -> None:
    words = line_of(texts["align"], "hisat2-align-s")
    assert ("--rna-strandness" in words) == (letters is not None)
    if letters:
        assert words[words.index("--rna-strandness") + 1] == letters
    assert ("-1" in words) == ("-2" in words) == (not single)
    assert ("-U" in words) == single


def test_hisat2_reads_all_lanes_at_once(usual):
    text = " ".join(line_of(usual.commands["align"], "hisat2-align-s"))
    files = {mate: ",".join(f"<(stream reads/B2_L{lane}_R{mate}.fq.gz)" for lane in (1, 2)) for mate in (1, 2)}
    assert f"-1 {files[1]} -2 {files[2]}" in text


# ---- TopHat2 is to be had through conda alone, so what would run is compared word for word. The expected line is one
# that ran clean on real reads with TopHat 2.1.1.


TOPHAT = {"aligner": "tophat2", "extra": {"tophat2": "-r 20 --mate-std-dev 30"}}


@pytest.fixture
def tophat(experiment: Experiment) -> Experiment:
    experiment.config |= TOPHAT
    return experiment


@pytest.fixture(scope="module")
def usual_tophat(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    experiment = tiny_experiment(tmp_path_factory.mktemp("tophat"))
    experiment.config |= TOPHAT
    return plan(experiment)


def tophat_words(planned: Planned) -> list[str]:
    (line,) = [line for line in planned.commands["tophat2"].splitlines() if line.strip().startswith("tophat2 ")]
    return shlex.split(line.partition(" || ")[0])


def test_tophat2_command_line(usual_tophat):
    assert tophat_words(usual_tophat) == [
        *("tophat2", "-p", "1", "-r", "20", "--mate-std-dev", "30", "--library-type", "fr-unstranded"),
        *("-G", "results/reference/genes.gtf", "-o", "$tmp/out", "results/reference/bowtie2/genome"),
        *("$tmp/fq1_1.fq.gz,$tmp/fq1_2.fq.gz", "$tmp/fq2_1.fq.gz,$tmp/fq2_2.fq.gz"),
    ]


def test_tophat2_gets_plain_names_whatever_the_files_are_called(usual_tophat):
    text = usual_tophat.commands["tophat2"]
    assert 'ln -s "$(realpath -- reads/B2_L1_R1.fq.gz)" "$tmp/fq1_1.fq.gz"' in text


def test_tophat2_summary_is_named_as_multiqc_looks_for_it(usual_tophat):
    assert 'align_summary.txt" results/align/B2.align_summary.txt' in usual_tophat.commands["tophat2"]
    assert "tophat2" in usual_tophat.jobs


@pytest.mark.deep
def test_tophat2_single_end_and_reference_only_without_new_junctions(tophat):
    tophat.config |= {"assembly": "reference_only", "strandedness": "fr-firststrand"}
    for unit in tophat.units:
        unit["fq2"] = ""
    planned = plan(tophat)
    words = tophat_words(planned)
    assert "--no-novel-juncs" in words
    assert words[words.index("--library-type") + 1] == "fr-firststrand"
    assert words[-1] == "$tmp/fq1_1.fq.gz,$tmp/fq1_2.fq.gz"


def test_tophat2_counts_what_it_mapped_and_what_not(usual_tophat):
    text = usual_tophat.commands["align"]
    unmapped = "results/tophat2/B2/unmapped.bam"
    both = f"samtools view -h results/tophat2/B2/accepted_hits.bam; [ ! -s {unmapped} ] || samtools view {unmapped};"
    assert both in text
    assert "--lanes 2" in text


@pytest.mark.deep
def test_tophat2_with_several_threads_is_refused(tophat):
    ran = tophat.snakemake("--dry-run", "--set-threads", "tophat2=2")
    assert ran.exit_code == 1
    assert "set-threads: tophat2: with more than one thread TopHat loses spliced reads in silence" in ran.output


@pytest.mark.deep
@pytest.mark.parametrize("aligner", ["hisat2", "tophat2"])
@pytest.mark.parametrize("assembly", ["reference_only", "guided"])
def test_lint(experiment, aligner, assembly):
    experiment.config |= {"aligner": aligner, "assembly": assembly}
    ran = experiment.snakemake("--lint")
    assert ran.exit_code == 0, ran.output


@pytest.mark.deep
def test_a_large_cohort_plans(tmp_path):
    big = tiny_experiment(tmp_path, [f"{'AB'[n % 2]}{n}" for n in range(50)])
    ran = big.snakemake("--dry-run", "--quiet", "rules")
    assert ran.exit_code == 0, ran.output
    assert planned_jobs(ran)["align"] == 50
