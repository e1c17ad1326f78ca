"""The one command that brings a missing tool to this machine: through apt as root, below a folder without, or conda."""

import os
import re
import shutil
from collections.abc import Sequence

from gpd.paths import ROOT
from gpd.processes import ProcessError, run

PREFIX = ROOT / ".tools" / "prefix"  # where set-up unpacks packages, once make setup was given a PREFIX
CONDAS = ("conda", "mamba", "micromamba")
TIMEOUT_S = 20.0

_CANDIDATE = re.compile(r"^\s*Candidate: (?!\(none\))\S", re.MULTILINE)


def of_make(apt: Sequence[str]) -> str:
    """The target that installs a tool where apt does not: `.` is make setup, `.NAME` is make setup-NAME."""
    mark = apt[0] if apt else ""
    return f"make setup-{mark[1:]}".rstrip("-") if mark.startswith(".") else ""


def remedy(apt: Sequence[str], conda: str) -> str:
    """The command for a tool with these alternatives in apt and this file in envs/ (either may be empty)."""
    if target := of_make(apt):
        return target
    if apt and shutil.which("apt-get"):
        return _by_apt(apt)
    if conda and any(map(shutil.which, CONDAS)):
        return f"snakemake --sdm conda (envs/{conda})"
    if conda:
        return f"install {', '.join(CONDAS[:-1])} or {CONDAS[-1]}, then snakemake --sdm conda (envs/{conda})"
    if apt:
        return f"install {apt[0]} with this system's package manager"
    return "yours to bring, or its jar (gatk3_jar in docs/how-to/install.md)"


def _by_apt(alternatives: Sequence[str]) -> str:
    """Set-up knows what apt has to be told first, where it has none of them."""
    before = _before_root()
    if before is None:
        return "make setup" if PREFIX.exists() else "make setup PREFIX=~/gpd"
    found = next(filter(_is_available, alternatives), "")
    return f"{before}apt-get install -y --no-install-recommends {found}" if found else "make setup"


def _before_root() -> str | None:
    """What stands before a command to run it as root, without a question; None where nothing does."""
    if os.geteuid() == 0:
        return ""
    return "sudo " if _succeeds("sudo", "-n", "true") else None


def _is_available(packages: str) -> bool:
    try:
        return bool(_CANDIDATE.search(run(["apt-cache", "policy", packages.split()[0]], TIMEOUT_S).stdout))
    except ProcessError:
        return False


def _succeeds(*command: str) -> bool:
    try:
        return run(list(command), TIMEOUT_S).returncode == 0
    except ProcessError:
        return False
