"""One N, one figure: what `gpd report`, `compare`, `size` and `package check` print of the recorded studies.

Each figure is read from what a subcommand writes: tables, JSON, terminal, page. All are held against the table
`summary` that `gpd report` wrote.
"""

import csv
import json
import math
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import recorded_studies
import subcommands
from packing import write_study
from pages import text_of
from test_stream import write_streams

from gpd.records.binding import describe_binding
from gpd.records.run_spec import MODES

pytestmark = pytest.mark.usefixtures("drawn_once")

STUDIES = {
    "first": lambda folder: shutil.copytree(recorded_studies.study(), folder),
    "whole": write_study,
    "search": lambda folder: write_study(folder, concurrent_samples=()),
    "streams": lambda folder: write_streams(folder, ("shared", "stream")),
}
GENOME_GB = 3.1 * 0.01  # of a depth of 0.01: a demand of samples about as large as those of the first study
SECONDS = {"h": 3600, "hours": 3600, "min": 60, "minutes": 60, "s": 1, "seconds": 1}
HEADS = {  # of columns on the terminal and of rows on pages
    "genomes/day": "genomes_per_day",
    "samples/day": "genomes_per_day",
    "30x human/day": "human_30x_per_day",
    "CPU utilisation": "cpu_utilisation",
    "genomes a day": "genomes_per_day",
    "samples a day": "genomes_per_day",
    "gigabases a day": "gigabases_per_day",
    "30x human genomes a day": "human_30x_per_day",
    "30x human equivalents a day": "human_30x_per_day",
    "CPU seconds a gigabase": "cpu_s_per_gigabase",
    "total (makespan)": "makespan_s",
    "total (summed)": "summed_h",
}
NUMBER = r"[\d,]+(?:\.\d+)?"
PRINTED = re.compile(rf"({NUMBER})(?: ± ({NUMBER}))?(?: \(se ({NUMBER})\))?")


@dataclass(frozen=True)
class Figure:
    """A row of the table `summary`; times of steps in seconds."""

    mean: float
    low: float | None
    high: float | None
    se: float | None
    repeats: int

    @property
    def half_width(self) -> float | None:
        return None if self.high is None else self.high - self.mean


Place = tuple[tuple[str, str, str], int, str, str]  # curve, N, step, metric
Rows = list[list[str]]


class Written:
    """What the subcommands say of one study, each run once; `again` is the same study under another name."""

    def __init__(self, write, folder: Path) -> None:
        self.folder, self.again = write(folder / "study"), write(folder / "again")
        self.report = gpd("report", self.folder).stdout
        self.page = text_of((self.folder / "report.html").read_text())
        compare = ["compare", self.folder, self.again]
        self.compared = json.loads(gpd(*compare, "--json").stdout)
        self.comparison = gpd(*compare, "--html", folder / "compare.html").stdout
        self.comparison_page = text_of((folder / "compare.html").read_text())
        self.curves = {tuple(row[name] for name in ("pipeline", "mode", "binding")) for row in self.table("runs")}
        self.summary = {place: figure for place, figure in map(placed, self.table("summary")) if figure}

    def table(self, name: str) -> list[dict[str, str]]:
        """A table that `gpd report` wrote."""
        with (self.folder / "tables" / f"{name}.tsv").open() as lines:
            return list(csv.DictReader(lines, delimiter="\t"))


def placed(row: dict[str, str]) -> tuple[Place, Figure | None]:
    scale = 3600 if row["unit"] == "h" else 1
    mean, low, high, se = (float(row[name]) * scale if row[name] else None for name in ("mean", "low", "high", "se"))
    place = (row["pipeline"], row["mode"], row["binding"]), int(row["n"]), row["step"], row["metric"]
    return place, None if mean is None else Figure(mean, low, high, se, int(row["repeats"]))


def gpd(*words: object, code: int = 0):
    done = subcommands.gpd(*words)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(
    scope="module",
    params=["first", *(pytest.param(name, marks=pytest.mark.deep) for name in STUDIES if name != "first")],
)
def study(request, tmp_path_factory) -> Written:
    return Written(STUDIES[request.param], tmp_path_factory.mktemp(request.param))


# ---- what was printed --------------------------------------------------------------------------------


