"""Every bench works, in its smallest size; and make runs all of them, whatever becomes of one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from documentation import evidence_pages

BENCHES = sorted((ROOT / "scripts/bench").glob("*.py"))


@pytest.mark.bench
@pytest.mark.parametrize("bench", BENCHES, ids=lambda path: path.name)
def test_a_bench_runs_in_its_smallest_size(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "allocations"))
    record = tmp_path / "record.json"
    command = [sys.executable, str(bench), "--smallest", "--json", str(record)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip(), "it says no figure"
    if done.stdout.startswith("not measured"):
        pytest.skip(done.stdout.strip())
    assert f"# {bench.stem}" in evidence_pages.bench_page(json.loads(record.read_text()))


@pytest.mark.e2e
def test_a_bench_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    for name, code in (("one", 3), ("two", 0), ("three", 1)):
        (tmp_path / f"{name}.py").write_text(f"import sys\nprint('{name}', *sys.argv[1:])\nsys.exit({code})\n")
    benches = " ".join(str(tmp_path / f"{name}.py") for name in ("one", "two", "three"))
    command = ["make", "-o", "installed", "bench", f"BENCHES={benches}", "BENCH_ARGS=--smallest", "EVIDENCE=records"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout.splitlines()[-3:] == [
        f"{name} --json records/{name}.json --smallest" for name in ("one", "two", "three")
    ]
    assert f"make bench: failed: {tmp_path}/one.py {tmp_path}/three.py" in done.stderr
