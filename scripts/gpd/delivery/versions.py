"""The versions of the tools that results were made with."""

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from gpd.delivery.methods import read_tools
from gpd.machines import tool_checks
from gpd.paths import ROOT

ENVIRONMENTS = ROOT / "envs"


def versions(config: Mapping[str, Any]) -> dict[str, str | None]:
    """The version of each tool that a configuration runs, by command; None where it is not known.

    As the tools say themselves; with conda, as the environments have them.
    """
    names = [
        config["pipeline"],
        f"{config['pipeline']}-{config['mapper']}",
        f"{config['pipeline']}-{config['aligner']}",
    ]
    names += [f"{config['pipeline']}-gatk3"] if "gatk3" in (config["gatk"], config["realigner"]) else []
    table = tool_checks.read_table()
    needed = {tool.command: tool for name in names for tool in tool_checks.needed(table, name)}
    by_conda = bool(tool_checks.conda_options(config["pipeline"]))
    packages = {command: tool.package for command, tool in read_tools().items()}
    found = {
        command: pinned(tool.conda, packages.get(command, command))
        if by_conda and tool.conda
        else tool_checks.examine(tool).version or None
        for command, tool in needed.items()
    }
    return {"gpd": version("gpd"), **found}


def pinned(environment: str, package: str) -> str | None:
    """The version of a package in an environment's file."""
    text = (ENVIRONMENTS / environment).read_text(encoding="utf-8")
    found = re.search(rf"^ +- {re.escape(package)}=([^=\s]+)", text, re.MULTILINE)
    return found[1] if found else None
