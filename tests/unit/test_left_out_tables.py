"""Samples that are left out: what the tables say, what an experiment loses, whom a cohort goes on without."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, script
from recording import attempt, write_pool

from gpd.commands import gpd_run
from gpd.execution import configuration
from gpd.lab import pool
from gpd.pipelines import PIPELINES

tables = script(ROOT / "workflow/scripts/checks/tables.py")
SCHEMAS = tables.SCHEMAS
design = script(ROOT / "workflow/scripts/tuxedo/design.py")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(write_pool(tmp_path, 3))
    return tmp_path


def configured(**settings):
    return {**yaml.safe_load(Path("config/config.yaml").read_text()), **settings}


def read(names):
    return tables.read_cohort(configured(leave_out=names), SCHEMAS)


def test_a_sample_that_is_left_out_is_in_neither_table(folder):
    cohort = read(["S2"])
    assert cohort.errors == []
    assert [row["sample_name"] for row in cohort.samples] == list(cohort.units) == ["S1", "S3"]
    assert [row["sample_name"] for row in cohort.left_out] == ["S2"]


@pytest.mark.parametrize(
    ("names", "output"),
    [
        (["S4"], "config: leave_out: S4 is not in the table of samples; did you mean S3?"),
        (["S1", "S2", "S3"], "config: leave_out: names every sample: nothing is left to run"),
        (["S1", "S1"], "config: leave_out: ['S1', 'S1'] has non-unique elements"),
        ("S1", "config: leave_out: expected list, got 'S1'"),
    ],
    ids=["unknown", "all", "twice", "no list"],
)
def test_what_cannot_be_left_out_is_refused(folder, names, output):
    assert output.split("; did")[0] in read(names).errors[0]
    assert len(read(names).errors) == 1


def test_a_condition_that_loses_all_its_samples_is_refused():
    rows = [{"sample_name": name, "condition": name[0]} for name in ("A1", "B1", "C1")]
    units = {name: {} for name in ("A1", "B1")}
    groups = design.conditions(units, rows[:2])
    compared = {"stop_after": "visualize", "contrasts": [], "cuffdiff": {"dispersion_method": "pooled"}}
    counted = {"stop_after": "quantify"}
    (error,) = design.errors(compared, units, groups, rows[2:])
    assert error.startswith("samples.tsv: condition C: all its samples are left out (C1)")
    assert design.errors(counted, units, groups, rows[2:]) == []
    assert design.errors(compared, units, groups) == []


def test_a_study_draws_none_that_is_left_out_and_its_runs_do_not_name_them(folder, tmp_path):
    (folder / "config/config.yaml").write_text(yaml.safe_dump(configured(leave_out=["S2"])))
    source = pool.read_source(folder, folder / "config/config.yaml")
    assert [member.name for member in source.members] == ["S1", "S3"]
    source.lay_out(["S1"], tmp_path / "run")
    assert yaml.safe_load((tmp_path / "run/config/config.yaml").read_text())["leave_out"] == []
    plain = pool.settings_without_paths(source.config)
    assert pool.settings_without_paths({**source.config, "leave_out": [], "failed_samples": "drop"}) == plain
    assert pool.settings_without_paths({**source.config, "failed_samples": "drop_on_quality"}) != plain


def test_whose_quality_fails_is_dropped_where_that_is_asked_for(folder):
    cohort = configuration.read([folder / "config/config.yaml"], folder)
    gate = replace(attempt("qc", "S2", exit_code=1), rule="quality_gate")
    for policy, names in (("stop", []), ("stop_on_quality", []), ("drop_on_quality", ["S2"])):
        cohort.config["failed_samples"] = policy
        assert (
            gpd_run.dropped(PIPELINES["germline"].steps, [gate, attempt("qc", "S1", exit_code=1)], cohort, ()) == names
        )


FAILED = attempt("map_and_sort", "S2", exit_code=1)


@pytest.mark.parametrize(
    ("attempts", "typed", "names"),
    [
        ([FAILED], (), []),
        ([FAILED], ("failed_samples=drop",), ["S2"]),
        ([FAILED], ("failed_samples=drop_on_quality",), ["S2"]),
        ([FAILED], ("failed_samples=drop", "leave_out=[S3]"), ["S2", "S3"]),
        ([FAILED], ("failed_samples=drop", "leave_out=[S1,S3]"), []),  # nobody is whole
        ([FAILED, attempt("map_and_sort", "S2", exit_code=0)], ("failed_samples=drop",), []),  # the retry went well
        ([attempt("qc", "S2", exit_code=1)], ("failed_samples=drop",), []),  # holds up no step
        ([replace(attempt("qc", "S2", exit_code=1), rule="sex_check")], ("failed_samples=drop",), ["S2"]),
        ([attempt("genotype_gvcfs", "cohort", exit_code=1)], ("failed_samples=drop",), []),
        ([attempt("merge", "", exit_code=1)], ("failed_samples=drop",), []),
    ],
)
def test_whom_a_cohort_goes_on_without(folder, attempts, typed, names):
    cohort = configuration.read([folder / "config/config.yaml"], folder)
    assert gpd_run.dropped(PIPELINES["germline"].steps, attempts, cohort, typed) == names
