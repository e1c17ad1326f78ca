"""A job's files: whether they are whole and their disks full (outputs.py knows), and which a network moves."""

import os

from .runtime import place
from .system import MIB, read_text, say

NETWORK = {
    *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "smbfs", "glusterfs", "afs", "panfs", "pvfs2"),
    *("orangefs", "wekafs", "9p", "virtiofs", "sshfs", "s3fs", "goofys", "rclone", "gcsfuse", "cvmfs2", "juicefs"),
    *("moosefs", "lizardfs", "saunafs", "quobyte", "dfuse"),
}


def outputs():
    """Return the module, which takes its time to import."""
    from . import outputs

    return outputs


def input_fault(paths, log_fd):
    """Return what is wrong with files that a job starts from, or None; it goes to the log, too."""
    return logged(paths and outputs().first_input_fault(paths), log_fd)


def output_fault(paths, log_fd):
    """Return (cause, message) of what is wrong with files that a job has made, or None; it goes to the log, too."""
    fault = logged(paths and outputs().first_output_fault(paths), log_fd)
    return fault and ("disk_full" if outputs().NO_SPACE in fault else "broken_output", fault)


def logged(fault, log_fd):
    """Return a fault once the log has it, None where there is none."""
    if fault:
        say(f"error: {fault}", log_fd)
    return fault or None


def full_disk(paths):
    """Return a folder where a job of these outputs writes, and whose disk has no room for a tool's buffer, or None."""
    folders = (os.path.dirname(os.path.abspath(path)) for path in paths)
    return outputs().full_place((os.getcwd(), place(), *folders), MIB)


def file_sizes(folder):
    """Yield what each file below a folder takes of its disk; any may be gone while one looks."""
    for parent, _, names in os.walk(folder):
        for name in names:
            yield disk_bytes(os.path.join(parent, name))


def disk_bytes(path):
    """Return what a file takes of its disk; 0 where it is gone."""
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0


def shared_files(settings):
    """Return the record's fields of files on network file systems. What part of them a shard reads is not known.

    Their sizes stand for what the job moves: the kernel counts that for all file systems of a process, or all processes
    of a file system. A job that reads its input once, as most do, moves as much, less what the page cache still held.
    """
    inputs = outputs().listed(settings.inputs) if settings.inputs else ()
    of_inputs = None if "/" in settings.shard else shared_mib(inputs)
    return {"shared_inputs_mib": of_inputs, "shared_outputs_mib": shared_mib(settings.outputs)}


def shared_mib(paths, mountinfo="/proc/self/mountinfo"):
    """Return the MiB of files and folders that lie on such file systems; None where the kernel does not tell which."""
    devices = network_devices(read_text(mountinfo))
    if devices is None:
        return None
    there = (path for path in paths if devices and os.path.exists(path) and os.stat(path).st_dev in devices)
    return round(sum(map(size, there)) / MIB, 3)


def network_devices(mountinfo):
    """Return the numbers, as stat gives them, of file systems that come over a network; None of no mounts at all."""
    found = [line.partition(" - ") for line in mountinfo.splitlines() if " - " in line]
    kinds = {before.split()[2]: after.split()[0].removeprefix("fuse.") for before, _, after in found}
    numbers = {os.makedev(*map(int, device.split(":"))) for device, kind in kinds.items() if kind in NETWORK}
    return numbers if found else None


def size(path):
    """Return the bytes of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(f"{folder}/{name}") for folder, _, names in os.walk(path) for name in names)
