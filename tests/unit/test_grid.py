"""Tables as texts: how wide they are on a terminal."""

from gpd.text.grid import Entry, Grid, Group, Line

GRID = Grid(
    "caption",
    ("step", "N = 1\n(first)", "a|b"),
    (
        Group((Line("align", (Entry("1.50", "± 0.20"), Entry("007")), number="1"),)),
        Group((Line("total", (Entry("1,000"), Entry(""))),), title="elapsed step time, h"),
    ),
    notes=("a note",),
)


def test_a_terminal_takes_the_longest_line_of_each_column():
    assert GRID.width == len("1 align") + len("1.50 ± 0.20") + len("a|b") + 3 * 3 + 1
