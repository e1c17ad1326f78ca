"""How much of a job's files lies on file systems that machines share over a network.

Nobody counts what a process moves over such a file system: the kernel's counts a process are of all file systems and
pipes (read_calls_mib), or of disks (read_mib), and a client's own (/proc/self/mountstats) are of all processes of the
machine. Sizes of files can be known. A job that walks over its input once, as most do, moves as much, less what the
page cache still held; one that looks at parts of it moves less.
"""

import os

from launcher.system import MIB, read_text

NETWORK = {
    *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "smbfs", "glusterfs", "afs", "panfs", "pvfs2"),
    *("orangefs", "wekafs", "9p", "virtiofs", "sshfs", "s3fs", "goofys", "rclone", "gcsfuse", "cvmfs2", "juicefs"),
    *("moosefs", "lizardfs", "saunafs", "quobyte", "dfuse"),
}


def shared_mib(paths, mountinfo="/proc/self/mountinfo"):
    """Return the MiB of files and folders that lie on such file systems; None where the kernel does not tell which."""
    devices = network_devices(read_text(mountinfo))
    if devices is None:
        return None
    sizes = (size(path) for path in paths if devices and device_of(path) in devices)
    return round(sum(sizes) / MIB, 3)


def network_devices(mountinfo):
    """Return the numbers, as stat gives them, of file systems that come over a network; None of no mounts at all."""
    found = [line.partition(" - ") for line in mountinfo.splitlines() if " - " in line]
    kinds = {before.split()[2]: after.split()[0].removeprefix("fuse.") for before, _, after in found}
    numbers = {os.makedev(*map(int, device.split(":"))) for device, kind in kinds.items() if kind in NETWORK}
    return numbers if found else None


def device_of(path):
    """Return the number of the file system that holds a file; None where there is no such file."""
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def size(path):
    """Return the bytes of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(f"{folder}/{name}") for folder, _, names in os.walk(path) for name in names)
