"""Which strand of their genes a sample's reads come from, against what the config says of the library.

    strandedness.py sample --declared auto --genes GENES.gtf --bam SAMPLE.bam > SAMPLE.json
    strandedness.py library SAMPLE < SAMPLE.json    its library type, or an error where reads contradict the config
    strandedness.py libraries < PATHS_OF_JSON       the type of all, or an error where they differ
    strandedness.py featurecounts < SAMPLE.json     the type to count by, as featureCounts' -s
    strandedness.py report --log LOG < SAMPLES_AND_THEIR_JSON.tsv > TABLE.tsv

Reads count where they start in an exon that has genes on one strand alone. `sense` is the share whose fragment, as the
first read tells it, lies on the gene's own strand: 1 for fr-secondstrand, 0 for fr-firststrand, a half for
fr-unstranded. Standard library only; samtools reads the alignments, and the workflow loads this file by its path.
"""

import json
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

READS = 200_000  # looked at, spread over the whole file
ENOUGH_READS = 200
NAMED = 3  # samples in an error
STRANDED, UNSTRANDED = 0.8, 0.65  # shares of the larger side; between them the library is neither
AUTO = "auto"  # the library type is the one that the reads speak for
FEATURECOUNTS = {"fr-secondstrand": 1, "fr-firststrand": 2}  # and 0 for reads of both strands
REVERSE, SECOND_MATE = 0x10, 0x80
LEFT_OUT = 0x4 | 0x100 | 0x800  # unmapped, secondary, supplementary

MULTIQC_HEADER = (
    "# id: strandedness",
    "# section_name: Strandedness",
    "# description: Library type as declared and as the reads say; sense is the share on the gene's own strand.",
    "# plot_type: table",
)

Segments = dict[str, tuple[list[int], list[str]]]
Record = dict[str, Any]


class LibraryError(Exception):
    """A sample's library type is not what was said, or cannot be told; the message says why, and what to do."""


def one_sided(lines: Iterable[str]) -> Segments:
    """Of a GTF's exons: where each stretch of a contig begins, and whose strand it is (empty: nobody's, or both')."""
    edges: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for line in lines:
        contig, _, feature, start, end, _, strand, *_ = line.split("\t")
        if feature == "exon" and strand in "+-":
            edges[contig] += [(int(start), strand, 1), (int(end) + 1, strand, -1)]
    segments: Segments = {}
    for contig, changes in edges.items():
        starts, strands, open_exons = [], [], {"+": 0, "-": 0}
        for place, group in groupby(sorted(changes), key=lambda change: change[0]):
            for _, strand, step in group:
                open_exons[strand] += step
            here = [strand for strand, count in open_exons.items() if count]
            starts.append(place)
            strands.append(here[0] if len(here) == 1 else "")
        segments[contig] = (starts, strands)
    return segments


def sides(alignments: Iterable[str], segments: Segments) -> Iterator[bool]:
    """For each alignment on a gene of one strand: whether its fragment lies on the gene's own strand."""
    for line in alignments:
        _, flag, contig, place, _ = line.split("\t", 4)
        starts, strands = segments.get(contig, ([], []))
        at = bisect_right(starts, int(place)) - 1
        if at >= 0 and strands[at]:
            reverse = bool(int(flag) & REVERSE) != bool(int(flag) & SECOND_MATE)
            yield (strands[at] == "-") == reverse


def verdict(sense: int, total: int) -> str:
    """The library type that the reads speak for; empty where they are too few, or speak for none."""
    if total < ENOUGH_READS:
        return ""
    larger = max(sense, total - sense) / total
    if larger >= STRANDED:
        return "fr-secondstrand" if 2 * sense > total else "fr-firststrand"
    return "fr-unstranded" if larger <= UNSTRANDED else ""


