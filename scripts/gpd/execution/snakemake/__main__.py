"""Snakemake, as `python -m snakemake` is, but sooner at work, and patient where Slurm does not answer.

Some of what it imports is loaded when it is used: Snakemake imports all plugins that are installed, and the one for
Slurm imports pandas, for its report of efficiency; the reader of sources knows cloud storage. Both together take as
long to import as a small workflow takes to plan. This is run by the path of its folder, whose name stands for Snakemake
in lists of processes, by any Python that has Snakemake.
"""

from __future__ import annotations

import gc
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

LAZY = {"pandas", "boto3", "botocore.client"}
SILENT = "warning: Slurm does not say what became of its jobs: they are taken to run, and it is asked again"


class LoadedWhenUsed:
    """Finds the modules of LAZY, and has each loaded by the first look at one of its names."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec and spec.loader:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def wait_for_slurm() -> None:
    """Where Slurm does not answer, have its plugin keep the jobs that it asked after, with a warning.

    It asks `--slurm-status-attempts` times at once. Then it keeps none of them, which Snakemake waits for without end
    (2.8.0, check_active_jobs()). An answer that knows of no job has it ask again, after its usual time.
    """
    try:
        import snakemake_executor_plugin_slurm as plugin
    except ImportError:
        return
    ask = getattr(plugin, "query_job_status", None)
    if ask is None:  # another version's
        return

    async def ask_patiently(command: str, logger: Any) -> tuple[dict[str, str], float]:
        states, took_s = await ask(command, logger)
        if states is not None:
            return states, took_s
        logger.warning(SILENT)
        return {}, 0.0

    plugin.query_job_status = ask_patiently


def main() -> None:
    gc.set_threshold(50_000)  # what is imported stays: Python would look through it for garbage after each 700 objects
    sys.meta_path.insert(0, LoadedWhenUsed)
    wait_for_slurm()
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
