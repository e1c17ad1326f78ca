"""What the tools say of each sample of an RNA-Seq experiment, as figures.

    rna_figures.py --files FILES.tsv > FIGURES.json

FILES.tsv has a line for each file: SAMPLE:CONDITION (which may be empty), or anything for a file of all samples, and
its path, whose folder and name tell what it is. What a file lacks is missing from the figures, never zero.

Samples are compared by log2(TPM + 1), over genes that have DETECTED fragments in the mean: with the mean of the others
of their condition, and by their distances over those of these genes that differ most, as plotPCA of DESeq2 does. A
sample is nearer to another condition where its median distance to that one's samples is below MARGIN of the median
distance to those of its own.

Standard library only.
"""

import argparse
import json
import math
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from pathlib import Path
from statistics import StatisticsError, correlation, fmean, median
from typing import Any

TOP = 500  # genes that distances are of, those of the greatest variance
MARGIN = 0.8
FEWEST_OWN, FEWEST_OTHERS = 2, 2  # other samples of its own condition, and samples of another one
DETECTED = 10  # fragments of a gene; chance makes much of fewer
TRIM = "trim"  # the folder with a folder a sample, of its lanes
FEWEST_GENES = 10  # of which samples are compared

Profiles = dict[str, Sequence[float]]
Figures = dict[str, dict[str, Any]]


def of_reads(record: Mapping[str, Any]) -> dict[str, float]:
    """Of count_reads.py, whose earlier records do not say what is mapped."""
    reads, mapped = record["reads"], record.get("mapped")
    return {"reads": reads, **({"mapped": mapped / reads} if reads and mapped is not None else {})}


