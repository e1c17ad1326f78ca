"""One run: how its folder is laid out, what is recorded and when; a small script stands in for Snakemake."""

import json
import mmap
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT
from launching import wait_until

from gpd.lab import disk_room, page_cache, preparation, provenance, single_run
from gpd.lab.digests import DigestError
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import REFERENCE, Setup, StudyRunError
from gpd.machines.topology import Layout, Policy
from gpd.records.node import Core
from gpd.records.run import Settings, read_run
from gpd.records.run_spec import RunSpec, StepCopies
from gpd.records.study import read_starts
from gpd.text.cpu_lists import count_cpus

# `python -m snakemake`, with what the workflow would write: a record a step and sample, one by a stranger, and a call
# set of each sample. What a test wants besides is run at its start or its end.
SNAKEMAKE = """\
import json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--directory") + 1])
fails, at_end = os.environ.get("FAILS", ""), os.environ.get("AT_END", "")
folder.joinpath("arguments.json").write_text(json.dumps(sys.argv[1:]))
exec(os.environ.get("AT_START", ""))
print("Using workflow specific profile here for setting default command line arguments.")
if fails == "all":
    sys.exit("units.tsv line 2: sample S1: fq1 S1_1.fq is cut off")
pathlib.Path(os.environ["TMPDIR"], "left").write_text("x")
told = [os.environ.get(name, "as set up") for name in ("GATK_CLASS_ARCHIVE", "_JAVA_OPTIONS")]
folder.joinpath("of_jvms").write_text(" ".join(told))
samples = folder.joinpath("config/samples.tsv").read_text().split()[1:]
with folder.joinpath("ledger.jsonl").open("a") as ledger:
    for sample in samples:
        steps = ("map_and_sort", "mark_duplicates", "base_recalibration", "haplotype_caller", "genotype_gvcfs")
        for step, run in [(step, os.environ["GPD_RUN"]) for step in steps] + [("hard_filter", "a run that was killed")]:
            code = 1 if sample == fails or run != os.environ["GPD_RUN"] else 0
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            ledger.write(json.dumps({
                "schema": 1, "run": run, "rule": step, "step": step, "wildcards": {"sample": sample},
                "threads": 1, "start": now, "end": now, "wall_s": 0.0, "exit_code": code, "message": None, "log": "l",
                "cpus": "0", "memory_applied": "local",
            }) + "\\n")
        calls = folder / "results/hard_filter" / f"{sample}.vcf.gz"
        calls.parent.mkdir(exist_ok=True)
        calls.write_text("#CHROM\\t" + "\\t".join(str(n) for n in range(8)) + f"\\t{sample}\\n")
exec(at_end)
sys.exit(1 if fails else 0)
"""

# keys by which the workflow estimates what samples take of the disk
OF_DISK = {
    **{"bqsr": "gatk", "quantize": [], "alignment_format": "bam", "reblock": False, "gvcf": True},
    **{"realigner": "none", "bam_input": "keep", "duplicates": "sambamba", "scatter": "none", "trim": "none"},
}


# keys that records tell of
MADE_WITH = {"pipeline": "germline", "mapper": "bwa", "filter": "hard", "preset": "gatk-best-practices"}


@pytest.fixture(autouse=True)
def a_short_look(monkeypatch):
    """Measure the load before a run for an instant, where users' runs take a second."""
    monkeypatch.setattr(single_run.this_host, "look", partial(single_run.this_host.look, window_s=0.02))


@pytest.fixture
def setup(tmp_path):
    """Two samples of the germline pipeline, and a reference that is made."""
    reads = {name: [tmp_path / f"{name}_{mate}.fq" for mate in (1, 2)] for name in ("S1", "S2")}
    for files in reads.values():
        for path in files:
            path.write_text("@r\nA\n+\nI\n")
    units = [
        {"sample_name": name, "unit_name": "L1", "fq1": str(one), "fq2": str(two)} for name, (one, two) in reads.items()
    ]
    config = {"pipeline": "germline", **OF_DISK}
    source = Source(config, tuple({"sample_name": name} for name in reads), tuple(units))
    made = Setup(tmp_path / "study", source, Settings(), mem_mb=1000, keep_results=False, lock=0)
    reference = made.prepared / REFERENCE
    reference.mkdir(parents=True)
    (reference / "genome.fa").write_text(">chr1\nA\n")
    return made


