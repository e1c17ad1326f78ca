"""A study's settings, its grid and its draws: all of it without running anything."""

import re
from collections import Counter
from dataclasses import fields, replace

import msgspec
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from snakemake_executor_plugin_pinned.launcher import cpu_choice, options
from snakemake_executor_plugin_pinned.launcher.options import convert_option
from snakemake_executor_plugin_pinned.settings import ExecutorSettings

from gpd.execution import workflow
from gpd.lab import study_runs
from gpd.lab.study_file import read_study
from gpd.lab.study_runs import StudyError
from gpd.pipelines import PIPELINES, share
from gpd.records.binding import (
    BOUNDARIES,
    MEMORIES,
    POLICIES,
    Binding,
    BindingName,
    describe_binding,
    is_binding,
)
from gpd.records.study import Pool, Sample

POOL = [Sample(f"S{n}") for n in range(1, 9)]


def read(tmp_path, text):
    path = tmp_path / "throughput.yaml"
    path.write_text(text)
    return read_study(path)


@pytest.fixture
def settings(tmp_path):
    return read(tmp_path, "pipelines: {germline: {}}\nconcurrent_samples: [1, 2, 4]\nrepeats: 2\n")


def test_what_is_left_out_has_its_default(settings):
    assert (settings.name, settings.repeats, settings.warm_up, settings.cache) == ("study", 2, 1, "as_is")
    assert settings.pipelines["germline"] == Pool(".", "config/config.yaml")
    usual = {"shared": "throughput", "independent": "published", "stream": "throughput"}
    assert settings.profiles == {mode: f"profiles/{name}" for mode, name in usual.items()}


def test_the_file_in_config_is_a_study():
    assert read_study(ROOT / "config/throughput.yaml").concurrent_samples == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pipelines: {exome: {}}", "pipelines.exome: pipelines of ours are germline and tuxedo: for your own set"),
        ("pipelines: {My-own: {workflow: Snakefile}}", "must be germline, tuxedo or both"),
        ("pipelines: {germline: {workflow: Snakefile}}", "germline is a pipeline of ours: give yours another name"),
        ("pipelines: {germline: {column: sample}}", "pipelines.germline: unknown: column; known are directory, config"),
        ("pipelines: {own: {workflow: Snakefile, colum: x}}", "pipelines.own: unknown: colum; known are directory"),
        ("pipelines: {germline: {confg: c}}", "pipelines.germline: unknown: confg; known are directory, config"),
        ("pipelines: {germline: {config: 'a{b'}}", "without braces or control characters"),
        ("pipelines: {}", "pipelines: {}: must be germline, tuxedo or both"),
        ("repeats: 2", "settings: pipelines is needed"),
        (
            "pipelines: {germline: {}}\nconcurrent_samples: []",
            "must be saturation or a list of whole numbers from 1",
        ),
        ("pipelines: {germline: {}}\nconcurrent_samples: [2, 2]", "concurrent_samples: [2, 2]: names one twice"),
        ("pipelines: {germline: {}}\nprofiles: {local: x}", "profiles: {'local': 'x'}: must be shared, independent"),
        ("pipelines: {germline: {}}\nthreads: {Align: 1}", "threads: {'Align': 1}: must be rules with a whole number"),
        ("pipelines: {germline: {}}\nprecision: .nan", "precision: nan: must be a number between 0 and 1"),
        ("pipelines: {germline: {}}\nsubsample: 0.05", "subsample: 0.05: must be {fraction: 0.05}, a number between"),
        ("pipelines: {germline: {}}\nsubsample: {fraction: 1.5}", "subsample: {'fraction': 1.5}: must be {fraction: 0"),
        (
            "pipelines: {germline: {}}\nsubsample: {fraction: 0.1, seed: 3}",
            "subsample: unknown: seed; known are fraction",
        ),
        ("pipelines: {germline: {}}\ncopies: 0", "copies: 0: must be a whole number from 1 to 1000"),
        ("pipelines: {germline: {}}\nkeep_results: 1", "keep_results: 1: must be true or false"),
        (
            "pipelines: {germline: {}}\nconcurrent_samples: [0]",
            "must be saturation or a list of whole numbers from 1",
        ),
        (
            "pipelines: {germline: {}}\nconcurrent_samples: all",
            "must be saturation or a list of whole numbers from 1",
        ),
        ("pipelines: {germline: {}}\nname: ../x", "name: '../x': must be a name of letters"),
        ("pipelines: {germline: {}}\nmodes: [parallel]", "modes: ['parallel']: must be a list of shared"),
        ("pipelines: {germline: {}}\nrepeats: 0", "repeats: 0: must be auto or a whole number from 1 to 1000"),
        ("pipelines: {germline: {}}\nrepeat: 3", "settings: unknown: repeat; known are name"),
        ("pipelines: [", "not YAML"),
        ("pipelines: {germline: {}}\nseed: 1\nname: x\nseed: 2", "line 4: 'seed' is given twice, first in line 2"),
        ("pipelines: {germline: {}}\nthreads: {align: 1, align: 2}", "line 2: 'align' is given twice, first in line 2"),
        ("- 1", "[1]: must be keys with values"),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path, text, line):
    with pytest.raises(StudyError) as error:
        read(tmp_path, text)
    assert str(tmp_path / "throughput.yaml") in str(error.value)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_key_that_an_alias_gives_is_not_given_twice(tmp_path):
    text = "pipelines: {germline: {}}\nthreads: {<<: &a {align: 1}, <<: {merge: 3}, align: 2}\n"
    assert read(tmp_path, text).threads == {"align": 2, "merge": 3}


