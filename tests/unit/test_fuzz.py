"""Any input ends in a result or in clear lines: never in a traceback, and it never hangs."""

import fcntl
import gzip
import io
import json
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import recorded_studies
from conftest import ROOT, script
from fuzzing import CONTROL, FEW, MANY, SEED, YAML, Target, as_json, as_table, as_yaml, changed_bytes, nearly
from hypothesis import strategies as st
from launcher import output_lock, show
from launching import TOPOLOGIES as FOLDER
from test_inputs import SCHEMAS, bam, bgzip, cram, fastq
from test_ledger_command import killed, record

from gpd.cohort import names, other_sheets
from gpd.cohort.notes import Notes
from gpd.cohort.written import NewCohort
from gpd.commands import gpd_ledger as ledger_command
from gpd.commands.subcommands import Terminal
from gpd.errors import GpdError
from gpd.execution import run_lock
from gpd.lab import study_runs
from gpd.lab.study_file import read_study
from gpd.packages import pack, read
from gpd.pipelines import GERMLINE
from gpd.records import ledger_check
from gpd.records.ledger import LedgerWarning, read_ledger
from gpd.records.study import Sample, read_starts
from gpd.sizing import rehearsal_machine
from gpd.tables import collect
from gpd.tables.summary import summarize
from gpd.text.formats import visible

SCRIPTS = ROOT / "workflow" / "scripts"
GOLDEN = ROOT / "tests" / "golden"
tables, inputs, reads = (
    script(SCRIPTS / f"{name}.py") for name in ("checks/tables", "checks/inputs", "reads/count_reads")
)


def output(error: Exception) -> list[str]:
    """The one line in which a subcommand would say it."""
    return [visible(str(error))]


# ---- configurations and tables -----------------------------------------------------------------------

CONFIG = {
    "pipeline": "germline",
    "reference": {"fasta": "genome.fa"},
    "known_sites": ["known.vcf"],
    "filter": "vqsr",
    "vqsr": {"snps": {"resources": {"hapmap": {"vcf": "h.vcf", "training": True, "truth": True, "prior": 15.0}}}},
    "hard_filters": {"snps": {"QD2": "QD < 2.0"}},
    "qc": {"thresholds": {"coverage": {"genome": {"warn": 30, "fail": 20.5}}}},
    "ploidy_regions": {"male": "male.bed"},
    "scatter": "auto",
}
RNA = {"pipeline": "tuxedo", "reference": {"fasta": "genome.fa"}, "annotation": "genes.gtf", "cuffdiff": {"fdr": 0.05}}
THROUGHPUT = {
    "name": "study",
    "pipelines": {"germline": {"directory": ".", "config": "config.yaml"}},
    "concurrent_samples": [1, 2],
    "modes": ["shared"],
    "bindings": ["compact", {"policy": "scatter", "memory": "local"}],
    "repeats": "auto",
    "precision": 0.025,
    "threads": {"map_and_sort": 2},
    "cores": None,
}
POOL = [Sample(f"S{number}") for number in range(4)]
SAMPLES = (("sample_name", "condition", "sex"), (("S1", "a", "male"), ("S2", "b", "")))
UNITS = (
    ("sample_name", "unit_name", "fq1", "fq2", "bam", "platform"),
    (("S1", "L1", "a_1.fq", "a_2.fq", "", "illumina"), ("S2", "L1", "", "", "b.bam", "")),
)
OF_OTHERS = (
    (
        ("patient", "sample", "lane", "status", "sex", "fastq_1", "fastq_2"),
        (("P", "S1", "L1", "0", "XX", "a_1.fq", "a_2.fq"), ("Q", "S 2", "L1", "1", "NA", "x/a_1.fq", "")),
    ),
    (
        ("run_accession", "sample_alias", "fastq_ftp", "instrument_platform"),
        (("SRR1", "S1", "ftp.x/a_1.fq;ftp.x/a_2.fq", "ILLUMINA"), ("SRR2", "s1", "ftp.x/a_1.fq", "BGISEQ")),
    ),
)


