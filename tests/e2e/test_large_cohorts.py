"""What a cohort of thousands needs of single jobs."""

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
