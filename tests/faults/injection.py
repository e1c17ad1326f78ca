"""Does something to a job, at one point of one of its tools: this file stands in front of the tool on the PATH.

Started as a program, `injection.py PLAN TOOL ARGUMENT ...`, it is the tool: it runs the real one, and does once what
the plan says, where the tool is at work for the job that the plan names. Standard library only: every call pays.
"""

import gzip
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

JOB = b"\0-c\0set -E; trap 'echo status "  # how the launcher starts a job's command
POLL_S, LONGEST_S = 0.005, 60.0
WATCH_S, PAGE = 0.001, 4096
BEGINS, WRITING, ENDS = "begins", "writing", "ends"


@dataclass(frozen=True)
class Strike:
    """What is done, to which tool of which job, and when.

    `room`: so many pages are left where a disk is filled.
    `job`: words that stand in the command of that job alone. `subcommand`: the tool's first argument, where one job
    calls the tool more than once. `moment`: when the tool begins, when `file` is there (writing), when it has done all
    (ends), or once so many bytes have come out of it. `deed`: a function below, `what` its argument. `after`: a rule
    and a sample whose job must have ended well before.
    """

    tool: str
    job: str
    deed: str
    what: str = ""
    moment: str | int = BEGINS
    subcommand: str = ""
    file: str = ""
    after: tuple[str, str] | None = None
    room: int = 1

    def stand_before(self, folder: Path, path: str) -> str:
        """Put this file in front of the tool; return the PATH on which it is found."""
        folder.mkdir()
        real = shutil.which(self.tool, path=path)
        assert real, f"{self.tool} is not installed"
        plan = folder / "plan.json"
        plan.write_text(json.dumps(asdict(self) | {"real": real, "done": str(folder / "done")}))
        wrapper = folder / self.tool
        wrapper.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S -E '{__file__}' '{plan}' {self.tool} \"$@\"\n")
        wrapper.chmod(0o755)
        return f"{folder}{os.pathsep}{path}"

    def was_done(self, folder: Path) -> bool:
        return (folder / "done").exists()


# ---- in front of the tool -------------------------------------------------------------------------------------------


