"""`gpd throughput plan|run` and `gpd report`, with runs that are made up."""

import csv
import io
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
import yaml
from made_up import BEGIN, Lab, write_run
from recording import write_pool
from rich.console import Console
from subcommands import gpd

from gpd.commands import gpd_report, throughput_display
from gpd.lab import preparation, single_run, study_plan, study_state
from gpd.lab import study_runs as study_of_runs
from gpd.lab.study_file import read_study
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.records.study import Pool, Sample, Study, read_study_record
from gpd.statistics.saturation import Observation
from gpd.tables.collect import CollectError

pytestmark = pytest.mark.usefixtures("drawn_once")

WALL_S = 60.0  # of each run


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A study of four samples on two cores; each run takes a minute, its jobs 10 s of that."""
    made = Lab(tmp_path, monkeypatch, cores=2, repeats=2, name="first", concurrent_samples=[1, 4])
    write_pool(tmp_path / "pool", 4)
    made.wall_s = WALL_S
    return made


@pytest.fixture
def study(lab):
    """Write the settings, with changes; their file."""
    return lab.write


def shown(plan):
    console = Console(file=io.StringIO(), width=120, color_system=None)
    throughput_display.show_plan(plan, console)
    return console.file.getvalue()


# ---- plan --------------------------------------------------------------------------------------------


def test_the_plan_is_the_grid_and_how_long_it_takes(study):
    plan = study_plan.make_plan(study())
    write_run(plan.study.folder, plan.specs[0], wall_s=WALL_S)
    text = shown(plan)
    assert text.startswith("Study first: 2 cores, seed 1")
    points = {line.split()[7]: [word for word in line.split() if word != "│"] for line in text.splitlines()[4:6]}
    finished = {str(plan.specs[0].n): "1"}
    assert points == {
        "1": ["germline", "shared", "compact", "1", "2", finished.get("1", "0"), points["1"][-1]],
        "4": ["germline", "shared", "compact", "4", "2", finished.get("4", "0"), points["4"][-1]],
    }
    assert "germline: a pool of 4 samples\n" in text
    assert text.splitlines()[-1].startswith("3 runs are left, about 0:0")


def test_what_is_left_is_summed_over_runs(study):
    plan = study_plan.make_plan(study())
    one = next(spec for spec in plan.specs if spec.n == 1)
    write_run(plan.study.folder, one, wall_s=WALL_S)
    # one of N = 1 at 60 s, two of N = 4 in proportion
    assert shown(plan).splitlines()[-1] == f"3 runs are left, about {timedelta(seconds=60 + 2 * 240)}"
    for spec in plan.specs:
        if spec != one:
            write_run(plan.study.folder, spec, wall_s=WALL_S)
    assert shown(plan).splitlines()[-1] == "nothing is left to run"


def write_reads(folder):
    """The read files of a pool, which its tables name."""
    for row in csv.DictReader((folder / "config/units.tsv").open(), delimiter="\t"):
        (folder / row["fq1"]).write_text("".join(f"@r{at}\nACGT\n+\nIIII\n" for at in range(400)))


def test_a_plan_says_what_is_measured_and_what_it_takes_to_make_it(study, tmp_path):
    write_reads(tmp_path / "pool")
    text = " ".join(shown(study_plan.make_plan(study(subsample={"fraction": 0.05}, copies=4))).split())
    assert "germline: a pool of 16 samples, 4 samples of each genome, as copies of its files" in text
    assert "measured on 5% of the reads of each sample; 16 files of reads to be made once: about 0.0" in text
    assert "GB of disk, about 0:00:0" in text
    assert not (tmp_path / "runs").exists()


@pytest.mark.deep
def test_a_share_of_the_reads_is_never_called_a_genome(study, tmp_path):
    write_reads(tmp_path / "pool")
    settings = study(subsample={"fraction": 0.05}, copies=2, concurrent_samples=[6])
    ran = gpd("throughput", "run", settings)
    assert ran.exit_code == 0, ran.output
    printed = " ".join(ran.stdout.split())
    assert "germline: reads of the pool" in printed
    assert "on 5% of the reads of each sample; 2 samples of each genome, as copies of its files" in printed
    assert "samples/day" in printed and "genomes/day" not in printed and "human" not in printed
    page = (tmp_path / "runs/first/report.html").read_text()
    assert "samples a day on 5% of the reads of each sample" in page
    assert "genomes a day" not in page.partition("Published")[0]
    (row,) = csv.DictReader((tmp_path / "runs/first/tables/configurations.tsv").open(), delimiter="\t")
    assert (row["fraction"], row["samples_per_genome"], row["human_30x_per_day_mean"]) == ("0.05", "2", "")
    assert len({path.stat().st_ino for path in (tmp_path / "runs/first/reads").rglob("*.fq")}) == 8
    again = gpd("throughput", "run", settings)
    assert again.exit_code == 0 and "reads of the pool" not in again.stdout
    other = study(subsample={"fraction": 0.1}, copies=2, concurrent_samples=[6])
    assert "was run with another fraction: give the study another name" in gpd("throughput", "run", other).output


@pytest.mark.parametrize(
    ("samples", "bam", "refused"),
    [
        (
            ["S1", "S1.copy2"],
            "",
            "copies: S1.copy2 is a sample in the pool of germline, and a copy's name: rename that",
        ),
        (["S1"], "s.bam", "copies: alignments of germline that are kept name their samples: set bam_input: remap"),
    ],
)
def test_copies_that_cannot_be_are_refused_in_one_line(study, tmp_path, samples, bam, refused):
    settings, pool = study(copies=2, concurrent_samples=[1]), tmp_path / "pool/config"
    config = yaml.safe_load((pool / "config.yaml").read_text())
    (pool / "config.yaml").write_text(yaml.safe_dump(config | {"bam_input": "keep"}))
    (pool / "samples.tsv").write_text("\n".join(["sample_name", *samples]) + "\n")
    rows = [f"{sample}\tL1\t" + (f"\t\t{bam}" if bam else f"{sample}_1.fq\t{sample}_2.fq\t") for sample in samples]
    (pool / "units.tsv").write_text("\n".join(["sample_name\tunit_name\tfq1\tfq2\tbam", *rows]) + "\n")
    with pytest.raises(StudyError) as error:
        study_plan.make_plan(settings)
    assert refused in str(error.value) and len(str(error.value).splitlines()) == 1, str(error.value)


def test_nothing_is_known_before_the_first_run(study):
    lines = shown(study_plan.make_plan(study())).splitlines()
    assert lines[-1] == "how long it takes shows when the first runs have ended"


def test_of_a_search_the_runs_are_known_that_follow_from_those_that_ended(study):
    lines = shown(study_plan.make_plan(study(concurrent_samples="saturation"))).splitlines()
    rows = [[word for word in line.split() if word != "│"] for line in lines if line.startswith("│")]
    assert rows == [["germline", "shared", "compact", "1", "1", "0"]]
    assert lines[-2:] == [
        "germline: a pool of 4 samples; N is sought with single runs, and then measured in one shuffled block",
        "how long it takes shows when the first runs have ended",
    ]


def test_the_plan_as_json(study, tmp_path):
    path = study(modes=["shared", "independent"])
    plan = study_plan.make_plan(path)
    shared = next(spec for spec in plan.specs if (spec.n, spec.mode) == (4, "shared"))
    write_run(plan.study.folder, shared, wall_s=100.0)
    ran = gpd("throughput", "plan", path, "--json")
    assert ran.exit_code == 0
    told = json.loads(ran.stdout)
    points = told.pop("configurations")
    of_study = {"study": "first", "folder": str(tmp_path / "runs/first"), "cores": 2, "pools": {"germline": 4}}
    assert told == of_study | {"fraction": 1.0, "copies": 1}
    assert points == [
        {"pipeline": "germline", "n": n, "mode": mode, "binding": binding, "runs": 2, **known}
        for n, mode, binding, known in (
            (1, "independent", "none", {"finished": 0, "estimate_s": None}),
            (1, "shared", "compact", {"finished": 0, "estimate_s": 100.0}),
            (4, "independent", "none", {"finished": 0, "estimate_s": None}),
            (4, "shared", "compact", {"finished": 1, "estimate_s": 100.0}),
        )
    ]


@pytest.mark.deep
@pytest.mark.parametrize("subcommand", ["plan", "run"])
def test_threads_of_a_rule_that_there_is_not_are_refused_in_one_line(study, subcommand):
    path = study(threads={"map_and_sort": 1, "map_and_srt": 1})
    done = gpd("throughput", subcommand, path)
    line = f"{path}: threads: map_and_srt: no rule of germline; did you mean map_and_sort?"
    assert (done.exit_code, done.stderr) == (2, f"gpd throughput {subcommand}: {line}\n")


def test_more_cores_than_there_are_can_be_planned_and_not_run(study, monkeypatch, tmp_path):
    monkeypatch.setattr(study_plan.launcher, "usable_cores", lambda smt: 2)
    path, line = study(cores=64), "cores: 64 are more than the 2 that may be used here"
    assert f"{line}: a plan for another machine" in gpd("throughput", "plan", path).stdout.splitlines()
    done = gpd("throughput", "run", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"gpd throughput run: {path}: {line}: leave cores out, or name no more\n"
    assert not (tmp_path / "runs").exists()


# ---- run and report ----------------------------------------------------------------------------------


@pytest.mark.deep
def test_run_ends_with_figures_and_where_the_report_is(study, tmp_path):
    ran = gpd("throughput", "run", study())
    assert ran.exit_code == 0, ran.output
    folder = tmp_path / "runs/first"
    rows = [line.split() for line in ran.stdout.splitlines() if line.startswith("│ ")]
    # 10 s a run: 8,640 runs a day; 5 CPU seconds a sample, of 20 that two cores have
    words = [[word for word in row if word != "│"] for row in rows]
    figures = [row for row in words if all(word.isdigit() for word in row[:2])]
    assert [row[:4] for row in figures] == [["1", "2", "0", "8,640"], ["4", "2", "0", "34,560"]]
    assert [row[-3:] for row in figures] == [["0.250", "±", "0.000"], ["1.00", "±", "0.00"]], "CPU utilisation"
    assert f"report: {folder / 'report.html'}" in ran.stdout
    for name in ("report.html", "tables/runs.tsv", "tables/configurations.parquet"):
        assert (folder / name).exists()


@pytest.mark.deep
def test_outputs_that_disagree_are_named_and_the_exit_code_is_1(study, lab):
    lab.told = lambda spec: {
        "outputs": [{"kind": "calls", "samples": [name], "digest": f"of {spec.repeat}"} for name in spec.samples]
    }
    ran = gpd("throughput", "run", study(concurrent_samples=[4]))
    assert ran.exit_code == 1
    assert "outputs disagree: calls of S1" in ran.stdout


def test_a_dry_run_checks_the_pool_and_leaves_nothing(study, monkeypatch, tmp_path):
    checked = []
    monkeypatch.setattr(preparation, "plan_dry", lambda source: checked.append(source.config["pipeline"]))
    ran = gpd("throughput", "run", study(), "--dry-run")
    assert ran.exit_code == 0, ran.output
    assert checked == ["germline"]
    assert "Study first" in ran.stdout
    assert not (tmp_path / "runs").exists()


def test_what_the_workflow_refuses_in_a_dry_run_is_a_line_each(study, monkeypatch):
    def refuse(source):
        raise single_run.StudyRunError("units.tsv line 2: wrong\nunits.tsv line 3: wrong too")

    monkeypatch.setattr(preparation, "plan_dry", refuse)
    ran = gpd("throughput", "run", study(), "--dry-run")
    assert ran.exit_code == 2
    assert ran.stderr.splitlines() == [
        "gpd throughput run: units.tsv line 2: wrong",
        "gpd throughput run: units.tsv line 3: wrong too",
    ]


@pytest.mark.deep
def test_a_report_of_a_half_done_study_counts_what_has_ended(study, tmp_path):
    plan = study_plan.make_plan(study())
    done, cut_off, *_ = plan.specs
    write_run(plan.study.folder, done, wall_s=WALL_S)
    (plan.study.folder / cut_off.name).mkdir()
    (plan.study.folder / cut_off.name / "spec.json").write_text(json.dumps(cut_off.to_dict()))
    ran = gpd("report", plan.study.folder)
    assert ran.exit_code == 0, ran.output
    assert cut_off.name not in (plan.study.folder / "tables/runs.tsv").read_text()
    assert cut_off.name in (plan.study.folder / "report.html").read_text().partition("<h2>Not finished")[2]


def test_where_no_run_has_ended_there_is_nothing_to_report(tmp_path):
    ran = gpd("report", tmp_path)
    assert ran.exit_code == 2
    assert ran.stderr == f"gpd report: {tmp_path}: no run of a study has ended here\n"
    assert not list(tmp_path.iterdir())
    with pytest.raises(CollectError):
        gpd_report.write(tmp_path, Console(file=io.StringIO()))


# ---- as many repeats as it takes ---------------------------------------------------------------------


@pytest.fixture
def unsteady(study, lab):
    """Settings of a study whose N = 4 takes 10 s and 20 s by turns; and the runs that were run, in their order."""
    lab.makespan_s = lambda spec: 20.0 if spec.n == 4 and spec.repeat % 2 else 10.0
    return study(repeats="auto", most_repeats=7), lab.ran


@pytest.mark.deep
def test_each_point_is_measured_until_it_is_precise_or_at_the_limit(unsteady, tmp_path):
    settings, ran = unsteady
    done = gpd("throughput", "run", settings)
    assert done.exit_code == 0, done.output
    assert [f"germline-n{n}-shared-compact-r{repeat}" in ran for n in (1, 4) for repeat in (5, 6, 7)] == [
        *(True, False, False),
        *(True, True, True),
    ]
    assert [int(name[-1]) for name in ran] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7]
    told = done.stdout.splitlines()
    assert "germline N = 1 (shared, compact): 5 repeats, precise enough (95% interval ± 0%)" in told
    # 17,280 and 34,560 by turns, four and three times: t of 6 degrees of freedom x sd / root of 7 / their mean
    limit = "germline N = 4 (shared, compact): 7 repeats, at the limit, and not as precise (95% interval ± 35%)"
    assert limit in told
    method = (tmp_path / "runs/first/report.html").read_text()
    assert "(half-width by Student&#39;s t), 5 times at least and 7 at most; every run counts." in method
    assert "7 repeats, at the limit" in method


@pytest.mark.deep
def test_what_comes_next_follows_from_the_runs_that_ended(unsteady, tmp_path):
    settings, ran = unsteady
    gpd("throughput", "run", settings)
    whole = list(ran)
    for kept in (0, 3, 10):
        for name in whole[kept:]:
            (tmp_path / "runs/first" / name).rename(tmp_path / f"{kept}-{name}")
        ran.clear()
        done = gpd("throughput", "run", settings)
        assert (ran, done.exit_code) == (whole[kept:], 0), done.output


@pytest.mark.deep
def test_a_study_is_read_once_for_each_run(unsteady, study, monkeypatch):
    """Which run is next, whether samples failed, how long the rest takes: all of it from what is read once."""
    _, ran = unsteady
    settings, collected, collect = (
        study(repeats="auto", concurrent_samples="saturation"),
        [],
        study_state.collect.collect,
    )
    monkeypatch.setattr(study_state.collect, "collect", lambda folder: collected.append(folder) or collect(folder))
    assert gpd("throughput", "run", settings).exit_code == 0
    # beside the runs: as it is planned, before the preparation, when nothing is left to run, and for the report
    assert len(collected) <= len(ran) + 4


def test_planning_is_linear_in_runs(tmp_path, monkeypatch):
    """Of a search with guesses for what has not ended each run is drawn once, however many repeats it has."""
    drawn, draw = [], study_of_runs.draw
    monkeypatch.setattr(study_of_runs, "draw", lambda *arguments: drawn.append(arguments) or draw(*arguments))
    monkeypatch.setattr(StudyState, "_guess", lambda state, spec: Observation(spec.n, 100.0 * min(spec.n, 16)))
    source = SimpleNamespace(members=[Sample(f"S{number}") for number in range(1, 65)])
    for repeats in (5, 50):
        settings = Study(directory=str(tmp_path), pipelines={"germline": Pool()}, repeats=repeats)
        drawn.clear()
        specs = StudyState(StudyPlan(settings, {"germline": source}, 64)).expected
        assert len(specs) > 3 * repeats and len(drawn) == len(specs)


@pytest.mark.deep
def test_the_plan_of_a_study_is_recorded(unsteady, tmp_path):
    settings, _ = unsteady
    lines = shown(study_plan.make_plan(settings)).splitlines()
    assert lines[-2].startswith("repeats: each configuration until the 95% interval of genomes a day is ± 2.5%")
    gpd("throughput", "run", settings)
    record = read_study_record(tmp_path / "runs/first")
    assert record.study == read_study(settings)
    assert [sample.name for sample in record.pools["germline"]] == ["S1", "S2", "S3", "S4"]
    assert record.cores == 2


# ---- no longer than it may take ----------------------------------------------------------------------


def runs_of(folder):
    return sorted(path.parent.name for path in folder.glob("*/run.json"))


@pytest.mark.deep
def test_a_study_begins_no_run_once_its_budget_is_spent(study, tmp_path):
    """Each run takes a minute: of four, three begin within two and a half minutes."""
    settings = study(budget="2.5m")
    assert "budget: 2.5m, of which 0:00:00 is spent\n" in shown(study_plan.make_plan(settings))
    ran = gpd("throughput", "run", settings)
    assert ran.exit_code == 0, ran.output
    assert len(runs_of(tmp_path / "runs/first")) == 3
    lines = shown(study_plan.make_plan(settings)).splitlines()
    assert "budget: 2.5m, of which 0:03:00 is spent: no run begins any more" in lines
    page = (tmp_path / "runs/first/report.html").read_text()
    assert "The budget of 2.5m ended before all repeats of 1 configuration were made." in page
    assert gpd("throughput", "run", study(budget="4m")).exit_code == 0
    assert len(runs_of(tmp_path / "runs/first")) == 4


@pytest.mark.deep
def test_the_plan_of_a_search_says_how_long_and_how_large(study, tmp_path):
    settings = study(concurrent_samples="saturation")
    plan = study_plan.make_plan(settings)
    write_run(plan.study.folder, plan.specs[0], wall_s=WALL_S)
    record = tmp_path / "runs/first" / plan.specs[0].name / "run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"peak_disk_mib": 512.0}))
    lines = shown(study_plan.make_plan(settings)).splitlines()
    # N = 2 is expected to take twice as long, so that the search would end there: 2 minutes, and 2 repeats of 1 and 2
    assert lines[-2:] == [
        "disk: a run takes about 1.00 GiB at most",
        "about 5 runs are left, about 0:08:00, if throughput rises no further than seen",
    ]


def test_a_run_that_was_cut_off_before_it_ended_is_marked(study, tmp_path):
    settings = study(concurrent_samples=[1], repeats=1)
    plan = study_plan.make_plan(settings)
    write_run(plan.study.folder, plan.specs[0], wall_s=WALL_S)
    lines = [{"name": plan.specs[0].name, "run": run, "began": BEGIN.isoformat()} for run in ("cut-off", "run")]
    (plan.study.folder / "starts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert gpd("report", plan.study.folder).exit_code == 0
    page = (plan.study.folder / "report.html").read_text()
    assert f"Cut off once or more, and run again from the start: {plan.specs[0].name}." in page


# ---- what a person may get wrong ---------------------------------------------------------------------


def one_line(*words):
    """What gpd says."""
    ran = gpd(*words)
    assert (ran.exit_code, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "throughput.yaml: not YAML: "),
        ("pipelines: {germline: {directory: /x}}", "pipelines.germline: /x: No such file"),
    ],
)
def test_broken_settings_are_one_line(tmp_path, text, told):
    path = tmp_path / "throughput.yaml"
    path.write_text(text)
    line = one_line("throughput", "run", path)
    assert line.startswith("gpd throughput run: ") and told in line


def test_a_profile_that_is_not_there_is_one_line(study):
    line = one_line("throughput", "plan", study(profiles={"independent": "profiles/mine"}))
    assert line.startswith("gpd throughput plan: profile profiles/mine: no such folder with a config.yaml; ")


@pytest.mark.parametrize("subcommand", ["plan", "run"])
def test_settings_that_are_not_there_are_named(tmp_path, subcommand):
    ran = gpd("throughput", subcommand, tmp_path / "missing.yaml")
    assert ran.exit_code == 2
    assert "missing.yaml" in ran.stderr
