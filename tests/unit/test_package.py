"""Packages: what is in them, what tampering is caught by what, and each check."""

import gzip
import hashlib
import json
import re
import shutil
from dataclasses import replace

import pytest
import recorded_studies
from conftest import ROOT
from jsonschema import Draft202012Validator
from packing import HOME, HOST, SAMPLES, SPEED, USER, changed_line, recomputed, sealed, write_study
from subcommands import gpd

from gpd.errors import GpdError
from gpd.lab import study_runs
from gpd.packages import checks, evidence, manifest, pack, read
from gpd.packages.check_verdicts import FAILS, HOLDS, UNKNOWN
from gpd.packages.fields import NumberedNames
from gpd.packages.manifest import TABLES
from gpd.records import ledger
from gpd.records.host import FileSystem, Host
from gpd.records.study import Pool, Subsample, read_study_record
from gpd.tables import columns

GOLDEN = recorded_studies.study()
ONE, TWO = "germline-n1-shared-compact-r1", "germline-n2-shared-compact-r2"
LEDGER, RUN = f"{TWO}/ledger.jsonl", f"{TWO}/run.json"


@pytest.fixture(scope="module")
def trusted(tmp_path_factory):
    """A study of which every check holds."""
    return write_study(tmp_path_factory.mktemp("runs") / "trusted", node=HOST)


@pytest.fixture(scope="module")
def package(trusted):
    return pack.make(trusted)


def verdicts(package):
    return {verdict.check: verdict for verdict in checks.judge(evidence.gather(package))}


def failing(package):
    """The checks that do not hold, with the state of each."""
    return {name: verdict.state for name, verdict in verdicts(package).items() if verdict.state != HOLDS}


def of_study(tmp_path, change=None, **settings):
    """The checks that do not hold of a study that was changed before it was packed, with why."""
    folder = write_study(tmp_path / "trusted", **settings)
    if change:
        change(folder)
    found = verdicts(pack.make(folder)).values()
    return {verdict.check: (verdict.state, verdict.why) for verdict in found if verdict.state != HOLDS}


