"""The README's table names each case of the matrix, as it is, and says what was seen of it."""

import pytest
from cases import CASES
from matrix import README, cell


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    lines = README.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith("| ") and not line.startswith("| case ")]
    return {line[2:].partition(" | ")[0]: line for line in found}


def test_ids_are_no_two_cases():
    assert len({case.id for case in CASES}) == len(CASES)


def test_every_case_has_its_row_and_every_row_its_case(rows):
    assert [case for case in rows if case.startswith(("germline.", "tuxedo.", "joint."))] == [
        cell(case.id) for case in CASES
    ]


def test_a_row_says_what_the_case_does_and_what_was_seen(rows):
    for case in CASES:
        start = " | ".join(map(cell, (case.id, case.injected, case.where, case.must)))
        row = rows[cell(case.id)]
        assert row.startswith(f"| {start} | "), case.id
        assert len(row) > len(start) + 8, f"{case.id}: nothing was seen"
