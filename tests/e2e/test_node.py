"""`gpd node` for real, in its smallest size: it measures what likwid-bench alone does, and leaves nothing behind."""

import json
import os
import re
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest
import recorded_studies
from jsonschema import Draft202012Validator

from gpd.records import node
from gpd.records.node import read_node
from gpd.text.cpu_lists import parse_cpus

pytestmark = pytest.mark.e2e

LOOSE = 3  # other tests run meanwhile: what is held against each other here is no more than the order of size


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the node was measured, once for this file."""
    return tmp_path_factory.mktemp("node")


@pytest.fixture(scope="module")
def record(folder):
    command = ["gpd", "node", "--folder", str(folder), "--repeats", "1", "--busy", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=570)
    assert done.returncode == 0, done.stderr
    Draft202012Validator(node.schema()).validate(json.loads(done.stdout))
    assert (folder / "node.json").read_text() == done.stdout
    return read_node(folder / "node.json")


def test_it_leaves_its_record_alone_behind(record, folder):
    assert [path.name for path in folder.iterdir()] == ["node.json"]


def test_every_scope_has_a_figure_or_a_reason(record):
    for scope in ("core", "l3", "numa", "socket", "node"):
        place = record.bandwidth.place(scope)
        assert (place is not None and place.median("triad")) or f"bandwidth of {scope}" in record.missing


def test_it_ran_on_cpus_that_this_process_may_use(record):
    usable = os.sched_getaffinity(0)
    for place in record.bandwidth.places:
        assert parse_cpus(place.ran_on) <= parse_cpus(place.cpus) <= usable


def test_bandwidth_is_what_likwid_bench_says_alone(record, figure):
    if shutil.which("likwid-bench") is None:
        pytest.skip("likwid-bench is not here")
    place = record.bandwidth.place("node")
    size = int(place.working_set_mib * 1024**2 / 1e6)
    threads = len(parse_cpus(place.ran_on))
    kernel = record.bandwidth.kernels["triad"]
    command = ["likwid-bench", "-t", kernel, "-W", f"N:{size}MB:{threads}"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    alone = float(re.search(r"MByte/s:\s+(\S+)", output)[1])
    figure(f"triad of the node: {place.median('triad'):,.0f} MB/s by gpd node, {alone:,.0f} MB/s by likwid-bench alone")
    assert 1 / LOOSE < place.median("triad") / alone < LOOSE


def test_latencies_are_those_of_a_cache_line(record, figure):
    if len(record.cores) < 2:
        assert record.missing["latency"]
        return
    blocks = record.blocks()
    figure("; ".join(f"{found.block}: {found.ns:.0f} ns, {found.pairs} pairs" for found in blocks))
    assert sum(found.pairs for found in blocks) == len(record.latency.pairs) > 0
    assert 1 < statistics.median(found.ns for found in blocks) < 100_000


def test_what_is_missing_has_a_reason_and_no_zero(record):
    assert all(record.missing.values())
    if not record.clocks:
        assert {"frequency", "energy"} <= record.missing.keys()
    for disk in record.disks.values():
        assert disk.same_as or disk.read_mib_s


def test_a_study_takes_it_along_and_report_and_comparison_show_it(record, folder, tmp_path):
    for name in ("one", "other"):
        shutil.copytree(recorded_studies.study(), tmp_path / name)
        shutil.copy(folder / "node.json", tmp_path / name)
    done = subprocess.run(["gpd", "report", "one"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Memory bandwidth, GB/s" in (tmp_path / "one" / "report.html").read_text()
    compared = ["gpd", "compare", "one", "other"]
    done = subprocess.run(compared, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "triad, the node, GB/s" in done.stdout
