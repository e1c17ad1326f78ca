"""The Tuxedo pipeline with the real tools: real reads, the simulated demo, and what it does where data are poor."""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SNAKEFILE, Ran, shared, snakemake
from tuxedo_cohort import Experiment, tiny_experiment

pytestmark = pytest.mark.e2e

CUMMERBUND = SNAKEFILE.parent / "scripts" / "tuxedo" / "cummerbund.R"
YEAST = {f"{name}_rep{n}": name for name in ("WT", "RAP1_IAA2H") for n in (1, 2, 3)}
FLY = {f"sample{n}": condition for n, condition in enumerate(("a", "a", "b", "b"), 1)}
PLOTS = ("density", "box", "dispersion", "pca", "replicate_distance", "volcano", "scatter", "heat_map")


def experiment_of(folder: Path, data: Path, conditions: dict[str, str], suffix: str = "", **config) -> Experiment:
    """An experiment of the samples whose pairs lie in data/reads."""
    files = {"reference": {"fasta": str(data / "genome.fa.gz")}, "annotation": str(data / "genes.gtf.gz")}
    made = Experiment(folder, {"pipeline": "tuxedo", **files, **config}, conditions=conditions)
    for sample in conditions:
        fq1, fq2 = (data / "reads" / f"{sample}{suffix}_R{mate}.fastq.gz" for mate in (1, 2))
        made.add_unit(sample, "L1", fq1=fq1, fq2=fq2)
    return made


def finish(experiment: Experiment) -> Experiment:
    ran = experiment.snakemake()
    assert ran.exit_code == 0, ran.output
    return experiment


@pytest.fixture(scope="module")
def yeast(tmp_path_factory) -> Experiment:
    """Run to its end, but for the model of dispersion, which the demo has: to fit one takes cuffdiff minutes."""
    data, folder = shared("rnaseq_yeast_chrI"), tmp_path_factory.mktemp("yeast")
    config = {"assembly": "reference_only", "cuffdiff": {"dispersion_method": "poisson"}}
    return finish(experiment_of(folder, data, YEAST, strandedness="fr-firststrand", **config))


@pytest.fixture(scope="module")
def fly(tmp_path_factory) -> Experiment:
    """Run up to what is compared."""
    experiment = experiment_of(tmp_path_factory.mktemp("fly"), shared("rnaseq_fly"), FLY, ".tiny")
    experiment.config["stop_after"] = "quantify"
    return finish(experiment)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def mapping_rates(experiment: Experiment) -> dict[str, float]:
    """Percent of each sample's reads that are aligned, from the alignments themselves."""
    rates = {}
    for sample in experiment.conditions:
        bam = experiment.folder / f"results/align/{sample}.bam"
        flags = subprocess.run(["samtools", "flagstat", "-O", "json", bam], check=True, capture_output=True).stdout
        passed = json.loads(flags)["QC-passed reads"]
        rates[sample] = 100 * passed["primary mapped"] / passed["primary"]
    return rates


def junctions(experiment: Experiment) -> dict[str, set[tuple[str, int, int]]]:
    """Each sample's introns: contig, last base before and first base after, from 1."""
    found = {}
    for sample in experiment.conditions:
        bam = experiment.folder / f"results/align/{sample}.bam"
        view = subprocess.run(["samtools", "view", bam], check=True, capture_output=True, text=True).stdout
        found[sample] = {junction for line in view.splitlines() for junction in introns(*line.split("\t")[2:6:1])}
    return found


def introns(contig: str, position: str, _quality: str, cigar: str) -> list[tuple[str, int, int]]:
    at, found = int(position), []
    for length, operation in re.findall(r"(\d+)([MIDNS=XHP])", cigar):
        if operation == "N":
            found.append((contig, at - 1, at + int(length)))
        if operation in "MDN=X":
            at += int(length)
    return found


@pytest.mark.long
def test_yeast_mapping_rates(yeast, figure):
    rates = mapping_rates(yeast)
    figure("rnaseq_yeast_chrI mapped: " + ", ".join(f"{name} {rate:.1f}%" for name, rate in rates.items()))
    assert all(80 <= rate <= 83 for rate in rates.values())


