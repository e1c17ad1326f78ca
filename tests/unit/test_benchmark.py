"""Standard workloads: what is fixed of them, inputs held against digests, and what the registry refuses."""

import gzip
import json
import re
from dataclasses import replace
from datetime import date, timedelta

import packing
import pytest
import yaml
from msgspec import structs
from packing import SAMPLES, SPEED, recomputed, write_study
from subcommands import gpd

from gpd.benchmark import circumstances, registry, result, submission, workload, workload_inputs
from gpd.benchmark.registry import RegistryEntry
from gpd.benchmark.submission import Session
from gpd.benchmark.workload import BenchmarkError, StandardWorkload, WorkloadSettings
from gpd.commands import gpd_benchmark
from gpd.lab import study_plan
from gpd.packages import pack
from gpd.packages.check_verdicts import FAILS
from gpd.records.calibration import Calibration, drift
from gpd.records.host import Host, Load
from gpd.records.study import PROFILES
from gpd.statistics.estimates import Estimate
from gpd.tables import collect

FIXED = {"modes": ["shared"], "bindings": ["compact"], "repeats": 5, "precision": 0.025, "warm_up": 1, "cache": "warm"}
FIXED |= {"most_repeats": 7}
DRAFT = "full-1"  # its reads were never made
ENTRY = RegistryEntry(machine="two cores", submitter="J. Doe", interest="none")


# ---- workloads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in workload.names() if name != DRAFT])
def test_every_input_of_every_sample_has_a_digest(name):
    given = workload.read(name)
    assert sorted(given.digests) == sorted(given.inputs(given.every_sample))
    assert given.settings.reference_digest


def test_a_workload_whose_inputs_were_never_made_is_a_draft():
    assert [name for name in workload.names() if workload.read(name).is_draft] == [DRAFT]
    with pytest.raises(BenchmarkError, match=r"reads/S01_R1.fastq.gz: its digest is missing"):
        workload.read(DRAFT).input_digest("S01")


