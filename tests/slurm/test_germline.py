"""The demo of the germline pipeline, smaller, through Slurm with profiles/slurm to its end."""

from collections.abc import Callable
from pathlib import Path

import pytest
from running import demo_through_slurm

pytestmark = pytest.mark.slurm


def test_the_germline_demo(tmp_path: Path, figure: Callable[[str], None]) -> None:
    figure(demo_through_slurm("germline", tmp_path, "--length", "400000"))
