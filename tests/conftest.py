"""Fixtures of all tests: the repository, the shared real data, and runs of the workflow."""

import contextlib
import ctypes
import gzip
import importlib.util
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Self

import planning
import pytest
import yaml
from hypothesis import settings
from launching import PINNED, Node

from gpd.execution import configuration

pytest_plugins = ["skips"]

ROOT = Path(__file__).resolve().parents[1]
SNAKEFILE = ROOT / "workflow" / "Snakefile"
SHARED = ROOT.parent / "shared" / "data"

# a busy machine is no fault of the code; a failing case is printed so that it can be run again
settings.register_profile("gpd", deadline=None, print_blob=True)
settings.load_profile("gpd")

CLONE_NEWNS = 0x00020000  # of unshare(2): mounts of one's own
UNIT_COLUMNS = ("sample_name", "unit_name", "fq1", "fq2", "bam", "platform", "platform_unit", "center", "library")
# Such small jobs end before the JVM's second compiler pays: with the first alone they take half the time. This variable
# wins over the options of a command, JAVA_TOOL_OPTIONS does not.
SHORT_JVMS = {"_JAVA_OPTIONS": "-XX:+TieredCompilation -XX:TieredStopAtLevel=1"}
# started first, longest first: neither of two test processes shall be left alone with one of them at the end
LONGEST = [
    *("test_demo_runs", "test_throughput_runs", "test_germline_real_reads", "test_tuxedo_real_reads"),
    *("test_scaling_runs", "test_growing_cohorts", "test_interrupted_runs", "test_killed_runs"),
    *("test_dropped_samples", "test_wrong_samples", "test_rehearsal_run", "test_node", "test_wrong_rna_samples"),
    *("test_what_runs_again", "test_scattered_calls", "test_joint_by_interval", "test_conda_environments"),
    "test_planned_commands",
    *("test_launcher_jobs", "test_launcher_crash", "test_temporary_folders", "test_damaged_reads"),
    "test_large_joint_cohort",
    *("test_tuxedo", "test_germline", "test_limits", "test_losses"),  # of Slurm
    *("test_places", "test_siblings"),  # on a virtual machine
    *("test_tuxedo_plan", "test_report", "test_compare", "test_plan", "test_tuxedo_demo", "test_topology"),
]


@dataclass(frozen=True)
class Ran:
    """A finished Snakemake process: its exit code and everything it said."""

    exit_code: int
    output: str

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()


@dataclass
class Cohort:
    """A folder with a configuration and tables; write() puts them there."""

    folder: Path
    config: dict
    units: list[dict[str, str]] = field(default_factory=list)
    sexes: dict[str, str] = field(default_factory=dict)

    def add_unit(self, sample: str, unit: str, **columns: str | Path) -> None:
        self.units.append({"sample_name": sample, "unit_name": unit, **{k: str(v) for k, v in columns.items()}})

    def with_config(self, **changed: object) -> Self:
        """The same folder with other settings; this one keeps its own, which tests in any order may share."""
        return replace(self, config=self.config | changed)

    def write(self) -> None:
        config = self.folder / "config"
        config.mkdir(exist_ok=True)
        (config / "config.yaml").write_text(yaml.safe_dump(self.config))
        names = dict.fromkeys(unit["sample_name"] for unit in self.units)
        samples = [f"{name}\t{self.sexes.get(name, '')}" for name in names] if self.sexes else names
        header = "sample_name\tsex" if self.sexes else "sample_name"
        (config / "samples.tsv").write_text("\n".join([header, *samples]) + "\n")
        rows = ["\t".join(unit.get(column, "") for column in UNIT_COLUMNS) for unit in self.units]
        (config / "units.tsv").write_text("\n".join(["\t".join(UNIT_COLUMNS), *rows]) + "\n")

    def snakemake(self, *arguments: str) -> Ran:
        self.write()
        return snakemake(self.folder, *arguments)


def snakemake(folder: Path, *arguments: str, snakefile: Path = SNAKEFILE, cores: int | None = 2) -> Ran:
    """Run the workflow in `folder` as a person would, on two cores; but its JVMs, as of small jobs, with SHORT_JVMS.

    Nothing is tried again unless a test wants it: a failure that shows is looked for.
    """
    words = ["--snakefile", snakefile, "--directory", folder, *(["--cores", cores] if cores else [])]
    words += ["--retries", "0", *arguments]
    with tempfile.NamedTemporaryFile() as printed:
        code = planning.run([*map(str, words)], {**os.environ, **SHORT_JVMS}, Path(printed.name))
        return Ran(code, Path(printed.name).read_text(encoding="utf-8", errors="replace"))