def judge_config(folder: Path):
    """Read it, as the lab does, and check all that it says, as the workflow does."""
    folder.joinpath("samples.tsv").write_text("sample_name\nS1\n")
    folder.joinpath("units.tsv").write_text("sample_name\tunit_name\tfq1\nS1\tL1\tno.fq\n")

    def judge(content: bytes) -> list[str]:
        path = folder / "config.yaml"
        path.write_bytes(content)
        config, errors = tables.read_config(path)
        if not errors:
            here = {"samples": str(folder / "samples.tsv"), "units": str(folder / "units.tsv")}
            cohort = tables.read_cohort(here | config, SCHEMAS)
            errors = cohort.errors or inputs.check(cohort.config, cohort.units)
            json.dumps(cohort.config, allow_nan=False)
        assert not Path("fuzzed").exists(), "a configuration ran a command"
        return [tables.one_line(error) for error in errors]

    return judge


def judge_sheets(folder: Path):
    def judge(sheets: tuple[bytes, bytes]) -> list[str]:
        paths = [folder / name for name in ("samples.tsv", "units.tsv")]
        for path, content in zip(paths, sheets, strict=True):
            path.write_bytes(content)
        given = {"samples": str(paths[0]), "units": str(paths[1]), "reference": {"fasta": "x"}, "known_sites": ["x"]}
        cohort = tables.read_cohort(given, SCHEMAS)
        errors = cohort.errors or inputs.read_file_errors(cohort.units, cohort.config, {})
        assert errors or (cohort.samples and all(cohort.units.values()))
        return [tables.one_line(error) for error in errors]

    return judge


def judge_sheets_of_others(folder: Path):
    def judge(content: bytes) -> list[str]:
        path, notes = folder / "sheet.tsv", Notes()
        path.write_bytes(content)
        try:
            found = other_sheets.read(path, [folder / "a_1.fq", folder / "a_2.fq"], notes)
            lanes = names.with_usable_names(found.lanes, notes)
        except GpdError as error:
            return [visible(line) for line in str(error).splitlines()]
        for text in NewCohort("germline", lanes).files(folder).values():
            assert not CONTROL.search(text.replace("\n", ""))
        return [visible(line) for line in notes.lines()]

    return judge


def judge_settings(folder: Path):
    def judge(content: bytes) -> list[str]:
        path = folder / "throughput.yaml"
        path.write_bytes(content)
        try:
            found = read_study(path)
            study_runs.planned(found, dict.fromkeys(found.pipelines, POOL), cores=2)
        except GpdError as error:  # a line a fault
            return [visible(line) for line in str(error).split("\n")]
        return []

    return judge


# ---- reads and other files ---------------------------------------------------------------------------

READS = fastq([f"r{n}" for n in range(4)], 1, length=5)
FASTA = b">chr1 x\nACGTACGT\nACGT\n>chr2\nACGT\n"
VCF = b"##fileformat=VCFv4.2\n##contig=<ID=chr1,length=12>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
VCF += b"chr1\t3\t.\tG\tA\t.\tPASS\t.\n"
NAMES = (b"\x1b[2Jx", b"\0", b" ", b"a" * 300, b"x/1/2", "é".encode(), b"\xff\xfe", b"\r", b"\x9b31m", b"")


@st.composite
def fastqs(draw) -> tuple[bytes, bytes]:
    """Two files of reads, nearly mates: their names, their ends or their bytes changed, packed or not."""
    files = []
    for _ in range(2):
        content = READS
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=2)):
            content = content.replace(draw(st.sampled_from((b"@r1/1", b"@r3/1", b"+\n", b"IIIII"))), b"@" + name, 1)
        content = draw(changed_bytes((content, content.replace(b"\n", b"\r\n"), content + b"\n\n", READS)))
        pack = draw(st.sampled_from((bytes, bytes, gzip.compress, bgzip)))
        files.append(draw(changed_bytes((pack(content),))) if draw(st.booleans()) else pack(content))
    return files[0], files[1]