def library(sample: str, record: Record) -> str:
    """The library type that a sample's Cufflinks is told."""
    declared, found, reads = record["declared"], record["found"], record["reads"]
    unknown = f"sample {sample}: its library type cannot be told:"
    if declared == AUTO and reads < ENOUGH_READS:
        raise LibraryError(
            f"{unknown} {reads} of its reads lie on genes of one strand, and {ENOUGH_READS} are "
            "needed: set strandedness, or leave the sample out (leave_out)"
        )
    if declared == AUTO and not found:
        raise LibraryError(
            f"{unknown} {_sense(record)}, which is neither half of them nor nearly all or none: "
            "set strandedness, or leave the sample out (leave_out)"
        )
    if declared != AUTO and found not in ("", declared):
        raise LibraryError(f"sample {sample}: {contradiction(record)}: correct it, or set strandedness: auto")
    return found if declared == AUTO else declared


def contradiction(record: Record) -> str:
    return (
        f"strandedness is {record['declared']} in the config, but {_sense(record)}, as in {record['found']} libraries"
    )


def _sense(record: Record) -> str:
    return f"{record['sense']:.0%} of its {record['reads']} reads in genes lie on the gene's strand"


def libraries(records: Mapping[str, Record]) -> str:
    """The one library type of all samples, which Cuffdiff is told."""
    types = {sample: library(sample, record) for sample, record in records.items()}
    if len(counts := Counter(types.values())) == 1:
        return next(iter(counts))
    (usual, number), *_ = counts.most_common()
    others = [f"{sample} ({found})" for sample, found in types.items() if found != usual]
    named = ", ".join(others[:NAMED]) + f" and {len(others) - NAMED} more" * (len(others) > NAMED)
    raise LibraryError(
        f"samples of different library types are not compared: {number} are {usual} by their reads, but {named}: leave "
        "those out (leave_out), or run them apart"
    )


def report(records: Mapping[str, Path | str]) -> tuple[str, list[str]]:
    """All samples' records as a table that MultiQC shows, and the warnings; `records` maps samples to JSON files."""
    lines, warnings = [*MULTIQC_HEADER, "Sample\tdeclared\tfound\treads\tsense"], []
    for sample, path in records.items():
        record = json.loads(Path(path).read_text())
        sense = "" if record["sense"] is None else f"{record['sense']:.4f}"
        lines.append("\t".join([sample, record["declared"], record["found"], str(record["reads"]), sense]))
        if record["found"] and record["declared"] not in (AUTO, record["found"]):
            warnings.append(f"sample {sample}: {contradiction(record)}")
    return "".join(f"{line}\n" for line in lines), warnings


def alignments(bam: Path) -> Iterator[str]:
    """Lines of SAM, of some READS primary alignments."""
    table = subprocess.run(["samtools", "idxstats", bam], check=True, text=True, stdout=subprocess.PIPE).stdout
    mapped = sum(int(line.split("\t")[2]) for line in table.splitlines())
    sampled = ["-s", f"{READS / mapped:.6f}"] if mapped > READS else []
    command = ["samtools", "view", "-F", str(LEFT_OUT), *sampled, str(bam)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as view:
        yield from view.stdout
    if view.returncode:
        raise subprocess.CalledProcessError(view.returncode, command)


def look_at(declared: str, genes: Path, bam: Path) -> dict[str, object]:
    """A sample's record."""
    with genes.open(encoding="utf-8") as lines:
        segments = one_sided(lines)
    found = list(sides(alignments(bam), segments))
    sense = sum(found) / len(found) if found else None
    return {"declared": declared, "found": verdict(sum(found), len(found)), "reads": len(found), "sense": sense}


def main(argv: list[str]) -> int:
    try:
        if argv[0] == "sample":
            json.dump(look_at(argv[2], Path(argv[4]), Path(argv[6])), sys.stdout)
        elif argv[0] == "library":
            print(library(argv[1], json.load(sys.stdin)))
        elif argv[0] == "libraries":
            paths = map(Path, sys.stdin.read().splitlines())
            print(libraries({path.stem: json.loads(path.read_text()) for path in paths}))
        elif argv[0] == "featurecounts":
            record = json.load(sys.stdin)
            print(FEATURECOUNTS.get(record["found" if record["declared"] == AUTO else "declared"], 0))
        else:
            table, warnings = report(dict(line.rstrip("\n").split("\t") for line in sys.stdin))
            Path(argv[2]).write_text("".join(f"{line}\n" for line in warnings))
            sys.stderr.writelines(f"warning: {line}\n" for line in warnings)
            sys.stdout.write(table)
    except LibraryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
