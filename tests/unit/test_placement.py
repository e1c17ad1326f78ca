"""A study whose jobs Slurm places on nodes: which nodes, which runs, and figures without a common clock."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from recording import write_pool

from gpd.cluster import slurm
from gpd.execution import workflow
from gpd.lab import placement, runner, single_run, snakemake_process, study, study_plan
from gpd.lab.study import StudyError
from gpd.lab.study_file import read_study
from gpd.records.run_spec import CurveKey
from gpd.records.study import Sample
from gpd.tables import collect

# what Slurm 22.05 prints of a node of two CPUs, one of which it keeps from jobs
NODE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=1 CPUTot=2 CPULoad=17.11 AvailableFeatures=(null) "
    "NodeAddr=127.0.0.1 NodeHostName=vm Version=22.05.8 OS=Linux 6.1.0 #1 SMP  RealMemory=8000 AllocMem=0 FreeMem=158 "
    "Sockets=2 Boards=1 CoreSpecCount=1 CPUSpecList=1  State=IDLE ThreadsPerCore=1 Partitions=both,left  BootTime=x"
)
POOL = [Sample(f"S{number}") for number in range(1, 9)]
BEGIN, END = "2026-11-20T12:00:00Z", "2026-11-20T12:00:10Z"


def node(name: str, state: str = "IDLE", partitions: str = "both", cpus: int = 16) -> slurm.Node:
    line = NODE.replace("n1", name).replace("IDLE", state).replace("both,left", partitions)
    return slurm.read_node(line.replace("CPUEfctv=1", f"CPUEfctv={cpus}"))


def place(monkeypatch, *nodes: slurm.Node, profile: dict | None = None, most: int = 1) -> placement.Placement:
    monkeypatch.setattr(slurm, "nodes", lambda: list(nodes))
    monkeypatch.setattr(slurm, "default_partition", lambda: "both")
    return placement.find(profile or {}, most)


@pytest.fixture
def settings(tmp_path) -> Path:
    """The settings of a study of one sample at once on one node and on two."""
    pool = write_pool(tmp_path / "pool", 2)
    given = {"directory": str(tmp_path / "runs"), "concurrent_samples": [2], "repeats": 1, "warm_up": 0}
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "config.yaml").write_text("executor: slurm\n")
    given |= {"profiles": {"cluster": str(tmp_path / "profile")}}
    given |= {"modes": ["cluster"], "nodes": [1, 2], "pipelines": {"germline": {"directory": str(pool)}}}
    path = tmp_path / "throughput.yaml"
    path.write_text(yaml.safe_dump(given))
    return path


# ---- nodes -------------------------------------------------------------------------------------------


def test_a_node_is_read_off_what_slurm_shows():
    read = slurm.read_node(NODE)
    assert (read.name, read.partitions, read.usable, read.cpus) == ("n1", ("both", "left"), True, 1)
    host = read.host
    assert (host.node, host.partition, host.cores, host.threads, host.memory_mib) == ("n1", "both, left", 2, 2, 8000)


@pytest.mark.parametrize("state", ["MIXED", "ALLOCATED", "IDLE+CLOUD+POWERED_DOWN", "IDLE+RESERVED"])
def test_a_node_that_takes_jobs_now_or_later(state):
    assert node("n1", state).usable


@pytest.mark.parametrize("state", ["DOWN", "DOWN*", "IDLE*", "IDLE+DRAIN", "MIXED+DRAINING", "IDLE+NOT_RESPONDING"])
def test_a_node_that_takes_none(state):
    assert not node("n1", state).usable


def test_a_run_on_some_nodes_leaves_out_all_others(monkeypatch, tmp_path):
    found = place(monkeypatch, node("a", "DOWN"), node("b"), node("c"), node("x", partitions="other"), node("d"))
    assert [each.name for each in found.chosen(2)] == ["b", "c"]
    one, three = (found.confined(count, tmp_path) for count in (1, 3))
    assert one["slurm-exclude-failed-nodes"] == "c,d,a"
    assert three["slurm-exclude-failed-nodes"] == "a", "it may come back"
    assert one["slurm-jobname-prefix"] == placement.mark(tmp_path) != placement.mark(tmp_path / "other")


@pytest.mark.parametrize("given", [{"slurm_partition": "left"}, ["slurm_partition=left", "mem_mb=1"]])
def test_the_partition_is_the_profiles(monkeypatch, tmp_path, given):
    nodes = (node("a"), node("b", partitions="left"))
    found = place(monkeypatch, *nodes, profile={"executor": "slurm", "default-resources": given})
    assert [each.name for each in found.nodes] == ["b"]
    assert found.confined(1, tmp_path)["executor"] == "slurm"


def test_more_nodes_than_there_are_is_refused(monkeypatch):
    with pytest.raises(StudyError, match="nodes: 3 are more than the 2 of partition both that take jobs now"):
        place(monkeypatch, node("a"), node("b"), node("c", "DOWN"), most=3)


def test_nodes_of_two_kinds_are_refused_where_both_are_wanted(monkeypatch):
    nodes = (node("a"), node("b"), node("c", cpus=64))
    assert place(monkeypatch, *nodes, most=2).cores == 16
    with pytest.raises(StudyError, match="a has 16 CPUs, c has 64 CPUs"):
        place(monkeypatch, *nodes, most=3)


# ---- runs -------------------------------------------------------------------------------------------


def test_each_number_of_nodes_is_a_curve_and_a_run_has_the_cores_of_all(settings, monkeypatch):
    place(monkeypatch, node("a"), node("b"))
    plan = study_plan.make_plan(settings)
    found = {spec.name: (spec.curve_key, spec.nodes, spec.cores, spec.threads) for spec in plan.specs}
    assert found == {
        f"germline-n2-cluster{count}-compact-r1": (
            *(CurveKey("germline", "cluster", "compact", count), count, 16 * count, {}),
        )
        for count in (1, 2)
    }
    assert len({spec.samples for spec in plan.specs}) == 1, "the same samples, whatever the nodes"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"modes": ["cluster", "shared"]}, "modes: cluster stands alone in a study"),
        ({"cache": "warm"}, "cache: the page cache of other machines can't be made warm"),
    ],
)
def test_what_does_not_go_with_other_machines_is_refused(settings, changes, fault):
    settings.write_text(yaml.safe_dump(yaml.safe_load(settings.read_text()) | changes))
    with pytest.raises(StudyError, match=fault):
        study_plan.read(settings)


def test_other_modes_have_one_node(tmp_path, settings):
    own = read_study(settings)
    lines = study.curves(replace(own, modes=("shared", "independent")), "germline")
    assert {line.nodes for line in lines} == {1}


def test_a_run_has_its_nodes_in_its_profile(settings, monkeypatch, tmp_path):
    place(monkeypatch, node("a"), node("b"))
    plan = study_plan.make_plan(settings)
    (spec,) = (spec for spec in plan.specs if spec.nodes == 1)
    process = snakemake_process.Process(tmp_path / "run", spec.samples)
    snakemake_process.set_up(process, spec, runner._setup(plan, plan.sources["germline"], -1))
    written = workflow.read_profile(process.folder / "profile" / "config.yaml")
    mark = placement.mark(process.folder)
    assert written == {"executor": "slurm", "slurm-exclude-failed-nodes": "b", "slurm-jobname-prefix": mark}


def test_jobs_of_a_run_that_was_killed_end_before_its_run_is_run_again_and_so_where_it_breaks_off(
    settings, monkeypatch
):
    place(monkeypatch, node("a"), node("b"))
    plan = study_plan.make_plan(settings)
    ended = []
    monkeypatch.setattr(slurm, "end", ended.append)

    def break_off(*_):
        ended.append("broken off")
        raise KeyboardInterrupt

    monkeypatch.setattr(single_run, "_run", break_off)
    setup = runner._setup(plan, plan.sources["germline"], -1)
    with pytest.raises(KeyboardInterrupt):
        single_run.run(plan.specs[0], setup, lambda *_: None)
    mark = placement.mark(setup.folder / plan.specs[0].name)
    assert ended == [mark, "broken off", mark]


# ---- figures -----------------------------------------------------------------------------------------


def write_spec(folder: Path, spec, wall_s: float) -> None:
    """A run whose nodes' clocks are a day apart."""
    home = folder / spec.name
    home.mkdir(parents=True)
    lines = [
        {
            **{"schema": 1, "run": "run", "rule": "haplotype_caller", "step": "haplotype_caller"},
            **{"wildcards": {"sample": sample}, "threads": 1, "wall_s": 10.0, "cpu_s": 8.0, "exit_code": 0},
            **{"start": begin, "end": END, "message": None, "log": "x.log", "peak_rss_mib": 100.0},
            "host": host,
        }
        for sample, begin, host in zip(spec.samples, (BEGIN, BEGIN.replace("20T", "19T")), "ab", strict=True)
    ]
    (home / "ledger.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    record = {
        **{"schema": 1, "run": "run", "spec": spec.to_dict(), "start": BEGIN, "end": END, "wall_s": wall_s},
        "processes": [{"directory": ".", "samples": list(spec.samples), "exit_code": 0}],
        "nodes": [{"hostname": name, "node": name} for name in "ab"[: spec.nodes]],
    }
    (home / "run.json").write_text(json.dumps(record))


