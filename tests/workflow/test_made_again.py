"""What samples have is made again only by who said so: the workflow ends before its first job where `gpd run` asks.

The runs before are pretended, and no tool of the pipelines does anything: where jobs start, they fail for empty files.
"""

import copy
import gzip
import os
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, Ran, pretend, tiny_cohort
from tuxedo_cohort import tiny_experiment


@pytest.fixture(autouse=True)
def refused(made, monkeypatch):
    monkeypatch.setenv("GPD_AGAIN", "refuse")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Cohort:
    cohort = tiny_cohort(tmp_path_factory.mktemp("made"), lanes=1)
    pretend(cohort)
    return cohort


@pytest.fixture
def done(made: Cohort, tmp_path) -> Cohort:
    """A cohort of two samples, all of which was made."""
    cohort = copy.deepcopy(made)
    cohort.folder = shutil.copytree(made.folder, tmp_path / "run")
    return cohort


def told(ran: Ran) -> list[str]:
    """What the workflow ended with; nothing where it began with jobs."""
    lines = [line for line in ran.lines if line.startswith("would be made again: ")]
    started = any(line.startswith(("rule ", "localrule ")) for line in ran.lines)
    assert started == (not lines), ran.output
    assert ran.exit_code == 1
    return lines


@pytest.mark.deep
def test_a_key_that_changes_the_results_of_all_samples_is_told_with_its_reason(done):
    done.config["hard_filters"] = {"snps": {"QD2": "QD < 2.5"}}
    (line,) = told(done.snakemake())
    assert line == (
        "would be made again: results that 2 of 2 samples have (S1, S2), because of hard_filter "
        "(params have changed since last execution)"
    )


@pytest.mark.deep
def test_a_text_of_a_rule_that_an_upgrade_changes_is_told(done, tmp_path):
    upgraded = tmp_path / "upgraded"
    for folder in ("workflow", "envs", "scripts/snakemake-executor-plugin-pinned"):
        shutil.copytree(ROOT / folder, upgraded / folder, ignore=shutil.ignore_patterns("__pycache__"))
    rule = upgraded / "workflow/rules/germline/mark_duplicates_sambamba.smk"
    rule.write_text(rule.read_text().replace("sambamba markdup", "sambamba markdup --hash-table-size 262144"))
    (line,) = told(done.snakemake("--snakefile", str(upgraded / "workflow/Snakefile")))
    assert "because of mark_duplicates (code has changed since last execution" in line


@pytest.mark.deep
def test_a_library_under_another_name_is_told_of_its_sample_alone(done):
    done.units[0]["library"] = "another"
    (line,) = told(done.snakemake())
    assert line.startswith(
        "would be made again: results that 1 of 2 samples have (S1), because of map_and_sort (params have changed"
    )


def replace_by_older(path: Path, content: bytes) -> None:
    """Put another file in a file's place, as old as those of a backup are."""
    other = path.with_name("restored")
    other.write_bytes(content)
    os.utime(other, (1e9, 1e9))
    other.replace(path)


@pytest.mark.deep
def test_reads_that_an_older_file_took_the_place_of_are_told_of_their_sample_alone(done):
    fastq = done.folder / done.units[0]["fq1"]
    lines = gzip.decompress(fastq.read_bytes()).splitlines()
    lines[1::4] = [line[::-1] for line in lines[1::4]]
    replace_by_older(fastq, gzip.compress(b"\n".join(lines) + b"\n"))
    for _ in range(2):  # and told again, for nothing was made
        (line,) = told(done.snakemake())
        assert line == (
            "would be made again: results that 1 of 2 samples have (S1), because of map_and_sort "
            "(another file stands where an input stood)"
        )


@pytest.mark.deep
def test_a_reference_of_the_same_size_that_is_older_is_told_and_the_former_one_is_current(done):
    fasta = done.folder / "genome.fa"
    former = fasta.read_bytes()
    replace_by_older(
        fasta, former[:1000] + former[1000:1010].translate(bytes.maketrans(b"ACGT", b"TGCA")) + former[1010:]
    )
    (line,) = told(done.snakemake())
    assert "2 of 2 samples have (S1, S2), because of reference (another file stands where an input stood)" in line
    replace_by_older(fasta, former)
    no_change(done)
    assert told(done.snakemake()) == []


