"""The bench of Cuffdiff's correction: which genes count as found, as false, and as found one way alone."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

BENCH = script(ROOT / "scripts/bench/scv_correction.py")
COHORT = BENCH.Experiment("two", replicates=2, genes=4)
HEAD = "test_id\tgene_id\tgene\tstatus\tlog2(fold_change)\tp_value\tsignificant\n"
TRUTH = """gene_id\tcontrol_fragments\ttreated_fragments\tfold_change
up\t100\t400\t4.0000
down\t400\t100\t0.2500
same\t100\t100\t1.0000
alike\t100\t100\t1.0000
"""


def write_run(run: Path, rows: dict[str, tuple[str, float, float, str]]) -> None:
    """gene_exp.diff, by gene: status, change, p-value, whether it is significant."""
    (run / BENCH.COMPARED).parent.mkdir(parents=True)
    lines = (
        f"X{n}\tX{n}\t{gene}\t{status}\t{change}\t{p}\t{significant}\n"
        for n, (gene, (status, change, p, significant)) in enumerate(rows.items())
    )
    (run / BENCH.COMPARED).write_text(HEAD + "".join(lines))


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Of a run that finds one gene alone with the correction, and one that did not change without."""
    strong, weak = ("OK", 2.0, 0.0001, "yes"), ("OK", 0.1, 0.5, "no")
    write_run(tmp_path / "corrected", {"Up": strong, "Down": ("OK", -2.0, 0.002, "yes"), "Same": weak, "Alike": weak})
    edge, false = ("OK", -2.0, 0.04, "no"), ("OK", 0.9, 0.001, "yes")
    write_run(tmp_path / "uncorrected", {"Up": strong, "Down": edge, "Same": false, "Alike": weak})
    (tmp_path / "pool/truth").mkdir(parents=True)
    (tmp_path / "pool/truth/genes.tsv").write_text(TRUTH)
    attempts = [SimpleNamespace(step=BENCH.STEP, cpu_s=60.0), SimpleNamespace(step="merge", cpu_s=1.0)]
    runs = {way: (tmp_path / way, SimpleNamespace(attempts=attempts)) for way in BENCH.WAYS}
    monkeypatch.setattr(BENCH, "compared", lambda *_: runs)
    monkeypatch.setattr(BENCH, "TABLES", {})
    return dict(BENCH.figures_of(COHORT, tmp_path, seed=1))


def test_genes_are_held_against_what_was_changed(figures: dict[str, float]) -> None:
    assert figures["corrected: Cuffdiff, CPU seconds"] == 60
    found = "found of genes changed four fold and more"
    assert (figures[f"corrected: {found}"], figures[f"uncorrected: {found}"]) == (1, 0.5)
    false = "false of significant genes"
    assert (figures[f"corrected: {false}"], figures[f"uncorrected: {false}"]) == (0, 0.5)
    below = "p-values below 0.05, of unchanged genes"
    assert (figures[f"corrected: {below}"], figures[f"uncorrected: {below}"]) == (0, 0.5)


def test_genes_that_one_way_has_alone_are_listed_with_both_p_values(figures: dict[str, float]) -> None:
    assert figures["genes significant one way alone"] == 2
    head, *lines = BENCH.TABLES["two"]
    assert head.split() == ["gene", "found", "by", "p", "corrected", "uncorrected"]
    assert [line.split() for line in lines] == [
        ["Down", "corrected", "0.00200", "0.04000"],
        ["Same", "uncorrected", "0.50000", "0.00100"],
    ]


def test_genes_that_were_not_tested_count_nowhere(tmp_path: Path) -> None:
    write_run(tmp_path, {"up": ("NOTEST", 0.0, 1.0, "no"), "same": ("OK", 0.1, 0.3, "no")})
    assert [gene.name for gene in BENCH.tested(tmp_path / BENCH.COMPARED).values()] == ["same"]
