"""What is shown of a study while it runs, on a terminal and elsewhere: a recorded study whose last run is left."""

import io
import re
from statistics import median

import pytest
import recorded_studies
from rich.console import Console

from gpd.commands import throughput_display
from gpd.execution import workflow
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.records.run import read_run
from gpd.records.study import Pool, Study


@pytest.fixture(scope="module")
def plan():
    """All runs of the recorded study, of which one was cut off."""
    folder = recorded_studies.study("scaling")
    settings = Study(name=folder.name, directory=str(folder.parent), pipelines={"germline": Pool()})
    return StudyPlan(settings, {}, cores=16, steps=tuple(recorded_studies.script("scaling").specs()))


@pytest.fixture(scope="module")
def left(plan):
    """The run that was cut off, its title, and how long it takes."""
    (spec,) = (spec for spec in plan.steps if spec.name == recorded_studies.script("scaling").CUT_OFF)
    paths = plan.study.folder.glob(f"{spec.step.name}-t{spec.step.threads}-*-{spec.step.occupancy}-*/run.json")
    wall_s = median(read_run(path).wall_s for path in paths)
    minutes, seconds = divmod(round(wall_s), 60)
    return (
        spec,
        f"run {len(plan.steps)} of {len(plan.steps)}: {spec.name}",
        f"; about 0:{minutes:02}:{seconds:02} to go",
    )


def console(terminal):
    return Console(file=io.StringIO(), width=200, force_terminal=terminal, color_system=None)


def rendered(shown):
    plain = console(terminal=False)
    plain.print(shown)
    return plain.file.getvalue().splitlines()


def progress(done, total, *running):
    return workflow.Progress(done, total, {str(number): job for number, job in enumerate(running)})


@pytest.fixture
def shown(plan, left):
    """What a terminal shows, when the run has begun."""
    made = throughput_display.StudyDisplay(console(terminal=True))
    made.begin(left[0], left[0].name, StudyState(plan))
    return made


def test_elsewhere_a_run_is_a_line_at_its_start_and_one_at_its_end(plan, left):
    spec, title, to_go = left
    log = console(terminal=False)
    with throughput_display.follow(log) as watcher:
        watcher.begin(None, "map_and_sort: its inputs", StudyState(plan))
        watcher.begin(spec, spec.name, StudyState(plan))
        watcher.changed("S1", progress(1, 4, "align S1"))
        watcher.end(spec, [])
        watcher.end(spec, ["map_and_sort: no space", "align: [1] too"])
    *lines, took, why, more = log.file.getvalue().splitlines()
    assert lines == [f"map_and_sort: its inputs{to_go}", f"{title}{to_go}"]
    assert re.fullmatch(rf"{spec.name}: 0:00:0\d", took)
    assert (why, more) == (f"{spec.name} failed: map_and_sort: no space", f"{spec.name} failed: align: [1] too")


def test_what_runs_note_is_printed_once():
    log = console(terminal=False)
    state = progress(0, 4)
    state.notes.append("warning: open files: [the] hard limit is 64")
    with throughput_display.follow(log) as watcher:
        for sample in ("S1", "S2"):
            watcher.changed(sample, state)
    assert log.file.getvalue().splitlines() == state.notes


def test_on_a_terminal_jobs_are_summed_over_samples_and_clocks_go_on(shown, left):
    shown.changed("S1", progress(1, 4, "align S1", "assemble S1"))
    shown.changed("S2", progress(2, 5, "quantify S2"))
    shown.began -= 3600
    head, *jobs = rendered(shown)
    assert head.startswith(f"{left[1]}, 3 of 9 jobs, 3 running, 1:00:0")
    assert head.endswith("; about 0:00:00 to go")
    assert jobs == ["  align S1", "  assemble S1", "  quantify S2"]
    assert shown.console.file.getvalue() == "", "a live display prints no line of its own at a run's start"


def test_a_new_run_starts_from_nothing(shown, plan, left):
    shown.changed("", progress(4, 4))
    shown.began -= 50
    shown.begin(left[0], left[0].name, StudyState(plan))
    assert rendered(shown)[0].startswith(f"{left[1]}, 0 of 0 jobs, 0 running, 0:00:0")


def test_of_many_jobs_as_many_are_named_as_find_room(shown):
    shown.changed("", progress(0, None, *(f"align S{number}" for number in range(throughput_display.MOST_LINES + 5))))
    lines = rendered(shown)
    assert "0 of 0 jobs, 21 running" in lines[0]
    assert len(lines) == 1 + throughput_display.MOST_LINES + 1
    assert lines[-1] == "  and 5 more"


def test_how_long_it_takes_is_left_out_where_nothing_has_ended(plan, tmp_path):
    new = StudyPlan(
        Study(name="new", directory=str(tmp_path), pipelines={"germline": Pool()}), {}, 16, steps=plan.steps
    )
    shown = throughput_display.StudyDisplay(console(terminal=False))
    shown.begin(new.steps[0], new.steps[0].name, StudyState(new))
    assert shown.console.file.getvalue() == f"run 1 of {len(plan.steps)}: {plan.steps[0].name}\n"


def test_in_a_search_for_the_saturation_nobody_knows_how_many_runs_there_are(plan, tmp_path):
    search = StudyPlan(Study(name="new", directory=str(tmp_path), pipelines={}), {}, 16)
    shown = throughput_display.StudyDisplay(console(terminal=False))
    shown.begin(plan.steps[0], "n4", StudyState(search))
    assert shown.console.file.getvalue() == "n4\n"


def test_a_terminal_is_followed_live(plan, left):
    live = console(terminal=True)
    with throughput_display.follow(live) as watcher:
        watcher.begin(left[0], left[0].name, StudyState(plan))
        watcher.changed("", progress(1, 4, "align S1"))
        watcher.end(left[0], [])
    assert f"{left[0].name}: 0:00:0" in live.file.getvalue()