def test_no_duration_is_taken_across_two_nodes(settings, monkeypatch):
    place(monkeypatch, node("a"), node("b"))
    plan = study_plan.make_plan(settings)
    for spec in plan.specs:
        write_spec(plan.study.folder, spec, wall_s=100.0 if spec.nodes == 1 else 80.0)
    tables = collect.collect(plan.study.folder)
    runs = {run.nodes: run for run in tables.runs}
    assert {n: run.makespan_s for n, run in runs.items()} == {1: 100.0, 2: 80.0}, (
        "the clock of the machine that submits"
    )
    assert {n: run.host for n, run in runs.items()} == {1: "a", 2: "a, b"}
    assert {run.peak_memory_mib for run in tables.runs} == {None}
    assert {job.start_s for job in tables.jobs} == {sample.end_s for sample in tables.samples} == {None}
    assert {step.elapsed_h for step in tables.steps} == {None}
    assert {job.wall_s for job in tables.jobs} == {10.0}, "that is one node's own"
    assert {point.nodes: point.genomes_per_day.mean for point in tables.configurations} == {1: 1728.0, 2: 2160.0}
    assert {point.nodes: point.node_efficiency for point in tables.configurations} == {1: 1.0, 2: 0.625}
    assert (runs[1].cpu_utilisation, runs[2].cpu_utilisation) == pytest.approx((16 / 1600, 16 / 2560))