def edit(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


# ---- what is in it -------------------------------------------------------------------------------------


@pytest.mark.deep
def test_every_check_holds_of_a_study_that_was_made_as_it_should_be(package):
    found = verdicts(package)
    assert {name: (verdict.state, verdict.why) for name, verdict in found.items() if verdict.state != HOLDS} == {}
    assert list(found) == [check.name for check in checks.CHECKS]
    assert all(verdict.why and verdict.says for verdict in found.values())


def test_it_holds_what_figures_follow_from_and_nothing_else(package, trusted):
    specs = [path.parent.name for path in trusted.glob("*/spec.json")]
    assert len(specs) == 11
    of_runs = {f"{spec}/{name}" for spec in specs for name in ("spec.json", "run.json", "ledger.jsonl")}
    assert set(package.members) == {"study.json", "starts.jsonl", "node.json", *TABLES.values(), *of_runs}


def test_nothing_in_it_tells_of_a_host_a_user_or_a_folder(package, trusted):
    unpacked = gzip.decompress(package.to_bytes()).decode("latin-1")
    secrets = [HOST, HOST.partition(".")[0], USER, HOME, "/home", "My Work", str(trusted.parent)]
    assert [
        secret for secret in (*secrets, "secretstore", "10.11.12.13", "export", "/scratch") if secret in unpacked
    ] == []
    everything = "".join(path.read_text() for path in trusted.rglob("*.json*"))
    assert [
        secret for secret in (*secrets[:-1], "secretstore", "10.11.12.13", "export") if secret not in everything
    ] == []
    assert "relatime" in unpacked
    assert "rsize=1048576" not in unpacked, "an option with a value"


def test_a_key_that_no_record_has_does_not_go_out(tmp_path):
    folder = write_study(tmp_path / "trusted")
    (folder / LEDGER).write_bytes(changed_line((folder / LEDGER).read_bytes(), 0, operator="Jane Doe"))
    edit(folder / RUN, lambda run: run.update(operator="Jane Doe"))
    made = pack.make(folder)
    assert not any(b"Jane" in content for content in made.members.values())


def test_a_package_of_names_that_stand_for_others_is_read_and_keeps_its_digest(package, tmp_path):
    """As an earlier version made it: its manifest has keys that this one does not write."""
    old = json.loads(package.manifest.to_json()) | {"host_names": False, "replaced": {"hosts": 1, "users": 1}}
    stored = json.dumps(old, indent=1, sort_keys=True).encode()
    path = tmp_path / "old.gpd.tar.gz"
    path.write_bytes(pack.archive({**package.members, manifest.FILE: stored}))
    assert read.read(path) == package
    assert f"manifest: sha256 {hashlib.sha256(stored).hexdigest()}" in gpd("package", "check", path).stdout


@pytest.mark.deep
def test_a_study_gives_the_same_bytes_wherever_it_lies(package, trusted, tmp_path):
    assert pack.make(trusted).to_bytes() == package.to_bytes()
    copied = tmp_path / "elsewhere" / "trusted"
    shutil.copytree(trusted, copied)
    assert pack.make(copied).to_bytes() == package.to_bytes()


def test_what_is_read_is_what_was_written(package, tmp_path):
    path = tmp_path / "b.tar.gz"
    path.write_bytes(package.to_bytes())
    assert read.read(path) == package


def test_the_manifest_follows_its_schema(package):
    shown = gpd("package", "schema")
    Draft202012Validator(json.loads(shown.output)).validate(json.loads(package.manifest.to_json()))


@pytest.mark.deep
def test_an_old_study_can_be_packaged_and_what_nobody_knows_is_said():
    old = pack.make(GOLDEN)
    found = verdicts(old)
    assert {found[name].state for name in ("precision", "duration", "warm-up", "complete", "every run")} == {UNKNOWN}
    assert {found[name].state for name in ("digests", "figures", "outputs", "pinning", "machine")} == {HOLDS}
    rows = {"jobs": 135, "samples": 15, "steps": 87, "runs": 10, "configurations": 5, "streams": 0}
    assert {table: old.members[f"tables/{table}.tsv"].count(b"\n") - 1 for table in columns.TABLES} == rows


def test_torn_lines_of_ledgers_are_left_out_and_counted(tmp_path):
    folder = write_study(tmp_path / "trusted")
    with (folder / ONE / "ledger.jsonl").open("a") as ledger:
        ledger.write('{"schema": 1, "id"')
    assert "1 line that are no records" in pack.make(folder).manifest.left_out


# ---- names ---------------------------------------------------------------------------------------------


def test_a_host_and_a_folder_have_one_number_wherever_they_stand(trusted):
    names = NumberedNames()
    attempt = ledger.parse_attempt((trusted / LEDGER).read_text().splitlines()[0])
    sent = names.outgoing(replace(attempt, host="a.example", node="a", message="of jdoe", log="/home/jdoe/x.log"))
    assert (sent.host, sent.node, sent.message, sent.log) == ("1", "1", None, "1")
    assert replace(sent, host=None, node=None, log="") == replace(attempt, host=None, node=None, message=None, log="")
    host = names.outgoing(
        Host(hostname="b", file_systems={"work": FileSystem("/x", "nfs4", "server:/x", None, ("rw",))})
    )
    assert (host.hostname, host.file_systems["work"]) == ("2", FileSystem(None, "nfs4", None, None, ("rw",)))
    pool = names.outgoing(Pool("../other", "config/config.yaml"))
    assert (pool.directory, pool.config, names.path("/home/jdoe/x.log")) == ("2", "config/config.yaml", "1")


# ---- tampering -----------------------------------------------------------------------------------------


def test_every_byte_of_every_file_is_in_a_digest(package):
    for name, content in package.members.items():
        changed = package.members | {name: content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]}
        assert manifest.differences(package.manifest, changed) == [f"{name}: its digest is another than the manifest's"]


def test_a_package_that_was_altered_fails(package):
    altered = replace(package, members=package.members | {LEDGER: changed_line(package.members[LEDGER], 0, wall_s=1.0)})
    assert failing(altered) == dict.fromkeys(("digests", "figures"), FAILS)


