"""The registry's pages: machines ranked within their workload and division, figures with intervals, marks in words."""

import re

import pytest
from packing import SPEED, write_study

from documentation import registry_pages as pages_of
from gpd.benchmark import registry, workload
from gpd.packages import pack

ENTRY = "machine: {}\nsubmitter: {}\ninterest: none\n"


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """What makes the pages of entries: each a name, how much slower it is, its submitter, more lines."""
    read = registry.entries

    def make(*entries):
        for name, slower, submitter, more in entries:
            speed = {repeat: of * slower for repeat, of in SPEED.items()}
            study = write_study(tmp_path / "runs" / name / "quick-1", name="quick-1", speed=speed)
            folder = tmp_path / "registry" / name
            folder.mkdir(parents=True)
            (folder / "session-1.gpd.tar.gz").write_bytes(pack.make(study).to_bytes())
            (folder / "entry.yaml").write_text(ENTRY.format(f"the <{name}>", submitter) + more)
        every = list(read(tmp_path / "registry"))
        monkeypatch.setattr(registry, "entries", lambda: every)
        return pages_of.pages()

    assert "quick-1" in workload.names()
    return make


def ranked(page):
    """The machines of each table, in its order."""
    return [re.findall(r'href="registry/([\w-]+)\.html"', table) for table in page.split("<table")[1:]]


@pytest.mark.deep
def test_machines_are_ranked_within_their_division(pages):
    open_one = "division: open\ndiffers: another mapper\n"
    made = pages(("slow", 2, "A", ""), ("fast", 1, "A", ""), ("other", 0.5, "A", open_one))
    assert ranked(made["registry"]) == [["fast", "slow"], ["other"]]
    assert "## quick-1, closed division" in made["registry"] and "## quick-1, open division" in made["registry"]
    assert made["registry"].count('<path d="M') == 3, "each bar has its interval"
    assert "the &lt;fast&gt;" in made["registry"], "a name is no markup"
    assert {"registry/fast", "registry/slow", "registry/other"} < set(made)
    assert "another mapper" in made["registry/other"] and "map_and_sort" in made["registry/fast"]


@pytest.mark.deep
def test_a_result_is_unverified_until_another_submitter_agrees(pages):
    made = pages(("one", 1, "A", ""), ("again", 1, "A", ""), ("far", 3, "B", ""))
    assert made["registry"].count("<td>unverified</td>") == 3
    made = pages(("gone", 1, "B", "status: withdrawn\nnote: wrong cooling\n"))
    assert made["registry"].count("<td>unverified</td>") == 3, "what is withdrawn verifies nothing, and is verified"
    made = pages(("two", 1, "B", ""))
    assert made["registry"].count("<td>unverified</td>") == 1


@pytest.mark.deep
def test_a_withdrawn_entry_stays_last_in_no_chart_and_says_why(pages):
    gone = ("gone", 1, "A", "status: withdrawn\nnote: wrong cooling\n")
    made = pages(gone)
    assert "(withdrawn: wrong cooling)" in made["registry"] and "<svg" not in made["registry"]
    assert "No machine" not in made["registry"]
    made = pages(("slower", 2, "A", ""))
    assert ranked(made["registry"]) == [["slower", "gone"]]
    assert made["registry"].count("<rect") == 1
