"""Which cores this process may use, and how they lie together: by sysfs, or by a file of hwloc's lstopo."""

import os
from collections import namedtuple

from .system import boot_id, digest, read_text

MOST_CPUS = 65_536

Core = namedtuple("Core", "cpus l3 numa socket")
Core.__doc__ = "One physical core: its CPU numbers (hyperthreads) and the groups that it belongs to."


def parse_cpus(text):
    """Read the kernel's list format: "0-3,8" is {0, 1, 2, 3, 8}."""
    cpus = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def format_cpus(cpus):
    """Write CPU numbers in the kernel's list format."""
    ranges = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def hwloc_cpus(text):
    """Read hwloc's bitmap format, 32-bit words with the highest first; an empty word is zero."""
    bits = 0
    words = text.split(",")
    if len(words) * 32 > MOST_CPUS or max(map(len, words)) > len("0xffffffff"):
        raise ValueError("a set of CPUs that no machine has")
    for word in words:
        bits = bits << 32 | int(word or "0", 16)
    return {n for n in range(bits.bit_length()) if bits >> n & 1}


def cores_from_xml(text):
    """Return the cores of an `lstopo --of xml` document, hwloc 1 or 2."""
    from xml.etree import ElementTree

    kinds = {"L3Cache": "l3", "NUMANode": "numa", "Package": "socket", "Socket": "socket", "Core": "core", "PU": "PU"}
    found = {kind: {} for kind in kinds.values()}
    for item in ElementTree.fromstring(text).iter("object"):
        kind = item.get("type")
        if kind == "Cache" and item.get("depth") == "3":  # hwloc 1
            kind = "L3Cache"
        if kind in kinds and item.get("cpuset"):
            group = found[kinds[kind]]
            number = int(item.get("os_index", len(group))) if kind == "NUMANode" else len(group)
            group[number] = hwloc_cpus(item.get("cpuset"))
    return build_cores((found["core"] or found["PU"]).values(), found["l3"], found["numa"], found["socket"])


def cores_from_sysfs(root="/sys/devices/system"):
    """Return the cores that sysfs describes; `root` is for tests."""
    cores, caches, packages = {}, {}, {}
    for cpu in sorted(parse_cpus(read_text(f"{root}/cpu/online"))):
        where = f"{root}/cpu/cpu{cpu}"
        cores[read_text(f"{where}/topology/thread_siblings_list") or str(cpu)] = None
        packages.setdefault(read_text(f"{where}/topology/physical_package_id"), set()).add(cpu)
        if read_text(f"{where}/cache/index3/level").strip() == "3":
            caches.setdefault(read_text(f"{where}/cache/index3/shared_cpu_list"), set()).add(cpu)
    nodes = {
        node: parse_cpus(read_text(f"{root}/node/node{node}/cpulist"))
        for node in parse_cpus(read_text(f"{root}/node/online"))
    }
    return build_cores(
        map(parse_cpus, cores), dict(enumerate(caches.values())), nodes, dict(enumerate(packages.values()))
    )


def build_cores(cores, caches, nodes, packages):
    """Place each core in its groups, given as {number: CPUs}.

    A level that the machine does not tell is taken from the next coarser one (with negative numbers).
    """

    def place(core, groups, otherwise):
        return next((number for number, cpus in groups.items() if core <= cpus), otherwise)

    placed = []
    for core in sorted(cores, key=min):
        socket = place(core, packages, 0)
        numa = place(core, nodes, -1 - socket)
        placed.append(Core(tuple(sorted(core)), place(core, caches, -1 - abs(numa)), numa, socket))
    return placed


def restrict(cores, allowed):
    """Drop what this process may not use; affinity already reflects cpusets and what Slurm granted."""
    kept = (core._replace(cpus=tuple(cpu for cpu in core.cpus if cpu in allowed)) for core in cores)
    return [core for core in kept if core.cpus]


def machine_cores(runtime, allowed):
    """Return the cores that this process may use. To read sysfs takes long: what it tells is kept for this boot."""
    path = f"{runtime}/topology-{boot_id()}-{digest(format_cpus(allowed))}"
    rows = [tuple(map(int, line.split())) for line in read_text(path).splitlines()]
    cores = [Core(row[3:], *row[:3]) for row in rows]
    if {cpu for core in cores for cpu in core.cpus} != allowed:
        cores = restrict(cores_from_sysfs(), allowed)
        known = {cpu for core in cores for cpu in core.cpus}
        cores += [Core((cpu,), -1, -1, 0) for cpu in sorted(allowed - known)]  # of which sysfs tells nothing
        partial = f"{path}.{os.getpid()}"
        with open(partial, "w") as out:
            out.writelines(" ".join(map(str, (c.l3, c.numa, c.socket, *c.cpus))) + "\n" for c in cores)
        os.replace(partial, path)
    return cores
