"""Machines as text: recorded topologies, asked of the launcher, against recorded answers.

After a change that is meant, write the answers anew: gpd topology --xml resources/topologies/NAME.xml, 80 columns wide,
without blanks at line ends.
"""

import json
import os

import pytest
import subcommands
from conftest import ROOT

from gpd.machines import launcher, topology
from gpd.machines.topology import Layout, Policy
from gpd.records.node import Core
from gpd.text import cpu_lists

TOPOLOGIES = ROOT / "resources" / "topologies"
GOLDEN = ROOT / "tests" / "golden" / "topology"
NAMES = sorted(path.stem for path in TOPOLOGIES.glob("*.xml"))


def gpd(*arguments):
    return subcommands.gpd("topology", *arguments, env={"COLUMNS": "80"})


def layout(name, threads=4, binding="compact", boundary="l3", smt=False):
    return launcher.lay_out(Policy(threads, binding, boundary, smt), TOPOLOGIES / f"{name}.xml")


def machine(*cores, cpu_sets=(), threads=1, boundary="l3", smt=False):
    return Layout(Policy(threads, "compact", boundary, smt), cores, tuple(map(cpu_lists.parse_cpus, cpu_sets)))


# text


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_a_machine_as_text(name):
    shown = gpd("--xml", TOPOLOGIES / f"{name}.xml")
    assert shown.exit_code == 0
    assert [line.rstrip() for line in shown.output.splitlines()] == (GOLDEN / f"{name}.txt").read_text().splitlines()


def test_two_sockets_of_64_cores_fit_on_one_screen():
    lines = (GOLDEN / "epyc-2x64.txt").read_text().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_json_holds_every_core_and_what_the_launcher_would_grant(name):
    told = json.loads(gpd("--xml", TOPOLOGIES / f"{name}.xml", "--threads", 3, "--smt", "--json").output)
    cpus = [cpu for core in told["cores"] for cpu in core["cpus"]]
    granted = [cpu for cpu_set in told["cpu_sets"] for cpu in cpu_lists.parse_cpus(cpu_set["cpus"])]
    assert told["policy"] == {"threads": 3, "binding": "compact", "boundary": "l3", "smt": True}
    assert len(cpus) == len(set(cpus)) == told["counts"]["cpus"]
    assert sorted([*granted, *cpu_lists.parse_cpus(told["unused"])]) == sorted(cpus)


def test_what_the_machine_does_not_tell_is_null_and_named():
    told = json.loads(gpd("--xml", TOPOLOGIES / "vm-flat-8.xml", "--json").output)
    assert told["counts"]["l3"] is None
    assert {core["l3"] for core in told["cores"]} == {None}
    assert "L3 groups unknown" in gpd("--xml", TOPOLOGIES / "vm-flat-8.xml").output


def test_this_machine_is_shown_where_no_file_is_given(tmp_path, monkeypatch):
    import os

    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    told = json.loads(gpd("--json").output)
    assert {cpu for core in told["cores"] for cpu in core["cpus"]} == os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("<topology", "not the output of lstopo --of xml: unclosed"),
        ("<topology/>", "no cores found; is it the output of lstopo --of xml?"),
    ],
)
def test_a_file_that_is_no_topology_is_refused_in_one_line(tmp_path, text, output):
    xml = tmp_path / "odd.xml"
    xml.write_text(text)
    shown = gpd("--xml", xml)
    assert shown.exit_code == 2
    assert len(shown.output.splitlines()) == 1
    assert shown.output.startswith(f"gpd topology: {xml}: ")
    assert output in shown.output


def test_cpu_lists_are_read_and_written():
    assert cpu_lists.parse_cpus("0-3,8") == {0, 1, 2, 3, 8}
    assert cpu_lists.format_cpus({8, 3, 2, 1, 0}) == "0-3,8"
    assert cpu_lists.parse_cpus("") == frozenset()
    assert cpu_lists.format_cpus([]) == ""


def test_levels_go_from_coarse_to_fine_also_where_an_l3_spans_numa_nodes():
    assert topology.known_levels(layout("epyc-2x64").cores) == ["socket", "numa", "l3"]
    assert topology.known_levels(layout("xeon-2x32-4numa").cores) == ["socket", "l3", "numa"]
    assert topology.known_levels(layout("vm-flat-8").cores) == ["socket", "numa"]


def test_cpu_sets_that_cross_their_boundary_are_marked_by_that_boundary():
    cores = (Core((0,), 0, 0, 0), Core((1,), 1, 0, 0))
    assert topology.crosses(frozenset({0, 1}), machine(*cores, boundary="l3"))
    assert not topology.crosses(frozenset({0, 1}), machine(*cores, boundary="numa"))
    assert not topology.crosses(frozenset({1}), machine(*cores, boundary="l3"))


def test_cpus_without_a_set_are_whole_cores_unless_hyperthreads_are_cpus():
    cores = (Core((0, 2), 0, 0, 0), Core((1, 3), 0, 0, 0))
    assert topology.unused(machine(*cores, cpu_sets=["0"])) == [1, 3]
    assert topology.unused(machine(*cores, cpu_sets=["0"], smt=True)) == [2, 1, 3]
    assert "in no CPU set: 1,3" in topology.remarks(machine(*cores, cpu_sets=["0"]))


def test_a_job_wider_than_the_machine_is_said_to_get_less():
    cores = (Core((0,), 0, 0, 0), Core((1,), 0, 0, 0))
    assert topology.remarks(machine(*cores, cpu_sets=["0-1"], threads=8)) == [
        "2 CPUs granted: a job with more threads gets the whole machine"
    ]


def test_a_run_takes_the_cores_that_can_be_allocated():
    assert 1 <= launcher.usable_cores() <= len(os.sched_getaffinity(0))
