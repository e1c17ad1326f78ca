"""The commands of both pipelines, as dry runs of a few configurations print them, which together run every rule.

    PYTHONPATH=scripts python tests/planned_commands.py

writes the golden files anew, tests/golden/commands/*.txt, where a change of commands is meant. Read the difference
line by line: an argument that changes results, such as bwa's -K or samtools' -F, may fail no other test.
"""

import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml
from conftest import ROOT, Cohort, commands, tiny_cohort
from tuxedo_cohort import tiny_experiment

GOLDEN = Path(__file__).parent / "golden" / "commands"
MACHINE = ("--cores", "2", "--resources", "mem_mb=12000")  # memory of jobs goes by a machine's
STAND_INS = ("gatk3", "bwa-mem4")  # not to be had everywhere
HEADER = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:2000\n@RG\tID:x\tSM:{sample}\n"
GFF3 = """\
##gff-version 3
chr1\tx\tgene\t101\t400\t.\t+\t.\tID=gene:G1;biotype=protein_coding
chr1\tx\tmRNA\t101\t400\t.\t+\t.\tID=transcript:T1;Parent=gene:G1;biotype=protein_coding
chr1\tx\tCDS\t101\t400\t.\t+\t0\tID=CDS:P1;Parent=transcript:T1
"""
INDEX = {"amb": "1", "ann": "2000 1 11\n0 chr1 (null)\n0 2000 0\n", "bwt": "1", "pac": "1", "sa": "1"}
ALIKE = re.compile(r"=(S2|A2|B1|B2|L2)\b|role=(?!known_sites_1$)")  # jobs whose commands are those of others
Blocks = dict[tuple[str, str], str]  # by rule and wildcards the text of a command


def of_file(path: str) -> dict:
    """A configuration that the repository has."""
    return yaml.safe_load((ROOT / path).read_text())


def trained(traits: dict[str, object], **of_mode: object) -> dict:
    """Settings of VQSR or VETS: one training set."""
    model = {"resources": {"best": {"vcf": "known.vcf", **traits}}, **of_mode}
    return {"snps": model, "indels": model}


VQSR = trained({"training": True, "truth": True, "prior": 15})
VETS = trained({"training": True, "calibration": True})


def germline(folder: Path, reads: tuple[str, ...] = ("fq1", "fq2"), **config: object) -> Cohort:
    """Two samples of one lane each, and what a configuration may name."""
    made = tiny_cohort(folder, lanes=1)
    known = (folder / "known.vcf").read_text()
    for name in ("indels.vcf", "common.vcf"):
        (folder / name).write_text(known)
    of_person = known.replace("\tINFO\n", "\tINFO\tFORMAT\tS1\n").replace("\tPASS\t.\n", "\tPASS\t.\tGT\t0/1\n")
    (folder / "person.vcf").write_text(of_person)
    (folder / "regions.bed").write_text("chr1\t100\t900\n")
    (folder / "male.bed").write_text("chr1\t0\t500\t1\n")
    (folder / "genes.gff3").write_text(GFF3)
    for ending, text in INDEX.items():
        (folder / f"index.{ending}").write_text(text)
    for unit in made.units:
        for column in {"fq1", "fq2"} - set(reads):
            unit[column] = ""
        if "bam" in reads:
            unit["bam"] = f"{unit['sample_name']}{reads[-1]}"
            _write_alignment(folder / unit["bam"], unit["sample_name"])
    made.config |= {"known_indels": ["indels.vcf"], **config}
    return made


def _write_alignment(path: Path, sample: str) -> None:
    """A file without alignments, of the form that its name says."""
    told = ["--output-fmt", f"{path.suffix[1:]},no_ref=1"] if path.suffix == ".cram" else []
    header = HEADER.format(sample=sample)
    subprocess.run(["samtools", "view", *told, "-o", path, "-"], input=header, text=True, check=True)


def demo(folder: Path) -> Cohort:
    """The shipped demo's settings: joint calling and VQSR."""
    settings = of_file("resources/demo/germline/config.template.yaml")
    made = germline(
        folder, **{key: settings[key] for key in ("calling", "filter", "vqsr", "known_sites", "known_indels")}
    )
    (folder / "known").mkdir()
    names = {"known_sites", "known_indels", "hapmap", "omni", "thousand_genomes", "mills"}
    for name in names:
        (folder / "known" / f"{name}.vcf.gz").write_bytes(gzip.compress((folder / "known.vcf").read_bytes()))
    return made


