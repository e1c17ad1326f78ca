"""Tables as Markdown, and how wide they are on a terminal."""

from gpd.text.grid import Entry, Grid, Group, Line, markdown_table

GRID = Grid(
    "caption",
    ("step", "N = 1\n(first)", "a|b"),
    (
        Group((Line("align", (Entry("1.50", "± 0.20"), Entry("007")), number="1"),)),
        Group((Line("total", (Entry("1,000"), Entry(""))),), title="barrier time, h"),
    ),
    notes=("a note",),
)


def cells(line):
    return [text.strip() for text in line.replace(r"\|", "¦").strip("|").split("|")]


def test_figures_stand_as_they_are_and_groups_under_their_titles():
    head, rule, *rows = markdown_table(GRID).splitlines()
    assert cells(head) == ["step", "N = 1 (first)", "a¦b"]
    assert [(text[0], text[-1]) for text in cells(rule)] == [(":", "-"), ("-", ":"), ("-", ":")]
    assert [cells(row) for row in rows] == [
        ["1 align", "1.50 ± 0.20", "007"],
        ["*barrier time, h*", "", ""],
        ["total", "1,000", ""],
    ]
    assert len({len(line) for line in (head, rule, *rows)}) == 1


def test_words_are_set_left():
    words = Grid("caption", ("sample", "log"), (Group((Line("S1", (Entry("logs/S1.log"),)),)),), figures=False)
    _, rule, row = markdown_table(words).splitlines()
    assert all(text.startswith(":") and text.endswith("-") for text in cells(rule))
    assert cells(row) == ["S1", "logs/S1.log"]


def test_a_terminal_takes_the_longest_line_of_each_column():
    assert GRID.width == len("1 align") + len("1.50 ± 0.20") + len("a|b") + 3 * 3 + 1
