"""`gpd run` chooses the profile by the cohort's size."""

import pytest
import yaml

from gpd import cohort, workflow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config").mkdir()
    config = {"reference": {"fasta": "g.fa"}, "known_sites": ["k.vcf"]}
    write_tables(tmp_path, config, "config/config.yaml", ["S1", "S2", "S3"])
    return tmp_path


def write_tables(folder, config, path, samples):
    """A configuration, and tables of their own beside it."""
    tables = {name: f"{path}.{name}.tsv" for name in ("samples", "units")}
    (folder / path).write_text(yaml.safe_dump(config | tables))
    (folder / tables["samples"]).write_text("".join(f"{name}\n" for name in ("sample_name", *samples)))
    rows = [f"{name}\tL1\t{name}.fq\n" for name in samples]
    (folder / tables["units"]).write_text("".join(["sample_name\tunit_name\tfq1\n", *rows]))


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_a_sample_for_each_core_gives_each_job_one_thread(folder, cores):
    assert cohort.choose_profile(folder, [], cores, "germline") == (workflow.PROFILES / "throughput", [])


def test_fewer_samples_share_the_cores(folder):
    profile, options = cohort.choose_profile(folder, [], 64, "germline")
    assert profile == workflow.PROFILES / "default"
    assert options[0] == "--set-threads"
    assert {"map_and_sort=21", "mark_duplicates=13", "align=16"} <= set(options)


def test_later_files_replace_the_earlier_ones_tables(folder):
    write_tables(folder, {}, "more.yaml", ["S1"])
    _, options = cohort.choose_profile(folder, [folder / "more.yaml"], 4, "germline")
    assert "map_and_sort=4" in options


def test_where_samples_cannot_be_counted_the_workflow_says_why(folder):
    (folder / "config/config.yaml.samples.tsv").unlink()
    assert cohort.choose_profile(folder, [], 64, "germline") == (workflow.PROFILES / "default", [])