@pytest.fixture
def spec(setup):
    return RunSpec(
        **{"study": "study", "name": "germline-n2-shared-compact-r1", "pipeline": "germline", "n": 2},
        **{"mode": "shared", "binding": "compact", "repeat": 1, "warm_up": False, "samples": ("S2", "S1")},
        **{"seed": 1, "cache": "as_is", "cores": 2, "threads": {"map_and_sort": 7}, "profile": "profiles/throughput"},
        **{"config": "config/config.yaml", "directory": "."},
    )


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    """Put the script in Snakemake's place; what it is to do, besides, it is told by the environment."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "snakemake.py").write_text(SNAKEMAKE)
    (tmp_path / "temp").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setattr(single_run.tempfile, "tempdir", str(tmp_path / "temp"))
    return monkeypatch.setenv


def independent(spec):
    return replace(spec, name="germline-n2-independent-none-r1", mode="independent", binding="none", threads={})


def run(spec, setup):
    single_run.run(spec, setup, lambda sample, state: None)
    return json.loads((setup.folder / spec.name / "run.json").read_text())


# ---- the record --------------------------------------------------------------------------------------


def test_a_shared_run_is_one_run_and_its_record_is_whole(spec, setup, snakemake):
    record = run(spec, setup)
    assert read_run(setup.folder / record["spec"]["name"] / "run.json").run == record["run"]
    assert record["spec"] == json.loads((setup.folder / spec.name / "spec.json").read_text())
    assert record["processes"] == [{"directory": ".", "samples": ["S2", "S1"], "exit_code": 0, "passage": None}]
    assert record["run"].startswith(f"{spec.name}-")
    assert record["host"]["hostname"] == socket.gethostname()
    assert set(record["inputs"]) == {"S1", "S2"}
    assert record["inputs"]["S1"]["mib"] == pytest.approx(16 / 1024**2, abs=1e-3)
    assert record["cpu_s"] >= record["snakemake_cpu_s"] > 0, "an interpreter that starts takes some hundredths"
    assert record["wall_s"] > 0


@pytest.mark.deep
def test_without_smt_a_run_that_is_not_bound_keeps_to_the_first_thread_of_each_core(
    spec, setup, snakemake, monkeypatch
):
    """The cores are made up: this machine may have no second threads."""
    usable = sorted(os.sched_getaffinity(0))
    one_core = Layout(Policy(1, "compact", "l3", smt=False), (Core(tuple(usable), 0, 0, 0),), ())
    monkeypatch.setattr(single_run.launcher, "lay_out", lambda policy: one_core)
    snakemake("AT_START", "folder.joinpath('cpus').write_text(str(sorted(os.sched_getaffinity(0))))")
    name = "germline-n2-independent-none-nosmt-r1"
    record = run(replace(independent(spec), name=name, binding="none-nosmt"), setup)
    assert record["cpus"] == str(usable[0])
    assert (setup.folder / name / "samples/S1/cpus").read_text() == str(usable[:1])
    assert record["binding"] is None
    every = run(independent(spec), setup)
    assert count_cpus(every["cpus"]) == len(usable)


@pytest.mark.deep
def test_a_run_on_another_machine_than_those_before_is_refused(spec, setup, snakemake):
    path = setup.folder / spec.name / "run.json"
    before = run(spec, setup)
    assert before["host"]["cpu_flags"]
    path.write_text(json.dumps(before | {"host": before["host"] | {"cpu_flags": "0123456789abcdef"}}))
    later = replace(spec, name="germline-n2-shared-compact-r2", repeat=2)
    with pytest.raises(StudyRunError, match="its runs ran on another machine than this: CPU flags: 0123456789abcdef"):
        run(later, setup)
    assert not (setup.folder / later.name / "run.json").exists()
    path.write_text(json.dumps(before))
    assert run(later, setup)["host"]["cpu_flags"] == before["host"]["cpu_flags"]


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["shared", "independent"])
def test_what_others_took_of_the_machine_is_recorded_bound_or_not(spec, setup, snakemake, mode):
    """A process of the test's own is at work for as long as the run."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        snakemake("AT_START", "time.sleep(1)")
        use = run(spec if mode == "shared" else independent(spec), setup)["machine_use"]
    finally:
        busy.kill()
        busy.wait()
    assert use["other_cpu_s"] > 0.1
    assert use["cpu_contention"] is True


