"""Hard filters with the real GATK: the VCF header has each of the config, and each takes what it is meant for."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, tiny_cohort

pytestmark = pytest.mark.e2e

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
FILTERS = {
    kind: part["default"] for kind, part in SCHEMA["properties"]["hard_filters"]["properties"].items()
}  # kind -> name -> expression
GUARDS = {"snps": ("SNP", "vc.isSNP()"), "indels": ("INDEL", "!vc.isSNP()")}
GOOD = {"QUAL": 100.0, "QD": 20.0, "SOR": 1.0, "FS": 1.0, "MQ": 60.0, "MQRankSum": 0.0, "ReadPosRankSum": 0.0}


def spoiled(expression: str) -> dict[str, float]:
    """Annotations that are good but for the one that the expression looks at, which just meets it."""
    name, sign, bound = expression.split()
    return GOOD | {name: float(bound) + (0.1 if sign == ">" else -0.1)}


def record(position: int, kind: str, values: dict[str, float], reference: str) -> str:
    base = reference[position - 1]
    other = "A" if base != "A" else "C"
    alt = other if kind == "snps" else base + other * 3
    info = ";".join(f"{name}={value}" for name, value in values.items() if name != "QUAL")
    return f"chr1\t{position}\t.\t{base}\t{alt}\t{values['QUAL']}\t.\t{info}\tGT\t0/1"


def write_calls(path: Path, records: list[str], length: int) -> None:
    annotations = [f'##INFO=<ID={name},Number=1,Type=Float,Description="">' for name in GOOD if name != "QUAL"]
    genotype = '##FORMAT=<ID=GT,Number=1,Type=String,Description="">'
    contig = f"##contig=<ID=chr1,length={length}>"
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1"
    text = "\n".join(["##fileformat=VCFv4.2", contig, *annotations, genotype, columns, *records, ""])
    path.parent.mkdir(parents=True)
    subprocess.run(["bcftools", "view", "-O", "z", "-o", path, "-"], input=text, text=True, check=True)
    subprocess.run(["bcftools", "index", "--tbi", path], check=True)


def test_every_filter_of_the_config_is_in_the_header_and_takes_its_own(tmp_path: Path) -> None:
    """GATK keys filters by their names: of two that share one, the last would replace the first in silence."""
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    reference = (tmp_path / "genome.fa").read_text().splitlines()[1]
    cases = [(kind, name, spoiled(filters[name])) for kind, filters in FILTERS.items() for name in filters]
    cases += [(kind, "", GOOD) for kind in FILTERS]
    records = [record(100 * at, kind, values, reference) for at, (kind, _, values) in enumerate(cases, 1)]
    write_calls(tmp_path / "results/genotype_gvcfs/S1.vcf.gz", records, len(reference))
    called = "results/hard_filter/S1.vcf.gz"
    ran = cohort.snakemake("--allowed-rules", "reference", "hard_filter", "--", called)
    assert ran.exit_code == 0, ran.output
    view = ["bcftools", "view", tmp_path / called]
    output = subprocess.run(view, check=True, capture_output=True, text=True).stdout
    header = dict(re.findall(r'^##FILTER=<ID=([^,]+),Description="(.*)">$', output, re.MULTILINE))
    expected = {
        f"{GUARDS[kind][0]}_{name}": f"{GUARDS[kind][1]} && ({expression})"
        for kind, filters in FILTERS.items()
        for name, expression in filters.items()
    }
    assert {name: text for name, text in header.items() if name != "PASS"} == expected
    taken = [line.split("\t")[6] for line in output.splitlines() if not line.startswith("#")]
    assert taken == [f"{GUARDS[kind][0]}_{name}" if name else "PASS" for kind, name, _ in cases]


def test_the_page_tells_calls_that_pass_from_all_records(tmp_path: Path) -> None:
    """One transition and one transversion pass; of all records six in seven are transitions."""
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    changes = [("A", "G", "PASS"), ("A", "C", "."), *[("C", "T", "SNP_QD2")] * 5]
    records = [
        f"chr1\t{100 * at}\t.\t{base}\t{alt}\t50\t{passed}\t.\tGT\t0/1"
        for at, (base, alt, passed) in enumerate(changes, 1)
    ]
    write_calls(tmp_path / "results/hard_filter/S1.vcf.gz", records, 2000)
    others = ("samtools_stats/S1.txt", "base_recalibrator/S1.table", "mark_duplicates/S1.txt")
    for path in (tmp_path / "results" / name for name in (*others, "qc/samples_mqc.tsv")):
        path.parent.mkdir()
        path.write_text("nothing that MultiQC knows\n")
    files = "results/multiqc/files.txt"
    ran = cohort.snakemake("--notemp", "--allowed-rules", "bcftools_stats", "list_files", "--", files)
    assert ran.exit_code == 0, ran.output
    words = ["multiqc", "--file-list", files, "--data-format", "json", "--outdir", tmp_path / "page"]
    subprocess.run(words, check=True, cwd=tmp_path, capture_output=True)
    data = json.loads((tmp_path / "page/multiqc_data/multiqc_data.json").read_text())
    shown = data["report_general_stats_data"]["bcftools"]
    of = {name: tuple(map(row.get, ("number_of_SNPs", "ts", "tv", "tstv"))) for name, row in shown.items()}
    assert of == {"S1": (2, 1, 1, 1.0), "all records of S1": (7, 6, 1, 6.0)}
