"""The bench of the Tuxedo pipeline: which genes the workflow and the script find different things of."""

import sys
from pathlib import Path
from types import SimpleNamespace

from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches.studies import Scripted

HEAD = "test_id\tgene_id\tgene\tlocus\tstatus\tvalue_1\tvalue_2\tp_value\tsignificant\n"
BENCH = script(ROOT / "scripts/bench/tuxedo.py")


def write_genes(folder: Path, rows: dict[str, tuple[str, str, str]]) -> None:
    """Cuffdiff's table, by gene: the second condition's value, a p-value, whether it is significant."""
    folder.mkdir(parents=True)
    lines = (
        f"X{n}\tX{n}\t{gene}\tchr:{n}-9\tOK\t1.5\t{value}\t{p}\t{significant}\n"
        for n, (gene, (value, p, significant)) in enumerate(rows.items())
    )
    (folder / BENCH.GENES).write_text(HEAD + "".join(lines))


def test_genes_that_differ_are_counted_whatever_their_p_values(tmp_path: Path) -> None:
    same, other = ("3", "0.2", "no"), ("4", "0.2", "no")
    ours = {"a": same, "b": same, "c": same, "d": ("9", "0.001", "yes")}
    theirs = {"a": same, "b": other, "c": ("3", "0.3", "no"), "d": ("9", "0.001", "no"), "e": same}
    write_genes(tmp_path / "run/results/differential_expression", ours)
    write_genes(tmp_path / "script/cuffdiff", theirs)
    study = SimpleNamespace(folder=lambda mode, repeat, sample: tmp_path / "run")
    pairs = BENCH.Pairs(BENCH.COHORTS["six"], tmp_path, seed=1, pairs=1)
    found = pairs.differences("corrected", study, [Scripted(1.0, 1.0, tmp_path / "script")])
    assert found.values == (3,), "b by its value, d by its significance, e is in one alone"
    assert not found.holds
