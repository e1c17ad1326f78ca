"""The command line: options, their environment variables and defaults."""

import os
from types import SimpleNamespace

from .cpu_choice import LEVELS, POLICIES
from .system import LauncherError

MEMORY_POLICIES = ("default", "local", "interleave")
SWITCH = ("1", "0", "true", "false", "True", "False")  # as profiles and Snakemake print it


def one_of(*names):
    """Return a converter that accepts only these names."""

    def convert(text):
        if text not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return text

    return convert


def at_least(least, kind=int):
    """Return a converter for numbers from `least` on."""

    def convert(text):
        number = kind(text)
        if not number >= least:
            raise ValueError(f"a number from {least} on")
        return number

    return convert


def name_values(text):
    """Read wildcards as Snakemake prints them: "sample=a,unit=b"."""
    found = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in found):
        raise ValueError("name=value,name=value")
    return {name: value for name, _, value in found}


def yes(text):
    """Read a switch."""
    return one_of(*SWITCH)(text) in ("1", "true", "True")


OPTIONS = {  # name: (environment variable, converter, default)
    **dict.fromkeys(("step", "rule", "log", "id", "shard", "xml"), (None, str, "")),
    # of the executor's jobs: the shell that has the command, with output where Snakemake has it; the file that
    # names the launcher at the outputs; failed_writes.so; CPUs that a gang holds, and its name
    **dict.fromkeys(("shell", "owner", "library", "cpus", "gang"), (None, str, "")),
    "retries": (None, one_of("all", "useful"), "useful"),
    "wildcards": (None, name_values, {}),
    "threads": (None, at_least(1), 1),
    "mem-mb": (None, at_least(0), 0),
    "ledger": ("GPD_LEDGER", str, "ledger.jsonl"),
    "local-storage": ("GPD_LOCAL_STORAGE", str, ""),
    "run": ("GPD_RUN", str, ""),
    "attempt": (None, at_least(1), 1),
    "asked-by": (None, at_least(0), 0),
    "binding": ("GPD_BINDING", one_of(*POLICIES), "compact"),
    "boundary": ("GPD_BOUNDARY", one_of(*LEVELS), "l3"),
    "memory": ("GPD_MEMORY", one_of(*MEMORY_POLICIES), "default"),
    "smt": ("GPD_SMT", yes, False),
    "stall-s": ("GPD_STALL_S", at_least(0, float), 0.0),
    "run-cores": ("GPD_RUN_CORES", at_least(0), 0),  # the most CPUs that jobs with this ledger may have; 0: all
    "run-mem-mb": ("GPD_RUN_MEM_MB", at_least(0), 0),  # the most memory, likewise
}


def parse(arguments):
    """Return (settings, positional arguments). argparse would cost each job as much as all other imports."""
    given = {name: os.environ.get(env) for name, (env, _, _) in OPTIONS.items() if env}
    rest, queue, files = [], list(arguments), {}
    for option in ("--inputs", "--outputs"):  # they end the command line, the inputs last
        at = queue.index(option) if option in queue else len(queue)
        queue, files[option[2:]] = queue[:at], queue[at + 1 :]
    while queue:
        word = queue.pop(0)
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--"):
            rest.append(word)
        elif name not in OPTIONS:
            raise LauncherError(f"{word}: no such option; see launcher --help")
        elif equals:
            given[name] = value or given.get(name)
        elif OPTIONS[name][1] is yes and (not queue or queue[0].startswith("--")):
            given[name] = "1"
        else:
            given[name] = (queue.pop(0) if queue else "") or given.get(name)
    values = {name: convert_option(name, given.get(name)) for name in OPTIONS} | files
    return SimpleNamespace(**{name.replace("-", "_"): value for name, value in values.items()}), rest


def convert_option(name, text):
    """Return an option's value; one that is absent or empty has its default."""
    env, convert, default = OPTIONS[name]
    if not text:
        return default
    try:
        return convert(text)
    except ValueError as error:
        raise LauncherError(f"--{name}{f' ({env})' if env else ''}: {text!r} is not {error}") from error