def main(plan_file, tool, *arguments):
    """Be the tool."""
    plan = json.loads(Path(plan_file).read_text()) | {"arguments": arguments}
    command = [plan["real"], *arguments]
    here = str(Path(plan_file).parent)  # the tool may be a wrapper, which looks for the next of its name
    os.environ["PATH"] = os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if each != here)
    family = relatives()
    if not (family and is_meant(plan, family, arguments) and is_first(plan)):
        os.execv(command[0], command)
    wait_for(plan["after"])
    if plan["moment"] == BEGINS:
        DEEDS[plan["deed"]](plan, family)
        os.execv(command[0], command)
    if isinstance(plan["moment"], int):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, close_fds=False)  # it may be given pipes by number
        passed = child.stdout.read(plan["moment"])
        sys.stdout.buffer.write(passed)
        sys.stdout.buffer.flush()
        family["child"] = child.pid
        DEEDS[plan["deed"]](plan, family)
        shutil.copyfileobj(child.stdout, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return child.wait()
    child = subprocess.Popen(command, close_fds=False)
    while child.poll() is None and (plan["moment"] == ENDS or not Path(plan["file"]).exists()):
        time.sleep(POLL_S)
    family["child"] = child.pid if child.returncode is None else None
    DEEDS[plan["deed"]](plan, family)
    return child.wait()


def relatives():
    """The processes of the job by their roles; {} where the tool works for no job."""
    line = [os.getpid()]
    while line[-1] > 1:
        line.append(parent(line[-1]))
    jobs = [number for number, pid in enumerate(line) if JOB in words(pid)]
    if not jobs:
        return {}
    shell = jobs[-1]  # those below are subshells of it
    found = dict(zip(("shell", "supervisor", "wrapper"), line[shell:], strict=False))
    above = line[shell + 3 :]
    snakemake = next(pid for pid in above if not words(pid).split(b"\0")[0].endswith(b"bash"))
    return found | {"tool": line[0], "parent": line[1], "snakemake": snakemake, "child": None}


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def words(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def is_meant(plan, family, arguments):
    return plan["job"].encode() in words(family["shell"]) and plan["subcommand"] in ("", *arguments[:1])


def is_first(plan):
    """Each fault comes once, though a tool may be called again in its job."""
    try:
        os.close(os.open(plan["done"], os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def wait_for(after):
    """Wait until another sample's job is in the ledger, as having ended well."""
    until = time.monotonic() + LONGEST_S
    while after and not has_ended(*after) and time.monotonic() < until:
        time.sleep(POLL_S)


def has_ended(rule, sample):
    ledger = Path(os.environ.get("GPD_LEDGER") or "ledger.jsonl")
    if not ledger.exists():
        return False
    records = [json.loads(line) for line in ledger.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return any(
        (record["rule"], record["wildcards"].get("sample", record["wildcards"].get("callset"))) == (rule, sample)
        and record["exit_code"] == 0
        for record in records
    )


# ---- deeds ----------------------------------------------------------------------------------------------------------


def kill(plan, family):
    """Kill -9 a process of the job; if not the tool itself, the tool is at work until somebody ends it."""
    if plan["what"] == "tool":
        if family["child"]:
            os.kill(family["child"], signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    os.kill(family[plan["what"]], signal.SIGKILL)
    time.sleep(LONGEST_S)


def stall(plan, family):
    """Do nothing for ever: no CPU time, no byte."""
    signal.pause()


def hold(plan, family):
    """Begin when a file is gone."""
    until = time.monotonic() + LONGEST_S
    while Path(plan["what"]).exists() and time.monotonic() < until:
        time.sleep(POLL_S)


def end(plan, family):
    """End well, whatever is still to be done."""
    if family["child"]:
        os.kill(family["child"], signal.SIGKILL)
    os._exit(0)


def read_little(plan, family):
    """Read no more than the beginning of what comes down the pipe, and end well."""
    sys.stdin.buffer.read1(1000)
    os._exit(0)


def halve(plan, family):
    """Lose the second half of a file; {-o} in its path is what the tool was given there."""
    path = Path(plan["what"].replace("{-o}", given("-o", plan["arguments"])))
    os.truncate(path, path.stat().st_size // 2)


def given(flag, arguments):
    return arguments[arguments.index(flag) + 1] if flag in arguments else ""


def delete(plan, family):
    """Remove a file or a folder."""
    path = Path(plan["what"])
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def forbid(plan, family):
    """Take all permissions from a file."""
    Path(plan["what"]).chmod(0)


def suspend(plan, family):
    """Stop the tool, as a debugger or a person does (SIGSTOP)."""
    os.kill(family["child"], signal.SIGSTOP)


def grow(plan, family):
    """Have both files of reads go on, each by one record: as they would if they were still being copied."""
    for path in plan["what"].split():
        with Path(path).open("ab") as fastq:
            fastq.write(gzip.compress(b"@late\nACGT\n+\nIIII\n", mtime=0))


def sweep(plan, family):
    """Remove the job's folder of temporary files, as systemd-tmpfiles does with what it thinks old."""
    while Path(os.environ["TMPDIR"]).exists():  # others of the job's programs write there
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


def refuse_writes(plan, family):
    """Have the tool's writes to a file fail: errno, path and library stand in `what`."""
    error, path, library = plan["what"].split()
    os.environ["LD_PRELOAD"] = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
    os.environ |= {"FAULT_ERRNO": error, "FAULT_PATH": path}


def take_inodes(plan, family):
    """Leave no room for another file on the disk on which a folder lies."""
    for number in itertools.count():
        try:
            Path(plan["what"], f"filler_{number}").touch()
        except OSError:
            return


def fill(plan, family):
    """Take all room of the disk on which a folder lies, but so many pages."""
    with Path(plan["what"], "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(PAGE)) == PAGE:
                continue
        except OSError:
            filler.truncate(max(0, filler.tell() - plan["room"] * PAGE))


def watch(plan, family):
    """Go on as the tool, while how much it comes to take of the disk on which a folder lies is noted, in pages."""
    tool = os.fork()
    if not tool:
        return
    before = most = used(plan["what"])
    status = None
    while status is None:
        ended, found = os.waitpid(tool, os.WNOHANG)
        most, status = max(most, used(plan["what"])), found if ended else None
        time.sleep(WATCH_S)
    Path(plan["done"]).write_text(str(most - before))
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def used(folder):
    place = os.statvfs(folder)
    return (place.f_blocks - place.f_bfree) * place.f_frsize // PAGE


def memory(plan, family):
    """Give the tool no more address space than so many MiB."""
    limit = int(plan["what"]) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def files(plan, family):
    """Let the tool open no more than so many files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(plan["what"]), int(plan["what"])))


DEEDS = {
    each.__name__: each
    for each in (
        *(kill, stall, hold, end, read_little, halve, delete, fill, watch, memory, files),
        *(forbid, suspend, grow, sweep, refuse_writes, take_inodes),
    )
}

if __name__ == "__main__":
    status = main(*sys.argv[1:])
    if status < 0:
        os.kill(os.getpid(), -status)
    sys.exit(status)