BOTH_POLICIES = """
pipelines: {germline: {}}
bindings: [compact, {policy: compact, boundary: numa, memory: local}, {policy: scatter, memory: interleave}, none]
"""


def test_smt_is_part_of_a_configuration_in_every_mode(tmp_path):
    """With SMT as many threads at once as the cores have together: 12 of 8 cores, of which half have a second one."""
    text = "pipelines: {germline: {}}\nmodes: [shared, independent]\nsmt: [off, on]\nthreads_per_core: 1.5\n"
    settings = replace(read(tmp_path, text), concurrent_samples=(2,), repeats=1, warm_up=0)
    specs = study_runs.planned(settings, {"germline": POOL}, 8)
    assert {spec.name: (spec.curve_key.binding, spec.cores) for spec in specs} == {
        "germline-n2-shared-compact-nosmt-r1": ("compact-nosmt", 8),
        "germline-n2-shared-compact-smt-r1": ("compact-smt", 12),
        "germline-n2-independent-none-nosmt-r1": ("none-nosmt", 8),
        "germline-n2-independent-none-smt-r1": ("none-smt", 12),
    }
    assert {spec.cores: max(spec.threads.values()) for spec in specs if spec.mode == "shared"} == {8: 4, 12: 6}


def test_a_binding_is_a_policy_or_sets_boundary_and_memory_too(tmp_path):
    names = ("compact", "compact-numa-local", "scatter-interleave", "none")
    settings = read(tmp_path, BOTH_POLICIES)
    assert settings.bindings == names
    specs = study_runs.planned(replace(settings, concurrent_samples=(1,), repeats=1, warm_up=0), {"germline": POOL}, 8)
    assert {spec.name: spec.curve_key.binding for spec in specs} == {
        f"germline-n1-shared-{name}-r1": name for name in names
    }


@pytest.mark.parametrize(
    "binding",
    [
        "tight",
        "{boundary: numa}",
        "{policy: none, memory: local}",
        "{policy: compact, memory: near}",
        "{policy: compact, l3: 1}",
    ],
)
def test_what_is_no_binding_is_refused_in_one_line(tmp_path, binding):
    with pytest.raises(StudyError, match=r"bindings: .*: must be a list, each compact, scatter or none, or a") as error:
        read(tmp_path, f"pipelines: {{germline: {{}}}}\nbindings: [compact, {binding}]")
    assert "\n" not in str(error.value)


def test_bindings_have_the_launchers_names():
    assert set(POLICIES) == set(cpu_choice.POLICIES)
    assert set(BOUNDARIES) == set(cpu_choice.LEVELS)
    assert set(MEMORIES) == set(options.MEMORY_POLICIES)


def test_what_a_binding_leaves_out_is_as_the_executor_has_it():
    usual = {each.name: each.default for each in fields(ExecutorSettings)}
    found = {name: convert_option(name, usual[name]) for name in ("boundary", "memory", "smt")}
    assert Binding.parse(usual["binding"]).beside_policy == found
    variables = Binding.parse("scatter-numa-smt").variables
    assert variables == {
        **{"SNAKEMAKE_PINNED_BINDING": "scatter", "SNAKEMAKE_PINNED_BOUNDARY": "numa"},
        **{"SNAKEMAKE_PINNED_MEMORY": "default", "SNAKEMAKE_PINNED_SMT": "True"},
    }


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("none", {"policy": "none"}, "not bound to CPUs"),
        ("compact", {"policy": "compact"}, "compact binding"),
        ("scatter-local", {"policy": "scatter", "memory": "local"}, "scatter binding, memory local"),
        (
            "compact-l3-interleave",
            {"policy": "compact", "boundary": "l3", "memory": "interleave"},
            "compact binding, boundary l3, memory interleave",
        ),
        ("none-nosmt", {"policy": "none", "smt": False}, "not bound to CPUs, one thread a core"),
        ("compact-smt", {"policy": "compact", "smt": True}, "compact binding, all threads of a core"),
        (
            "scatter-numa-local-nosmt",
            {"policy": "scatter", "boundary": "numa", "memory": "local", "smt": False},
            "scatter binding, boundary numa, memory local, one thread a core",
        ),
    ],
)
def test_a_bindings_name_tells_all_that_it_sets(name, settings, told):
    assert Binding.parse(name).settings == settings
    assert Binding.parse(name).name == name
    assert describe_binding(name) == told


