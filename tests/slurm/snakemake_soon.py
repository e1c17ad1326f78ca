"""Snakemake as `gpd run` has it, but for how often it asks Slurm what became of its jobs: every second.

The plugin waits 10 s longer each time that nothing has, which is most of what small jobs would take.
"""

import asyncio

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from gpd.execution.snakemake.__main__ import wait_for_slurm


async def doze(self: RemoteExecutor) -> None:
    await asyncio.sleep(1)


RemoteExecutor.sleep = doze

if __name__ == "__main__":
    wait_for_slurm()
    main()
