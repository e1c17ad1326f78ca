"""One fault, tried: what is put in a run's way, and what must hold then, whatever it was.

(a) The fault is named, cause and place, without a traceback; or the run came through. (b) The sample beside is
finished, and its results are those of an undisturbed run. (c) With the fault taken away the same command finishes, and
all results are those of an undisturbed run. (d) The ledger has each attempt once, and its check finds nothing.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pytest
from conftest import ROOT, SHORT_JVMS, SNAKEFILE, Ran, require_own_shm, snakemake
from injection import Strike
from launching import LAUNCH, wait_until
from small_cohorts import HEALTHY, KINDS, STALL_S, STRUCK, Kind, arguments_until, content, undisturbed

from gpd.records import ledger_check

FAILS, REFUSED, THROUGH = "fails", "refused", "through"
# what holds a rule's results against those of an undisturbed run, where these themselves cannot be compared
PROOFS = {
    **dict.fromkeys(("bwa_index", "indexed_vcf"), "map_and_sort"),
    **dict.fromkeys(("annotation", "splice_sites", "hisat2_index"), "align"),
    "genomics_db_import": "gather_genotypes",
    "quantify": "differential_expression",
}


class Fault(Protocol):
    """Something that is in the way of a run for a time."""

    def on(self, trial: "Trial") -> contextlib.AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Case:
    """A fault, and what must come of it.

    `rule`: whose results are asked for, and were not there before. `sample`: whose job is struck; "" is the cohort's.
    `causes`: what the ledger may say of it; none: the job itself ends well, and Snakemake says what is wrong. `words`:
    what stands in the record's message or, where it has none, in what Snakemake says. `proof`: up to which rule results
    are compared, if not PROOFS knows it. `beside`: how often the job of the sample beside runs: again where what it is
    made of is made again. `named`: the name of the run's folder.
    """

    id: str
    kind: str
    rule: str
    fault: Fault
    injected: str
    outcome: str = FAILS
    causes: tuple[str, ...] = ("killed",)
    words: tuple[str, ...] = ()
    sample: str = STRUCK
    proof: str = ""
    named: str = "run"
    beside: int = 1

    @property
    def where(self) -> str:
        return f"{self.kind}: {self.rule}" + (f" of {self.sample}" if self.sample else "")

    @property
    def must(self) -> str:
        """What must happen, in words."""
        if isinstance(self.fault, Filling) and self.outcome == FAILS:
            return f"fails as {' or '.join(self.causes)}, or comes through with right results"
        if self.outcome == THROUGH:
            return "comes through"
        output = " and ".join(f"“{word}”" for word in self.words)
        if self.outcome == REFUSED:
            return f"refused before any job: {output}"
        return f"fails as {' or '.join(self.causes or ['Snakemake says'])}" + (f": {output}" if output else "")


class Trial:
    """A run's folder, as an undisturbed run left it before the rule that is struck."""

    def __init__(self, case: Case, folder: Path, base: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.case, self.patch, self.stack = case, patch, stack
        self.kind: Kind = KINDS[case.kind]
        self.undisturbed = undisturbed(case.kind, base)
        self.place, self.folder = folder, folder / case.named
        self.prefix: tuple[str, ...] = ()
        self.ledger = self.folder / "ledger.jsonl"
        shutil.copytree(self.undisturbed, self.folder, symlinks=True)
        self.ledger.unlink()
        shutil.rmtree(self.folder / "logs")
        for rule in self.kind.from_rule_on(case.rule):
            for path in self.kind.results(rule):
                remove(self.folder / path)
        patch.setenv("GPD_RUNTIME_DIR", str(folder / "allocations"))
        patch.setenv("SNAKEMAKE_PINNED_STALL_S", str(STALL_S))

    @property
    def proof(self) -> str:
        if self.case.rule == "reference":
            return self.case.proof or ("align" if "tuxedo" in self.case.kind else "map_and_sort")
        return self.case.proof or PROOFS.get(self.case.rule, self.case.rule)

    def run(self, *rules: str) -> Ran:
        if not self.prefix:
            return snakemake(self.folder, *arguments_until(self.kind, *rules))
        words = ["-m", "snakemake", "--snakefile", SNAKEFILE, "--directory", self.folder, "--cores", "2"]
        words += ["--retries", "0"]
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [*self.prefix, sys.executable, *words, *arguments_until(self.kind, *rules)],
                cwd=ROOT,
                env=os.environ | SHORT_JVMS,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            return Ran(done.returncode, output.read())

    def records(self, sample: str = "") -> list[dict]:
        """What the ledger has of the struck rule: of a sample, or of all."""
        if not self.ledger.exists():
            return []
        found = [json.loads(line) for line in self.ledger.read_text().splitlines() if line.endswith("}")]
        return [
            each
            for each in found
            if each["rule"] == self.case.rule
            and sample in ("", each["wildcards"].get("sample", each["wildcards"].get("callset")))
        ]

    def differing(self, rule: str, sample: str = "") -> list[str]:
        """Results that are not those of the undisturbed run."""
        paths = self.kind.results(rule, sample)
        return [path for path in paths if content(self.folder / path) != content(self.undisturbed / path)]

    def recover(self) -> None:
        """Have the launcher record the jobs that were killed with all that watched them."""
        asked = [sys.executable, "-S", "-E", LAUNCH, "jobs"]
        subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, timeout=60)

    def problems(self) -> tuple[str, ...]:
        return ledger_check.check(self.ledger).problems


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def try_case(case: Case, folder: Path, base: Path) -> str:
    """Put the fault in the way, take it away again, and hold the four invariants; return what was seen."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        trial = Trial(case, folder, base, patch, stack)
        if isinstance(case.fault, Filling):
            return try_filling(trial, case.fault)
        with case.fault.on(trial):
            ran = trial.run(case.rule)
        trial.recover()
        seen = look_at(trial, ran)
        again = trial.run(case.rule, trial.proof)
        trial.recover()
        assert again.exit_code == 0, f"{ran.output}\n--- again:\n{again.output}"
        assert not trial.differing(trial.proof), f"{ran.output}\n--- again:\n{again.output}"
        assert not trial.differing(case.rule)
        assert trial.problems() == ()
        check_attempts(trial)
        assert not list(folder.rglob("pwned*")), "a name was run"
        return seen


def try_filling(trial: Trial, fault: "Filling") -> str:
    """Hold the invariants with the disk full at each of the moments; return what was seen."""
    case, seen = trial.case, []
    with fault.on(trial):
        rooms = fault.rooms(trial)
        assert not trial.differing(case.rule), "undisturbed"
        for room in rooms:
            for path in trial.kind.results(case.rule, case.sample):
                remove(trial.folder / path)
            ran = fault.run_with(trial, room)
            assert "Traceback" not in ran.output, ran.output
            *_, record = trial.records(case.sample)
            if case.sample:
                assert not trial.differing(case.rule, HEALTHY), f"{room} pages: the sample beside is lost\n{ran.output}"
            if ran.exit_code == 0:
                assert not trial.differing(case.rule), f"{room} pages: wrong, and accepted\n{ran.output}"
                continue
            assert record["cause"] in case.causes, (room, record["cause"], record["message"], ran.output)
            seen.append(tidy(f"{record['cause']}: {record['message']}", trial))
    again = trial.run(case.rule, trial.proof)
    trial.recover()
    assert again.exit_code == 0, again.output
    assert not trial.differing(trial.proof), again.output
    assert not trial.differing(case.rule)
    assert trial.problems() == ()
    causes = [record["cause"] for record in trial.records(case.sample)]
    repeated = int(ran.exit_code != 0)
    assert len(causes) == 1 + len(rooms) + repeated and sum(map(bool, causes)) == len(seen), causes
    if case.sample:
        assert [record["cause"] for record in trial.records(HEALTHY)] == [None]
    assert bool(seen) == (case.outcome == FAILS), f"{len(seen)} of {len(rooms)} moments failed"
    came = f"at {len(rooms) - len(seen)} of {len(rooms)} moments it came through"
    return f"{came}; else {seen[0]}" if seen else came


def look_at(trial: Trial, ran: Ran) -> str:
    """Hold what must be right while the fault's traces are there; return them in words."""
    case = trial.case
    assert "Traceback" not in ran.output, ran.output
    records = trial.records(case.sample)
    if case.outcome == THROUGH:
        assert ran.exit_code == 0, ran.output
        assert all(word in ran.output for word in case.words), ran.output
        assert not trial.differing(case.rule)
        return "came through"
    assert ran.exit_code != 0, ran.output
    if case.sample and case.outcome == FAILS:
        assert not trial.differing(case.rule, HEALTHY), f"the sample beside is lost\n{ran.output}"
    if case.outcome == REFUSED or not case.causes:
        assert case.outcome == FAILS or isinstance(case.fault, Another) or not trial.records(), "a job began"
        (line, *_) = [line for line in ran.lines if all(word in line for word in case.words)] or [None]
        assert line, ran.output
        return tidy(line, trial)
    (record,) = records
    assert record["cause"] in case.causes, (record["cause"], record["message"], ran.output)
    assert all(word in record["message"] for word in case.words), record["message"]
    return tidy(f"{record['cause']}: {record['message']}", trial)


