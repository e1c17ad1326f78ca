"""Simulated faults of RNA-Seq, each named by exactly its sample and cause, by the real tools."""

import csv
import random
from pathlib import Path

import pytest
import wrong_samples
from conftest import random_sequence, reverse_complement, write_fastq
from tuxedo_cohort import Experiment

pytestmark = pytest.mark.e2e

GENES, SPACING, EXON, INTRON = 40, 2000, 500, 200
RIBOSOMAL, MITOCHONDRIA = (GENES * SPACING, GENES * SPACING + 1500), 3000
FRAGMENTS, LENGTH, READ = 3000, 180, 75
SHARE_OF_RRNA, DEGRADED_PART = 0.33, 0.4
# sample: its condition in the sheet
A, B = [f"A{number}" for number in (1, 2, 3)], [f"B{number}" for number in (1, 2)]
SWAPPED, STRAND, RIBOSOMES, DEGRADED = "SWAPPED", "STRAND", "RIBOSOMES", "DEGRADED"
SHEET = dict.fromkeys([*A, SWAPPED, STRAND], "a") | dict.fromkeys([*B, RIBOSOMES, DEGRADED], "b")
TABLE, TYPE = "results/qc/samples.tsv", "results/library_type/library_type.txt"


def strand(gene: int) -> str:
    return "+-"[gene % 2]


def gtf() -> str:
    rows = []
    for gene in range(GENES):
        first = gene * SPACING + 400
        for start in (first, first + EXON + INTRON):
            rows.append((start, start + EXON, strand(gene), f"G{gene}", "protein_coding"))
    rows.append((*RIBOSOMAL, "+", "R", "rRNA"))
    return "".join(
        f'chr1\tt\texon\t{start + 1}\t{end}\t.\t{way}\t.\tgene_id "{name}"; transcript_id "T{name}"; '
        f'gene_biotype "{kind}";\n'
        for start, end, way, name, kind in rows
    )


def with_introns(genome: str) -> str:
    """The genome with GT and AG at the ends of its introns, as aligners expect them."""
    bases = list(genome)
    for gene in range(GENES):
        first, last = gene * SPACING + 400 + EXON, gene * SPACING + 400 + EXON + INTRON
        bases[first : first + 2], bases[last - 2 : last] = ("GT", "AG") if strand(gene) == "+" else ("CT", "AC")
    return "".join(bases)


def transcripts(genome: str) -> list[str]:
    """From 5' to 3'."""
    found = []
    for gene in range(GENES):
        first = gene * SPACING + 400
        sequence = genome[first : first + EXON] + genome[first + EXON + INTRON : first + 2 * EXON + INTRON]
        found.append(sequence if strand(gene) == "+" else reverse_complement(sequence))
    return found


def levels(condition: str) -> list[float]:
    """Of the genes, of which half differ between the conditions."""
    draw = random.Random(7)
    common = [2 ** draw.gauss(0, 1.2) for _ in range(GENES)]
    return [
        level * (2.8 if (gene % 4 < 2) == (condition == "a") and gene % 2 else 1) for gene, level in enumerate(common)
    ]


def fragments(sample: str, genome: str, seed: int) -> list[str]:
    """In the sense of their genes."""
    draw, sequences = random.Random(seed), transcripts(genome)
    condition = "b" if sample == SWAPPED else SHEET[sample]
    found = []
    for sequence in draw.choices(sequences, levels(condition), k=FRAGMENTS):
        first = int(len(sequence) * (1 - DEGRADED_PART)) if sample == DEGRADED else 0
        start = draw.randrange(first, len(sequence) - LENGTH)
        found.append(sequence[start : start + LENGTH])
    ribosomal = SHARE_OF_RRNA if sample == RIBOSOMES else 0.02
    for _ in range(round(FRAGMENTS * ribosomal / (1 - ribosomal))):
        start = draw.randrange(RIBOSOMAL[0], RIBOSOMAL[1] - LENGTH)
        found.append(genome[start : start + LENGTH])
    draw.shuffle(found)
    return found


def write_sample(experiment: Experiment, sample: str, genome: str, seed: int) -> None:
    """As dUTP libraries are, of which the first read lies opposite to its gene."""
    drawn = fragments(sample, genome, seed)
    pairs = [(reverse_complement(each[-READ:]), each[:READ]) for each in drawn]
    if sample == STRAND:
        pairs = [(second, first) for first, second in pairs]
    files = {}
    for mate, name in enumerate(("fq1", "fq2")):
        reads = [(f"r{number}", pair[mate]) for number, pair in enumerate(pairs)]
        files[name] = write_fastq(experiment.folder / f"{sample}_{mate + 1}.fq", reads)
    experiment.add_unit(sample, "L1", **files)


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Experiment:
    folder = tmp_path_factory.mktemp("faulty")
    genome = with_introns(random_sequence(RIBOSOMAL[1] + 1000, seed=1))
    (folder / "genome.fa").write_text(f">chr1\n{genome}\n>chrM\n{random_sequence(MITOCHONDRIA, seed=2)}\n")
    (folder / "genes.gtf").write_text(gtf())
    config = {"pipeline": "tuxedo", "reference": {"fasta": "genome.fa"}, "annotation": "genes.gtf"}
    config |= {"strandedness": "fr-firststrand", "assembly": "reference_only", "stop_after": "quantify"}
    made = Experiment(folder, config, conditions=SHEET)
    for seed, sample in enumerate(SHEET, 10):
        write_sample(made, sample, genome, seed)
    ran = made.snakemake("--", TABLE)
    assert ran.exit_code == 0, ran.output
    return made


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open() as file:
        return {next(iter(row.values())): row for row in csv.DictReader(file, delimiter="\t")}


