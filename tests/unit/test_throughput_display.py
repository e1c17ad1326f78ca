"""What is shown of a study while it runs, on a terminal and elsewhere."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from gpd.commands import throughput_display
from gpd.execution import workflow
from gpd.lab import cells, runner


@pytest.fixture
def plan(monkeypatch):
    """Three cells of 60 s each, the first of which is done."""
    planned = [SimpleNamespace(cell=f"cell{number}") for number in (1, 2, 3)]
    monkeypatch.setattr(cells, "is_finished", lambda folder, cell: cell is planned[0])
    monkeypatch.setattr(runner, "estimates_s", lambda plan, wanted: [60.0] * len(wanted))
    return SimpleNamespace(cells=planned, study=SimpleNamespace(folder=None))


@pytest.fixture
def clock(monkeypatch):
    """Seconds, set by hand."""
    now = SimpleNamespace(s=1000.0)
    monkeypatch.setattr(throughput_display.time, "monotonic", lambda: now.s)
    return now


def console(terminal):
    return Console(file=io.StringIO(), width=200, force_terminal=terminal, color_system=None)


def rendered(shown):
    plain = console(terminal=False)
    plain.print(shown)
    return plain.file.getvalue().splitlines()


def progress(done, total, *running):
    return workflow.Progress(done, total, {str(number): job for number, job in enumerate(running)})


def test_elsewhere_a_cell_is_a_line_at_its_start_and_one_at_its_end(plan, clock):
    log = console(terminal=False)
    with throughput_display.follow(log) as watcher:
        watcher.begin(None, "germline: indexes and dictionaries", plan)
        watcher.begin(plan.cells[1], "cell2", plan)
        watcher.changed("S1", progress(1, 4, "align S1"))
        clock.s += 75
        watcher.end(plan.cells[1])
    assert log.file.getvalue().splitlines() == [
        "germline: indexes and dictionaries; about 0:02:00 to go",
        "cell 2 of 3: cell2; about 0:02:00 to go",
        "cell2: 0:01:15",
    ]


def test_what_runs_note_is_printed_once(plan, clock):
    log = console(terminal=False)
    state = progress(0, 4)
    state.notes.append("warning: open files: [the] hard limit is 64")
    with throughput_display.follow(log) as watcher:
        for sample in ("S1", "S2"):
            watcher.changed(sample, state)
    assert log.file.getvalue().splitlines() == state.notes


def test_on_a_terminal_jobs_are_summed_over_samples_and_clocks_go_on(plan, clock):
    shown = throughput_display.StudyDisplay(console(terminal=True))
    shown.begin(plan.cells[1], "cell2", plan)
    shown.changed("S1", progress(1, 4, "align S1", "assemble S1"))
    shown.changed("S2", progress(2, 5, "quantify S2"))
    clock.s += 30
    assert rendered(shown) == [
        "cell 2 of 3: cell2, 3 of 9 jobs, 3 running, 0:00:30; about 0:01:30 to go",
        *("  align S1", "  assemble S1", "  quantify S2"),
    ]
    clock.s += 600
    assert rendered(shown)[0].endswith("0:10:30; about 0:00:00 to go")
    assert shown.console.file.getvalue() == "", "a live display prints no line of its own at a cell's start"


WAIT = "1 job waits for CPUs that another run holds (/data/theirs)"


def test_jobs_that_wait_for_another_run_are_told(plan, clock):
    shown = throughput_display.StudyDisplay(console(terminal=True))
    shown.begin(plan.cells[1], "cell2", plan)
    shown.waits(WAIT)
    assert rendered(shown)[1] == f"  {WAIT}"
    shown.waits("")
    assert len(rendered(shown)) == 1
    assert shown.console.file.getvalue() == ""


def test_elsewhere_that_jobs_wait_is_a_line_when_they_begin_to(plan, clock):
    log = console(terminal=False)
    with throughput_display.follow(log) as watcher:
        for told in (WAIT, WAIT, "", WAIT):
            watcher.waits(told)
    assert log.file.getvalue().splitlines() == [WAIT, WAIT]


def test_a_new_cell_starts_from_nothing(plan, clock):
    shown = throughput_display.StudyDisplay(console(terminal=True))
    shown.begin(plan.cells[1], "cell2", plan)
    shown.changed("", progress(4, 4))
    clock.s += 50
    shown.begin(plan.cells[2], "cell3", plan)
    assert rendered(shown) == ["cell 2 of 3: cell3, 0 of 0 jobs, 0 running, 0:00:00; about 0:02:00 to go"]


def test_of_many_jobs_as_many_are_named_as_find_room(plan, clock):
    shown = throughput_display.StudyDisplay(console(terminal=True))
    shown.begin(plan.cells[1], "cell2", plan)
    shown.changed("", progress(0, None, *(f"align S{number}" for number in range(throughput_display.MOST_LINES + 5))))
    lines = rendered(shown)
    assert lines[0].startswith("cell 2 of 3: cell2, 0 of 0 jobs, 21 running")
    assert len(lines) == 1 + throughput_display.MOST_LINES + 1
    assert lines[-1] == "  and 5 more"


def test_how_long_it_takes_is_left_out_where_it_is_not_known(plan, clock, monkeypatch):
    monkeypatch.setattr(runner, "estimates_s", lambda plan, wanted: [60.0, None])
    shown = throughput_display.StudyDisplay(console(terminal=False))
    shown.begin(plan.cells[1], "cell2", plan)
    assert shown.console.file.getvalue() == "cell 2 of 3: cell2\n"


def test_in_a_search_for_the_knee_nobody_knows_how_many_cells_there_are(clock):
    nothing = SimpleNamespace(cells=[], study=SimpleNamespace(folder=None), sources={})
    shown = throughput_display.StudyDisplay(console(terminal=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "estimates_s", lambda plan, wanted: [])
        shown.begin(SimpleNamespace(cell="n4"), "n4", nothing)
    assert shown.console.file.getvalue() == "n4\n"


def test_a_terminal_is_followed_live(plan):
    live = console(terminal=True)
    with throughput_display.follow(live) as watcher:
        watcher.begin(plan.cells[1], "cell2", plan)
        watcher.changed("", progress(1, 4, "align S1"))
        watcher.end(plan.cells[1])
    assert "cell2: 0:00:00" in live.file.getvalue()
