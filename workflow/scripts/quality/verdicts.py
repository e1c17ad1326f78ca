"""A verdict for each sample, and the tables of all: results/qc/samples.tsv and what is beside it.

    verdicts.py table --columns COLUMNS.tsv --figures FIGURES.json [--targets] --limits LIMITS.tsv [--thresholds JSON]
        --table T --scores Z --multiqc M
    verdicts.py gate  --columns COLUMNS.tsv --figures FIGURES.json [--targets] [--limits LIMITS.tsv] [--thresholds JSON]
        > VERDICT.tsv

LIMITS has the thresholds of each figure by kind, and JSON those that replace a figure's; without both the sex alone is
judged. COLUMNS is the pipeline's table of columns. Both lie beside this file, and docs/reference/quality.md is made of
them, too. T has a row a sample with the columns; Z has the robust z of each figure, and M is the table as MultiQC shows
it. `gate` fails where a sample does, and says why.

Standard library only.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

EXOME_BASES = 10_000_000  # called bases from which regions are an exome's, not a panel's
FEWEST = 10  # samples, from which one is compared with the others
AUTO = "auto"  # the library type is what reads say
OUTLIER, RATIO = "outlier_z", "chromosome_depth"
SEXES = {"male": "XY", "m": "XY", "xy": "XY", "female": "XX", "f": "XX", "xx": "XX"}
UNKNOWN_SEX = "no contigs with reads are known as X and Y; qc.sex_contigs in the config names them"
NOT_KNOWN = "not known"  # as figures.py has it
LEVELS = ("pass", "warn", "fail")
PAGE_HEADER = (
    "# id: quality",
    "# section_name: Samples and verdicts",
    "# description: Failures first, without empty columns; all in results/qc/samples.tsv, robust z in robust_z.tsv",
    "# plot_type: table",
    "# pconfig:",
    "#   id: samples_and_verdicts",
    "#   sort_rows: false",
    "#   no_violin: true",
    "# headers:",
)
FORMATS = {"0": "{:,.0f}", "1": "{:,.1f}", "2": "{:,.2f}", "%": "{:.2%}"}  # of numbers on the MultiQC page

Row = dict[str, Any]


class FigureColumn(NamedTuple):
    """A column, as a row of the table of columns has it; empty where that has a dash.

    `compared` ones get a robust z; `threshold` says on which side of it a figure passes, `outlier` that its z is
    judged; `shown` ones are on the MultiQC page, as text, in per cent, or with so many decimals.
    """

    name: str
    unit: str
    source: str
    meaning: str
    compared: str
    threshold: str
    outlier: str
    shown: str


def read_columns(path: Path) -> list[FigureColumn]:
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    return [FigureColumn(*(word if word != "-" else "" for word in line.split("\t"))) for line in lines]


class Limit(NamedTuple):
    """From which value on a figure warns or fails, and whose limit that is."""

    value: float
    whose: str = "your limit"


Limits = dict[str, dict[str, dict[str, Limit]]]  # by figure, kind of samples, and level


def read_limits(path: Path) -> Limits:
    """The usual ones."""
    found: Limits = {}
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    for figure, kinds, *bounds, whose, _ in (line.split("\t") for line in lines):
        of_levels = zip(LEVELS[1:], bounds, (whose.split("/") * 2)[:2], strict=True)
        numbers = {level: Limit(float(bound), f"{name}'s limit") for level, bound, name in of_levels if bound != "-"}
        found.setdefault(figure, {}).update((kind, numbers) for kind in kinds.split(","))
    return found


def own_limits(thresholds: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Limits:
    """Those of a configuration."""
    return {
        figure: {kind: {level: Limit(value) for level, value in bounds.items()} for kind, bounds in of_kinds.items()}
        for figure, of_kinds in thresholds.items()
    }


def kind_of(called: int | None, targets: bool) -> str:
    """What the samples are: RNA where nothing is called, else by the called bases a genome, an exome or a panel."""
    if called is None:
        return "rna"
    return "genome" if not targets else "exome" if called >= EXOME_BASES else "panel"


# ---- beside the others --------------------------------------------------------------------------------


def robust_z(rows: Mapping[str, Row], compared: Iterable[str]) -> dict[str, dict[str, float]]:
    """By sample and figure: the distance to the cohort's median in units of 1.4826 median absolute deviations."""
    scores: dict[str, dict[str, float]] = {sample: {} for sample in rows}
    for name in compared:
        values = {sample: row[name] for sample, row in rows.items() if name in row}
        middle = median(values.values()) if len(values) >= FEWEST else None
        if middle is not None and (spread := 1.4826 * median(abs(value - middle) for value in values.values())):
            for sample, value in values.items():
                scores[sample][name] = (value - middle) / spread
    return scores