def on_terminal(text: str) -> Iterator[tuple[list[str], Rows]]:
    """The tables of a terminal, each with the lines before it."""
    before: list[str] = []
    rows: Rows | None = None
    for line in text.splitlines():
        if line.startswith("┏"):
            rows = []
        elif line.startswith("└"):
            yield before, rows
            before, rows = [], None
        elif rows is None:
            before.append(line.strip())
        elif line[0] in "┃│":
            rows.append([entry.strip() for entry in re.split("[┃│]", line)[1:-1]])


def on_page(text: str) -> Iterator[tuple[list[str], Rows]]:
    """The tables of a page, each with the lines before it."""
    before: list[str] = []
    rows: Rows = []
    for line in (*text.splitlines(), ""):
        if line.startswith("|"):
            rows.append([entry.strip() for entry in line[1:].split("|")])
        else:
            if rows:
                yield before, rows
                before, rows = [], []
            before.append(line)


def of_curves(tables: Iterator[tuple[list[str], Rows]], curves) -> Iterator[tuple[tuple, str, Rows]]:
    """The tables that follow the name of a curve, each with that curve and its caption."""
    pipeline, curve = "", None
    for before, rows in tables:
        caption = " ".join(before)
        for line in before:
            pipeline = line.removeprefix("Pipeline ") if line.startswith("Pipeline ") else pipeline
            curve = next((key for key in curves if (pipeline, line.lower()) == (key[0], label(key).lower())), curve)
        curve = next((key for key in curves if f"{key[0]}, {label(key)}: mean" in caption), curve)
        if curve and "search" not in caption:
            yield curve, caption, rows


def label(curve) -> str:
    """What a curve is called among those of its pipeline."""
    return f"{MODES[curve[1]]}, {describe_binding(curve[2])}"


def is_as_printed(text: str, figure: Figure) -> bool:
    """Whether a mean, and the error behind it, are this figure's to the last digit that is printed."""
    mean, half, se = PRINTED.search(text).groups()
    told = [(mean, figure.mean), (half, figure.half_width), (se, figure.se)]
    return all(abs(float(one.replace(",", "")) - of) <= rounding(one) for one, of in told if one is not None)


def number(value: float | None) -> float:
    return math.nan if value is None else value


def rounding(printed: str) -> float:
    return 0.5000001 * 10.0 ** -len(printed.partition(".")[2])


def step_figures(curve, caption: str, rows: Rows) -> Iterator[tuple[Place, str, float]]:
    """Each figure of a table of steps by N: its place, its text, and how many of its units are one of the table's."""
    clock, unit = re.search(r"(elapsed|summed) step time, (\w+)", caption.lower()).groups()
    for head, *entries in rows[1:]:
        step = head.split(" ")[-1]
        metric = HEADS.get(head, f"{clock}_h" if head[:1].isdigit() else None)
        for n, entry in zip(rows[0][1:], entries, strict=True):
            if metric and PRINTED.match(entry):
                scale = SECONDS[unit] if metric in ("makespan_s", "elapsed_h", "summed_h") else 1
                yield (curve, int(n.removeprefix("N = ")), "" if head in HEADS else step, metric), entry, scale


def in_unit(figure: Figure, scale: float) -> Figure:
    ends = (None if one is None else one / scale for one in (figure.mean, figure.low, figure.high, figure.se))
    return Figure(*ends, figure.repeats)


# ---- the same everywhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["terminal", "page"])
def test_a_report_prints_what_its_table_has(study, where):
    tables = on_terminal(study.report) if where == "terminal" else on_page(study.page)
    seen = set()
    for curve, caption, rows in of_curves(tables, study.curves):
        if "step time" in caption:
            for place, text, scale in step_figures(curve, caption, rows):
                assert is_as_printed(text, in_unit(study.summary[place], scale)), (place, text)
                seen.add(place)
    wanted = {
        place for place in study.summary if place[3] in ("elapsed_h", "summed_h", "makespan_s", "genomes_per_day")
    }
    assert seen >= wanted, sorted(wanted - seen)


