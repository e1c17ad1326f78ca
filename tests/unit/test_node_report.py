"""What report and comparison say of synthetic nodes; and that others' words are no markup."""

import io
import json
import re
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import recorded_studies
from pages import row, text_of
from rich.console import Console

from gpd.commands import gpd_compare as subcommand
from gpd.commands import gpd_node as node_command
from gpd.comparison.nodes import described
from gpd.records.node import Bandwidth, Core, Latency, Place, Remote, read_node
from gpd.reports import node_findings, report
from gpd.reports.page import render
from gpd.reports.report import find
from gpd.tables import collect
from gpd.text.formats import number

pytestmark = pytest.mark.usefixtures("drawn_once")

STUDY = recorded_studies.study()
NAMES = ("epyc-2x64", "xeon-2x32-4numa")
SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>alert(1)</script> a | b `c` **d** [e](f) [red]g[/]"


def record(name):
    return read_node(recorded_studies.node(name))


def html(of):
    return render(find(replace(collect.collect(STUDY), node=of), (), ()))


# the report


@pytest.mark.parametrize("name", NAMES)
def test_a_map_tells_in_words_what_it_shows(name):
    drawn = [shown.drawing for shown in node_findings.figures(record(name))]
    assert [drawing.name for drawing in drawn] == ["node-latency"]
    for drawing in drawn:
        root = ElementTree.fromstring(drawing.svg)
        assert root.find(f"{SVG}title").text == drawing.title
        assert root.find(f"{SVG}desc").text == drawing.description


@pytest.mark.deep
def test_medians_on_the_page_are_those_of_the_record():
    of = record("epyc-2x64")
    shown = text_of(html(of)).partition("What the node can do")[2]
    for found in of.blocks():
        assert row(shown, found.block)[1] == number(found.ns)


def test_a_study_without_a_record_says_how_to_get_one():
    assert "gpd node" in render(find(collect.collect(STUDY), (), ())).partition("What the node can do")[2]


@pytest.mark.deep
def test_the_record_is_read_from_the_studys_folder(tmp_path):
    study = tmp_path / "study"
    shutil.copytree(STUDY, study)
    shutil.copy(recorded_studies.node("xeon-2x32-4numa"), study / "node.json")
    tables = collect.collect(study)
    assert tables.node == record("xeon-2x32-4numa")
    assert "node-latency-title" in report.write(tables, study).read_text()


@pytest.mark.deep
def test_words_of_a_record_are_no_markup():
    of = record("xeon-2x32-4numa")
    nasty = replace(of, missing={NASTY: NASTY}, test_bed=replace(of.test_bed, system=NASTY), root_adds=(NASTY,))
    page = html(nasty)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.deep
def test_a_busy_node_is_warned_of_in_the_report():
    of = record("xeon-2x32-4numa")
    busy = replace(of, host=replace(of.host, load=replace(of.host.load, busy=True, busy_cpus=3.0)))
    assert "3 CPUs were at work on the node before the start" in html(busy)


@pytest.mark.deep
def test_what_is_missing_is_said_and_never_zero():
    page = html(replace(record("xeon-2x32-4numa"), bandwidth=None, clocks=(), disks={}, latency=None))
    section = text_of(page).partition("What the node can do")[2].partition("Method")[0]
    assert "Memory bandwidth" not in section
    assert "Clocks" not in section
    assert not re.search(r"\| 0[ .]", section)


def test_two_cores_have_no_map_but_words():
    of = record("xeon-2x32-4numa")
    (shown,) = node_findings.figures(replace(of, cores=of.cores[:2]))
    assert shown.drawing is None
    assert "2 cores have one pair" in shown.note


def test_a_hostile_number_of_groups_is_not_drawn():
    many = tuple(Remote(cpus_of=at, memory_of=at + 5000, mb_s=(1.0,)) for at in range(4096))
    cores = tuple(Core(cpus=(at,)) for at in range(4096))
    latency = Latency(method="x", warm_up=1, samples=1, rounds=1, of_pairs=1, seed=1, pairs=((0, 1, 1.0, 1.0, 1.0),))
    drawn = Bandwidth(tool="x", kernels={"triad": "triad"}, matrix=many)
    of = replace(record("xeon-2x32-4numa"), cores=cores, latency=latency, bandwidth=drawn)
    assert [shown.drawing for shown in node_findings.figures(of)] == [None]
    assert node_findings.matrix_grid(of) is None


