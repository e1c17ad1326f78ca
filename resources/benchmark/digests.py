#!/usr/bin/env python3
"""Simulate all inputs of a workload in a folder, and print the table of their digests: digests.tsv of a new version.

The digest of the reference, for its workload.yaml, goes to the other stream.

python resources/benchmark/digests.py quick-1 FOLDER > resources/benchmark/quick-1/digests.tsv
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from gpd.benchmark import workload, workload_inputs
from gpd.lab.digests import reference_digest


def main() -> None:
    given, folder = workload.read(sys.argv[1]), Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    workload_inputs.make(given, given.every_sample, folder, len(os.sched_getaffinity(0)), lambda *_: None)
    print(workload_inputs.digest_table(workload_inputs.contents(folder, given.inputs(given.every_sample))), end="")
    dictionary = folder / "genome.dict"
    subprocess.run(["samtools", "dict", "-o", str(dictionary), str(folder / "genome.fa")], check=True)
    print(f"reference_digest: {reference_digest(dictionary)}", file=sys.stderr)


if __name__ == "__main__":
    main()
