"""What the lab and the workflow may not do. Which packages of the lab may import which, `make lint` holds."""

import ast
import re
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import ROOT
from launching import PINNED

LAB = ROOT / "scripts" / "gpd"
WORKFLOW = ROOT / "workflow"
MODULES = [path for folder in ("scripts", "workflow") for path in (ROOT / folder).rglob("*.py")]
OF_PACKAGES = ("__init__", "__main__")  # names that Python gives
MOST_LINES, MOST_OF_A_FUNCTION = 400, 50


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


@pytest.mark.deep
@pytest.mark.parametrize("path", names(LAB.rglob("*.py")))
def test_what_is_drawn_at_random_has_a_seed(path):
    tree = ast.parse((ROOT / path).read_text())
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    used = {node.attr for node in names if node.value.id == "random"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    assert used <= {"Random"}
    assert all(call.args for call in calls if call.func.attr == "Random")


def test_rules_run_shell_commands_alone():
    """Snakemake starts itself anew for `run:`, with the path of its Python unquoted: a blank in it ends every run."""
    rules = {path.name: path.read_text() for path in WORKFLOW.rglob("*.smk")}
    assert len(rules) > 20
    assert [name for name, text in rules.items() if re.search(r"^ +run:", text, re.MULTILINE)] == []


LAUNCHER = PINNED / "launcher"


@pytest.mark.parametrize("path", names([*LAUNCHER.glob("*.py"), WORKFLOW / "scripts/reads/count_reads.py"]))
def test_what_runs_beside_a_tool_needs_the_standard_library_alone(path):
    assert imports(ROOT / path) - {path.stem for path in LAUNCHER.glob("*.py")} <= sys.stdlib_module_names


def test_the_launchers_modules_import_each_other_one_way():
    """In some order each needs only those before it, also where it imports late; choosing CPUs needs none."""
    needed = {path.stem: set(siblings(path)) for path in LAUNCHER.glob("*.py")}
    assert needed["cpu_choice"] == set()
    assert len(list(TopologicalSorter(needed).static_order())) == len(needed)


def siblings(path: Path) -> list[str]:
    """The modules of its own package that a module imports."""
    froms = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom))
    ours = [node for node in froms if node.level]
    return [name for node in ours for name in ([node.module] if node.module else [alias.name for alias in node.names])]


# ---- names and sizes ---------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("launcher", [False, True], ids=["lab and workflow", "launcher"])
def test_no_module_and_no_type_has_the_name_of_another(launcher):
    """The launcher is a distribution of its own, with the words of its field; all else is read side by side. A bench is
    no module: nothing imports it, and its name is that of its page of evidence."""
    own = [path for path in MODULES if path.is_relative_to(PINNED.parent) == launcher]
    own = [path for path in own if not path.is_relative_to(PINNED.parent / "tests")]
    types = [node.name for path in own for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
    named = [path.stem for path in own if path.stem not in OF_PACKAGES and path.parent != ROOT / "scripts" / "bench"]
    for every in (named, types):
        assert len(every) > 10
        assert [name for name, count in Counter(every).items() if count > 1] == []


def test_files_and_functions_are_short():
    for path in LAB.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= MOST_LINES, path
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno - node.lineno < MOST_OF_A_FUNCTION, f"{path}: {node.name}"


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