def test_every_stored_figure_is_held_against_the_ledgers(package, monkeypatch):
    """With a manifest that fits: each value of each table, of which all are others at once."""
    monkeypatch.setattr(evidence, "MOST_SHOWN", 1_000_000)
    tried = 0
    for name in TABLES.values():
        heads, *rows = (line.split("\t") for line in package.members[name].decode().splitlines())
        others = [[f"{value}1" for value in row] for row in rows]
        table = "".join("\t".join(row) + "\n" for row in [heads, *others]).encode()
        told = [*evidence._differing(name, table, package.members[name])]
        starts = [
            f"{name} line {number}: {head}: {value} in the package, "
            for number, row in enumerate(others, 2)
            for head, value in zip(heads, row, strict=True)
        ]
        assert all(line.startswith(start) for line, start in zip(told, starts, strict=True))
        tried += len(told)
    assert tried > 5000


def test_a_figure_that_does_not_follow_fails_with_its_place(package):
    changed = package.members["tables/configurations.tsv"].replace(b"germline", b"tuxedo", 1)
    found = verdicts(sealed(package, {**package.members, "tables/configurations.tsv": changed}))
    assert {name for name, verdict in found.items() if verdict.state == FAILS} == {"figures"}
    assert found["figures"].why == (
        "tables/configurations.tsv line 2: pipeline: tuxedo in the package, germline from the ledgers",
    )


def test_columns_of_another_version_are_not_held_and_named(package):
    """A package of an earlier version has fewer columns, one of a later version more."""
    rows = [line.split("\t") for line in package.members["tables/configurations.tsv"].decode().splitlines()]
    other = "".join("\t".join([*row[1:], "new" if at == 0 else "7"]) + "\n" for at, row in enumerate(rows)).encode()
    found = verdicts(sealed(package, {**package.members, "tables/configurations.tsv": other}))["figures"]
    assert found.state == HOLDS
    assert found.why[1:] == (f"tables/configurations.tsv: not held, for columns of another version: new, {rows[0][0]}",)


def of_version(package, version, members):
    made = sealed(package, members)
    return replace(made, manifest=replace(made.manifest, gpd_version=version))


@pytest.mark.deep
def test_a_package_of_another_version_is_held_and_its_version_is_named(package, tmp_path):
    """It has fewer columns, and its sums have other last digits; by another version a figure is still another."""
    name = "tables/runs.tsv"
    rows = [line.split("\t") for line in package.members[name].decode().splitlines()]
    at = rows[0].index("makespan_s")

    def with_makespan(factor):
        changed = [rows[0], *([*row[:at], repr(float(row[at]) * factor), *row[at + 1 :]] for row in rows[1:])]
        return package.members | {name: "".join("\t".join(row[1:]) + "\n" for row in changed).encode()}

    found = verdicts(of_version(package, "0.1.9", with_makespan(1 + 1e-9)))["figures"]
    here = package.manifest.gpd_version
    assert found.state == HOLDS
    assert found.why[0] == f"made by gpd 0.1.9, checked by gpd {here}"
    assert found.why[1].endswith("computed anew, are the same to a millionth")
    assert verdicts(of_version(package, "0.1.9", with_makespan(0.999)))["figures"].state == FAILS
    assert verdicts(of_version(package, here, with_makespan(1 + 1e-9)))["figures"].state == FAILS
    path = tmp_path / "b.tar.gz"
    path.write_bytes(of_version(package, "0.1.9", with_makespan(1)).to_bytes())
    ran = gpd("package", "check", path)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.endswith(f"\nmade by gpd 0.1.9, checked by gpd {here}\n")
    assert json.loads(gpd("package", "check", path, "--json").stdout)["gpd_version"] == "0.1.9"


@pytest.mark.parametrize("added", ["\tn", ""])
def test_a_column_twice_and_a_short_row_are_no_table(package, added):
    lines = package.members["tables/configurations.tsv"].decode().splitlines()
    lines = [f"{line}{added}" for line in lines] if added else [*lines[:-1], lines[-1].rpartition("\t")[0]]
    (told,) = evidence._differing(
        "configurations", "\n".join(lines).encode(), package.members["tables/configurations.tsv"]
    )
    assert "another number of rows or columns" in told


