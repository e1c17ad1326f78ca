"""`gpd run` chooses the profile by the cohort's size."""

import pytest
import yaml
from rich.console import Console

from gpd.commands import gpd_run
from gpd.execution import workflow
from gpd.machines import launcher


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


@pytest.mark.parametrize("cores", [1, 2, 3, 5])
def test_where_no_sample_has_two_cores_each_job_gets_one_thread(cores):
    assert gpd_run.choose_profile(3, cores) == (workflow.PROFILES / "throughput", [])


def test_fewer_samples_share_the_cores():
    profile, options = gpd_run.choose_profile(3, 64)
    assert profile == workflow.PROFILES / "default"
    assert options[0] == "--set-threads"
    assert {"map_and_sort=21", "mark_duplicates=13", "align=16"} <= set(options)


def test_where_samples_cannot_be_counted_the_workflow_says_why():
    assert gpd_run.choose_profile(None, 64) == (workflow.PROFILES / "default", [])


@pytest.fixture
def asked(monkeypatch):
    """What a run asks before it starts Snakemake: whether threads have hyperthreads, and how many samples it has."""
    found = {}
    monkeypatch.setattr(launcher, "usable_cores", lambda smt: found.update(smt=smt) or 4)
    monkeypatch.setattr(gpd_run, "choose_profile", lambda samples, cores: found.update(samples=samples) or stop())
    return found


def stop():
    raise StopIteration


def look(folder, *files):
    with pytest.raises(StopIteration):
        gpd_run.run("germline", folder, Console(), configfiles=files)


def test_later_files_replace_the_earlier_ones_tables(folder, asked):
    write_tables(folder, {}, "more.yaml", ["S1"])
    look(folder)
    assert asked["samples"] == 3
    look(folder, folder / "more.yaml")
    assert asked["samples"] == 1


def test_tables_that_cannot_be_read_are_left_to_the_workflow(folder, asked):
    (folder / "config/config.yaml.samples.tsv").unlink()
    look(folder)
    assert asked == {"samples": None, "smt": False}


@pytest.mark.parametrize(
    ("profile", "typed", "smt"),
    [
        ("", [], False),
        ("pinned-smt: 1", [], True),
        ("pinned-smt: false", [], False),
        ("", ["--pinned-smt", "1"], True),
        ("pinned-smt: 1", ["--pinned-smt=0"], False),
    ],
)
def test_a_run_takes_hyperthreads_where_threads_are_allocated_them(folder, asked, profile, typed, smt):
    (folder / "config.yaml").write_text(f"executor: pinned\n{profile}\n")
    usable = []

    def look_at(smt):
        usable.append(smt)
        stop()

    with pytest.MonkeyPatch.context() as patch, pytest.raises(StopIteration):
        patch.setattr(launcher, "usable_cores", look_at)
        gpd_run.run("germline", folder, Console(), profile=folder, extra=typed)
    assert usable == [smt]
