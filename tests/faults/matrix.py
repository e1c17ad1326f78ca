"""The table in README.md: written from the cases and from what a run saw of them.

python tests/faults/matrix.py REPORT.xml ...

REPORT.xml is what `make test-faults PYTEST_ARGS=--junit-xml=REPORT.xml` leaves, once all cases passed; of a case
that is in several the last counts.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent):
    sys.path.insert(0, str(folder))

from cases import CASES, PARTS  # noqa: E402
from trial import Case  # noqa: E402

README = HERE / "README.md"
BEGIN, END = "<!-- the table -->\n", "<!-- its end -->\n"
HEADER = "| case | injected | where | must | seen |\n|---|---|---|---|---|\n"


def row(case: Case, seen: str) -> str:
    return "| " + " | ".join(map(cell, (case.id, case.injected, case.where, case.must, seen))) + " |\n"


def cell(text: str) -> str:
    for plain, shown in (("\\", "\\\\"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*"), ("<", "&lt;"), ("$", "\\$")):
        text = text.replace(plain, shown)
    return text


def table(seen: dict[str, str]) -> str:
    parts = (
        f"### {name}\n\n{HEADER}{''.join(row(case, seen[case.id]) for case in cases)}" for name, cases in PARTS.items()
    )
    return "\n".join(parts)


def read_seen(report: Path) -> dict[str, str]:
    """What was seen of each case that passed."""
    found = {}
    for test in ElementTree.parse(report).iter("testcase"):
        told = {each.get("name", ""): each.get("value", "") for each in test.iter("property")}
        if "seen" in told:
            found[told["case"]] = told["seen"]
    return found


def main(*reports: str) -> int:
    seen = {}
    for report in reports:
        seen |= read_seen(Path(report))
    missing = [case.id for case in CASES if case.id not in seen]
    if missing:
        print(
            f"error: {' '.join(reports)} say nothing of {len(missing)} cases: {', '.join(missing[:5])}", file=sys.stderr
        )
        return 1
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{table(seen)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
