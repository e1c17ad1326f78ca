"""What the manual shows of a terminal: its tutorials' commands, run, and the lines that a page has room for."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from documentation.pages import ROOT
from gpd.processes import ProcessError, output_of, run

WIDTH = 120  # characters of the examples' terminal
SIMULATOR = ROOT / "resources/demo/germline/simulate_cohort.py"


class Shown(NamedTuple):
    """A command as a page shows it, and what those lines of its output hold that are shown; none named: all are."""

    command: str
    lines: tuple[str, ...] = ()
    exit_code: int = 0


OF_DEMO = {
    "jobs": Shown("gpd ledger show demo-run/germline", ("CPU s", "map_and_sort   ", "mark_duplicates  ")),
    "jobs_checked": Shown("gpd ledger check demo-run/germline"),
    "package": Shown("gpd package demo-run/throughput/study", ("files,",)),
    "package_checked": Shown(
        "gpd package check study.gpd.tar.gz",
        ("│ figures", "rows of tables", "│ precision", "interval ±", "│ pinning"),
        exit_code=1,  # three short repeats of tiny samples
    ),
}
OF_FIRST_COHORT = Shown(
    "gpd run germline",
    ("sort  ", "duplicates  ", "base_recal", "caller  ", "genotype_gvcfs", "hard_filter", "finished"),
)


def outputs(demo: Path) -> Mapping[str, list[str]]:
    """The lines shown of each command, by the name that a page's mark gives; `demo` is what `gpd demo` made."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo-run").symlink_to(demo.resolve())
        found = {key: [f"$ {shown.command}", *shown_lines(shown, folder)] for key, shown in OF_DEMO.items()}
        return found | {"first_run": list(shown_lines(OF_FIRST_COHORT, first_cohort(folder)))}


def shown_lines(shown: Shown, folder: Path) -> Iterator[str]:
    """The lines shown of a command run in a folder. Raises ProcessError where it does not start or end as it should."""
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    done = run(shlex.split(shown.command), None, cwd=folder, env=environment)
    if done.returncode != shown.exit_code:
        raise ProcessError(f"{shown.command}: exit status {done.returncode}: {done.stderr}")
    for line in done.stdout.splitlines():
        if not shown.lines or any(text in line for text in shown.lines):
            yield line.rstrip()


def first_cohort(folder: Path) -> Path:
    """The cohort of the second tutorial, ready to run; its folder."""
    cohort = folder / "cohort"
    output_of([sys.executable, str(SIMULATOR), "--output", str(cohort), "--samples", "2", "--length", "60000"])
    config = {
        "reference": {"fasta": "genome.fa"},
        "known_sites": ["known/known_sites.vcf.gz"],
        "samples": "samples.tsv",
        "units": "units.tsv",
    }
    (cohort / "config").mkdir()
    (cohort / "config/config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return cohort
