"""What the tools say of each sample, as figures.

    figures.py --files FILES.tsv --called CALLED.bed [--targets] > FIGURES.json

FILES.tsv has a line for each file: SAMPLE:SEX (which may be empty) or the call set that it is of, and its path, whose
folder tells what it is.
What a file lacks is missing from the figures, never zero. JSON: the number of called bases, and the figures of each
sample, by the names of verdicts.py; `contigs` among them has the depth of the large contigs over the median of these.

Standard library only.
"""

import argparse
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

OTHER_PERSON = 0.1  # of a lane's reads that have another allele than the others, which are homozygous; a sibling's 0.18
COSTLY = 0.01  # of a call set's variants: a hard filter that alone takes more is named
ADAPTERS = ("AGATCGGAAGAGC", "CTGTCTCTTATAC")  # what a read of a dimer begins with: TruSeq's, Nextera's
DEPTHS = (1, 10, 20, 30)
LARGE = 0.01  # of the called bases: what a contig has at least that is compared with others
# UCSC, Ensembl; RefSeq and GenBank without versions: of GRCh37 and GRCh38, T2T-CHM13 (Y: HG002), and the mouse
SEX_CONTIGS = {
    "x": ("chrX", "X", "NC_000023", "CM000685", "NC_060947", "CP068255", "NC_000086", "CM001013"),
    "y": ("chrY", "Y", "NC_000024", "CM000686", "NC_060948", "CP086569", "NC_000087", "CM001014"),
}
ACCESSION = re.compile(r"([A-Z]{2}_?\d{6})\.\d+")
LEAST_BASES = 10_000  # of a sex chromosome that depth tells of
HOM_REF_FACTOR = 3  # 1 / the mean share of REF among alleles at homozygous ALT sites, under the neutral spectrum
MALE_Y = 0.3  # copies of Y by depth: much of it is repeats, so that men have less than 1, and women have next to none

NOT_KNOWN = "not known"
TRIM = "trim"  # the folder of what trimming left
Haploid = Mapping[str, Counter[str]]  # by sample, SNPs and indels among its haploid calls


def share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def known(figures: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}


def samtools_stats(text: str) -> dict[str, float]:
    """Of reads, pairs and bases."""
    values = {name: float(value) for name, value in re.findall(r"^SN\t(.+?):\t(\S+)", text, re.MULTILINE)}
    sizes, gc = _histogram(text, "IS"), _histogram(text, "GCF") + _histogram(text, "GCL")
    middle = _median(sizes)
    reads, mapped = values.get("raw total sequences"), values.get("reads mapped")
    return known(
        {
            "reads": reads,
            "mapped": share(mapped, reads),
            "mismatches": share(values.get("mismatches"), values.get("bases mapped (cigar)")),
            "adapter_dimers": adapter_dimers(text),
            "duplicates": share(values.get("reads duplicated"), mapped),
            "properly_paired": share(values.get("reads properly paired"), values.get("reads paired")),
            "insert_size": middle,
            "insert_size_mad": None if middle is None else _median([(abs(x - middle), n) for x, n in sizes]),
            "read_length": values.get("average length") or None,
            "gc": share(sum(x * n for x, n in gc) / 100, sum(n for _, n in gc)),
            "base_quality": values.get("average quality") or None,
        }
    )


def adapter_dimers(text: str) -> float | None:
    """The share of reads that begin with an adapter, by how much more than elsewhere its bases are found there.

    Of its cycles it is the median: what else the first bases of reads are, primers or a transposase's site, is not an
    adapter's in most of them.
    """
    rows = re.findall(r"^GCT\t\d+\t([\d.]+)\t([\d.]+)\t([\d.]+)\t([\d.]+)", text, re.MULTILINE)
    cycles = [dict(zip("ACGT", (float(percent) / 100 for percent in row), strict=True)) for row in rows]
    if len(cycles) < 2 * max(map(len, ADAPTERS)):
        return None
    usual = {base: fmean(cycle[base] for cycle in cycles) for base in "ACGT"}
    found = (
        median((cycle[base] - usual[base]) / (1 - usual[base]) for base, cycle in zip(adapter, cycles, strict=False))
        for adapter in ADAPTERS
        if all(usual[base] < 1 for base in adapter)
    )
    return max(0.0, *found)


def _histogram(text: str, section: str) -> list[tuple[float, float]]:
    """(value, count) of a section whose lines begin so."""
    rows = re.findall(rf"^{section}\t([\d.]+)\t(\d+)", text, re.MULTILINE)
    return [(float(value), float(count)) for value, count in rows]