def judge_reads(folder: Path):
    """Look at them before the start, and copy and count them, as jobs do."""

    def judge(files: tuple[bytes, bytes]) -> Iterator[str]:
        paths = {name: str(folder / f"{name}.fq") for name in ("fq1", "fq2")}
        for path, content in zip(paths.values(), files, strict=True):
            Path(path).write_bytes(content)
        row = {"table": "units.tsv", "line": 2, "sample_name": "S1", "bam": "", **paths}
        yield from map(tables.one_line, inputs.read_file_errors({"S1": {"L1": row}}, {}, {}))
        for path in paths.values():
            try:
                with inputs.opened(path) as text:
                    reads.require_whole("r.fq", reads.copy(text, io.BytesIO(), reads.Names()))
            except (reads.ReadsLostError, inputs.InputError) as error:
                yield tables.one_line(str(error))

    return judge


FORMATS = {
    "x.bam": (bam({"chr1": 12}), bam({})),
    "x.cram": (cram({"chr1": 12}), cram({"chr1": 12}, version=2)),
    "x.vcf": (VCF,),
    "x.vcf.gz": (bgzip(VCF) + inputs.BGZF_END,),
    "x.fa": (FASTA,),
    "x.bed": (b"chr1\t0\t5\t1\n",),
    "x.interval_list": (b"@HD\nchr1\t1\t5\t+\t2\n",),
    "x.list": (b"chr1:1-5\nchr2\n",),
    "x.ann": (b"16 2 11\n0 chr1 (null)\n0 12 0\n0 chr2 (null)\n12 4 0\n",),
}


def judge_formats(folder: Path):
    def judge(file: tuple[str, bytes]) -> list[str]:
        name, content = file
        path = folder / name
        path.write_bytes(content)
        (folder / "x.fa").exists() or (folder / "x.fa").write_bytes(FASTA)
        contigs = {"chr1": 12, "chr2": 4}
        config = {
            "reference": {"fasta": str(folder / "x.fa"), "bwa_index": ""},
            "bam_input": "remap" if len(content) % 2 else "keep",
            "cram_reference": "",
            "bqsr": "gatk",
            "dbsnp": "",
            "filter": "none",
        }
        config |= {"known_sites": [], "known_indels": [], "intervals": "", "ploidy_regions": ""}
        config |= {"common_sites": "", "dbsnp": "", "qc": {"known_genotypes": ""}}
        row = {"table": "units.tsv", "line": 2, "sample_name": "S1", "fq1": "", "fq2": "", "bam": str(path)}
        match path.suffix:
            case ".bam" | ".cram":
                errors = inputs.read_file_errors({"S1": {"L1": row}}, config, contigs)
            case ".vcf" | ".gz":
                errors = inputs.vcf_errors(config | {"known_sites": [str(path)]}, contigs)
            case ".fa":
                errors = inputs.read_reference(config["reference"])[1]
            case ".ann":
                errors = inputs.index_errors(config["reference"] | {"bwa_index": str(folder / "x")}, contigs)
            case _:
                errors = inputs.interval_errors(config | {"intervals": str(path), "ploidy_regions": str(path)}, contigs)
        return [tables.one_line(error) for error in errors]

    return judge


# ---- records -----------------------------------------------------------------------------------------

ATTEMPTS = (
    record(1, run="run-1"),
    record(2, 3, 9, cpus="2-3", exit_code=1, cause="tool_error", message="error: x"),
    record(3, boot="b", uptime_s=5.0, recorded="2026-11-20T12:00:05.000000000Z", node="n1"),
    killed(4),
)


def judge_ledger(folder: Path):
    """Show it, check it, and sum it up."""

    def judge(content: bytes) -> list[str]:
        path = folder / "ledger.jsonl"
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as warned, (folder / "shown").open("w", encoding="utf-8") as shown:
            warnings.simplefilter("always", LedgerWarning)
            attempts = read_ledger(path)
            Terminal(file=shown, width=200).print(ledger_command.table(attempts))
            summarize(attempts, GERMLINE.steps)
            checked = ledger_check.check(path)
        ledger_command.verdict(checked.attempts)
        assert len(checked.attempts) <= len(attempts)
        return [visible(line) for line in (*map(str, (each.message for each in warned)), *checked.problems)]

    return judge


