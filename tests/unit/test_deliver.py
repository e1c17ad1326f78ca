"""What is handed on of a run: the files, and nothing else; whole, or not at all. Snakemake is a script here."""

import subprocess
import sys

import pytest
import yaml
from conftest import ROOT
from recording import write_pool
from subcommands import gpd

from gpd.delivery import folder, methods, versions
from gpd.execution import configuration, workflow
from gpd.machines import tool_checks

GERMLINE = (
    "results: calls results/hard_filter/{sample}.vcf.gz, alignments results/base_recalibration/{sample}.bam, "
    "page results/multiqc/multiqc.html, samples results/qc/samples.tsv"
)
TUXEDO = (
    "results: genes results/gene_table/{contrast}.tsv, tests results/differential_expression/{contrast}/gene_exp.diff, "
    "plots results/visualize/{contrast}, counts results/expression/gene_counts.tsv, "
    "alignments results/align/{sample}.bam, page results/multiqc/multiqc.html, samples results/qc/samples.tsv"
)
DESCRIBED = {"SHA256SUMS", "methods.md", "settings.yaml", "versions.tsv", "ro-crate-metadata.json"}
DONE = ["Building DAG of jobs...", "Nothing to be done (all requested files are present and up to date)."]
LEFT = ["Building DAG of jobs...", "Job stats:", "job  count", "---  -----", "hard_filter  2", "total  2", ""]


@pytest.fixture
def cohort(tmp_path, monkeypatch):
    """A germline run that came to its end."""
    run = write_pool(tmp_path / "run", 2, reference={"fasta": "/data/genomes/genome.fa"})
    fill(
        run,
        *(f"hard_filter/{name}.vcf.gz{end}" for name in ("S1", "S2") for end in ("", ".tbi")),
        *(f"base_recalibration/{name}.{end}" for name in ("S1", "S2", "OLD") for end in ("bam", "bai")),
        *("haplotype_caller/S1.g.vcf.gz", "multiqc/multiqc.html", "qc/samples.tsv", "qc/robust_z.tsv"),
    )
    monkeypatch.setattr(versions, "versions", lambda config: {"gpd": "1", "bwa": "0.7.17", "gatk": "4.6.2.0"})
    monkeypatch.chdir(tmp_path)
    prints(monkeypatch, GERMLINE, *DONE)
    return run


def fill(run, *paths):
    for path in paths:
        target = run / "results" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path)


def prints(monkeypatch, *lines):
    """What Snakemake says of a dry run."""
    command = [sys.executable, "-c", f"print({chr(10).join(lines)!r})"]
    monkeypatch.setattr(workflow, "command", lambda *_, **__: command)


def deliver(*words):
    return gpd("deliver", "out/cohort", "--directory", "run", *words)


def tree(path):
    return {str(each.relative_to(path)) for each in path.rglob("*") if each.is_file()}


def test_the_folder_has_what_one_hands_on_and_nothing_else(cohort, tmp_path):
    done = deliver()
    assert done.exit_code == 0, done.output
    names = ("S1", "S2")
    assert tree(tmp_path / "out/cohort") == DESCRIBED | {
        *(f"calls/{name}.vcf.gz{end}" for name in names for end in ("", ".tbi")),
        *(f"alignments/{name}.{end}" for name in names for end in ("bam", "bai")),
        *("multiqc.html", "samples.tsv"),
    }
    assert "out/cohort: 14 files" in done.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["cohort"]


