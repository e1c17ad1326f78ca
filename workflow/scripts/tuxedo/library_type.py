"""The library type of samples, by their reads (strandedness.py) and by what the config says.

    library_type.py library SAMPLE < SAMPLE.json    its library type, or an error where reads contradict the config
    library_type.py libraries < PATHS_OF_JSON       the type of all, or an error where they differ
    library_type.py featurecounts < SAMPLE.json     the type to count by, as featureCounts' -s
    library_type.py report --log LOG < SAMPLES_AND_THEIR_JSON.tsv > TABLE.tsv

Standard library only.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMED = 3  # samples in an error
AUTO = "auto"  # the library type is the one that the reads speak for
FEATURECOUNTS = {"fr-secondstrand": 1, "fr-firststrand": 2}  # and 0 for reads of both strands

MULTIQC_HEADER = (
    "# id: strandedness",
    "# section_name: Strandedness",
    "# description: Library type as declared and as the reads say; sense is the share on the gene's own strand.",
    "# plot_type: table",
)

Record = dict[str, Any]


class LibraryError(Exception):
    """A sample's library type is not what was said, or cannot be told; the message says why, and what to do."""


def library(sample: str, record: Record) -> str:
    """The library type that a sample's Cufflinks is told."""
    declared, found = record["declared"], record["found"]
    if declared == AUTO and not found:
        raise LibraryError(
            f"sample {sample}: its library type cannot be told: {_sense(record)}, which is too few, or neither half "
            "of them nor nearly all or none: set strandedness, or leave the sample out (leave_out)"
        )
    if declared != AUTO and found not in ("", declared):
        raise LibraryError(f"sample {sample}: {contradiction(record)}: correct it, or set strandedness: auto")
    return found if declared == AUTO else declared


def contradiction(record: Record) -> str:
    return (
        f"strandedness is {record['declared']} in the config, but {_sense(record)}, as in {record['found']} libraries"
    )


def _sense(record: Record) -> str:
    share = "none" if record["sense"] is None else f"{record['sense']:.0%}"
    return f"{share} of its {record['reads']} reads in genes lie on the gene's strand"


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


def main(argv: list[str]) -> int:
    try:
        if argv[0] == "library":
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
