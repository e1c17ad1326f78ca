"""Names of samples and units: what the tables let through must neither clash with our own names nor stop Snakemake."""

import importlib.util
import re
import sys
import tempfile
from itertools import product
from pathlib import PurePosixPath

import pytest
from conftest import ROOT, Cohort, tiny_cohort
from hypothesis import example, given, settings
from hypothesis import strategies as st
from snakemake.io import PeriodicityDetector
from tuxedo_cohort import tiny_experiment

LIKE_FILES = ("X", "X.snps", "X.indels", "X.snps.recal", "snps", "X.bam", "X.g", "X.vcf.gz", "X.summary", "X.json")
NASTY = (
    *LIKE_FILES,
    *("S1", "S10", "S1.L1", "L1", "S1.", "S1..", "0", "0-0", "con", "nul", "aux.txt", "all", "results", "prepare"),
    *("total", "samples", "files", "genome", "transcripts", "reference", "cohort.bed", "Cohort2", "known_sites_1"),
    *("A" * 19, "AB" * 19, "".join(f"{n:02}" for n in range(50))),
)
BEST = {"vcf": "known.vcf", "training": True, "truth": True, "prior": 15}
VQSR = {mode: {"resources": {"0123456789" * 10: BEST}} for mode in ("snps", "indels")}


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"names_{name}", ROOT / f"workflow/scripts/checks/{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load("tables")
SCHEMA = tables.load_schema(ROOT / "workflow/schemas/samples.schema.yaml")


def faults(name: str) -> list[str]:
    """What the table of samples says of a name."""
    with tempfile.NamedTemporaryFile("w") as table:
        table.write(f"sample_name\n{name}\n")
        table.flush()
        return tables.read_table(table.name, SCHEMA)[1]


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_let_through(name):
    assert faults(name) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cohort", "is what all samples together are called; give the sample another name"),
        ("A" * 100, "must not end in the same letters 20 times over"),
        ("S1_" + "01" * 20, "must not end in the same letters 20 times over"),
        ("".join(f"{n:02}" for n in range(51)), "is too long"),
        ("..", "starts with a letter or digit"),
        ("S 1", "is made of letters"),
    ],
)
def test_a_name_that_can_not_be_is_refused_in_one_line(name, line):
    (output,) = faults(name)
    assert line in output
    assert repr(name) in output


WORDS = st.sampled_from(["A", "B", "0", ".", "-", "_", "snps", "cohort", "ABAB", "A" * 10, "AB" * 9])


@pytest.mark.deep
@settings(deadline=None)  # each looks through a file
@given(st.lists(WORDS, min_size=1, max_size=12).map("".join), st.integers(1, 40))
@example("A", 20)
def test_whatever_is_let_through_stops_no_plan(name, times):
    name *= times
    output = faults(name)
    assert all("\n" not in line for line in output)
    if not output:
        assert PeriodicityDetector().is_periodic(name) is None
        assert len(name) <= 100


def templates(pipeline: str) -> list[str]:
    """The paths of results that hold a sample's or call set's name, as the rules spell them."""
    files = [*(ROOT / "workflow/rules").glob("*.smk"), *(ROOT / "workflow/rules").glob(f"{pipeline}*/*.smk")]
    text = re.sub(
        r'\*\*made_calls\("(\w+)"\)', r'"results/\1/{callset}.vcf.gz"', "".join(file.read_text() for file in files)
    )
    return sorted({*re.findall(r'"(results/[^"{]*\{(?:sample|callset)\}[^"]*)"', text)})


@pytest.mark.parametrize(("pipeline", "at_least"), [("germline", 20), ("tuxedo", 10)])
def test_no_two_names_share_a_path(pipeline, at_least):
    """Neither a file, nor a file that would be the other's folder."""
    assert len(templates(pipeline)) >= at_least
    paths: dict[str, str] = {}
    for template, name, mode in product(templates(pipeline), NASTY, ("snps", "indels")):
        path = template.format(
            sample=name, callset=name, unit=name, mode=mode, kind=mode[:-1], ending="recal", mate="1"
        )
        assert paths.setdefault(path, name) == name, path
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    assert not folders & set(paths)


def plan(cohort: Cohort) -> list[str]:
    """The outputs of all jobs of a dry run."""
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 0, ran.output
    lines = [line.partition("output: ")[2] for line in ran.lines if line.startswith("    output: ")]
    return [path for line in lines for path in line.split(", ")]


@pytest.mark.deep
@pytest.mark.parametrize(("calling", "names"), [("per_sample", LIKE_FILES), ("joint", NASTY)])
def test_germline_plans_nasty_names(tmp_path, calling, names):
    cohort = tiny_cohort(tmp_path, names, lanes=1)
    cohort.config |= {"calling": calling, "filter": "vqsr", "vqsr": VQSR}
    outputs = plan(cohort)
    assert len(outputs) == len(set(outputs))
    assert {f"results/haplotype_caller/{name}.g.vcf.gz" for name in names} <= set(outputs)


@pytest.mark.deep
def test_tuxedo_plans_nasty_names(tmp_path):
    experiment = tiny_experiment(tmp_path, NASTY, lanes=1)
    experiment.conditions |= {name: "ab"[number % 2] for number, name in enumerate(NASTY)}
    outputs = plan(experiment)
    assert len(outputs) == len(set(outputs))
    assert {f"results/quantify/{name}.cxb" for name in NASTY} <= set(outputs)
