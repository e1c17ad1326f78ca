"""Studies with the real tools: run to their end, measured by an outside clock, failing, and killed in mid-run."""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import random_sequence, sample_pairs, write_fastq
from launching import HANGS_S, Node, wait_until
from tuxedo_cohort import Experiment, tiny_experiment

from gpd.packages import checks, pack
from gpd.packages.check_verdicts import HOLDS
from gpd.packages.evidence import gather
from gpd.pipelines import PIPELINES
from gpd.records.decoding import decode
from gpd.records.run import RunRecord
from gpd.records.run_spec import CurveKey
from gpd.statistics.saturation import around, next_n
from gpd.statistics.stream_rate import LEAST_ENDS
from gpd.tables import collect, search
from gpd.tables.collect import Tables

pytestmark = pytest.mark.e2e

BOTH_MODES = ["shared", "independent"]
KILLED_RUN = "tuxedo-n1-shared-compact-r2"

LARGE = 120_000  # pairs of reads, which take some seconds
MIDDLE = 60_000  # pairs of reads, which take a second: time enough to be killed in
ABOVE_CHECKS = 45_000  # pairs of reads, uncompressed within gzip: a file above 8 MiB is not read before the start


@dataclass
class Lab:
    """A pool of samples and a study of it, with allocations and temporary files that no other test's jobs share."""

    folder: Path
    settings: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.temp = self.folder / "tmp"
        self.temp.mkdir()
        self.mark = f"GPD_RUNTIME_DIR={self.folder / 'allocations'}"
        self.environment = dict([*os.environ.items(), self.mark.split("=", 1), ("TMPDIR", str(self.temp))])
        self.write()

    def write(self, **changes: object) -> Path:
        """Write the study's settings, with changes to them."""
        pools = {"tuxedo": {"directory": str(self.folder)}}
        fixed = {"name": "study", "directory": str(self.folder / "runs"), "pipelines": pools}
        self.file = self.folder / "throughput.yaml"
        self.file.write_text(yaml.safe_dump({**fixed, "repeats": 1, "warm_up": 0, **self.settings, **changes}))
        return self.file

    @property
    def study(self) -> Path:
        return self.folder / "runs" / "study"

    def start(self, *words: object) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-m", "gpd", *map(str, words)], env=self.environment, **pipes)

    def gpd(self, *words: object) -> subprocess.CompletedProcess:
        with self.start(*words) as process:
            stdout, stderr = process.communicate(timeout=HANGS_S)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def run(self) -> subprocess.CompletedProcess:
        return self.gpd("throughput", "run", self.file)

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.study / "tables" / f"{name}.tsv", sep="\t")

    def records(self) -> dict[str, dict]:
        """The run.json of every run that has one."""
        paths = sorted(self.study.glob("*/run.json"))
        return {path.parent.name: json.loads(path.read_text()) for path in paths}

    def written(self) -> dict[str, tuple[int, int]]:
        """Which file each run.json is, and when it was written: the same only where nobody wrote it anew."""
        found = {path.parent.name: path.stat() for path in self.study.glob("*/run.json")}
        return {spec: (stat.st_ino, stat.st_mtime_ns) for spec, stat in found.items()}

    def ledgers(self, spec: str) -> list[Path]:
        return sorted((self.study / spec).rglob("ledger.jsonl"))

    def check_ledgers(self, spec: str) -> None:
        for path in self.ledgers(spec):
            checked = self.gpd("ledger", "check", path.parent)
            assert checked.returncode == 0, checked.stdout

    def processes(self, *marks: str) -> list[int]:
        """The processes of this lab with these variables in their environment, whatever has become of their parents."""
        return [pid for pid, variables in environments() if all(has(variables, mark) for mark in (self.mark, *marks))]


def environments() -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                yield int(path.name), b"\0" + (path / "environ").read_bytes()
            except OSError:
                continue  # it has ended


def has(variables: bytes, mark: str) -> bool:
    return f"\0{mark}".encode() in variables


def records_of(ledger: Path) -> list[dict]:
    return [json.loads(line) for line in ledger.read_text().splitlines()]


def pool(folder: Path, samples: tuple[str, ...]) -> Experiment:
    """A pool of tiny samples that are counted against the annotation alone: two steps each, half a second."""
    made = tiny_experiment(folder, samples, lanes=1)
    made.config |= {"stop_after": "quantify", "assembly": "reference_only"}
    made.write()
    return made


