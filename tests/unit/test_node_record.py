"""The record of a node: its schema, what of others' files is refused, and what follows from its figures."""

import json
from dataclasses import replace

import pytest
import recorded_studies
from jsonschema import Draft202012Validator
from subcommands import gpd

from gpd.errors import GpdError
from gpd.lab import node_record
from gpd.records import node
from gpd.records.decoding import RecordError
from gpd.records.host import Host, Load
from gpd.records.node import Bandwidth, Place, Remote, read_node

SCHEMA = json.loads(gpd("node", "--schema").output)
XEON = recorded_studies.node("xeon-2x32-4numa")


@pytest.fixture
def record():
    return read_node(XEON)


@pytest.fixture
def changed(tmp_path):
    """Write the record of the Xeon with a change of its JSON, and read it."""

    def read(change):
        told = json.loads(XEON.read_text())
        change(told)
        path = tmp_path / "node.json"
        path.write_text(json.dumps(told))
        return read_node(path)

    return read


# the schema


@pytest.mark.deep
@pytest.mark.parametrize("name", ["epyc-2x64", "xeon-2x32-4numa"])
def test_records_are_valid_by_the_schema_and_survive_writing(name, tmp_path):
    record = read_node(recorded_studies.node(name))
    (tmp_path / "node.json").write_text(record.to_json())
    Draft202012Validator(SCHEMA).validate(json.loads(recorded_studies.node(name).read_text()))
    assert read_node(tmp_path / "node.json") == record


def test_the_schema_refuses_what_the_types_refuse():
    told = json.loads(XEON.read_text())
    told["bandwidth"]["places"][0]["mb_s"]["triad"] = [0]
    assert not Draft202012Validator(SCHEMA).is_valid(told)


# records of others


def test_a_later_versions_keys_are_passed_over(changed):
    assert changed(lambda told: told.update(later=1, host=told["host"] | {"later": {}})).host.sockets == 2


@pytest.mark.parametrize(
    ("change", "output"),
    [
        (lambda told: told.update(schema=2), "schema"),
        (lambda told: told["bandwidth"]["places"][0]["mb_s"].update(triad=[0.0]), "mb_s"),
        (lambda told: told["bandwidth"]["places"][0]["mb_s"].update(triad=[]), "mb_s"),
        (lambda told: told["bandwidth"]["places"][0]["mb_s"].update(triad=[1e300]), "beyond reason"),
        (lambda told: told["bandwidth"]["places"][0].update(mb_s={"peak": [1.0]}), "peak"),
        (lambda told: told["latency"].update(pairs=[[0, 1, 1.0, 1.0, 1.0]] * 10_001), "length <= 10000"),
        (lambda told: told.update(cores=[{"cpus": [0]}] * 4097), "length <= 4096"),
        (lambda told: told["latency"]["pairs"][0].__setitem__(2, -1.0), "pairs"),
        (lambda told: told["missing"].update(energy="x" * 301), "length <= 300"),
        (lambda told: told["missing"].update(energy="\x1b[31mred"), "regex"),
        (lambda told: told["host"].update(kernel="\x1b[31mred"), "kernel"),
        (lambda told: told["host"].update(hostname="x" * 301), "hostname"),
        (lambda told: told["host"].update(numa=[{"node": 0, "cpus": "0"}] * 4097), "numa"),
        (lambda told: told["test_bed"].update(channels="four"), "channels"),
        (lambda told: told.pop("host"), "host"),
    ],
)
def test_a_record_that_is_none_is_refused_in_one_line(changed, change, output):
    with pytest.raises(RecordError) as refused:
        changed(change)
    assert output in str(refused.value)
    assert "node.json" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"schema": 1, "wall_s": NaN}',
        b'{"schema": 1, "wall_s": 1e999}',
        b"null",
    ],
    ids=["empty", "cut", "binary", "deep list", "deep object", "nan", "infinite", "null"],
)
def test_what_is_no_json_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "node.json"
    path.write_bytes(text)
    with pytest.raises(RecordError, match=r"not a valid node\.json") as refused:
        read_node(path)
    assert "\n" not in str(refused.value)


def test_a_huge_file_is_not_read_whole(tmp_path):
    path = tmp_path / "node.json"
    with path.open("wb") as file:
        file.truncate(node.MOST_BYTES * 1000)
    with pytest.raises(GpdError, match="larger than 8 MiB"):
        read_node(path)


# what follows


