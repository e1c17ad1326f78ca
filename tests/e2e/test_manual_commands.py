"""The how-to pages: their blocks of commands are run as they stand, but those that want what no test has."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, tiny_cohort
from documents import SHELLS, Document
from recorded_studies import study

pytestmark = pytest.mark.e2e

# What blocks want, by how a line of theirs begins
NOT_RUN = {
    "make setup": "the network",
    "git clone": "the network",
    "make image": "containers: tests/image",
    "docker": "containers: tests/image",
    "make doctor": "a clone that is installed beside this one",
    "base=": "the network",
    "gpd reference GRCh38": "the network",
    "gpd fetch": "addresses: test_addresses.py",
    "gpd benchmark": "a quarter of an hour",
    "gpd compare registry:": "entries of two machines",
    "gpd compare benchmark-run": "a benchmark that was run",
    "gpd throughput run": "hours",
    "gpd scaling run": "hours",
    "for partition": "a cluster: tests/slurm",
    "gpd run germline --profile slurm": "a cluster: tests/slurm",
    "snakemake --workflow-profile profiles/slurm": "a cluster: tests/slurm",
    "snakemake --profile profiles/slurm": "a cluster: tests/slurm",
    "sinfo": "a cluster: tests/slurm",
    "snakemake --cores all --sdm conda": "conda",
    "snakemake --cores all --workflow-profile runs/scaling": "a scaling run",
    'eval "$PINNED_LAUNCH': "a job: test_launcher_jobs.py",
    "bcftools query": "annotated calls: test_annotated_calls.py",
    "gpd size": "studies of human genomes",
    "gpd package check": "a package in which every check holds: test_throughput_runs.py",
    "pytest": "this clone: the tests that it names",
    "gpd run tuxedo": "a cohort of RNA: test_tuxedo_setup.py",
    "TMPDIR=/scratch": "a disk of that name",
}
BEGIN = ("own-reads.md", "coming-from-sarek.md")  # pages of those who have reads and nothing else


def blocks() -> list[tuple[str, str]]:
    """Each page's blocks of commands."""
    pages = map(Document, sorted((ROOT / "docs/how-to").glob("*.md")))
    return [(page.path.name, each.text) for page in pages for each in page.fences if each.language in SHELLS]


def wants(text: str) -> set[str]:
    return {begin for begin in NOT_RUN for line in text.splitlines() if line.strip().startswith(begin)}


RUN = [(page, text) for page, text in blocks() if not wants(text)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with reads, a genome and what belongs to it."""
    folder = tmp_path_factory.mktemp("home")
    tiny_cohort(folder, lanes=1)
    subprocess.run(f"bgzip < {folder}/known.vcf > {folder}/dbsnp.vcf.gz", shell=True, check=True)
    columns = 'chr1\ta\texon\t1\t900\t.\t+\t.\tgene_id "G"; transcript_id "T";\n'
    (folder / "genes.gtf.gz").write_bytes(gzip.compress(columns.encode()))
    return folder


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A folder with sheets that others made of these reads, and a genome."""
    folder = tmp_path_factory.mktemp("begun")
    pairs = [(home / f"reads/{name}_L1_R1.fq.gz", home / f"reads/{name}_L1_R2.fq.gz") for name in ("S1", "S2")]
    sarek = [f"P,{name},L1,{first},{second}" for name, (first, second) in zip(("S1", "S2"), pairs, strict=True)]
    (folder / "samplesheet.csv").write_text("\n".join(["patient,sample,lane,fastq_1,fastq_2", *sarek]) + "\n")
    runs = ["run_accession\tfastq_ftp\tsample_alias"]
    (home / "fetched").mkdir()
    for number, files in enumerate(pairs, 1):
        names = [f"SRR{number}_{mate}.fastq.gz" for mate in (1, 2)]
        for file, name in zip(files, names, strict=True):
            shutil.copy(file, home / "fetched" / name)
        runs.append(f"SRR{number}\t{';'.join(f'ftp.example/{name}' for name in names)}\tS{number}")
    (folder / "filereport.tsv").write_text("\n".join(runs) + "\n")
    (folder / "resources").mkdir()
    shutil.copy(home / "genome.fa", folder / "resources")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone, as far as commands see, in which a cohort's run has ended; and studies, and packages of them."""
    folder = tmp_path_factory.mktemp("manual") / "clone"
    folder.mkdir()
    for name in ("workflow", "profiles", "resources"):
        (folder / name).symlink_to(ROOT / name)
    tiny_cohort(folder, samples=["NA12878", "DEMO02"], lanes=1).write()
    subprocess.run(["gpd", "run", "germline"], cwd=folder, check=True, capture_output=True)
    for name in ("xeon", "epyc", "study", "study-rome", "study-milan", "mine"):
        shutil.copytree(study(), folder / "runs" / name)
    for name in ("vendor-a", "vendor-b", "theirs"):
        subprocess.run(["gpd", "package", study(), "--out", folder / f"{name}.gpd.tar.gz"], check=True)
    return folder


@pytest.mark.parametrize(("page", "text"), RUN, ids=[f"{page}:{text.split(chr(10))[0]}" for page, text in RUN])
def test_a_block_of_commands_runs(request: pytest.FixtureRequest, tmp_path: Path, page: str, text: str) -> None:
    folder = request.getfixturevalue("begun" if page in BEGIN else "finished")
    shutil.copytree(folder, tmp_path / "clone", symlinks=True)
    shutil.copytree(request.getfixturevalue("home"), tmp_path / "home")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=tmp_path / "clone",
        env=os.environ | {"HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_reason_is_left_over() -> None:
    assert set().union(*(wants(text) for _, text in blocks())) == {*NOT_RUN}