def follow(package, members):
    """Whether the tables that the package has follow from these members."""
    try:
        tables = pack.tables_of(members)
    except GpdError:
        return False
    return all(package.members[name] == table for name, table in tables.items())


@pytest.mark.deep
def test_every_line_of_a_ledger_is_in_the_figures(package):
    assert follow(package, package.members)
    lines = package.members[LEDGER].decode().splitlines()
    assert len(lines) == 20
    for number in range(len(lines)):
        changed = changed_line(package.members[LEDGER], number, wall_s=7.7)
        assert not follow(package, package.members | {LEDGER: changed}), number


@pytest.mark.deep
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("cpu_s", 7.7), ("start", "2026-11-20T08:00:00.000000000Z"), ("end", "2026-11-20T11:00:00.000000000Z")),
        *(("peak_rss_mib", 7.7), ("exit_code", 1), ("cpus", "7"), ("binding_ok", False), ("attempt", 2)),
    ],
)
def test_every_field_that_is_measured_is_in_the_figures(package, field, value):
    changed = changed_line(package.members[LEDGER], 3, **{field: value})
    assert not follow(package, package.members | {LEDGER: changed})


def without(members, spec):
    return {name: content for name, content in members.items() if not name.startswith(f"{spec}/")}


@pytest.mark.deep
def test_a_run_that_was_dropped_is_missed(package):
    left = without(package.members, TWO)
    assert failing(replace(package, members=left))["digests"] == FAILS
    assert failing(sealed(package, left))["figures"] == FAILS
    found = verdicts(recomputed(package, left))
    assert {name: found[name].state for name in ("digests", "figures", "complete", "every run")} == {
        **{"digests": HOLDS, "figures": HOLDS},
        **{"complete": FAILS, "every run": FAILS},
    }
    assert found["complete"].why == (f"{TWO}: it is planned, and did not end",)
    assert found["every run"].why == (f"{TWO}: was begun, and is not here",)


def test_a_repeat_that_was_dropped_with_the_plan_is_missed_by_its_start(package):
    plan = json.loads(package.members["study.json"])
    plan["study"]["repeats"] = 4
    left = package.members | {"study.json": json.dumps(plan).encode()}
    for n in (1, 2):
        left = without(left, f"germline-n{n}-shared-compact-r5")
    assert failing(recomputed(package, left)) == {"precision": FAILS, "every run": FAILS}


@pytest.mark.deep
def test_a_host_that_was_swapped_is_another_than_the_ledgers(package):
    record = json.loads(package.members[RUN])
    record["host"] |= {"hostname": "host-9", "sku": "9755"}
    everywhere = {}
    for name in package.members:
        if name.endswith("/run.json"):
            everywhere[name] = json.dumps(json.loads(package.members[name]) | {"host": record["host"]}).encode()
    one = failing(recomputed(package, package.members | {RUN: everywhere[RUN]}))
    every = failing(recomputed(package, package.members | everywhere))
    assert one["one machine"] == every["one machine"] == FAILS
    assert failing(sealed(package, package.members | {RUN: everywhere[RUN]}))["figures"] == FAILS


@pytest.mark.deep
def test_a_line_that_was_repeated_is_named(package):
    lines = package.members[LEDGER].decode().splitlines(keepends=True)
    tampered = recomputed(package, package.members | {LEDGER: "".join([*lines, lines[-1]]).encode()})
    found = verdicts(tampered)["ledgers"]
    assert found.state == FAILS
    told = f"line {len(lines) + 1}: the same attempt as line {len(lines)}"
    assert any(told in line for line in found.why), found.why


@pytest.mark.deep
def test_two_jobs_on_one_cpu_at_one_time_are_named(package):
    lines = [json.loads(line) for line in package.members[LEDGER].decode().splitlines()]
    lines = [line | {"cpus": "0", "cpus_allowed": "0", "cpus_seen": "0"} for line in lines]
    shared = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    found = verdicts(recomputed(package, package.members | {LEDGER: shared}))["ledgers"]
    assert found.state == FAILS
    assert any("both held CPU 0 of 1 at" in line for line in found.why), found.why


