"""What a cohort of thousands needs of single jobs."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, snakemake, tiny_cohort
from tuxedo_cohort import tiny_experiment

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
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "files.tsv").read_text() == "".join(f"{name}\tin/a folder/{name}.txt\n" for name in names)


def test_a_command_may_be_longer_than_an_argument(node):
    """Bash is given it otherwise, and is the same bash: strict, told of by name, its pipes looked at."""
    names = [f"{number:04}-{'of-a-large-cohort' * 4}" for number in range(COUNT)]
    made = f"printf '%s\\n' {' '.join(names)} > names; [[ $# = 0 ]]; x='a\"b$c'; echo \"$x\"\n"
    assert len(made) > 2**17
    code, output, record = node.run(f'{made}echo "$GPD_JOB"; ls -l /proc/$$/fd', name="x")
    assert (code, output) == (0, ""), (node.folder / "logs/x.log").read_text()
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


# ---- 2,000 samples with names of 64 letters, of two lanes each: tools that take all of them are played, and note it

SAMPLES = [f"{number:04}{'long-name-' * 6}" for number in range(2000)]
LANES = 2
TOOL = """#!/usr/bin/env bash
[ "${1-}" != -version ] || exit 1
printf '%s\\n' "$@" > "$GIVEN"
cat -- "${@: -1}" > "$GIVEN.last" 2> /dev/null || true
echo "ERROR MESSAGE: Walker requires reads but none were provided"
exit 3
"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch) -> Path:
    for name in ("cuffmerge", "gatk3"):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(TOOL)
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("GIVEN", str(tmp_path / "given"))
    return tmp_path / "given"


def enlarge(cohort: Cohort, results: dict[str, Path]) -> None:
    """Put SAMPLES in the place of the cohort's only one, with what earlier steps leave of each of them."""
    (unit,) = cohort.units
    cohort.units.clear()
    for path in results:
        (cohort.folder / path).parent.mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        for lane in range(LANES):
            reads = {mate: f"reads/{sample}_{lane}_{mate}.fq.gz" for mate in ("fq1", "fq2")}
            for mate, path in reads.items():
                os.link(cohort.folder / unit[mate], cohort.folder / path)
            cohort.add_unit(sample, f"L{lane}", **reads)
        for path, first in results.items():
            os.link(first, cohort.folder / path.format(sample))


def fail(cohort: Cohort, target: str, *rules: str) -> None:
    """Run the last of the rules up to where its tool fails, which is played."""
    ran = cohort.snakemake(target, "--notemp", "--allowed-rules", *rules)
    assert ran.exit_code == 1
    (log,) = (cohort.folder / "logs" / rules[-1]).iterdir()
    assert "ERROR MESSAGE: Walker" in log.read_text(), ran.output


def test_transcripts_of_a_large_cohort_are_merged(tmp_path, given):
    cohort = tiny_experiment(tmp_path, ["A"], 1)
    enlarge(cohort, {"results/assemble/{}.gtf": tmp_path / "genes.gtf"})
    (tmp_path / "results/library_type").mkdir()
    (tmp_path / "results/library_type/library_type.txt").write_text("fr-unstranded\n")
    cohort.conditions = {sample: f"c{number % 2}" for number, sample in enumerate(SAMPLES)}
    fail(cohort, "results/merge/transcripts.gtf", "reference", "annotation", "merge")
    listed = Path(f"{given}.last").read_text()
    assert listed == "".join(f"results/assemble/{sample}.gtf\n" for sample in SAMPLES)


def test_a_large_cohort_is_genotyped_by_gatk_3(tmp_path, given):
    cohort = tiny_cohort(tmp_path, ["A"], 1)
    cohort.config |= {"gatk": "gatk3", "calling": "joint"}
    (tmp_path / "reads").mkdir(exist_ok=True)
    vcf = tmp_path / "first.g.vcf.gz"
    vcf.write_bytes(subprocess.run(["bgzip", "-c", tmp_path / "known.vcf"], check=True, capture_output=True).stdout)
    subprocess.run(["tabix", "-p", "vcf", vcf], check=True)
    called = "results/haplotype_caller/{}.g.vcf.gz"
    enlarge(cohort, {called: vcf, f"{called}.tbi": Path(f"{vcf}.tbi")})
    fail(cohort, "results/genotype_gvcfs/cohort.vcf.gz", "reference", "n_free_intervals", "genotype_gvcfs")
    words = given.read_text().split("\n")
    assert [word for word in words if "haplotype_caller" in word] == [called.format(sample) for sample in SAMPLES]
