"""Snakemake as it is, but for how often it asks Slurm what became of its jobs: every second, whatever has ended.

The plugin waits 10 s longer each time that nothing has, which is most of what small jobs would take.
"""

import asyncio

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def doze(self: RemoteExecutor) -> None:
    await asyncio.sleep(1)


RemoteExecutor.sleep = doze

if __name__ == "__main__":
    main()