def test_its_checksums_hold(cohort, tmp_path):
    deliver()
    made = tmp_path / "out/cohort"
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=made, check=False).returncode == 0
    assert len((made / "SHA256SUMS").read_text().splitlines()) == 14
    (made / "calls/S1.vcf.gz").write_text("changed")
    assert subprocess.run(check, cwd=made, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize(("words", "links"), [((), 2), (("--copy",), 1)], ids=["links", "copies"])
def test_alignments_are_links_unless_they_shall_be_copies(cohort, tmp_path, words, links):
    deliver(*words)
    made = tmp_path / "out/cohort"
    assert (made / "alignments/S1.bam").stat().st_nlink == links
    assert (made / "calls/S1.vcf.gz").stat().st_nlink == 1
    assert (made / "alignments/S1.bam").read_text() == "base_recalibration/S1.bam"


def test_settings_have_no_folders_of_the_machine(cohort, tmp_path):
    deliver()
    made = tmp_path / "out/cohort"
    settings = yaml.safe_load((made / "settings.yaml").read_text())
    assert settings["reference"]["fasta"] == "genome.fa" and settings["filter"] == "hard"
    assert "/data" not in (made / "methods.md").read_text()
    assert "bwa\t0.7.17\n" in (made / "versions.tsv").read_text()


def refused(tmp_path, *words, exists=False):
    done = deliver()
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert all(text in line for text in words)
    assert [path.name for path in (tmp_path / "out").glob("*")] == ["cohort"] * exists


def test_what_is_there_is_not_overwritten(cohort, tmp_path):
    (tmp_path / "out/cohort").mkdir(parents=True)
    refused(tmp_path, "out/cohort: is there already", exists=True)
    assert tree(tmp_path / "out/cohort") == set()


def test_a_run_that_has_jobs_left_is_not_handed_on(cohort, tmp_path, monkeypatch):
    prints(monkeypatch, GERMLINE, *LEFT)
    refused(tmp_path, "2 jobs are left to do: gpd run germline does them", "leave_out")


def test_a_result_that_is_missing_is_named(cohort, tmp_path):
    (cohort / "results/multiqc/multiqc.html").unlink()
    refused(tmp_path, "run/results/multiqc/multiqc.html: not there")


def test_what_was_cut_off_leaves_nothing(cohort, tmp_path, monkeypatch):
    def cut_off(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "checksums", cut_off)
    assert deliver().exit_code == 130
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_without_results_is_named(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)
    done = deliver()
    assert (done.exit_code, "no results of a run here" in done.stderr) == (2, True)


def test_samples_that_are_left_out_are_told_of_and_left_out(cohort, tmp_path):
    config = cohort / "config/config.yaml"
    config.write_text(config.read_text() + "leave_out: [S2]\n")
    fill(cohort, "left_out.tsv")
    deliver()
    found = tree(tmp_path / "out/cohort")
    assert "left_out.tsv" in found and not any("S2" in path for path in found)


def test_of_rna_seq_tables_plots_and_counts_are_handed_on(tmp_path, monkeypatch):
    settings = {"annotation": "genes.gtf", "contrasts": [["a", "b"]]}
    run = write_pool(tmp_path / "run", [("S1", "a"), ("S2", "b")], **settings)
    fill(
        run,
        *("gene_table/a_vs_b.tsv", "differential_expression/a_vs_b/gene_exp.diff"),
        *("differential_expression/a_vs_b/run.info", "visualize/a_vs_b/pca.png", "visualize/a_vs_b/multiqc/x_mqc.png"),
        *("expression/gene_counts.tsv", "expression/gene_tpm.tsv", "merge/transcripts.gtf", "quantify/S1.cxb"),
        *(f"align/{name}.bam{end}" for name in ("S1", "S2") for end in ("", ".bai")),
        *("multiqc/multiqc.html", "qc/samples.tsv"),
    )
    monkeypatch.setattr(versions, "versions", lambda config: {})
    monkeypatch.chdir(tmp_path)
    prints(monkeypatch, TUXEDO, *DONE)
    done = deliver()
    assert done.exit_code == 0, done.output
    assert tree(tmp_path / "out/cohort") == DESCRIBED | {
        *("genes/a_vs_b.tsv", "differential_expression/a_vs_b/gene_exp.diff"),
        *("differential_expression/a_vs_b/run.info", "plots/a_vs_b/pca.png"),
        *("expression/gene_counts.tsv", "expression/gene_tpm.tsv", "transcripts.gtf"),
        *(f"alignments/{name}.bam{end}" for name in ("S1", "S2") for end in ("", ".bai")),
        *("multiqc.html", "samples.tsv"),
    }


# ---- methods ------------------------------------------------------------------------------------------


def page(tmp_path, pipeline="germline", found=None, **changed):
    run = write_pool(tmp_path / "run", 2, **changed)
    config = configuration.read([run / "config/config.yaml"], run, pipeline).config
    return methods.page(config, ["S1", "S2"], found or {}, "1.2")


def test_methods_name_versions_and_what_to_cite_in_the_order_of_the_text(tmp_path):
    text = page(tmp_path, found={"bwa": "0.7.17", "sambamba": "1.0"})
    assert "Reads of 2 samples were mapped to genome.fa with BWA-MEM 0.7.17 [1], sorted" in text
    assert "marked for duplicates with Sambamba 1.0 [2]." in text
    assert "at the known variants of known.vcf." in text
    assert "filtered by fixed thresholds" in text and "Genomes per Day 1.2" in text
    cited = [line for line in text.splitlines() if line[:1].isdigit()]
    assert cited[0].startswith("1. Li H.") and cited[1].startswith("2. Tarasov")
    assert [line.partition(".")[0] for line in cited] == [str(number) for number in range(1, len(cited) + 1)]


def test_methods_say_what_was_chosen(tmp_path):
    changed = {"bqsr": "none", "calling": "joint", "normalise": "split", "annotation": "genes.gff3"}
    text = page(tmp_path, **changed)
    assert "recalibrated" not in text and "of all samples jointly" in text
    assert "bcftools norm" in text and "genes.gff3 were predicted with bcftools csq [" in text
    rna = page(tmp_path, "tuxedo", annotation="genes.gtf", assembly="reference_only", stop_after="quantify")
    assert "assembled" not in rna and "compared" not in rna and "featureCounts [2]" in rna


def test_each_tool_that_is_cited_is_one_of_the_workflows():
    commands = {tool.command for tool in tool_checks.read_table()}
    assert set(methods.read_tools()) - commands == {"csq"}, "a part of bcftools with a paper of its own"


def test_with_conda_versions_are_those_of_the_environments(monkeypatch):
    assert versions.pinned("gatk4.yaml", "gatk4") in (ROOT / "envs/gatk4.yaml").read_text()
    assert versions.pinned("gatk4.yaml", "gatk") is None
    packages = {tool.command: tool for tool in methods.read_tools().values()}
    for tool in tool_checks.read_table():
        if tool.command in packages and tool.conda:
            assert versions.pinned(tool.conda, packages[tool.command].package), tool.command