@pytest.mark.parametrize(("index", "genome_mb"), [("chr1\t1500000\t6\nchr2\t250000\t9\n", 1.75), (None, None)])
def test_the_length_of_the_genome_is_recorded_where_it_is_known(spec, setup, snakemake, index, genome_mb):
    if index:
        (setup.prepared / REFERENCE / "genome.fa.fai").write_text(index)
    assert run(spec, setup).get("genome_mb") == genome_mb


@pytest.mark.deep
def test_a_binding_that_sets_boundary_and_memory_is_set_and_recorded(spec, setup, snakemake):
    bound = replace(spec, name="germline-n2-shared-scatter-numa-local-r1", binding="scatter-numa-local")
    names = ("BINDING", "BOUNDARY", "MEMORY", "SMT")
    text = f"' '.join(os.environ['SNAKEMAKE_PINNED_' + name] for name in {names})"
    snakemake("AT_START", f"folder.joinpath('bound').write_text({text})")
    record = run(bound, setup)
    assert (setup.folder / bound.name / "bound").read_text() == "scatter numa local False"
    assert record["binding"] == {"boundary": "numa", "memory": "local", "smt": False, "stall_s": 0}
    assert record["spec"]["binding"] == "scatter-numa-local"
    assert run(spec, setup)["binding"] == {"boundary": "l3", "memory": "default", "smt": False, "stall_s": 0}


def test_an_independent_run_is_a_run_a_sample(spec, setup, snakemake):
    record = run(independent(spec), setup)
    assert read_run(setup.folder / record["spec"]["name"] / "run.json").run == record["run"]
    assert [(process["directory"], process["samples"]) for process in record["processes"]] == [
        ("samples/S2", ["S2"]),
        ("samples/S1", ["S1"]),
    ]
    assert [output["samples"] for output in record["outputs"]] == [["S2"], ["S1"]]


def test_a_run_that_has_no_room_is_not_begun(spec, setup, snakemake, monkeypatch, tmp_path):
    """Of independent pipelines all are at work at once, of a shared one a sample at least."""
    need = {"kept": 0.0, "results": 1.0 * shutil.disk_usage(tmp_path).free, "temporary": 0.0}
    need["both"] = need["results"]
    found = disk_room.DiskEstimate(1.3, {"S1": need, "S2": need})
    monkeypatch.setattr(disk_room, "estimate", lambda source, samples: found)
    run(spec, setup)
    with pytest.raises(disk_room.RoomError, match="no room on the disk: 2 samples leave"):
        run(independent(spec), setup)
    assert not (setup.folder / independent(spec).name / "samples/S1/arguments.json").exists()
    assert not single_run.is_finished(setup.folder, independent(spec))


@pytest.mark.deep
def test_jvms_of_independent_pipelines_start_as_they_come(spec, setup, snakemake):
    for one in (spec, independent(spec)):
        run(one, setup)
    told = {path.parent.name: path.read_text() for path in setup.folder.rglob("of_jvms")}
    as_they_come = " -XX:+TieredCompilation -XX:TieredStopAtLevel=4"
    assert told == {spec.name: "as set up as set up", "S1": as_they_come, "S2": as_they_come}


def test_only_jobs_of_this_run_say_what_came_of_a_sample(spec, setup, snakemake):
    """After each of its records there is one, of a failure, that a launcher wrote for an earlier run."""
    assert [output["samples"] for output in run(spec, setup)["outputs"]] == [["S1"], ["S2"]]


def test_a_sample_that_fails_is_part_of_the_result(spec, setup, snakemake):
    snakemake("FAILS", "S1")
    record = run(spec, setup)
    assert record["processes"][0]["exit_code"] == 1
    assert [output["samples"] for output in record["outputs"]] == [["S2"]]


def test_of_a_run_that_was_killed_no_output_is_recorded(spec, setup, snakemake):
    """Its samples may have been cut off anywhere, although no job of theirs failed."""
    snakemake("AT_END", "os.kill(os.getpid(), 9)")
    record = run(spec, setup)
    assert (record["processes"][0]["exit_code"], record["outputs"]) == (-9, [])


@pytest.mark.parametrize("keep", [False, True])
def test_results_go_unless_they_are_kept(spec, setup, snakemake, keep):
    run(spec, replace(setup, keep_results=keep))
    folder = setup.folder / spec.name
    assert (folder / "results").exists() == keep
    assert (folder / "ledger.jsonl").exists()
    assert (setup.prepared / REFERENCE / "genome.fa").exists(), "the link to the reference goes, not what it is"


