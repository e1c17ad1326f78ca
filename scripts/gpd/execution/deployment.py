"""Where the tools of a run come from: the PATH, else conda."""

import shutil

from gpd.machines import machine, tools


def options(pipeline: str) -> list[str]:
    """Snakemake's options for where tools come from: conda, where it is there and PATH lacks one."""
    lacking = [tool for tool in tools.needed(tools.read_table(), pipeline) if not shutil.which(tool.command)]
    return ["--sdm", "conda"] if lacking and machine.conda() else []
