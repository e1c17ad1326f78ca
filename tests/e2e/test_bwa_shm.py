"""One index of bwa's in memory for all jobs of a node: loaded once, freed whatever happens, and others' left alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, random_sequence, sample_pairs, tiny_cohort, write_fastq
from launching import LAUNCH, Node, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("own_shm")]

SCRIPT = ROOT / "workflow/scripts/germline/bwa_shm.py"
SHM = Path("/dev/shm")
LINGER_S = 1.0


def all_listed() -> list[str]:
    """The names in bwa's list, whoever put them there."""
    output = subprocess.run(["bwa", "shm", "-l"], capture_output=True, text=True, check=False).stdout
    return [line.split("\t")[0] for line in output.splitlines()]


class Machine:
    """A runtime folder of its own, and indexes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = folder / "runtime"
        self.others = set(all_listed())
        self.environment = os.environ | {
            "GPD_RUNTIME_DIR": str(self.runtime),
            "GPD_LAUNCH": str(LAUNCH),
            "GPD_BWA_LINGER_S": str(LINGER_S),
        }

    def index(self, name: str, seed: int) -> str:
        """An index, whose files are called genome.fa whatever its name; its prefix."""
        fasta = self.folder / name / "genome.fa"
        fasta.parent.mkdir()
        genome = random_sequence(20_000, seed)
        fasta.write_text(f">{name}\n{genome}\n")
        subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
        write_fastq(self.folder / f"{name}.fq", sample_pairs(genome, 50, seed)[0])
        return str(fasta)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-S", "-E", str(SCRIPT), *words]

    def start(self, prefix: str, reads: str, **settings) -> subprocess.Popen:
        command = self.command("run", prefix, "bwa", "mem", "-v", "3", prefix, reads)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=self.environment, **settings)

    def map(self, prefix: str) -> tuple[list[str], str]:
        """Records of the index's own reads, and what bwa said."""
        process = self.start(prefix, str(self.folder / f"{Path(prefix).parent.name}.fq"))
        sam, output = process.communicate(timeout=60)
        assert process.returncode == 0, output
        return [line for line in sam.splitlines() if not line.startswith("@")], output

    def hold(self, prefix: str) -> tuple[subprocess.Popen, int]:
        """A bwa that waits for its reads with the index in its hands, and the end of the pipe that it waits at."""
        reading, writing = os.pipe()
        process = self.start(prefix, f"/dev/fd/{reading}", pass_fds=[reading])
        os.close(reading)
        wait_until(lambda: self.segments() and "bwa" in Path(f"/proc/{process.pid}/comm").read_text())
        return process, writing

    def segments(self) -> set[str]:
        """Our indexes in memory."""
        return {path.name for path in SHM.glob("bwaidx-gpd-*")} - {f"bwaidx-{name}" for name in self.others}

    def listed(self) -> list[str]:
        return [name for name in all_listed() if name not in self.others]

    def guard(self) -> None:
        """Ask for the guard from a shell that ends at once."""
        asking = ["sh", "-c", '"$@"; :', "sh", *self.command("guard")]
        subprocess.run(asking, env=self.environment, check=True, timeout=20)

    def guards(self) -> list[int]:
        """The guards of this folder: who holds its seat."""
        seat = str(self.runtime / "bwa/guard")
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            if is_ours(folder) and seat in {str(link.readlink()) for link in folder.glob("fd/*") if link.is_symlink()}:
                found.append(int(folder.name))
        return found


def is_ours(process: Path) -> bool:
    try:
        return b"bwa_shm.py" in (process / "cmdline").read_bytes()
    except OSError:
        return False


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for pid in made.guards():
        os.kill(pid, signal.SIGKILL)
    subprocess.run(made.command("free"), env=made.environment, check=True)
    assert not made.segments()


def test_no_test_sees_the_machines_shared_memory() -> None:
    parent = Path(f"/proc/{os.getppid()}/ns/mnt")
    assert Path("/proc/self/ns/mnt").readlink() != parent.readlink()
    assert os.path.ismount(SHM)


