"""Start the job's command: bash, on the allocation's CPUs and by its memory policy."""

import ctypes
import os
import signal
import sys

from .system import LIBC, LauncherError
from .topology import format_cpus

NOFILE = 65536  # open files a job may have, where the hard limit allows it
# bash alone knows what became of each program of a pipe: its own exit code is the last failing program's,
# and one that was killed makes others fail, which say so in the log. On the command's first line, to keep its count.
PIPE_TRAP = "trap 'echo status \"${{PIPESTATUS[@]}}\" >&{} 2> /dev/null || true' ERR; "
LONGEST = 100 << 10  # bytes of a command that is given as an argument: Linux takes none of 128 KiB
INTERLEAVE, LOCAL, PREFERRED_MANY = 3, 4, 5  # of set_mempolicy(2), and its number by machine
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "ppc64le": 261}


def set_memory_policy(policy, nodes):
    """Apply a memory policy to this process and those it starts; return the one in force.

    `local` prefers the allocation's nodes and falls back to others when they are full, so that no job dies of it.
    Kernels without NUMA and containers' system call filters refuse any.
    """
    number = SET_MEMPOLICY.get(os.uname().machine)
    if policy == "default" or not nodes or number is None:
        return "default"
    bits = sum(1 << node for node in nodes).to_bytes(8 * (max(nodes) // 64 + 1), "little")
    mode = INTERLEAVE if policy == "interleave" else PREFERRED_MANY
    refused = LIBC.syscall(number, mode, ctypes.c_char_p(bits), 8 * len(bits) + 1)
    if refused and policy == "local":
        refused = LIBC.syscall(number, LOCAL, None, 0)  # Linux before 5.15
    return "default" if refused else policy


def allow_files():
    """Raise the soft limit of open files: sambamba and GATK hold hundreds."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = NOFILE if hard == resource.RLIM_INFINITY else min(hard, NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def start_shell(attempt, log_fd, allocation, first=""):
    """Start the shell on the command, `first` before it. Return its pid once it runs, and the memory policy in force.

    `log_fd`: where output goes, of a job of the executor stderr alone; None: where it goes as we are started.

    Raises LauncherError where it cannot run.
    """
    environment = job_environment(attempt, allocation)
    reading, writing = os.pipe()
    shell = os.fork()
    if shell == 0:
        try:
            os.write(writing, confine(attempt.settings, allocation).encode())
            redirect(log_fd, attempt.settings.shell)
            words = shell_words(attempt, first)
            os.execvpe(words[0], words, environment)
        except OSError as error:
            os.write(writing, f"\ncannot start {attempt.settings.shell or 'bash'}: {error}".encode())
        finally:
            os._exit(127)
    os.close(writing)
    with open(reading) as pipe:
        policy, _, trouble = pipe.read().partition("\n")  # until exec closes the pipe
    if trouble:
        os.waitpid(shell, 0)
        raise LauncherError(trouble)
    return shell, policy


def shell_words(attempt, first):
    """Return the shell's command line. What Snakemake hands over has its own options before it."""
    own = attempt.settings.shell
    command = first + as_argument(attempt.command, attempt.runtime)
    trap = PIPE_TRAP.format(attempt.journal.fd)
    if not own:
        return [
            "bash",
            "-E",
            "-euo",
            "pipefail",
            "-c",
            trap + command,
        ]  # -E: the trap holds in functions, subshells, too
    return [own, "-c", f"set -E; {trap}{command}" if os.path.basename(own) == "bash" else command]


def as_argument(command, folder):
    """Return the command as bash is given it: a long one, as of a large cohort, lies in a file that bash reads.

    The file has no name, and is closed before the command begins. By `eval` bash stays `bash` in what it says, on the
    command's own lines, which a script by its path would not.
    """
    text = os.fsencode(command)
    if len(text) <= LONGEST:
        return command
    import tempfile

    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(text)
        file.flush()
        fd = os.dup(file.fileno())
    os.set_inheritable(fd, True)
    return f'eval "exec {fd}<&-; $(</dev/fd/{fd})"'


def confine(settings, allocation):
    """Keep this process and those it starts to what the job may use; return the memory policy in force."""
    os.setpgid(0, 0)  # a command that signals its whole group must not reach the supervisor
    if allocation.cpus is not None:
        os.sched_setaffinity(0, allocation.cpus)
    allow_files()
    return set_memory_policy(settings.memory, allocation.nodes)


def redirect(log_fd, shell):
    """Give this process no input, a log for its output, and signals as expected; `shell`: as Snakemake has it."""
    if not shell:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log_fd, 1)
    if log_fd is not None:
        os.dup2(log_fd, 2)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def job_environment(attempt, allocation):
    """Return the command's environment: what it may use, and the mark by which it is known."""
    settings = attempt.settings
    threads = settings.threads if allocation.cpus is None else len(allocation.cpus)
    cpus = os.sched_getaffinity(0) if allocation.cpus is None else allocation.cpus
    return {
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP", "TEMPDIR"), attempt.folder),
        "GPD_JOB": attempt.record["id"],
        "GPD_CPUS": format_cpus(cpus),
        "GPD_THREADS": str(min(threads, settings.threads)),
        "GPD_MEM_MB": str(settings.mem_mb),
        "PINNED_LAUNCH": launch_words(),
    }


def launch_words():
    """Return the words that start the launcher from within a job, for a shell; without the library of failed writes.

    That is for the job's programs: it would end a launcher whose journal lies on a full disk.
    """
    preload = os.environ.get("LD_PRELOAD")
    words = ["env", *([f"LD_PRELOAD={preload}"] if preload else ["-u", "LD_PRELOAD"])]
    return " ".join(map(quoted, [*words, sys.executable, "-S", "-E", os.path.abspath(sys.argv[0])]))


def quoted(word):
    """Quote a word for a shell; shlex would have to be loaded."""
    return "'" + word.replace("'", "'\\''") + "'"