def contig_ratios(rows: Mapping[str, Row], targets: bool) -> dict[str, dict[str, float]]:
    """Each large contig's depth over the sample's median of them; of many samples, over what is usual for the contig.

    Targets are captured unevenly, so that of few samples nothing is known.
    """
    ratios = {sample: row["contigs"] for sample, row in rows.items() if "contigs" in row}
    if len(ratios) < FEWEST:
        return {} if targets else ratios
    of_contigs: dict[str, list[float]] = {}
    for own in ratios.values():
        for name, ratio in own.items():
            of_contigs.setdefault(name, []).append(ratio)
    usual = {name: median(found) for name, found in of_contigs.items()}
    return {
        sample: {name: ratio / usual[name] for name, ratio in own.items() if usual[name]}
        for sample, own in ratios.items()
    }


# ---- the verdict --------------------------------------------------------------------------------------


def findings(
    row: Row,
    columns: Iterable[FigureColumn],
    scores: Mapping[str, float],
    ratios: Mapping[str, float],
    thresholds: Mapping[str, Mapping[str, Limit]],
    unjudged_sex: str = "",
    library: str = "",
) -> Iterator[tuple[str, str]]:
    """(level, reason) of all that is wrong with a sample; `library` is the type of most samples."""
    if "nearer_to" in row:
        yield "warn", f"condition {row['condition']} in the sheet, nearer to samples of {row['nearer_to']}"
    for name, least in ((column.name, column.threshold == "at least") for column in columns if column.threshold):
        bounds = thresholds.get(name, {})
        if name in row and (level := judge(row[name], bounds, least)):
            (bound, whose), side = bounds[level], "below" if least else "above"
            yield level, f"{name} {beside(row[name], bound)} is {side} {bound:g} ({whose})"
    yield from sex_findings(row, unjudged_sex)
    yield from library_findings(row, library)
    for name, ratio in ratios.items():
        if level := judge(abs(ratio - 1), thresholds.get(RATIO, {})):
            yield level, f"depth of {name} is {ratio:.2f} times the usual"
    if "other_lanes" in row:
        yield "fail", f"lanes of another person, with the share of their reads that differ: {row['other_lanes']}"
    yield from known_findings(row)
    if row.get("same_person", NOT_KNOWN) != NOT_KNOWN:
        yield "warn", f"same person as {row['same_person']}"
    for name in (column.name for column in columns if column.outlier):
        if level := judge(abs(scores.get(name, 0.0)), thresholds.get(OUTLIER, {})):
            yield level, f"{name} {shown(row[name])} is an outlier of the cohort (robust z {scores[name]:+.1f})"


def sex_findings(row: Row, unjudged: str = "") -> Iterator[tuple[str, str]]:
    """A sex that is not the sheet's, chromosomes that are neither sex's; what is not known, at level `unjudged`."""
    if "sex_found" not in row:
        if unjudged and row["sex"].lower() in SEXES:
            yield unjudged, f"sex {row['sex']} in the sheet, not known by depth: {UNKNOWN_SEX}"
        return
    found = row["sex_found"]
    depth = f"{found} by depth ({row['x_copies']:.2f} copies of X, {row['y_copies']:.2f} of Y)"
    expected = SEXES.get(row["sex"].lower(), found)
    if found not in SEXES.values():
        yield "warn", f"sex chromosomes {depth}"
    elif found != expected:
        yield "fail", f"sex {row['sex']} in the sheet, {depth}"


def known_findings(row: Row) -> Iterator[tuple[str, str]]:
    """Genotypes that are not those known of the sample."""
    if "own_kinship" not in row or (known_as := row.get("known_as")) == row["sample_name"]:
        return
    own = f"with its own known ones {row['own_kinship']:.2f} at {row['compared_sites']} sites"
    if known_as:
        yield "fail", f"its genotypes are those of {known_as} (kinship {row['as_kinship']:.2f}, {own})"
    else:
        yield "fail", f"its genotypes are those of no known sample (kinship {own})"


def library_findings(row: Row, library: str) -> Iterator[tuple[str, str]]:
    """A library of another type than was said, or than most samples have: Cufflinks' steps refuse it."""
    found, declared = row.get("strandedness_found"), row.get("strandedness")
    expected, where = (library, "of most samples") if declared == AUTO else (declared, "in the config")
    if found and found != expected:
        sense = f"{row['sense']:.0%} on the gene's strand"
        yield "fail", f"strandedness {expected} {where}, {found} by reads ({sense})"


def usual_library(rows: Iterable[Row]) -> str:
    """The type of most samples, by their reads."""
    found = Counter(row["strandedness_found"] for row in rows if row.get("strandedness_found"))
    return found.most_common(1)[0][0] if found else ""


def judge(value: float, bounds: Mapping[str, Limit], least: bool = False) -> str:
    """The level that a value comes to; empty where it passes."""
    beyond = (
        level
        for level in ("fail", "warn")
        if level in bounds and (value < bounds[level].value if least else value > bounds[level].value)
    )
    return next(beyond, "")


