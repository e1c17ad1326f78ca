"""Whether the files of a job are whole: outputs.py knows, which lies beside this package."""

from launcher.system import say

DISK_FULL = "No space left on device"


def input_fault(paths, log_fd):
    """Return what is wrong with files that a job starts from, or None; it goes to the log, too."""
    return told(paths and outputs().found_fault(paths), log_fd)


def output_fault(paths, log_fd):
    """Return (cause, message) of what is wrong with files that a job has made, or None; it goes to the log, too."""
    fault = told(paths and outputs().made_fault(paths), log_fd)
    return fault and ("disk_full" if DISK_FULL in fault else "broken_output", fault)


def outputs():
    """Return the module, which takes its time to import."""
    import outputs

    return outputs


def told(fault, log_fd):
    """Return a fault once the log has it, None where there is none."""
    if not fault:
        return None
    say(f"error: {fault}", log_fd)
    return fault
