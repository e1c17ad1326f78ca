"""The drawings of docs/explanation, as SVG, in colours that can be read on a light page and on a dark one."""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from documentation.pages import DOCS, ROOT
from gpd.pipelines import PIPELINES, Pipeline
from gpd.text.cpu_lists import parse_cpus

FOLDER = DOCS / "explanation/drawings"
STEP, OTHER, LINE = "#2f6db3", "#5f7f5f", "#8a8a8a"
JOBS = ("#2f6db3", "#b3582f", "#4f8a3a")
LAYERS = ("#2f6db3", "#2f7f85")
LETTER, HEIGHT, GAP, COLUMN = 7.6, 34, 30, 185  # pixels: of a letter, of a box, between rows, to the next column
TOPOLOGY, THREADS, FRAME = "resources/topologies/epyc-2x64.xml", 4, 75
POLICIES = {
    "compact": "compact: jobs fill an L3 group before they take the next",
    "scatter": "scatter: each job goes where most CPUs are free",
}


@dataclass(frozen=True)
class Box:
    """A box in a row, `x` its middle, with lines of text."""

    x: float
    y: float
    text: str
    colour: str = STEP
    width: float = 0

    @property
    def wide(self) -> float:
        return self.width or len(self.text) * LETTER + 24

    def svg(self) -> str:
        left = self.x - self.wide / 2
        return (
            f'<rect x="{left:.1f}" y="{self.y}" width="{self.wide:.1f}" height="{HEIGHT}" rx="5" fill="{self.colour}"/>'
            f'<text x="{self.x:.1f}" y="{self.y + 22}" text-anchor="middle" fill="#fff">{escape(self.text)}</text>'
        )


