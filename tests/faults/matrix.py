"""The evidence page of faults, docs/evidence/faults.md: written from the cases and from what a run saw of them.

python tests/faults/matrix.py REPORT.xml ...

REPORT.xml is what `make test-faults PYTEST_ARGS=--junit-xml=REPORT.xml` leaves. Of a case that is
in several the last counts; of one that is in none, what the page has. Without any, the page follows the cases.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent, HERE.parents[1] / "scripts"):
    sys.path.insert(0, str(folder))

from cases import PARTS  # noqa: E402
from trial import Case  # noqa: E402
from wrong_samples import WRONG_SAMPLES, WrongSample  # noqa: E402

from documentation.pages import DOCS, ROOT, page  # noqa: E402

TABLES: dict[str, Sequence[Case | WrongSample]] = {**PARTS, "Samples that are wrong": WRONG_SAMPLES}
ROWS = [case for cases in TABLES.values() for case in cases]
PAGE = DOCS / "evidence/faults.md"
HEADER = "| case | injected | where | must | seen |\n|---|---|---|---|---|\n"


def row(case: Case | WrongSample, seen: str) -> str:
    return "| " + " | ".join([*map(spec, (case.id, case.injected, case.where, case.must)), seen]) + " |\n"


def spec(text: str) -> str:
    for plain, shown in (("\\", "\\\\"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*"), ("<", "&lt;"), ("$", "\\$")):
        text = text.replace(plain, shown)
    return text


def written(seen: dict[str, str], where: str) -> str:
    """The page; `seen` is Markdown, `where` names the commit, the day and the machine of the run."""
    parts = (
        f"## {name}\n\n{HEADER}{''.join(row(case, seen[case.id]) for case in cases)}".rstrip("\n")
        for name, cases in TABLES.items()
    )
    return page(
        "Faults",
        "tests/faults/cases.py and a run of them, by tests/faults/matrix.py",
        f"{len(ROWS)} faults in the way of the real tools, on tiny cohorts. Each case passes where four things hold: "
        "the fault is named, other samples finish, the same command repairs the run, and the job records are complete. "
        "Of samples that are wrong, exactly the sample and its cause must be named.",
        "```sh\nmake test-faults PYTEST_ARGS=--junit-xml=faults.xml && python tests/faults/matrix.py faults.xml\n```",
        f"Each case ran once (n = 1), {where}. *Seen* is what the job record or Snakemake said while the fault "
        "was there.",
        *parts,
    )


def here() -> str:
    """The commit, the day and the machine."""
    done = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return f"at commit `{done.stdout.strip()}`, on {datetime.now(UTC):%Y-%m-%d}, on {os.cpu_count()} cores"


def read_page() -> tuple[dict[str, str], str]:
    """What the page says was seen of each case, and where."""
    text = PAGE.read_text(encoding="utf-8")
    rows = (line.removesuffix(" |").split(" | ") for line in text.splitlines() if line.startswith("| "))
    seen = {case.removeprefix("| ").replace("\\", ""): found for case, *_, found in rows}
    return seen, re.search(r"\(n = 1\), (.*)\. \*Seen\*", text)[1]


def read_seen(report: Path) -> dict[str, str]:
    """What was seen of each case that passed, as Markdown."""
    found = {}
    for test in ElementTree.parse(report).iter("testcase"):
        told = {each.get("name", ""): each.get("value", "") for each in test.iter("property")}
        if "seen" in told:
            found[told["case"]] = spec(told["seen"])
    return found


def main(*reports: str) -> int:
    before, where = read_page()
    found: dict[str, str] = {}
    for report in reports:
        found |= read_seen(Path(report))
    if found:
        where = here() if len(found) == len(ROWS) else f"{where}; later ones {here()}"
    seen = before | found
    missing = [case.id for case in ROWS if case.id not in seen]
    if missing:
        print(f"error: nothing was seen of {len(missing)} cases: {', '.join(missing[:5])}", file=sys.stderr)
        return 1
    PAGE.write_text(written(seen, where), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