def shared(name: str) -> Path:
    """A folder of the shared real data; the test skips where it is absent."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"real data not here: ../shared/data/{name}")
    return folder


def write_fastq(path: Path, reads: Sequence[tuple[str, str]], level: int = 6) -> Path:
    """A FASTQ file of (name, sequence), gzip compressed where its name says so; level 0 keeps a large file large."""
    text = "".join(f"@{name}\n{sequence}\n+\n{'I' * len(sequence)}\n" for name, sequence in reads).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, compresslevel=level, mtime=0) if path.suffix == ".gz" else text)
    return path


def random_sequence(length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=length))


def reverse_complement(sequence: str) -> str:
    return sequence.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def sample_pairs(genome: str, count: int, seed: int, length: int = 100) -> tuple[list, list]:
    """`count` pairs of error-free reads drawn from `genome`, 300 bases apart at their outer ends."""
    draw = random.Random(seed)
    first, second = [], []
    for number in range(count):
        start = draw.randrange(len(genome) - 300)
        fragment = genome[start : start + 300]
        first.append((f"read{number}", fragment[:length]))
        second.append((f"read{number}", reverse_complement(fragment)[:length]))
    return first, second


def write_vcf(path: Path, contigs: dict[str, int], records: Sequence[tuple[str, int, str, str]]) -> Path:
    header = [
        "##fileformat=VCFv4.2",
        *(f"##contig=<ID={name},length={length}>" for name, length in contigs.items()),
    ]
    body = [f"{contig}\t{position}\t.\t{ref}\t{alt}\t.\tPASS\t." for contig, position, ref, alt in records]
    path.write_text("\n".join([*header, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", *body]) + "\n")
    return path


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test by its argument, not by bytes that may hold a date: processes side by side must agree on names."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


@pytest.fixture
def figure(record_property) -> Callable[[str], None]:
    """Say a figure that a test measured; all are printed when the tests are done, whichever process ran them."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("figures measured")
        terminalreporter.write_line("\n".join(figures))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heeded() -> None:
    """What a shell starts in the background ignores it, and so would all that is started here."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def shm_is_ours() -> bool:
    """Give this process, and all that it starts, a /dev/shm that nobody else sees; whether that is permitted here.

    bwa keeps its list of indexes there, and takes whatever has the name of its own.
    """
    shm, mounts = "/dev/shm", (["--make-rprivate", "/"], ["-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"])
    if not os.path.ismount(shm) or ctypes.CDLL(None).unshare(CLONE_NEWNS):
        return False
    return all(subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0 for words in mounts)


def require_own_shm() -> None:
    """Skip where bwa's list of indexes would be the whole machine's."""
    if not shm_is_ours():
        pytest.skip("/dev/shm is the whole machine's: a mount of our own takes root's rights")


@pytest.fixture(scope="session", autouse=True)
def private_shm() -> None:
    """Before any process is started."""
    shm_is_ours()


@pytest.fixture
def own_shm() -> None:
    require_own_shm()


@pytest.fixture(scope="session", autouse=True)
def allocations_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait for no CPU that jobs of the other test process hold: a job seldom keeps all its allocated CPUs at work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPD_RUNTIME_DIR", str(tmp_path_factory.mktemp("allocations")))
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_are_read_here() -> Iterator[None]:
    """Ask the workflow what tables say in this process: to start another takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configuration, "run_script", run_script_here)
        yield


