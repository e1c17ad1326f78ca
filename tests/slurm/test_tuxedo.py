"""The demo of the tuxedo pipeline, smaller, through Slurm with profiles/slurm to its end."""

from collections.abc import Callable
from pathlib import Path

import pytest
from running import demo_through_slurm

pytestmark = pytest.mark.slurm


def test_the_tuxedo_demo(tmp_path: Path, figure: Callable[[str], None]) -> None:
    figure(demo_through_slurm("tuxedo", tmp_path, "--genes", "60", "--replicates", "2"))
