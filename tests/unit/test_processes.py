"""Programs of the workflow that are asked on their command line: in a process of their own, or in the tests' one."""

import sys
from pathlib import Path

import pytest
from conftest import ask_here

from gpd import asking
from gpd.execution.configuration import TABLES


@pytest.mark.deep
@pytest.mark.parametrize(
    "text", ["reference: {fasta: genome.fa}\nknown_sites: [known.vcf]\n", "reference: {fasta: 3}\nknown: []\n"]
)
def test_what_tests_ask_in_their_own_process_is_what_a_process_says(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(text)
    (tmp_path / "config/samples.tsv").write_text("sample_name\nS1\n")
    (tmp_path / "config/units.tsv").write_text("sample_name\tunit_name\tfq1\nS1\tL1\tS1.fq\n")
    question = (TABLES, "--directory", str(tmp_path), "--", "config/config.yaml")
    answer = asking.ask(*question)
    assert answer == ask_here(*question)
    assert bool(answer.output) != bool(answer.complaint)


def test_a_program_that_does_not_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "slow.py"
    program.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(asking, "TIMEOUT_S", 0.1)
    with pytest.raises(asking.NoAnswerError, match=r"^slow\.py jobs: no answer within 0 s$"):
        asking.ask(program, "jobs")


def test_options_of_python_go_before_the_program(tmp_path: Path) -> None:
    program = tmp_path / "flags.py"
    program.write_text("import sys\nprint(sys.flags.no_site, *sys.argv[1:])\n")
    assert asking.ask(program, "a b", python=("-S",)) == asking.Answer(0, "1 a b\n", "")
    assert asking.ask(program, "a b").output == f"{sys.flags.no_site} a b\n"