def test_a_file_that_was_added_or_renamed_is_named(package):
    added = package.members | {f"{TWO}/ledger.node7.jsonl": package.members[LEDGER]}
    assert manifest.differences(package.manifest, added) == [
        f"{TWO}/ledger.node7.jsonl: it is there, and the manifest does not name it"
    ]
    renamed = {name.replace("-r2/run", "-r9/run"): content for name, content in package.members.items()}
    found = verdicts(replace(package, members=renamed))
    assert len(found["digests"].why) == 4
    assert found["figures"].state == FAILS


@pytest.mark.deep
def test_samples_that_the_seed_does_not_draw_are_named(package):
    changed = {}
    for name in (f"{ONE}/spec.json", f"{ONE}/run.json", f"{ONE}/ledger.jsonl"):
        (drawn,) = json.loads(package.members[f"{ONE}/spec.json"])["samples"]
        other = next(sample for sample in SAMPLES if sample != drawn)
        changed[name] = package.members[name].replace(drawn.encode(), other.encode())
    found = verdicts(recomputed(package, package.members | changed))["complete"]
    assert (found.state, found.why) == (FAILS, (f"{ONE}: samples are not those of the plan",))


def test_a_package_says_what_share_of_the_reads_and_what_copies_were_measured(tmp_path):
    folder = write_study(tmp_path / "part", subsample=Subsample(0.05), copies=2)
    made = pack.make(folder)
    assert (made.manifest.fraction, made.manifest.samples_per_genome) == (0.05, 2)
    found = verdicts(made)
    assert found["figures"].state == found["measured"].state == HOLDS
    assert found["measured"].why[0].startswith("on 5% of the reads of each sample, and no whole sample's time")
    assert "2 samples of each genome, as copies of its files" in found["at once"].why
    assert found["complete"].why == ("pool of germline: not each genome is there as 2 samples",)
    whole = verdicts(replace(made, manifest=replace(made.manifest, fraction=1.0)))
    assert whole["figures"].state == FAILS
    assert "0.05 of the reads, samples of a genome: 2 by its record, and 1 of the reads" in whole["figures"].why[0]


# ---- circumstances -------------------------------------------------------------------------------------


def with_runs(package, of_run=None, of_job=None, counted=True):
    """The package with other records of runs and jobs, and all tables computed anew from them."""
    changed = {}
    for name, content in package.members.items():
        if counted and "warmup" in name:
            continue
        if name.endswith("/run.json") and of_run:
            changed[name] = json.dumps(of_run(json.loads(content))).encode()
        if name.endswith("/ledger.jsonl") and of_job:
            lines = [of_job(json.loads(line)) for line in content.decode().splitlines()]
            changed[name] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    assert changed
    return recomputed(package, package.members | changed)


def busy(run):
    return run | {"host": run["host"] | {"load": run["host"]["load"] | {"busy": True, "busy_cpus": 0.9}}}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("check", "change", "output"),
    [
        ("quiet", {"of_run": busy}, "0.900 CPUs were at work before its start"),
        ("quiet", {"of_job": lambda line: line | {"cpu_contention": True}}, "other processes"),
        ("quiet", {"of_job": lambda line: line | {"other_cpu_s": 0.5 * line["wall_s"]}}, "other processes took"),
        ("quiet", {"of_job": lambda line: line | {"paused_s": 30.0}}, "suspended for 30.0 s"),
        ("quiet", {"of_job": lambda line: line | {"steal_s": 0.2 * line["wall_s"]}}, "the hypervisor took"),
        ("quiet", {"of_run": lambda run: run | {"machine_use": {"throttled_s": 2.5}}}, "quota"),
        ("quiet", {"of_run": lambda run: run | {"machine_use": {"thermal_throttles": 1}}}, "heat slowed"),
    ],
)
def test_circumstances_that_spoil_a_figure_fail_by_name(package, check, change, output):
    tampered = with_runs(package, **change)
    assert failing(tampered) == {check: FAILS}
    assert any(output in line for line in verdicts(tampered)[check].why)


