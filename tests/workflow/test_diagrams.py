"""The diagrams of the rules in docs/reference/steps.md are Snakemake's own graph, as far as they go."""

import re
from itertools import product
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, tiny_cohort
from tuxedo_cohort import tiny_experiment

DIAGRAMS = re.findall(r"```mermaid\n(.*?)```", (ROOT / "docs/reference/steps.md").read_text(), re.DOTALL)


def reachable(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Each pair of rules of which the second needs the first, if only by way of others."""
    names = {name for edge in edges for name in edge}
    found = set(edges)
    for between, first, second in product(names, repeat=3):
        if {(first, between), (between, second)} <= found:
            found.add((first, second))
    return found


def rule_graph(cohort: Cohort) -> set[tuple[str, str]]:
    ran = cohort.snakemake("--rulegraph", "dot")
    assert ran.exit_code == 0, ran.output
    labels = dict(re.findall(r'(\d+)\[label = "([^"\\]+)', ran.output))
    return {(labels[a], labels[b]) for a, b in re.findall(r"(\d+) -> (\d+)", ran.output)}


@pytest.mark.deep
@pytest.mark.parametrize(("diagram", "make"), list(zip(DIAGRAMS, (tiny_cohort, tiny_experiment), strict=True)))
def test_a_diagram_is_snakemakes_graph(tmp_path: Path, diagram: str, make) -> None:
    drawn = set(re.findall(r"(\w+) --> (\w+)", diagram))
    shown = {name for edge in drawn for name in edge}
    actual = {(a, b) for a, b in reachable(rule_graph(make(tmp_path))) if {a, b} <= shown}
    assert reachable(drawn) == actual