def enlarge(experiment: Experiment, sample: str, pairs: int, level: int) -> list[Path]:
    """Give a sample more reads of the same genome; its files."""
    both = sample_pairs(random_sequence(2000, seed=1), pairs, seed=3)
    files = [experiment.folder / "reads" / f"{sample}_L1_R{mate}.fq.gz" for mate in (1, 2)]
    return [write_fastq(path, reads, level) for path, reads in zip(files, both, strict=True)]


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 95 // 100])


def one_line(printed: str) -> str:
    (line,) = printed.splitlines()
    return line


# ---- a study to its end ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Twice:
    """A study that ran to its end, and the same command given while it was at work."""

    lab: Lab
    first: subprocess.CompletedProcess
    meanwhile: subprocess.CompletedProcess


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    folder = tmp_path_factory.mktemp("finished")
    pool(folder, ("A1", "B1"))
    lab = Lab(folder, {"concurrent_samples": [1, 2], "modes": BOTH_MODES})
    with lab.start("throughput", "run", lab.file) as process:
        wait_until(lambda: (lab.study / "reference").exists() or process.poll() is not None, timeout_s=HANGS_S)
        meanwhile = lab.run()
        stdout, stderr = process.communicate(timeout=HANGS_S)
    return Twice(lab, subprocess.CompletedProcess((), process.returncode, stdout, stderr), meanwhile)


def test_a_study_runs_to_its_end(twice: Twice) -> None:
    lab, study = twice.lab, twice.lab.study
    assert twice.first.returncode == 0, twice.first.stderr
    records = lab.records()
    assert set(records) == {f"tuxedo-n{n}-{mode}-r1" for n in (1, 2) for mode in ("shared-compact", "independent-none")}
    for spec, record in records.items():
        assert decode(json.dumps(record), RunRecord).spec.name == spec
        assert {each["exit_code"] for each in record["processes"]} == {0}
        assert len(record["processes"]) == (record["spec"]["n"] if record["spec"]["mode"] == "independent" else 1)
        assert not [path for path in (study / spec).rglob("*") if path.name in ("results", ".snakemake", "tmp")]
        for ledger in lab.ledgers(spec):
            assert (ledger.parent / "logs").is_dir()
    assert set(lab.table("runs").run) == set(records)
    assert list(lab.table("runs").succeeded) == list(lab.table("runs").n)
    assert lab.table("jobs").exit_code.eq(0).all()
    assert "tuxedo" in (study / "report.html").read_text()
    assert not list(lab.temp.iterdir()), "temporary files are left"


def test_samples_agree_between_modes(twice: Twice) -> None:
    found: dict[tuple, dict[str, str]] = {}
    for spec, record in twice.lab.records().items():
        for output in record["outputs"]:
            found.setdefault((output["kind"], *output["samples"]), {})[spec] = output["digest"]
    # the sample of N = 1 ran in all runs, the other of N = 2 in two
    assert sorted(map(len, found.values())) == [2, 4]
    assert all(len(set(digests.values())) == 1 for digests in found.values())
    assert "disagree" not in twice.first.stdout


def test_shared_jobs_have_cpus_of_their_own_and_independent_ones_none(twice: Twice) -> None:
    jobs = twice.lab.table("jobs")
    shared, independent = (jobs[jobs["mode"] == mode] for mode in BOTH_MODES)
    assert len(shared) and shared.binding_ok.eq(True).all() and shared.cpus.notna().all()
    assert len(independent) and independent.binding_ok.isna().all() and independent.cpus.isna().all()
    for spec in twice.lab.records():
        twice.lab.check_ledgers(spec)


def test_a_study_at_work_is_not_run_twice(twice: Twice) -> None:
    assert twice.meanwhile.returncode == 2
    assert "another gpd throughput run is at work here (pid " in one_line(twice.meanwhile.stderr)


def test_a_finished_study_is_left_as_it_is(twice: Twice) -> None:
    before = twice.lab.written()
    again = twice.lab.run()
    assert again.returncode == 0, again.stderr
    assert not [line for line in again.stdout.splitlines() if line.startswith("run ")]
    assert twice.lab.written() == before


def test_the_package_of_a_study_holds(twice: Twice) -> None:
    found = {verdict.check: verdict for verdict in checks.judge(gather(pack.make(twice.lab.study)))}
    for name in ("digests", "figures", "ledgers", "at once", "failures", "pinning", "complete", "every run"):
        assert found[name].state == HOLDS, found[name]


