"""The pages about the workflow's rules, made of the rules: what dry runs say of them, and their docstrings.

What rules there are, what they leave and ask for is not typed here: only the few configurations that have all of them.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from documentation.pages import ROOT, code, page, table
from gpd.pipelines import PIPELINES, Pipeline

NAMES = ("outputs", "steps")  # of the pages
SAMPLE, OTHERS, LANE = "SAMPLE", ("OTHER", "LEFT"), "LANE"  # names in plans, as the pages show paths
CORES, MEM_MB = 128, 512_000  # of the machine that plans are made for
VARIANTS = {"known": False, "training": True, "truth": True, "prior": 15}
VQSR = {mode: {"resources": {"known": {"vcf": "known.vcf", **VARIANTS}}} for mode in ("snps", "indels")}
LABELS = {"training": True, "calibration": True}
VETS = {mode: {"resources": {"known": {"vcf": "known.vcf", **LABELS}}} for mode in ("snps", "indels")}
JOINT = {"calling": "joint", "joint_intervals": 1, "genomicsdb": "kept"}
# what else there are rules for
GERMLINE_MORE = {
    **{"common_sites": "known.vcf", "alignment_format": "cram", "reblock": True},
    **{"intervals": "regions.bed", "interval_padding": 10, "leave_out": ["LEFT"], "failed_samples": "stop_on_quality"},
}
USUAL: Mapping[str, Any] = {}  # the configuration that most have
CONFIGURATIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "germline": [
        USUAL,
        JOINT | GERMLINE_MORE | {"dbsnp": "known.vcf"},
        JOINT | {"filter": "vqsr", "vqsr": VQSR, "ploidy_regions": {"male": "regions.bed"}},
        {"gatk": "gatk3", "realigner": "gatk3", "filter": "vqsr", "vqsr": VQSR, "known_indels": ["known.vcf"]},
        {"reference": {"fasta": "genome.fa", "bwa_index": "index"}, "duplicates": "samtools"},
        {"preset": "dragen-gatk", "gvcf": False, "filter": "vets", "vets": VETS},
        JOINT | {"filter": "vets", "vets": VETS},
        {"preset": "dragen-gatk", "gvcf": False, "normalise": "split", "annotation": "genes.gff3"},
        {"preset": "dragen-gatk", "gvcf": False, "trim": "fastp"},
    ],
    "tuxedo": [USUAL, {"aligner": "tophat2", "mask": "genes.gtf", "trim": "fastp"}],
}
# made of reads in BAM or CRAM, and of a reference with decoys, of which plans have none
ASKED_FOR = [
    f"results/take_alignment/{SAMPLE}/{LANE}.bam",
    *("results/reference/cram_reference.fa", "results/reference/called_contigs.bed"),
]
GFF3 = """chr1\tx\tgene\t1\t99\t.\t+\t.\tID=g;biotype=protein_coding
chr1\tx\tmRNA\t1\t99\t.\t+\t.\tID=t;Parent=g
chr1\tx\tCDS\t1\t99\t.\t+\t0\tParent=t
"""
RULE = re.compile(r'^rule (\w+):\n(?:    """(.*?)""")?', re.MULTILINE | re.DOTALL)
AS_ANOTHER = re.compile(r"^use rule (\w+) as (\w+) with:", re.MULTILINE)
JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
INTERVAL = "INTERVAL"  # in place of the one that plans have
MOST_FILES = 4  # that are named


@dataclass
class Rule:
    """A rule as plans have it. Files are paths of results; `is_usual`: a run with default settings has its jobs."""

    name: str
    says: str
    files: dict[str, str] = field(default_factory=dict)  # path, and what becomes of it
    pipelines: set[str] = field(default_factory=set)
    threads: dict[str, int] = field(default_factory=dict)  # by the GATK that was asked for
    is_usual: bool = False


def pages() -> dict[str, str]:
    """The pages of docs/reference that are about rules, by their names; plans take a while."""
    return dict(zip(NAMES, (outputs(), steps()), strict=True))


def says_of_rules() -> dict[str, str]:
    """What each rule of the workflow says that it does: its docstring's first paragraph, by its name."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").rglob("*.smk"))]
    found = {name: " ".join(says.partition("\n\n")[0].split()) for text in texts for name, says in RULE.findall(text)}
    return found | {name: found[other] for text in texts for other, name in AS_ANOTHER.findall(text)}


@cache
def rules() -> Mapping[str, Rule]:
    """All rules: those of the steps in their order, then the others by name."""
    says, found = says_of_rules(), dict[str, Rule]()
    for pipeline, configurations in CONFIGURATIONS.items():
        for config in configurations:
            add(found, says, pipeline, config, plan(pipeline, config))
    add(found, says, "germline", {}, plan("germline", {"cram_reference": "genome.fa"}, *ASKED_FOR))
    del found["all"]
    of_steps = [rule for each in PIPELINES.values() for step in each.steps for rule in each.rules_of(step)]
    return {name: found[name] for name in dict.fromkeys([*of_steps, *sorted(found)]) if name in found}