NAME = "germline-n1-shared-compact-r1"
RUN, PLANNED = (json.loads((recorded_studies.study() / NAME / name).read_text()) for name in ("run.json", "spec.json"))
NODE = json.loads(recorded_studies.node("epyc-2x64").read_text())
NODE |= {"latency": None, "cores": NODE["cores"][:2]}
STUDY = {
    **{"schema": 1, "cores": 2, "pools": {"germline": [{"name": "S1"}]}},
    "study": {
        **{"name": "s", "directory": ".", "pipelines": {"germline": {"directory": ".", "config": "c"}}},
        **{"concurrent_samples": [1], "modes": ["shared"], "bindings": ["compact"], "repeats": 3},
        **{"precision": 0.025, "most_repeats": 10, "warm_up": 1, "seed": 1, "cache": "as_is", "cores": None},
        **{"threads": {}, "profiles": {"shared": "p"}, "keep_results": False},
    },
}
RECORDS = {
    "run.json": RUN,
    "spec.json": PLANNED,
    "node.json": NODE,
    "study.json": STUDY,
    "starts.jsonl": {"name": "c", "run": "r"},
}
LEDGER = (recorded_studies.study() / NAME / "ledger.jsonl").read_bytes()


def judge_records(folder: Path):
    """Collect a study of one run with it."""
    study_folder, spec = folder / "study", folder / "study" / NAME
    spec.mkdir(parents=True)
    (spec / "ledger.jsonl").write_bytes(LEDGER)

    def judge(file: tuple[str, bytes]) -> list[str]:
        name, content = file
        places = {one: (spec if one in ("run.json", "spec.json") else study_folder) / one for one in RECORDS}
        for place in places.values():
            place.unlink(missing_ok=True)
        for one in ("run.json", "spec.json"):
            places[one].write_text(json.dumps(RECORDS[one]))
        if name == "spec.json":
            places["run.json"].unlink()
        places[name].write_bytes(content)
        try:
            found = collect.collect(study_folder)
            read_starts(study_folder)
            collect.write(found, study_folder / "tables")
        except GpdError as error:
            return output(error)
        return []

    return judge


MANIFEST = {
    **{"format": "gpd-package", "schema": 1, "gpd_version": "0.2.0", "study": "s"},
    **{"replaced": {"hosts": 0, "users": 0, "paths": 0}, "left_out": [], "members": {}},
}


def judge_manifest(_: Path):
    def judge(content: bytes) -> list[str]:
        try:
            read.parse(pack.archive({"manifest.json": content}))
        except ValueError as error:
            return output(error)
        return []

    return judge


SMALL = 50_000
TOPOLOGIES = tuple(path.read_bytes() for path in sorted(FOLDER.glob("*.xml")) if path.stat().st_size < SMALL)


def judge_topology(folder: Path):
    def judge(content: bytes) -> list[str]:
        path = folder / "x.xml"
        path.write_bytes(content)
        try:
            show.read_xml(path)
        except show.LauncherError as error:
            return output(error)
        return []

    return judge


RECORD = {
    **{"id": "b" * 16, "attempt": 1, "rule": "rule", "host": "h", "node": "n", "pid": 7, "slurm_job_id": "11"},
    **{"wildcards": {"sample": "S1"}, "threads": 1, "wall_s": 1.5, "split": None, "message": "x"},
}
HOLDER = {"pid": 7, "host": os.uname().nodename, "since": "2026-11-20 12:00:00"}
SAFE = re.compile(r"[^;|&$<>(){}\"'\\]*")