def run_script_here(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What run_script() would return of a script whose main() takes its arguments and returns its exit status."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir("."), redirect_stdout(output), redirect_stderr(errors):
        status = script(path).main([*arguments])
    return subprocess.CompletedProcess(arguments, status, output.getvalue(), errors.getvalue())


@cache
def script(path: Path) -> ModuleType:
    """A script of the workflow, loaded by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def drawn_once() -> Iterator[None]:
    """Draw each figure of a report once: what a test changes leaves most figures as other tests had them."""
    from gpd.reports import node_findings, study_figures  # slow to import

    with pytest.MonkeyPatch.context() as patch:
        for name in ("draw_curves", "draw_stacks", "draw_timeline"):
            patch.setattr(study_figures, name, once(getattr(study_figures, name)))
        patch.setattr(node_findings, "draw_map", once(node_findings.draw_map))
        yield


def once(draw: Callable) -> Callable:
    """A pure function that remembers what it gave for arguments that read the same."""
    drawn: dict[str, object] = {}

    def remembered(*arguments: object, **named: object) -> object:
        key = repr((arguments, named))
        if key not in drawn:
            drawn[key] = draw(*arguments, **named)
        return drawn[key]

    return remembered


@pytest.fixture(scope="session")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launcher as a run lays it out, with the library that programs are loaded with."""
    build = script(PINNED / "build.py")
    start = build.launcher(PINNED.joinpath, tmp_path_factory.mktemp("laid out"))
    assert build.build(PINNED / build.LIBRARY, build.library(start)) == ""
    return start


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node on which nothing runs."""
    return Node(tmp_path)


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    """A valid cohort of two samples with tiny files of their own, planned but never run."""
    return tiny_cohort(tmp_path)


def one_contig_cohort(folder: Path, length: int, seed: int) -> tuple[Cohort, str]:
    """A cohort without samples over one random contig, with one known site; the contig's sequence."""
    genome = random_sequence(length, seed)
    (folder / "genome.fa").write_text(f">chr1\n{genome}\n")
    write_vcf(folder / "known.vcf", {"chr1": length}, [("chr1", 100, genome[99], "A" if genome[99] != "A" else "C")])
    return Cohort(folder, {"reference": {"fasta": "genome.fa"}, "known_sites": ["known.vcf"]}), genome


def tiny_cohort(folder: Path, samples: Sequence[str] = ("S1", "S2"), lanes: int = 2) -> Cohort:
    made, genome = one_contig_cohort(folder, 2000, seed=1)
    first, second = sample_pairs(genome, 20, seed=2)
    for sample in samples:
        for lane in range(1, lanes + 1):
            made.add_unit(
                sample,
                f"L{lane}",
                fq1=write_fastq(folder / "reads" / f"{sample}_L{lane}_R1.fq.gz", first).relative_to(folder),
                fq2=write_fastq(folder / "reads" / f"{sample}_L{lane}_R2.fq.gz", second).relative_to(folder),
            )
    return made


@dataclass(frozen=True)
class Command:
    """A job of a dry run with --printshellcmds: its rule, what Snakemake tells of it, and its command."""

    rule: str
    told: dict[str, str]
    text: str

    @property
    def resources(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.told["resources"].split(", "))

    @property
    def lines(self) -> list[str]:
        """The command's lines, continued ones as one."""
        return [line.strip() for line in re.sub(r"\\\n\s*", " ", self.text).splitlines() if line.strip()]


JOB = re.compile(
    r"^(?:local)?rule (\w+):\n((?:    [^\n]*\n)*)Shell command: ?(.*?)"
    r"(?=^\[\w{3} |^(?:local)?rule \w+:|^Job stats|^Would remove|\Z)",
    re.MULTILINE | re.DOTALL,
)


def commands(ran: Ran) -> list[Command]:
    """The jobs of a dry run that have a command."""
    found = []
    for rule, told, text in JOB.findall(ran.output):
        pairs = (line.strip().partition(": ") for line in told.splitlines())
        found.append(Command(rule, {name: value for name, _, value in pairs}, text.strip("\n")))
    return found


@pytest.fixture(scope="module")
def mapper_command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A command bwa-mem4 for plans, behind a real one."""
    command = tmp_path_factory.mktemp("mapper") / "bwa-mem4"
    command.write_text("#!/bin/sh\nexit 1\n")
    command.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{command.parent}")
        yield


@pytest.fixture(scope="module")
def gatk3_command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A command gatk3, which asks for input as GATK 3 does when one of its walkers starts, and does nothing else."""
    command = tmp_path_factory.mktemp("gatk3") / "gatk3"
    command.write_text("#!/bin/sh\necho '##### ERROR MESSAGE: Walker requires reads but none were provided.'\nexit 1\n")
    command.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{command.parent}")
        yield


def pretend(cohort: Cohort, *targets: str) -> None:
    """Make every output that a run would make, empty, and have Snakemake record them as made by their jobs."""
    ran = cohort.snakemake("--dry-run", *targets)
    assert ran.exit_code == 0, ran.output
    outputs = [line.partition("output: ")[2].split(", ") for line in ran.lines if line.startswith("    output: ")]
    for path in chain.from_iterable(outputs):
        file = cohort.folder / path
        if file.suffix:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        else:
            file.mkdir(parents=True)
    ran = cohort.snakemake("--touch", "--forceall", "--notemp", *targets)
    assert ran.exit_code == 0, ran.output


def planned_jobs(ran: Ran) -> dict[str, int]:
    """Jobs a rule, from the table of a dry run."""
    table = ran.output[ran.output.rindex("Job stats:") :].splitlines()[3:]
    jobs = {}
    for line in table:
        if not (fields := line.split()):
            break
        jobs[fields[0]] = int(fields[1])
    return jobs
