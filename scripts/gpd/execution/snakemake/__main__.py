"""Snakemake, as `python -m snakemake` is, but sooner at work: some of what it imports is loaded when it is used.

Snakemake imports all plugins that are installed, and the one for Slurm imports pandas, for its report of efficiency;
the reader of sources knows cloud storage. Both together take as long to import as a small workflow takes to plan. This
is run by the path of its folder, whose name stands for Snakemake in lists of processes, by any Python that has
Snakemake.
"""

from __future__ import annotations

import gc
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

LAZY = {"pandas", "boto3", "botocore.client"}


class LoadedWhenUsed:
    """Finds the modules of LAZY, and has each loaded by the first look at one of its names."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec and spec.loader:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def main() -> None:
    gc.set_threshold(50_000)  # what is imported stays: Python would look through it for garbage after each 700 objects
    sys.meta_path.insert(0, LoadedWhenUsed)
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
