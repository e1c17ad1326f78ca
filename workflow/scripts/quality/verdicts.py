"""A verdict for each sample, and the tables of all: results/qc/samples.tsv and what is beside it.

    verdicts.py table --figures FIGURES.json [--targets] --thresholds JSON --table T --scores Z --page P
    verdicts.py gate  --figures FIGURES.json [--targets] --thresholds JSON > VERDICT.tsv

T has a row a sample, with the columns of FIGURES below, of which docs/reference/quality.md is made; Z has the robust
z of each figure, and P is the table as MultiQC shows it. `gate` fails where a sample does, and says why.

Standard library only.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

EXOME_BASES = 10_000_000  # called bases from which regions are an exome's, not a panel's
FEWEST = 10  # samples, from which one is compared with the others
OUTLIER, RATIO = "outlier_z", "chromosome_depth"
AT_LEAST = ("mapped", "properly_paired", "insert_size", "coverage", "share_20x", "on_target")
AT_MOST = ("mismatches", "duplicates", "fold_80", "contamination")
JUDGED_BESIDE = ("snps", "indels", "ti_tv", "het_hom", "gc", "insert_size", "coverage")  # those whose z is judged
SEXES = {"male": "XY", "m": "XY", "xy": "XY", "female": "XX", "f": "XX", "xx": "XX"}
LEVELS = ("pass", "warn", "fail")
SHOWN = (  # on the MultiQC page
    *(
        "verdict",
        "reason",
        "reads",
        "mapped",
        "mismatches",
        "duplicates",
        "insert_size",
        "coverage",
        "share_20x",
        "on_target",
    ),
    *("sex_found", "contamination", "same_person", "snps", "indels", "ti_tv", "het_hom"),
)
PAGE_HEADER = (
    "# id: quality",
    "# section_name: Samples and verdicts",
    "# description: All columns are in results/qc/samples.tsv.",
    "# plot_type: table",
)

Row = dict[str, Any]


class Figure(NamedTuple):
    """A column: its unit, what it is read from, its meaning; `compared` ones get a robust z."""

    name: str
    unit: str
    source: str
    meaning: str
    compared: bool = True


STATS, DEPTH, CALLS = "samtools stats", "mosdepth", "bcftools stats"
PAIRS = "genotypes of all samples"


def _of_calls(suffix: str, which: str) -> tuple[Figure, ...]:
    return (
        Figure(f"snps{suffix}", "", CALLS, f"SNPs that the sample has, {which}: heterozygous and homozygous ones."),
        Figure(f"indels{suffix}", "", CALLS, f"Indels that the sample has, {which}."),
        Figure(f"ti_tv{suffix}", "", CALLS, f"Transitions for each transversion among its SNPs, {which}."),
        Figure(f"het_hom{suffix}", "", CALLS, f"Heterozygous for each homozygous SNP, {which}."),
    )


FIGURES = (
    Figure("sample_name", "", "sample sheet", "The sample.", compared=False),
    Figure("verdict", "", "thresholds", "The worst of its findings: `pass`, `warn` or `fail`.", compared=False),
    Figure("reason", "", "thresholds", "Each finding with its figure and threshold; failures first.", compared=False),
    Figure("reads", "", STATS, "Primary reads in the final alignment, those that do not map among them."),
    Figure("mapped", "share", STATS, "Mapped reads / reads."),
    Figure("mismatches", "share", STATS, "Mismatches (NM) / aligned bases."),
    Figure("duplicates", "share", STATS, "Reads marked as duplicates / mapped reads."),
    Figure(
        "optical_duplicates", "share", "samtools markdup", "Optical duplicates / reads examined. sambamba tells none."
    ),
    Figure("properly_paired", "share", STATS, "Properly paired reads / paired reads."),
    Figure("insert_size", "bp", STATS, "Median distance between the outer ends of a pair."),
    Figure("insert_size_mad", "bp", STATS, "Median absolute deviation from that median."),
    Figure("read_length", "bp", STATS, "Mean length of the reads."),
    Figure("gc", "share", STATS, "Mean GC content of the reads."),
    Figure("base_quality", "Phred", STATS, "Mean base quality, after recalibration."),
    Figure(
        "coverage", "x", DEPTH, "Mean depth over the called bases, without duplicates; overlapping mates count once."
    ),
    Figure("coverage_median", "x", DEPTH, "Median of that depth. Runs of N are not counted."),
    Figure("share_1x", "share", DEPTH, "Share of the called bases with depth 1 or more."),
    Figure("share_10x", "share", DEPTH, "The same for 10."),
    Figure("share_20x", "share", DEPTH, "The same for 20."),
    Figure("share_30x", "share", DEPTH, "The same for 30."),
    Figure(
        "on_target",
        "share",
        DEPTH,
        "Aligned bases within the `intervals` / all aligned bases. Empty without `intervals`.",
    ),
    Figure(
        "fold_80",
        "",
        DEPTH,
        "Mean depth of the targets / depth that 80% of them reach, both of covered bases. Empty without `intervals`.",
    ),
    Figure("sex", "", "sample sheet", "The column `sex`.", compared=False),
    Figure("sex_found", "", DEPTH, "Sex chromosomes by depth: `XX`, `XY`, or others such as `XXY`.", compared=False),
    Figure("x_copies", "", DEPTH, "2 x depth of X / median depth of the large other contigs.", compared=False),
    Figure("y_copies", "", DEPTH, "The same for Y.", compared=False),
    Figure("contamination", "share", "see contamination_by", "Share of reads that are another person's."),
    Figure(
        "contamination_by",
        "",
        "",
        "`common_sites`: CalculateContamination. `homozygous_calls`: 3 x the share of REF reads at homozygous SNPs.",
        compared=False,
    ),
    Figure(
        "het_balance",
        "share",
        "final calls",
        "Mean share of ALT reads at heterozygous SNPs; clean samples have nearly 0.5.",
    ),
    Figure("same_person", "", PAIRS, "Samples of the same person, or of an identical twin.", compared=False),
    Figure("first_degree", "", PAIRS, "Samples of parents, children and siblings. It is no finding.", compared=False),
    *_of_calls("", "of those that pass the filters"),
    *_of_calls("_all", "of all records"),
)
COLUMNS = tuple(figure.name for figure in FIGURES)
COMPARED = tuple(figure.name for figure in FIGURES if figure.compared)


def kind_of(called: int, targets: bool) -> str:
    """What the called bases are of: a genome, an exome or a panel."""
    return "genome" if not targets else "exome" if called >= EXOME_BASES else "panel"


# ---- beside the others --------------------------------------------------------------------------------


def robust_z(rows: Mapping[str, Row]) -> dict[str, dict[str, float]]:
    """By sample and figure: the distance to the cohort's median in units of 1.4826 median absolute deviations."""
    scores: dict[str, dict[str, float]] = {sample: {} for sample in rows}
    for name in COMPARED:
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
    row: Row, scores: Mapping[str, float], ratios: Mapping[str, float], thresholds: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, str]]:
    """(level, reason) of all that is wrong with a sample."""
    for name in (*AT_LEAST, *AT_MOST):
        bounds, least = thresholds.get(name, {}), name in AT_LEAST
        if name in row and (level := judge(row[name], bounds, least)):
            yield level, f"{name} {shown(row[name])} is {'below' if least else 'above'} {bounds[level]:g}"
    yield from sex_findings(row)
    for name, ratio in ratios.items():
        if level := judge(abs(ratio - 1), thresholds.get(RATIO, {})):
            yield level, f"depth of {name} is {ratio:.2f} times the usual"
    if "same_person" in row:
        yield "warn", f"same person as {row['same_person']}"
    for name in JUDGED_BESIDE:
        if level := judge(abs(scores.get(name, 0.0)), thresholds.get(OUTLIER, {})):
            yield level, f"{name} {shown(row[name])} is an outlier of the cohort (robust z {scores[name]:+.1f})"


