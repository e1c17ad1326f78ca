"""What a cohort of thousands needs of single jobs."""

import re

import pytest
from conftest import ROOT, snakemake

pytestmark = pytest.mark.e2e

COUNT = 4000  # 250 KiB of names: Linux takes no argument above 128 KiB

WORKFLOW = """
names = [f"sample-{{number:05}}-of-a-large-cohort" for number in range({count})]

rule all:
    input: "files.tsv"

rule files:
    input: expand("in/a folder/{{name}}.txt", name=names)
    output: "files.tsv"
    log: "files.log"
    params: names=names
    script: "{script}"
"""


def test_the_inputs_of_a_large_cohort_are_listed(tmp_path):
    names = [f"sample-{number:05}-of-a-large-cohort" for number in range(COUNT)]
    (tmp_path / "in" / "a folder").mkdir(parents=True)
    for name in names:
        (tmp_path / "in" / "a folder" / f"{name}.txt").touch()
    script = ROOT / "workflow" / "scripts" / "list_inputs.sh"
    (tmp_path / "Snakefile").write_text(WORKFLOW.format(count=COUNT, script=script))
    ran = snakemake(tmp_path, snakefile=tmp_path / "Snakefile")
    assert ran.exit_code == 0, ran.said
    assert (tmp_path / "files.tsv").read_text() == "".join(f"{name}\tin/a folder/{name}.txt\n" for name in names)


def test_a_command_may_be_longer_than_an_argument(node):
    """Bash is given it otherwise, and is the same bash: strict, told of by name, its pipes looked at."""
    names = [f"{number:04}-{'of-a-large-cohort' * 4}" for number in range(COUNT)]
    made = f"printf '%s\\n' {' '.join(names)} > names; [[ $# = 0 ]]; x='a\"b$c'; echo \"$x\"\n"
    assert len(made) > 2**17
    code, said, record = node.run(f'{made}echo "$GPD_JOB"; ls -l /proc/$$/fd', name="x")
    assert (code, said) == (0, ""), (node.folder / "logs/x.log").read_text()
    assert (node.folder / "names").read_text().split() == names
    log = (node.folder / "logs/x.log").read_text().splitlines()
    assert log[:2] == ['a"b$c', record["id"]]
    assert not [path for path in log if "(deleted)" in path], "what bash read is open no longer"
    for failing in (
        "kill -9 $BASHPID | true; echo not here",
        "nosuchprogram",
        "false\necho not here",
        'sh -c "exit 3" | cat',
    ):
        code, _, record = node.run(made + failing, name="x")
        as_argument, _, expected = node.run(f":\n{failing}", name="y")
        assert code == as_argument != 0
        told = [re.sub(r"\d{3,}", "PID", each["message"]) for each in (record, expected)]
        assert (record["cause"], told[0]) == (expected["cause"], told[1])
