"""Programs that are run to their end: in a process of their own, or in the tests' one."""

import sys
from pathlib import Path

import pytest
from conftest import run_script_here

from gpd import processes
from gpd.execution.configuration import TABLES
from gpd.processes import ProcessError


@pytest.mark.deep
@pytest.mark.parametrize(
    "text", ["reference: {fasta: genome.fa}\nknown_sites: [known.vcf]\n", "reference: {fasta: 3}\nknown: []\n"]
)
def test_what_tests_run_in_their_own_process_is_what_a_process_prints(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(text)
    (tmp_path / "config/samples.tsv").write_text("sample_name\nS1\n")
    (tmp_path / "config/units.tsv").write_text("sample_name\tunit_name\tfq1\nS1\tL1\tS1.fq\n")
    question = (TABLES, "--directory", str(tmp_path), "--", "config/config.yaml")
    actual, here = processes.run_script(*question), run_script_here(*question)
    assert (actual.returncode, actual.stdout, actual.stderr) == (here.returncode, here.stdout, here.stderr)
    assert bool(actual.stdout) != bool(actual.stderr)


def test_a_script_that_does_not_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(processes, "TIMEOUT_S", 0.1)
    with pytest.raises(ProcessError, match=r"^slow\.py jobs: no end within 0\.1 s$"):
        processes.run_script(script, "jobs")


def test_options_of_python_go_before_the_script(tmp_path: Path) -> None:
    script = tmp_path / "flags.py"
    script.write_text("import sys\nprint(sys.flags.no_site, *sys.argv[1:])\n")
    assert processes.run_script(script, "a b", python=("-S",)).stdout == "1 a b\n"
    assert processes.run_script(script, "a b").stdout == f"{sys.flags.no_site} a b\n"


def test_a_program_that_is_not_here() -> None:
    with pytest.raises(ProcessError, match=r"^no-such-program is not installed$"):
        processes.output_of(["no-such-program"])


def test_a_program_that_fails_has_its_message_in_one_line() -> None:
    code = "import sys; print('\\x1b[31m\\n  \\nbad\\nworse', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ProcessError) as failed:
        processes.output_of([sys.executable, "-c", code])
    assert str(failed.value) == f"{sys.executable}: [31m; bad; worse"
    assert processes.run([sys.executable, "-c", code]).returncode == 3