def sex_findings(row: Row) -> Iterator[tuple[str, str]]:
    """A sex that is not the sheet's; sex chromosomes that are neither sex's."""
    if "sex_found" not in row:
        return
    found = row["sex_found"]
    depth = f"{found} by depth ({row['x_copies']:.2f} copies of X, {row['y_copies']:.2f} of Y)"
    expected = SEXES.get(row["sex"].lower(), found)
    if found not in SEXES.values():
        yield "warn", f"sex chromosomes {depth}"
    elif found != expected:
        yield "fail", f"sex {row['sex']} in the sheet, {depth}"


def judge(value: float, bounds: Mapping[str, float], least: bool = False) -> str:
    """The level that a value comes to; empty where it passes."""
    beyond = (
        level
        for level in ("fail", "warn")
        if level in bounds and (value < bounds[level] if least else value > bounds[level])
    )
    return next(beyond, "")


def judge_all(
    rows: Mapping[str, Row],
    kind: str,
    of_kinds: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, float]]:
    """Give each row its verdict; returns the robust z of the figures."""
    thresholds = {name: found[kind] for name, found in of_kinds.items() if kind in found}
    scores, ratios = robust_z(rows), contig_ratios(rows, kind != "genome")
    for sample, row in rows.items():
        row["sample_name"] = sample
        found = list(findings(row, scores[sample], ratios.get(sample, {}), thresholds))
        found.sort(key=lambda each: LEVELS.index(each[0]), reverse=True)
        row |= {"verdict": found[0][0] if found else "pass", "reason": "; ".join(reason for _, reason in found)}
    return scores


# ---- what is written ----------------------------------------------------------------------------------


def shown(value: object) -> str:
    """A value as it stands in the table."""
    if not isinstance(value, float):
        return str(value)
    return str(int(value)) if value.is_integer() else f"{value:.5g}"


def write(path: Path, columns: Sequence[str], rows: Iterable[Row], above: Sequence[str] = ()) -> None:
    lines = ["\t".join(shown(row.get(name, "")) for name in columns) for row in rows]
    path.write_text("".join(f"{line}\n" for line in [*above, "\t".join(columns), *lines]), encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    for name, files in (("table", ("table", "scores", "page")), ("gate", ())):
        subcommand = subcommands.add_parser(name)
        for file in ("figures", *files):
            subcommand.add_argument(f"--{file}", type=Path, required=True)
        subcommand.add_argument("--targets", action="store_true", help="what is called are regions, not the genome")
        subcommand.add_argument("--thresholds", type=json.loads, required=True)
    given = parser.parse_args(argv)
    measured = json.loads(given.figures.read_text(encoding="utf-8"))
    rows, kind = measured["samples"], kind_of(measured["called_bases"], given.targets)
    scores = judge_all(rows, kind, given.thresholds)
    if given.subcommand == "gate":
        return gate(rows)
    write(given.table, COLUMNS, rows.values())
    write(given.scores, ("sample_name", *COMPARED), ({"sample_name": sample} | scores[sample] for sample in rows))
    write(given.page, ("sample_name", *SHOWN), rows.values(), PAGE_HEADER)
    return 0


def gate(rows: Mapping[str, Row]) -> int:
    """Print the verdicts; 1 where one is fail."""
    for sample, row in rows.items():
        print(sample, row["verdict"], row["reason"], sep="\t")
        if row["verdict"] == "fail":
            print(f"error: {sample}: {row['reason']} (qc in the config)", file=sys.stderr)
    return int(any(row["verdict"] == "fail" for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