@dataclass
class Drawing:
    """Boxes, arrows from one to another, and other marks, with a title for those who do not see it."""

    title: str
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[tuple[str, str]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    least_width: float = 0
    least_height: float = 0

    def svg(self) -> str:
        width = max([self.least_width, *(box.x + box.wide / 2 + 8 for box in self.boxes.values())])
        height = max([self.least_height, *(box.y + HEIGHT + 8 for box in self.boxes.values())])
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'role="img" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{escape(self.title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
            *(self._arrow(self.boxes[start], self.boxes[end]) for start, end in self.arrows),
            *self.marks,
            *(box.svg() for box in self.boxes.values()),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    @staticmethod
    def _arrow(start: Box, end: Box) -> str:
        """From the bottom of one box to the top of another."""
        top, bottom = start.y + HEIGHT, end.y - 1
        bend = min((bottom - top) / 2, GAP)  # a long way goes straight down first
        points = (start.x, bottom - bend), (end.x, bottom - bend), (end.x, bottom)
        path = f"M{start.x:.1f} {top}C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
        return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.5" marker-end="url(#tip)"/>'


def note(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Text beside boxes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{LINE}">{escape(text)}</text>'


# ---- the way of a sample through the rules -----------------------------------------------------------


def rules(pipeline: Pipeline) -> str:
    """Snakemake's own graph of the rules, without those of the reference and without ways around."""
    edges = rule_graph(pipeline.name)
    kept = {rule for step in pipeline.steps for rule in pipeline.rules_of(step)}
    kept |= {"samtools_stats", "bcftools_stats", "multiqc", "alignment", "all"}
    found = reduced({(a, b) for a, b in edges if a in kept and b in kept})
    drawing = Drawing(f"The rules of the {pipeline.name} pipeline, from reads to results")
    rows = {name: depth(name, found) for edge in found for name in edge}
    taken: set[tuple[int, int]] = set()
    for name, row in sorted(rows.items(), key=lambda each: (each[1], each[0])):
        is_step = pipeline.step_of(name) in pipeline.steps
        goes_far = any(rows[b] > row + 1 for a, b in found if a == name)
        column = 0 if is_step else 2 if goes_far else 1  # what goes past other rows stands beside them
        while (row, column) in taken:
            column += 1
        taken.add((row, column))
        x, y = 110 + column * COLUMN, 8 + row * (HEIGHT + GAP)
        drawing.boxes[name] = Box(x, y, name, STEP if is_step else OTHER)
    drawing.arrows = sorted(found)
    return drawing.svg()


def rule_graph(pipeline: str) -> set[tuple[str, str]]:
    """The pairs of rules of which one needs the other's outputs, as `snakemake --rulegraph` has them."""
    with tempfile.TemporaryDirectory() as name:
        write_cohort(Path(name), pipeline)
        words = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "workflow/Snakefile")]
        words += ["--directory", name, "--configfile", f"{name}/config.yaml", "--cores", "1", "--rulegraph", "dot"]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
    if said.returncode:
        raise ValueError(said.stderr)
    labels = dict(re.findall(r'(\d+)\[label = "([^"\\]+)', said.stdout))
    return {(labels[a], labels[b]) for a, b in re.findall(r"(\d+) -> (\d+)", said.stdout)}


def write_cohort(folder: Path, pipeline: str) -> None:
    """The smallest cohort that passes the checks of the workflow."""
    bases = "ACGTTGCA" * 60
    header = f"##fileformat=VCFv4.2\n##contig=<ID=chr1,length={len(bases)}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\t"
    files = {
        "genome.fa": f">chr1\n{bases}\n",
        "known.vcf": f"{header}FILTER\tINFO\nchr1\t4\t.\tT\tC\t.\t.\t.\n",
        "genes.gtf": 'chr1\tx\texon\t1\t400\t.\t+\t.\tgene_id "g"; transcript_id "t";\n',
        "a.fq": "@a\nACGT\n+\nIIII\n",
        "b.fq": "@b\nACGT\n+\nIIII\n",
        "samples.tsv": "sample_name\tcondition\nS1\ta\nS2\tb\n",
        "units.tsv": "sample_name\tunit_name\tfq1\nS1\tL1\ta.fq\nS2\tL1\tb.fq\n",
    }
    inputs = {"germline": "known_sites: [known.vcf]\n", "tuxedo": "annotation: genes.gtf\n"}
    files["config.yaml"] = f"pipeline: {pipeline}\nsamples: samples.tsv\nunits: units.tsv\n{inputs[pipeline]}"
    files["config.yaml"] += "reference: {fasta: genome.fa}\n"
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges without those that another way goes, too."""
    return {(a, b) for a, b in edges if not any(c != b and b in reached(c, edges) for start, c in edges if start == a)}


def reached(name: str, edges: set[tuple[str, str]]) -> set[str]:
    nearest = {b for a, b in edges if a == name}
    return nearest | {each for b in nearest for each in reached(b, edges)}


def depth(name: str, edges: set[tuple[str, str]]) -> int:
    """The row of a rule: one below the last of those it needs."""
    return max((depth(a, edges) + 1 for a, b in edges if b == name), default=0)


# ---- the way of a figure, the parts, the CPUs --------------------------------------------------------

WAY = (  # what it is, what does it (a place in scripts/gpd), as what it goes on
    ("a job ends", "launcher", "one line in ledger.jsonl"),
    ("a run ends", "lab", "run.json"),
    ("records are read and checked", "records", "typed records"),
    ("failures are judged", "outcomes", "which samples count"),
    ("each run becomes a row", "tables", "tables/runs.tsv"),
    ("repeats become mean and error", "statistics", "tables/configurations.tsv"),
    ("figures are shown", "reports", "report.html, terminal"),
)


def figure_s_way() -> str:
    """From a job's record to the page."""
    drawing = Drawing("The way of a figure, from a job's record to the report", least_width=640)
    for number, (what, who, leaves) in enumerate(WAY):
        y = 8 + number * (HEIGHT + GAP)
        drawing.boxes[who] = Box(75, y, who, STEP, 130)
        drawing.marks += [note(160, y + 22, what), note(632, y + 22, leaves, "end")]
    drawing.arrows = [(a[1], b[1]) for a, b in pairwise(WAY)]
    return drawing.svg()


def parts() -> str:
    """The layers of gpd as import-linter holds them: each imports those below."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    drawing = Drawing("The parts of gpd: each may import the parts in rows below it, and none beside it")
    widest = max(_row_width(row) for row in layers)
    for level, row in enumerate(layers):
        left = 8 + (widest - _row_width(row)) / 2
        for name in (name.strip() for name in row.split("|")):
            box = Box(0, 8 + level * (HEIGHT + 14), name, LAYERS[level % 2])
            drawing.boxes[name] = replace(box, x=left + box.wide / 2)
            left += box.wide + 12
    drawing.marks.append(note(8 + widest / 2, 8 + len(layers) * (HEIGHT + 14) + 12, "imports go down only", "middle"))
    drawing.least_height = 8 + len(layers) * (HEIGHT + 14) + 24
    return drawing.svg()


def _row_width(row: str) -> float:
    return sum(Box(0, 0, name.strip()).wide + 12 for name in row.split("|")) + 8


def cpus() -> str:
    """Two ways to give jobs their CPUs, on a recorded machine, as the launcher would."""
    drawing = Drawing(f"The CPUs of three jobs of {THREADS} threads on a machine of 2 sockets and 16 L3 groups")
    y = 8.0
    for policy, words in POLICIES.items():
        drawing.marks.append(note(8, y + 12, words))
        y = _machine(drawing, ask_topology(policy), y + 22) + 14
    drawing.least_width, drawing.least_height = 8 + 8 * (FRAME + 4), y
    return drawing.svg()


def ask_topology(policy: str) -> Mapping[str, Any]:
    words = [sys.executable, "-m", "gpd", "topology", "--xml", str(ROOT / TOPOLOGY), "--json"]
    words += ["--threads", str(THREADS), "--binding", policy]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def _machine(drawing: Drawing, machine: Mapping[str, Any], y: float) -> float:
    """A socket a row, an L3 group a frame, a core a square in the colour of the job that has it; the lower end."""
    jobs = [parse_cpus(slot["cpus"]) for slot in machine["slots"][: len(JOBS)]]
    for socket in range(machine["counts"]["socket"]):
        groups = sorted({core["l3"] for core in machine["cores"] if core["socket"] == socket})
        for place, group in enumerate(groups):
            left = 8 + place * (FRAME + 4)
            drawing.marks.append(_square(left, y, FRAME, 34, "none"))
            cores = [core for core in machine["cores"] if (core["socket"], core["l3"]) == (socket, group)]
            for number, core in enumerate(cores):
                job = next((job for job, cpus in enumerate(jobs) if core["cpus"][0] in cpus), None)
                x, top = left + 5 + number % 4 * 17, y + 5 + number // 4 * 13
                drawing.marks.append(_square(x, top, 13, 10, "none" if job is None else JOBS[job]))
        y += 40
    return y


def _square(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="2" fill="{colour}" stroke="{LINE}"/>'


def drawings() -> Iterator[tuple[Path, str]]:
    """Every drawing; those of the rules start Snakemake, which takes a while."""
    made = (
        *((f"rules-{name}", rules(pipeline)) for name, pipeline in PIPELINES.items()),
        ("figure", figure_s_way()),
        ("cpus", cpus()),
        ("parts", parts()),
    )
    for name, text in made:
        yield FOLDER / f"{name}.svg", text
