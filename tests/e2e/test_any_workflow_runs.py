"""A study of a workflow that knows nothing of this project, with Snakemake and the executor: what its figures are."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from launching import HANGS_S
from pages import row, text_of

pytestmark = pytest.mark.e2e

LINES = 20_000  # of a sample's text: a tenth of a second's work
RULES = ["sort", "pack", "table"]
T_OF_ONE = 12.7062  # Student's t, 95%, one degree of freedom


class Words:
    """The workflow with texts of its three samples, and a study of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(shutil.copytree(ROOT / "tests" / "data" / "word_counts", folder / "a copy"))
        self.study = folder / "runs" / "study"
        self.environment = {**os.environ, "GPD_RUNTIME_DIR": str(folder / "allocations")}
        (self.folder / "texts").mkdir()
        for sample in "ABC":
            text = "".join(f"{sample} {at * 7919 % 20011}\n" for at in range(LINES))
            (self.folder / "texts" / f"{sample}.txt").write_text(text)

    def run(self, **changes: object) -> subprocess.CompletedProcess:
        pool = {"directory": str(self.folder), "workflow": "workflow/Snakefile", "inputs": ["config", "texts"]}
        pool |= changes.pop("pool", {})  # type: ignore[arg-type]
        given = {"directory": str(self.study.parent), "pipelines": {"words": pool}, "warm_up": 0, "cores": 2, **changes}
        path = self.folder / "throughput.yaml"
        path.write_text(yaml.safe_dump(given))
        return self.gpd("throughput", "run", path)

    def gpd(self, *words: object) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "gpd", *map(str, words)]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=HANGS_S, check=False
        )

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.study / "tables" / f"{name}.tsv", sep="\t")

    def ledgers(self) -> dict[str, list[dict]]:
        """The records of each run, as the executor wrote them."""
        return {
            path.parent.name: [json.loads(line) for line in path.read_text().splitlines()]
            for path in sorted(self.study.glob("*/ledger.jsonl"))
        }


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Words:
    """N = 1 and 2, each measured twice."""
    made = Words(tmp_path_factory.mktemp("words"))
    done = made.run(concurrent_samples=[1, 2], repeats=2)
    assert done.returncode == 0, done.stderr
    return made


def test_each_run_has_the_jobs_of_its_samples_and_of_no_others(words):
    ledgers = words.ledgers()
    assert len(ledgers) == 4
    for name, records in ledgers.items():
        spec = json.loads((words.study / name / "spec.json").read_text())
        assert len(spec["samples"]) == spec["n"]
        owned = [(record["rule"], record["wildcards"].get("sample")) for record in records]
        wanted = [(rule, sample) for rule in ("sort", "pack") for sample in spec["samples"]]
        assert sorted(owned, key=str) == sorted([*wanted, ("table", None)], key=str)
        assert all(record["cpus"] and record["binding_ok"] is not False for record in records)


def test_samples_a_day_follow_from_the_records(words):
    runs = words.table("runs").set_index("run")
    for name, records in words.ledgers().items():
        starts = [record["uptime_s"] for record in records]
        ends = [record["uptime_s"] + record["wall_s"] for record in records]
        makespan_s = max(ends) - min(starts)
        assert runs.makespan_s[name] == pytest.approx(makespan_s, abs=1e-5)
        assert runs.genomes_per_day[name] == pytest.approx(runs.n[name] * 86_400 / makespan_s, rel=1e-4)
        assert runs.succeeded[name] == runs.n[name]


def test_seconds_of_each_rule_have_their_errors(words):
    times = words.table("summary").set_index(["n", "step", "metric"])
    assert list(dict.fromkeys(step for n, step, _ in times.index if n == 1 and isinstance(step, str))) == RULES
    for n, jobs in ((1, 1), (2, 2)):
        runs = [own for name, own in words.ledgers().items() if f"-n{n}-" in name]
        for rule in RULES:
            summed = [sum(each["wall_s"] for each in own if each["rule"] == rule) for own in runs]
            found, of_job, elapsed = (times.loc[n, rule, metric] for metric in ("summed_h", "job_s", "elapsed_h"))
            assert found.repeats == len(summed) == 2
            assert found["mean"] * 3600 == pytest.approx(mean(summed))
            assert found.se * 3600 == pytest.approx(stdev(summed) / 2**0.5)
            assert of_job["mean"] == pytest.approx(mean(summed) / (1 if rule == "table" else jobs))
            assert elapsed["mean"] <= found["mean"] + 1e-8 or n == 2