def test_a_sample_that_failed_in_a_run_that_counts_fails(tmp_path):
    found = verdicts(pack.make(GOLDEN))
    assert found["failures"].state == FAILS
    assert "germline-n2-independent-none-r2: HG004 failed: haplotype_caller: out_of_memory" in found["failures"].why
    assert found["at once"].state == HOLDS
    assert found["quiet"].why == ("tuxedo-n2-shared-compact-r1: 0.900 CPUs were at work before its start",)


# ---- checks --------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_too_few_repeats_and_too_wide_an_error_fail(tmp_path):
    found = of_study(tmp_path, speed={1: 1.0, 2: 1.01}, repeats=2)
    assert set(found) == {"precision"}
    repeats = "germline N = 1 (shared, compact): 2 repeats (1 node, 1 session), 95% interval"
    assert found["precision"][1][0].startswith(f"{repeats} ± 6.7%")
    assert found["precision"][1][0].endswith("; at least 5 repeats are needed")
    found = of_study(tmp_path / "wide", speed={1: 1.0, 2: 1.2, 3: 1.4, 4: 1.2, 5: 1.2})
    assert set(found) == {"precision"}
    assert "2.5% is claimed" in found["precision"][1][0]


@pytest.mark.deep
def test_short_runs_fail(tmp_path):
    found = of_study(tmp_path, precision=0.005, speed={repeat: 1 + repeat / 1000 for repeat in range(1, 6)})
    assert set(found) == {"duration"}
    assert "200 s are needed for a precision of 0.50%" in found["duration"][1][0]


@pytest.mark.deep
def test_small_samples_are_no_human_genomes(tmp_path):
    def shrink(folder):
        for path in folder.glob("*/run.json"):
            edit(path, lambda record: [read.update(bases=2 * 10**10) for read in record["inputs"].values()])

    found = of_study(tmp_path, shrink)
    assert set(found) == {"measured"}
    assert found["measured"][0] == FAILS
    assert "extrapolated from samples with 22% of their bases" in found["measured"][1][0]


@pytest.mark.deep
def test_a_warm_up_that_is_not_there_fails(tmp_path):
    found = of_study(tmp_path, lambda folder: shutil.rmtree(folder / "germline-n1-shared-compact-warmup1"))
    assert {name: state for name, (state, _) in found.items()} == dict.fromkeys(
        ("warm-up", "complete", "every run"), FAILS
    )
    assert found["warm-up"][1] == ("germline: 0 of 1 warm-up before the first run",)


@pytest.mark.deep
def test_a_warm_cache_that_held_half_of_the_input_fails(tmp_path):
    found = of_study(tmp_path, lambda folder: edit(folder / RUN, lambda run: run.update(cached=0.5)))
    assert found == {"warm-up": (FAILS, (f"{TWO}: says warm, and 50% of reads and reference were in memory",))}


def test_outputs_that_disagree_fail(tmp_path):
    def differ(folder):
        edit(folder / ONE / "run.json", lambda record: record["outputs"][0].update(digest="0" * 64))

    assert of_study(tmp_path, differ)["outputs"][0] == FAILS


@pytest.mark.deep
@pytest.mark.parametrize(
    ("fields", "state", "told"),
    [
        ({"binding_ok": False}, FAILS, "had CPUs"),
        ({"cpus_seen": "0-7"}, FAILS, "was seen on others"),
        ({"cpus": None, "split": None}, FAILS, "no CPUs were allocated"),
        ({"cpus_seen": None, "cpus_allowed": None, "binding_ok": None}, UNKNOWN, "on which CPUs it was is not known"),
    ],
)
def test_pinning_is_proved_by_every_job(tmp_path, fields, state, told):
    def unbind(folder):
        path = folder / LEDGER
        path.write_bytes(changed_line(path.read_bytes(), 2, **fields))

    found = of_study(tmp_path, unbind)
    assert found["pinning"][0] == state
    assert told in found["pinning"][1][0]


def test_a_machine_that_is_not_told_fails(tmp_path):
    def hide(folder):
        edit(folder / RUN, lambda record: record["host"].update(cpu_model=None, kernel=None))

    found = of_study(tmp_path, hide)
    assert found["machine"] == (FAILS, (f"{TWO}: does not tell cpu_model and kernel",))


