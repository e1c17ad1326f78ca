"""The drawings of the documents are those that would be made; the graphs of the rules are Snakemake's own."""

from xml.etree import ElementTree

import pytest

from documentation.drawings import FOLDER, drawings


@pytest.mark.deep
def test_drawings_are_current() -> None:
    made = dict(drawings())
    assert [path.name for path, text in made.items() if not path.exists() or path.read_text() != text] == []
    assert set(FOLDER.iterdir()) == set(made)


def test_drawings_are_whole_and_have_a_title() -> None:
    for path in FOLDER.iterdir():
        root = ElementTree.parse(path).getroot()
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text, path.name
