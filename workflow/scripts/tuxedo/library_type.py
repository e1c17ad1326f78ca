"""The library type of samples, by their reads (strandedness.py) and by what the config says.

    library_type.py library SAMPLE < SAMPLE.json    its library type, or an error where reads contradict the config
    library_type.py libraries < PATHS_OF_JSON       the type of all, or an error where they differ
    library_type.py featurecounts < SAMPLE.json     the type to count by, as featureCounts' -s

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

Record = dict[str, Any]


def library(sample: str, record: Record) -> str:
    """The library type that a sample's Cufflinks is told; ends where reads contradict it, or do not tell it."""
    declared, found = record["declared"], record["found"]
    if declared == AUTO and not found:
        sys.exit(
            f"error: sample {sample}: its library type cannot be told: {_sense(record)}, which is too few, or neither "
            "half of them nor nearly all or none: set strandedness, or leave the sample out (leave_out)"
        )
    if declared != AUTO and found not in ("", declared):
        sys.exit(
            f"error: sample {sample}: strandedness is {declared} in the config, but {_sense(record)}, as in {found} "
            "libraries: correct it, or set strandedness: auto"
        )
    return found if declared == AUTO else declared


def _sense(record: Record) -> str:
    share = "none" if record["sense"] is None else f"{record['sense']:.0%}"
    return f"{share} of its {record['reads']} reads in genes lie on the gene's strand"


def libraries(records: Mapping[str, Record]) -> str:
    """The one library type of all samples, which Cuffdiff is told; ends where they have several."""
    types = {sample: library(sample, record) for sample, record in records.items()}
    if len(counts := Counter(types.values())) == 1:
        return next(iter(counts))
    (usual, number), *_ = counts.most_common()
    others = [f"{sample} ({found})" for sample, found in types.items() if found != usual]
    named = ", ".join(others[:NAMED]) + f" and {len(others) - NAMED} more" * (len(others) > NAMED)
    sys.exit(
        f"error: samples of different library types are not compared: {number} are {usual} by their reads, but "
        f"{named}: leave those out (leave_out), or run them apart"
    )


def main(subcommand: str, *samples: str) -> None:
    if subcommand == "library":
        print(library(*samples, json.load(sys.stdin)))
    elif subcommand == "libraries":
        paths = map(Path, sys.stdin.read().splitlines())
        print(libraries({path.stem: json.loads(path.read_text()) for path in paths}))
    else:
        record = json.load(sys.stdin)
        print(FEATURECOUNTS.get(record["found" if record["declared"] == AUTO else "declared"], 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