def exome(folder: Path) -> Cohort:
    """As much as goes together beside the usual: regions, ploidy, trimming, CRAM, own arguments."""
    return germline(
        folder,
        **{"mapper": "bwa-mem4", "duplicates": "samtools", "trim": "fastp", "alignment_format": "cram"},
        **{"intervals": "regions.bed", "interval_padding": 100, "pcr_free": True, "quantize": [10, 20, 30]},
        **{"dbsnp": "known.vcf", "normalise": "split", "annotation": "genes.gff3", "common_sites": "common.vcf"},
        ploidy_regions="male.bed",
        qc={"known_genotypes": "person.vcf"},
        failed_samples="stop_on_quality",
        extra={
            **{"trim": "--cut_right", "map_and_sort": "-M", "base_recalibrator": "--quantizing-levels 8"},
            **{"base_recalibration": "--preserve-qscores-less-than 3", "haplotype_caller": "--min-pruning 3"},
            **{"genotype_gvcfs": "--max-alternate-alleles 4"},
        },
    )


def by_sex(folder: Path) -> Cohort:
    """Ploidy by the sex of a sample, which is looked at."""
    regions = {"male": "male.bed", "female": ""}
    made = germline(folder, filter="vqsr", vqsr=VQSR, normalise="align", ploidy_regions=regions)
    made.config["qc"] = {"sex_contigs": ["chr1", "chrEBV"]}
    made.sexes = {"S1": "male", "S2": "female"}
    return contigs_beside(made)


def contigs_beside(made: Cohort) -> Cohort:
    """With a decoy, which is not called."""
    with (made.folder / "genome.fa").open("a") as fasta:
        fasta.write(">chrEBV\n" + 40 * "ACGTC" + "\n")
    return made


def tuxedo(folder: Path, single_end: bool = False, **config: object) -> Cohort:
    made = tiny_experiment(folder)
    (folder / "mask.gtf").write_bytes((folder / "genes.gtf").read_bytes())
    for unit in made.units if single_end else ():
        unit["fq2"] = ""
    made.config |= config
    return made


CUFFDIFF = {
    **{"library_norm_method": "quartile", "dispersion_method": "per-condition", "scv_correction": False},
    **{"fdr": 0.1, "min_alignment_count": 5},
}
CONFIGURATIONS: dict[str, dict[str, Callable[[Path], Cohort]]] = {
    "germline": {
        "gatk4": lambda folder: contigs_beside(germline(folder, **of_file("config/presets/gatk4.yaml"))),
        "demo": demo,
        "gatk3-nine-step": lambda folder: germline(
            folder,
            **of_file("config/presets/gatk3-nine-step.yaml"),
            **{"calling": "joint", "vqsr": VQSR, "dbsnp": "known.vcf", "intervals": "regions.bed"},
        ),
        "gatk3-hard": lambda folder: germline(folder, gatk="gatk3", pcr_free=True, quantize=[10, 20]),
        "dragen-gatk": lambda folder: germline(
            folder,
            **{
                "preset": "dragen-gatk",
                "calling": "joint",
                "genomicsdb": "kept",
                "reblock": True,
                "dbsnp": "known.vcf",
            },
            extra={"genotype_gvcfs": "--max-alternate-alleles 4", "reblock_gvcf": "--keep-all-alts"},
        ),
        "exome": exome,
        "ploidy-by-sex": by_sex,
        "vets": lambda folder: germline(folder, filter="vets", vets=VETS, normalise="join", common_sites="common.vcf"),
        "vets-joint": lambda folder: germline(folder, filter="vets", vets=VETS, calling="joint", leave_out=["S2"]),
        "without-gvcf": lambda folder: germline(
            folder,
            ("bam", ".cram"),
            reference={"fasta": "genome.fa", "bwa_index": "index"},
            **{"gvcf": False, "bam_input": "remap", "cram_reference": "genome.fa", "filter": "none"},
            **{"preset": "dragen-gatk", "dbsnp": "known.vcf", "ploidy_regions": "male.bed"},
        ),
        "aligned": lambda folder: germline(folder, ("bam", ".bam"), duplicates="sambamba", bqsr="none"),
    },
    "tuxedo": {
        "demo": lambda folder: tuxedo(
            folder,
            **{
                key: value
                for key, value in of_file("resources/demo/tuxedo/config.template.yaml").items()
                if key not in ("samples", "units", "reference", "annotation")
            },
        ),
        "tuxedo-tophat2": lambda folder: tuxedo(
            folder,
            **of_file("config/presets/tuxedo-tophat2.yaml") | {"assembly": "reference_only"},
            **{"extra": {"tophat2": "-r 20 --mate-std-dev 30"}, "strandedness": "fr-secondstrand"},
            **{"mask": "mask.gtf", "mask_biotypes": ["rRNA"], "contrasts": [["b", "a"]]},
        ),
        "tophat2-usual": lambda folder: tuxedo(folder, **of_file("config/presets/tuxedo-tophat2.yaml")),
        "single-end": lambda folder: tuxedo(
            folder,
            single_end=True,
            **{"assembly": "de_novo", "trim": "fastp", "strandedness": "fr-secondstrand", "cuffdiff": CUFFDIFF},
            **{"bias_correction": True, "multi_read_correction": True, "max_bundle_frags": 1000, "mask": "mask.gtf"},
            **{"failed_samples": "stop_on_quality", "fragment_length": 300, "fragment_length_sd": 50},
        ),
    },
}