def judge_locks(folder: Path):
    """Come to a job, and to a run's folder, where a file says that another is at work there."""
    (folder / "runtime" / "jobs").mkdir(parents=True)
    (folder / ".snakemake").mkdir()
    settings = SimpleNamespace(owner="", attempt=1, ledger="ledger.jsonl")
    record = {"id": "a" * 16, "attempt": 1, "rule": "rule", "log": "a.log", "slurm_job_id": None}
    attempt = SimpleNamespace(settings=settings, record=record, runtime="runtime")

    def owner(content: bytes) -> list[str]:
        Path("a.log.owner").write_bytes(content)
        lock = output_lock.OutputLock(attempt)
        lock.claim()
        lock.release(0)
        found = output_lock.read_owner(content.decode(errors="replace"))
        command = output_lock.waits_for(found).partition("`")[2].partition("`")[0]
        assert SAFE.fullmatch(command), command
        lines = Path("ledger.jsonl").read_bytes().split(b"\n")[:-1] if Path("ledger.jsonl").exists() else []
        assert all(isinstance(json.loads(line, parse_constant=int), dict) for line in lines)
        Path("ledger.jsonl").unlink(missing_ok=True)
        return [output_lock.waits_for(found)]

    def run(content: bytes) -> list[str]:
        path = folder / ".snakemake" / run_lock.OURS
        path.write_bytes(content)
        with path.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            try:
                with run_lock.hold_folder(folder, ""):
                    raise AssertionError("another holds it")
            except GpdError as error:
                return output(error)

    return lambda file: {"owner": owner, "run": run}[file[0]](file[1])


def as_repr(documents: st.SearchStrategy) -> st.SearchStrategy:
    return documents.map(lambda each: repr(each).encode(errors="replace"))


# ---- all of them -------------------------------------------------------------------------------------


def named(files: dict) -> st.SearchStrategy:
    return st.sampled_from(sorted(files)).flatmap(lambda name: st.tuples(st.just(name), files[name]))


REHEARSAL = {
    **{"commit": "c0ffee", "cpu": "a CPU", "cores": 2, "memory_gib": 24.0, "reference_gb": 3.0},
    "gigabases": {"S1": 2.2, "S2": 0.3},
    "jobs": [
        {
            **{"step": "map_and_sort", "rule": "map_and_sort", "reference_gb": 3.0, "cpu_s": 30 + 400 * gigabases},
            **{"wall_s": 1.0, "sample": sample, "gigabases": gigabases, "threads": 1, "mem_mb": 8000.0},
        }
        for sample, gigabases in (("S1", 2.2), ("S2", 0.3), ("S3", 0.31))
    ],
}


def judge_rehearsal(folder: Path):
    def judge(content: bytes) -> list[str]:
        path = folder / "rehearsal.json"
        path.write_bytes(content)
        try:
            rehearsal_machine.machine("x", rehearsal_machine.read(path), 93.0)
        except GpdError as error:
            return output(error)
        return []

    return judge


