"""On how many nodes and in how many sessions runs were made, and what a page says of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from recording import run_record

from gpd.records.host import Host
from gpd.reports.scope import one_node, scope, sessions

FIRST = replace(run_record({}), host=Host(hostname="node1"))


def later(hours, node="node1"):
    """A run of a second, so many hours after the first."""
    by = timedelta(hours=hours)
    return replace(FIRST, start=FIRST.start + by, end=FIRST.end + by, host=Host(hostname=node))


@pytest.mark.parametrize(
    ("starts_h", "count"), [((0,), 1), ((0, 0.5, 1.2), 1), ((0, 1.2), 2), ((24, 0, 0.5), 2), ((0, 24, 48), 3)]
)
def test_a_session_ends_where_no_run_was_at_work_for_an_hour(starts_h, count):
    assert sessions(map(later, starts_h)) == count


def test_a_long_run_holds_a_session_together():
    long = replace(FIRST, end=FIRST.end + timedelta(hours=5))
    assert sessions([long, later(1), later(5.5)]) == 1


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
