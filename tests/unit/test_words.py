"""The project speaks the field's words: words of its own that have one do not come back."""

import re
import subprocess

import pytest
from conftest import ROOT

# what was said, and the field's word for it
WORDS = {
    r"keeper": "supervisor process",
    r"leases?|leased": "CPU allocation, allocated",
    r"verbs?": "subcommand",
}
MAY_SAY = (
    "CHANGELOG.md",
    "resources/published/",
    "tests/golden/",
    "tests/unit/test_words.py",
    "docs/reference/glossary.md",
)


def lines() -> list[str]:
    """FILE:LINE:TEXT of all text that git tracks, or would."""
    found = subprocess.run(
        [
            "git",
            "-C",
            ROOT,
            "grep",
            "--untracked",
            "-nIE",
            "",
            "--",
            ".",
            ":!*.lock",
            *(f":!{path}" for path in MAY_SAY),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.splitlines()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_words_of_our_own_are_not_used_where_the_field_has_one() -> None:
    text = lines()
    for word, instead in WORDS.items():
        pattern = re.compile(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])", re.IGNORECASE)
        assert [line for line in text if pattern.search(line)] == [], f"say: {instead}"
