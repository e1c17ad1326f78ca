"""Every case of the matrix: a fault in the way of the real tools, and what must hold whatever it was."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import CASES
from small_cohorts import undisturbed_base
from trial import Case, try_case

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(
    case: Case,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    record_property: Callable[[str, object], None],
) -> None:
    base = undisturbed_base(tmp_path_factory.getbasetemp())
    record_property("case", case.id)
    record_property("seen", try_case(case, tmp_path, base))