def check_attempts(trial: Trial) -> None:
    """Each attempt is recorded once: the one that was struck, and the one that made it good; of who is beside, one."""
    case = trial.case
    causes = [record["cause"] for record in trial.records(case.sample)]
    if case.outcome == FAILS:
        assert len(causes) == 2, causes
        assert causes[0] in (case.causes or (None,))
    assert causes[-1:] == [None], causes
    if case.outcome == REFUSED:
        assert causes == [None]
    if case.sample and case.outcome == FAILS:
        assert [record["cause"] for record in trial.records(HEALTHY)] == [None] * case.beside


def tidy(text: str, trial: Trial) -> str:
    """A message without what differs from run to run, short enough for a table."""
    text = re.sub(r"\bPID \d+", "PID N", text.replace(str(trial.folder), "RUN").replace(str(trial.place), "PLACE"))
    text = re.sub(r"((?:bash|environment): line \d+:) +\d+ ", r"\1 N ", re.sub(r"/\S*/tmp\.?\w+", "TMP", text))
    text = " ".join(re.sub(r"-pid\d+[\w-]*", "-pidN", text).split())
    return f"{text[:157]}..." if len(text) > 160 else text


# ---- faults ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class All:
    """Several faults at once."""

    faults: tuple[Fault, ...]

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        with ExitStack() as stack:
            for fault in self.faults:
                stack.enter_context(fault.on(trial))
            yield