def test_a_penalty_is_the_share_of_local_bandwidth_that_is_lost():
    rates = {(0, 0): (90.0, 100.0, 400.0), (0, 1): (40.0,), (1, 1): (50.0,), (1, 0): (55.0,)}
    drawn = Bandwidth(
        tool="x",
        kernels={},
        matrix=tuple(Remote(cpus_of=a, memory_of=b, mb_s=found) for (a, b), found in rates.items()),
    )
    assert drawn.penalties() == [pytest.approx(0.6), pytest.approx(-0.1)]
    assert replace(drawn, matrix=drawn.matrix[1:2]).penalties() == []  # nothing local to hold it against


def test_a_scope_of_the_same_cpus_has_the_figures_of_the_other():
    places = (
        Place(scope="l3", cpus="0-1", mb_s={"triad": (1.0, 9.0, 2.0)}),
        Place(scope="node", cpus="0-1", same_as="l3"),
    )
    drawn = Bandwidth(tool="x", kernels={}, places=places)
    assert drawn.place("node").median("triad") == 2.0
    assert drawn.place("node").median("copy") is None
    assert drawn.place("socket") is None


def test_scopes_that_are_the_same_as_each_other_are_followed_once():
    circular = (Place(scope="node", cpus="0", same_as="l3"), Place(scope="l3", cpus="0", same_as="node"))
    assert Bandwidth(tool="x", kernels={}, places=circular).place("node").scope == "l3"


def test_blocks_are_named_nearest_first(record):
    blocks = record.blocks()
    assert [found.block for found in blocks] == ["same core", "same NUMA node", "same L3", "across sockets"]
    assert sum(found.pairs for found in blocks) == len(record.latency.pairs)
    assert all(found.low_ns <= found.ns <= found.high_ns for found in blocks)


def test_what_weakens_figures_is_warned_of(record):
    assert record.warnings == []
    busy = replace(record.host, load=Load(busy_cpus=1.5, busy=True), cpu_quota_cpus=8.0)
    places = (replace(record.bandwidth.places[0], bounded=True), *record.bandwidth.places[1:])
    warned = replace(record, host=busy, bandwidth=replace(record.bandwidth, places=places)).warnings
    assert len(warned) == 3
    assert "1.5 CPUs were at work" in warned[0]
    assert "8 CPUs are all that this process may use" in warned[1]
    assert "bandwidth of one core: memory allows no larger working set" in warned[2]


# it goes with a study


@pytest.fixture
def here(tmp_path, monkeypatch, record):
    """A folder with the record of a node in its place, and that node is this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(node_record.platform, "node", lambda: "synthetic-xeon")
    (tmp_path / "runs/node/synthetic-xeon").mkdir(parents=True)
    (tmp_path / "runs/node/synthetic-xeon/node.json").write_text(record.to_json())

    def is_machine(host):
        monkeypatch.setattr(node_record.this_host, "look", lambda folders, window_s: host)

    is_machine(record.host)
    return is_machine


def test_a_study_takes_the_record_of_its_node(here, tmp_path, record):
    assert node_record.take(tmp_path / "runs" / "study") == ""
    assert read_node(tmp_path / "runs" / "study" / "node.json") == record


def test_without_a_record_one_line_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = node_record.take(tmp_path / "study")
    assert "gpd node" in output
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("other", [{"cpu_model": "AMD EPYC 7763"}, {"numa_nodes": 1}, {"hostname": "elsewhere"}])
def test_the_record_of_another_machine_stays_where_it_is(here, tmp_path, record, other):
    here(replace(record.host, **other))
    output = node_record.take(tmp_path / "study")
    assert "of another machine" in output
    assert "not taken" in output
    assert not (tmp_path / "study").exists()


def test_settings_that_changed_since_are_named(here, tmp_path, record):
    here(replace(record.host, kernel="6.12", governor="powersave"))
    output = node_record.take(tmp_path / "study")
    assert "measured with another governor and kernel" in output
    assert (tmp_path / "study" / "node.json").exists()


def test_what_a_machine_does_not_tell_makes_it_no_other(here, tmp_path):
    here(Host())
    assert node_record.take(tmp_path / "study") == ""


def test_a_broken_record_keeps_no_study_from_running(here, tmp_path):
    (tmp_path / "runs/node/synthetic-xeon/node.json").write_text("{")
    assert "not a valid node.json" in node_record.take(tmp_path / "study")
