"""The steps that count in timings are rules of the workflow, and no rule was forgotten among them."""

import re

import pytest
from conftest import ROOT

from gpd.pipelines import PIPELINES

BESIDE = {"reference", "alignment"}  # under their own names in records, and off the way from reads to results


def rules() -> dict[str, str]:
    """The text of each rule of the workflow, by its name."""
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").rglob("*.smk"))
    _, *parts = re.split(r"^(?:use rule \w+ as|rule) (\w+)", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_each_rule_belongs_to_a_step_or_says_what_it_counts_as() -> None:
    of_steps = {name for each in PIPELINES.values() for step in each.steps for name in each.rules_of(step)}
    assert of_steps <= rules().keys()
    others = {name for name, text in rules().items() if "pinned_step" not in text and "localrule" not in text}
    assert others - of_steps == BESIDE, "a rule's resource pinned_step, or scripts/gpd/pipelines.py, names its step"


@pytest.mark.parametrize(
    ("fitted", "applied", "gathered"),
    [
        ("variant_recalibration", "apply_variant_recalibration", "gather_recalibrated"),
        ("train_variant_annotations", "score_variant_annotations", "gather_scores"),
    ],
)
def test_a_rule_of_two_steps_makes_neither_alone(fitted: str, applied: str, gathered: str) -> None:
    """Models of either kind are fitted on a joint call set's sites."""
    shared = {"reference", "sites_only", "gather_sites"}
    assert PIPELINES["germline"].steps_of(shared) == []
    assert PIPELINES["germline"].steps_of({*shared, fitted, gathered}) == [fitted, applied]
