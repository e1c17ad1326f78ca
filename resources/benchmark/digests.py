#!/usr/bin/env python3
"""Simulate all inputs of a workload in a folder, and print the table of their digests: digests.tsv of a new version.

python resources/benchmark/digests.py quick-1 FOLDER > resources/benchmark/quick-1/digests.tsv
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from gpd.benchmark import inputs, workload


def main() -> None:
    given, folder = workload.read(sys.argv[1]), Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    inputs.make(given, given.every_sample, folder, len(os.sched_getaffinity(0)), lambda *_: None)
    print("file\tsha256")
    for name, digest in inputs.contents(folder, given.inputs(given.every_sample)).items():
        print(f"{name}\t{digest}")


if __name__ == "__main__":
    main()
