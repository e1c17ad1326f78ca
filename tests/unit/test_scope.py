"""On how many nodes and in how many sessions runs were made, and what a page says of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from recording import run_record

from gpd.records.host import Host
from gpd.reports.scope import one_node, scope
from gpd.tables.sessions import between, sessions

FIRST = replace(run_record({}), host=Host(hostname="node1"))


def later(hours, node="node1"):
    """A run of a second, so many hours after the first."""
    by, spec = timedelta(hours=hours), replace(FIRST.spec, name=f"after-{hours}-h")
    return replace(FIRST, spec=spec, start=FIRST.start + by, end=FIRST.end + by, host=Host(hostname=node))


@pytest.mark.parametrize(
    ("starts_h", "count"), [((0,), 1), ((0, 0.5, 1.2), 1), ((0, 1.2), 2), ((24, 0, 0.5), 2), ((0, 24, 48), 3)]
)
def test_a_session_ends_where_no_run_was_at_work_for_an_hour(starts_h, count):
    assert max(sessions(map(later, starts_h)).values()) == count


def test_a_long_run_holds_a_session_together():
    long = replace(FIRST, end=FIRST.end + timedelta(hours=5))
    assert set(sessions([long, later(1), later(5.5)]).values()) == {1}


def test_runs_are_numbered_by_the_sessions_in_which_they_were_made():
    assert sessions(map(later, (24, 0, 0.5))) == {"after-0-h": 1, "after-0.5-h": 1, "after-24-h": 2}


def test_sessions_differ_by_the_spread_of_their_means():
    assert between([(1, 10.0), (1, 12.0), (2, 14.0), (2, None)]) == pytest.approx(3 / 2**0.5)
    assert between([(1, 10.0), (1, 12.0)]) is None


def test_what_errors_say_nothing_of_follows_from_nodes_and_sessions():
    assert scope([FIRST, later(0.5)]) == (
        "Runs of 1 node in 1 session (runs within an hour of each other): errors are of repeats there, and say nothing "
        "of another node of this type and another day."
    )
    assert scope([FIRST, later(24)]).endswith("say nothing of another node of this type.")
    assert scope([FIRST, later(0.5, "node2")]).endswith("say nothing of another day.")
    assert scope([FIRST, later(24, "node2")]) == "Runs of 2 nodes in 2 sessions (runs within an hour of each other)."


def test_one_node_is_told_from_several():
    assert one_node([FIRST, later(24)])
    assert not one_node([FIRST, later(0, "node2")])