def of_trimming(lanes: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Of count_reads.py trimmed, of all lanes of a sample: the shares that trimming took."""
    found, kept = Counter[str](), Counter[str]()
    for lane in lanes:
        found.update(lane["found"])
        kept.update(lane["kept"])
    return {f"trimmed_{kind}": 1 - kept[kind] / count for kind, count in found.items() if count}


def of_strands(record: Mapping[str, Any]) -> dict[str, Any]:
    """Of strandedness.py."""
    found = {"strandedness": record["declared"], "strandedness_found": record["found"], "sense": record["sense"]}
    return {name: value for name, value in found.items() if value not in ("", None)}


def of_skipped(gtf: str) -> dict[str, int]:
    """Of what Cufflinks assembled nothing of: its file has each locus once a strand."""
    return {"skipped_loci": sum(line.split("\t")[6] == "+" for line in gtf.splitlines())}


def profiles(counts: Path, tpm: Path) -> tuple[Profiles, Profiles]:
    """By sample, the values of the matrices of expression.py, of genes that some sample has enough fragments of."""
    with counts.open(encoding="utf-8") as lines, tpm.open(encoding="utf-8") as scaled:
        _, *samples = next(lines).rstrip("\n").split("\t")
        next(scaled)
        found = [({sample: array("d") for sample in samples}) for _ in range(2)]
        for line, beside in zip(lines, scaled, strict=True):
            whole = list(map(int, line.split("\t")[1:]))
            if max(whole) >= DETECTED:
                for profile, values in zip(found, (whole, map(float, beside.split("\t")[1:])), strict=True):
                    for column, value in zip(profile.values(), values, strict=True):
                        column.append(value)
    return dict(found[0]), dict(found[1])


# ---- samples against each other -----------------------------------------------------------------------


def logarithms(tpm: Profiles, counts: Profiles) -> Profiles:
    """log2(TPM + 1) of the genes that are counted well, of samples that have any; none where the genes are few."""
    kept = [fmean(values) >= DETECTED for values in zip(*counts.values(), strict=True)]
    if sum(kept) < FEWEST_GENES:
        return {}
    return {
        sample: array("d", (math.log2(value + 1) for value in compress(values, kept)))
        for sample, values in tpm.items()
        if any(values)
    }


def correlations(tpm: Profiles, counts: Profiles, conditions: Mapping[str, str]) -> dict[str, float]:
    """Of each sample with the mean of the others of its condition, over the genes that this one has."""
    results = {}
    for members in groups(conditions).values():
        found = logarithms(*({sample: each[sample] for sample in members} for each in (tpm, counts)))
        sums = [math.fsum(values) for values in zip(*found.values(), strict=True)]
        for sample, own in found.items() if len(found) > 1 else ():
            others = [(total - value) / (len(found) - 1) for total, value in zip(sums, own, strict=True)]
            with suppress(StatisticsError):  # of a constant
                results[sample] = correlation(own, others)
    return results


def groups(conditions: Mapping[str, str]) -> dict[str, list[str]]:
    """The samples of each condition; those without one are in none."""
    found: dict[str, list[str]] = {}
    for sample, condition in conditions.items():
        if condition:
            found.setdefault(condition, []).append(sample)
    return found


def most_variable(found: Profiles) -> dict[str, tuple[float, ...]]:
    """The genes of the greatest variance alone."""
    spreads = []
    for gene, values in enumerate(zip(*found.values(), strict=True)):
        mean = fmean(values)
        spreads.append((sum((value - mean) ** 2 for value in values), gene))
    chosen = [gene for _, gene in sorted(spreads, reverse=True)[:TOP]]
    return {sample: tuple(values[gene] for gene in chosen) for sample, values in found.items()}


def nearer(found: Mapping[str, tuple[float, ...]], conditions: Mapping[str, str]) -> dict[str, str]:
    """Samples that lie nearer to another condition, by name, and that condition."""
    members = groups({sample: conditions[sample] for sample in found})

    def distance(sample: str, others: Sequence[str]) -> float:
        return median(math.dist(found[sample], found[one]) for one in others)

    results = {}
    for condition, own in members.items():
        rest = {name: others for name, others in members.items() if name != condition and len(others) >= FEWEST_OTHERS}
        for sample in own if len(own) > FEWEST_OWN and rest else ():
            distances = {name: distance(sample, others) for name, others in rest.items()}
            closest = min(distances, key=distances.__getitem__)
            if distances[closest] < MARGIN * distance(sample, [one for one in own if one != sample]):
                results[sample] = closest
    return results


def compared(tpm: Profiles, counts: Profiles, conditions: Mapping[str, str]) -> Figures:
    """What the samples' expression tells of each beside the others."""
    found = logarithms(tpm, counts)
    variable = most_variable(found) if len(found) > 1 else {}
    figures: Figures = {sample: {} for sample in variable}
    for name, values in (
        ("correlation", correlations(tpm, counts, conditions)),
        ("nearer_to", nearer(variable, conditions)),
    ):
        for sample, value in values.items():
            figures.setdefault(sample, {})[name] = value
    return figures


# ---- all files of an experiment -----------------------------------------------------------------------


def read(files: Iterable[tuple[str, Path]]) -> Figures:
    samples: Figures = {}
    matrices: dict[str, Path] = {}
    trimmed: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for name, path in files:
        sample, _, condition = name.partition(":")
        kind = path.parent.name
        if kind == "expression":
            matrices[path.stem] = path
            continue
        text = path.read_text(encoding="utf-8")
        if path.parent.parent.name == TRIM:
            trimmed[sample].append(json.loads(text))
            found = of_trimming(trimmed[sample])
        elif kind == "skipped":
            found = of_skipped(text)
        else:
            found = {"align": of_reads, "read_strands": of_strands}.get(kind, dict)(json.loads(text))
        samples.setdefault(sample, {"condition": condition}).update(found)
    conditions = {sample: figures["condition"] for sample, figures in samples.items()}
    counted, tpm = profiles(matrices["gene_counts"], matrices["gene_tpm"]) if matrices else ({}, {})
    beside = compared(tpm, counted, conditions) if counted else {}
    for sample, figures in samples.items():
        counts = counted.get(sample, [])
        figures |= {"genes_detected": sum(count >= DETECTED for count in counts)} if counts else {}
        figures |= beside.get(sample, {})
    return samples


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=Path, required=True)
    given = parser.parse_args(argv)
    lines = (line.split("\t") for line in given.files.read_text(encoding="utf-8").splitlines())
    json.dump({"samples": read((name, Path(path)) for name, path in lines)}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