def planned(pipeline: str, name: str) -> Blocks:
    """The commands of a configuration: of its first sample, one of its lanes and one of its known VCF files."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "cohort")
        folder.mkdir()
        ran = CONFIGURATIONS[pipeline][name](folder).snakemake("--dry-run", "--printshellcmds", *MACHINE)
    assert ran.exit_code == 0, ran.output
    found = {(job.rule, job.told.get("wildcards", "")): shortened(job.text) for job in commands(ran)}
    return {key: text for key, text in found.items() if text != "None" and not ALIKE.search(key[1])}


def shortened(text: str) -> str:
    """A command without its indentation and without what is this machine's; the options of JVMs change no result."""
    for own, general in {sys.executable: "python", f"{ROOT}/": ""}.items():
        text = text.replace(own, general)
    text = re.sub(r'(--java-options) "[^"]*"|(?<=gatk3) -Xmx.*?tmpdir="\$TMPDIR"', lambda found: found[1] or "", text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def render(pipeline: str) -> str:
    """The golden file of a pipeline: each text of a rule once, below the configurations that have it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for name in CONFIGURATIONS[pipeline]:
        for (rule, wildcards), text in planned(pipeline, name).items():
            found.setdefault((rule, wildcards, text), []).append(name)
    blocks = (
        f"== {rule} | {wildcards} | {', '.join(names)}\n{text}\n"
        for (rule, wildcards, text), names in sorted(found.items())
    )
    return "\n".join(blocks)


def recorded(pipeline: str) -> dict[str, Blocks]:
    """What the golden file has, by configuration."""
    found: dict[str, Blocks] = {name: {} for name in CONFIGURATIONS[pipeline]}
    for block in (GOLDEN / f"{pipeline}.txt").read_text().removeprefix("== ").split("\n\n== "):
        head, _, text = block.partition("\n")
        rule, wildcards, names = head.split(" | ")
        for name in names.split(", "):
            found[name][rule, wildcards] = text.rstrip("\n")
    return found


def provide_stand_ins(folder: Path) -> Path:
    """A folder of programs that a plan wants to find, and does not run."""
    for name in STAND_INS:
        (folder / name).write_text(
            "#!/bin/sh\necho '##### ERROR MESSAGE: Walker requires reads but none were provided.'\nexit 1\n"
        )
        (folder / name).chmod(0o755)
    return folder


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = f"{provide_stand_ins(Path(folder))}{os.pathsep}{os.environ['PATH']}"
        GOLDEN.mkdir(exist_ok=True)
        for pipeline in CONFIGURATIONS:
            (GOLDEN / f"{pipeline}.txt").write_text(render(pipeline))


if __name__ == "__main__":
    write()