def test_each_fault_is_named_by_its_sample_and_cause_and_nothing_else_is(judged):
    found = {name: (row["verdict"], row["reason"]) for name, row in rows(judged.folder / TABLE).items()}
    causes = {
        name: (verdict, [part.split(" ")[0] for part in reason.split("; ")])
        for name, (verdict, reason) in found.items()
    }
    assert causes == {
        **dict.fromkeys([*A, *B], ("pass", [""])),
        SWAPPED: ("warn", ["condition", "correlation"]),
        STRAND: ("fail", ["strandedness"]),
        RIBOSOMES: ("fail", ["rrna"]),
        DEGRADED: ("fail", ["five_prime"]),
    }
    assert found[SWAPPED][1].startswith("condition a in the sheet, nearer to samples of b; ")


@pytest.mark.faults  # a row of the fault table each
@pytest.mark.parametrize("case", wrong_samples.RNA, ids=lambda case: case.id)
def test_each_fault_is_in_the_table(judged, record_property, case):
    row = rows(judged.folder / TABLE)[case.sample]
    record_property("case", case.id)
    record_property("seen", case.seen(row["verdict"], row["reason"]))


def test_the_figures_are_those_that_were_simulated(judged):
    table = rows(judged.folder / TABLE)
    assert float(table[RIBOSOMES]["rrna"]) == pytest.approx(SHARE_OF_RRNA, abs=0.02)
    assert float(table["A1"]["rrna"]) == pytest.approx(0.02, abs=0.01)
    assert float(table["A1"]["five_prime"]) == pytest.approx(0.5, abs=0.05)
    assert table["A1"]["mitochondria"] == "0" and table["A1"]["skipped_loci"] == "", "what is not known is no zero"
    assert int(table["A1"]["genes_detected"]) == pytest.approx(GENES + 1, abs=3)
    assert 0.05 < float(table["A1"]["spliced"]) < 0.2


def test_a_sample_of_which_nothing_is_counted_costs_the_others_nothing(judged):
    table = rows(judged.folder / TABLE)
    assert (table[STRAND]["genes_detected"], table[STRAND]["correlation"]) == ("0", "")
    assert all(float(table[name]["correlation"]) > 0.8 for name in (*A, *B))


def test_counts_by_gene_are_whole_fragments(judged):
    """Of the strand of the gene: of a library of the other way there are none."""
    counts = rows(judged.folder / "results/expression/gene_counts.tsv")
    assert list(counts) == [*(f"G{gene}" for gene in range(GENES)), "R"]
    of_sample = sum(int(row["A1"]) for row in counts.values())
    assert of_sample == pytest.approx(FRAGMENTS / 0.98, rel=0.01)
    assert {row[STRAND] for row in counts.values()} == {"0"}
    tpm = rows(judged.folder / "results/expression/gene_tpm.tsv")
    assert sum(float(row["A1"]) for row in tpm.values()) == pytest.approx(1e6, rel=1e-4)


def test_a_gate_stops_who_fails_and_says_why(judged):
    """Before transcripts are merged and conditions compared, by alignments alone: so it knows of no swap."""
    gated = judged.with_config(failed_samples="stop_on_quality")
    gates = [f"results/quality_gate/{sample}.tsv" for sample in (SWAPPED, STRAND, DEGRADED)]
    rules = ("read_strands", "read_features", "gene_counts", "quality_gate")
    ran = gated.snakemake("--keep-going", "--retries", "0", "--allowed-rules", *rules, "--", *gates)
    assert ran.exit_code != 0
    assert [(judged.folder / path).exists() for path in gates] == [True, False, False]
    assert f"error: {STRAND}: strandedness fr-firststrand in the config, fr-secondstrand by reads (" in ran.output
    assert f"error: {DEGRADED}: five_prime " in ran.output


def test_cufflinks_waits_for_the_library_type_that_reads_tell(judged):
    """A sample's own one, and what takes all samples for one type of all."""
    targets = [f"results/quantify/{sample}.cxb" for sample in ("A1", STRAND)]
    ran = judged.snakemake("--keep-going", "--", *targets)
    assert ran.exit_code != 0
    assert [(judged.folder / path).exists() for path in targets] == [True, False]
    assert f"error: sample {STRAND}: strandedness is fr-firststrand in the config, but " in ran.output
    ran = judged.with_config(strandedness="auto").snakemake(
        "--keep-going", "--rerun-triggers", "mtime", "--forcerun", "read_strands", "--", *targets, TYPE
    )
    assert ran.exit_code != 0
    assert all((judged.folder / path).exists() for path in targets)
    assert f"8 are fr-firststrand by their reads, but {STRAND} (fr-secondstrand): leave those out" in ran.output
