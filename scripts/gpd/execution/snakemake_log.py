"""Snakemake's output, read: how far it is, what is planned, why it stopped. Pure: it looks at lines."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

MOST_LINES = 20  # of a reason
BEGUN = "Building DAG of jobs..."
STATISTICS = "Job stats:"
RESULTS = "results: "  # a line of the workflow: what is opened first, by kind, with wildcards in the paths
AGAIN = "would be made again: "  # what finished samples have: the workflow may be told to end for it
# rules that only collect files for others: no jobs of a pipeline
HOUSEKEEPING = ("all", "results", "prepare", "list_files", "left_out")
LAST_WORDS = ["WorkflowError:", "At least one job did not complete successfully."]

_STARTED = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):$")
_SLURM_RUN = re.compile(r"^SLURM run ID: (\S+)$")
_SUBMITTED = re.compile(r"^Job \S+ has been submitted with SLURM jobid (\d+)\b")
_MEMORY = re.compile(r"\bmem_mb=(\d+)")
_FAILED = re.compile(r"^Error in rule (\w+):$")
_FINISHED = re.compile(r"^Finished jobid: (\d+) \(Rule: (\w+)\)")
_COUNT = re.compile(r"^(\w+) +(\d+)$")  # in the table of planned jobs
_TOLD = re.compile(r"^(?:given here |note: )")  # what rules get here, and what would serve better
_NOTE = re.compile(rf"^warning: |{_TOLD.pattern}")
_FIELD = re.compile(r"^    ([\w-]+): ?(.*)$")
_ERROR = re.compile(r"^\w*(?:Error|Exception)\b|^\S+: error: |^launcher: ")
_CALL = re.compile(r'^\s+File ".*", line \d+')  # a line of Python's, which a user can do nothing with
_NOTICE = re.compile(  # tells nothing of what went wrong
    r"^(?:Using workflow specific profile |Config file .* is extended by |Assuming unrestricted shared filesystem|"
    r"Exiting because a job|Complete log\(s\)|Elapsed time|"
    r"Shutting down, |warning: |results: )"
)


@dataclass(frozen=True)
class PlannedJob:
    """A job that a dry run would start, and the memory that it asks for (None: that is not known before)."""

    rule: str
    outputs: tuple[str, ...]
    threads: int
    mem_mb: int | None
    wildcards: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Progress:
    """How far a run is, read off Snakemake's lines: jobs done, of all, those at work by id, and the run's notes.

    `local`: those at work where Snakemake is; `submitted`: Slurm's numbers of all that it was given, and `slurm_run`
    the name that they have there.
    """

    done: int = 0
    total: int | None = None
    running: dict[str, str] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    submitted: set[str] = field(default_factory=set)
    slurm_run: str = ""
    notes: list[str] = field(default_factory=list)
    _housekeeping: int = 0
    _rule: str = ""
    _local: bool = False
    _job: str = ""

    def read(self, line: str) -> bool:
        """Take in one line; whether anything changed."""
        if found := _STARTED.match(line):
            self._local, self._rule = line.startswith("local"), found[1]
        elif _FAILED.match(line):
            self._rule = ""
        elif (found := _FIELD.match(line)) and found[1] == "jobid":
            self._job = found[2]
            self._leave(self._job)
            if self._rule:
                self.running[self._job] = self._rule
            if self._rule and self._local:
                self.local.add(self._job)
        elif found and found[1] == "wildcards":
            self.running[self._job] = " ".join([self._rule, *re.findall(r"=([^,]*)", found[2])])
        elif found := _FINISHED.match(line):
            self._leave(found[1])
            self.done += found[2] not in HOUSEKEEPING
        elif (found := _COUNT.match(line)) and found[1] in HOUSEKEEPING:
            self._housekeeping += int(found[2])
        elif found and found[1] == "total":
            self.total = int(found[2]) - self._housekeeping
        elif found := _SUBMITTED.match(line):
            self.submitted.add(found[1])
        elif found := _SLURM_RUN.match(line):
            self.slurm_run = found[1]
        elif _NOTE.match(line):
            self.notes.append(line)
        else:
            return False
        return True

    def _leave(self, job: str) -> None:
        """Take a job that ended, or starts again, from those at work."""
        self.running.pop(job, None)
        self.local.discard(job)


def results(lines: Iterable[str]) -> dict[str, str]:
    """Where the workflow leaves what is opened first, by kind, relative to its folder, with wildcards in the paths."""
    printed = next((line for line in lines if line.startswith(RESULTS)), RESULTS)
    pairs = (part.partition(" ") for part in printed.removeprefix(RESULTS).split(", ") if part)
    return {kind: path for kind, _, path in pairs}


def planned_rules(lines: Sequence[str]) -> frozenset[str]:
    """The rules that Snakemake was to run, by the table with which it begins."""
    if STATISTICS not in lines:
        return frozenset()
    rows = (line.split() for line in lines[lines.index(STATISTICS) + 1 :])
    counted = takewhile(lambda fields: fields[:1] != ["total"], rows)
    return frozenset(fields[0] for fields in counted if len(fields) == 2 and fields[1].isdigit())


def planned_jobs(lines: Sequence[str]) -> list[PlannedJob]:
    """The jobs of a dry run. No output or name of this workflow has a comma in it."""
    jobs = []
    for number, line in enumerate(lines):
        if started := _STARTED.match(line):
            below = takewhile(bool, map(_FIELD.match, islice(lines, number + 1, None)))
            fields = {field[1]: field[2] for field in below if field}
            outputs = tuple(filter(None, fields.get("output", "").split(", ")))
            memory = _MEMORY.search(fields.get("resources", ""))
            mem_mb = int(memory[1]) if memory else None
            pairs = (word.partition("=") for word in fields.get("wildcards", "").split(", ") if word)
            wildcards = {name: value for name, _, value in pairs}
            jobs.append(PlannedJob(started[1], outputs, int(fields.get("threads", 1)), mem_mb, wildcards))
    return jobs


def reason(lines: Sequence[str]) -> list[str]:
    """Why Snakemake stopped where no failed job says it: its first error, else the last lines that say anything."""
    text = "\n".join(_without_tracebacks(_after_plan(lines))).replace("\n".join(LAST_WORDS), "")
    informative = [line for line in text.split("\n") if line.strip() and not (_NOTICE.match(line) or _TOLD.match(line))]
    errors = [number for number, line in enumerate(informative) if _ERROR.match(line)]
    shown = informative[errors[0] :][:MOST_LINES] if errors else informative[-MOST_LINES:]
    return [line.replace("__main__.py: error:", "snakemake: error:", 1) for line in shown]


def _after_plan(lines: Sequence[str]) -> Sequence[str]:
    """The lines after the table of planned jobs, if there is one."""
    begun = lines.index(STATISTICS) if STATISTICS in lines else len(lines)
    total = next((number for number in range(begun, len(lines)) if lines[number].startswith("total ")), -1)
    return lines[total + 1 :]


def job_table(lines: Sequence[str]) -> list[str]:
    """The table of planned jobs, to its total; nothing where there is none."""
    begun = lines.index(STATISTICS) + 1 if STATISTICS in lines else len(lines)
    table = list(takewhile(bool, lines[begun:]))
    return table if table and table[-1].startswith("total ") else []


def plan(lines: Sequence[str]) -> list[str]:
    """Snakemake's lines after its banner where there was nothing to run, or only a plan was asked for."""
    begun = lines.index(BEGUN) + 1 if BEGUN in lines else 0
    return [line for line in lines[begun:] if not _NOTICE.match(line)]


def _without_tracebacks(lines: Sequence[str]) -> Iterator[str]:
    """The lines without those of Python's calls; the error that a traceback ends with stays."""
    inside = False
    for line in lines:
        inside = line.startswith("Traceback ") or (inside and line.startswith(" "))
        if not inside and not _CALL.match(line):
            yield line