def test_the_report_has_samples_a_day_and_each_rule_with_its_half_width(words):
    plain = text_of((words.study / "report.html").read_text())
    times = words.table("summary").set_index(["n", "step", "metric"])
    for rule in RULES:
        for n, shown in zip((1, 2), row(plain, rule), strict=True):
            found = times.loc[n, rule, "elapsed_h"]
            plain_half, _, se = shown.partition(" (se ")
            value, half = (float(part) for part in plain_half.split(" ± "))
            step = 10 ** -len(plain_half.rpartition(".")[2]) if "." in plain_half else 1
            assert float(se.rstrip(")")) == pytest.approx(found.se * 3600, rel=0.06)
            assert value == pytest.approx(found["mean"] * 3600, abs=step)
            assert half == pytest.approx(T_OF_ONE * found.se * 3600, abs=step)
    assert len(row(plain, "samples a day")) == 2
    assert "human genomes a day" not in plain
    assert "RNA-Seq" not in plain


def test_what_is_not_known_of_it_is_empty_and_not_zero(words):
    runs = words.table("runs")
    unknown = ["gigabases", "gigabases_per_day", "human_30x_per_day", "input_mib", "genome_mb", "kept_disk_mib"]
    assert runs[unknown].isna().all(axis=None)
    record = json.loads(next(words.study.glob("*/run.json")).read_text())
    assert record["settings"]["tools"] is None
    assert record["settings"]["reference_digest"] is None


def test_results_go_and_the_pool_stays(words):
    assert not list(words.study.glob("*/out/sorted"))
    assert {path.name for path in (words.folder / "texts").iterdir()} == {"A.txt", "B.txt", "C.txt"}
    assert all((words.folder / "texts" / f"{sample}.txt").stat().st_size for sample in "ABC")


def test_the_same_command_does_nothing_again_and_refuses_another_workflow(words):
    before = {path: path.stat().st_mtime_ns for path in words.study.glob("*/run.json")}
    assert words.run(concurrent_samples=[1, 2], repeats=2).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in words.study.glob("*/run.json")} == before
    config = words.folder / "config" / "config.yaml"
    text = config.read_text()
    config.write_text(text.replace("6", "9"))
    again = words.run(concurrent_samples=[1, 2], repeats=3)
    config.write_text(text)
    assert again.returncode == 2
    assert "was made with another configuration" in again.stderr
    assert words.run(concurrent_samples=[1, 2], repeats=2).returncode == 0, "the plan is again what was measured"


PROVED = ("figures", "ledgers", "pinning", "at once", "complete")


def test_a_package_of_it_proves_its_figures_and_compares(words, tmp_path):
    package = tmp_path / "words.tar.gz"
    assert words.gpd("package", words.study, "--out", package).returncode == 0
    checked = words.gpd("package", "check", "--json", package)
    verdicts = {check["check"]: check["state"] for check in json.loads(checked.stdout)["checks"]}
    assert {name: verdicts[name] for name in PROVED} == dict.fromkeys(PROVED, "holds"), checked.stdout
    compared = words.gpd("compare", words.study, package)
    assert compared.returncode == 0, compared.stderr
    assert "1.00 (1.00-1.00)" in compared.stdout


def test_a_study_stops_at_a_sample_that_fails_alone_too_and_steps_are_those_that_are_named(tmp_path):
    made = Words(tmp_path)
    (made.folder / "texts" / "B.txt").unlink()
    (made.folder / "texts" / "B.txt").mkdir()  # which sort can't read
    steps = {"order": ["sort"], "squeeze": ["pack"]}
    done = made.run(concurrent_samples=[3], repeats=1, modes=["independent"], pool={"steps": steps})
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "fails alone, too: order: " in line and "): drop it from the pool" in line, line
    samples = made.table("samples").query("n == 3").set_index("sample")
    assert samples.succeeded.to_dict() == {"A": True, "B": False, "C": True}
    assert samples.failed_step["B"] == "order"
    assert list(dict.fromkeys(made.table("steps").step)) == ["order", "squeeze"]
    assert made.table("runs").query("n == 3").succeeded.item() == 2


def test_a_workflow_that_reads_another_sheet_is_found_out(tmp_path):
    made = Words(tmp_path)
    sheet = made.folder / "config" / "samples.tsv"
    (made.folder / "config" / "config.yaml").write_text(f"samples: {json.dumps(str(sheet))}\nlevel: 6\n")
    done = made.run(concurrent_samples=[1], repeats=1)
    assert done.returncode == 2
    assert "which is no sample of the run: the workflow does not read config/samples.tsv" in done.stderr


def test_a_workflow_that_does_not_parse_is_said_in_a_line(tmp_path):
    made = Words(tmp_path)
    (made.folder / "workflow" / "Snakefile").write_text("rule a\n    output: 'x'\n")
    done = made.run()
    assert done.returncode == 2
    assert done.stderr.startswith("gpd throughput run: pipelines.words: workflow: ")
    assert "Traceback" not in done.stderr
