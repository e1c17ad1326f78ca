"""A workflow that is not ours, in a study: its sheets, a run's folder, who succeeded, and one line for each fault."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import recording
from conftest import ROOT
from recording import run_record

from gpd.errors import GpdError
from gpd.lab import any_workflow, study_plan
from gpd.lab.sheets import SheetError, read_sheet
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan
from gpd.outcomes import NOT_FINISHED, OTHERS, Process, Run, outcomes, passed_in, read_as, steps_of
from gpd.records.ledger import Attempt
from gpd.records.study import Pool
from gpd.reports.grids import step_numbers
from gpd.reports.looks import LINES, look

WORDS = ROOT / "tests" / "data" / "word_counts"
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
UNITS = "lane,sample,fq\n1,A,texts/A.txt\n1,B,none\n2,A,none\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    """The workflow with texts of its three samples, and a second sheet."""
    made = Path(shutil.copytree(WORDS, tmp_path / "made"))
    (made / "texts").mkdir()
    for sample in "ABC":
        (made / "texts" / f"{sample}.txt").write_text(f"{sample}\n" * 3)
    (made / "config" / "units.csv").write_text(UNITS)
    return made


def pool(folder: Path, **keys) -> Pool:
    inputs = ("config", "texts")
    return replace(
        Pool(str(folder), workflow="workflow/Snakefile", sheets=("config/units.csv",), inputs=inputs), **keys
    )


@pytest.fixture
def source(folder, monkeypatch):
    monkeypatch.setattr(any_workflow, "_rules", lambda _: frozenset({"all", "sort", "pack", "table"}))
    return any_workflow.read("words", pool(folder))


def test_samples_are_the_values_of_the_column_each_once(source):
    assert [member.name for member in source.members] == ["A", "B", "C"]
    assert not source.needs_conditions


def test_a_run_has_the_rows_of_its_samples_and_links_to_all_else(source, folder, tmp_path):
    run = tmp_path / "a run"
    source.lay_out(["A"], run)
    assert (run / "config/samples.tsv").read_text() == "sample\tmade\nA\tof one\n"
    assert (run / "config/units.csv").read_text() == "lane,sample,fq\n1,A,texts/A.txt\n2,A,none\n"
    assert (run / "config/config.yaml").readlink() == folder / "config/config.yaml"
    assert (run / "texts").readlink() == folder / "texts"
    assert not (run / "workflow").exists()


def test_what_links_lead_to_outlives_a_run(source, folder, tmp_path):
    run = tmp_path / "run"
    source.lay_out(["A"], run)
    for name in ("out/logs/A.log", "out/table.txt", "ledger.jsonl", "run.json", ".snakemake/metadata/x"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("")
    source.clean(run, [attempt("sort", "A", log="out/logs/A.log"), attempt("table", None)])
    left = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert left == {"config/samples.tsv", "config/units.csv", "ledger.jsonl", "out/logs/A.log", "run.json"}
    assert (folder / "texts/A.txt").read_text() == "A\nA\nA\n"


def test_a_sample_is_what_its_files_and_rows_say(source, folder):
    before = dict.fromkeys("AB")
    for name in before:
        before[name] = source.units_of(name), list(source.sheets_say(name))
    assert before["A"] == (
        [{}, {"fq": folder / "texts/A.txt"}, {}],
        ["0 made of one", "1 lane 1", "2 fq none", "2 lane 2"],
    )
    assert before["B"] == ([{}, {}], ["0 made of two", "1 fq none", "1 lane 1"])
    assert [path.name for path in source.shared_files(folder)] == [
        "config.yaml",
        "samples.tsv",
        "units.csv",
        "B.txt",
        "C.txt",
    ]


def test_a_changed_rule_or_setting_shows_and_a_changed_sheet_does_not(source, folder):
    before = source.workflow_digest(), source.config_digest()
    (folder / "config/units.csv").write_text(UNITS + "3,B,none\n")
    assert (source.workflow_digest(), source.config_digest()) == before
    (folder / "config/config.yaml").write_text("samples: config/samples.tsv\nlevel: 9\n")
    assert source.workflow_digest() == before[0]
    assert source.config_digest() != before[1]
    (folder / "workflow/rules.smk").write_text("")
    assert source.workflow_digest() != before[0]


def test_a_run_is_recorded_whatever_executor_its_profile_names(source):
    given = {"executor": "local", "set-threads": {"sort": 2}}
    assert source.profile(given) == {"executor": "pinned", "set-threads": {"sort": 2}}


def test_a_job_of_a_sample_that_was_not_drawn_is_a_fault(source, tmp_path):
    source.refuse_strangers(
        ["A"], [attempt("sort", "A"), attempt("index", "A.sorted"), attempt("table", None)], tmp_path
    )
    with pytest.raises(GpdError, match=r"sort ran for B, which is no sample of the run: .* read config/samples.tsv"):
        source.refuse_strangers(["A"], [attempt("sort", "B")], tmp_path)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"workflow": "Snakefile"}, "workflow: {folder}/Snakefile: no such file"),
        ({"config": "other.yaml"}, "config: {folder}/other.yaml: no such file"),
        ({"python": "bin/python"}, "python: {folder}/bin/python: no such file"),
        ({"samples": "samples.tsv"}, "samples: {folder}/samples.tsv: no such file or folder"),
        ({"inputs": ("reads",)}, "inputs: {folder}/reads: no such file or folder"),
        ({"inputs": ("../made",)}, "inputs: ../made: must lie below directory"),
        ({"sheets": ("/etc/passwd",)}, "sheets: /etc/passwd: must lie below directory"),
        ({"column": "person"}, "{folder}/config/samples.tsv: no column person; columns are sample, made"),
        ({"column": "made"}, "{folder}/config/samples.tsv: made: 'of one': must be letters, digits"),
        ({"condition": "arm"}, "config/samples.tsv: no column arm; columns are sample, made"),
        ({"steps": {"order": ("sortt",)}}, "steps: sortt: no rule of the workflow; rules are all, pack, sort, table"),
    ],
)
def test_a_fault_is_one_line(folder, source, keys, line):
    with pytest.raises(StudyError) as error:
        any_workflow.read("words", pool(folder, **keys))
    assert str(error.value).startswith(f"pipelines.words: {line.format(folder=folder)}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sample\nA\tB\n", "'A': 2 columns in a row, and 1 in the heading"),
        ("sample\tsample\nA\tA\n", "two columns 'sample'"),
        ("sample\n../A\n", "sample: '../A': must be letters, digits"),
        ("sample\tn\nA;rm -rf $HOME\t1\n", "sample: 'A;rm -rf $HOME': must be letters, digits"),
        ("sample\tn\n\t1\n", "sample: '': must be letters, digits"),
        ("sample\n", "no sample below its heading"),
        ("", "no column sample; columns are none"),
    ],
)
def test_a_sheet_that_names_no_samples_is_refused(tmp_path, text, line):
    (tmp_path / "samples.tsv").write_text(text)
    with pytest.raises(SheetError) as error:
        read_sheet(tmp_path, "samples.tsv", "sample")
    assert str(error.value).startswith(f"{tmp_path}/samples.tsv: {line}")


def test_a_sheet_is_text_of_which_no_value_changes(tmp_path):
    """A byte order mark goes, comments and blank lines do; values with signs of their own stay as they are."""
    (tmp_path / "s.csv").write_text('\ufeff# a note\nsample,who\n\nA,"x, y"\n#B,z\nC,"a ""b"""\nD\n', encoding="utf-8")
    sheet = read_sheet(tmp_path, "s.csv", "sample")
    assert sheet.of(["A", "B"]) == [{"sample": "A", "who": "x, y"}]
    assert sheet.of(["D"]) == [{"sample": "D", "who": ""}]
    assert sheet.text(["C"]) == '# a note\nsample,who\nC,"a ""b"""\n'


