"""How well the model predicts real runs that it has not seen: simulated samples that one machine ran, as recorded."""

import sys

import pytest
import recorded_studies
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "bench"))
import sizing
from benches import recorded

from gpd.sizing import study
from gpd.tables import collect

SIZES = ROOT / "tests" / "golden" / "sizes"  # as scripts/bench/sizing.py --record writes them; of three runs
ERRORS = ("N = 1 and 2 predict N = 4", *(f"0.3 and 0.6 Mb predict {mb} Mb, N = {n}" for n in (1, 2) for mb in (1.2, 5)))


@pytest.fixture(scope="module")
def errors():
    return {found.what: found for found in sizing.errors(recorded.read(SIZES), sizing.FULL)}


@pytest.mark.parametrize("asked", ERRORS)
def test_runs_of_more_and_of_larger_samples_are_predicted_from_others(errors, asked, figure):
    (found,) = (error for what, error in errors.items() if what.startswith(asked))
    figure(str(found))
    assert found.holds


def test_no_cell_of_a_recorded_study_is_left_out():
    runs = {name: len(found.whole_runs) for name, found in recorded.read(SIZES).items()}
    sizes = {f"{mb:g} Mb, {repeat}": 2 for mb in (0.3, 0.6, 1.2, 5) for repeat in (1, 2, 3)}
    assert runs == {"numbers, 1": 9, "numbers, 2": 15} | sizes


def test_the_model_reads_of_a_record_what_it_read_of_the_study(tmp_path):
    tables = collect.collect(recorded_studies.study())
    recorded.write(tmp_path, {"first": tables})
    first, again = study.evidence("first", tables), recorded.read(tmp_path)["first"]
    assert [one.error for one in study.held_out(again)] == pytest.approx([one.error for one in study.held_out(first)])
