"""A pool of samples: read from a pipeline's configuration, and laid out so that some of it runs elsewhere."""

import pytest
import yaml

from gpd.lab import pool
from gpd.lab.study_runs import StudyError
from gpd.records.study import Pool, Sample

CONFIG = {
    "samples": "tables/samples.tsv",
    "units": "tables/units.tsv",
    "reference": {"fasta": "genome.fa"},
    "known_sites": ["known.vcf", "/data/dbsnp.vcf.gz"],
    "vqsr": {"snps": {"resources": {"hapmap": {"vcf": "hapmap.vcf", "prior": 15}}}},
    "calling": "joint",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    (tmp_path / "tables/samples.tsv").write_text("sample_name\n# not this one\nS1\n\nS2\n")
    (tmp_path / "tables/units.tsv").write_text(
        "sample_name\tunit_name\tfq1\tfq2\tbam\n"
        "S1\tL1\ta b_1.fq\ta b_2.fq\t\nS1\tL2\t/reads/c_1.fq\t\t\nS2\tL1\t\t\ts2.bam\n"
    )
    return tmp_path


def read(folder):
    return pool.read_pool("germline", Pool(str(folder), "config.yaml"))


def test_paths_become_absolute_and_what_is_left_out_has_its_default(folder):
    source = read(folder)
    assert source.config["reference"] == {"fasta": f"{folder}/genome.fa", "bwa_index": ""}
    assert source.config["known_sites"] == [f"{folder}/known.vcf", "/data/dbsnp.vcf.gz"]
    assert source.config["vqsr"]["snps"]["resources"]["hapmap"]["vcf"] == f"{folder}/hapmap.vcf"
    assert (source.config["calling"], source.config["pipeline"]) == ("joint", "germline")
    assert source.config["intervals"] == ""
    assert source.members == [Sample("S1"), Sample("S2")]
    assert source.units_of("S1") == [
        {"fq1": folder / "a b_1.fq", "fq2": folder / "a b_2.fq"},
        {"fq1": pool.Path("/reads/c_1.fq")},
    ]
    assert source.reads("S2") == [folder / "s2.bam"]


def test_a_sample_is_what_the_sheets_say_of_it_beside_names_and_files(folder):
    assert list(read(folder).sheets_say("S2")) == []
    (folder / "tables/samples.tsv").write_text("sample_name\tsex\nS1\tmale\nS2\t\n")
    (folder / "tables/units.tsv").write_text(
        "sample_name\tunit_name\tfq1\tplatform\tlibrary\nS2\tL1\ta\t\t\nS1\tL1\tb\tillumina\tA\nS1\tL2\tc\t\tB\n"
    )
    told = list(read(folder).sheets_say("S1"))
    assert told == ["0 sex male", "1 library A", "1 platform ILLUMINA", "2 library B"]


def test_a_run_of_some_samples_is_laid_out_with_their_rows_alone(folder, tmp_path):
    target = tmp_path / "run"
    read(folder).lay_out(["S2"], target, scatter="none")
    config = yaml.safe_load((target / "config/config.yaml").read_text())
    assert (config["samples"], config["scatter"]) == ("config/samples.tsv", "none")
    assert (target / "config/samples.tsv").read_text() == "sample_name\tcondition\tsex\nS2\t\t\n"
    header, row = (target / "config/units.tsv").read_text().splitlines()
    assert header == "sample_name\tunit_name\tfq1\tfq2\tbam\tplatform\tplatform_unit\tcenter\tlibrary"
    assert row == f"S2\tL1\t\t\t{folder}/s2.bam\t\t\t\t"


@pytest.mark.parametrize(
    "change",
    [
        *({"mapper": "bwa-mem2"}, {"bqsr": "none"}, {"quantize": [10, 20, 30]}, {"pcr_free": True}),
        {"reblock": True},
        *({"extra": {"haplotype_caller": "--min-pruning 3"}}, {"intervals": "/else/where.bed", "interval_padding": 50}),
    ],
    ids=str,
)
def test_choices_that_change_results_tell_settings_apart(folder, change):
    config = read(folder).config
    assert pool.settings_without_paths(config | change) != pool.settings_without_paths(config)


def test_settings_are_told_apart_by_what_makes_results(folder):
    before = pool.settings_without_paths(read(folder).config)
    assert before["reference"]["fasta"] == "genome.fa", "the folder does not count"
    assert before["filter"] == "hard", "a default and the same value written out are alike"
    assert not {"samples", "units", "leave_out"} & set(before)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"leave_out": [], "filter": "hard"}))
    assert pool.settings_without_paths(read(folder).config) == before
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"calling": "per_sample"}))
    assert pool.settings_without_paths(read(folder).config) != before


def test_spelling_out_every_default_leaves_the_settings_as_they_are(folder):
    """Those of keys within keys, and of training sets, too."""
    before = read(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(dict(before.config)))
    assert read(folder).config == before.config
    assert pool.settings_without_paths(read(folder).config) == pool.settings_without_paths(before.config)
    assert before.config["vqsr"]["snps"]["resources"]["hapmap"]["training"] is False


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda folder: (folder / "config.yaml").unlink(), "config.yaml: No such file or directory"),
        (lambda folder: (folder / "config.yaml").write_text("a: ["), "config.yaml: while parsing"),
        (lambda folder: (folder / "config.yaml").write_text("text"), "not a list of keys and values"),
        (lambda folder: (folder / "tables/samples.tsv").unlink(), "samples.tsv does not exist"),
        (lambda folder: (folder / "tables/units.tsv").write_text("name\n"), "units.tsv line 1: no tabs in the header"),
        (
            lambda folder: (folder / "tables/units.tsv").write_text("sample_name\tfq1\nS1\n"),
            "units.tsv line 1: column unit_name: missing",
        ),
        (lambda folder: (folder / "tables/units.tsv").write_bytes(b"\xff\n"), "is not a text file in UTF-8"),
    ],
)
def test_a_fault_is_one_line_with_its_place(folder, change, line):
    change(folder)
    with pytest.raises(StudyError) as error:
        read(folder)
    assert str(error.value).startswith("pipelines.germline: ")
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_only_a_comparison_of_conditions_needs_them(folder):
    assert not read(folder).needs_conditions
    tuxedo = pool.read_pool("tuxedo", Pool(str(folder), "config.yaml"))
    assert tuxedo.needs_conditions
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"stop_after": "quantify"}))
    assert not pool.read_pool("tuxedo", Pool(str(folder), "config.yaml")).needs_conditions