def test_an_index_is_loaded_once_and_gives_the_same_alignments(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    plain = subprocess.run(
        ["bwa", "mem", prefix, machine.folder / "a.fq"], capture_output=True, text=True, check=True
    ).stdout
    for _ in range(2):
        records, output = machine.map(prefix)
        assert records == [line for line in plain.splitlines() if not line.startswith("@")]
        assert "load the bwa index from shared memory" in output
        (name,) = machine.segments()
        assert machine.listed() == [name.removeprefix("bwaidx-")]
        loaded = (SHM / name).stat()
    assert (SHM / name).stat().st_ino == loaded.st_ino


def test_two_references_of_one_name_are_not_taken_for_each_other(machine: Machine) -> None:
    one, other = machine.index("a", 1), machine.index("b", 2)
    for prefix, contig in ((one, "a"), (other, "b"), (one, "a")):
        records, _ = machine.map(prefix)
        assert {record.split("\t")[2] for record in records} == {contig}
    assert len(machine.segments()) == 2


def test_an_index_that_was_made_anew_is_loaded_anew(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    machine.map(prefix)
    fasta = Path(prefix)
    fasta.write_text(fasta.read_text().replace(">a", ">c"))
    subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
    assert {record.split("\t")[2] for record in machine.map(prefix)[0]} == {"c"}


def test_the_guard_frees_what_nobody_uses_and_ends(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    first = machine.hold(prefix)
    machine.guard()
    (guard,) = machine.guards()
    second = machine.hold(prefix)
    machine.guard()
    assert machine.guards() == [guard], "one is enough"
    os.close(first[1])
    first[0].communicate(timeout=20)
    time.sleep(3 * LINGER_S)
    assert len(machine.segments()) == 1, "another process uses it"
    os.kill(second[0].pid, signal.SIGKILL)
    wait_until(lambda: not machine.segments())
    assert machine.listed() == []
    wait_until(lambda: not machine.guards())
    assert machine.others or not (SHM / "bwactl").exists()
    assert {path.name for path in (machine.runtime / "bwa").iterdir()} <= {"control", "guard"}
    os.close(second[1])
    second[0].communicate()


def test_the_guard_stays_while_a_job_that_asked_for_it_is_there(machine: Machine) -> None:
    asking = ["sh", "-c", '"$@"; read -r _', "sh", *machine.command("guard")]
    with subprocess.Popen(asking, env=machine.environment, stdin=subprocess.PIPE) as shell:
        wait_until(machine.guards)
        time.sleep(2 * LINGER_S)
        assert machine.guards(), "the job may wait for CPUs"
        shell.kill()
    wait_until(lambda: not machine.guards())


def test_what_is_left_when_the_guard_is_killed_too_is_freed_by_the_next(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    process, writing = machine.hold(prefix)
    machine.guard()
    for pid in (*machine.guards(), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    os.close(writing)
    time.sleep(2 * LINGER_S)
    assert machine.segments()
    machine.guard()
    wait_until(lambda: not machine.segments() and not machine.guards())


def test_a_loading_that_was_killed_is_begun_anew(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    machine.map(prefix)
    (loaded,) = (machine.runtime / "bwa").glob("*.loaded")
    (name,) = machine.segments()
    (SHM / name).write_bytes(b"half of it")  # as the kernel leaves it
    loaded.unlink()
    records, output = machine.map(prefix)
    assert {record.split("\t")[2] for record in records} == {"a"}
    assert "from shared memory" in output


def test_an_index_that_somebody_loaded_by_hand_is_left_alone(machine: Machine) -> None:
    prefix, own = machine.index("a", 1), machine.index("b", 2)
    if machine.others:
        pytest.skip("somebody has an index in memory, which bwa could drop with ours alone")
    subprocess.run(["bwa", "shm", own], check=True, capture_output=True)
    try:
        machine.map(prefix)
        assert len(machine.listed()) == 2
        subprocess.run(machine.command("free"), env=machine.environment, check=True)
        assert machine.listed() == ["genome.fa"]
        output = subprocess.run(
            ["bwa", "mem", own, machine.folder / "b.fq"], capture_output=True, text=True, check=True
        )
        assert "from shared memory" in output.stderr
    finally:
        subprocess.run(["bwa", "shm", "-d"], check=True, capture_output=True)


def test_where_there_is_no_room_each_job_has_its_own_and_says_so(machine: Machine) -> None:
    prefix = machine.index("a", 1)
    patched = machine.folder / "patched.py"
    patched.write_text(
        f"import runpy, sys\nsys.argv[1:1] = []\n"
        f"source = open({str(SCRIPT)!r}).read().replace('LEAST_BYTES = 1 << 26', 'LEAST_BYTES = 1 << 60')\n"
        f"exec(compile(source, {str(SCRIPT)!r}, 'exec'))\n"
    )
    command = [sys.executable, patched, "run", prefix, "bwa", "mem", prefix, machine.folder / "a.fq"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=machine.environment)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "bwa's index is not shared, this job has its own: /dev/shm has" in warnings[0]
    assert done.stdout.count("\ta\t") >= 50
    assert not machine.segments()


def test_jobs_of_a_run_share_an_index_that_is_gone_afterwards(tmp_path: Path, machine: Machine, monkeypatch) -> None:
    monkeypatch.setenv("GPD_BWA_LINGER_S", str(LINGER_S))
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(machine.runtime))
    (tmp_path / "run").mkdir()
    cohort: Cohort = tiny_cohort(tmp_path / "run")
    cohort.config["bwa_shm"] = "always"
    ran = cohort.snakemake("results/mark_duplicates/S1.bam", "results/mark_duplicates/S2.bam")
    assert ran.exit_code == 0, ran.output
    logs = [path.read_text() for path in (cohort.folder / "logs/map_and_sort").rglob("*.log")]
    assert len(logs) == 4
    assert all("load the bwa index from shared memory" in log for log in logs)
    wait_until(lambda: not machine.segments() and not machine.guards())


def test_memory_that_other_jobs_share_is_not_a_jobs_own(node: Node) -> None:
    shared = SHM / f"gpd-test-{os.getpid()}"
    size = 300 << 20
    shared.write_bytes(bytes(size))
    job = (
        f'{sys.executable} -c \'import mmap, time; f = open("{shared}", "rb"); '
        "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); n = sum(m[i] for i in range(0, len(m), 4096)); "
        'own = bytearray(b"x") * (100 << 20); time.sleep(1)\''
    )
    try:
        code, output, record = node.run(job)
    finally:
        shared.unlink()
    assert code == 0, output
    assert 100 < record["peak_rss_mib"] < 200
