"""Why a job failed: from its exit code, its log, and what the kernel and the launcher did to it."""

import os
import signal

from .node import slurm_fields, slurm_job_id

SIGNALS = set(signal.Signals) - {signal.SIGPIPE}
KILLED_BY = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
CRASHES = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
OF_CHILDREN = CRASHES | {signal.SIGKILL, signal.SIGTERM}  # not SIGHUP, whose code, 255, stands for any failure
LOG_BYTES = 1 << 20  # from either end of a log
MEMORY_LINE = (
    r"java\.lang\.OutOfMemoryError|std::bad_alloc|^MemoryError|Cannot allocate memory|[Ii]nsufficient memory|"
    r"cannot allocate vector of size|Could not reserve enough space for|"
    r"(?i:(?<!you are running )\bout of memory\b|\bfail(ed)? to allocate\b|\bcould(n't| not) allocate\b|"
    r"\bmemory exhausted\b)"
)
# bash, by whatever path, on a program that a signal ended; the second in a function
BASH_LINE = r"^((?:\S*/)?bash|environment): line \d+: +\d+ "
EVIDENCE = {  # a log line that proves a cause, the strongest first
    "out_of_memory": MEMORY_LINE,
    "disk_full": r"No space left on device|Disk quota exceeded",
    "file_size_limit": r"File too large|File size limit exceeded",
    "open_file_limit": r"Too many open files",
    "process_limit": r"Resource temporarily unavailable",
    "io_error": r"[Ss]tale (NFS )?file handle|Input/output error|Connection (reset by peer|timed out)|"
    r"Transport endpoint is not connected|Cannot send after transport endpoint shutdown|Remote I/O error|"
    r"Read-only file system",
    "tool_not_found": r": command not found$",
    "signal": BASH_LINE + "(Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)",
    "killed": BASH_LINE + "(Killed|Terminated)",
}
LIMITS = {  # of processes: as resource calls them, what ulimit has for them, what they bound
    "out_of_memory": (("RLIMIT_AS", "-v", "the memory that a program may address"), ("RLIMIT_DATA", "-d", "its data")),
    "file_size_limit": (("RLIMIT_FSIZE", "-f", "a file"),),
}
FAILED_WRITE = (  # how a tool says that it could not write, without saying why
    r"(?i)\b(unable|fail\w*|cannot|can't|could not|couldn't|error)\b.*\bwrit|\bwrit\w*\b.*\b(fail|error)|disk is full|"
    r"did not finish its tables|cannot open or create file"
)
ERROR_LINES = (  # how the line begins in which a tool says what went wrong, the most telling kinds first
    r"^error: \S|^A USER ERROR has occurred: |^##### ERROR MESSAGE: |^Exception in thread|"
    r"^[\w.]+(Exception|Error): \S",
    r"^\[E::|^\[mem_sam_pe\] |^\[\w+\] (fail|error|truncated|invalid)|^gzip: |^sambamba-\w+: |"
    r"^(samtools|bcftools)[ \w]*: |"
    r"^Error\b|^ERROR\b|^(bash|environment|/\S+sh): |^\w+: (error|fatal)",
    r"(?i)\b(error|exception|fatal|failed|fail|cannot|can't|could not|unable|invalid|truncated|unexpected|"
    r"aborted|no such file|permission denied|un(known|recogni[sz]ed) (option|argument|command))\b",
    r"^\[W::",
)
OF_COMMANDS = "subprocess.CalledProcessError: "  # in a script's traceback: that a command failed is no news
SILENT = "nothing in the log says why"
SCONTROL_S = 5.0  # how long slurmctld may take to answer; between SIGTERM and SIGKILL Slurm lets 30 s pass, as it comes


def diagnose(code, ended, settings, ooms, statuses=(), find_full_disk=lambda: None, notes=None):
    """Return (cause, message) of a failure.

    `ended`: why the launcher ended the job, or None. `ooms`: how many processes on the node the kernel killed for want
    of memory. `statuses`: exit codes of the programs of each pipe that failed. `find_full_disk` names a file system of
    the job's that is full. `notes`: what its programs could not write or open (failed_writes.py).
    """
    if ended == "stalled":
        return "stalled", f"no CPU use and no I/O for {settings.stall_s:g} s"
    found = ("killed", ended) if ended else by_traces(code, spoken(settings), ooms, statuses, find_full_disk, notes)
    return (found[0] == "killed" and by_slurm()) or found


def spoken(settings):
    """Return the lines of a job's log, and of its stderr where the log says nothing."""
    lines = log_lines(settings.log)
    if cause_by_log(lines) or error_line(lines):
        return lines
    return lines + [line for line in log_lines(getattr(settings, "stderr", "")) if not line.startswith(OF_COMMANDS)]