@pytest.mark.long
def test_a_search_ends_and_what_it_found_is_measured_anew(twice: Twice) -> None:
    lab, line = twice.lab, CurveKey("tuxedo", "shared", "compact")
    lab.write(name="searched", concurrent_samples="saturation", modes=["shared"])
    searched = lab.run()
    lab.write()
    assert searched.returncode == 0, searched.stderr
    tables = collect.collect(lab.study.with_name("searched"))
    curve = [*search.observations(tables)[line].values()]
    assert next_n(curve, limit=2, tolerance=0.025) is None
    assert [point.n for point in tables.configurations] == [*around(curve, tolerance=0.025)]
    assert "sought with one run an N" in searched.stdout


@pytest.mark.long
def test_a_share_of_the_reads_is_measured_on_copies_of_two_genomes(twice: Twice) -> None:
    lab = twice.lab
    part = {"subsample": {"fraction": 0.5}, "copies": 2}
    lab.write(name="part", concurrent_samples=[4], modes=["shared"], **part)
    ran = lab.run()
    lab.write()
    assert ran.returncode == 0, ran.stderr
    assert "on 50% of the reads of each sample; 2 samples of each genome" in " ".join(ran.stdout.split())
    study = lab.study.with_name("part")
    (whole,), (record,) = (
        [one for one in collect.collect(folder).records if one.spec.n == n and one.spec.mode == "shared"]
        for folder, n in ((lab.study, 2), (study, 4))
    )
    assert set(record.inputs) == {"A1", "A1.copy2", "B1", "B1.copy2"}
    for name, own in record.inputs.items():
        assert own.reads == record.inputs[name.removesuffix(".copy2")].reads
        assert own.reads == pytest.approx(0.5 * whole.inputs[name.removesuffix(".copy2")].reads, rel=0.4)
    found = {verdict.check: verdict for verdict in checks.judge(gather(pack.make(study)))}
    for name in ("digests", "figures", "at once", "failures", "complete", "every run"):
        assert found[name].state == HOLDS, found[name]


# ---- streams -----------------------------------------------------------------------------------------


def streamed(lab: Lab, name: str, **settings: object) -> Tables:
    """A study of streams, run to its end; its tables."""
    lab.write(name=name, modes=["stream"], concurrent_samples=[2], **settings)
    ran = lab.run()
    lab.write()
    assert ran.returncode == 0, ran.stderr
    assert "Streams: N samples always in flight" in ran.stdout
    return collect.collect(lab.study.with_name(name))


def check_streams(study: Path, tables: Tables) -> None:
    """Each stream keeps to its N, its completions are those that its record times, and its package holds."""
    for row, record in zip(tables.streams, tables.records, strict=True):
        ended = [one.passage.ended_s for one in record.processes]
        inside = [at for at in ended if row.warm_up_s < at <= row.warm_up_s + row.window_s]
        assert row.failed == 0 and row.completed == len(inside)
        assert row.genomes_per_day == pytest.approx(24 * 3600 * len(inside) / row.window_s)
        assert {one.exit_code for one in record.processes} == {0}
        assert not [path for path in (study / row.run).rglob("results") if path.is_dir()]
    found = {verdict.check: verdict for verdict in checks.judge(gather(pack.make(study)))}
    for name in ("digests", "figures", "ledgers", "at once", "failures", "pinning", "complete", "every run"):
        assert found[name].state == HOLDS, found[name]


@pytest.mark.long
def test_a_stream_keeps_n_samples_in_flight(twice: Twice) -> None:
    tables = streamed(twice.lab, "full", window="0.6m", window_warm_up="0.1m")
    (full,) = tables.streams
    assert full.completed >= LEAST_ENDS and full.busy_share > 0.9
    assert full.started > full.n and not tables.configurations
    check_streams(twice.lab.study.with_name("full"), tables)


# ---- an outside clock, and a sample that fails while it runs -----------------------------------------


class OutsideClock(threading.Thread):
    """Looks at the processes of every job, by the mark in their environment, from without."""

    INTERVAL_S = 0.02

    def __init__(self, mark: str) -> None:
        super().__init__(daemon=True)
        self.mark, self.over, self.looked = mark, threading.Event(), time.monotonic()
        self.began: dict[str, tuple[float, float]] = {}
        self.ended: dict[str, tuple[float, float]] = {}
        self.running: set[str] = set()

    def run(self) -> None:
        while not self.over.wait(self.INTERVAL_S):
            before = time.monotonic()
            seen = {job for _, variables in environments() if has(variables, self.mark) and (job := job_of(variables))}
            now = time.monotonic()
            for job in seen - self.running:
                self.began.setdefault(job, (self.looked, now))
            for job in self.running - seen:
                self.ended[job] = (self.looked, now)
            self.running, self.looked = seen, before

    def makespan_s(self, jobs: set[str]) -> tuple[float, float]:
        """From the first job's start to the last one's end, and how far off that may be: half of each gap."""
        begun, over = min(self.began[job] for job in jobs), max(self.ended[job] for job in jobs)
        return (sum(over) - sum(begun)) / 2, (over[1] - over[0] + begun[1] - begun[0]) / 2