@pytest.mark.deep
def test_alignments_that_are_gone_are_told_for_what_was_made_of_them_is_made_again(done):
    (done.folder / "results/base_recalibration/S1.bam").unlink()
    (line,) = told(done.snakemake())
    assert "(S1), because of base_recalibration (output files have to be generated" in line


@pytest.mark.deep
def test_crams_do_not_stand_for_alignments_that_something_new_is_made_of(tmp_path):
    cohort = tiny_cohort(tmp_path, lanes=1)
    cohort.config["alignment_format"] = "cram"
    pretend(cohort)
    for path in (cohort.folder / "results").glob("base_recalibration/S?.ba*"):
        path.unlink()
    (cohort.folder / "results/depth/S1.txt").unlink()
    shutil.rmtree(cohort.folder / "results/qc")
    shutil.rmtree(cohort.folder / "results/multiqc")
    (line,) = told(cohort.snakemake())
    assert line.endswith("1 of 2 samples have (S1), because of depth (output files have to be generated)")


def no_change(cohort: Cohort) -> None:
    (cohort.folder / "results/multiqc/multiqc.html").unlink()  # so that there is something to do
    (cohort.folder / "results/bcftools_stats/S1.txt").unlink()


def same_files_elsewhere(cohort: Cohort) -> None:
    """As in a copy without times."""
    no_change(cohort)
    for path in (cohort.folder / "reads").iterdir():
        path.write_bytes(path.read_bytes())


def earlier_version(cohort: Cohort) -> None:
    no_change(cohort)
    (cohort.folder / ".snakemake/gpd/inputs.jsonl").unlink()


def not_finished(cohort: Cohort) -> None:
    for path in ("results/haplotype_caller/S1.g.vcf.gz", "results/haplotype_caller/S1.g.vcf.gz.tbi"):
        (cohort.folder / path).unlink()
    for folder in ("genotype_gvcfs", "hard_filter"):
        for path in (cohort.folder / "results" / folder).glob("S1.*"):
            path.unlink()


def set_aside(cohort: Cohort) -> None:
    alignment = cohort.folder / "results/base_recalibration/S1.bam"
    alignment.rename(f"{alignment}.broken")


def another_sample(cohort: Cohort) -> None:
    reads = {mate: cohort.units[0][mate].replace("S1", "S3") for mate in ("fq1", "fq2")}
    for mate, path in reads.items():
        shutil.copy(cohort.folder / cohort.units[0][mate], cohort.folder / path)
    cohort.units.append(cohort.units[0] | {"sample_name": "S3"} | reads)


def forced(cohort: Cohort) -> list[str]:
    return ["--forcerun", "hard_filter"]


@pytest.mark.deep
@pytest.mark.parametrize(
    "change",
    [no_change, same_files_elsewhere, earlier_version, not_finished, set_aside, another_sample, forced],
    ids=lambda f: f.__name__,
)
def test_what_is_new_or_not_finished_begins(done, change):
    assert told(done.snakemake(*(change(done) or []))) == []


@pytest.mark.deep
@pytest.mark.parametrize("make", [tiny_cohort, tiny_experiment])
def test_what_is_made_of_a_cohort_that_grew_begins(tmp_path, make):
    cohort = make(tmp_path)
    cohort.config |= {"calling": "joint"}
    added = [unit for unit in cohort.units if unit["sample_name"] == cohort.units[-1]["sample_name"]]
    cohort.units = [unit for unit in cohort.units if unit not in added]
    pretend(cohort)
    for unit in added:  # whose reads come after the results of the others
        for mate in ("fq1", "fq2"):
            (cohort.folder / unit[mate]).touch()
    cohort.units += added
    assert told(cohort.snakemake()) == []


@pytest.mark.deep
def test_without_gpd_snakemake_makes_it_again(done, monkeypatch):
    monkeypatch.delenv("GPD_AGAIN")
    done.config["hard_filters"] = {"snps": {"QD2": "QD < 2.5"}}
    assert told(done.snakemake()) == []