def test_the_table_of_a_curve_has_the_same_means(study):
    seen = set()
    for curve, _, rows in of_curves(on_terminal(study.report), study.curves):
        if rows[0][0] != "N":
            continue
        for n, _, _, *entries in rows[1:]:
            for head, entry in zip(rows[0][3:], entries, strict=True):
                place = curve, int(n), "", "makespan_s" if head == "makespan, s" else HEADS[head]
                assert is_as_printed(entry, study.summary[place]), (place, entry)
                seen.add(place)
    assert {place[:2] for place in seen} == {place[:2] for place in study.summary}


def test_a_comparison_has_the_same_figures_as_json(study):
    seen = set()
    for one in study.compared["configurations"]:
        curve = one["pipeline"], one["mode"], one["binding"]
        for each in one["figures"]:
            place = curve, one["n"], each["step"] or "", each["figure"]
            for of in each["sides"].values():
                if place in study.summary:
                    scale = 3600 if each["figure"].endswith("_h") else 1
                    figure = in_unit(study.summary[place], scale)
                    names = {"mean": "value", "low": "low", "high": "high", "se": "se", "repeats": "n"}
                    known = {name: number(of[key]) for name, key in names.items()}
                    wanted = {name: number(getattr(figure, name)) for name in names}
                    assert known == pytest.approx(wanted, rel=1e-9, nan_ok=True), place
                    seen.add(place)
    wanted = {
        place for place in study.summary if place[3] in ("elapsed_h", "summed_h", "makespan_s", "genomes_per_day")
    }
    assert seen >= {place for place in wanted if place[2] or place[3] != "summed_h"}


@pytest.mark.parametrize("where", ["terminal", "page"])
def test_a_comparison_prints_the_same_figures(study, where):
    tables = on_terminal(study.comparison) if where == "terminal" else on_page(study.comparison_page)
    seen = set()
    for before, rows in tables:
        curve = next(
            (key for key in study.curves if label(key) in before[-1] and f"{key[0]}, N = " in before[-1]), None
        )
        if curve is None:
            continue
        n, clock = int(before[-1].split("N = ")[1].split(",")[0]), ("", 1)
        for head, *entries in rows:
            if title := re.match(r"(elapsed|summed) step time, (\w+)", head):
                clock = f"{title[1]}_h", SECONDS[title[2]]
            time = re.match(r"makespan, (\w+)", head)
            metric = "makespan_s" if time else HEADS.get(head, clock[0])
            scale = SECONDS[time[1]] if time else 1 if head in HEADS else clock[1]
            place = curve, n, "" if time or head in HEADS else head, metric
            if place in study.summary and len(entries) > 2:
                wanted = in_unit(study.summary[place], scale)
                assert all(is_as_printed(entry, wanted) for entry in entries[-2:]), (place, entries)
                seen.add(place)
    assert {place[3] for place in seen} >= {"genomes_per_day", "makespan_s", "elapsed_h", "summed_h"}


def test_a_size_has_the_same_figures(study, tmp_path):
    page = tmp_path / "size.html"
    (depth,) = {float(row["gigabases"]) / int(row["succeeded"]) / 3.1 for row in study.table("runs")[:1]}
    asked = ["size", "--genomes", "1", "--depth", depth, "--study", study.folder]
    (told,) = json.loads(gpd(*asked, "--html", page, "--json").stdout)["machines"]
    (words,) = [line for line in told["told"] if line.startswith("measured: ")]
    curve = next(key for key in study.curves if f"of {key[1]}, {key[2]} binding" in words and key[0] == "germline")
    n = int(told["quantities"]["n"]["value"])
    for metric in ("gigabases_per_day", "cpu_utilisation"):
        of, figure = told["quantities"][metric], study.summary[curve, n, "", metric]
        assert of["value"] == pytest.approx(figure.mean, rel=1e-9)
        if of["low"] is not None:
            assert (of["low"], of["high"]) == pytest.approx((figure.low, figure.high), rel=1e-9)
    as_large = depth * 3.1 / told["measured_gigabases_per_sample"]
    makespan_h = as_large * study.summary[curve, n, "", "makespan_s"].mean / 3600
    assert told["quantities"]["makespan"]["value"] == pytest.approx(makespan_h, rel=1e-9)
    shown = dict(re.findall(rf"({NUMBER}) at N = (\d+)", page.read_text()))
    assert len(shown) == len({place[1] for place in study.summary if place[0] == curve})
    for printed, at in shown.items():
        daily = study.summary[curve, int(at), "", "gigabases_per_day"].mean / depth / 3.1
        assert abs(float(printed.replace(",", "")) - daily) <= rounding(printed)