def test_a_scope_without_figures_has_none_in_the_table():
    drawn = Bandwidth(tool="x", kernels={"triad": "triad"}, places=(Place(scope="core", cpus="0"),))
    grid = node_findings.bandwidth_grid(replace(record("xeon-2x32-4numa"), bandwidth=drawn))
    assert [entry.text for entry in grid.groups[0].lines[0].entries] == ["", "", "", ""]


# the terminal


def test_the_terminal_shows_the_matrix_as_numbers(tmp_path):
    out = io.StringIO()
    node_command.show(record("xeon-2x32-4numa"), tmp_path / "node.json", Console(file=out, width=200))
    text = out.getvalue()
    assert "cores of 3" in text
    assert "55%" in text
    assert "dmidecode is for a superuser" in text
    assert "A superuser would add: memory modules and channels (dmidecode)" in text


def test_markup_of_others_reaches_the_terminal_as_it_is(tmp_path):
    out = io.StringIO()
    nasty = replace(record("xeon-2x32-4numa"), missing={"energy": NASTY})
    node_command.show(nasty, tmp_path / "node.json", Console(file=out, width=200))
    assert "[red]g[/]" in out.getvalue()


# side by side


@pytest.fixture
def studies(tmp_path):
    """The recorded study twice, as if on both nodes."""
    folders = []
    for name in NAMES:
        folder = tmp_path / name.partition("-")[0]
        shutil.copytree(STUDY, folder)
        shutil.copy(recorded_studies.node(name), folder / "node.json")
        folders.append(str(folder))
    return folders


def compared(names, **more):
    out = io.StringIO()
    code = subcommand.run(names, (), Console(file=out, width=140), **more)
    return code, "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.mark.deep
def test_nodes_stand_side_by_side(studies):
    code, text = compared(studies)
    assert code == 0
    told = [[spec.strip() for spec in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]
    rows = {specs[0]: specs[1:] for specs in told}
    for scope, shown in (("core", "one core"), ("node", "the node")):
        medians = [number(record(name).bandwidth.place(scope).median("triad") / 1000) for name in NAMES]
        assert rows[f"triad, {shown}, GB/s"] == medians
    assert rows["kernel"] == [record(name).host.kernel for name in NAMES]


@pytest.mark.deep
def test_a_study_without_a_record_of_its_node_is_named(studies, tmp_path):
    (tmp_path / "xeon" / "node.json").unlink()
    _, text = compared(studies)
    assert "xeon has no record of its node: 'gpd node' makes one" in text


@pytest.mark.deep
def test_without_any_record_there_is_no_table_of_nodes(studies, tmp_path):
    for name in ("epyc", "xeon"):
        (tmp_path / name / "node.json").unlink()
    assert "Nodes" not in compared(studies)[1]


@pytest.mark.deep
def test_parts_of_one_study_have_one_node(studies):
    assert "Nodes" not in compared(studies[:1])[1]


@pytest.mark.deep
def test_json_has_the_medians(studies, capsys):
    assert compared(studies, as_json=True)[0] == 0
    epyc, xeon = json.loads(capsys.readouterr().out)["sides"]
    assert epyc["node"] == json.loads(json.dumps(described(record("epyc-2x64"))))
    assert xeon["node"]["latency_ns"]["across sockets"] == pytest.approx(125, rel=0.05)
    assert epyc["node"]["bandwidth_mb_s"]["node"]["triad"] == pytest.approx(8 * 48_000, rel=0.05)


def test_a_broken_record_is_one_line(studies, tmp_path):
    (tmp_path / "epyc" / "node.json").write_text("{")
    with pytest.raises(Exception, match=r"epyc/node\.json: not a valid node\.json") as refused:
        compared(studies)
    assert "\n" not in str(refused.value)
