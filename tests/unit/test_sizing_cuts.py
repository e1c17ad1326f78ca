"""What is cut: as the workflow's rules and its prediction of disk have it."""

import re

import pytest
from conftest import ROOT, script

from gpd.sizing import cuts

RULES = ROOT / "workflow" / "rules" / "germline"
disk = script(ROOT / "workflow/scripts/disk.py")
RULE = re.compile(r"^rule (\w+):$(.*?)(?=^rule |\Z)", re.DOTALL | re.MULTILINE)


def smallest_pieces() -> dict[str, set[float]]:
    """The piece_mib of each rule of a sample, whichever GATK it is for."""
    found: dict[str, set[float]] = {}
    for path in RULES.glob("*.smk"):
        for name, body in RULE.findall(path.read_text()):
            if stated := re.search(r"piece_mib=(\d+)", body):
                found.setdefault(name, set()).add(float(stated[1]))
    return found


def test_steps_are_cut_as_small_as_their_rules_say():
    assert {rule: {cut.piece_mib} for rule, cut in cuts.CUTS.items()} == smallest_pieces()


def test_steps_whose_pieces_are_copied_as_large_as_what_they_read_are_cut_where_cpus_are_spare_alone():
    rules = [(name, body) for path in RULES.glob("*.smk") for name, body in RULE.findall(path.read_text())]
    copied = {name for name, body in rules if "--copied" in body}
    assert (
        copied
        == {name for name, body in rules if "gather=GATHER_BAM" in body}
        == {"realign_indels", "base_recalibration"}
    )


def test_what_steps_walk_over_is_as_large_as_is_predicted_of_the_disk():
    assert (cuts.ALIGNMENTS, cuts.RECALIBRATED) == (disk.SORTED, disk.RECALIBRATED)
    assert pytest.approx(disk.GVCF * disk.RECALIBRATED) == cuts.GVCF


def test_the_smallest_piece_in_gigabases():
    assert cuts.Cut(over=0.5, piece_mib=16).piece_gigabases(mib_per_gb=800) == pytest.approx(0.04)