@pytest.mark.deep
@pytest.mark.parametrize("name", workload.names())
@pytest.mark.parametrize("cores", [1, 2, 3, 64, 1000])
def test_a_workload_is_a_study_on_any_machine(name, cores, tmp_path, monkeypatch):
    given = workload.read(name)
    (tmp_path / "config.yaml").write_text((given.folder / "config.yaml").read_text())
    samples = given.samples(cores)
    table = [f"{sample}\t{'ab'[number % 2]}" for number, sample in enumerate(samples)]
    (tmp_path / "samples.tsv").write_text("\n".join(("sample_name\tcondition", *table, "")))
    rows = [(sample, "L1", *(path.format(sample) for path in workload.ROLES.values())) for sample in samples]
    (tmp_path / "units.tsv").write_text("\n".join(("sample_name\tunit_name\tfq1\tfq2", *map("\t".join, rows), "")))
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(given.study(cores, str(tmp_path / "own"), str(tmp_path))))
    settings, sources = study_plan.read(tmp_path / "study.yaml")
    most, pipeline = len(samples), given.settings.pipeline
    least = {"germline": 1, "tuxedo": 2}[pipeline]  # Cuffdiff compares
    assert most >= least
    assert settings.concurrent_samples == tuple(sorted({least, max(least, most // 2), most}))
    if name != DRAFT:
        known = workload_inputs.known_source(sources[pipeline], given)
        assert len({known.input_digest(member.name) for member in known.members}) == most


def test_a_workload_that_there_is_not_is_refused():
    with pytest.raises(BenchmarkError, match="quick-0: no such workload; there are "):
        workload.read("quick-0")


@pytest.fixture
def made(tmp_path):
    """A workload of one sample whose inputs are there."""
    (tmp_path / "reads").mkdir()
    (tmp_path / "genome.fa").write_text(">chr1\nACGT\n")
    for name in ("known_sites.vcf.gz", "reads/A_R1.fastq.gz", "reads/A_R2.fastq.gz"):
        (tmp_path / name).write_bytes(gzip.compress(name.encode()))
    given = StandardWorkload(
        "made-1",
        tmp_path,
        WorkloadSettings(pipeline="germline", takes="", gib=1, gib_shared=0),
        ("A",),
        {},
        frozenset(),
    )
    return replace(given, digests=workload_inputs.contents(tmp_path, given.inputs(("A",))))


def test_inputs_count_by_what_they_hold_and_not_by_how_they_are_compressed(made):
    path = made.folder / "reads/A_R1.fastq.gz"
    path.write_bytes(gzip.compress(b"reads/A_R1.", 1) + gzip.compress(b"fastq.gz", 9))
    workload_inputs.verify(made, ("A",), made.folder)


@pytest.mark.parametrize("content", [gzip.compress(b"others"), gzip.compress(b"reads/A_R1.fastq.gz")[:-9], b""])
def test_another_input_is_refused_by_its_name(made, content):
    (made.folder / "reads/A_R1.fastq.gz").write_bytes(content)
    with pytest.raises(BenchmarkError, match=r"A_R1.fastq.gz: not what made-1 has there\nremove "):
        workload_inputs.verify(made, ("A",), made.folder)


def test_inputs_of_a_draft_are_held_against_those_that_were_first_made(made):
    draft = replace(made, digests={})
    assert workload_inputs.drafted(draft, ("A",), made.folder) == made
    (made.folder / "reads/A_R1.fastq.gz").write_bytes(gzip.compress(b"others"))
    again = workload_inputs.drafted(draft, ("A",), made.folder)
    with pytest.raises(BenchmarkError, match=r"A_R1.fastq.gz: not what made-1 has there\nremove "):
        workload_inputs.verify(again, ("A",), made.folder)


def test_a_damaged_input_of_a_draft_is_refused(made):
    (made.folder / "reads/A_R1.fastq.gz").write_bytes(gzip.compress(b"reads/A_R1.fastq.gz")[:-9])
    draft = workload_inputs.drafted(replace(made, digests={}), ("A",), made.folder)
    with pytest.raises(BenchmarkError, match=r"A_R1.fastq.gz: not what made-1 has there"):
        workload_inputs.verify(draft, ("A",), made.folder)


def test_a_disk_without_room_is_said_before_anything_is_made(made):
    workload_inputs.find_room(made, 1, made.folder)
    with pytest.raises(BenchmarkError, match="takes about 1,000,000 GiB, and "):
        workload_inputs.find_room(made, 1_000_000, made.folder)


# ---- what disturbs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (Host(load=Load(busy=True, busy_cpus=1.5)), "1.50 CPUs are at work"),
        (Host(load=Load(steal_share=0.05)), "the hypervisor gives 5.0% of the CPUs' time"),
        (Host(governor="powersave"), "governor is powersave"),
        (Host(cpu_quota_cpus=1.5), "no more than 1.50 CPUs"),
        (Host(partial_cores=2), "of 2 cores another may use the second thread"),
        (Host(threads=8, usable_threads=4), "4 of 8 threads may be used"),
        (Host(virtual_machine="kvm"), "virtual machine (kvm)"),
    ],
)
def test_what_disturbs_is_said(host, words):
    (line,) = circumstances.of_machine(host)
    assert words in line


def test_a_quiet_machine_of_ones_own_has_nothing_said_of_it():
    quiet = Host(governor="performance", threads=8, usable_threads=8, virtual_machine="none", load=Load(busy=False))
    assert list(circumstances.of_machine(quiet)) == []


def calibrations(*arithmetic_s):
    return tuple(
        Calibration(at=packing.START + timedelta(minutes=at), arithmetic_s=seconds, memory_s=0.1)
        for at, seconds in enumerate(arithmetic_s)
    )


def test_a_machine_that_slows_down_is_noisy():
    assert drift(calibrations(0.1, 0.104)) == {"arithmetic": pytest.approx(0.04), "memory": 0}
    assert list(circumstances.of_session(calibrations(0.1, 0.104))) == []
    assert list(circumstances.of_session(calibrations(0.1, 0.12))) == [
        "noisy: the same arithmetic took 20% longer at times than at others"
    ]


# ---- the figure -------------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path):
    """The tables of a made-up study of N = 1 and 2, five repeats each after a warm-up."""
    return collect.of_one_machine(write_study(tmp_path / "study"))


def test_the_figure_is_that_of_the_best_n_beside_one_sample_alone(tables):
    line = result.of_tables(tables).line("made-1")
    figures = "; ".join(
        (
            r"made-1: \S+ ± \S+ samples a day at N = 2, on 2 cores",
            r"\S+ ± \S+ human genomes at 30x a day",
            r"one sample alone takes \S+ ± \S+ s",
            r"\S+ CPU s a gigabase",
            r"CPU utilisation 0\.\d+",
        )
    )
    assert re.fullmatch(figures, line), line


def test_samples_that_are_no_genomes_are_no_human_equivalents(tables):
    found = result.of_tables(tables)
    assert "human" not in replace(found, best=structs.replace(found.best, human_30x_per_day=Estimate())).line("made-1")


def test_where_two_samples_are_the_fewest_they_are_not_said_to_be_one(tables):
    two = [row for row in tables.configurations if row.n == 2]
    assert "; 2 samples alone take " in result.of_tables(replace(tables, configurations=two)).line("made-1")


def test_energy_is_told_where_every_run_that_counts_has_it(tables):
    counters = {"package-0": 9000.0, "package-0 dram": 1000.0}
    counted = [replace(one, energy_j=counters) for one in tables.records]
    found = result.of_tables(replace(tables, records=counted))
    assert found.energy_j == 5000, "of two samples"
    assert found.line("made-1").endswith("; 5.00 kJ a sample by counters of processors and memory")
    without = [replace(one, energy_j=None) if one.spec.repeat == 3 else one for one in counted]
    assert result.of_tables(replace(tables, records=without)).energy_j is None


def test_sessions_are_told_by_their_mean_and_the_outer_ends_of_their_intervals():
    found = result.of_sessions([Estimate(100.0, 95.0, 105.0, 5), Estimate(120.0, 112.0, 128.0, 5)])
    assert found == Estimate(110.0, 95.0, 128.0, 2)
    assert result.of_sessions([Estimate(100.0), Estimate(120.0, 112.0, 128.0, 5)]) == Estimate(110.0, n=2)
    assert result.of_sessions([Estimate(), Estimate(120.0, 112.0, 128.0, 5)]).value is None


# ---- the registry ------------------------------------------------------------------------------------------


class MadeWorkload(StandardWorkload):
    """A workload of which a made-up study is a session."""

    def samples(self, cores):
        return self.every_sample

    def concurrent(self, cores):
        return (1, 2)

    def input_digest(self, sample):
        return self.digests.get(sample, "")


@pytest.fixture
def session(tmp_path, monkeypatch):
    """What makes a session of a made-up workload, of a package that is changed before it is read, if so asked."""
    known: dict[str, StandardWorkload] = {}
    monkeypatch.setattr(workload, "names", lambda: list(known))
    monkeypatch.setattr(workload, "read", lambda name: known[name] if name in known else _none(name))
    monkeypatch.setattr(submission, "ACCEPTED", {"made": "made-1"})

    def make(change=None, calibrated=30, of=lambda given: given, **settings):
        folder = write_study(tmp_path / "runs" / "made-1", **({"name": "made-1", "profiles": PROFILES} | settings))
        lines = [json.dumps(CALIBRATION | {"at": f"2026-11-20T08:{at:02d}:00Z"}) for at in range(calibrated)]
        (folder / "calibration.jsonl").write_text("".join(f"{line}\n" for line in lines))
        package = pack.make(folder)
        path = tmp_path / "session-1.gpd.tar.gz"
        path.write_bytes((change(package) if change else package).to_bytes())
        found = Session.read(path)
        known["made-1"] = of(_workload_of(found))
        return found

    return make


CALIBRATION = {"arithmetic_s": 0.1, "memory_s": 0.1}


def _workload_of(session):
    """The workload that a session is of."""
    records = session.records
    own = records[0].settings
    fixed = WorkloadSettings(
        **{"pipeline": "germline", "takes": "", "gib": 1, "gib_shared": 1, "study": FIXED},
        reference_digest=own.reference_digest,
    )
    read = {name: one.digest for record in records for name, one in record.inputs.items()}
    workflows = frozenset({(own.workflow_digest, own.config_digest)})
    return MadeWorkload("made-1", registry.FOLDER, fixed, SAMPLES, read, workflows)


def _none(name):
    raise BenchmarkError(f"{name}: no such workload")


def refused(*sessions, entry=ENTRY):
    return {one.check: one.why for one in submission.judge(entry, sessions) if one.state == FAILS}


def later(session, **shift):
    """The same session at another time."""
    found = session.found
    by = timedelta(**shift)
    records = [replace(record, start=record.start + by, end=record.end + by) for record in found.tables.records]
    tables = replace(found.tables, records=tuple(records))
    return replace(session, name="session-2", evidence=replace(session.evidence, study=replace(found, tables=tables)))


def test_two_sessions_hours_apart_are_accepted(session):
    first = session()
    assert refused(first, later(first, hours=12)) == {}
    assert refused(first, later(first, minutes=30)).keys() == {"sessions"}
    assert refused(first).keys() == {"sessions"}


def edited_table(package):
    name = "tables/configurations.tsv"
    return packing.sealed(package, package.members | {name: package.members[name].replace(b"1\t", b"9\t", 1)})


def longer_read(package):
    """Another input, as reads of another length are."""
    name = "germline-n1-shared-compact-r1/run.json"
    record = json.loads(package.members[name])
    record["inputs"] = {sample: one | {"digest": "0" * 64} for sample, one in record["inputs"].items()}
    return recomputed(package, package.members | {name: json.dumps(record).encode()})


@pytest.mark.deep
@pytest.mark.parametrize(
    ("made", "check", "words"),
    [
        ({"name": "quick-0"}, "workload", "quick-0: no such workload"),
        ({"change": edited_table}, "package", "session-1: figures: tables/configurations.tsv line "),
        (
            {"of": lambda given: replace(given, digests=dict.fromkeys(SAMPLES, "0"))},
            "inputs",
            "its reads are not those of made-1",
        ),
        (
            {"of": lambda given: replace(given, digests={})},
            "workload",
            "made-1: a draft, whose inputs have no digests in the repository",
        ),
        (
            {"of": lambda given: replace(given, workflows=frozenset())},
            "workflow",
            "not a workflow of made-1: ",
        ),
        ({"repeats": 4, "speed": dict(list(SPEED.items())[:4])}, "plan", "repeats: 4, and made-1 has 5"),
        ({"calibrated": 3}, "calibration", "3 calibrations of "),
    ],
)
def test_another_workload_is_refused_by_its_line(session, made, check, words):
    first = session(**made)
    why = refused(first, later(first, hours=12))
    assert any(words in line for line in why[check]), why


def test_a_workload_to_try_out_the_command_is_refused(session, monkeypatch):
    first = session()
    monkeypatch.setattr(submission, "ACCEPTED", {"quick": "quick-1", "full": "full-1"})
    line = refused(first, later(first, hours=12))["workload"][0]
    assert line == "session-1: made-1: no results of it are accepted, but those of quick-1 and full-1"


def test_one_read_that_differs_is_refused(session):
    first = session(change=longer_read)
    assert "inputs" in refused(first, later(first, hours=12))


def test_an_open_entry_may_have_another_workflow(session):
    first = session(of=lambda given: replace(given, workflows=frozenset()))
    entry = replace(ENTRY, division="open", differs="mapper: bwa-mem4")
    assert refused(first, later(first, hours=12), entry=entry) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("machine: [", "entry.yaml: "),
        ("machine: x\nsubmitter: y", "interest"),
        ("machine: ''\nsubmitter: y\ninterest: none", "machine"),
        ("machine: x\nsubmitter: y\ninterest: none\ndivision: open", "differs: "),
        ("machine: x\nsubmitter: y\ninterest: none\nstatus: withdrawn", "note: an entry that is withdrawn says why"),
    ],
)
def test_an_entry_that_says_too_little_is_refused(tmp_path, text, words):
    (tmp_path / "entry.yaml").write_text(text)
    with pytest.raises(registry.RegistryError, match=words):
        registry.read_entry(tmp_path / "entry.yaml")