def add(
    found: dict[str, Rule], says: Mapping[str, str], pipeline: str, config: Mapping[str, Any], printed: str
) -> None:
    """Add what a dry run printed to the rules found."""
    jobs = [
        (name, dict(line.strip().partition(": ")[::2] for line in text.splitlines()))
        for name, text in sorted(JOB.findall(printed))
    ]
    inputs = {name: job.get("input", "").split(", ") for name, job in jobs}
    fates = dict.fromkeys(re.findall(r"^Would remove temporary output (.*)", printed, re.MULTILINE), "removed")
    fates |= dict.fromkeys(inputs.get("multiqc", []), "MultiQC") | dict.fromkeys(inputs.get("all", []), "result")
    for name, job in jobs:
        paths = [path for path in job.get("output", "").split(", ") if path and not any(map(path.count, OTHERS))]
        rule = found.setdefault(name, Rule(name, says.get(name, "")))
        rule.files |= {path: fates.get(path, "kept") for path in paths if path not in rule.files}
        rule.pipelines.add(pipeline)
        rule.threads.setdefault(config.get("gatk", "gatk4"), int(job.get("threads", 1)))
        rule.is_usual |= config is USUAL


def plan(pipeline: str, config: Mapping[str, Any], *targets: str, kind: Sequence[str] = ("--dry-run",)) -> str:
    """What Snakemake says of a dry run, or of another kind of look ahead, on the smallest cohort."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cohort(folder, pipeline, config)
        words = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(ROOT / "workflow/Snakefile"),
            "--directory",
            name,
        ]
        words += ["--configfile", f"{name}/config.yaml", "--cores", str(CORES), "--resources", f"mem_mb={MEM_MB}"]
        environment = {**os.environ, "GPD_PREFLIGHT": "none", "PATH": f"{name}{os.pathsep}{os.environ['PATH']}"}
        words += [*kind, "--", *targets]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ValueError(f"{config}: {done.stdout}{done.stderr}")
    return done.stdout


def write_cohort(folder: Path, pipeline: str, config: Mapping[str, Any]) -> None:
    """The smallest cohort that passes the checks of the workflow, with what a configuration may name."""
    bases = "ACGTTGCA" * 60
    header = f"##fileformat=VCFv4.2\n##contig=<ID=chr1,length={len(bases)}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\t"
    gatk3 = "#!/bin/sh\necho '##### ERROR MESSAGE: Walker requires reads but none were provided.'\nexit 1\n"
    files = {
        "genome.fa": f">chr1\n{bases}\n",
        "known.vcf": f"{header}FILTER\tINFO\nchr1\t4\t.\tT\tC\t.\t.\t.\n",
        "genes.gtf": 'chr1\tx\texon\t1\t400\t.\t+\t.\tgene_id "g"; transcript_id "t";\n',
        "genes.gff3": GFF3,
        "regions.bed": "chr1\t100\t300\t1\n",
        **{f"{sample}_{mate}.fq": f"@{sample}\nACGT\n+\nIIII\n" for sample in (SAMPLE, *OTHERS) for mate in (1, 2)},
        **{f"index.{end}": "made elsewhere" for end in ("amb", "bwt", "pac", "sa")},
        "index.ann": f"{len(bases)} 1 11\n0 chr1 (null)\n0 {len(bases)} 0\n",
        "samples.tsv": f"sample_name\tcondition\tsex\n{SAMPLE}\ta\tmale\n"
        + "".join(f"{name}\tb\tmale\n" for name in OTHERS),
        "units.tsv": "sample_name\tunit_name\tfq1\tfq2\n"
        + "".join(f"{name}\t{LANE}\t{name}_1.fq\t{name}_2.fq\n" for name in (SAMPLE, *OTHERS)),
    }
    inputs = {"germline": {"known_sites": ["known.vcf"]}, "tuxedo": {"annotation": "genes.gtf"}}
    tables = {"pipeline": pipeline, "samples": "samples.tsv", "units": "units.tsv"}
    files["config.yaml"] = yaml.safe_dump(
        tables | {"reference": {"fasta": "genome.fa"}} | inputs[pipeline] | dict(config)
    )
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "gatk3").write_text(gatk3, encoding="utf-8")  # as one that starts
    (folder / "gatk3").chmod(0o755)


# ---- outputs.md --------------------------------------------------------------------------------------

OF_ALL = (
    ("`logs/RULE/`", "One log per job."),
    ("`ledger.jsonl`", "One record per job: [job records](job-records.md)."),
)
OF_STUDY = (
    ("`runs/STUDY/RUN/`", "One run: its configuration, logs, job records and `run.json`."),
    ("`runs/STUDY/tables/`", "[Tables of results](tables.md), as TSV and Parquet."),
    ("`runs/STUDY/report.html`", "The report: curves, tables, the machine, the method. It needs no network."),
)


def outputs() -> str:
    """Every rule with its files; those of both pipelines once."""
    parts = []
    for title, names in {**{name.capitalize(): {name} for name in PIPELINES}, "Both pipelines": {*PIPELINES}}.items():
        own = [rule for rule in rules().values() if rule.pipelines == names]
        parts += [f"## {title}", table(("rule", "by default", "leaves", "what it makes"), map(row, own))]
    return page(
        "Outputs",
        "the rules in workflow/rules, their docstrings and dry runs",
        f"What a run makes, rule by rule. {SAMPLE} is a sample's name, {LANE} that of a unit, {INTERVAL} a number. A"
        " call set has its sample's name, or `cohort` with `calling: joint`. Paths are below `results/`.",
        "**Results** are what a run is for. Files *for MultiQC* are shown on its page. *Removed* are those that nothing"
        " needs any more. Others are kept.",
        *parts,
        "## Beside them",
        table(("file", "holds"), OF_ALL),
        "## A throughput study",
        table(("file", "holds"), OF_STUDY),
    )


def row(rule: Rule) -> tuple[str, str, str, str]:
    fates = {"result": "**results**", "MultiQC": "*for MultiQC*", "kept": "", "removed": "*removed*"}
    leaves = [
        " ".join(filter(None, (words, listed([path for path, found in rule.files.items() if found == fate]))))
        for fate, words in fates.items()
        if fate in rule.files.values()
    ]
    return code(rule.name), "yes" if rule.is_usual else "", "; ".join(leaves), rule.says


def listed(paths: Sequence[str]) -> str:
    """The first of the paths, and how many others there are."""
    names = [code(path.removeprefix("results/").replace("1of1", INTERVAL)) for path in paths]
    more = [f"{len(names) - MOST_FILES + 1} more"] if len(names) > MOST_FILES else []
    return ", ".join(names[: MOST_FILES - 1] + more if more else names)


# ---- steps.md ----------------------------------------------------------------------------------------


def steps() -> str:
    """The steps that count in timings, in their order, and the threads of their rules."""
    parts = [text for pipeline in PIPELINES.values() for text in of_pipeline(pipeline)]
    return page(
        "Steps",
        "scripts/gpd/pipelines.py, the rules in workflow/rules and the profiles",
        "A rule's name is the name of its folder below `results/` and `logs/`. In the drawings, green rules make"
        " statistics beside the steps. [Outputs](outputs.md) has all other rules, which are outside of every timing.",
        "Numbers are those of the published nine steps. GATK 4 has no realigner: HaplotypeCaller assembles reads anew."
        " A joint call set with GATK 4 is made by interval, by rules of its own.",
        *parts,
        "## Threads",
        f"What a rule asks for on {CORES} cores, and what profiles set instead. Other rules have one thread."
        " A job has never more than there are cores. A lane has its even share of the cores, up to 64. Where lanes are"
        " many, and with `throughput`, it has as many as map it within a day, and as leave no core without memory.",
        "`gpd run germline` says what rules get on your machine, on a line that begins with `given here`.",
        table(("rule", "with GATK 4", "with GATK 3", *PROFILES), rows_of_threads()),
        "Where each sample has two cores, `gpd run` gives it an even share of them, up to: "
        + ", ".join(f"{code(name)} {most}" for each in PIPELINES.values() for name, most in each.scaling.items())
        + ". [Profiles](profiles.md) change them.",
    )


PROFILES = ("throughput", "published", "slurm")


def of_pipeline(pipeline: Pipeline) -> Iterator[str]:
    """A pipeline's drawing and its steps; one in another's place has no number."""
    yield f"## {pipeline.name.capitalize()}"
    yield f"![The rules of the {pipeline.name} pipeline](../drawings/rules-{pipeline.name}.svg)"
    numbered = [step for step in pipeline.steps if step not in pipeline.alternatives]
    yield table(
        ("step", "rules", "what they make"),
        (
            (
                f"{numbered.index(step) + 1} {code(step)}" if step in numbered else code(step),
                ", ".join(code(rule) for rule in pipeline.rules_of(step) if rule in rules()),
                rules()[step].says,
            )
            for step in pipeline.steps
        ),
    )


def rows_of_threads() -> Iterator[tuple[str, ...]]:
    """A row for each rule that has more than one thread anywhere."""
    for rule in rules().values():
        asked = [rule.threads.get(gatk, "") for gatk in ("gatk4", "gatk3")]
        asked += [profile_threads(name).get(rule.name, "") for name in PROFILES]
        if {*asked} - {"", 1}:
            yield code(rule.name), *map(str, asked)


@cache
def profile_threads(name: str) -> Mapping[str, int]:
    profile = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))
    return profile.get("set-threads", {})