def job_of(variables: bytes) -> str:
    return variables.partition(b"\0GPD_JOB=")[2].partition(b"\0")[0].decode()


@dataclass(frozen=True)
class Measured:
    """A study of one configuration, some seconds long, with a good sample and a bad one, watched from without."""

    lab: Lab
    clock: OutsideClock
    ran: subprocess.CompletedProcess
    spec = "tuxedo-n2-shared-compact-r1"

    def table(self, name: str) -> pd.DataFrame:
        """What the run of both samples left in a table of the study."""
        table = self.lab.table(name)
        return table[table["run"] == self.spec]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("measured")
    experiment = pool(folder, ("GOOD", "BAD"))
    enlarge(experiment, "GOOD", LARGE, level=1)
    cut(enlarge(experiment, "BAD", ABOVE_CHECKS, level=0)[0])
    lab = Lab(folder, {"concurrent_samples": [2]})
    clock = OutsideClock(lab.mark)
    clock.start()
    ran = lab.run()
    clock.over.set()
    clock.join()
    return Measured(lab, clock, ran)


@pytest.mark.long
def test_the_makespan_is_that_of_an_outside_clock(measured: Measured, figure: Callable[[str], None]) -> None:
    (run,) = measured.table("runs").itertuples()
    (ledger,) = measured.lab.ledgers(measured.spec)
    attempts = [record for record in records_of(ledger) if record["step"] in PIPELINES["tuxedo"].steps]
    timed = {record["id"] for record in attempts if record["attempt"] == 1}  # what failed for its data is not run again
    assert len(timed) == 3
    outside_s, gap_s = measured.clock.makespan_s(timed)
    clocks = f"{run.makespan_s:.3f} s, by an outside clock {outside_s:.3f} s, give or take {gap_s:.3f} s"
    figure(f"makespan of a run: {clocks}")
    assert run.makespan_s == pytest.approx(outside_s, abs=0.01 * outside_s + 0.05 + gap_s)


def test_the_ledgers_cpu_time_is_that_of_the_operating_system(
    measured: Measured, figure: Callable[[str], None], tmp_path: Path
) -> None:
    record = measured.lab.records()[measured.spec]
    (run,) = measured.table("runs").itertuples()
    jobs = len(measured.table("jobs"))
    below_s = record["cpu_s"] - record["snakemake_cpu_s"]
    figure(
        f"CPU time of {jobs} jobs: {run.ledger_cpu_s:.2f} s in the ledger; the operating system counted {below_s:.2f} s"
        f" below Snakemake, which took {record['snakemake_cpu_s']:.2f} s itself"
    )
    outside_ledger_s = below_s - run.ledger_cpu_s
    assert outside_ledger_s >= -0.02, "the kernel counts hundredths"
    assert outside_ledger_s <= 0.02 * below_s + 2 * launcher_cpu_s(tmp_path) * jobs, "the rest is the launchers' own"


def launcher_cpu_s(folder: Path) -> float:
    """The CPU seconds of a launcher whose job does nothing, as busy as the machine is now: the median of five."""
    node = Node(folder)

    def cpu_s() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert node.run("true")[0] == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(cpu_s() for _ in range(5))


def test_a_sample_that_fails_is_named_and_counts_nothing(measured: Measured) -> None:
    (run,) = measured.table("runs").itertuples()
    assert (run.samples, run.succeeded, run.failed) == (2, 1, 1)
    assert run.failures == "BAD: align: signal"
    assert run.genomes_per_day == pytest.approx(24 * 3600 / run.makespan_s)
    bad, good = measured.table("samples").sort_values("sample").itertuples()
    assert (bad.failed_step, good.succeeded) == ("align", True)
    assert "BAD_L1_R1.fq.gz: damaged or truncated" in bad.message
    report = (measured.lab.study / "report.html").read_text()
    assert any("BAD" in line and "damaged or truncated" in line for line in report.splitlines())
    record = measured.lab.records()[measured.spec]
    assert {tuple(output["samples"]) for output in record["outputs"]} == {("GOOD",)}


