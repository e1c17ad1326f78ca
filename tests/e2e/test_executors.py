"""Both pipelines under the executor `pinned` and under Snakemake's own: the same results; records of the former."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, snakemake

pytestmark = [pytest.mark.e2e, pytest.mark.long]

DEMO = ROOT / "resources/demo"
COHORTS = {
    "germline": (DEMO / "germline/simulate_cohort.py", "--samples", "2", "--length", "60000", "--coverage", "10"),
    "tuxedo": (DEMO / "tuxedo/simulate_experiment.py",),
}
ALONE = ("--workflow-profile", "none", "--executor", "local", "--scheduler", "greedy")  # as without the package
# what holds times or paths, where a compressed file's blocks begin, or loci as threads end (CXB: tables are of it)
DIFFER = ("multiqc.html", ".dict", ".tbi", ".bai", ".recal.idx", "run.info", "cummeRbund.db", ".cxb")
UNORDERED = (".bam", ".gtf")  # HISAT2 and Cufflinks write what is at one place, and loci, as their threads come to it
NUMBER = rb"(?<=CUFF\.)\d+"  # of a locus, as threads come to it
DATED = (b"#", b"/CreationDate", b"/ModDate")  # of headers, and of R's PDF
PRINTED = "mark_duplicates"  # in whose text sambamba says how long it took


def contents(path: Path) -> bytes:
    """A file's records, without the headers that name versions, times and commands."""
    text = path.read_bytes()
    if path.suffix == ".bam":
        text = subprocess.run(["samtools", "view", path], capture_output=True, check=True).stdout
    if path.name.endswith(".vcf.gz"):
        text = subprocess.run(["bcftools", "view", "-H", path], capture_output=True, check=True).stdout
    if path.suffix == ".gtf":
        text = re.sub(NUMBER, b"", text)
    lines = [line for line in text.splitlines() if not line.startswith(DATED)]
    return b"\n".join(sorted(lines) if path.suffix in UNORDERED else lines)


def results(folder: Path) -> dict[str, bytes]:
    files = (path for path in (folder / "results").rglob("*") if path.is_file() and not path.name.endswith(DIFFER))
    told = (path for path in files if (path.parent.name, path.suffix) != (PRINTED, ".txt"))
    return {str(path.relative_to(folder)): contents(path) for path in told}


@pytest.mark.parametrize("pipeline", COHORTS)
def test_results_are_the_same_whatever_the_executor(pipeline: str, tmp_path: Path) -> None:
    found = {}
    for name, words in {"pinned": (), "alone": ALONE}.items():
        folder = tmp_path / name
        subprocess.run([sys.executable, *COHORTS[pipeline], "--output", folder], check=True, capture_output=True)
        ran = snakemake(folder, "--configfile", str(folder / "config.yaml"), *words)
        assert ran.exit_code == 0, ran.output
        found[name] = results(folder)
    assert (tmp_path / "pinned/ledger.jsonl").exists() and not (tmp_path / "alone/ledger.jsonl").exists()
    assert found["pinned"].keys() == found["alone"].keys()
    assert [path for path, text in found["pinned"].items() if text != found["alone"][path]] == []