@dataclass(frozen=True)
class Tool:
    """Something stands in front of a tool; a dead Snakemake's lock is lifted."""

    strike: Strike

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        wrapper = trial.place / "wrapper"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", self.strike.stand_before(wrapper, os.environ["PATH"]))
            yield
        assert self.strike.was_done(wrapper), "the fault did not come"
        if self.strike.what == "snakemake":
            wait_until(lambda: not at_work(trial), timeout_s=60)
            assert snakemake(trial.folder, "--unlock").exit_code == 0


def at_work(trial: Trial) -> bool:
    """Whether a job has not ended."""
    asked = [sys.executable, "-S", "-E", LAUNCH, "jobs"]
    return bool(subprocess.run(asked, check=True, capture_output=True, timeout=60).stdout)


@dataclass(frozen=True)
class Spoilt:
    """A file of the run holds something else; then it is as it was or, where it is a result, deleted by the user."""

    file: str
    change: Callable[[bytes], bytes]
    result: bool = False

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        path = trial.folder / self.file
        before, times = path.read_bytes(), path.stat()
        path.write_bytes(self.change(before))
        assert path.read_bytes() != before
        if self.result:  # as a power cut leaves it: what was written is gone, and the times are there
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield
        if self.result:
            path.unlink()
        else:
            path.write_bytes(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@dataclass(frozen=True)
class Filling:
    """The small file system on which a folder lies is full at ten moments of a tool's work, one in each run.

    `strike` watches how much the tool writes there, undisturbed; then so many tenths of that are left it, from none on.
    Where that is less than ten pages, each page is a moment.
    """

    folder: str
    strike: Strike
    temporary: bool = False  # it is the folder of temporary files

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        mount(trial, trial.folder / self.folder, "-t", "tmpfs", "-o", "size=32m", "tmpfs")
        if self.temporary:
            trial.prefix = ("env", f"TMPDIR={trial.folder / self.folder}")
        yield
        trial.prefix = ()

    def rooms(self, trial: Trial) -> list[int]:
        """Run undisturbed; return how many pages are left at each of the moments."""
        wrapper = trial.place / "wrapper"
        self.run(trial, replace(self.strike, deed="watch", what=self.folder), wrapper)
        pages = int((wrapper / "done").read_text())
        return sorted({pages * tenth // 10 for tenth in range(10)})

    def run_with(self, trial: Trial, room: int) -> Ran:
        strike = replace(self.strike, deed="fill", what=self.folder, room=room, after=None)
        ran = self.run(trial, strike, trial.place / f"wrapper_{room}")
        (trial.folder / self.folder / "filler").unlink()
        return ran

    def run(self, trial: Trial, strike: Strike, wrapper: Path) -> Ran:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", strike.stand_before(wrapper, os.environ["PATH"]))
            ran = trial.run(trial.case.rule)
        trial.recover()
        assert strike.was_done(wrapper), f"the fault did not come\n{ran.output}"
        return ran


def mount(trial: Trial, place: Path, *words: str) -> None:
    """Mount something until the trial ends."""
    place.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["mount", *words, place], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that takes root's rights")
    trial.stack.callback(subprocess.run, ["umount", "-l", place], check=True)


@dataclass(frozen=True)
class Under:
    """All of Snakemake runs under another program."""

    prefix: tuple[str, ...]

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        if not shutil.which(self.prefix[0]):
            pytest.skip(f"{self.prefix[0]} is not installed")
        trial.prefix = self.prefix
        yield
        trial.prefix = ()


@dataclass(frozen=True)
class Clock:
    """A folder's files have times that are off by so many days, as of a clock that was set since they were written."""

    folder: str
    days: int

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        times = {path: path.stat().st_mtime_ns for path in (trial.folder / self.folder).iterdir()}
        shift = self.days * 24 * 3600 * 10**9
        for path, written in times.items():
            os.utime(path, ns=(written + shift, written + shift))
        yield
        for path, written in times.items():
            if path.stat().st_mtime_ns == written + shift:
                os.utime(path, ns=(written, written))


@dataclass(frozen=True)
class Another:
    """Another run of the same command is at work in the folder, until the one that finds it has ended."""

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        held, ended = trial.place / "held", list[Ran]()
        held.touch()
        result = trial.kind.results(trial.case.rule, STRUCK)[0]
        other = threading.Thread(target=lambda: ended.append(trial.run(trial.case.rule)))
        with Tool(Strike("gatk", result, "hold", what=str(held))).on(trial):
            other.start()
            wait_until(lambda: list((trial.folder / ".snakemake/locks").glob("*.lock")), timeout_s=60)
            yield
            assert other.is_alive(), "the other run was over too soon"
            assert all(record["cause"] is None for record in trial.records())
            held.unlink()
            other.join()
        assert ended[0].exit_code == 0, ended[0].output


@dataclass(frozen=True)
class Torn:
    """The ledger ends in the middle of a line, as a power cut leaves it; its check names it, until it is taken out."""

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        record = (trial.undisturbed / "ledger.jsonl").read_text().splitlines()[0]
        trial.ledger.write_text(record[: len(record) // 2])
        yield
        (problem,) = trial.problems()
        assert "line 1: not JSON" in problem
        _, *whole = trial.ledger.read_text().splitlines(keepends=True)
        trial.ledger.write_text("".join(whole))


@dataclass(frozen=True)
class Moved:
    """The struck sample's reads are in files of other names."""

    names: dict[str, str] = field(hash=False)  # by column

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        units = trial.folder / "config/units.tsv"
        before = units.read_text()
        text = before
        for column, name in self.names.items():
            plain = f"reads/{STRUCK}_{column}.fq.gz"
            shutil.copy2(trial.folder / plain, trial.folder / name)
            text = text.replace(plain, name)
        assert text != before
        units.write_text(text)
        yield
        units.write_text(before)
        for name in self.names.values():
            (trial.folder / name).unlink()


@dataclass(frozen=True)
class Loaded:
    """Somebody on the machine has another genome in shared memory, under the name that our index has."""

    change: Callable[[str], str]

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        require_own_shm()
        other = make_index(trial, trial.place / "other", self.change)
        subprocess.run(["bwa", "shm", other], check=True, capture_output=True)
        assert "genome.fa\t" in subprocess.run(["bwa", "shm", "-l"], check=True, capture_output=True, text=True).stdout
        yield
        subprocess.run(["bwa", "shm", "-d"], check=True, capture_output=True)


@dataclass(frozen=True)
class Named:
    """The configuration names an index of another genome."""

    change: Callable[[str], str]

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        other = make_index(trial, trial.place / "other", self.change)
        config = trial.folder / "config/config.yaml"
        before = config.read_text()
        config.write_text(before.replace("fasta: genome.fa", f"fasta: genome.fa\n  bwa_index: {other}"))
        assert config.read_text() != before
        yield
        config.write_text(before)


def make_index(trial: Trial, folder: Path, change: Callable[[str], str]) -> Path:
    """The prefix of an index of the run's genome, changed, under the name that ours has."""
    folder.mkdir()
    fasta = folder / "genome.fa"
    fasta.write_text(change((trial.folder / "genome.fa").read_text()))
    subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
    return fasta


@dataclass(frozen=True)
class Nothing:
    """The fault is in the name of the run's folder."""

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        yield