@pytest.mark.deep
def test_a_package_and_its_check_have_the_same_figures(study, tmp_path):
    package = tmp_path / "study.gpd.tar.gz"
    gpd("package", study.folder, "--out", package)
    with tarfile.open(package) as files:
        for table in ("configurations", "steps", "streams"):
            packed = files.extractfile(f"tables/{table}.tsv").read()
            assert packed == (study.folder / "tables" / f"{table}.tsv").read_bytes()
    done = subcommands.gpd("package", "check", package, "--json")
    checks = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    assert (checks["digests"]["state"], checks["figures"]["state"]) == ("holds", "holds")
    lines = [
        re.match(r"(\w+) N = (\d+) \((\w+), (.+)\): (\d+) repeats? \(.+\), .*± (.+)%", why)
        for why in checks["precision"]["why"]
    ]
    for pipeline, n, mode, binding, repeats, share in (line.groups() for line in lines if line):
        daily = study.summary[(pipeline, mode, binding), int(n), "", "genomes_per_day"]
        assert daily.repeats == int(repeats)
        assert abs(float(share) - 100 * daily.half_width / daily.mean) <= rounding(share)
    assert any(lines) == (checks["precision"]["state"] != "not known")


def test_a_stream_has_the_same_figures(study):
    wanted = study.table("streams")
    rows = [row for _, rows in on_terminal(study.report) for row in rows[1:] if rows[0][0] == "stream"]
    on_the_page = [row for _, rows in on_page(study.page) for row in rows[1:] if rows[0][0] == "stream"]
    assert len(rows) == len(on_the_page) == len(wanted)
    for stream, told, other in zip(wanted, rows, on_the_page, strict=True):
        assert told == other
        for name, text in (("genomes_per_day", told[4]), ("human_30x_per_day", told[5]), ("result_median_s", told[6])):
            printed = re.match(NUMBER, text)[0]
            assert abs(float(printed.replace(",", "")) - float(stream[name])) <= rounding(printed)


def test_single_steps_have_no_figures_of_runs(tmp_path):
    """A study of scaling has tables and a page of its own."""
    folder = recorded_studies.study("scaling")
    again = shutil.copytree(folder, tmp_path / "again")
    for words in (("report", folder), ("compare", folder, again), ("size", "--genomes", "1", "--study", folder)):
        assert "single steps: gpd scaling run writes their tables and report" in gpd(*words, code=2).stderr
    assert "single steps" in gpd("package", folder, "--out", tmp_path / "package", code=2).stderr


# ---- errors ------------------------------------------------------------------------------------------


def test_every_step_of_every_n_has_its_errors(study):
    """Mean, standard error and 95% interval, elapsed and summed: in the table, on the terminal, on the page."""
    steps = {(place, figure) for place, figure in study.summary.items() if place[2]}
    repeated = {place for place, figure in steps if figure.repeats > 1}
    assert {place[3] for place in repeated} >= {"elapsed_h", "summed_h", "cpu_s", "job_s"}
    assert all(None not in (of.low, of.high, of.se) for place, of in steps if place in repeated)
    for tables in (on_terminal(study.report), on_page(study.page)):
        told = [
            (place, PRINTED.search(text).groups())
            for curve, caption, rows in of_curves(tables, study.curves)
            if "step time" in caption
            for place, text, _ in step_figures(curve, caption, rows)
        ]
        shown = {place for place, numbers in told if None not in numbers}
        assert shown >= {place for place in repeated if place[3] in ("elapsed_h", "summed_h")}


def test_every_ratio_of_steps_has_its_interval(study):
    for one in study.compared["configurations"]:
        for each in one["figures"]:
            own, ratio = each["sides"]["again"], each["sides"]["again"]["ratio"]
            if own["n"] > 1 and own["value"]:
                assert ratio["low"] <= ratio["value"] <= ratio["high"], each["figure"]