def settings(folder: Path, more: str) -> Path:
    path = folder / "throughput.yaml"
    path.write_text(f"pipelines: {{words: {{directory: {folder}, workflow: workflow/Snakefile}}}}\n{more}\n")
    return path


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("concurrent_samples: [1, 4]", "concurrent_samples: 4 is more than the 3 samples in the pool of words"),
        ("modes: [stream]", "modes: stream: words is a workflow of yours: shared and independent go with it"),
        ("modes: [stream]", "modes: stream: words is a workflow of yours: shared and independent go with it"),
        ("copies: 2", "copies: which files of words are reads is not known: leave it out"),
        ("subsample: {fraction: 0.1}", "subsample: which files of words are reads is not known: leave it out"),
        ("threads: {sorts: 2}", "threads: sorts: no rule of words; did you mean sort?"),
    ],
)
def test_settings_that_do_not_go_with_it_are_refused(folder, source, more, line):
    with pytest.raises(StudyError) as error:
        study_plan.read(settings(folder, more))
    assert line in str(error.value)


def test_its_runs_have_its_profile_and_no_threads_of_our_rules(folder, source):
    path = settings(folder, "concurrent_samples: [2]\nthreads: {sort: 2}\nrepeats: 1\nwarm_up: 0")
    (spec,) = StudyPlan(*study_plan.read(path), cores=8).specs
    assert (spec.profile, spec.threads, spec.n) == ("profiles/any", {"sort": 2}, 2)


