"""Which tests may be skipped, and where: a run lists its skips, and fails on one that its machine has no reason for.

skips.tsv has how a reason begins, and what a machine lacks where it may be given: a program, or one of LACKS. A dash
stands for what the test itself finds out, as whether a file system can be mounted.
"""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

LACKS = {
    "-": lambda: True,
    "root": lambda: os.geteuid() != 0,
    "setpriv as root": lambda: os.geteuid() != 0 or not shutil.which("setpriv"),
    "two CPUs": lambda: len(os.sched_getaffinity(0)) < 2,
}


def permitted() -> dict[str, str]:
    """What must be lacking, by the beginning of a reason."""
    _, *lines = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def is_lacking(what: str) -> bool:
    return LACKS[what]() if what in LACKS else not shutil.which(what)


def fault(reason: str) -> str:
    """Why a test may not be skipped here for this reason; empty if it may."""
    begun = [what for beginning, what in permitted().items() if reason.startswith(beginning)]
    if not begun:
        return "not in tests/skips.tsv"
    return "" if any(map(is_lacking, begun)) else f"this machine does not lack: {', '.join(begun)}"


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, in the words of its mark or call."""
    _, _, text = report.longrepr
    return text.removeprefix("Skipped: ")


def counted(reports: list[pytest.TestReport | pytest.CollectReport]) -> Counter[str]:
    """How many tests were skipped, by reason."""
    return Counter(map(reason_of, reports))


def pytest_terminal_summary(terminalreporter) -> None:
    reasons = counted(terminalreporter.stats.get("skipped", []))
    if not reasons:
        return
    terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        wrong = fault(reason)
        terminalreporter.write_line(f"{count:4} {reason}{f' ({wrong})' if wrong else ''}", red=bool(wrong))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal and not exitstatus and any(map(fault, counted(terminal.stats.get("skipped", [])))):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
