"""Which runs a scaling study has, in which order, and how long they take: all of it without running anything."""

import re
from dataclasses import replace
from statistics import median

import pytest
import recorded_studies
import yaml
from conftest import ROOT, planned_jobs, tiny_cohort
from hypothesis import given
from hypothesis import strategies as st
from subcommands import gpd

from gpd.execution import snakemake_log
from gpd.execution.snakemake_log import PlannedJob
from gpd.lab import earlier_runs
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.machines import launcher, topology
from gpd.pipelines import PIPELINES
from gpd.records.run import read_run
from gpd.records.run_spec import ALONE, FULL
from gpd.records.study import Pool, Study
from gpd.scaling import scaling_plan
from gpd.scaling.scaling_plan import Node, Options, Step

BOTH = (ALONE, FULL)
RULE = re.compile(r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:\n(.*?)(?=^rule |^\S|\Z)", re.MULTILINE | re.DOTALL)
STEP = re.compile(r'^        pinned_step="(\w+)"', re.MULTILINE)


def step(name="haplotype_caller", uses_threads=True, mem_mb=6000, thread_counts=range(1, 129)):
    return Step("germline", name, ("S1",), (f"results/{name}/S1",), uses_threads, dict.fromkeys(thread_counts, mem_mb))


def options(**changes):
    fixed = {"steps": ("all",), "threads": (), "bindings": ("compact",), "occupancies": BOTH, "repeats": 3, "seed": 1}
    return Options(**fixed | changes)


def grid(options, steps, node):
    return scaling_plan.specs(options, steps, node, "scaling")


@pytest.fixture(scope="module")
def epyc():
    """A node of two sockets of 64 cores."""
    policy = topology.Policy(threads=1, binding="compact", boundary="l3", smt=False)
    layout = launcher.lay_out(policy, ROOT / "resources/topologies/epyc-2x64.xml")
    return Node(len(layout.cores), 1_000_000)


# ---- what a node holds -------------------------------------------------------------------------------


def test_no_run_asks_for_more_than_two_sockets_of_64_cores_have(epyc):
    specs, left_out = grid(options(threads=(1, 13, 64, 128, 192, 256)), [step()], epyc)
    assert epyc.cores == 128
    assert {(spec.step.threads, spec.step.copies) for spec in specs if spec.step.occupancy == FULL} == {
        *((1, 128), (13, 9), (64, 2), (128, 1))
    }
    assert all(spec.step.threads * spec.step.copies <= 128 for spec in specs)
    assert {spec.step.copies for spec in specs if spec.step.occupancy == ALONE} == {1}
    assert left_out == ["haplotype_caller: 192, 256 threads are more than the node's 128 cores"]


def test_thread_counts_none_of_which_the_node_has_are_refused_in_one_line():
    with pytest.raises(StudyError) as error:
        scaling_plan.refuse_too_many(options(threads=(64, 128)), Node(2, 8000))
    assert str(error.value) == "--threads 64, 128: more than the 2 cores that may be used here: name fewer"
    for threads in ((), (2, 64)):
        scaling_plan.refuse_too_many(options(threads=threads), Node(2, 8000))


def test_scaling_run_with_more_threads_than_there_are_ends_with_2(tmp_path, monkeypatch):
    tiny_cohort(tmp_path, ("S1",), lanes=1).write()
    monkeypatch.setattr(launcher, "usable_cores", lambda smt: 2)
    words = ["scaling", "run", "--directory", str(tmp_path), "--threads", "64", "--folder", str(tmp_path / "runs")]
    done = gpd(*words)
    assert done.exit_code == 2
    assert done.stderr == "gpd scaling run: --threads 64: more than the 2 cores that may be used here: name fewer\n"
    assert not (tmp_path / "runs").exists()


def test_thread_counts_are_powers_of_two_and_all_cores_where_none_are_named(epyc):
    assert scaling_plan.thread_counts((), epyc.cores) == (1, 2, 4, 8, 16, 32, 64, 128)
    assert scaling_plan.thread_counts((), 24) == (1, 2, 4, 8, 16, 24)
    assert scaling_plan.thread_counts((), 1) == (1,)
    assert scaling_plan.thread_counts((4, 2, 4), 8) == (2, 4)


@pytest.mark.deep
@given(
    cores=st.integers(1, 256),
    mem_mb=st.integers(1000, 2_000_000),
    wanted=st.sets(st.integers(1, 300), max_size=5),
    job_mb=st.integers(0, 70_000),
)
def test_a_run_never_overfills_its_node(cores, mem_mb, wanted, job_mb):
    specs, _ = grid(
        options(threads=tuple(wanted)), [step(mem_mb=job_mb, thread_counts=range(1, 301))], Node(cores, mem_mb)
    )
    for spec in specs:
        assert spec.step.threads * spec.step.copies <= cores
        assert spec.step.copies == 1 or spec.step.copies * job_mb <= mem_mb, (
            "one alone gets what there is, as from Snakemake"
        )


def test_memory_holds_fewer_copies_than_cores_do_and_that_is_said():
    specs, left_out = grid(options(threads=(1, 4)), [step()], Node(16, 20_000))
    assert {(spec.step.threads, spec.step.copies) for spec in specs if spec.step.occupancy == FULL} == {(1, 3), (4, 3)}
    assert left_out == [
        f"haplotype_caller: the node's 20000 MB of memory hold 3 of {most} copies of {threads} threads: each wants "
        "6000 MB"
        for threads, most in ((1, 16), (4, 4))
    ]


def test_a_step_of_one_thread_is_measured_over_occupancy_alone():
    specs, left_out = grid(options(), [step("base_recalibration", uses_threads=False)], Node(8, 64_000))
    assert {(spec.step.threads, spec.step.occupancy, spec.step.copies) for spec in specs} == {
        (1, ALONE, 1),
        (1, FULL, 8),
    }
    assert left_out == [
        "base_recalibration: its tools use one thread alone: one number of threads, alone and on a fully loaded node"
    ]


def test_scattered_any_step_has_all_thread_counts():
    specs, _ = grid(options(scatter="auto"), [step("base_recalibration", uses_threads=False)], Node(4, 64_000))
    assert {spec.step.threads for spec in specs} == {1, 2, 4}
    assert all("-shards_auto-" in spec.name for spec in specs)


# ---- the order ---------------------------------------------------------------------------------------


def test_each_point_is_in_each_repeat_and_a_warm_up_of_each_step_comes_first():
    steps = [step("map_and_sort"), step()]
    specs, _ = grid(options(bindings=("compact", "scatter-numa-local")), steps, Node(4, 64_000))
    assert [(spec.step.name, spec.step.threads, spec.step.occupancy) for spec in specs if spec.warm_up] == [
        *(("map_and_sort", 4, ALONE), ("haplotype_caller", 4, ALONE))
    ]
    assert [spec.warm_up for spec in specs] == [True] * 2 + [False] * (2 * 3 * 2 * 2 * 3)
    for repeat in (1, 2, 3):
        own = [(spec.step, spec.binding) for spec in specs if spec.repeat == repeat]
        assert len(set(own)) == len(own) == 2 * 3 * 2 * 2
    assert len({spec.name for spec in specs}) == len(specs)
    assert all(re.fullmatch(r"[a-z0-9_-]+", spec.name) for spec in specs)


def test_the_order_of_a_repeat_is_shuffled_and_follows_from_the_seed():
    def order(seed, repeat):
        specs, _ = grid(options(seed=seed), [step()], Node(8, 64_000))
        return [(spec.step.threads, spec.step.occupancy) for spec in specs if spec.repeat == repeat]

    assert order(1, 1) == order(1, 1)
    assert len({tuple(order(seed, 1)) for seed in range(20)}) > 15
    assert len({tuple(order(1, repeat)) for repeat in (1, 2, 3)}) == 3
    assert sorted(order(1, 1)) == sorted(order(2, 1))


# ---- with runs that have ended ----------------------------------------------------------------------


def planned(folder, specs):
    settings = Study(name=folder.name, directory=str(folder.parent), pipelines={"germline": Pool()})
    return StudyState(StudyPlan(settings, {}, cores=16, steps=tuple(specs)))


def recorded_runs(**changes):
    return [replace(spec, **changes) for spec in recorded_studies.script("scaling").specs()]


def test_another_seed_changes_no_run_but_its_place(monkeypatch):
    script = recorded_studies.script("scaling")
    monkeypatch.setattr(script, "OPTIONS", tuple(replace(one, seed=2) for one in script.OPTIONS))
    earlier_runs.refuse_changed(planned(recorded_studies.study("scaling"), script.specs()))


def test_a_finished_run_that_would_be_another_now_is_refused():
    folder = recorded_studies.study("scaling")
    with pytest.raises(StudyError, match=r"was run with another (samples and cores|cores and samples)") as error:
        earlier_runs.refuse_changed(planned(folder, recorded_runs(samples=("S2",), cores=17)))
    assert "another --folder" in str(error.value)


def test_seconds_are_told_of_what_was_measured_and_of_nothing_else():
    folder, specs = recorded_studies.study("scaling"), recorded_runs()
    walls: dict[tuple, list[float]] = {}
    for path in folder.glob("*/run.json"):
        record = read_run(path)
        walls.setdefault(record.spec.step.setting, []).append(record.wall_s)
    of_both_bindings = [spec for spec in specs if spec.step.threads == 16 and spec.step.occupancy == FULL]
    assert len({spec.binding for spec in of_both_bindings}) == 2
    told = planned(folder, specs).estimates_s(specs)
    assert told == [median(walls[spec.step.setting]) for spec in specs]
    never = replace(specs[0], step=replace(specs[0].step, threads=3))
    assert planned(folder, specs).estimates_s([never]) == [None]


def test_the_throughput_report_refuses_runs_of_single_steps():
    done = gpd("report", recorded_studies.study("scaling"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "its runs are single steps: gpd scaling run writes their tables and report" in done.stderr


# ---- what is asked for -------------------------------------------------------------------------------


def test_steps_are_chosen_by_name_in_the_pipelines_order():
    there = ["map_and_sort", "mark_duplicates", "haplotype_caller"]
    assert scaling_plan.chosen_steps("germline", ["haplotype_caller", "map_and_sort"], there) == [there[0], there[2]]
    assert scaling_plan.chosen_steps("germline", ["all"], there) == there


@pytest.mark.parametrize(
    ("names", "output"),
    [
        (["exome"], "--step exome: steps of germline are map_and_sort, mark_duplicates, .*, or all"),
        (["realign_indels"], "--step realign_indels: not run with this configuration, which has map_and_sort"),
    ],
)
def test_a_step_that_is_not_there_is_refused(names, output):
    with pytest.raises(StudyError, match=output):
        scaling_plan.chosen_steps("germline", names, ["map_and_sort"])


@pytest.mark.parametrize("text", ["0", "a", "1,,2", "1.5", "-1"])
def test_what_is_no_thread_count_is_refused(text):
    with pytest.raises(StudyError, match=f"--threads {text}: .* is no whole number from 1"):
        scaling_plan.numbers_of(text)


def test_words_of_the_command_line():
    assert (scaling_plan.numbers_of(""), scaling_plan.numbers_of("4,1, 2,4")) == ((), (1, 2, 4))
    assert scaling_plan.bindings_of("compact, scatter-numa,compact") == ("compact", "scatter-numa")
    assert [scaling_plan.scatter_of(text) for text in ("none", "auto", "3")] == ["none", "auto", "3"]
    with pytest.raises(StudyError, match="--bindings tight: 'tight' is no binding: compact, scatter, none"):
        scaling_plan.bindings_of("tight")
    with pytest.raises(StudyError, match="--scatter 0: must be none, auto or a number"):
        scaling_plan.scatter_of("0")


# ---- steps as the workflow has them ------------------------------------------------------------------


def test_a_step_makes_what_its_rules_make_and_asks_for_the_most_of_its_jobs():
    def jobs(threads):
        return [
            PlannedJob("base_recalibrator", ("a.table",), threads, 4000),
            PlannedJob("base_recalibration", ("a.bam", "a.bai"), threads, 4000 * threads),
            PlannedJob("samtools_stats", ("a.txt",), 1, 1000),
        ]

    config = {"pipeline": "germline", "gatk": "gatk4", "realigner": "none", "duplicates": "sambamba"}
    (found,) = scaling_plan.steps_of({1: jobs(1), 2: jobs(2)}, ("S1",), config)
    assert found == Step(
        "germline", "base_recalibration", ("S1",), ("a.table", "a.bam", "a.bai"), False, {1: 4000, 2: 8000}
    )


MODELLED_BY = ("variant_recalibration", "train_variant_annotations")  # one of them, by the filter


def rules_by_step(pipeline):
    """The rules of each step, by what they tell the executor; local ones are no step's."""
    found: dict[str, set[str]] = {}
    rules = ROOT / "workflow/rules"
    for path in (rules / "trim.smk", *rules.glob(f"{pipeline}*/*.smk")):
        for rule, body in RULE.findall(path.read_text()):
            if "    localrule: True" not in body:
                told = STEP.search(body)
                own = MODELLED_BY if "pinned_step=modelled_by" in body else [told[1] if told else rule]
                own = [PIPELINES[pipeline].steps[0]] if "pinned_step=first_step" in body else own
                for step in own:
                    found.setdefault(step, set()).add(rule)
    return found


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=lambda pipeline: pipeline.name)
def test_the_rules_of_a_step_are_those_that_the_workflow_has(pipeline):
    there = rules_by_step(pipeline.name)
    for step_name in pipeline.steps:
        assert there[step_name] == set(pipeline.rules_of(step_name))


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=lambda pipeline: pipeline.name)
def test_the_steps_that_use_threads_have_tools_that_are_given_some(pipeline):
    """By the commands of their rules; the choices that a configuration makes are those of its schema."""
    files = (ROOT / "workflow/rules").glob(f"{pipeline.name}*/*.smk")
    rules = [(str(path), rule, body) for path in files for rule, body in RULE.findall(path.read_text())]
    keys = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())["properties"]
    for (key, value), steps in pipeline.threaded.items():
        assert value in keys[key]["enum"]
        for name in steps:
            bodies = [body for path, rule, body in rules if value in path + body and rule in pipeline.rules_of(name)]
            assert any(
                re.search(r'-\w*(t|p|nct|nt|threads) (\{threads\}|@threads|"\$threads")', body) for body in bodies
            ), name


@pytest.mark.deep
def test_a_dry_run_of_the_workflow_names_every_steps_outputs(tmp_path):
    ran = tiny_cohort(tmp_path, samples=("S1",), lanes=2).snakemake("--dry-run", "results")
    jobs = snakemake_log.planned_jobs(ran.lines)
    assert {rule: sum(job.rule == rule for job in jobs) for rule in ("map_and_sort", "haplotype_caller")} == {
        rule: planned_jobs(ran)[rule] for rule in ("map_and_sort", "haplotype_caller")
    }
    (calls,) = [job for job in jobs if job.rule == "haplotype_caller"]
    assert calls.outputs == tuple(f"results/haplotype_caller/S1.g.vcf.gz{end}" for end in ("", ".tbi"))
    assert calls.mem_mb == 6000