# ---- what its records say ----------------------------------------------------------------------------


def attempt(rule: str, sample: str | None, exit_code: int = 0, log: str = "", at_s: int = 0) -> Attempt:
    return recording.attempt(rule, sample, at_s, 1.0, exit_code, log=log)


def run_of(exit_code: int, *attempts: Attempt, samples=("A", "B"), **names) -> Run:
    record = run_record({"samples": list(samples), "pipeline": "words"}, job_names=names)
    own = tuple(read_as(record, samples, attempts))
    return Run(record, (Process(directory=".", samples=samples, exit_code=exit_code, attempts=own),))


def causes(run: Run, *others: Run) -> dict[str, str | None]:
    return {one.sample: one.cause for one in outcomes(run, passed_in([run, *others]))}


WHOLE = run_of(0, attempt("single", "A"), attempt("paired", "B"), attempt("pack", "A"), attempt("pack", "B"))


def test_rules_of_some_samples_alone_are_missing_in_no_other():
    assert causes(WHOLE) == {"A": None, "B": None}


def test_where_a_job_failed_the_others_need_what_every_sample_went_through():
    failed = run_of(1, attempt("single", "A"), attempt("pack", "A"), attempt("paired", "B", 1))
    stopped = run_of(1, attempt("single", "A"), attempt("paired", "B", 1))
    assert causes(failed, WHOLE) == {"A": None, "B": "unknown"}
    assert causes(stopped, WHOLE) == {"A": NOT_FINISHED, "B": "unknown"}


def test_while_no_run_has_ended_well_no_sample_is_known_to_be_whole():
    failed = run_of(1, attempt("single", "A"), attempt("pack", "A"), attempt("paired", "B", 1))
    assert causes(failed) == {"A": NOT_FINISHED, "B": "unknown"}


def test_a_job_that_all_samples_share_fails_all():
    assert causes(run_of(1, *WHOLE.processes[0].attempts, attempt("table", None, 1)), WHOLE) == dict.fromkeys(
        "AB", "unknown"
    )


def test_each_rule_is_a_step_in_the_order_in_which_they_began():
    run = run_of(0, attempt("pack", "A", at_s=2), attempt("sort", "B", at_s=1), attempt("sort", "A", at_s=0))
    assert run.steps == ("sort", "pack")


def test_steps_that_a_study_names_have_their_rules_and_all_else_is_outside():
    names = {"steps": {"sort": ["order", "merge"], "pack": ["pack"]}}
    run = run_of(0, *(attempt(rule, "A") for rule in ("sort", "order", "pack", "index")), **names)
    assert run.steps == ("sort", "pack")
    assert [each.step for each in run.processes[0].attempts] == [OTHERS, "sort", "pack", "index"]
    assert [each.rule for each in run.timed(run.processes[0])] == ["order", "pack"]


def test_a_wildcard_that_names_no_sample_belongs_to_all():
    run = run_of(0, attempt("sort", "A"), attempt("index", "A.sorted"), attempt("table", None))
    assert [each.owner for each in run.processes[0].attempts] == ["A", "cohort", "cohort"]


def test_the_wildcard_of_a_sample_has_the_name_that_the_study_gives():
    record = run_record({"samples": ["A"], "pipeline": "words"}, job_names={"wildcard": "person"})
    one = replace(attempt("sort", None), wildcards={"person": "A", "sample": "1"})
    assert read_as(record, ["A"], [one])[0].owner == "A"


def test_records_of_ours_are_read_by_nobody_elses_steps():
    record = run_record({}, job_names={"steps": {"all": ["map_and_sort"]}})
    assert steps_of(record, [])[0] == "map_and_sort"


def test_steps_of_others_are_numbered_as_they_ran_and_told_apart():
    numbers = step_numbers("words", ["sort", "hard_filter", "sort"])
    assert numbers == {"sort": "1", "hard_filter": "2"}
    many = step_numbers("words", [f"step{number}" for number in range(3 * len(LINES))])
    assert len({look(step, many) for step in many}) == len(many)
