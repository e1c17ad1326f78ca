"""`gpd run` chooses the profile by the cohort's size."""

import pytest
import yaml

from gpd import cohort, workflow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump({"samples": "tables/s.tsv"}))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/s.tsv").write_text("sample_name\nS1\nS2\nS3\n")
    return tmp_path


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_a_sample_for_each_core_gives_each_job_one_thread(folder, cores):
    assert cohort.choose_profile(folder, [], cores) == (workflow.PROFILES / "throughput", [])


def test_fewer_samples_share_the_cores(folder):
    profile, options = cohort.choose_profile(folder, [], 64)
    assert profile == workflow.PROFILES / "default"
    assert options[0] == "--set-threads"
    assert {"map_and_sort=21", "mark_duplicates=13", "align=16"} <= set(options)


def test_later_files_replace_the_earlier_ones_tables(folder):
    (folder / "one.tsv").write_text("sample_name\nS1\n")
    (folder / "more.yaml").write_text(yaml.safe_dump({"samples": "one.tsv"}))
    _, options = cohort.choose_profile(folder, [folder / "config/config.yaml", folder / "more.yaml"], 4)
    assert "map_and_sort=4" in options


def test_where_samples_cannot_be_counted_the_workflow_says_why(folder):
    (folder / "tables/s.tsv").unlink()
    assert cohort.choose_profile(folder, [], 64) == (workflow.PROFILES / "default", [])