TARGETS = {
    "config": (judge_config, as_yaml(nearly((CONFIG, RNA))), 0.15),
    "sheets": (judge_sheets, st.tuples(as_table(*SAMPLES), as_table(*UNITS)), 0.1),
    "sheets of others": (judge_sheets_of_others, st.one_of(*(as_table(*sheet) for sheet in OF_OTHERS)), 0.05),
    "throughput": (judge_settings, as_yaml(nearly((THROUGHPUT,))), 0.1),
    "reads": (judge_reads, fastqs(), 0.1),
    "formats": (judge_formats, named({name: changed_bytes(contents) for name, contents in FORMATS.items()}), 0.05),
    "ledger": (judge_ledger, st.lists(as_json(nearly(ATTEMPTS)), max_size=4).map(b"\n".join), 0.2),
    "records": (judge_records, named({name: as_json(nearly((kind,))) for name, kind in RECORDS.items()}), 0.1),
    "locks": (judge_locks, named({"owner": as_repr(nearly((RECORD,))), "run": as_json(nearly((HOLDER,)))}), 0.05),
    "manifest": (judge_manifest, as_json(nearly((MANIFEST,))), 0.025),
    "rehearsal": (judge_rehearsal, as_json(nearly((REHEARSAL,))), 0.05),
    "topology": (judge_topology, changed_bytes(TOPOLOGIES), 0.025),
}
TABLE = b"sample_name\nS1\n"
ONCE_FAILED: dict[str, tuple] = {
    "config": (
        *(b"a: 2026-02-31", b"a: !!int x", b"a: !!bool x", b"a: !!timestamp x", b"a: " + b"9" * 5000),
        *(b"a: &a [*a]", YAML[-1].encode(), b"reference: {fasta: x}\nmin_mapped: .nan"),
        b"reference: {fasta: x}\ngenomicsdb: 2.0",
        b"reference: {fasta: x}\nvqsr: {snps: {resources: {%s: {vcf: x, prior: 1}}}}" % (b"ab" * 500),
    ),
    "sheets": ((TABLE, b"sample_name\tunit_name\tfq1\nS1\tL1\t\0\n"),),
    "throughput": tuple(
        b"pipelines: {germline: {}}\n" + line
        for line in (
            *(b"concurrent_samples: [2.0]", b"threads: {Bad-Name: 1}", b"precision: .nan", b"repeats: 1000000000"),
            *(b"seed: 2026-02-31", b"a: !!int x", b"a: &a [*a]", YAML[-1].encode(), b"a: " + b"[" * 1000),
        )
    ),
    "ledger": (
        b"[" * 100_000,
        *(
            json.dumps(record(1) | changed).encode()
            for changed in (
                *({"cpus": "0-4294967295"}, {"wildcards": 5}, {"start": "2026-11-20T12:00:00"}, {"threads": 10**30}),
                *({"binding": "a" * 10_000}, {"message": "\x1b[2J"}, {"rule": "\ud800"}, {"wall_s": "1"}),
                *({"wildcards": {"a\nb": 5}}, {"threads\n": 1}),
            )
        ),
    ),
    "locks": (
        *(("owner", repr(RECORD | changed).encode()) for changed in ({"pid": "1; x"}, {"message": b"x"}, {b"x": 1})),
        *(("owner", b"{[]: 1}"), ("owner", b"(" * 60000), ("owner", repr(RECORD).encode() + b"\nended\n")),
        ("owner", repr(RECORD).encode().replace(b"1.5", b"1e999")),
        *(("run", b"[" * 100_000), ("run", json.dumps(HOLDER | {"pid": "1; x"}).encode())),
    ),
    "formats": (("x.cram", cram({"a": "x"})), ("x.vcf", VCF.replace(b"length=12", b"length=" + b"9" * 5000))),
    "records": (
        *(("node.json", b'{"schema": 1, "start": "\x80"}'), ("run.json", b"[" * 100_000), ("spec.json", b'{"n": NaN}')),
        *(("study.json", b"\xff"), ("starts.jsonl", b"{" * 100_000), ("run.json", b'{"wall_s": ' + b"9" * 5000 + b"}")),
    ),
    "topology": (b"<a", b'<object type="PU" cpuset="%s"/>' % b",".join([b"0xf"] * 100_000)),
}


@pytest.fixture
def target(request, tmp_path_factory, monkeypatch) -> Target:
    judge, strategy, share = TARGETS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    monkeypatch.chdir(folder)
    return Target(request.param, strategy, judge(folder), share, ONCE_FAILED.get(request.param, ()))


every = pytest.mark.parametrize("target", TARGETS, indirect=True)


@pytest.mark.deep
@every
def test_any_input_ends_in_a_result_or_in_clear_lines(target):
    target.fuzz(FEW)


@pytest.mark.faults
@every
def test_ten_thousand_inputs_end_in_a_result_or_in_clear_lines(target, figure):
    tried = target.fuzz(round(MANY * target.share))
    figure(f"{target.name}: {tried:,} generated inputs, each a result or clear lines")


def test_the_shares_are_of_ten_thousand():
    assert sum(share for _, _, share in TARGETS.values()) == pytest.approx(1)


@pytest.mark.deep
def test_a_failure_says_the_seed_that_gives_it_again(monkeypatch):
    monkeypatch.delenv(SEED, raising=False)
    tried: list[list[int]] = [[]]

    def judge(number: int) -> list[str]:
        tried[-1].append(number)
        return ["\n"] if number > 10**6 else []

    target = Target("numbers", st.integers(), judge, 1)
    with pytest.raises(AssertionError) as failed:
        target.fuzz(FEW + 100)
    (output,) = [note for note in failed.value.__notes__ if SEED in note]
    monkeypatch.setenv(SEED, output.partition(f"{SEED}=")[2].split()[0])
    tried.append([])
    with pytest.raises(AssertionError):
        target.fuzz(FEW + 100)
    assert tried[-1] == tried[-2]