def judge_all(
    rows: Mapping[str, Row],
    columns: Sequence[FigureColumn],
    kind: str,
    of_kinds: Mapping[str, Mapping[str, Mapping[str, Limit]]],
    unjudged_sex: str = "",
) -> dict[str, dict[str, float]]:
    """Give each row its verdict; returns the robust z of the figures."""
    thresholds = {name: found[kind] for name, found in of_kinds.items() if kind in found}
    scores = robust_z(rows, (column.name for column in columns if column.compared))
    ratios = contig_ratios(rows, kind != "genome")
    library = usual_library(rows.values())
    for sample, row in rows.items():
        row["sample_name"] = sample
        of_sample = (scores[sample], ratios.get(sample, {}), thresholds, unjudged_sex, library)
        found = list(findings(row, columns, *of_sample))
        found.sort(key=lambda each: LEVELS.index(each[0]), reverse=True)
        row |= {"verdict": found[0][0] if found else "pass", "reason": "; ".join(reason for _, reason in found)}
    return scores


# ---- what is written ----------------------------------------------------------------------------------


def shown(value: object) -> str:
    """A value as it stands in the table."""
    if not isinstance(value, float):
        return str(value)
    return str(int(value)) if value.is_integer() else f"{value:.5g}"


def beside(value: float, bound: float) -> str:
    """A value as it is shown, with as many digits more as tell it from a threshold."""
    texts = (shown(value), *(f"{value:.{digits}g}" for digits in range(6, 18)))
    return next((text for text in texts if float(text) != bound), texts[-1])


def write(path: Path, columns: Sequence[str], rows: Iterable[Row], above: Sequence[str] = ()) -> None:
    lines = ["\t".join(shown(row.get(name, "")) for name in columns) for row in rows]
    path.write_text("".join(f"{line}\n" for line in [*above, "\t".join(columns), *lines]), encoding="utf-8")


def page_header(columns: Iterable[FigureColumn]) -> Iterator[str]:
    """The lines by which MultiQC shows the table: a title, the meaning and the digits of each column."""
    yield from PAGE_HEADER
    for column in columns:
        looks = {"title": column.name.replace("_", " "), "description": column.meaning}
        looks |= {"format": FORMATS[column.shown]} if column.shown in FORMATS else {}
        looks |= {"suffix": f" {column.unit}"} if column.unit in ("bp", "x") else {}
        yield f"#   {column.name}: {json.dumps(looks)}"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    for name, files in (("table", ("table", "scores", "multiqc")), ("gate", ())):
        subcommand = subcommands.add_parser(name)
        for file in ("columns", "figures", *files):
            subcommand.add_argument(f"--{file}", type=Path, required=True)
        subcommand.add_argument("--targets", action="store_true", help="what is called are regions, not the genome")
        subcommand.add_argument("--limits", type=Path, help="the table of thresholds")
        subcommand.add_argument("--thresholds", type=json.loads, default={}, help="those of the config")
        subcommand.add_argument("--unjudged-sex", choices=LEVELS[1:], default="", help="level, where the sex decides")
        if name == "gate":
            subcommand.add_argument("--key", default="qc", help="of the config, for which a sample is refused")
    given = parser.parse_args(argv)
    measured = json.loads(given.figures.read_text(encoding="utf-8"))
    rows, kind = measured["samples"], kind_of(measured.get("called_bases"), given.targets)
    columns = read_columns(given.columns)
    thresholds = (read_limits(given.limits) if given.limits else {}) | own_limits(given.thresholds)
    scores = judge_all(rows, columns, kind, thresholds, given.unjudged_sex)
    if given.subcommand == "gate":
        return gate(rows, given.key)
    names, compared = [column.name for column in columns], [column.name for column in columns if column.compared]
    write(given.table, names, rows.values())
    write(given.scores, ("sample_name", *compared), ({"sample_name": sample} | scores[sample] for sample in rows))
    shown_ones = [
        column for column in columns if column.shown and any(shown(row.get(column.name, "")) for row in rows.values())
    ]
    worst_first = sorted(rows.values(), key=lambda row: LEVELS.index(row["verdict"]), reverse=True)
    on_page = ("sample_name", *(column.name for column in shown_ones))
    write(given.multiqc, on_page, worst_first, list(page_header(shown_ones)))
    return 0


def gate(rows: Mapping[str, Row], key: str) -> int:
    """Print the verdicts; 1 where one is fail."""
    for sample, row in rows.items():
        print(sample, row["verdict"], row["reason"], sep="\t")
        if row["verdict"] == "fail":
            print(f"error: {sample}: {row['reason']} ({key} in the config)", file=sys.stderr)
    return int(any(row["verdict"] == "fail" for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
