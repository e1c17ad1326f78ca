"""What a person sees who starts the Tuxedo pipeline on bad input: a line that says so, or a warning."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tuxedo_cohort import GENES, Experiment, tiny_experiment

pytestmark = pytest.mark.e2e  # a process a case; tests/unit checks the same lines without


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return tiny_experiment(tmp_path, lanes=1)


def one_condition(experiment: Experiment) -> str:
    experiment.conditions = dict.fromkeys(experiment.conditions, "a")
    return (
        "samples.tsv: a is the only condition: differential expression compares two or more; add samples of another, "
        "or set stop_after: quantify"
    )


def no_condition(experiment: Experiment) -> str:
    del experiment.conditions["B1"]
    return (
        "samples.tsv: sample B1: has no condition (1 of the samples have none); give each its condition, or set "
        "stop_after: quantify"
    )


def condition_with_comma(experiment: Experiment) -> str:
    experiment.conditions["B2"] = "b,2h"
    return (
        "samples.tsv line 5: condition: 'b,2h': a name is made of letters, digits, '.', '_' and '-', and starts with a "
        "letter or digit"
    )


def condition_with_space(experiment: Experiment) -> str:
    experiment.conditions["A1"] = "wild type"
    return (
        "samples.tsv line 2: condition: 'wild type': a name is made of letters, digits, '.', '_' and '-', and starts "
        "with a letter or digit"
    )


def conditions_alike(experiment: Experiment) -> str:
    experiment.conditions |= {"A1": "rap-1", "A2": "rap-1", "B1": "RAP.1", "B2": "RAP.1"}
    return (
        "samples.tsv: conditions rap-1 and RAP.1 differ only in case or punctuation, which cummeRbund does not tell "
        "apart: rename one"
    )


def no_annotation(experiment: Experiment) -> str:
    del experiment.config["annotation"]
    return "config: annotation: missing: the tuxedo pipeline needs the genes, as GTF or GFF3"


def missing_annotation(experiment: Experiment) -> str:
    experiment.config["annotation"] = "absent.gtf"
    return "config: annotation absent.gtf cannot be read: No such file or directory"


def other_build(experiment: Experiment) -> str:
    (experiment.folder / "genes.gtf").write_text(GENES.replace("chr1\t", "1\t"))
    return (
        "config: annotation genes.gtf is on contigs 1, none of which the reference genome.fa has (it has chr1): use "
        "files of one genome build"
    )


def no_transcript_ids(experiment: Experiment) -> str:
    (experiment.folder / "genes.gtf").write_text(GENES.replace(' transcript_id "T2";', ""))
    return (
        "config: annotation genes.gtf has no transcript_id in 1 of its 3 exons, first in line 3: Cufflinks joins exons "
        "to transcripts by it; use an annotation that has them"
    )


def no_gene_ids(experiment: Experiment) -> str:
    (experiment.folder / "genes.gtf").write_text(GENES.replace('gene_id "G2"', 'geneid "G2"'))
    return (
        "config: annotation genes.gtf has no gene_id in 1 of its 3 exons, first in line 3: Cufflinks joins transcripts "
        "to genes by it; use an annotation that has them"
    )


def no_exons(experiment: Experiment) -> str:
    (experiment.folder / "genes.gtf").write_text(GENES.replace("\texon\t", "\tgene\t"))
    return "config: annotation genes.gtf has no exons (third column): Cufflinks builds its transcripts from them"


def no_gtf(experiment: Experiment) -> str:
    (experiment.folder / "genes.gtf").write_text("chr1\t100\t400\n")
    return "config: annotation genes.gtf is neither GTF nor GFF3: line 1 has 3 columns, not 9"


def cut_annotation(experiment: Experiment) -> str:
    experiment.config["annotation"] = "genes.gtf.gz"
    (experiment.folder / "genes.gtf.gz").write_bytes(gzip.compress(GENES.encode() * 50)[:-12])
    return "config: annotation genes.gtf.gz is cut off: its compressed data ends too early; copy or create it again"


def missing_mask(experiment: Experiment) -> str:
    experiment.config["mask"] = "absent.gtf"
    return "config: mask absent.gtf cannot be read: No such file or directory"


def mask_of_other_build(experiment: Experiment) -> str:
    experiment.config["mask"] = "mask.gtf"
    (experiment.folder / "mask.gtf").write_text(GENES.replace("chr1\t", "1\t"))
    return (
        "config: mask mask.gtf is on contigs 1, none of which the reference genome.fa has (it has chr1): use files of "
        "one genome build"
    )


def mask_as_gff3(experiment: Experiment) -> str:
    experiment.config["mask"] = "mask.gff"
    (experiment.folder / "mask.gff").write_text("chr1\tx\texon\t1\t9\t.\t+\t.\tID=e1;Parent=T\n")
    return "config: mask mask.gff is GFF3: give GTF (gffread -T makes it)"


def packages_of_none(experiment: Experiment) -> str:
    experiment.config["max_bundle_frags"] = 0
    return "config: max_bundle_frags: 0 is less than the minimum of 1"


def aligned_unit(experiment: Experiment) -> str:
    experiment.config["bam_input"] = "remap"
    bam = experiment.folder / "reads" / "A1.bam"
    header = b"BAM\1" + (0).to_bytes(4, "little") * 2
    end = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
    bam.write_bytes(gzip.compress(header) + end)
    experiment.units[0] |= {"fq1": "", "fq2": "", "bam": "reads/A1.bam"}
    return "units.tsv line 2: sample A1: has a bam, but the tuxedo pipeline starts from reads: give fq1"


def mixed_ends(experiment: Experiment) -> str:
    other = dict(experiment.units[1], sample_name="A1", unit_name="L2", fq2="")
    experiment.units = [experiment.units[0], other, *experiment.units[2:]]
    return "units.tsv: sample A1: has lanes with fq2 and lanes without: make two samples of them"


def unknown_strandedness(experiment: Experiment) -> str:
    experiment.config["strandedness"] = "fr-firststranded"
    return (
        "config: strandedness: 'fr-firststranded' is not one of auto, fr-unstranded, fr-firststrand, fr-secondstrand; "
        "did you mean fr-firststrand?"
    )


def threads_of_tophat(experiment: Experiment) -> str:
    experiment.config["extra"] = {"tophat2": "-p4"}
    return "config: extra.tophat2: -p4: the workflow gives this argument itself"


CASES: list[Callable[[Experiment], str]] = [
    *(one_condition, no_condition, condition_with_comma, condition_with_space, conditions_alike),
    *(no_annotation, missing_annotation, other_build, no_transcript_ids, no_gene_ids, no_exons, no_gtf, cut_annotation),
    *(missing_mask, mask_of_other_build, mask_as_gff3, packages_of_none),
    *(aligned_unit, mixed_ends, unknown_strandedness, threads_of_tophat),
]


@pytest.mark.parametrize("spoil", CASES, ids=lambda case: case.__name__)
def test_one_line_before_any_job(experiment: Experiment, spoil: Callable[[Experiment], str]) -> None:
    expected = spoil(experiment)
    ran = experiment.snakemake("--dry-run")
    assert ran.exit_code == 1, ran.output
    output = [line for line in ran.lines if not line.startswith("Using workflow specific profile")]
    assert output == [expected], ran.output


def warnings(experiment: Experiment) -> list[str]:
    ran = experiment.snakemake("--dry-run")
    assert ran.exit_code == 0, ran.output
    return [line for line in ran.lines if line.startswith("warning: ")]


def test_a_sound_experiment_is_not_warned_about(experiment):
    assert warnings(experiment) == []


def test_one_replicate_is_warned_about(experiment):
    experiment.conditions["B1"] = "a"
    assert warnings(experiment) == [
        "warning: samples.tsv: condition b has one replicate: cuffdiff cannot see how much it varies, and takes it "
        "from the conditions that have more (dispersion method pooled)"
    ]


def test_no_replicates_are_warned_about(tmp_path):
    (line,) = warnings(tiny_experiment(tmp_path, ["A1", "B1"], lanes=1))
    assert "no condition has replicates" in line
    assert "dispersion method blind" in line


def test_contigs_that_the_reference_lacks_are_left_out_and_said(experiment):
    with (experiment.folder / "genes.gtf").open("a") as file:
        file.write(GENES.replace("chr1\t", "chrUn\t"))
    assert warnings(experiment) == [
        "warning: config: annotation genes.gtf has 3 of its 6 exons on contigs that the reference lacks (chrUn): they "
        "are left out"
    ]


def test_gff3_is_converted_and_said(experiment):
    (experiment.folder / "genes.gtf").write_text(
        "##gff-version 3\n"
        "chr1\ttest\tmRNA\t101\t900\t.\t+\t.\tID=T1;geneID=G1\n"
        "chr1\ttest\texon\t101\t400\t.\t+\t.\tParent=T1\n"
        "chr1\ttest\texon\t601\t900\t.\t+\t.\tParent=T1\n"
    )
    assert warnings(experiment) == [
        "warning: config: annotation genes.gtf is GFF3, where the Tuxedo tools want GTF: gffread converts it to "
        "results/reference/genes.gtf"
    ]