@pytest.mark.deep
def test_a_node_record_of_another_machine_fails(tmp_path):
    found = of_study(tmp_path, node="othernode")
    assert set(found) == {"one machine"}
    assert of_study(tmp_path / "same", node=HOST) == {}


@pytest.mark.deep
def test_a_host_name_that_stands_for_two_machines_is_no_one_machine(tmp_path):
    """As a virtual machine that was moved: its CPU has no product's name on either."""

    def move(folder):
        for path in sorted(folder.glob("*/run.json")):
            later = path.parent.name.endswith("r3")
            numbers = {"cpu_model": "Intel Xeon Processor", "sku": None, "cpu_family": "25" if later else "6"}
            edit(path, lambda run, numbers=numbers: run["host"].update(numbers))

    found = of_study(tmp_path, move)
    assert found["one machine"] == (FAILS, ("CPU family: 6 and 25",))


@pytest.mark.deep
def test_a_run_that_was_run_again_is_told(tmp_path):
    def again(folder, *moments):
        with (folder / "starts.jsonl").open("a") as starts:
            for what in moments:
                starts.write(json.dumps({"name": TWO, "run": f"{TWO}-again", what: "2026-11-21T08:00:00+00:00"}) + "\n")

    found = of_study(tmp_path, lambda folder: again(folder, "began", "ended"))
    assert found == {"every run": (FAILS, (f"{TWO}: was run to its end 2 times, and one of them is here",))}
    found = of_study(tmp_path / "broken-off", lambda folder: again(folder, "began"))
    assert {name: state for name, (state, _) in found.items()} == {"every run": UNKNOWN}


@pytest.mark.deep
def test_a_search_that_was_broken_off_is_told(tmp_path):
    assert of_study(tmp_path, concurrent_samples=()) == {}
    folder = tmp_path / "trusted"
    for path in folder.glob("germline-n4-*-seek"):
        shutil.rmtree(path)
    (why, *_) = verdicts(pack.make(folder))["complete"].why
    assert why == "germline-n4-shared-compact-seek: it is planned, and did not end"


@pytest.mark.deep
def test_repeats_that_are_chosen_by_precision_are_what_the_rule_gives(tmp_path):
    assert of_study(tmp_path, repeats="auto") == {}
    wide = {1: 1.0, 2: 1.2, 3: 1.1, 4: 1.1, 5: 1.1, 6: 1.1}
    found = of_study(tmp_path / "short", repeats="auto", speed=wide)
    assert {name: state for name, (state, _) in found.items()} == {"precision": FAILS, "complete": FAILS}
    found = of_study(tmp_path / "long", repeats="auto", speed=SPEED | {6: 1.02, 7: 0.98})
    assert {name: state for name, (state, _) in found.items()} == {"every run": FAILS}
    assert "had enough repeats with 5, and went on to 7" in found["every run"][1][0]


@pytest.mark.deep
def test_what_a_budget_did_not_buy_is_not_missing(tmp_path):
    def shorten(folder, place):
        plan = read_study_record(folder)
        run = study_runs.planned(plan.study, plan.pools, plan.cores)[place].name
        shutil.rmtree(folder / run)
        left = sum(json.loads(path.read_text())["wall_s"] for path in folder.glob("*/run.json"))
        edit(folder / "study.json", lambda plan: plan["study"].update(budget=f"{left / 60 - 0.1:.3f}m"))
        starts = (folder / "starts.jsonl").read_text().splitlines()
        kept = [line for line in starts if json.loads(line)["name"] != run]
        (folder / "starts.jsonl").write_text("".join(f"{line}\n" for line in kept))

    found = of_study(tmp_path, lambda folder: shorten(folder, -1))
    assert found.keys() <= {"precision"}, "of the other checks each holds"
    chosen = of_study(tmp_path / "chosen", lambda folder: shorten(folder, -2))
    assert chosen["complete"][1][-1].endswith(": it is planned, and did not end"), "not the last one is missing"


def test_documents_count_the_checks_that_are_made():
    text = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    assert set(re.findall(r"(\d+) checks\b", text)) == {str(len(checks.CHECKS))}


# ---- the subcommands -----------------------------------------------------------------------------------------