def _median(histogram: Iterable[tuple[float, float]]) -> float | None:
    counts = sorted((value, count) for value, count in histogram if count)
    left = sum(count for _, count in counts) / 2
    for value, count in counts:
        left -= count
        if left <= 0:
            return value
    return None


def duplicate_metrics(text: str) -> dict[str, float]:
    """Of samtools markdup, as JSON; sambamba's text tells of no optical duplicates."""
    if not text.startswith("{"):
        return {}
    values = json.loads(text)
    optical = sum(values.get(f"DUPLICATE {kind} OPTICAL", 0) for kind in ("PAIR", "SINGLE"))
    return known({"optical_duplicates": share(optical, values.get("EXAMINED"))})


def called_bases(bed: str) -> dict[str, int]:
    """The bases of each contig that are called and no N, by n_free.py's intervals."""
    bases: dict[str, int] = {}
    for line in bed.splitlines():
        contig, *_, count = line.split("\t")
        bases[contig] = bases.get(contig, 0) + int(count)
    return bases


def depth(text: str, called: Mapping[str, int], targets: bool, given: Mapping[str, str] = {}) -> dict[str, object]:
    """Of mosdepth's summary, which leaves out contigs without reads."""
    bases = {}
    for line in text.splitlines()[1:]:
        contig, _, depth_sum, *_ = line.split("	")
        bases[contig] = float(depth_sum)
    if "total_region" not in bases:
        return {}
    depths = {name: bases.get(f"{name}_region", 0.0) / count for name, count in called.items() if count}
    figures = {"coverage": share(bases["total_region"], sum(called.values()))}
    if targets:
        figures["on_target"] = share(bases["total_region"], bases.get("total"))
    return {**known(figures), **relative_depths(depths, called, given)}


def sex_contigs(contigs: Iterable[str], given: Mapping[str, str] = {}) -> dict[str, str]:
    """Contig -> x or y, of those that are given as `x` and `y`, or else have a known name."""
    names = {name: (found[1] if (found := ACCESSION.fullmatch(name)) else name) for name in contigs}
    kinds = {name: kind for kind, known in SEX_CONTIGS.items() for name in known}
    if given:
        return {name: kind for kind, name in given.items() if name in names}
    return {name: kinds[known] for name, known in names.items() if known in kinds}


def relative_depths(
    depths: Mapping[str, float], called: Mapping[str, int], given: Mapping[str, str] = {}
) -> dict[str, object]:
    """Of large contigs, which have two copies, over their median; and copies of X and Y with the sex they stand for."""
    sexual, least = sex_contigs(called, given), LARGE * sum(called.values())
    large = {name: depth for name, depth in depths.items() if called[name] >= least and name not in sexual}
    if not (middle := median(large.values()) if large else 0):
        return {}
    figures: dict[str, object] = {"contigs": {name: each / middle for name, each in large.items()}}
    found = {kind: name for name, kind in sexual.items() if name in depths and called[name] >= LEAST_BASES}
    if len(found) == 2:  # or it is no sex chromosome: chrX of yeast is its tenth
        copies = {kind: 2 * depths[name] / middle for kind, name in found.items()}
        figures |= {"x_copies": copies["x"], "y_copies": copies["y"], "sex_found": sex_of(copies["x"], copies["y"])}
    return figures


def sex_of(x_copies: float, y_copies: float) -> str:
    found = "X" * max(1, round(x_copies)) + "Y" * (y_copies >= MALE_Y)
    return "X0" if found == "X" else found


def contig_reads(text: str, called: Mapping[str, int], given: Mapping[str, str] = {}) -> dict[str, object]:
    """Of samtools idxstats: reads stand for depth."""
    rows = (line.split("\t") for line in text.splitlines())
    reads = {name: int(mapped) for name, _, mapped, _ in rows}
    depths = {name: reads.get(name, 0) / bases for name, bases in called.items() if bases}
    return relative_depths(depths, called, given)


