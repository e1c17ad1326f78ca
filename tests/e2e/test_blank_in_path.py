"""A clone whose folder, and whose Python's, has a blank in its name."""

import os
import shutil
import site
import subprocess
import venv
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, tiny_cohort
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e

STATISTICS = (("samtools_stats", "txt"), ("base_recalibrator", "table"))
RECORD = '{"declared": "auto", "found": "fr-firststrand", "reads": 500, "sense": 0.01}'


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The workflow, and a Python of its own that finds what ours has installed."""
    folder = tmp_path_factory.mktemp("clone") / "a 'b' c"
    for part in ("workflow", "envs", "scripts/snakemake-executor-plugin-pinned"):
        shutil.copytree(ROOT / part, folder / part)
    venv.create(folder / ".venv", symlinks=True)
    (packages,) = (folder / ".venv").glob("lib/python*/site-packages")
    paths = [folder / "scripts/snakemake-executor-plugin-pinned", *site.getsitepackages()]
    (packages / "ours.pth").write_text("".join(f"{path}\n" for path in paths))
    return folder


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def run(clone: Path, cohort: Cohort, *arguments: str) -> subprocess.CompletedProcess:
    cohort.write()
    python, snakefile = clone / ".venv/bin/python", clone / "workflow/Snakefile"
    command = [python, "-m", "snakemake", "--snakefile", snakefile, "--directory", cohort.folder, "--cores", "2"]
    return subprocess.run(
        [*command, "--notemp", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(clone / "cache of ours")},
    )


def put(cohort: Cohort, *paths: str, text: str = "") -> None:
    for path in paths:
        (cohort.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (cohort.folder / path).write_text(text)


def test_germline(clone: Path) -> None:
    """A job of the launcher, and those that list files for others, which are made here as if tools had made them."""
    cohort = tiny_cohort(folder(clone / "run of germline"))
    cohort.config["calling"] = "joint"
    gvcfs = [f"results/haplotype_caller/{sample}.g.vcf.gz" for sample in ("S1", "S2")]
    statistics = [
        *(f"results/{kind}/{sample}.{ending}" for kind, ending in STATISTICS for sample in ("S1", "S2")),
        *("results/bcftools_stats/cohort.txt", "results/bcftools_stats/all_records/cohort.txt"),
        *(f"results/mark_duplicates/{sample}.txt" for sample in ("S1", "S2")),
        "results/qc/samples_mqc.tsv",
    ]
    put(cohort, *gvcfs, *statistics)
    wanted = ("results/reference/genome.dict", "results/genomics_db_import/files.txt", "results/multiqc/files.txt")
    ran = run(clone, cohort, *wanted, "--allowed-rules", "reference", "list_files")
    assert ran.returncode == 0, ran.stdout
    listed = (cohort.folder / wanted[1]).read_text()
    assert listed == "".join(f"S{n}\t{gvcf}\n" for n, gvcf in enumerate(gvcfs, 1))
    assert sorted((cohort.folder / wanted[2]).read_text().splitlines()) == sorted(statistics)


def test_tuxedo(clone: Path) -> None:
    """A job of the launcher with one of our scripts, and the library type of all samples."""
    cohort = tiny_experiment(folder(clone / "run of tuxedo"))
    put(cohort, *(f"results/read_strands/{sample}.json" for sample in cohort.conditions), text=RECORD)
    wanted = ("results/reference/genes.gtf", "results/library_type/library_type.txt")
    ran = run(clone, cohort, *wanted, "--allowed-rules", "reference", "annotation", "library_type")
    assert ran.returncode == 0, ran.stdout
    assert (cohort.folder / wanted[0]).read_text().count("gene_id") == 3
    assert (cohort.folder / wanted[1]).read_text() == "fr-firststrand\n"
