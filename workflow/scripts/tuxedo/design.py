"""The experiment's design: which samples belong to which condition, and what cannot be made of that.

Functions return lines; they never print and never exit. The workflow loads this file by its path, so it imports no
sibling; standard library only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Conditions = dict[str, list[str]]
MOST_BYTES = (128 << 10) - 1  # of an argument, to Linux; cuffdiff takes the files of a condition as one
WITHOUT_STARTS = (
    "has no tss_id, so that with assembly: reference_only cuffdiff compares no start sites, promoters, splicing and "
    "coding sequences: their tables will be empty"
)


def conditions(units: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Conditions:
    """The samples of each condition, both in the order of the table; samples without one are under an empty name."""
    groups: Conditions = {}
    for row in samples:
        if row["sample_name"] in units:
            groups.setdefault(row["condition"], []).append(row["sample_name"])
    return groups


def errors(
    config: Mapping[str, Any],
    units: Mapping[str, Mapping],
    groups: Conditions,
    left_out: Iterable[Mapping[str, Any]] = (),
    counted: str = "",
) -> list[str]:
    """What keeps the experiment from being run as it is described, without the samples that are `left_out`.

    `counted`: the folder of what cuffdiff compares, a file a sample.
    """
    if config["stop_after"] == "quantify":
        return [*_unit_errors(units)]
    lost: Conditions = {}
    for row in left_out:
        if row["condition"] not in groups:
            lost.setdefault(row["condition"], []).append(row["sample_name"])
    of_lost = [
        f"samples.tsv: condition {name}: all its samples are left out ({', '.join(members)}): take the condition out "
        "of the table, too, or set stop_after: quantify"
        for name, members in lost.items()
    ]
    return [*_unit_errors(units), *(of_lost or _condition_errors(config, groups, counted))]


def _unit_errors(units: Mapping[str, Mapping]) -> Iterator[str]:
    for sample, lanes in units.items():
        aligned = [unit for unit in lanes.values() if unit["bam"]]
        for unit in aligned:
            yield (
                f"{unit['table']} line {unit['line']}: sample {sample}: has a bam, but the tuxedo pipeline starts "
                "from reads: give fq1"
            )
        if not aligned and len({bool(unit["fq2"]) for unit in lanes.values()}) > 1:
            yield f"units.tsv: sample {sample}: has lanes with fq2 and lanes without: make two samples of them"


def _condition_errors(config: Mapping[str, Any], groups: Conditions, counted: str) -> Iterator[str]:
    if unnamed := groups.get(""):
        yield (
            f"samples.tsv: sample {unnamed[0]}: has no condition ({len(unnamed)} of the samples have none); "
            "give each its condition, or set stop_after: quantify"
        )
    elif len(groups) < 2:
        yield (
            f"samples.tsv: {', '.join(groups)} is the only condition: differential expression compares two or more; "
            "add samples of another, or set stop_after: quantify"
        )
    if config["cuffdiff"]["dispersion_method"] == "per-condition":
        for name in (name for name, members in groups.items() if name and len(members) == 1):
            yield (
                f"samples.tsv: condition {name} has one replicate: dispersion method per-condition takes two or "
                "more of each; set cuffdiff.dispersion_method: pooled"
            )
    yield from _contrast_errors(config["contrasts"], groups)
    first: dict[str, str] = {}
    for name in groups:  # cummeRbund spells them with letters, digits and _ alone, in a database that ignores case
        earlier = first.setdefault(re.sub(r"[^a-z0-9]", "_", name.lower()), name)
        if earlier != name:
            yield (
                f"samples.tsv: conditions {earlier} and {name} differ only in case or punctuation, which cummeRbund "
                "does not tell apart: rename one"
            )
    for condition, members in groups.items():
        if (length := len(",".join(f"{counted}{sample}.cxb" for sample in members))) > MOST_BYTES:
            yield (
                f"samples.tsv: condition {condition}: the names of its {len(members)} samples are too long together: "
                f"cuffdiff takes their files as one argument, of {length} bytes here, and Linux {MOST_BYTES} at most; "
                "shorten the names, or set stop_after: quantify"
            )


def _contrast_errors(contrasts: Iterable[Sequence[str]], groups: Conditions) -> Iterator[str]:
    named: set[str] = set()
    for first, second in contrasts:
        for name in (name for name in (first, second) if name not in groups):
            yield f"config: contrasts: {name} is no condition of the samples, which are of {', '.join(groups)}"
        if first == second:
            yield f"config: contrasts: {first} is compared with itself: name two conditions"
        if (folder := f"{first}_vs_{second}") in named:
            yield f"config: contrasts: two of them would be called {folder}: rename a condition"
        named.add(folder)


def warnings(config: Mapping[str, Any], groups: Conditions) -> list[str]:
    """What runs, but not as well as it might."""
    if config["stop_after"] == "quantify":
        return []
    comparisons = [{name: groups[name] for name in contrast} for contrast in config["contrasts"]] or [groups]
    return list(dict.fromkeys(line for compared in comparisons for line in _replicate_warnings(config, compared)))


def _replicate_warnings(config: Mapping[str, Any], groups: Conditions) -> list[str]:
    single = [name for name, members in groups.items() if len(members) == 1]
    if not single:
        return []
    if len(single) == len(groups):
        where = f" of {' and '.join(groups)}" if config["contrasts"] else ""
        return [
            f"samples.tsv: no condition{where} has replicates: cuffdiff then takes all samples for replicates of one "
            "(dispersion method blind), finds few genes, and its p values say little"
        ]
    borrowed = {"pooled": ", and takes it from the conditions that have more (dispersion method pooled)"}
    return [
        f"samples.tsv: condition {name} has one replicate: cuffdiff cannot see how much it varies"
        + borrowed.get(config["cuffdiff"]["dispersion_method"], "")
        for name in single
    ]