def distribution(text: str, lengths: Mapping[str, int], called: int, targets: bool) -> dict[str, float]:
    """Shares of the called bases by depth.

    mosdepth's own are shares of the intervals of contigs that have reads, runs of N among them (`lengths`).
    """
    lines = [line.split("\t") for line in text.splitlines()]
    rows = [line for line in lines if line[0] == "total"]
    length = sum(lengths.get(contig, 0) for contig in {line[0] for line in lines})
    at_least = {int(depth): min(1.0, float(part) * length / called) for _, depth, part in rows} if called else {}
    if not at_least:
        return {}
    figures: dict[str, float | None] = {f"share_{depth}x": at_least.get(depth, 0.0) for depth in DEPTHS}
    figures["coverage_median"] = max(depth for depth, part in {**at_least, 0: 1.0}.items() if part >= 0.5)
    covered = at_least.get(1, 0.0)
    if targets and covered:
        mean = sum(part for depth, part in at_least.items() if depth) / covered
        low = max(depth for depth, part in at_least.items() if depth == 1 or (part >= 0.8 * covered and depth))
        figures["fold_80"] = mean / low
    return known(figures)


def contamination_table(text: str) -> dict[str, object]:
    """Of GATK's CalculateContamination."""
    _, *rows = (line.split("\t") for line in text.splitlines())
    return {"contamination": float(rows[0][1]), "contamination_by": "common_sites"} if rows else {}


def trimmed(texts: Iterable[str]) -> dict[str, float]:
    """Of count_reads.py trimmed, of all lanes of a sample: the shares that trimming took."""
    found, kept = Counter[str](), Counter[str]()
    for lane in map(json.loads, texts):
        found.update(lane["found"])
        kept.update(lane["kept"])
    taken = {f"trimmed_{kind}": share(found[kind] - kept[kind], found[kind]) for kind in ("reads", "bases")}
    return known(taken)


def kind_of(path: Path) -> str:
    """What a file is, as its folder tells; that of a lane lies in one of its sample."""
    return TRIM if path.parent.parent.name == TRIM else path.parent.name


def lanes(text: str) -> dict[str, object]:
    """Of lanes.py: those of another person than the sample's others."""
    _, *rows = (line.split("\t") for line in text.splitlines())
    found = [f"{name} ({float(other):.3f})" for name, _, other in rows if other and float(other) > OTHER_PERSON]
    return {"other_lanes": ", ".join(found)} if found else {}


def bcftools_stats(text: str, suffix: str, haploid: Haploid) -> Iterator[tuple[str, dict[str, float]]]:
    """By sample of a call set, from the lines PSC: of SNPs, and the number of indels.

    Of haploid calls these tell how many there are, and not of what kind: that is what `haploid` adds, and without it
    nothing is known.
    """
    for line in text.splitlines():
        if not line.startswith("PSC\t"):
            continue
        _, _, sample, _, *counts = line.split("\t")
        hom, het, transitions, transversions, indels = map(int, counts[:5])
        figures = {"het_hom": share(het, hom)}
        if sample in haploid or not any(map(int, counts[8:9])):
            more = haploid.get(sample, Counter())
            transitions, transversions = transitions + more["transitions"], transversions + more["transversions"]
            figures["snps"] = hom + het + more["transitions"] + more["transversions"]
            figures["indels"] = indels + more["indels"]
            figures["ti_tv"] = share(transitions, transversions)
        yield sample, known({f"{name}{suffix}": value for name, value in figures.items()})


def filtered_alone(text: str) -> dict[str, str]:
    """Of a call set: the hard filters that alone take many variants, each with its share."""
    rows = [(name, int(alone), int(variants)) for name, alone, variants in map(str.split, text.splitlines())]
    found = [f"{name} ({alone / variants:.3f})" for name, alone, variants in rows if alone > COSTLY * variants]
    return {"filtered_alone": ", ".join(found)} if found else {}


def haploid_calls(text: str) -> Iterator[tuple[str, str, Counter[str]]]:
    """Sample, set of records, and SNPs and indels, of haploid.py."""
    header, *rows = (line.split("\t") for line in text.splitlines())
    for sample, records, *counts in rows:
        yield sample, records, Counter(dict(zip(header[2:], map(int, counts), strict=True)))


def novel_share(figures: Mapping[str, object]) -> dict[str, float]:
    """Of the SNPs that pass the filters, whose number is there before."""
    novel, snps = figures.get("snps_novel"), figures.get("snps")
    return known({"novel": share(novel, snps)}) if isinstance(novel, int) and isinstance(snps, int) else {}


