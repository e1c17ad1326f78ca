"""The evidence page names each case of the matrix, as it is, and says what was seen of it."""

from matrix import PAGE, ROWS, read_page, written


def test_ids_are_no_two_cases():
    assert len({case.id for case in ROWS}) == len(ROWS)


def test_the_page_has_each_case_as_it_is_and_what_was_seen_of_it():
    seen, where = read_page()
    assert all(seen[case.id] for case in ROWS)
    assert PAGE.read_text(encoding="utf-8") == written(seen, where), "python tests/faults/matrix.py writes it anew"
