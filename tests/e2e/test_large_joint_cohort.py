"""200 samples called jointly, filtered and looked at, with the real tools: the truth comes out, within limits of files.

Their GVCFs are made without a caller: to call so many would take hours, and joint calling begins with them.
"""

import json
import random
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import joint_cohort
import pytest
from conftest import Cohort, Ran, planned_jobs, write_vcf
from joint_cohort import Site

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SAMPLES = [f"SAMPLE-{number:03}-OF-A-LARGE-COHORT" for number in range(200)]
INTERVALS = 4
VQSR_CALLS = "results/apply_variant_recalibration/cohort.vcf.gz"
TARGETS = (VQSR_CALLS, "results/multiqc/multiqc.html")
OF_COHORT = {
    *("genomics_db_import", "genotype_interval", "gather_genotypes", "sites_only", "gather_sites"),
    *("indexed_vcf", "variant_recalibration", "recalibrate_interval", "gather_recalibrated"),
    *("bcftools_stats", "list_files", "multiqc", "total", "call_genotypes", "identity", "quality"),
}
MANY_FILES = 600  # a fresh process may have 1,024: GATK's own files and a batch of 50 GVCFs with their indexes
LONG_WORD = 4096  # Linux takes no argument above 128 KiB
# GATK, watched: what it was told, its open files, its memory
WATCHED = """#!{python}
import json, os, subprocess, sys, time

def family(pid):
    yield pid
    with open(f"/proc/{{pid}}/task/{{pid}}/children") as children:
        for child in children.read().split():
            yield from family(child)

process, files, memory = subprocess.Popen([{gatk!r}, *sys.argv[1:]]), 0, 0
while process.poll() is None:
    try:
        for pid in family(process.pid):
            files = max(files, len(os.listdir(f"/proc/{{pid}}/fd")))
            with open(f"/proc/{{pid}}/status") as status:
                memory = max([memory, *(int(line.split()[1]) for line in status if line.startswith("VmHWM"))])
    except OSError:
        pass  # it has just ended
    time.sleep(0.05)
tool = next((word for word in sys.argv[1:] if word[0].isupper()), "")
with open({seen!r}, "a") as seen:
    longest, words = max(map(len, sys.argv)), sum(map(len, sys.argv))
    seen.write(json.dumps(dict(tool=tool, files=files, memory=memory // 1024, longest=longest, words=words)) + "\\n")
sys.exit(process.returncode if process.returncode >= 0 else 128 - process.returncode)
"""


@dataclass(frozen=True)
class Called:
    """The cohort after its run, the truth of it, and what each GATK was seen with."""

    cohort: Cohort
    ran: Ran
    wall_s: float
    truth: dict[Site, tuple[int, ...]]
    seen: list[dict]


