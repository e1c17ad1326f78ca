"""The drawings of the pages: graphs in DOT, made from the program itself, which graphviz draws.

An SVG has its DOT in a comment. So a test sees without graphviz whether a drawing is current, and only changed ones
is drawn anew.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import grimp

from documentation.pages import DOCS, ROOT
from documentation.rules import USUAL, plan
from gpd.pipelines import PIPELINES, Pipeline
from gpd.text.cpu_lists import parse_cpus

FOLDER = DOCS / "drawings"
STEP, BESIDE, FREE = "#2f6db3", "#5f7f5f", "#e6e6e6"
JOBS = ("#2f6db3", "#b3582f", "#4f8a3a")
TOPOLOGY, THREADS, MACHINE_COLUMNS = "resources/topologies/epyc-2x64.xml", 4, 4
POLICIES = {
    "compact": "compact: jobs fill an L3 group before they take the next",
    "scatter": "scatter: each job goes where most CPUs are free",
}
WAY = (  # what happens, the package that does it, what it leaves
    ("a job ends", "launcher", "a line of ledger.jsonl"),
    ("a run ends", "lab", "run.json"),
    ("records are read and checked", "records", "typed records"),
    ("failures are judged", "outcomes", "the samples that count"),
    ("each run becomes a row", "tables", "tables/runs.tsv"),
    ("repeats become mean and error", "statistics", "tables/configurations.tsv"),
    ("figures are shown", "reports", "terminal, report.html"),
)
HEAD = """bgcolor=white; fontname=Arial; fontsize=13;
node [shape=box, style="filled,rounded", color=white, fontcolor=white, fontname=Arial, fontsize=13, height=0.36];
edge [color="#7a7a7a", arrowsize=0.7];"""
# a page's dark looks: lightness turned about, hues kept; the background is part of the drawing, so it reads on any page
DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.92) hue-rotate(180deg); } }</style>"


def for_dark_pages(svg: str) -> str:
    """An SVG that follows the looks of the page that shows it."""
    head, end, rest = svg.partition(">")
    return f"{head}{end}{DARK}{rest}"


def draw(title: str, source: str) -> str:
    """The SVG of a graph, without the edges that another way goes, too. Raises ValueError where graphviz can't."""
    try:
        drawn = _graphviz(_graphviz(source, "tred"), "dot", "-Tsvg")
    except FileNotFoundError:
        raise ValueError("drawings have changed, and graphviz is not installed: apt-get install graphviz") from None
    svg = drawn[drawn.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\n|<title>.*?</title>\n", "", svg, flags=re.DOTALL)
    head, _, rest = svg.partition(">")
    return for_dark_pages(f'{head} role="img"><title>{title}</title>{rest}').replace("<g", f"{comment(source)}<g", 1)


def _graphviz(source: str, *command: str) -> str:
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout


def comment(source: str) -> str:
    return f"<!-- drawn by graphviz, by python -m documentation, of:\n{source}-->\n"


def is_current(name: str, source: str) -> bool:
    path = FOLDER / f"{name}.svg"
    return path.exists() and comment(source) in path.read_text(encoding="utf-8")


def graph(*lines: str, **settings: str) -> str:
    options = "".join(f"{name}={value}; " for name, value in settings.items())
    return "\n".join(("digraph {", HEAD, options, *lines, "}", ""))


def sources() -> Iterator[tuple[str, str, str]]:
    """Each drawing's name, title and DOT; those of the rules start Snakemake, which takes a while."""
    for name, pipeline in PIPELINES.items():
        yield f"rules-{name}", f"The rules of the {name} pipeline, from reads to results", rules(pipeline)
    yield "figure", "The way of a figure, from a job's record to the report", figure()
    yield "parts", "The packages of gpd, and which imports which", parts()
    yield "cpus", f"The CPUs of three jobs of {THREADS} threads on a machine of 2 sockets and 16 L3 groups", cpus()


def write() -> None:
    """Draw changed ones anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, title, source in sources():
        if not is_current(name, source):
            (FOLDER / f"{name}.svg").write_text(draw(title, source), encoding="utf-8")


# ---- the way of a sample through the rules -----------------------------------------------------------


def rules(pipeline: Pipeline) -> str:
    """Snakemake's own graph of the rules: the steps, and beside them those whose files MultiQC's page shows."""
    steps = {rule for step in pipeline.steps for rule in pipeline.rules_of(step)}
    found = rule_graph(pipeline.name)
    kept = steps | {"multiqc"} | {a for a, b in found if b == "multiqc" and a != "list_files"}
    edges = [(a, b) for a, b in found if {a, b} <= kept]
    names = {name for edge in edges for name in edge}
    colours = [f'"{name}" [fillcolor="{STEP if name in steps else BESIDE}"]' for name in sorted(names)]
    return graph(*colours, *arrows(edges), ranksep="0.3")


def arrows(edges: Iterable[tuple[str, str]]) -> list[str]:
    return [f'"{a}" -> "{b}"' for a, b in sorted(edges)]


def rule_graph(pipeline: str) -> set[tuple[str, str]]:
    """The pairs of rules of which one needs the other's outputs, as `snakemake --rulegraph` has them."""
    text = plan(pipeline, USUAL, kind=("--rulegraph", "dot"))
    labels = dict(re.findall(r'(\d+)\[label = "([^"\\]+)', text))
    return {(labels[a], labels[b]) for a, b in re.findall(r"(\d+) -> (\d+)", text)}


# ---- the way of a figure, and which package imports which ---------------------------------------------------------


def figure() -> str:
    """From a job's record to the page."""
    boxes = [f'{package} [fillcolor="{STEP}", label="{package}: {what}"]' for what, package, _ in WAY]
    ways = [f'{a[1]} -> {b[1]} [label="  {a[2]}", fontname=Arial, fontsize=12]' for a, b in pairwise(WAY)]
    last = f'shown [label="{WAY[-1][2]}", shape=plain, style="", fontcolor=black]\n{WAY[-1][1]} -> shown'
    return graph(*boxes, *ways, last, ranksep="0.3")


def parts() -> str:
    """The packages of gpd in the layers that import-linter holds, and their real imports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    rows = [[name.strip() for name in row.split("|")] for row in layers]
    boxes = [f'"{name}" [fillcolor="{STEP}"]' for row in rows for name in row]
    same = [f"{{ rank=same; {' '.join(map(json.dumps, row))} }}" for row in rows if len(row) > 1]
    return graph(
        *boxes, *same, *arrows(imports({name for row in rows for name in row})), ranksep="0.35", nodesep="0.15"
    )


def imports(packages: set[str]) -> set[tuple[str, str]]:
    """Which package imports which."""
    found = grimp.build_graph("gpd", cache_dir=None)
    importers = {name: found.find_modules_directly_imported_by(name) for name in found.modules}
    pairs = {(package_of(a), package_of(b)) for a, imported in importers.items() for b in imported}
    return {(a, b) for a, b in pairs if a != b and {a, b} <= packages}


def package_of(module: str) -> str:
    return ".".join(module.split(".")[1:2])


# ---- a machine's CPUs and allocations ----------------------------------------------------------------


def cpus() -> str:
    """Two ways to give jobs their CPUs, on a recorded machine, as the launcher would."""
    rows = [
        f"<TR><TD ALIGN='LEFT'>{words}</TD></TR>{machine(ask_topology(policy))}" for policy, words in POLICIES.items()
    ]
    label = f"<TABLE BORDER='0' CELLBORDER='0' CELLSPACING='4'>{''.join(rows)}</TABLE>"
    return graph(f'machines [shape=plain, style="", fontcolor=black, label=<{label}>]')


def ask_topology(policy: str) -> Mapping[str, Any]:
    words = [sys.executable, "-m", "gpd", "topology", "--xml", str(ROOT / TOPOLOGY), "--json"]
    words += ["--threads", str(THREADS), "--binding", policy]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def machine(found: Mapping[str, Any]) -> str:
    """A row of L3 groups after another, each core a square in the colour of the job that has it."""
    jobs = [parse_cpus(held["cpus"]) for held in found["cpu_sets"][: len(JOBS)]]
    rows = []
    for socket in range(found["counts"]["socket"]):
        cores = [core for core in found["cores"] if core["socket"] == socket]
        groups = [group_of_cores(cores, group, jobs) for group in sorted({core["l3"] for core in cores})]
        lines = [groups[at : at + MACHINE_COLUMNS] for at in range(0, len(groups), MACHINE_COLUMNS)]
        table = "".join(f"<TR>{''.join(line)}</TR>" for line in lines)
        rows.append(
            f"<TR><TD><TABLE BORDER='1' COLOR='#7a7a7a' CELLBORDER='0' CELLSPACING='3'>{table}</TABLE></TD></TR>"
        )
    return "".join(rows)


def group_of_cores(cores: Iterable[Mapping[str, Any]], group: int, jobs: Iterable[Iterable[int]]) -> str:
    """The frame of an L3 group and its cores."""
    own = [core["cpus"][0] for core in cores if core["l3"] == group]
    colours = [next((colour for colour, held in zip(JOBS, jobs, strict=True) if cpu in held), FREE) for cpu in own]
    squares = [f"<TD BGCOLOR='{colour}' WIDTH='13' HEIGHT='10' FIXEDSIZE='TRUE'></TD>" for colour in colours]
    half = len(squares) // 2
    lines = "".join(f"<TR>{''.join(part)}</TR>" for part in (squares[:half], squares[half:]))
    return f"<TD><TABLE BORDER='1' COLOR='#7a7a7a' CELLBORDER='0' CELLSPACING='2'>{lines}</TABLE></TD>"