def test_a_study_stops_at_a_sample_that_fails_alone_too(measured: Measured) -> None:
    alone = "tuxedo-n1-shared-compact-alone-BAD"
    assert set(measured.lab.records()) == {measured.spec, alone}
    samples = measured.lab.table("samples").set_index(["run", "sample"])
    assert samples.loc[measured.spec, "BAD"].fault == samples.loc[alone, "BAD"].fault == "data"
    assert measured.ran.returncode == 2
    (line,) = measured.ran.stderr.splitlines()
    assert "tuxedo: BAD fails alone, too: align: " in line and "BAD_L1_R1.fq.gz" in line
    assert "): drop it from the pool, and give the study another name" in line
    report = (measured.lab.study / "report.html").read_text()
    assert "Bad data, for they fail wherever drawn, alone too: BAD." in report


def test_reads_that_the_checks_refuse_stop_the_study_before_its_first_run(tmp_path: Path) -> None:
    pool(tmp_path, ("A1", "B1"))
    cut(tmp_path / "reads" / "B1_L1_R2.fq.gz")
    lab = Lab(tmp_path, {"concurrent_samples": [1]})
    refused, dry = lab.run(), lab.gpd("throughput", "run", lab.file, "--dry-run")
    assert refused.returncode == dry.returncode == 2
    assert refused.stderr == dry.stderr
    line = one_line(refused.stderr)
    assert "sample B1" in line
    assert str(tmp_path / "reads" / "B1_L1_R2.fq.gz") in line
    assert not list(lab.study.glob("*/spec.json"))


# ---- kill -9 -----------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A study of two runs, each with a job of a second or more; what a failed test leaves running is ended."""
    enlarge(pool(tmp_path, ("A1",)), "A1", MIDDLE, level=1)
    made = Lab(tmp_path, {"concurrent_samples": [1], "repeats": 2})
    yield made
    kill_at_once(made.processes())


def start_until_second_run(lab: Lab) -> subprocess.Popen:
    """Run the study until a tool is at work in its second run."""
    process = lab.start("throughput", "run", lab.file)
    marks = (f"GPD_RUN={KILLED_RUN}", "GPD_JOB=")
    wait_until(lambda: lab.processes(*marks) or process.poll() is not None, timeout_s=HANGS_S)
    assert process.poll() is None, process.communicate()
    return process


def kill_at_once(pids: list[int]) -> None:
    """Stop all of them first, so that none sees another die."""
    for signum in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)


@pytest.mark.long
def test_a_killed_study_resumes_and_its_tables_say_nothing_false(lab: Lab) -> None:
    first_run = KILLED_RUN.removesuffix("2") + "1"
    with start_until_second_run(lab) as process:
        process.kill()
    wait_until(lambda: not lab.processes(), timeout_s=5)
    before = lab.written()
    assert list(before) == [first_run]
    assert list(lab.temp.iterdir()), "it was cut off, and left its temporary files"

    assert lab.gpd("report", lab.study).returncode == 0
    for name in ("jobs", "samples", "steps", "runs"):
        assert set(lab.table(name).run) == {first_run}
    assert KILLED_RUN in (lab.study / "report.html").read_text().partition("<h2>Not finished")[2]

    with start_until_second_run(lab) as process:
        kill_at_once(lab.processes())
    assert not (lab.study / KILLED_RUN / "run.json").exists()

    ran = lab.run()
    assert ran.returncode == 0, ran.stderr
    assert lab.written()[first_run] == before[first_run]
    assert list(lab.table("runs").run) == [first_run, KILLED_RUN]
    assert not list(lab.temp.iterdir())
    check_that_only_the_last_run_counts(lab)


def check_that_only_the_last_run_counts(lab: Lab) -> None:
    """The job that was killed with its launcher was recorded before its run was cleared, and run again."""
    (ledger,) = lab.ledgers(KILLED_RUN)
    record = lab.records()[KILLED_RUN]
    assert {each["run"] for each in records_of(ledger)} == {record["run"]}
    jobs = lab.table("jobs")
    assert jobs.exit_code.eq(0).all()
    assert len(jobs[jobs.run == KILLED_RUN]) == len(records_of(ledger))
    run = lab.table("runs").set_index("run").loc[KILLED_RUN]
    assert (run.succeeded, run.failed) == (1, 0)
    assert run.makespan_s < run.wall_s
    for spec in lab.records():
        lab.check_ledgers(spec)