@pytest.mark.long
def test_yeast_reads_are_all_there(yeast):
    for unit in yeast.units:
        reads = sum(gzip.decompress(Path(unit[mate]).read_bytes()).count(b"\n") // 4 for mate in ("fq1", "fq2"))
        counted = json.loads((yeast.folder / f"results/align/{unit['sample_name']}.json").read_text())
        bam = yeast.folder / f"results/align/{unit['sample_name']}.bam"
        primary = subprocess.run(["samtools", "view", "-c", "-F", "0x900", bam], check=True, capture_output=True)
        assert reads == counted["reads"] == int(primary.stdout)


@pytest.mark.long
def test_yeast_genes_that_rap1_drives_fall(yeast, figure):
    significant = {row["gene"]: row for row in rows(yeast.folder / "results/visualize/gene_exp.significant.tsv")}
    changes = (f"{name} {row['log2_fold_change']} (q {row['q_value']})" for name, row in significant.items())
    figure("rnaseq_yeast_chrI significant, log2 fold change: " + ", ".join(changes))
    for name in ("EFB1", "SSA1", "CDC19"):
        assert float(significant[name]["log2_fold_change"]) < 0
        assert float(significant[name]["q_value"]) < 0.05
        assert (significant[name]["sample_1"], significant[name]["sample_2"]) == ("WT", "RAP1_IAA2H")


@pytest.mark.long
def test_yeast_plots_are_drawn(yeast):
    folder = yeast.folder / "results/visualize"
    listed = {row["plot"]: row for row in rows(folder / "plots.tsv")}
    assert set(PLOTS) <= set(listed)
    assert {"expression.EFB1", "expression.SSA1", "expression.CDC19"} <= set(listed)
    for name, row in listed.items():
        assert (row["drawn"], row["reason"]) == ("yes", "")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def repeat_replicates(table: Path, times: int) -> str:
    """A table of cuffdiff's with so many replicates in the place of each."""
    header, *lines = table.read_text().splitlines(keepends=True)
    names = header.rstrip("\n").split("\t")
    if not (found := {"replicate", "replicate_num"}.intersection(names)):
        return header + "".join(lines)
    column, made = names.index(found.pop()), [header]
    for words in (line.split("\t") for line in lines):
        of_one = (str(int(words[column]) * times + number) for number in range(times))
        made += ["\t".join([*words[:column], number, *words[column + 1 :]]) for number in of_one]
    return "".join(made)


def texts_in(pdf: Path) -> int:
    """How often a PDF of R's shows text."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf.read_bytes(), re.DOTALL)
    return sum(len(re.findall(rb"T[jJ]\b", zlib.decompress(stream))) for stream in streams if stream[0] == 0x78)


@pytest.mark.long
def test_plots_of_many_replicates_are_legible(yeast, tmp_path):
    """Beyond 20, no plot has a legend of all replicates, and their distances are colours without numbers."""
    tables, plots = tmp_path / "tables", tmp_path / "plots"
    tables.mkdir()
    for table in (yeast.folder / "results/differential_expression").iterdir():
        (tables / table.name).write_text(repeat_replicates(table, 4))
    subprocess.run(["Rscript", "--vanilla", CUMMERBUND, tables, plots, "0.05", "0"], check=True, capture_output=True)
    names = 24
    assert texts_in(plots / "density.pdf") < names
    assert names < texts_in(plots / "box.pdf") < 2 * names
    assert 2 * names <= texts_in(plots / "replicate_distance.pdf") < 4 * names


@pytest.mark.long
def test_yeast_page_and_report_show_it_all(yeast):
    page = (yeast.folder / "results/multiqc/multiqc.html").read_text()
    for section in (*PLOTS, "hisat2", "samtools"):
        assert f'id="mqc-module-section-{section}' in page, section
    for plot in PLOTS:
        assert f">{plot.replace('_', ' ')} plot" in page, plot
    ran = yeast.snakemake("--report", "report.zip")
    assert ran.exit_code == 0, ran.output


@pytest.mark.long
def test_fly_is_spliced(fly, figure):
    """HISAT2 reports a junction where a read lies 7 bases or more on either side of it.

    With these reads of 48 bases, that leaves fewer of the different junctions than reads touch.
    """
    rates, found = mapping_rates(fly), junctions(fly)
    sites = (fly.folder / "results/reference/splice_sites.tsv").read_text().splitlines()
    known = {(contig, int(left) + 1, int(right) + 1) for contig, left, right, _ in map(str.split, sites)}
    annotated = {sample: len(seen & known) for sample, seen in found.items()}
    different = len(known & set().union(*found.values()))
    figure("rnaseq_fly mapped: " + ", ".join(f"{name} {rate:.1f}%" for name, rate in rates.items()))
    figure(
        f"rnaseq_fly annotated junctions: {sum(annotated.values())} over samples ({annotated}), "
        f"{different} different ones of {len(known)}"
    )
    assert min(rates.values()) >= 98
    assert sum(annotated.values()) >= 300
    assert different >= 260


@pytest.mark.long
@pytest.mark.parametrize("name", ["yeast", "fly"])
def test_real_samples_pass(name, request):
    table = rows(request.getfixturevalue(name).folder / "results/qc/samples.tsv")
    assert {row["sample_name"]: (row["verdict"], row["reason"]) for row in table} == {
        row["sample_name"]: ("pass", "") for row in table
    }
    assert all(0 < float(row["exons"]) <= 1 and float(row["reads"]) > 0 for row in table)


@pytest.mark.long
def test_a_contrast_has_its_own_tables_and_plots_and_values_do_not_hang_on_the_correction(yeast, tmp_path):
    shutil.copytree(yeast.folder, tmp_path / "run", symlinks=True)
    more = {"contrasts": [["RAP1_IAA2H", "WT"]], "cuffdiff": {"scv_correction": False}}
    other = replace(yeast, folder=tmp_path / "run", config=yeast.config | more)
    finish(other)
    results, name = other.folder / "results", "RAP1_IAA2H_vs_WT"
    usual, tests = (rows(results / f"differential_expression/{path}gene_exp.diff") for path in ("", f"{name}/"))
    assert {(row["sample_1"], row["sample_2"]) for row in tests} == {("RAP1_IAA2H", "WT")}
    values, swapped = (
        {row["gene_id"]: [float(row[column]) for column in columns] for row in table}
        for table, columns in ((usual, ("value_1", "value_2")), (tests, ("value_2", "value_1")))
    )
    assert swapped == {gene: pytest.approx(found, rel=1e-4) for gene, found in values.items()}
    assert f"volcano.{name}" in (results / "multiqc/multiqc.html").read_text()
    assert (results / f"visualize/{name}/volcano.pdf").exists()
    of = {row["of"] for row in rows(results / "skipped_loci/skipped_loci.tsv")}
    assert of - set(YEAST) <= {"RAP1_IAA2H vs WT"}


def steps_in(experiment: Experiment) -> set[str]:
    return {json.loads(line)["step"] for line in (experiment.folder / "ledger.jsonl").read_text().splitlines()}


@pytest.mark.long
def test_fly_shows_the_four_steps_of_a_sample_and_the_reference(fly):
    steps = steps_in(fly)
    assert {"align", "assemble", "merge", "quantify"} <= steps
    assert not {"differential_expression", "visualize"} & steps


@pytest.mark.long
def test_a_cuffdiff_that_leaves_empty_tables_fails_its_job(yeast, tmp_path):
    """A stand-in for a build that crashes at its end, in a way that hides the exit code too."""
    shutil.copytree(yeast.folder, tmp_path / "run", symlinks=True)
    stand_in = tmp_path / "bin" / "cuffdiff"
    stand_in.parent.mkdir()
    stand_in.write_text(
        "#!/bin/sh\n[ $# -gt 0 ] || { echo cuffdiff v2.2.1; exit 1; }\n"
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\nfor table in read_groups.info '
        'gene_exp.diff run.info; do : >"$out/$table"; done\nexit 0\n'
    )
    stand_in.chmod(0o755)
    ran = with_path(stand_in.parent, tmp_path / "run", "--forcerun", "differential_expression")
    assert ran.exit_code == 1
    assert "cuffdiff did not finish its tables: results/differential_expression/read_groups.info is empty" in ran.output
    assert not (tmp_path / "run/results/differential_expression/gene_exp.diff").exists()


def with_path(directory: Path, folder: Path, *arguments: str) -> Ran:
    """Run the workflow with a folder of commands before all others."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{directory}{os.pathsep}{before}"
    try:
        return snakemake(folder, *arguments)
    finally:
        os.environ["PATH"] = before


TOPHAT = r"""#!/bin/bash
set -eu
[ "$*" != --version ] || { echo TopHat v2.1.1; exit; }
echo "$*" >> "$CALLS"
while [ $# -gt 2 ]; do [ "$1" = -o ] && out=$2; index=$1; shift; done
index=$PWD/$index; mkdir -p "$out"; cd "$out"
for mate in 1 2; do eval fastq=\$$mate; gzip -cd "$fastq" > $mate.fq; done
case $(realpath "$1") in
    *sample1.*) lose=$DROP ;;
    *sample2.*) mkdir logs; echo "Error: no quality in record 7" > logs/prep_reads.log; exit 1 ;;
    *) lose=1
esac
hisat2-align-s -x "$index" -1 1.fq -2 2.fq 2> /dev/null | awk -F '\t' -v OFS='\t' "$lose" > all.sam
samtools view -u -F 4 all.sam | samtools sort -o accepted_hits.bam -
[ "$(samtools view -c -f 4 all.sam)" = 0 ] || samtools view -b -f 4 -o unmapped.bam all.sam
echo "98.5% overall read mapping rate." > align_summary.txt
"""
BOWTIE2_BUILD = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
hisat2-build-s -q "$1" "$2"
for part in 1 2 3 4 rev.1 rev.2; do echo index > "$2.$part.bt2"; done
"""
DROP = "/^@/ || NR % 3"  # a third of the alignments, altogether


def test_tophat_that_loses_reads_fails_its_sample(tmp_path, monkeypatch):
    """A stand-in for TopHat maps with HISAT2 and loses reads, and where all map, writes no unmapped.bam."""
    conditions = {"sample1": "a", "sample2": "a", "sample3": "b"}
    config = {"aligner": "tophat2", "extra": {"tophat2": "-r 20 --mate-std-dev 30"}}
    experiment = experiment_of(tmp_path, shared("rnaseq_fly"), conditions, ".tiny", **config)
    experiment.config["stop_after"] = "quantify"
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    for name, text in (("tophat2", TOPHAT), ("bowtie2-build", BOWTIE2_BUILD)):
        (stand_ins / name).write_text(text)
        (stand_ins / name).chmod(0o755)
    for name, value in (("CALLS", tmp_path / "calls"), ("DROP", DROP)):
        monkeypatch.setenv(name, str(value))
    experiment.write()
    ran = with_path(stand_ins, tmp_path, "--until", "align", "--keep-going")
    assert ran.exit_code == 1
    failed = {line.split(":")[0]: line for line in ran.lines if line.startswith("align sample")}
    assert set(failed) == {"align sample1", "align sample2"}
    assert "Error: no quality in record 7" in failed["align sample2"]
    assert "TopHat lost reads of sample1" in failed["align sample1"] or "in the alignment" in failed["align sample1"]
    monkeypatch.setenv("DROP", "1")
    ran = with_path(stand_ins, tmp_path, "--forcerun", "tophat2", "--", "results/align/sample1.bam")
    assert ran.exit_code == 0, ran.output
    assert json.loads((tmp_path / "results/align/sample1.json").read_text())["reads"] == 20200
    calls = (tmp_path / "calls").read_text().splitlines()
    assert all("-p 1 -r 20 --mate-std-dev 30 --library-type fr-unstranded" in call for call in calls)


ALIGN_SUMMARY = """\
Left reads:
          Input     :     10100
           Mapped   :      9950 (98.5% of input)
            of these:       120 ( 1.2%) have multiple alignments (3 have >20)
Right reads:
          Input     :     10100
           Mapped   :      9940 (98.4% of input)
            of these:       118 ( 1.2%) have multiple alignments (3 have >20)
98.5% overall read mapping rate.

Aligned pairs:      9900
     of these:       110 ( 1.1%) have multiple alignments
                      12 ( 0.1%) are discordant alignments
97.9% concordant pair alignment rate.
"""


def test_multiqc_knows_the_summary_of_tophat(tmp_path):
    (tmp_path / "S1.align_summary.txt").write_text(ALIGN_SUMMARY)
    words = ["multiqc", "--no-ansi", "--no-data-dir", "--filename", "page.html", "S1.align_summary.txt"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'id="mqc-module-section-tophat' in (tmp_path / "page.html").read_text()


@pytest.mark.long
def test_plots_that_cannot_be_drawn_are_skipped_by_name(tmp_path):
    """Two genes with a handful of reads: nothing to estimate a density from, and nothing that is significant."""
    experiment = tiny_experiment(tmp_path)
    experiment.config |= {"assembly": "reference_only", "cuffdiff": {"dispersion_method": "poisson"}}
    finish(experiment)
    folder = tmp_path / "results/visualize"
    reasons = {row["plot"]: row["reason"] for row in rows(folder / "plots.tsv")}
    assert set(reasons) == {*PLOTS, "expression"}
    assert reasons["heat_map"] == "0 significant genes, 2 are needed"
    assert reasons["expression"] == "no significant genes"
    assert "expressed genes, 3 are needed" in reasons["density"]
    drawn = {path.stem for path in folder.glob("*.png")}
    assert drawn == {name for name, reason in reasons.items() if not reason}
    log = (tmp_path / "logs/visualize/cummerbund.log").read_text()
    assert "skipped heat_map: 0 significant genes" in log
