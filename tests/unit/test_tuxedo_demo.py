"""The simulated RNA-Seq experiment: the same bytes from the same seed, and what it says of itself is true."""

import csv
import gzip
import hashlib
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import snakemake

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "resources/demo/tuxedo"
SIMULATOR = DEMO / "simulate_experiment.py"
COMPLEMENT = str.maketrans("ACGT", "TGCA")

sys.path.insert(0, str(DEMO))


def simulate(output: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(SIMULATOR), "--output", str(output), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("demo") / "experiment"
    done = simulate(output, "--genes", "40", "--replicates", "1", "--seed", "7")
    assert done.returncode == 0, done.stderr
    return output


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def contigs(folder: Path) -> dict[str, str]:
    parts = (folder / "genome.fa").read_text().split(">")[1:]
    return {name: "".join(lines) for name, *lines in (part.split("\n") for part in parts)}


def transcripts(folder: Path) -> dict[str, tuple[str, str, list[tuple[int, int]]]]:
    found: dict[str, tuple[str, str, list]] = {}
    for line in gzip.decompress((folder / "genes.gtf.gz").read_bytes()).decode().splitlines():
        contig, _, _, start, end, _, strand, _, attributes = line.split("\t")
        name = attributes.split('transcript_id "')[1].split('"')[0]
        found.setdefault(name, (contig, strand, []))[2].append((int(start) - 1, int(end)))
    return found


def spliced(folder: Path) -> dict[str, str]:
    sequences, genome = {}, contigs(folder)
    for name, (contig, strand, exons) in transcripts(folder).items():
        text = "".join(genome[contig][start:end] for start, end in exons)
        sequences[name] = text if strand == "+" else text.translate(COMPLEMENT)[::-1]
    return sequences


def read_truth(folder: Path) -> list[dict[str, str]]:
    with (folder / "truth/genes.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def reads(path: Path) -> list[tuple[str, str]]:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return list(zip(lines[::4], lines[1::4], strict=True))


@pytest.mark.deep
def test_same_seed_same_bytes(experiment, tmp_path):
    again, other = tmp_path / "again", tmp_path / "other"
    for output, seed in ((again, "7"), (other, "8")):
        assert simulate(output, "--genes", "40", "--replicates", "1", "--seed", seed).returncode == 0
    assert digests(again) == digests(experiment)
    assert digests(other)["genome.fa"] != digests(experiment)["genome.fa"]


def test_introns_have_the_signals_of_their_strand(experiment):
    genome = contigs(experiment)
    for contig, strand, exons in transcripts(experiment).values():
        for (_, start), (end, _) in pairwise(exons):
            intron = genome[contig][start:end]
            ends = intron[:2] + intron[-2:]
            assert ends == ("GTAG" if strand == "+" else "CTAC")


def test_reads_come_from_spliced_transcripts_first_mates_reversed(experiment):
    sequences = spliced(experiment)
    close = total = 0
    for mate in (1, 2):
        for name, bases in reads(experiment / f"reads/control1_L001_R{mate}.fastq.gz")[:300]:
            origin = name[1:].partition(":")[0]
            if origin == "random":
                continue
            sense = bases.translate(COMPLEMENT)[::-1] if mate == 1 else bases
            seed = 20  # some stretch of this size is free of errors in nearly every read
            total += 1
            close += any(sense[i : i + seed] in sequences[origin] for i in range(0, len(sense) - seed, seed))
    assert total > 500
    assert close / total > 0.99


def test_reads_are_about_as_many_as_the_truth_says(experiment):
    truth = read_truth(experiment)
    for condition in ("control", "treated"):
        expected = sum(float(gene[f"{condition}_fragments"]) for gene in truth)
        found = sum(len(reads(path)) for path in (experiment / "reads").glob(f"{condition}1_*_R1.fastq.gz"))
        assert 0.8 < found / expected < 1.25


@pytest.mark.deep
def test_more_conditions_leave_the_first_two_as_they_were(experiment, tmp_path):
    """As `make rehearsal-rna` has them, in small; and the workflow can plan them."""
    more = tmp_path / "more"
    done = simulate(more, "--genes", "40", "--replicates", "1", "--seed", "7", "--conditions", "4")
    assert done.returncode == 0, done.stderr
    before, after = digests(experiment), digests(more)
    assert {name for name in before if after[name] != before[name]} == {"samples.tsv", "units.tsv", "truth/genes.tsv"}
    truth, of_two = read_truth(more), read_truth(experiment)
    assert [{name: gene[name] for name in of_two[0]} for gene in truth] == of_two
    assert sum(gene["starved_fragments"] != gene["heated_fragments"] for gene in truth) > 20
    planned = snakemake(more, "--configfile", str(more / "config.yaml"), "--dry-run", "--quiet", "all")
    assert planned.exit_code == 0, planned.output


@pytest.mark.deep
@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--genes", "10"], "--genes 10: give 40 to 900"),
        (["--conditions", "1"], "--conditions 1: give 2 to 6"),
        (["--replicates", "0"], "--replicates 0: give 1 to 99"),
        (["--seed", "-1"], "--seed -1: give 0 or more"),
    ],
)
def test_bad_arguments_get_one_line(tmp_path, arguments, printed):
    done = simulate(tmp_path / "out", *arguments)
    assert (done.returncode, done.stderr) == (2, f"simulate_experiment.py: {printed}\n")
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("keep")
    done = simulate(tmp_path)
    assert done.returncode == 2
    assert "exists and is not an empty folder" in done.stderr