@pytest.mark.parametrize(
    "name",
    [
        "",
        "tight",
        "none-local",
        "compact-smt-local",
        "none-smt-x",
        "compact-local-l3",
        "compact-l3-local-x",
        "compact-",
    ],
)
def test_what_is_no_bindings_name_is_refused(name):
    assert not is_binding(name)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(name, BindingName)


def test_faults_are_all_told(tmp_path):
    with pytest.raises(StudyError) as error:
        read(tmp_path, "pipelines: {germline: {}}\nrepeats: 0\nwarm_up: -1\nrepeat: 1")
    assert [line.split(": ")[1] for line in str(error.value).splitlines()] == ["settings", "repeats", "warm_up"]


def test_the_grid_has_each_point_in_each_repeat_and_the_warm_up_first(settings):
    both = replace(settings, modes=("shared", "independent"), bindings=("compact", "scatter"))
    specs = study_runs.planned(both, {"germline": POOL}, 8)
    assert [spec.warm_up for spec in specs] == [True] + [False] * (len(specs) - 1)
    points = Counter((spec.n, spec.mode, spec.binding) for spec in specs[1:])
    assert points == {
        (n, mode, binding): 2
        for n in (1, 2, 4)
        for mode, binding in (("shared", "compact"), ("shared", "scatter"), ("independent", "none"))
    }
    assert len({spec.name for spec in specs}) == len(specs)
    assert all(re.fullmatch(r"[a-z0-9-]+", spec.name) for spec in specs)


def test_the_same_seed_gives_the_same_grid_and_another_seed_another(settings):
    pools = {"germline": POOL}
    assert study_runs.planned(settings, pools, 8) == study_runs.planned(settings, pools, 8)
    assert study_runs.planned(settings, pools, 8) != study_runs.planned(replace(settings, seed=2), pools, 8)


def test_the_order_within_a_repeat_is_not_that_of_n(settings):
    orders = {
        tuple(
            spec.n
            for spec in study_runs.planned(replace(settings, seed=seed, repeats=1, warm_up=0), {"germline": POOL}, 8)
        )
        for seed in range(20)
    }
    assert len(orders) == 6


def test_where_the_saturation_is_sought_no_run_is_known_beforehand(settings):
    assert study_runs.planned(replace(settings, concurrent_samples=()), {"germline": POOL}, 8) == []


def test_modes_and_bindings_of_a_repeat_draw_the_same_samples(settings):
    both = replace(settings, modes=("shared", "independent"))
    drawn = {}
    for spec in study_runs.planned(both, {"germline": POOL}, 8):
        drawn.setdefault((spec.n, spec.repeat), set()).add(spec.samples)
    assert all(len(samples) == 1 for samples in drawn.values())
    assert drawn[4, 1] != drawn[4, 2]


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=12), st.data())
def test_a_draw_is_of_different_samples_nested_and_even(conditions, data):
    pool = [Sample(f"S{n}", condition) for n, condition in enumerate(conditions)]
    n = data.draw(st.integers(1, len(pool)))
    drawn = study_runs.draw(pool, n, "seed")
    assert len(set(drawn)) == n
    assert drawn == study_runs.draw(pool[::-1], n, "seed"), "the order of the table does not matter"
    assert drawn == study_runs.draw(pool, len(pool), "seed")[:n]
    by_name = {sample.name: sample.condition for sample in pool}
    counts = Counter(by_name[name] for name in drawn)
    room = Counter(conditions)
    fewest = min(room, key=lambda name: counts[name])
    assert max(counts.values()) - counts[fewest] <= 1 or counts[fewest] == room[fewest]


def test_more_than_the_pool_cannot_be_drawn():
    with pytest.raises(StudyError, match="9 is more than the 8 samples"):
        study_runs.draw(POOL, 9, "seed")


def test_shared_runs_share_the_cores_and_independent_ones_take_the_profiles_threads(settings):
    assert study_runs.threads(settings, "shared", 2, 8)["map_and_sort"] == 4
    assert study_runs.threads(settings, "shared", 16, 8)["map_and_sort"] == 1
    assert study_runs.threads(settings, "independent", 2, 8) == {}
    assert study_runs.threads(replace(settings, threads={"map_and_sort": 3}), "shared", 2, 8)["map_and_sort"] == 3


def test_the_rules_of_a_pipeline_are_those_of_its_files():
    steps = [rule for step in PIPELINES["germline"].steps for rule in PIPELINES["germline"].rules_of(step)]
    assert set(steps) | {"bwa_index", "multiqc"} <= workflow.rules("germline")
    assert "align" not in workflow.rules("germline")
    assert {"align", "tophat2", "multiqc"} <= workflow.rules("tuxedo")


def test_the_rules_that_share_cores_exist():
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").rglob("*.smk"))
    assert all(f"\nrule {rule}:" in rules for rule in share(1, 1))