def allele_balance(text: str) -> Iterator[tuple[str, dict[str, object]]]:
    """By sample, of genotypes.py."""
    for line in text.splitlines()[1:]:
        sample, heterozygous, homozygous = line.split("\t")
        found: dict[str, object] = {"het_balance": float(heterozygous)} if heterozygous else {}
        if homozygous:
            found |= {"contamination": HOM_REF_FACTOR * float(homozygous), "contamination_by": "homozygous_calls"}
        yield sample, found


def relatives(text: str) -> Iterator[tuple[str, dict[str, object]]]:
    """By sample, of identity.py's pairs: its relatives, and as whom it is known."""
    for line in text.splitlines()[1:]:
        one, other, kinship, relation, sites = line.split("\t")
        if relation == "not_known":
            yield one, {"same_person": NOT_KNOWN, "first_degree": NOT_KNOWN}
            continue
        if not relation.endswith("known_as"):
            yield from ((one, {relation: other}), (other, {relation: one}))
            continue
        if one == other:
            yield one, {"own_kinship": float(kinship), "compared_sites": int(sites)}
        if relation == "known_as":
            yield one, {"known_as": other, "as_kinship": float(kinship)}


# ---- all files of a cohort ----------------------------------------------------------------------------


class CohortFigures:
    """Takes files, and keeps what they say of each sample."""

    def __init__(self, called_bed: str, targets: bool, sex_contigs: Mapping[str, str] = {}) -> None:
        self.called, self.targets, self.sex_contigs = called_bases(called_bed), targets, sex_contigs
        self.lengths: dict[str, int] = {}  # of each contig's intervals, runs of N among them
        for line in called_bed.splitlines():
            contig, start, end, *_ = line.split("\t")
            self.lengths[contig] = self.lengths.get(contig, 0) + int(end) - int(start)
        self.samples: dict[str, dict[str, object]] = {}
        self.trimmed: dict[str, list[str]] = defaultdict(list)  # a text a lane
        self.haploid: dict[str, dict[str, Counter[str]]] = defaultdict(dict)  # by set of records

    def add(self, name: str, kind: str, text: str) -> None:
        """Take in a file of a sample, or after these one of a call set or of all samples."""
        of_one = {
            "samtools_stats": samtools_stats,
            "mark_duplicates": duplicate_metrics,
            "depth": lambda text: depth(text, self.called, self.targets, self.sex_contigs),
            "distribution": lambda text: distribution(text, self.lengths, sum(self.called.values()), self.targets),
            "contamination": contamination_table,
            "lanes": lanes,
            "contig_reads": lambda text: contig_reads(text, self.called, self.sex_contigs),
        }
        of_several = {
            "bcftools_stats": lambda text: bcftools_stats(text, "", self.haploid["passed"]),
            "novel": lambda text: bcftools_stats(text, "_novel", self.haploid["novel"]),
            "all_records": lambda text: bcftools_stats(text, "_all", self.haploid["all"]),
            "allele_balance": allele_balance,
        }
        if kind == TRIM:
            sample = name.partition(":")[0]
            self.trimmed[sample].append(text)
            self.samples[sample].update(trimmed(self.trimmed[sample]))
        elif kind in of_one:
            sample, _, sex = name.partition(":")
            self.samples.setdefault(sample, {"sex": sex}).update(of_one[kind](text))
        elif kind == "filtered_alone":
            members = [name] if name in self.samples else [*self.samples]  # a joint call set is of all
            for sample in members:
                self.samples[sample].update(filtered_alone(text))
        elif kind == "haploid_calls":
            for sample, records, counts in haploid_calls(text):
                self.haploid[records][sample] = counts
        elif kind in of_several:
            for sample, figures in of_several[kind](text):
                self.samples[sample].update(figures)
                if kind == "novel":
                    self.samples[sample].update(novel_share(self.samples[sample]))
        else:
            for sample, figures in relatives(text):
                beside = self.samples[sample]
                for name, found in figures.items():
                    beside[name] = f"{beside[name]}, {found}" if name in beside else found


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--called", type=Path, required=True, help="the intervals of n_free.py")
    parser.add_argument("--targets", action="store_true", help="they are regions, not the genome")
    parser.add_argument("--sex-contigs", type=json.loads, default={}, help="the contigs that are x and y")
    given = parser.parse_args(argv)
    cohort = CohortFigures(given.called.read_text(), given.targets, given.sex_contigs)
    for line in given.files.read_text().splitlines():
        name, path = line.split("\t")
        cohort.add(name, kind_of(Path(path)), Path(path).read_text())
    json.dump({"called_bases": sum(cohort.called.values()), "samples": cohort.samples}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
