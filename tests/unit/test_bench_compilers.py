"""The bench of compilers measures each walker that has a border, and no job that nothing timed."""

import csv
import re
import sys
from collections import Counter

import pytest
from conftest import ROOT, script

from gpd.records.ledger import Attempt

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches.runs import BenchRun

BENCH = script(ROOT / "scripts/bench/compilers.py")


def test_it_runs_every_walker_that_has_a_border() -> None:
    with (ROOT / "workflow/compilers.tsv").open(encoding="utf-8", newline="") as file:
        borders = {row["walker"] for row in csv.DictReader(file, delimiter="\t")}
    named = {name.removesuffix(" twice") for names in BENCH.WALKERS.values() for name in names.split(", ")}
    assert named == borders


def test_its_rules_are_rules_that_start_gatk_with_a_compiler() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules/germline").glob("*.smk"))
    rules = {name: body for text in texts for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)*)", text, re.M)}
    assert {rule for rule in BENCH.WALKERS if "java" not in rules[rule] and "started(" not in rules[rule]} == set()


def attempt(rule: str, cpu_s: float | None) -> Attempt:
    return Attempt(rule, "step", {}, 1, None, None, None, 0, None, "log", cpu_s=cpu_s)


def test_a_rules_cpu_seconds_are_those_of_its_jobs() -> None:
    attempts = (attempt("haplotype_caller", 2.0), attempt("haplotype_caller", 3.0), attempt("depth", 7.0))
    assert BENCH.cpu_s_by_rule(BenchRun(attempts, 0.0, 0.0)) == Counter({"haplotype_caller": 5.0})


def test_a_job_that_nothing_timed_ends_the_bench() -> None:
    with pytest.raises(SystemExit, match=r"haplotype_caller.*has no cpu_s"):
        BENCH.cpu_s_by_rule(BenchRun((attempt("haplotype_caller", None),), 0.0, 0.0))
