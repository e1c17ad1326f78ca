"""Whether a job's files are whole and their disks full: checks/outputs.py knows, which lies beside this package."""

import os

from launcher.network_files import shared_mib
from launcher.scratch import place
from launcher.system import MIB, say


def input_fault(paths, log_fd):
    """Return what is wrong with files that a job starts from, or None; it goes to the log, too."""
    return told(paths and outputs().first_input_fault(paths), log_fd)


def output_fault(paths, log_fd):
    """Return (cause, message) of what is wrong with files that a job has made, or None; it goes to the log, too."""
    fault = told(paths and outputs().first_output_fault(paths), log_fd)
    return fault and ("disk_full" if outputs().NO_SPACE in fault else "broken_output", fault)


def full_disk(paths):
    """Return a folder where a job of these outputs writes, and whose disk has no room for a tool's buffer, or None."""
    folders = (os.path.dirname(os.path.abspath(path)) for path in paths)
    return outputs().full_place((os.getcwd(), place(), *folders), MIB)


def shared_files(settings):
    """Return the record's fields of files on network file systems. What part of them a piece reads is not known."""
    inputs = outputs().listed(settings.inputs) if settings.inputs else ()
    of_inputs = None if "/" in settings.shard else shared_mib(inputs)
    return {"shared_inputs_mib": of_inputs, "shared_outputs_mib": shared_mib(settings.outputs)}


def told(fault, log_fd):
    """Return a fault once the log has it, None where there is none."""
    if not fault:
        return None
    say(f"error: {fault}", log_fd)
    return fault


def outputs():
    """Return the module, which takes its time to import."""
    from checks import outputs

    return outputs