def by_traces(code, lines, ooms, statuses, find_full_disk, notes):
    """Return (cause, message) of a failure by what it left here, lines of its log among that; see diagnose()."""
    if (unwritten := notes and notes.failed_write()) and unwritten not in lines:
        lines.insert(0, unwritten)  # the log may lie on that disk
    by_log = cause_by_log(lines)
    signum = signal_of(code)
    crashed, where = crash_in_pipe(statuses)
    if ooms and (signal.SIGKILL in (signum, crashed) or "killed" in by_log):
        return "out_of_memory", "killed by the kernel for want of memory"
    if (limit := notes and notes.ran_out_of_files()) and not by_log.keys() & {"out_of_memory", "disk_full"}:
        line = by_log.get("open_file_limit") or error_line(lines) or f"exit code {code}"
        why = f"a program had all {limit} files open that it may: raise the limit (ulimit -Hn)"
        return "open_file_limit", f"{line}; {why}"
    if signal.SIGXFSZ in (signum, crashed):
        by_log = {"file_size_limit": error_line(lines) or "SIGXFSZ"}
    for cause, line in by_log.items():
        if cause != "signal":
            return cause, line + limits_in_words(cause)
        other = error_line([each for each in lines if each != line])
        message = f"{line}: {other}" if other else line
        if disk := find_full_disk():  # some tools abort where they cannot write
            return "disk_full", f"{message}; the disk of {disk} is full"
        return cause, message
    line = error_line(lines)
    unwritten = first_match(FAILED_WRITE, lines)
    if (unwritten or not line) and (disk := find_full_disk()):
        return "disk_full", f"{unwritten or SILENT}; the disk of {disk} is full"
    if crashed in KILLED_BY:
        return "killed", f"{crashed.name} to {where}"
    if crashed:  # what our own scripts say of its input tells why; what tools say follows from it
        return "signal", f"{crashed.name} to {where}" + (f": {line}" if line and line.startswith("error: ") else "")
    if code == 127:
        return "tool_not_found", line or "exit code 127"
    if signum in KILLED_BY:
        return "killed", signal.Signals(signum).name
    if (line and "Broken pipe" in line) or (signum == signal.SIGPIPE and not line):
        return "broken_pipe", line or "a program of the pipe ended before it had read all its input"
    if signum in SIGNALS:
        return "signal", signal.Signals(signum).name + (f": {line}" if line else "")
    return "tool_error", line or f"exit code {code}, and {SILENT}"


def limits_in_words(cause):
    """Return which limits, as jobs have them from us, may be the cause; "" without a limit."""
    import resource

    set_here = [(resource.getrlimit(getattr(resource, name))[0], *words) for name, *words in LIMITS.get(cause, ())]
    return "".join(
        f"; {what} is limited to {limit >> 10} KiB: raise the limit (ulimit {option})"
        for limit, option, what in set_here
        if limit != resource.RLIM_INFINITY
    )


def by_slurm():
    """Return (cause, message) where Slurm has ended the job that we are part of, else None."""
    job = slurm_fields(slurm_job_id(), SCONTROL_S)
    words = {job.get("JobState"), job.get("Reason")}
    if words & {"TIMEOUT", "TimeLimit"}:
        return "timed_out", f"Slurm's time limit, {job.get('TimeLimit')}, was over; a larger runtime gives more"
    if words & {"OUT_OF_MEMORY", "OutOfMemory"}:
        return "out_of_memory", "killed by Slurm for want of memory; a larger mem_mb gives more"
    if words & {"COMPLETING", "CANCELLED", "PREEMPTED"}:
        return "killed", f"Slurm job {job.get('JobId')} was cancelled: by scancel, or to make way for another"
    return None  # it goes on: Slurm did not end ours


def by_journal(lines):
    """Return (cause, message) of a job that was killed together with its launcher, by the lines of its journal."""
    asked = [line.partition(" ")[2] for line in lines if line.startswith("ended ")]
    if asked:
        return "killed", asked[0]
    noted = [line.split()[1:] for line in lines if line.startswith("memory ")]
    if noted:
        used, granted = noted[-1]
        return "out_of_memory", f"killed, and its launcher with it, when it had {used} of the {granted} MiB granted"
    return "killed", "launcher and job were killed together; when is not known"


def signal_of(code):
    """Return the signal that ended a program, by its exit code; else what is no signal.

    bash gives 128 and the signal. A Python program that ends with its child's return code gives 256 less it: so does
    `gatk` as it comes, of its JVM.
    """
    return 256 - code if 256 - code in OF_CHILDREN else code - 128


def crash_in_pipe(statuses):
    """Return the signal that ended a program of a pipe, and which program, or (None, None).

    The first of them: SIGPIPE, and what programs say of a cut input, follow from it.
    """
    for codes in filter(lambda codes: len(codes) > 1, statuses):
        for number, code in enumerate(codes, 1):
            if signal_of(code) in SIGNALS:
                return signal.Signals(signal_of(code)), f"program {number} of {len(codes)} of a pipe"
    return None, None


def first_match(pattern, lines):
    """Return the first line that a pattern is found in, or None."""
    import re

    return next(filter(re.compile(pattern).search, lines), None)


def cause_by_log(lines):
    """Return {cause: line} of the causes that the log proves, the strongest first."""
    proofs = ((cause, first_match(pattern, lines)) for cause, pattern in EVIDENCE.items())
    return {cause: line for cause, line in proofs if line}


def log_lines(path):
    """Return the lines of a log; of a long one, those near its ends."""
    if not os.path.exists(path):
        return []  # the command itself has removed it
    with open(path, "rb") as log:
        data = log.read(LOG_BYTES)
        size = os.fstat(log.fileno()).st_size
        if size > LOG_BYTES:
            log.seek(max(LOG_BYTES, size - LOG_BYTES))
            data += b"\n" + log.read()
    lines = data.decode(errors="replace").replace("\r", "\n").split("\n")
    return [line.strip() for line in lines if line.strip()]


def error_line(lines):
    """Return the line in which a tool says what went wrong, or None."""
    line = next(filter(None, (first_match(kind, lines) for kind in ERROR_LINES)), None)
    if line and line.endswith(" :"):  # R breaks its lines
        number = lines.index(line)
        return " ".join(lines[number : number + 2])
    return line