def test_a_run_without_a_single_job_is_a_fault_and_leaves_no_record(spec, setup, snakemake):
    snakemake("FAILS", "all")
    with pytest.raises(StudyRunError) as error:
        run(spec, setup)
    assert str(error.value) == "units.tsv line 2: sample S1: fq1 S1_1.fq is cut off"
    assert not single_run.is_finished(setup.folder, spec)


def test_a_run_that_says_nothing_is_a_fault_with_its_exit_code(spec, setup, snakemake):
    snakemake("AT_START", "os._exit(7)")
    with pytest.raises(StudyRunError, match="Snakemake ended with exit code 7 and printed no reason"):
        run(spec, setup)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["spec.json", "run.json", "samples.tsv"])
@pytest.mark.parametrize("broken", [(os, "fsync"), (Path, "replace")], ids=str)
def test_a_file_of_a_run_is_there_whole_or_not_at_all(spec, setup, snakemake, monkeypatch, broken, name):
    """Ctrl-C may come while it is written, and the next command reads what the study has."""
    original = getattr(*broken)

    def interrupted(file, *arguments):
        path = Path(f"/proc/self/fd/{file}").readlink() if isinstance(file, int) else file
        if name in path.name:
            raise KeyboardInterrupt
        return original(file, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(*broken, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(spec, setup)
    assert not list(setup.folder.rglob(f"*{name}*"))
    assert not single_run.is_finished(setup.folder, spec)
    assert run(spec, setup), "and the run runs again"


@pytest.mark.deep
def test_results_are_checked_before_the_record_and_each_start_and_end_is_noted(spec, setup, snakemake):
    runs = [run(spec, setup)["run"]]
    snakemake("AT_END", "calls.write_bytes(bytes.fromhex('1f8b0800'))")
    with pytest.raises(DigestError, match="damaged or cut short"):
        run(spec, setup)
    assert not single_run.is_finished(setup.folder, spec)
    snakemake("AT_END", "")
    runs.append(run(spec, setup)["run"])
    first, cut_off, last = read_starts(setup.folder)
    assert {start.name for start in (first, cut_off, last)} == {spec.name}
    assert [first.run, last.run] == runs
    assert first.began < first.ended < cut_off.began < last.began < last.ended
    assert cut_off.ended is None


# ---- one step, in copies -----------------------------------------------------------------------------


@pytest.fixture
def copies(spec, setup):
    """Two copies of a step of one sample, with what the rules before it have made."""
    (setup.prepared / "results/map_and_sort").mkdir()
    (setup.prepared / "results/mark_duplicates").mkdir()
    step = StepCopies(
        name="mark_duplicates",
        threads=1,
        occupancy="full",
        copies=2,
        rules=("mark_duplicates",),
        targets=("results/mark_duplicates/S1.bam",),
    )
    return replace(spec, name="mark_duplicates-t1-compact-full-r1", n=1, samples=("S1",), step=step)


def test_each_copy_of_a_step_is_a_run_of_its_own_with_its_share(copies, setup, snakemake):
    snakemake(
        "AT_START", "print('linked:', *sorted(path.name for path in folder.glob('results/*') if path.is_symlink()))"
    )
    record = run(copies, setup)
    folder = setup.folder / copies.name
    assert [(each["directory"], each["samples"]) for each in record["processes"]] == [
        *(("copies/1", ["S1"]), ("copies/2", ["S1"]))
    ]
    assert read_run(folder / "run.json").spec == copies
    for copy in ("copies/1", "copies/2"):
        words = json.loads((folder / copy / "arguments.json").read_text())
        assert words[words.index("--allowed-rules") :] == [
            "--allowed-rules",
            "mark_duplicates",
            "--",
            *copies.step.targets,
        ]
        assert words[words.index("--resources") + 1] == "mem_mb=500"
        assert "linked: map_and_sort reference" in (folder / copy / "snakemake.log").read_text()


def test_a_step_that_fails_is_told_with_its_log_and_has_no_record(copies, setup, snakemake):
    snakemake("FAILS", "S1")
    with pytest.raises(StudyRunError, match=r"mark_duplicates: None \(log: .*copies/1/l\)"):
        run(copies, setup)
    assert not single_run.is_finished(setup.folder, copies)


# ---- the folder --------------------------------------------------------------------------------------


def test_each_run_has_its_samples_and_threads_and_the_reference(spec, setup, snakemake):
    setup = replace(setup, keep_results=True, options=("--sdm", "conda"))
    run(spec, setup)
    folder = setup.folder / spec.name
    assert (folder / "config/samples.tsv").read_text().split() == ["sample_name", "S1", "S2"]
    profile, given = (
        yaml.safe_load((path / "config.yaml").read_text()) for path in (folder / "profile", ROOT / spec.profile)
    )
    assert profile["set-threads"] == given["set-threads"] | {"map_and_sort": 7}
    assert profile["keep-going"] is True
    assert (folder / REFERENCE / "genome.fa").samefile(setup.prepared / REFERENCE / "genome.fa")
    words = json.loads((folder / "arguments.json").read_text())
    given = {word: words[words.index(word) + 1] for word in ("--directory", "--resources", "--cores")}
    assert given == {"--directory": str(folder.resolve()), "--resources": "mem_mb=1000", "--cores": "2"}
    assert words[words.index("--workflow-profile") + 1] == str((folder / "profile").resolve())
    assert words[words.index("--sdm") :][:2] == ["--sdm", "conda"]
    assert words[-2:] == ["--", "results"]


def test_temporary_files_go_elsewhere_and_are_removed(spec, setup, snakemake, tmp_path):
    run(spec, setup)
    assert not list((tmp_path / "temp").iterdir())
    assert not (setup.folder / spec.name / single_run.SCRATCH).is_symlink()


def test_what_a_killed_run_left_is_removed_elsewhere_too(spec, setup, snakemake, tmp_path):
    folder, scratch = setup.folder / spec.name, tmp_path / "temp" / "gpd-scratch-abc"
    folder.mkdir(parents=True)
    (folder / "old").write_text("of the run before")
    scratch.mkdir()
    (scratch / "sorted.bam").write_text("x")
    (folder / single_run.SCRATCH).symlink_to(scratch)
    run(spec, setup)
    assert not scratch.exists()
    assert not (folder / "old").exists()


def test_clearing_what_is_not_there_is_no_error(tmp_path):
    single_run.clear(tmp_path / "never")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / single_run.SCRATCH).symlink_to(tmp_path / "gone")
    single_run.clear(tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ---- preparations ------------------------------------------------------------------------------------


def prepare(setup):
    preparation.prepare(setup, 2, lambda sample, state: None)


def test_preparations_are_of_the_whole_pool(setup, snakemake):
    snakemake("AT_START", "os._exit(0)")
    prepare(setup)
    assert json.loads((setup.prepared / "arguments.json").read_text())[-2:] == ["--", "prepare"]
    assert (setup.prepared / "config/samples.tsv").read_text().split() == ["sample_name", "S1", "S2"]


def test_a_fault_of_the_pool_is_told_in_the_workflows_words(setup, snakemake):
    snakemake("FAILS", "all")
    with pytest.raises(StudyRunError) as error:
        prepare(setup)
    assert str(error.value) == "units.tsv line 2: sample S1: fq1 S1_1.fq is cut off"


def test_a_preparation_that_fails_is_told_with_its_tools_words(setup, snakemake):
    record = {
        **{"schema": 1, "rule": "bwa_index", "step": "reference", "wildcards": {}, "threads": 1, "start": None},
        **{"end": None, "wall_s": None, "exit_code": 1, "log": "logs/bwa_index/genome.log"},
    }
    last_week, now = (json.dumps(record | {"message": message}) for message in ("of last week", "no space"))
    (setup.prepared / "ledger.jsonl").write_text(f"{last_week}\n")
    snakemake("NOW", now)
    snakemake(
        "AT_START", "open(folder / 'ledger.jsonl', 'a').write(os.environ['NOW']); print('Job stats:'); sys.exit(1)"
    )
    with pytest.raises(StudyRunError) as error:
        prepare(setup)
    assert str(error.value) == f"bwa_index: no space (log: {setup.prepared / 'logs/bwa_index/genome.log'})"


# ---- the page cache ----------------------------------------------------------------------------------


def is_cached(path):
    """Whether a file's last byte is in memory: a read that may not wait finds it. It may start a read, so ask once."""
    with path.open("rb") as file:
        try:
            return bool(os.preadv(file.fileno(), [bytearray(1)], path.stat().st_size - 1, os.RWF_NOWAIT))
        except BlockingIOError:
            return False


@pytest.fixture
def files(tmp_path):
    """Two files that are in the page cache, where the file system lets go of what is there."""
    probe, *made = (tmp_path / name for name in ("probe", "one", "two"))
    for path in (probe, *made):
        path.write_bytes(b"x" * 3 * page_cache.READ_BYTES)
    with probe.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if is_cached(probe):
        pytest.skip("a file system that keeps all in memory")
    return made


@pytest.mark.deep
@pytest.mark.parametrize(("cache", "cached"), [("warm", True), ("cold", False)])
def test_reads_and_reference_are_brought_into_the_state_of_the_run(spec, setup, snakemake, files, cache, cached):
    own = [*setup.source.reads("S2"), setup.prepared / REFERENCE / "genome.fa"]
    for path in own:
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    if cache == "warm":
        page_cache.drop(own)
    record = run(replace(spec, n=1, samples=("S2",), cache=cache), setup)
    assert [is_cached(path) for path in own] == [cached] * len(own)
    assert record["cached"] == pytest.approx(float(cached), abs=0.01)


def test_the_share_of_files_in_the_page_cache(files, tmp_path):
    page_cache.drop(files)
    wait_until(lambda: page_cache.drop(files) or page_cache.cached_share(files) == 0)
    page_cache.load(files[:1])
    assert page_cache.cached_share(files[:1]) == 1
    assert page_cache.cached_share(files) == 0.5
    (tmp_path / "empty").touch()
    assert page_cache.cached_share([tmp_path / "empty"]) is None


def test_a_run_is_not_cold_where_somebody_holds_its_reads_in_memory(spec, setup, snakemake, files):
    read = setup.source.reads("S2")[0]
    read.write_bytes(b"@r\nA\n+\nI\n" * 1_000_000)
    with read.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as held:
        assert held[::4096]  # each page is touched
        with pytest.raises(
            StudyRunError, match=r"cache: cold: (9\d|100)% of reads and reference are in memory: set cache"
        ):
            run(replace(spec, n=1, samples=("S2",), cache="cold"), setup)
    assert run(replace(spec, n=1, samples=("S2",), cache="cold"), setup)["cached"] == pytest.approx(0, abs=0.01)


# what cachestat(2) tells of the pages of a file that wait to be written, where the kernel has it
DIRTY = """
import ctypes, sys
class Range(ctypes.Structure): _fields_ = [(name, ctypes.c_uint64) for name in ("offset", "length")]
class Stat(ctypes.Structure): _fields_ = [(name, ctypes.c_uint64) for name in ("cache", "dirty", "a", "b", "c")]
every, found, path = Range(0, 0), Stat(), {path!r}
file = open(path, "rb")
failed = ctypes.CDLL(None).syscall(451, file.fileno(), ctypes.byref(every), ctypes.byref(found), 0)
open(path + ".dirty", "w").write(str(-1 if failed else found.dirty))
"""


def test_what_waits_to_be_written_is_written_before_a_run(spec, setup, snakemake, files, tmp_path):
    left = tmp_path / "left by the run before"
    left.write_bytes(b"x" * 4 * 1024**2)
    exec(DIRTY.format(path=str(left)), {})
    if (tmp_path / f"{left.name}.dirty").read_text() == "-1":
        pytest.skip("a kernel without cachestat")
    snakemake("AT_START", DIRTY.format(path=str(left)))
    run(spec, setup)
    assert (tmp_path / f"{left.name}.dirty").read_text() == "0"


# ---- the disk ----------------------------------------------------------------------------------------


def test_the_peak_is_the_largest_sum_that_was_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_room, "INTERVAL_S", 0.005)
    work, temp = tmp_path / "work", tmp_path / "temp"
    (work / "deep").mkdir(parents=True)
    temp.mkdir()
    with disk_room.watch([work, temp]) as peak:
        (work / "deep" / "large").write_bytes(b"x" * 3 * disk_room.MIB)
        (temp / "more").write_bytes(b"x" * 2 * disk_room.MIB)
        deadline = time.monotonic() + 10
        while (peak.mib or 0) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        (work / "deep" / "large").unlink()
    assert peak.mib == pytest.approx(5, abs=0.1)
    assert disk_room.used_mib(work) == 0


def test_a_file_with_two_names_takes_its_space_once(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 4 * disk_room.MIB)
    (tmp_path / "again").hardlink_to(tmp_path / "large")
    assert disk_room.used_mib(tmp_path) == pytest.approx(4, abs=0.1)


def test_space_is_what_blocks_take_and_links_are_not_followed(tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "large").write_bytes(b"x" * 4 * disk_room.MIB)
    (folder / "to_file").symlink_to(other / "large")
    (folder / "to_folder").symlink_to(other)
    with (folder / "sparse").open("wb") as file:
        file.truncate(100 * disk_room.MIB)
    assert disk_room.used_mib(folder) < 0.1
    assert disk_room.used_mib(tmp_path / "gone") == 0


# ---- what it was made with ---------------------------------------------------------------------------


@pytest.fixture
def made_with(tmp_path, monkeypatch):
    """The settings of a record, for a configuration."""
    monkeypatch.setattr(provenance, "tool_versions", lambda *pipelines: {"bwa": "0.7.17"})
    dictionary = tmp_path / "genome.dict"
    dictionary.write_text("@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:5\tM5:0123456789abcdef0123456789abcdef\n")
    return lambda **config: asdict(provenance.settings(Source(MADE_WITH | config, (), ()), dictionary))


def test_a_records_settings_are_all_told(made_with):
    settings = made_with()
    assert {name for name, value in settings.items() if value is None} <= {"workflow_commit"}
    assert settings["tools"] == {"bwa": "0.7.17"}
    for name in ("workflow_digest", "config_digest", "reference_digest"):
        assert len(settings[name]) == 64
    assert made_with() == settings


def test_what_makes_other_results_has_another_digest_and_where_it_lies_has_not(made_with):
    before = made_with(reference={"fasta": "/a/genome.fa"})
    assert made_with(reference={"fasta": "/b/genome.fa"}) == before
    other = made_with(reference={"fasta": "/a/genome.fa"}, calling="joint")
    assert {key for key, value in other.items() if value != before[key]} == {"config_digest"}


def test_the_workflows_digests_are_of_its_files(made_with, tmp_path, monkeypatch):
    before = made_with()
    digested = {
        **dict.fromkeys(("workflow/rules/map.smk", "pinned/launcher/wrapper.py"), "workflow_digest"),
        "envs/bwa.yaml": "environments_digest",
    }
    for name in (*digested, "workflow/Snakefile", "workflow/README.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one")
    monkeypatch.setattr(provenance, "WORKFLOW", tmp_path / "workflow")
    monkeypatch.setattr(provenance, "PINNED", tmp_path / "pinned")
    monkeypatch.setattr(provenance, "ENVIRONMENTS", tmp_path / "envs")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    first = made_with()
    assert first["workflow_digest"] != before["workflow_digest"]
    assert first["workflow_commit"] is None, "no repository"
    (tmp_path / "workflow/README.md").write_text("two")
    assert made_with() == first
    for name, key in digested.items():
        (tmp_path / name).write_text("two")
        assert {other for other, value in made_with().items() if value != first[other]} == {key}
        (tmp_path / name).write_text("one")


def test_variables_that_change_what_tools_do_are_recorded(made_with, monkeypatch):
    for name in [name for name in os.environ if provenance.VARIABLES.fullmatch(name)]:
        monkeypatch.delenv(name)
    assert made_with()["environment"] == {}
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1g -javaagent:/opt/some/agent.jar")
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libjemalloc.so.2:/lib/other.so")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("MALLOCATION", "not this one")
    assert made_with()["environment"] == {
        **{"JAVA_TOOL_OPTIONS": "-Xmx1g -javaagent:agent.jar", "LD_PRELOAD": "libjemalloc.so.2:other.so"},
        "OMP_NUM_THREADS": "4",
    }


PROFILE = {"keep-going": True, "set-threads": {"align": 4, "quantify": 2}, "conda-prefix": "/home/me/conda"}


@pytest.mark.parametrize(
    ("changes", "threads", "same"),
    [
        ({"conda-prefix": "/scratch/conda"}, {}, True),
        ({"set-threads": {"align": 8, "quantify": 2}}, {}, False),
        ({"set-threads": {"align": 8, "quantify": 2}}, {"align": 1}, True),  # the run's threads stand in their place
        ({"set-resources": {"align": {"mem_mb": 1}}}, {}, False),
        ({"keep-going": False}, {}, False),
    ],
)
def test_a_profile_is_its_content(changes, threads, same):
    before, after = (provenance.profile_digest(each, threads) for each in (PROFILE, PROFILE | changes))
    assert (before == after) == same


def test_a_tool_that_is_not_here_has_no_version(monkeypatch):
    versions = {"bwa": "0.7.17"}
    monkeypatch.setattr(
        provenance.tool_checks, "examine", lambda tool: SimpleNamespace(version=versions.get(tool.command, ""))
    )
    monkeypatch.setenv("PATH", "")
    found = provenance.tool_versions("germline")
    assert found["bwa"] == "0.7.17"
    assert found["samtools"] is None
    assert "bwa-mem4" not in found
    chosen = provenance.tool_versions("germline-bwa-mem4", "germline-vets")
    assert {"bwa-mem4", "vets-python"} < set(chosen), "the mapper and the filter that are chosen"


@pytest.mark.parametrize(
    ("status", "output", "java"),
    [
        (
            *(0, "    java.vendor = Debian\n    java.version = 17\n    java.runtime.version = 17.0.15+6"),
            "Debian, 17.0.15+6",
        ),
        (1, "    java.vendor = Debian", None),
        (0, "The Genome Analysis Toolkit (GATK) v4.6.2.0", None),
    ],
)
def test_the_java_is_the_one_that_gatk_starts(monkeypatch, tmp_path, status, output, java):
    monkeypatch.setattr(provenance.tool_checks, "examine", lambda tool: SimpleNamespace(version=""))
    (tmp_path / "gatk").write_text(f"#!/bin/sh\necho '{output}' >&2; exit {status}\n")
    (tmp_path / "gatk").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.tool_versions("germline")["java"] == java
    assert "java" not in provenance.tool_versions("tuxedo")


# Lines that GATK 4.6.2.0 printed: with all it needs, with libgomp taken away, and where options asked for others; and
# what the native library of GATK 3 prints.
LOADED = "12:00:00.000 INFO  IntelPairHmm - Using CPU-supported AVX-512 instructions\n"
OPENMP = "INFO  PairHMM - Using the OpenMP multi-threaded AVX-accelerated native PairHMM implementation\n"
UNSUPPORTED = "INFO  PairHMM - OpenMP multi-threaded AVX-accelerated native PairHMM implementation is not supported\n"
FALLS_BACK = (
    "WARN  PairHMM - ***WARNING: Machine does not have the AVX instruction set support needed for the accelerated AVX "
    "PairHmm. Falling back to the MUCH slower LOGLESS_CACHING implementation!\n"
)
SMITH_WATERMAN = "INFO  SmithWatermanAligner - Using AVX accelerated SmithWaterman implementation\n"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (SMITH_WATERMAN + LOADED + OPENMP, "AVX-512, OpenMP multi-threaded AVX-accelerated native"),
        (
            LOADED + UNSUPPORTED + "INFO  PairHMM - Using the AVX-accelerated native PairHMM implementation",
            "AVX-512, AVX-accelerated native",
        ),
        (UNSUPPORTED + FALLS_BACK, "Java LOGLESS_CACHING, the slow way"),
        (
            "INFO  PairHMM - Using the non-hardware-accelerated Java LOGLESS_CACHING PairHMM implementation",
            "non-hardware-accelerated Java LOGLESS_CACHING",
        ),
        ("Using AVX accelerated implementation of PairHMM\nINFO VectorLoglessPairHMM - x", "AVX accelerated"),
        (
            "WARN  PairHMMLikelihoodCalculationEngine$1 - Failed to load native library for VectorLoglessPairHMM - "
            "using Java implementation of LOGLESS_CACHING",
            "Java LOGLESS_CACHING, the slow way",
        ),
        (SMITH_WATERMAN + UNSUPPORTED, None),
        ("", None),
    ],
)
def test_the_pair_hmm_is_what_the_log_says(log, told):
    assert provenance.pair_hmm(log) == told


@pytest.mark.deep
def test_a_record_tells_profile_binding_and_what_gatk_chose(spec, setup, snakemake, tmp_path):
    snakemake("GATK", UNSUPPORTED + FALLS_BACK)
    snakemake("AT_START", "folder.joinpath('l').write_text(os.environ['GATK'])")
    record = run(spec, setup)
    assert record["pair_hmm"] == "Java LOGLESS_CACHING, the slow way"
    assert record["binding"] == {"boundary": "l3", "memory": "default", "smt": False, "stall_s": 0}
    assert record["memory_applied"] == "local"
    unbound = run(replace(independent(spec), threads=spec.threads), setup)
    assert (unbound["binding"], unbound["profile_digest"]) == (None, record["profile_digest"])
    mine = tmp_path / "mine" / "config.yaml"
    mine.parent.mkdir()
    mine.write_text((ROOT / spec.profile / "config.yaml").read_text().replace("retries: 1", "retries: 2"))
    assert run(replace(spec, profile=str(mine.parent)), setup)["profile_digest"] != record["profile_digest"]