@pytest.mark.deep
def test_made_and_checked_by_the_subcommands(trusted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = gpd("package", trusted)
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("trusted.gpd.tar.gz: ")
    checked = gpd("package", "check", "trusted.gpd.tar.gz")
    assert checked.exit_code == 0, checked.output
    digests = [
        line for ran in (made, checked) for line in ran.stdout.splitlines() if line.startswith("manifest: sha256")
    ]
    assert len(digests) == 2
    assert len(set(digests)) == 1
    assert f"{len(checks.CHECKS)} checks: {len(checks.CHECKS)} hold" in checked.stdout
    told = json.loads(gpd("package", "check", "trusted.gpd.tar.gz", "--json").stdout)
    assert {check["state"] for check in told["checks"]} == {"holds"}
    assert gpd("package", "--out", "other.tar.gz", trusted).exit_code == 0
    again = gpd("package", trusted)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "trusted.gpd.tar.gz is there, and may be another study's: name another with --out" in again.stderr
    (tmp_path / "other.tar.gz").write_text("of another study")
    assert gpd("package", "--force", "--out", "other.tar.gz", trusted).exit_code == 0
    assert (tmp_path / "other.tar.gz").read_bytes() == (tmp_path / "trusted.gpd.tar.gz").read_bytes()


@pytest.mark.deep
def test_exit_codes_tell_what_fails_from_what_is_none(package, tmp_path):
    path = tmp_path / "b.tar.gz"
    changed = changed_line(package.members[LEDGER], 0, wall_s=1.0)
    path.write_bytes(replace(package, members=package.members | {LEDGER: changed}).to_bytes())
    assert gpd("package", "check", path).exit_code == 1
    path.write_text("no package")
    ran = gpd("package", "check", path)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"gpd package check: {path}: no package: not compressed by gzip")
    assert gpd("package", "check", tmp_path / "nowhere").exit_code == 2
    assert (
        gpd("package", tmp_path).stderr
        == f"gpd package make: {tmp_path}: not a study: no run in it; name the folder of a study\n"
    )


@pytest.mark.deep
def test_a_package_stands_beside_a_study(trusted, package, tmp_path):
    path = tmp_path / "theirs.tar.gz"
    path.write_bytes(package.to_bytes())
    other = write_study(tmp_path / "mine", name="mine", speed={repeat: 2 * by for repeat, by in SPEED.items()})
    ran = gpd("compare", other, path, "published:7763", "--json")
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert [side["name"] for side in told["sides"]] == ["mine", "trusted", "published:7763"]
    (figure,) = (one for one in told["configurations"][0]["figures"] if one["figure"] == "genomes_per_day")
    assert figure["sides"]["trusted"]["ratio"]["value"] == pytest.approx(2, rel=0.01)
    alike = gpd("compare", trusted, path, "--json")
    assert [side["name"] for side in json.loads(alike.stdout)["sides"]] == [str(trusted), str(path)]
    part = gpd("compare", f"{path}:shared", other, "--json")
    assert [side["name"] for side in json.loads(part.stdout)["sides"]] == ["trusted:shared", "mine"]


def test_a_package_that_was_altered_stands_beside_nothing(package, trusted, tmp_path):
    path = tmp_path / "theirs.tar.gz"
    changed = changed_line(package.members[LEDGER], 0, wall_s=1.0)
    path.write_bytes(replace(package, members=package.members | {LEDGER: changed}).to_bytes())
    ran = gpd("compare", trusted, path)
    assert ran.exit_code == 2
    assert ran.stderr == f"gpd compare: {path}: {LEDGER}: its digest is another than the manifest's\n"


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("MOST_MEMBERS", "more than 3 members"),
        ("MOST_BYTES", "more than 0 MiB when it is unpacked"),
        ("MOST_MEMBER_BYTES", "more than 0 MiB"),
    ],
)
def test_what_nobody_could_read_is_not_packed(trusted, tmp_path, monkeypatch, bound, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(read, bound, 3)
    ran = gpd("package", trusted)
    assert (ran.exit_code, ran.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert f"{trusted}: can't be packed, for no one could read it: " in ran.stderr
    assert told in ran.stderr