def population(genome: dict[str, str]) -> dict[Site, tuple[int, ...]]:
    """Alleles of each sample by site; at one site all are heterozygous."""
    draw, found = random.Random(7), {}
    for number, site in enumerate(joint_cohort.sites(genome, 60, seed=8)):
        frequency = draw.uniform(0.02, 0.5)
        copies = tuple((draw.random() < frequency) + (draw.random() < frequency) for _ in SAMPLES)
        if any(copies):
            found[site] = (1,) * len(SAMPLES) if number == 100 else copies
    return found


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    folder = tmp_path_factory.mktemp("large") / "a cohort"
    folder.mkdir()
    genome = joint_cohort.contigs(6, chr1=150_000, chr2=60_000)
    truth = population(genome)
    carried = {
        sample: {site: copies[number] for site, copies in truth.items() if copies[number]}
        for number, sample in enumerate(SAMPLES)
    }
    lengths = {name: len(sequence) for name, sequence in genome.items()}
    records = [(site.contig, site.position, site.ref, site.alt) for site in truth][::2]
    write_vcf(folder / "best.vcf", lengths, records)
    best = {"resources": {"best": {"vcf": "best.vcf", "training": True, "truth": True, "prior": 15}}}
    model = best | {"annotations": ["FS", "SOR", "MQ", "ReadPosRankSum"], "max_gaussians": 2}
    cohort = joint_cohort.write(
        folder, genome, carried, joint_intervals=INTERVALS, filter="vqsr", vqsr={"snps": model, "indels": model}
    )
    assert set(planned_jobs(cohort.snakemake("--dry-run", *TARGETS))) <= OF_COHORT
    program, seen = folder / "bin/gatk", folder / "seen.jsonl"
    program.parent.mkdir()
    program.write_text(WATCHED.format(python=sys.executable, gatk=shutil.which("gatk"), seen=str(seen)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(program.parent), prepend=":")
        began = time.monotonic()
        ran = cohort.snakemake(*TARGETS)
        wall_s = time.monotonic() - began
    assert ran.exit_code == 0, ran.output
    yield Called(cohort, ran, wall_s, truth, [json.loads(line) for line in seen.read_text().splitlines()])


def test_each_interval_is_jobs_of_its_own(called: Called, figure) -> None:
    figure(f"{len(SAMPLES)} samples, {len(called.truth)} sites, {INTERVALS} intervals: {called.wall_s:.0f} s")
    jobs = planned_jobs(called.ran)
    each = ("genomics_db_import", "genotype_interval", "sites_only", "recalibrate_interval")
    assert {rule: jobs[rule] for rule in each} == dict.fromkeys(each, INTERVALS)
    assert jobs["variant_recalibration"] == 2


def test_every_genotype_is_the_true_one(called: Called) -> None:
    query = ["bcftools", "query", "-f", "%CHROM\t%POS\t%REF\t%ALT[\t%GT]\n", called.cohort.folder / VQSR_CALLS]
    lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for contig, position, ref, alt, *genotypes in (line.split("\t") for line in lines):
        found[Site(contig, int(position), ref, alt)] = tuple(text.count("1") for text in genotypes)
    assert len(lines) == len(found)
    assert found == called.truth


def test_where_all_are_heterozygous_no_model_is_asked(called: Called) -> None:
    (mixed,) = (site for site, copies in called.truth.items() if set(copies) == {1})
    query = ["bcftools", "query", "-i", "FILTER='ExcessHet'", "-f", "%CHROM\t%POS\n", called.cohort.folder / VQSR_CALLS]
    lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == [f"{mixed.contig}\t{mixed.position}"]
    models = called.cohort.folder / "results/variant_recalibration"
    modeled = "".join((models / f"cohort.{mode}.recal").read_text() for mode in ("snps", "indels"))
    assert f"{mixed.contig}\t{mixed.position}\t" not in modeled
    assert modeled.count("VQSLOD") > len(called.truth)


def test_models_are_fitted_to_sites_without_genotypes(called: Called) -> None:
    sites = called.cohort.folder / "results/sites_only/cohort.vcf.gz"
    names = subprocess.run(["bcftools", "query", "-l", sites], capture_output=True, text=True, check=True).stdout
    assert names == ""
    assert sites.stat().st_size < 0.2 * (called.cohort.folder / VQSR_CALLS).stat().st_size


def test_open_files_and_arguments_do_not_grow_with_the_samples(called: Called, figure) -> None:
    most: dict[str, dict] = {}
    for one in called.seen:
        of_tool = most.setdefault(one["tool"], dict.fromkeys(("files", "memory", "longest", "words"), 0))
        of_tool |= {name: max(value, one[name]) for name, value in of_tool.items()}
    for tool, of_tool in most.items():
        figure(
            f"{tool}: {of_tool['files']} open files, {of_tool['memory']} MiB, {of_tool['words']} characters of "
            f"arguments, the longest {of_tool['longest']}"
        )
    assert {"GenomicsDBImport", "GenotypeGVCFs", "VariantRecalibrator", "ApplyVQSR"} <= set(most)
    assert max(of_tool["files"] for of_tool in most.values()) < MANY_FILES
    assert max(of_tool["longest"] for of_tool in most.values()) < LONG_WORD


def test_another_filter_takes_up_what_was_genotyped(called: Called) -> None:
    other = Cohort(called.cohort.folder, called.cohort.config | {"filter": "hard"}, called.cohort.units)
    ran = other.snakemake("results/hard_filter/cohort.vcf.gz")
    assert ran.exit_code == 0, ran.output
    assert planned_jobs(ran) == {"hard_filter_interval": INTERVALS, "gather_hard_filter": 1, "total": INTERVALS + 1}
