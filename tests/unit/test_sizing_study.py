"""A machine from the tables of a study: which runs count, and what is not known of them."""

from statistics import median

import pytest
import recorded_studies
from recording import row_of, tables_of

from gpd.errors import GpdError
from gpd.records import node
from gpd.records.host import Host
from gpd.sizing import study_machine
from gpd.tables.columns import RunRow

KNOWN = {
    "pipeline": "germline",
    "mode": "shared",
    "binding": "compact",
    "sku": "made up",
    "cores": 2,
    "counted": True,
    "study": "made up",
    "failed": 0,
    "cpu_utilisation": 0.9,
    "peak_memory_mib": 100.0,
    "peak_disk_mib": None,
    "kept_disk_mib": 50.0,
    "shared_inputs_mib": None,
    "shared_outputs_mib": 1.0,
}


def spec(n, gigabases_per_day=10.0, **changed):
    known = KNOWN | {"n": n, "gigabases": 5.0 * n, "gigabases_per_day": gigabases_per_day, "succeeded": n} | changed
    return row_of(RunRow, **known)


def machine(*specs):
    return study_machine.machine("made up", tables_of(*specs))


def test_repeats_of_an_n_have_a_mean_and_an_interval_and_a_single_run_has_none():
    one, two = machine(spec(1), spec(2, 19.0), spec(2, 21.0, peak_memory_mib=300.0)).measured
    assert (one.n, one.gigabases, one.gigabases_per_day.value, one.gigabases_per_day.low) == (1, 5, 10, None)
    assert (two.n, two.gigabases_per_day.value, two.memory_mib) == (2, 20, 300)
    assert 0 < two.gigabases_per_day.low < 19 < 21 < two.gigabases_per_day.high
    assert any("N = 1 ran once" in note for note in machine(spec(1), spec(2), spec(2)).notes)


def test_what_some_runs_do_not_tell_is_not_known():
    (one,) = machine(spec(1)).measured
    assert (one.disk_mib_per_gb, one.shared_mib_per_gb, one.kept_mib_per_gb) == (None, None, 10)


def test_an_n_at_which_a_sample_failed_for_the_load_is_not_used_though_other_repeats_were_well():
    found = machine(spec(1), spec(2), spec(2, 20.0, failed=1), spec(4, failed=2))
    assert [one.n for one in found.measured] == [1]
    assert found.n_failed == 2
    with pytest.raises(GpdError, match="at each N samples failed"):
        machine(spec(1), spec(1, failed=1))


def test_repeats_that_scatter_too_widely_for_an_interval_are_named():
    found = machine(spec(1), spec(2, 1.0), spec(2, 19.0))
    assert found.measured[-1].gigabases_per_day.low is None
    assert any(note.startswith("N = 2: repeats scatter so widely") for note in found.notes)


def test_runs_are_of_one_machine_and_one_way_of_running():
    others = [spec(n, mode="independent") for n in (1, 2, 4)]
    slower = spec(1, 7.0, sku="another")
    found = machine(spec(1), spec(2), slower, *others, spec(8, counted=False))
    assert [(one.n, one.gigabases_per_day.value) for one in found.measured] == [(1, 10), (2, 10)]
    assert found.skus == ("made up",)
    with pytest.raises(GpdError, match="no batch of the germline pipeline on one machine has a sample"):
        machine(spec(2, pipeline="tuxedo"))


@pytest.mark.parametrize(
    ("binding", "smt", "cores"), [("compact-smt", True, 4), ("compact-nosmt", False, 8), ("none", True, 8)]
)
def test_threads_of_smt_are_no_cores(binding, smt, cores):
    """Jobs that are not bound are given cores, and use what threads these have."""
    host = Host(cores=32, threads=64)
    assert study_machine.cores_of(spec(1, binding=binding, smt=smt, cores=8), host) == cores
    assert study_machine.cores_of(spec(1, binding=binding, smt=smt, cores=8), None) == 8


def test_figures_of_a_node_are_taken_from_its_record():
    assert study_machine.watts_and_bandwidth(None) == (None, None)
    assert study_machine.watts_and_bandwidth(node.read_node(recorded_studies.node("epyc-2x64")))[0] is None
    record = node.read_node(recorded_studies.node("xeon-2x32-4numa"))
    triad = record.bandwidth.place("node").mb_s["triad"]
    assert study_machine.watts_and_bandwidth(record) == (480.0 + 20.0, median(triad))
