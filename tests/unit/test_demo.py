"""The demo clears only what an earlier demo made."""

import pytest

from gpd.commands import gpd_demo
from gpd.errors import GpdError


def test_a_folder_of_the_user_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(GpdError, match="no folder of the demo"):
        gpd_demo.clear(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_an_earlier_demo_is_cleared(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / gpd_demo.MARK).touch()
    gpd_demo.clear(folder)
    assert not folder.exists()


def test_the_simulator_says_why_it_cannot(tmp_path):
    with pytest.raises(GpdError, match=r"simulate_cohort.py: .*seed"):
        gpd_demo.simulate("germline", tmp_path / "demo", seed=-1)