def test_a_cloud_has_its_price_with_its_day(tmp_path):
    (tmp_path / "entry.yaml").write_text(
        "machine: x\nsubmitter: y\ninterest: none\n"
        "cloud: {type: m7i.4xlarge, region: eu-central-1, price_per_hour: 0.9, currency: EUR, day: 2026-11-01}\n"
    )
    assert registry.read_entry(tmp_path / "entry.yaml").cloud.day == date(2026, 11, 1)


def test_names_of_the_registry_stand_for_packages(tmp_path):
    assert registry.resolved("runs/study", tmp_path) == ["runs/study"]
    with pytest.raises(registry.RegistryError, match="no entry yet"):
        registry.resolved("registry", tmp_path)
    for name, more in (("one", ""), ("two", "\nstatus: withdrawn\nnote: sold")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry.yaml").write_text(f"machine: x\nsubmitter: y\ninterest: none{more}")
        (tmp_path / name / "session-1.gpd.tar.gz").touch()
        (tmp_path / name / "session-2.gpd.tar.gz").touch()
    assert registry.resolved("registry", tmp_path) == [str(tmp_path / "one/session-1.gpd.tar.gz")]
    (two,) = registry.resolved("registry:two", tmp_path)
    assert two == str(tmp_path / "two/session-1.gpd.tar.gz")
    assert registry.label(two, tmp_path) == "registry:two" and registry.label("runs/study", tmp_path) == ""
    with pytest.raises(registry.RegistryError, match="registry:three: the registry has one, two"):
        registry.resolved("registry:three", tmp_path)


@pytest.mark.deep
def test_an_entry_is_checked_before_it_is_written(session, tmp_path, monkeypatch):
    session()
    folder = tmp_path / "run" / "made-1"
    folder.mkdir(parents=True)
    (tmp_path / "session-1.gpd.tar.gz").rename(folder / "session-1.gpd.tar.gz")
    monkeypatch.setattr(gpd_benchmark, "ROOT", tmp_path)
    monkeypatch.setattr(registry, "FOLDER", tmp_path / "registry")

    def submit(name):
        words = ["benchmark", "submit", name, "--directory", str(folder.parent), "--workload", "made-1"]
        return gpd(*words)

    assert "a name of small letters" in submit("My Machine").output
    assert "entry.yaml: written: fill it in" in submit("mine").output
    assert submit("mine").exit_code == 2, "what is left empty is refused"
    (folder / "entry.yaml").write_text("machine: two cores\nsubmitter: J. Doe\ninterest: none\n")
    one = submit("mine")
    assert one.exit_code == 1 and "1 session: measure again hours later" in one.output
    assert not (tmp_path / "registry").exists()
    monkeypatch.setattr(submission, "LEAST_SESSIONS", 1)
    done = submit("mine")
    assert done.exit_code == 0 and "git add registry/mine" in done.output
    assert sorted(path.name for path in (tmp_path / "registry/mine").iterdir()) == [
        "entry.yaml",
        "session-1.gpd.tar.gz",
    ]
    again = gpd("benchmark", "check", tmp_path / "registry/mine")
    assert again.exit_code == 0, again.output
    folder = folder.rename(folder.with_name("made-2"))
    other = gpd("benchmark", "submit", "mine", "--directory", folder.parent, "--workload", "made-2")
    assert other.exit_code == 2 and "an entry of made-1: take another name, as mine-made-2" in other.output
