"""Records, packages and study files with the names of version 0.1 are read on."""

import json
import re
from dataclasses import replace

import pytest
from packing import HOST, sealed, write_study
from typer.testing import CliRunner

from gpd.cli import app
from gpd.lab.study_file import read_study
from gpd.packages import checks, evidence, pack
from gpd.packages.pack import archive, lay_out
from gpd.packages.verdicts import FAILS, HOLDS
from gpd.records import old_names
from gpd.records.ledger import parse_attempt
from gpd.tables import collect

OLD_KEYS = {new: old for old, new in old_names.RECORD.items()}
HEADS = {new: old for old, new in old_names.COLUMNS.items()}


def old_path(name):
    name = name.replace("-shared-", "-scheduled-").replace("/spec.json", "/cell.json")
    return name.replace("tables/configurations.tsv", "tables/points.tsv")


def old_record(document):
    """A record with the keys and values of version 0.1."""
    if isinstance(document, list):
        return [old_record(value) for value in document]
    if not isinstance(document, dict):
        return document.replace("-shared-", "-scheduled-") if isinstance(document, str) else document
    found = {}
    for key, value in document.items():
        is_name = key == "name" and "germline" in str(value)
        value = {"shared": "scheduled"}.get(value, value) if key == "mode" else value
        value = ["scheduled"] if key == "modes" else value
        value = "0.1.0" if key == "gpd_version" else value
        if key == "profiles":
            value = {"scheduled" if mode == "shared" else mode: path for mode, path in value.items()}
        key = "cell" if is_name or key == "spec" else OLD_KEYS.get(key, key)
        found[key] = old_record(value)
    return found


def old_content(name, content):
    text = content.decode()
    if name.endswith(".tsv"):
        head, _, rows = text.partition("\n")
        head = "\t".join(HEADS.get(column, column) for column in head.split("\t"))
        rows = re.sub(r"(?<=[-\t])shared(?=[-\t])", "scheduled", rows)
        return f"{head}\n{rows}".encode()
    lines = [text] if name.endswith(".json") else text.splitlines()
    return "".join(f"{json.dumps(old_record(json.loads(line)))}\n" for line in lines).encode()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return pack.make(write_study(tmp_path_factory.mktemp("runs") / "trusted", node=HOST))


@pytest.fixture(scope="module")
def old(package):
    """The package as version 0.1 made it."""
    members = {old_path(name): old_content(name, content) for name, content in package.members.items()}
    made = sealed(package, members)
    return replace(made, manifest=replace(made.manifest, format="gpd-bundle"))


def test_a_package_of_version_0_1_is_what_it_was(old):
    assert {"cell", "busy_s"} <= set(old.members["tables/samples.tsv"].decode().partition("\n")[0].split("\t"))
    found = {verdict.check: (verdict.state, verdict.why) for verdict in checks.judge(evidence.gather(old))}
    assert {name: verdict for name, verdict in found.items() if verdict[0] != HOLDS} == {}


def test_a_job_s_record_with_old_keys_is_read(old):
    lines = next(content for name, content in old.members.items() if name.endswith("ledger.jsonl"))
    record = json.loads(lines.splitlines()[0]) | {"contended": True, "foreign_cpu_s": 1.25}
    attempt = parse_attempt(json.dumps(record))
    assert (attempt.cpu_contention, attempt.other_cpu_s) == (True, 1.25)


def test_a_changed_figure_of_it_is_found(old):
    name = "tables/points.tsv"
    head, first, *rest = old.members[name].decode().splitlines()
    at = head.split("\t").index("genomes_per_day_mean")
    values = first.split("\t")
    values[at] = str(2 * float(values[at]))
    changed = "".join(f"{line}\n" for line in (head, "\t".join(values), *rest)).encode()
    assert changed != old.members[name]
    found = {
        verdict.check: verdict.state
        for verdict in checks.judge(evidence.gather(sealed(old, old.members | {name: changed})))
    }
    assert found["figures"] == FAILS


def test_its_study_has_the_figures_of_today(old, package, tmp_path):
    for made, folder in ((old, tmp_path / "old"), (package, tmp_path / "new")):
        lay_out(made.members, folder)
    before, now = collect.collect(tmp_path / "old"), collect.collect(tmp_path / "new")
    assert before.configurations == now.configurations
    assert {row.mode for row in before.runs} == {"shared"}


def test_the_old_subcommand_checks_it(old, tmp_path):
    path = tmp_path / "study.gpd.tar.gz"
    path.write_bytes(archive(old.members | {"manifest.json": old.manifest.to_json()}))
    with pytest.warns(UserWarning, match="gpd bundle is called gpd package now"):
        ran = CliRunner().invoke(app, ["bundle", "check", str(path)])
    assert ran.exit_code == 0, ran.output


def test_old_values_of_a_study_file_are_read_with_a_line_that_names_the_new(tmp_path):
    path = tmp_path / "throughput.yaml"
    path.write_text(
        "pipelines: {germline: {}}\nmodes: [scheduled]\nconcurrent_samples: knee\nprofiles: {scheduled: x}\n"
    )
    with pytest.warns(UserWarning, match="`scheduled` is called `shared` now"):
        study = read_study(path)
    assert (study.modes, study.concurrent_samples, study.profiles["shared"]) == (("shared",), (), "x")
