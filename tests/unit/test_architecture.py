"""The lines that the design draws between modules, held by a walk over their syntax trees."""

import ast
from pathlib import Path

import pytest
from conftest import ROOT

LAB = ROOT / "scripts" / "gpd"
WORKFLOW = ROOT / "workflow"
PURE = ("ledger.py", "published.py", "steps.py", "summary.py", "topology.py", "topology_svg.py")
IMPURE = {"subprocess", "time", "random", "os"}


def imports(path: Path) -> set[str]:
    """The top-level names of the packages that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in plain | named}


def names(paths) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in paths)


@pytest.mark.parametrize("path", names(WORKFLOW.rglob("*.py")))
def test_the_workflow_does_not_know_the_lab(path):
    assert "gpd" not in imports(ROOT / path)


@pytest.mark.parametrize("path", names(LAB.rglob("*.py")))
def test_the_lab_runs_snakemake_and_does_not_import_it(path):
    assert "snakemake" not in imports(ROOT / path)


@pytest.mark.parametrize("name", PURE)
def test_tables_come_from_files_alone(name):
    assert not IMPURE & imports(LAB / name)


@pytest.mark.parametrize("name", ["launch.py", "reads.py"])
def test_what_runs_beside_a_tool_needs_the_standard_library_alone(name):
    import sys

    assert imports(WORKFLOW / "scripts" / name) <= sys.stdlib_module_names
