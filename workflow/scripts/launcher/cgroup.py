"""A memory cgroup of the job's own, where one can be made."""

import os
import time

from launcher.limits import control_groups
from launcher.system import read_text, say

BOUNDS = ("memory.max", "memory.high", "cpu.max", "cpuset.cpus", "cpuset.mems")  # "max" or empty where not set


class Cgroup:
    """A memory cgroup of the job's own: exact peak, and whether the kernel killed for want of memory."""

    PEAK = (None, "memory.max_usage_in_bytes", "memory.peak")  # by version
    EVENTS = (None, "memory.oom_control", "memory.events")
    FILE_PAGES = (None, "total_cache", "file")
    SHARED_PAGES = (None, "total_shmem", "shmem")
    KERNEL_PEAK = "memory.kmem.max_usage_in_bytes"  # version 1; version 2: see memory.stat

    def __init__(self, path, version):
        self.path, self.version = path, version

    def join(self):
        """Move the calling process in; where the kernel refuses, the cgroup's peak stays 0."""
        try:
            with open(f"{self.path}/cgroup.procs", "w") as procs:
                procs.write("0")
        except OSError as error:
            say(f"launcher: {self.path}: {error.strerror}; memory is sampled instead")

    def numbers(self, name):
        """Return a file of "name number" lines as a dict."""
        pairs = map(str.split, read_text(f"{self.path}/{name}").splitlines())
        return {key: int(value) for key, value in pairs}

    def cache_and_kernel(self):
        """Return bytes of page cache and of kernel memory charged at this moment."""
        stat = self.numbers("memory.stat")
        cache = stat.get(self.FILE_PAGES[self.version], 0) - stat.get(self.SHARED_PAGES[self.version], 0)
        kernel = read_text(f"{self.path}/{self.KERNEL_PEAK}") if self.version == 1 else stat.get("kernel")
        return max(0, cache), int(kernel or 0)

    def peak(self):
        """Return the highest number of bytes charged, page cache and kernel memory included."""
        return int(read_text(f"{self.path}/{self.PEAK[self.version]}") or 0)

    def oom_kills(self):
        """Return how many processes of the job the kernel killed for want of memory."""
        return self.numbers(self.EVENTS[self.version]).get("oom_kill", 0)


def cgroup_places(root=""):
    """Yield (folder, version) where a memory cgroup may be made.

    Below our own cgroup the limits set on us hold for the job too. Version 2 forbids that to most processes;
    there the parent will do if our own cgroup sets no limit and no cpuset, which would be escaped.
    """
    for own, mountpoint, version in control_groups("memory", root):
        if own is None:
            continue
        yield own, version
        limits = (read_text(f"{root}{own}/{name}").strip() for name in BOUNDS)
        if version == 2 and own != mountpoint and all(text.startswith("max") for text in limits if text):
            yield os.path.dirname(own), version


def planned_cgroups(job_id):
    """Return the cgroups (path, version) that the job may have, the best first."""
    planned = []
    for place, version in cgroup_places():
        escapes = version == 1 and read_text(f"{place}/memory.use_hierarchy").strip() == "0"  # our own limits
        blind = version == 2 and "memory" not in read_text(f"{place}/cgroup.subtree_control").split()
        if not escapes and not blind and os.access(f"{place}/cgroup.procs", os.W_OK):
            planned.append((f"{place}/gpd-{job_id}", version))
    return planned


def make_cgroup(planned):
    """Make the first of the planned cgroups that this process may make, or return None."""
    for path, version in planned:
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.access(f"{path}/cgroup.procs", os.W_OK) and os.path.exists(f"{path}/{Cgroup.PEAK[version]}"):
            return Cgroup(path, version)
        remove_cgroups([(path, version)])
    return None


def remove_cgroups(planned):
    """Remove a job's cgroup; the kernel may need a moment after its last process."""
    for path, _ in planned:
        for delay_s in (0, 0.001, 0.01, 0.1):
            time.sleep(delay_s)
            try:
                os.rmdir(path)
            except FileNotFoundError:
                break
            except OSError:
                continue
