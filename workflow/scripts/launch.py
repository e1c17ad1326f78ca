#!/usr/bin/env python3
"""Run one job of the workflow on CPUs of its own, and leave one exact record of it.

    launch.py run --step S --rule R --wildcards NAME=VALUE,... --threads N --mem-mb M --log F [...] \
        [--outputs FILE ... [--inputs FILE ...]] <<'END'
    (the job's command, for bash)
    END
    launch.py topology [--json] [--xml FILE] [--threads N] [--binding P] [--boundary B] [--smt]
    launch.py limits
    launch.py jobs

Options of `run`, each also an environment variable. The option wins; an empty value counts as absent, and
where a value may be empty it is written --name=value:

    --binding none|compact|scatter     GPD_BINDING   compact   how CPUs are chosen; none: any CPU, no lease
    --boundary l3|numa|socket          GPD_BOUNDARY  l3        the finest boundary that a lease respects
    --memory default|local|interleave  GPD_MEMORY    default   memory policy over the lease's NUMA nodes
    --smt 1|0                          GPD_SMT       0         1: hyperthreads are CPUs; 0: whole cores
    --stall-s N                        GPD_STALL_S   0         end a job that does nothing for N s; 0: never
    --ledger FILE                      GPD_LEDGER    ledger.jsonl
    --run NAME                         GPD_RUN                 name of the run, written into each record
    --attempt N                                      1
                                       GPD_RUNTIME_DIR  /tmp/gpd-UID, where leases are kept

Files behind --outputs must be whole when the job has ended, those behind --inputs before it starts: GPD_OUTPUTS names
the module that knows (outputs.py, compiled). Both options end the command line.

The job's command finds GPD_CPUS, GPD_THREADS (what was granted) and GPD_MEM_MB in its environment.

How it works. The *front* (the process that was called) takes the lease and starts a *keeper*, which starts
bash, adopts whatever the command leaves behind, measures, and writes the record. Each watches the other: when
one is killed, the other ends the job and records that. A lease is a set of kernel locks on an open file that
front, keeper and every process of the job inherit, so the kernel frees it when the last of them is gone.
Where all of them are killed, a journal beside the locks lets the next launcher write the record. A job ends
with whoever asked for it (bash, and Snakemake behind it), so that no orphan writes where a second run writes.

Rules of waiting. Launchers that may use the same CPUs (by affinity, cpuset or Slurm) queue first come, first
served. Only the head of the queue takes CPUs, and it holds none while it waits, so there is no deadlock, and
no narrow job overtakes a wide one, so none starves. A lease that fits within one L3 group (NUMA node, socket)
gets one with room if there is any; if there is none but enough CPUs are free in all, it is split at once
rather than kept waiting: idle CPUs cost more than a boundary, and the record says `split`. A job wider than
the machine, or than what a control group or Slurm lets us use of it, gets all of that. A retry waits until
nothing is left of the attempt before it.

Who does not see the locks (another user, a container with a /tmp of its own, any other program) may use the same
CPUs. The record says how much (foreign_cpu_s), and whether that is more than noise (contended).
"""

# Every job pays for this file's imports: what only some jobs need (json, re, hashlib, xml) is imported where
# it is used, and os does what pathlib would.
import ctypes
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import time
from binascii import crc32
from collections import namedtuple
from types import SimpleNamespace

SCHEMA = 1
POLICIES = ("none", "compact", "scatter")
LEVELS = ("l3", "numa", "socket")
MEMORY_POLICIES = ("default", "local", "interleave")
INHERITED_FD = 100  # lease and journal live above the descriptors that shell scripts use by number
LINGER_S = 10.0  # what a finished command leaves running may stay so long
GRACE_S = 10.0  # between SIGTERM and SIGKILL
LOOK_S = 2.0  # how often a front looks whether Snakemake is still there
NOFILE = 65536  # open files a job may have, where the hard limit allows it
MIB = 1024 * 1024
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FOREIGN_S, FOREIGN_SHARE = 0.5, 0.1  # what others may have of a lease's CPUs; see foreign_load()
ENDINGS = {signal.SIGTERM}  # and what was not ignored when we were started, as SIGHUP is under nohup
ENDINGS |= {s for s in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(s) is not signal.SIG_IGN}
LIBC = ctypes.CDLL(None, use_errno=True)


class LauncherError(Exception):
    """The job could not be started: what, where, what to do."""


class Ended(Exception):  # noqa: N818 (no error)
    """A signal asked this launcher to end while it waited, or who had asked for the job is gone."""

    def __init__(self, signum, why=None):
        super().__init__(signum, why)
        self.signum, self.why = signum, why or signal.Signals(signum).name


def end_if_gone(requester):
    """Raise Ended where nobody waits for the job any more."""
    if why := requester.gone():
        raise Ended(signal.SIGTERM, why)


def read_text(path):
    """Return a file's text, "" where it is gone or closed to us: processes end while one looks at them."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        chunks = []
        while chunk := os.read(fd, 65536):
            chunks.append(chunk)
        return b"".join(chunks).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def unlink(path):
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


# --------------------------------------------------------------------------------------------------- topology

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
    for word in text.split(","):
        bits = bits << 32 | int(word or "0", 16)
    return {n for n in range(bits.bit_length()) if bits >> n & 1}


def cores_from_xml(text):
    """Return the cores of an `lstopo --of xml` document, hwloc 1 or 2."""
    from xml.etree import ElementTree

    kinds = {"L3Cache": "l3", "NUMANode": "numa", "Package": "socket", "Socket": "socket", "Core": "core"}
    found = {kind: {} for kind in ("l3", "numa", "socket", "core", "PU")}
    for item in ElementTree.fromstring(text).iter("object"):
        kind = item.get("type")
        if kind == "Cache" and item.get("depth") == "3":  # hwloc 1
            kind = "L3Cache"
        group = found.get(kinds.get(kind, kind))
        if group is not None and item.get("cpuset"):
            group[int(item.get("os_index", len(group))) if kind == "NUMANode" else len(group)] = hwloc_cpus(
                item.get("cpuset")
            )
    return build_cores((found["core"] or found["PU"]).values(), found["l3"], found["numa"], found["socket"])


def cores_from_sysfs(root="/sys/devices/system"):
    """Return the cores that sysfs describes, for nodes without hwloc; `root` is for tests."""
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


def lstopo_xml():
    """Return what hwloc knows of this machine as XML, or "" where hwloc is not installed."""
    import subprocess

    for tool in ("lstopo-no-graphics", "lstopo", "hwloc-ls"):
        try:
            shown = subprocess.run([tool, "--of", "xml"], capture_output=True, text=True, check=True, timeout=20)
            return shown.stdout
        except (OSError, subprocess.SubprocessError):
            continue
    return ""


def discover_cores(allowed):
    """Ask hwloc, else sysfs, for the cores of this machine; a CPU that neither names stands alone."""
    from xml.etree import ElementTree

    try:
        cores = cores_from_xml(lstopo_xml())
    except ElementTree.ParseError:
        cores = []
    if not allowed <= {cpu for core in cores for cpu in core.cpus}:  # hwloc 2 hides what a cgroup forbids
        cores = cores_from_sysfs()
    known = {cpu for core in cores for cpu in core.cpus}
    return restrict(cores, allowed) + [Core((cpu,), -1, -1, 0) for cpu in sorted(allowed - known)]


def machine_cores(runtime, allowed):
    """Return the usable cores. lstopo takes 30 ms: its result is kept for this boot and these CPUs."""
    path = f"{runtime}/topology-{boot_id()}-{digest(format_cpus(allowed))}"
    rows = [tuple(map(int, line.split())) for line in read_text(path).splitlines()]
    cores = [Core(row[3:], *row[:3]) for row in rows]
    if {cpu for core in cores for cpu in core.cpus} != allowed:
        cores = discover_cores(allowed)
        partial = f"{path}.{os.getpid()}"
        with open(partial, "w") as out:
            out.writelines(" ".join(map(str, (c.l3, c.numa, c.socket, *c.cpus))) + "\n" for c in cores)
        os.replace(partial, path)
    return cores


def boot_id():
    """Return the name that the kernel gave to this boot, "" where it has none."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


def digest(text):
    """Return a short name for a text."""
    return f"{crc32(text.encode()):08x}"


# ----------------------------------------------------------------------------------------------------- limits


def limits(root="", environment=os.environ, affinity=None):
    """Return what this process may use of the machine; all who want to know ask here (launch.py limits).

    `cpus` is how many it may keep busy at once. Memory is the machine's, or less where a control group or Slurm sets
    a limit; what is available under a limit leaves out what its processes use already, but for their page cache. A
    limit that is not set is None. `root` and `affinity` are for tests.
    """
    memory = {
        line.split(":")[0]: int(line.split()[1]) / 1024 for line in read_text(f"{root}/proc/meminfo").splitlines()
    }
    total, available = memory["MemTotal"], memory["MemAvailable"]
    levels = [(limit / MIB, used / MIB) for limit, used in memory_levels(root)]
    limit = min([total, *slurm_memory_mib(environment), *(limit for limit, _ in levels)])
    left = [available, limit, *(max(0, limit - used) for limit, used in levels)]
    return {
        "cpus": usable_cpus(affinity or os.sched_getaffinity(0), root, environment),
        "cpu_quota_cpus": cpu_quota(root),
        "memory_mib": round(limit, 1),
        "memory_limit_mib": round(limit, 1) if limit < total else None,
        "memory_available_mib": round(min(left), 1),
    }


def usable_cpus(affinity, root="", environment=os.environ):
    """Return how many CPUs this process may keep busy: those of its affinity, which reflects cpusets, or fewer.

    Control groups limit time rather than CPUs, and so do those of containers; Slurm, where it binds nothing, says only
    what it granted.
    """
    quota = cpu_quota(root)
    granted_cpus = environment.get("SLURM_CPUS_ON_NODE", "") if "SLURM_JOB_ID" in environment else ""
    counts = [len(affinity)]
    counts += [int(quota)] if quota is not None else []
    counts += [int(granted_cpus)] if granted_cpus.isdecimal() else []
    return max(1, min(counts))


def slurm_memory_mib(environment):
    """Return [the memory that Slurm granted on this node], [] where it granted all of it or this is no Slurm job."""
    numbers = {name: int(text) for name, text in environment.items() if name.startswith("SLURM_") and text.isdecimal()}
    if "SLURM_JOB_ID" not in environment:
        return []
    for_cpus = numbers.get("SLURM_MEM_PER_CPU", 0) * numbers.get("SLURM_CPUS_ON_NODE", 0)
    granted_mib = numbers.get("SLURM_MEM_PER_NODE") or for_cpus
    return [granted_mib] if granted_mib else []


def cpu_quota(root=""):
    """Return how many CPUs' time the control groups grant, the tightest of all that hold us; None: no limit."""
    quotas = []
    for folder in limiting_groups("cpu", root):
        words = read_text(f"{folder}/cpu.max").split()  # version 2
        words = words or [read_text(f"{folder}/cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        if all(map(str.isdecimal, words)):  # "max" and -1: no limit
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def memory_levels(root=""):
    """Return (limit, what is used without page cache), in bytes, of each control group that holds us and has one."""
    levels = []
    for folder in limiting_groups("memory", root):
        stat = dict(line.split() for line in read_text(f"{folder}/memory.stat").splitlines())
        texts = [read_text(f"{folder}/memory.{name}").strip() for name in ("max", "high", "limit_in_bytes")]
        texts.append(stat.get("hierarchical_memory_limit", ""))  # version 1: of groups above that are not seen, too
        charged = read_text(f"{folder}/memory.current") or read_text(f"{folder}/memory.usage_in_bytes")
        kind = "total_" if "total_cache" in stat else ""
        cache = sum(int(stat.get(f"{kind}{state}_file", 0)) for state in ("active", "inactive"))
        levels += [(int(text), int(charged or 0) - cache) for text in texts if text.isdecimal()]
    return levels


def limiting_groups(controller, root=""):
    """Yield the folders of the control groups that may limit us: our own, and each above as far as is seen."""
    for own, top, _ in control_groups(controller, root):
        folder = own or top
        while folder.startswith(top):
            yield f"{root}{folder}"
            folder = os.path.dirname(folder)
            if folder == "/":
                break


def control_groups(controller, root=""):
    """Yield (folder, mount point, version) of our control group for a controller, wherever it is mounted.

    The folder is None where our group lies outside of what is mounted: a container sees its part of the tree.
    """
    paths = {}
    for line in read_text(f"{root}/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            paths[1 if controllers else 2] = path
    for line in read_text(f"{root}/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        version = {"cgroup": 1, "cgroup2": 2}.get(kind.split()[0])
        if version not in paths or (version == 1 and controller not in kind.split()[-1].split(",")):
            continue
        top, point = (unescaped(field) for field in fields.split()[3:5])
        top, path = top.rstrip("/"), paths[version]
        inside = (path + "/").startswith(top + "/") and ".." not in path.split("/")
        yield f"{point}{path.removeprefix(top)}".rstrip("/") if inside else None, point, version


def unescaped(field):
    """Return a field of mountinfo as it is: the kernel writes blanks and backslashes as octal numbers."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


# -------------------------------------------------------------------------------------------- allocate (pure)

Unit = namedtuple("Unit", "cpu held l3 numa socket")
Unit.__doc__ = "What one thread is granted: a CPU, and the CPUs that are held for it (its core's, without SMT)."


def units(cores, smt=False):
    """Cut cores into leasable units, in the order in which compact leases fill the machine."""
    ordered = sorted(cores, key=lambda core: (core.socket, core.numa, core.l3, core.cpus))
    if smt:
        return [Unit(cpu, (cpu,), *core[1:]) for core in ordered for cpu in core.cpus]
    return [Unit(core.cpus[0], *core) for core in ordered]


def grouped(some, level):
    """Group units by level, in their order."""
    groups = {}
    for unit in some:
        groups.setdefault(getattr(unit, level), []).append(unit)
    return groups


def levels(every, boundary):
    """Return the levels that a lease respects, finest first: on some machines an L3 spans NUMA nodes."""
    respected = LEVELS[LEVELS.index(boundary) :]
    return sorted(respected, key=lambda level: -len(grouped(every, level)))


def choose(every, free, width, policy, boundary):
    """Choose `width` of the free units, or return None where fewer are free.

    The finest respected level that has a group with room provides all of them. `compact` takes the group with
    the least room, to leave whole ones to others; `scatter` the one with the most. Where no group of any
    level has room, the lease is split.
    """
    if len(free) < width:
        return None
    room = rooms(free)
    better = min if policy == "compact" else max
    for level in levels(every, boundary):
        fitting = [group for group in grouped(free, level).values() if len(group) >= width]
        if fitting:  # among groups with equal room, the room around them decides
            free = better(fitting, key=lambda group: surroundings(group, room))
            break
    return sorted(free, key=fill_order(free, policy))[:width]


def surroundings(group, room):
    """Return the room of a group and of the groups around it, to compare groups by."""
    return [len(group), *(room[level][getattr(group[0], level)] for level in LEVELS)]


def rooms(free):
    """Return how many free units each group of each level has."""
    return {level: {name: len(group) for name, group in grouped(free, level).items()} for level in LEVELS}


def fill_order(free, policy):
    """Order the units of a group: `compact` fills one L3 after the other, `scatter` deals them round."""
    room = rooms(free)
    rank = {unit: n for group in grouped(free, "l3").values() for n, unit in enumerate(group)}

    def key(unit):
        nest = [(-room[level][getattr(unit, level)], getattr(unit, level)) for level in reversed(LEVELS)]
        return (rank[unit], *nest) if policy == "scatter" else (*nest, rank[unit])

    return key


def is_split(chosen, every, boundary):
    """Tell whether a lease lies in several groups of a respected level though one group could hold it."""

    def holds(level):
        return max(map(len, grouped(every, level).values())) >= len(chosen)

    return any(len(grouped(chosen, level)) > 1 and holds(level) for level in levels(every, boundary))


def granted(chosen, every, cores, width):
    """Return the CPUs of a lease; one wider than there are cores gets their hyperthreads too."""
    if width > len(every):
        return {cpu for core in cores for cpu in core.cpus}
    return {unit.cpu for unit in chosen}


def slots(cores, width, policy, boundary, smt=False):
    """Return the CPU sets that leases of one width would get, one after the other, on an idle machine."""
    every = units(cores, smt)
    free, found = list(every), []
    while free and (chosen := choose(every, free, min(width, len(every)), policy, boundary)):
        found.append(granted(chosen, every, cores, width))
        free = [unit for unit in free if unit not in chosen]
    return found


# ------------------------------------------------------------------------------------------------------ lease

Lease = namedtuple("Lease", "cpus held nodes split fd", defaults=(None, None, (), None, None))
Lease.__doc__ = """The CPUs granted (None: unbound), these and the siblings that stay idle for them, their NUMA nodes,
is_split(), the descriptor of the locks."""
OFD_LOCK = "hhqqi4x"  # struct flock


def runtime_dir():
    """Return this user's private folder for leases, checked; all runs on a node must use the same.

    Not XDG_RUNTIME_DIR: that vanishes when the user logs out, while a run under nohup goes on, and batch jobs
    lack it.
    """
    path = os.environ.get("GPD_RUNTIME_DIR") or f"/tmp/gpd-{os.geteuid()}"
    try:
        if not os.path.lexists(path):
            os.makedirs(path, 0o700, exist_ok=True)
    except OSError as error:
        why = f"cannot make it for leases: {error.strerror}"
        raise LauncherError(f"{path}: {why}; set GPD_RUNTIME_DIR") from error
    found = os.lstat(path)
    if found.st_uid != os.geteuid() or found.st_mode & 0o170077 != 0o040000:
        raise LauncherError(f"{path}: not a private folder of this user; remove it or set GPD_RUNTIME_DIR")
    for name in ("jobs", "queue"):
        os.makedirs(f"{path}/{name}", 0o700, exist_ok=True)
    return path


def open_locked(path, flags=0, mode=fcntl.LOCK_EX):
    """Open a file of the runtime folder, lock it (flock), and return its descriptor."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | flags, 0o600)
    fcntl.flock(fd, mode)
    return fd


def wait_for_earlier(runtime, log, requester):
    """Wait until no process of an earlier attempt at the job with this log is left, and lock out later ones.

    A retry may come while an attempt whose front was killed is still ending, and both would write one output.
    The lock is held as leases are: a byte of an open file that all of the job's processes inherit.
    """
    low = os.open(f"{runtime}/attempts", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fd = fcntl.fcntl(low, fcntl.F_DUPFD, INHERITED_FD)
    os.close(low)
    log = os.path.abspath(log)
    byte_lock(fd, fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, crc32(os.fsencode(log)))
    while any(notes["log"] == log for notes in haunting(runtime)):
        end_if_gone(requester)
        time.sleep(0.2)


class Turn:
    """A place in a first-come, first-served queue; leaving the block gives the place up.

    A ticket is a numbered file, locked while its owner waits or is served. Waiting is a blocking lock on each
    lower ticket, so that it costs nothing, and a killed waiter's lock is gone with it.
    """

    def __init__(self, folder):
        os.makedirs(folder, 0o700, exist_ok=True)
        self.folder = folder

    def __enter__(self):
        counter = open_locked(f"{self.folder}/counter")
        lower = sorted((int(name) for name in os.listdir(self.folder) if name.isdigit()), reverse=True)
        self.path = f"{self.folder}/{lower[0] + 1 if lower else 1}"
        self.ticket = open_locked(self.path, os.O_EXCL)
        os.close(counter)
        try:
            for number in lower:
                self.wait_for(f"{self.folder}/{number}")
        except BaseException:
            self.__exit__()
            raise
        return self

    @staticmethod
    def wait_for(path):
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            return  # served and gone
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            unlink(path)  # there only if its owner was killed
        finally:
            os.close(fd)

    def __exit__(self, *_):
        unlink(self.path)
        os.close(self.ticket)


def byte_lock(fd, command, kind, byte):
    """Lock, unlock or test one byte of a file; return the kind of lock in the way."""
    reply = fcntl.fcntl(fd, command, struct.pack(OFD_LOCK, kind, os.SEEK_SET, byte, 1, 0))
    return struct.unpack(OFD_LOCK, reply)[0]


def is_leased(fd, cpu):
    """Tell whether another open file holds the lock of a CPU."""
    return byte_lock(fd, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, cpu) != fcntl.F_UNLCK


def take(fd, cpus):
    """Lock all these CPUs or none."""
    for done, cpu in enumerate(cpus):
        try:
            byte_lock(fd, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, cpu)
        except OSError:  # a launcher of another queue (other allowed CPUs) was faster
            for taken in cpus[:done]:
                byte_lock(fd, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, taken)
            return False
    return True


def acquire(runtime, settings, requester):
    """Wait for CPUs and return the lease. Raises Ended when a signal comes first, or Snakemake is gone."""
    allowed = os.sched_getaffinity(0)
    cores = machine_cores(runtime, allowed)
    every = units(cores, settings.smt)
    threads = min(settings.threads, usable_cpus(allowed))
    width = min(threads, len(every))
    with Turn(f"{runtime}/queue/{digest(format_cpus(allowed))}"):
        low = os.open(f"{runtime}/cpus", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fd = fcntl.fcntl(low, fcntl.F_DUPFD, INHERITED_FD)
        os.close(low)
        with Releases(f"{runtime}/cpus") as releases:
            while True:
                end_if_gone(requester)
                haunted = haunted_cpus(runtime)
                free = [u for u in every if not any(cpu in haunted or is_leased(fd, cpu) for cpu in u.held)]
                chosen = choose(every, free, width, settings.binding, settings.boundary)
                if chosen and take(fd, [cpu for unit in chosen for cpu in unit.held]):
                    break
                releases.wait()
    nodes = {unit.numa for unit in chosen if unit.numa >= 0}
    cpus = granted(chosen, every, cores, threads)
    held = cpus.union(*(unit.held for unit in chosen))
    return Lease(cpus, held, nodes, is_split(chosen, every, settings.boundary), fd)


class Releases:
    """Tells the head of the queue when to look for free CPUs again.

    inotify reports each close of the file of leases, that is, the end of a lease however it came. The kernel
    drops the locks just after that report, and processes that closed the file early make none, so one looks
    again after 1 ms, 2 ms, ... up to 2 s.
    """

    CLOSE_WRITE, NONBLOCK_CLOEXEC = 0x8, 0o2004000
    LONGEST_MS, BLIND_MS = 2000, 200  # with inotify, without it

    def __init__(self, path):
        self.path, self.fd, self.delay_ms = path, None, 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.fd is not None and self.fd >= 0:
            os.close(self.fd)

    def wait(self):
        """Return after a release, or when it is time to look anyhow."""
        if self.fd is None:  # the first look may have been before the watch began: look again at once
            self.fd = LIBC.inotify_init1(self.NONBLOCK_CLOEXEC)
            if self.fd >= 0:
                LIBC.inotify_add_watch(self.fd, os.fsencode(self.path), self.CLOSE_WRITE)
            return
        ready, _, _ = select.select([self.fd] if self.fd >= 0 else [], [], [], self.delay_ms / 1000)
        if ready:
            os.read(self.fd, 65536)
        longest = self.LONGEST_MS if self.fd >= 0 else self.BLIND_MS
        self.delay_ms = 1 if ready else min(2 * self.delay_ms, longest)


# ---------------------------------------------------------------------------------------------------- journal


class Journal:
    """What is known of an unfinished job, in a file that its processes hold locked.

    Lines are only ever added, so that one which a full disk cuts short leaves those before it. One that begins
    with a brace holds notes; the job's bash adds `status` lines (see PIPE_TRAP).
    """

    def __init__(self, runtime, record):
        self.path = f"{runtime}/jobs/{record['id']}"
        low = open_locked(self.path, os.O_APPEND)
        self.fd = fcntl.fcntl(low, fcntl.F_DUPFD, INHERITED_FD)
        os.close(low)

    def write(self, record, ledger, cgroups=()):
        """Note the record so far, as repr: only recovery reads it, and json would have to be loaded."""
        notes = {"record": record, "ledger": ledger, "cgroups": cgroups, "log": os.path.abspath(record["log"])}
        try:
            append_line(self.fd, repr(notes).encode())
        except OSError as error:  # a full disk must not stop a job that does not need that disk
            say(f"launch.py: {self.path}: {error.strerror}; a kill -9 of the whole job may go unrecorded")

    def notes(self):
        """Return what was noted last, or None."""
        return read_notes(read_text(self.path))

    def statuses(self):
        """Return the exit codes of each pipe that failed, as the job's bash told them."""
        lines = (line.split() for line in whole_lines(read_text(self.path)) if line.startswith("status "))
        return [[int(status) for status in words[1:]] for words in lines]

    def close(self):
        """The record is written: forget the job."""
        unlink(self.path)


def abandoned(runtime):
    """Yield (path, descriptor, notes) of journals that nobody holds: front and keeper were killed together.

    The lock is shared, so that two launchers that look at once both see what is abandoned.
    """
    for name in os.listdir(f"{runtime}/jobs"):
        path = f"{runtime}/jobs/{name}"
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            text = read_text(path)
            notes = read_notes(text)
            if notes and os.fstat(fd).st_nlink:
                yield path, fd, notes
            elif text and not notes:
                unlink(path)  # cut short by a full disk, as its launcher has said; no text: its job is just starting
        except BlockingIOError:
            continue  # its job is alive
        finally:
            os.close(fd)


def append_line(fd, line):
    """Append a line to a file, the whole of it or nothing. Raises OSError."""
    size = os.fstat(fd).st_size
    try:
        if os.write(fd, line + b"\n") <= len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        os.ftruncate(fd, size)
        raise


def whole_lines(text):
    """Return the lines of a text that were written to their end."""
    return text.split("\n")[:-1]


def read_notes(text):
    """Return what Journal.write noted last, None where nothing was noted whole."""
    noted = [line for line in whole_lines(text) if line.startswith("{")]
    if not noted:
        return None
    from ast import literal_eval

    return literal_eval(noted[-1])


def survivors(job_id):
    """Return a job's processes by the mark in their environment: some close all descriptors they inherit."""
    mark = f"GPD_JOB={job_id}\0"
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in read_text(f"/proc/{pid}/environ")]


def haunting(runtime):
    """Return the notes of abandoned jobs of which processes still run, though no lock tells so."""
    return [notes for _, _, notes in abandoned(runtime) if survivors(notes["record"]["id"])]


def haunted_cpus(runtime):
    """Return the CPUs on which processes of abandoned jobs still run."""
    return {cpu for notes in haunting(runtime) for cpu in parse_cpus(notes["record"]["cpus"] or "")}


def is_ours_alone(fd):
    """Lock an abandoned journal for ourselves; tell whether it is still there to be recorded."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # another launcher looks at it: it, or a later one, will record the job
    return os.fstat(fd).st_nlink > 0


def recover(runtime):
    """Record the abandoned jobs that are over. Return how many."""
    count = 0
    for path, fd, notes in abandoned(runtime):
        record = notes["record"]
        if survivors(record["id"]) or not is_ours_alone(fd):
            continue
        remove_cgroups(notes["cgroups"])
        if record["cause"] is None and record["exit_code"] is None:
            record.update(cause="killed", message="launcher and job were killed together; when is not known")
        try:
            append(notes["ledger"], record, once=True)
        except FileNotFoundError:
            say(f"launch.py: {notes['ledger']}: its folder is gone, and a record of {record['rule']} with it")
        except OSError:
            continue  # a later launcher may succeed
        os.unlink(path)
        count += 1
    return count


def print_jobs():
    """Print the jobs of this user's runs that are not over, a line of JSON each; return the exit code.

    A job without `start` waits for CPUs, since `since` (s, Unix time). One whose launcher was killed is there for as
    long as a process of it is left.
    """
    import json

    runtime = runtime_dir()
    recover(runtime)
    for name in os.listdir(f"{runtime}/jobs"):
        path = f"{runtime}/jobs/{name}"
        try:
            notes, since = read_notes(read_text(path)), os.stat(path).st_mtime
        except (OSError, SyntaxError, ValueError):
            continue  # just starting, just over, or being written
        print(json.dumps({**notes["record"], "ledger": notes["ledger"], "since": since}))
    return 0


# ---------------------------------------------------------------------------------------------------- measure


def children(pid):
    """Return the children of a process, those of its threads included."""
    found = []
    for tid in threads_of(pid):
        found += map(int, read_text(f"/proc/{pid}/task/{tid}/children").split())
    return found


def threads_of(pid):
    """Return the thread ids of a process, none where it is gone."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def stat_fields(pid, task=""):
    """Return the fields of /proc/PID/stat from the third (state) on; the second may contain anything."""
    return read_text(f"/proc/{pid}{task}/stat").rpartition(")")[2].split()


def parents():
    """Return {parent: children} of all processes, for kernels built without CONFIG_PROC_CHILDREN."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        for parent in stat_fields(name)[1:2]:
            found.setdefault(int(parent), []).append(int(name))
    return found


def descendants(pid):
    """Return all processes below one, parents first."""
    if os.path.exists(f"/proc/{pid}/task/{pid}/children"):
        look = children
    else:
        known = parents()
        look = lambda parent: known.get(parent, [])  # noqa: E731
    found = look(pid)
    for process in found:  # grows as it goes
        found += look(process)
    return found


class Sampler:
    """Looks at a job's processes from time to time: where they run and may run, how much memory they have.

    It looks often at first and up to four times a second later, and never spends more than 1% of one CPU.
    """

    SHORTEST_S, LONGEST_S, SHARE = 0.005, 0.25, 0.01
    PAGE = os.sysconf("SC_PAGESIZE")

    def __init__(self, cpus, cgroup):
        self.cpus, self.cgroup = cpus, cgroup
        self.began = time.monotonic()
        self.interval_s = self.SHORTEST_S
        self.private = self.files = self.cache = self.kernel = 0  # bytes
        self.allowed, self.seen = set(), set()

    def sample(self):
        """Look once, and set when to look next."""
        before = time.monotonic()
        memory = {pid: self.look_at(pid) for pid in descendants(os.getpid())}
        # a child between vfork and exec shows the memory of its parent once more
        own = [pages for parent, *pages in memory.values() if pages != memory.get(parent, [None])[1:]]
        private = sum(resident - files for _, resident, files in own) * self.PAGE
        files = max((files for _, _, files in own), default=0) * self.PAGE  # libraries, mostly shared
        self.private, self.files = max((self.private, self.files), (private, files), key=sum)
        if self.cgroup:
            cache, kernel = self.cgroup.cache_and_kernel()
            self.cache, self.kernel = max(self.cache, cache), max(self.kernel, kernel)
        now = time.monotonic()
        usual = min(max((now - self.began) / 20, self.SHORTEST_S), self.LONGEST_S)
        self.interval_s = max(usual, (now - before) / self.SHARE)

    def look_at(self, pid):
        """Note the CPUs of a process's threads; return its parent, and its virtual, resident, file pages."""
        parent = None
        for tid in threads_of(pid):
            fields = stat_fields(pid, f"/task/{tid}")
            if len(fields) < 37:
                continue  # gone meanwhile; one that has ended but is not reaped still tells
            try:
                self.allowed |= os.sched_getaffinity(int(tid))
            except OSError:
                continue
            self.seen.add(int(fields[36]))
            parent = int(fields[1])
        return [parent, *map(int, read_text(f"/proc/{pid}/statm").split()[:3] or (0, 0, 0))]

    def binding_ok(self):
        """Tell whether all processes stayed on the lease; None where there was none, or nothing was seen."""
        if self.cpus is None or not self.allowed:
            return None
        return self.allowed <= self.cpus and self.seen <= self.cpus


def cpu_times(cpus):
    """Return {cpu: clock ticks in user and system mode, stolen by the hypervisor, in all} of these CPUs."""
    rows = map(str.split, read_text("/proc/stat").partition("\nintr")[0].splitlines()) if cpus else ()
    counts = {row[0]: list(map(int, row[1:9])) for row in rows}
    wanted = {cpu: counts.get(f"cpu{cpu}", [0] * 8) for cpu in cpus or ()}
    return {cpu: (sum(ticks[:3]), ticks[7], sum(ticks)) for cpu, ticks in wanted.items()}


def foreign_load(before, after, ours_s, wall_s, width):
    """Return the record's fields of what else the CPUs of a lease did, given two cpu_times().

    `ours_s`: CPU seconds of the job and its keeper. What interrupts took counts for nobody.

    Contended is a lease of which others had more than a tenth. Below it lie, as measured: the kernel's own threads,
    0.5% of a machine that writes much; what the clock ticks of /proc/stat are wrong by, 0.3% of a job of minutes but
    0.03 s a CPU of any; Snakemake and gpd, which run on any CPU, 20 ms a job and 2.5 s at a start. Those seconds
    are a tenth of a short job, so half a second is the least that counts, and of shorter leases nothing is said.
    """
    spent = [[end - start for start, end in zip(before[cpu], after[cpu], strict=True)] for cpu in before]
    if any((ticks + 4) * TICK_S < wall_s / 2 for _, _, ticks in spent):
        return {}  # not told, or of other CPUs, as in some containers
    foreign_s = max(0.0, sum(busy for busy, _, _ in spent) * TICK_S - ours_s)
    lease_s = wall_s * width
    contended = foreign_s > max(FOREIGN_S, FOREIGN_SHARE * lease_s) if lease_s > FOREIGN_S else None
    steal_s = sum(stolen for _, stolen, _ in spent) * TICK_S
    return {"contended": contended, "foreign_cpu_s": round(foreign_s, 2), "steal_s": round(steal_s, 2)}


class Stall:
    """Notices that a job does nothing: under 0.5% of a CPU (an idle JVM's share), not a byte moved."""

    SHARE = 0.005

    def __init__(self, limit_s):
        self.limit_s = limit_s
        self.since, self.cpu_s, self.moved = time.monotonic(), 0.0, 0
        self.next_look = self.since

    def is_stalled(self, reaped_cpu_s):
        """Look, at most ten times within the limit, whether anything happened."""
        now = time.monotonic()
        if not self.limit_s or now < self.next_look:
            return False
        self.next_look = now + self.limit_s / 10
        cpu_s, moved = reaped_cpu_s, 0
        for pid in descendants(os.getpid()):
            fields = stat_fields(pid)
            cpu_s += sum(map(int, fields[11:15])) * TICK_S
            moved += sum(io_counts(pid)[:2])
        moved += sum(io_counts("self")[2:4])
        busy = cpu_s - self.cpu_s > self.SHARE * (now - self.since) + TICK_S or moved != self.moved
        if busy:
            self.since, self.cpu_s, self.moved = now, cpu_s, moved
        return now - self.since >= self.limit_s


def io_counts(pid):
    """Return (rchar, wchar, read_bytes, write_bytes) of a process and the children that it has reaped."""
    pairs = (line.split(": ") for line in read_text(f"/proc/{pid}/io").splitlines())
    counts = {name: int(value) for name, value in pairs}
    return tuple(counts.get(name, 0) for name in ("rchar", "wchar", "read_bytes", "write_bytes"))


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
            say(f"launch.py: {self.path}: {error.strerror}; memory is sampled instead")

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
    there the parent will do if our own cgroup sets no limit, which would be escaped.
    """
    for own, mountpoint, version in control_groups("memory", root):
        if own is None:
            continue
        yield own, version
        limits = (read_text(f"{root}{own}/{name}") for name in ("memory.max", "memory.high", "cpu.max"))
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


def peak_memory(sampler, cgroup, maxrss, floor):
    """Return (bytes, source): the largest of three figures, each of which is at most the tree's true peak.

    They are: the sum over processes when sampled, file pages counted once (it is above the peak only where
    forked processes share pages and no cgroup corrects it); the largest single process (rusage), exact, but
    near `floor` it is the launcher's own from before exec; and the cgroup's peak less the most page cache and
    kernel memory in it.
    """
    figures = {"sampled": sampler.private + sampler.files}
    if maxrss > floor + MIB:
        figures["rusage"] = maxrss
    peak = cgroup.peak() if cgroup else 0
    if peak:
        figures["sampled"] = min(sampler.private, peak) + sampler.files
        figures["cgroup"] = peak - sampler.cache - sampler.kernel
    source = max(figures, key=figures.get)
    return (figures[source], source) if figures[source] > 0 else (None, None)


# -------------------------------------------------------------------------------------------------------- run

Outcome = namedtuple("Outcome", "status ended usage maxrss wall_s")
Outcome.__doc__ = "bash's wait status, why the job was ended, (user, system) CPU s, largest process in bytes, s."

# bash says what became of each program of a pipe to nobody else: its own exit code is the last failing program's,
# and one that was killed makes others fail, which say so in the log. On the command's first line, to keep its count.
PIPE_TRAP = "trap 'echo status \"${{PIPESTATUS[@]}}\" >&{} 2> /dev/null || true' ERR; "
PDEATHSIG, SUBREAPER = 1, 36  # of prctl(2), for which Python has no name
INTERLEAVE, LOCAL, PREFERRED_MANY = 3, 4, 5  # of set_mempolicy(2), and its number by machine
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "ppc64le": 261}


def prctl(option, value):
    """Call prctl(2) on this process."""
    LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def set_memory_policy(policy, nodes):
    """Apply a memory policy to this process and those it starts; return the one in force.

    `local` prefers the lease's nodes and falls back to others when they are full, so that no job dies of it.
    Kernels without NUMA and containers' system call filters refuse any.
    """
    number = SET_MEMPOLICY.get(os.uname().machine)
    if policy == "default" or not nodes or number is None:
        return "default"
    words = max(nodes) // 64 + 1
    bits = (sum(1 << node % 64 for node in nodes if node // 64 == word) for word in range(words))
    mask = (ctypes.c_ulong * words)(*bits)
    mode = INTERLEAVE if policy == "interleave" else PREFERRED_MANY
    refused = LIBC.syscall(number, mode, mask, words * 64 + 1)
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


def start_shell(command, log_fd, status_fd, environment, settings, lease, cgroup):
    """Start bash on the command. Return its pid once it runs, the CPU s (user, system) spent before, and the
    memory policy in force.

    Raises LauncherError where it cannot run.
    """
    import resource

    told, tell = os.pipe()
    shell = os.fork()
    if shell == 0:
        try:
            os.setpgid(0, 0)  # a command that signals its whole group must not reach the keeper
            if cgroup:
                cgroup.join()
            if lease.cpus is not None:
                os.sched_setaffinity(0, lease.cpus)  # before Linux 6.2 joining one with a cpuset widened it again
            policy = set_memory_policy(settings.memory, lease.nodes)
            allow_files()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log_fd, 1)
            os.dup2(log_fd, 2)
            for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(ignored_by_python, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            spent = resource.getrusage(resource.RUSAGE_SELF)
            os.write(tell, f"{spent.ru_utime} {spent.ru_stime} {policy}".encode())
            options = ("-E", "-euo", "pipefail", "-c")  # -E: the trap holds in functions and subshells, too
            os.execvpe("bash", ["bash", *options, PIPE_TRAP.format(status_fd) + command], environment)
        except OSError as error:
            os.write(tell, f"\ncannot start bash: {error}".encode())
        finally:
            os._exit(127)
    os.close(tell)
    with open(told) as pipe:
        text, _, trouble = pipe.read().partition("\n")  # until exec closes the pipe
    if trouble:
        os.waitpid(shell, 0)
        raise LauncherError(trouble)
    user, system, policy = text.split() or (0, 0, None)
    return shell, (float(user), float(system)), policy


def end_tree(signum):
    """Send a signal to every process below this one."""
    for pid in descendants(os.getpid()):
        try:
            os.kill(pid, signum)
        except OSError:
            continue  # gone, or by set-user-id not ours


class Ending:
    """Ends a job's processes: SIGTERM first, SIGKILL after a time of grace, until all are gone."""

    def __init__(self):
        self.reason, self.kill_at = None, None

    def begin(self, reason):
        """Ask the processes to end, once."""
        if self.kill_at is None:
            self.reason, self.kill_at = reason, time.monotonic() + GRACE_S
            end_tree(signal.SIGTERM)

    def press(self):
        """Kill what has not gone in time."""
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            end_tree(signal.SIGKILL)

    def next_s(self):
        """Return in how many seconds `press` has something to do."""
        return Sampler.LONGEST_S if self.kill_at is None else max(0.01, self.kill_at - time.monotonic())


def supervise(shell, sampler, stall_s, began, requester):
    """Watch the job until its last process is gone, and add up what it used.

    The keeper is a subreaper: what outlives its parent becomes the keeper's child, and is waited for and
    counted too. Processes that a command leaves behind are ended, after some seconds if it succeeded, at once
    if it did not.
    """
    ending, stall = Ending(), Stall(stall_s)
    status, linger_until = None, None
    user = system = maxrss = 0
    while True:
        sampler.sample()
        caught = signal.sigtimedwait(ENDINGS | {signal.SIGCHLD}, min(sampler.interval_s, ending.next_s()))
        if caught and caught.si_signo in ENDINGS:
            ending.begin(requester.gone() or f"{signal.Signals(caught.si_signo).name} to the launcher")
        for pid, exit_status, usage in reap():
            user, system = user + usage.ru_utime, system + usage.ru_stime
            maxrss = max(maxrss, usage.ru_maxrss)
            if pid == shell:
                status = exit_status
                linger_until = time.monotonic() + (LINGER_S if status == 0 else 0)
        if not has_children():
            wall_s = time.monotonic() - began
            return Outcome(status, ending.reason, (user, system), maxrss * 1024, wall_s)
        if linger_until is not None and time.monotonic() >= linger_until:
            ending.begin(None)
        if stall.is_stalled(user + system):
            ending.begin("stalled")
        ending.press()


def reap():
    """Yield (pid, status, usage) of children that have ended."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status, usage


def has_children():
    """Tell whether any child is left, running or not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def keep(record, journal, command, log_fd, settings, lease, requester):
    """Be the keeper: run the job, record it, return its exit code."""
    os.setsid()  # a Ctrl-C on the terminal reaches the front, which passes it on
    prctl(SUBREAPER, 1)
    prctl(PDEATHSIG, signal.SIGTERM)
    if os.getppid() != requester.front:
        os.kill(os.getpid(), signal.SIGTERM)  # pending until supervise() looks
    if lease.cpus is not None:
        os.sched_setaffinity(0, lease.cpus)
    planned = planned_cgroups(record["id"])
    began, start_ns = time.monotonic(), time.time_ns()
    record.update(start=utc(start_ns), uptime_s=round(began, 6))
    journal.write(record, settings.ledger, planned)
    cgroup = make_cgroup(planned)
    oom_before, floor = kernel_oom_kills(), own_maxrss()
    sampler = Sampler(lease.cpus, cgroup)
    cpus_before, own_before = cpu_times(lease.held), time.process_time()
    try:
        environment = job_environment(record, settings, lease)
        started = start_shell(command, log_fd, journal.fd, environment, settings, lease, cgroup)
        shell, spent, record["memory_applied"] = started
    except LauncherError as error:
        remove_cgroups(planned)
        return finish(record, journal, settings, "launcher_error", str(error), 127)
    sampler.sample()
    record["command_sha256"] = sha256(command)
    import json  # noqa: F401 (for append(); the job runs meanwhile)

    outcome = supervise(shell, sampler, settings.stall_s, began, requester)
    ours_s = sum(outcome.usage) + time.process_time() - own_before
    cpus_after = cpu_times(lease.held)
    usage = tuple(max(0.0, whole - part) for whole, part in zip(outcome.usage, spent, strict=True))
    outcome = outcome._replace(usage=usage)
    if os.getppid() != requester.front:
        outcome = outcome._replace(ended="the launcher was killed")
    measured(record, outcome, sampler, cgroup, floor, start_ns)
    if record["binding_ok"]:  # one that left its CPUs used others' time, too
        record.update(foreign_load(cpus_before, cpus_after, ours_s, outcome.wall_s, len(lease.cpus)))
    ooms = (cgroup.oom_kills() if cgroup else 0, kernel_oom_kills() - oom_before)
    remove_cgroups(planned)
    code = exit_code(outcome)
    record["signal"] = code - 128 if 128 < code <= 128 + 64 else None
    cause, message = None, None
    if code:
        cause, message = diagnose(code, outcome.ended, settings, ooms, journal.statuses(), lambda: full_disk(command))
    elif fault := file_fault("made_fault", settings.outputs, log_fd):
        cause, message, code = ("disk_full" if DISK_FULL in fault else "broken_output"), fault, 1
    return finish(record, journal, settings, cause, message, code)


DISK_FULL = "No space left on device"


def file_fault(which, paths, log_fd):
    """Return what a function of the module that GPD_OUTPUTS names (outputs.py) says is wrong with files, or None.

    It goes to the log, too.
    """
    module = os.environ.get("GPD_OUTPUTS")
    if not (module and paths):
        return None
    from importlib.machinery import SourcelessFileLoader

    names = {"__name__": "outputs"}
    exec(SourcelessFileLoader("outputs", module).get_code("outputs"), names)
    fault = names[which](paths)
    if fault:
        say(f"error: {fault}", log_fd)
    return fault


def exit_code(outcome):
    """Return the exit code as a shell would say it; a job that was ended never counts as success."""
    code = os.waitstatus_to_exitcode(outcome.status)
    code = 128 - code if code < 0 else code
    return 128 + signal.SIGTERM if code == 0 and outcome.ended else code


def measured(record, outcome, sampler, cgroup, floor, start_ns):
    """Fill in what was measured. All processes are reaped, so this one's I/O counts include theirs."""
    total, own = io_counts("self"), io_counts(f"self/task/{os.getpid()}")
    read_calls, write_calls, read, write = (whole - mine for whole, mine in zip(total, own, strict=True))
    if cgroup:
        cache, kernel = cgroup.cache_and_kernel()
        sampler.cache, sampler.kernel = max(sampler.cache, cache), max(sampler.kernel, kernel)
    peak, source = peak_memory(sampler, cgroup, outcome.maxrss, floor)
    user, system = outcome.usage
    record.update(
        end=utc(start_ns + round(outcome.wall_s * 1e9)),
        wall_s=round(outcome.wall_s, 6),
        **cpu_seconds(user, system),
        peak_rss_mib=mib(peak),
        peak_rss_source=source,
        peak_cgroup_mib=mib(cgroup.peak() or None) if cgroup else None,
        cpus_allowed=format_cpus(sampler.allowed) or None,
        cpus_seen=format_cpus(sampler.seen) or None,
        binding_ok=sampler.binding_ok(),
    )
    if read_text("/proc/self/io"):
        record.update(read_mib=mib(read), write_mib=mib(write))
        record.update(read_calls_mib=mib(read_calls), write_calls_mib=mib(write_calls))


def cpu_seconds(user, system):
    """Return the record's fields of CPU time."""
    return {"cpu_user_s": round(user, 6), "cpu_system_s": round(system, 6), "cpu_s": round(user + system, 6)}


def mib(count):
    """Return bytes as MiB, None as None."""
    return None if count is None else round(count / MIB, 3)


def own_maxrss():
    """Return the peak memory of this process in bytes: a child's figure starts from it until exec."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def kernel_oom_kills():
    """Return how many processes this kernel has killed for want of memory since it started."""
    for line in read_text("/proc/vmstat").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def job_environment(record, settings, lease):
    """Return the command's environment: what it may use, and the mark by which it is known."""
    threads = settings.threads if lease.cpus is None else len(lease.cpus)
    cpus = os.sched_getaffinity(0) if lease.cpus is None else lease.cpus
    return {
        **os.environ,
        "GPD_JOB": record["id"],
        "GPD_CPUS": format_cpus(cpus),
        "GPD_THREADS": str(min(threads, settings.threads)),
        "GPD_MEM_MB": str(settings.mem_mb),
    }


class Requester:
    """Who asked for the job: bash, and Snakemake behind it. When they are gone, the job must not write on."""

    def __init__(self):
        self.front, self.shell = os.getpid(), str(os.getppid())
        self.snakemake = parent_of(self.shell)

    def gone(self):
        """Say who is gone, that is, whose child has got another parent; None: nobody, as far as can be read."""
        chain = (("the shell that ran the launcher", self.front, self.shell), ("Snakemake", self.shell, self.snakemake))
        for name, child, parent in chain:
            now = parent_of(child)
            if now and parent and now != parent:  # a read that fails is no proof
                return f"{name} (PID {parent}) is gone"
        return None


def parent_of(pid):
    """Return the parent's pid as text, "" where unknown."""
    return "".join(stat_fields(pid)[1:2])


def attend(keeper, requester, record, journal, settings):
    """Be the front while the job runs: pass on signals, end it with Snakemake, return the exit code."""
    while True:
        caught = signal.sigtimedwait(ENDINGS | {signal.SIGCHLD}, LOOK_S)
        ended = os.waitid(os.P_PID, keeper, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended:
            reaped = stat_fields(keeper)[13:15]  # CPU time of those that it has waited for
            break
        if (caught and caught.si_signo in ENDINGS) or requester.gone():
            os.kill(keeper, caught.si_signo if caught and caught.si_signo in ENDINGS else signal.SIGTERM)
    os.waitpid(keeper, 0)
    if ended.si_code == os.CLD_EXITED:
        return ended.si_status
    return take_over(ended.si_status, reaped, record, journal, settings)


def take_over(signum, reaped, record, journal, settings):
    """The keeper was killed: its processes are ours now. End them, and record what is known.

    `reaped`: clock ticks, user and system, of processes that the keeper had waited for.
    """
    user, system = (int(ticks) * TICK_S for ticks in reaped or (0, 0))
    ending = Ending()
    ending.begin("keeper")
    while has_children():
        signal.sigtimedwait({signal.SIGCHLD}, min(0.1, ending.next_s()))
        for _, _, usage in reap():
            user, system = user + usage.ru_utime, system + usage.ru_stime
        ending.press()
    code = 128 + signum
    if not os.path.exists(journal.path):
        return code  # the keeper had written the record
    notes = journal.notes() or {"record": record, "cgroups": planned_cgroups(record["id"])}
    remove_cgroups(notes["cgroups"])
    record.update(notes["record"], end=utc(time.time_ns()), signal=signum)
    if record["uptime_s"] is not None:
        record.update(wall_s=round(time.monotonic() - record["uptime_s"], 6), **cpu_seconds(user, system))
    return finish(record, journal, settings, "killed", "the job's keeper was killed", code, once=True)


# --------------------------------------------------------------------------------------------------- diagnose

KILLED_BY = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
LOG_BYTES = 1 << 20  # from either end of a log
MEMORY_LINE = (
    r"java\.lang\.OutOfMemoryError|std::bad_alloc|^MemoryError|Cannot allocate memory|[Ii]nsufficient memory|"
    r"cannot allocate vector of size|(?i:\bout of memory\b)"
)
BASH_LINE = r"^bash: line \d+: +\d+ "  # what bash says of a program that a signal ended
EVIDENCE = {  # a log line that proves a cause, the strongest first
    "out_of_memory": MEMORY_LINE,
    "disk_full": r"No space left on device|Disk quota exceeded",
    "open_file_limit": r"Too many open files",
    "tool_not_found": r": command not found$",
    "signal": BASH_LINE + "(Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)",
    "killed": BASH_LINE + "(Killed|Terminated)",
}
FAILED_WRITE = (
    r"(?i)\b(unable|fail\w*|cannot|can't|could not|couldn't|error)\b.*\bwrit|\bwrit\w*\b.*\b(fail|error)|disk is full"
)
ERROR_LINES = (  # how the line begins in which a tool says what went wrong, the most telling kinds first
    r"^error: \S|^A USER ERROR has occurred: |^##### ERROR MESSAGE: |^Exception in thread|"
    r"^[\w.]+(Exception|Error): \S",
    r"^\[E::|^\[mem_sam_pe\] |^\[\w+\] (fail|error|truncated|invalid)|^gzip: |^sambamba-\w+: |"
    r"^(samtools|bcftools)[ \w]*: |"
    r"^Error\b|^ERROR\b|^(bash|/\S+sh): |^\w+: (error|fatal)",
    r"(?i)\b(error|exception|fatal|failed|fail|cannot|can't|could not|unable|invalid|truncated|unexpected|"
    r"aborted|no such file|permission denied)\b",
    r"^\[W::",
)


def diagnose(code, ended, settings, ooms, statuses=(), find_full_disk=lambda: None):
    """Return (cause, message) of a failure.

    `ended`: why the launcher ended the job, or None. `ooms`: how many processes the kernel killed for want of
    memory, in the job's own cgroup and on the whole node, while it ran. `statuses`: exit codes of the programs of
    each pipe that failed. `find_full_disk` names a file system of the job's that is full.
    """
    if ended == "stalled":
        return "stalled", f"no CPU use and no I/O for {settings.stall_s:g} s"
    if ended:
        return "killed", ended
    lines = log_lines(settings.log)
    by_log = cause_by_log(lines)
    signum = code - 128
    crashed, where = crash_in_pipe(statuses)
    if ooms[0] or (ooms[1] and (signal.SIGKILL in (signum, crashed) or "killed" in by_log)):
        return "out_of_memory", "killed by the kernel for want of memory"
    for cause, line in by_log.items():
        told = error_line([other for other in lines if other != line]) if cause == "signal" else None
        return cause, f"{line}: {told}" if told else line
    line = error_line(lines)
    unwritten = failed_write(lines)
    if (unwritten or not line) and (disk := find_full_disk()):
        return "disk_full", f"{unwritten or 'nothing in the log says why'}; the disk of {disk} is full"
    if crashed:
        return ("killed" if crashed in KILLED_BY else "signal"), f"{crashed.name} to {where}"
    if code == 127:
        return "tool_not_found", line or "exit code 127"
    if signum in KILLED_BY:
        return "killed", signal.Signals(signum).name
    if (line and "Broken pipe" in line) or (signum == signal.SIGPIPE and not line):
        return "broken_pipe", line or "a program of the pipe ended before it had read all its input"
    if signum in set(signal.Signals) - {signal.SIGPIPE}:
        name = signal.Signals(signum).name
        return "signal", f"{name}: {line}" if line else name
    return "tool_error", line or f"exit code {code}, and nothing in the log says why"


def crash_in_pipe(statuses):
    """Return the signal that ended a program of a pipe, and which program, or (None, None).

    The first of them: SIGPIPE, and what programs say of a cut input, follow from it.
    """
    signals = set(signal.Signals) - {signal.SIGPIPE}
    for codes in filter(lambda codes: len(codes) > 1, statuses):
        for number, code in enumerate(codes, 1):
            if code - 128 in signals:
                return signal.Signals(code - 128), f"program {number} of {len(codes)} of a pipe"
    return None, None


def failed_write(lines):
    """Return the line in which a tool says that it could not write, without saying why, or None."""
    import re

    return next(filter(re.compile(FAILED_WRITE).search, lines), None)


def full_disk(command):
    """Return a path of the job's whose file system is full right now, or None.

    Looked at are the working directory, the folder for temporary files, and all paths in the command.
    """
    named = (os.path.abspath(path) for word in words_of(command) for part in word.split("=") for path in beside(part))
    usual = (os.getcwd(), os.environ.get("TMPDIR") or "/tmp")
    return next(filter(is_full, dict.fromkeys((*usual, *named))), None)


def beside(path):
    """Return a path and the folder in which it is, or would be."""
    return (path, os.path.dirname(path)) if path else ()


def words_of(command):
    """Yield the words of a command without their quotes, up to a quote that only bash understands."""
    import shlex

    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    try:
        yield from words
    except ValueError:
        return


def is_full(folder):
    """Tell whether a file system can take no more: too little for a tool's buffer, or no more files."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail  # some are kept for root
    writable = disk.f_blocks and not disk.f_flag & os.ST_RDONLY
    return bool(writable) and (free * disk.f_frsize < MIB or (disk.f_files > 0 and disk.f_ffree == 0))


def cause_by_log(lines):
    """Return {cause: line} of the causes that the log proves, the strongest first."""
    import re

    proofs = ((cause, next(filter(re.compile(text).search, lines), None)) for cause, text in EVIDENCE.items())
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
    import re

    for kind in ERROR_LINES:
        for number, line in enumerate(lines):
            if re.search(kind, line):
                return " ".join(lines[number : number + 2]) if line.endswith(" :") else line  # R breaks its lines
    return None


# ----------------------------------------------------------------------------------------------------- record


def utc(ns):
    """Write a time as UTC ISO 8601 with nanoseconds."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"


MEASURED = (
    *("cpus", "split", "wait_s", "start", "uptime_s", "end", "wall_s", "cpu_user_s", "cpu_system_s", "cpu_s"),
    *("peak_rss_mib", "peak_rss_source", "peak_cgroup_mib"),
    *("read_mib", "write_mib", "read_calls_mib", "write_calls_mib"),
    *("exit_code", "signal", "cause", "message", "cpus_allowed", "cpus_seen", "binding_ok"),
    *("memory_applied", "contended", "foreign_cpu_s", "steal_s"),
)


def new_record(settings):
    """Return the record of an attempt of which nothing is known yet but what was asked for."""
    wildcards = settings.wildcards
    return {
        "schema": SCHEMA,
        "id": os.urandom(8).hex(),
        "run": settings.run or None,
        "rule": settings.rule,
        "step": settings.step,
        "wildcards": wildcards,
        "shard": wildcards.get("shard", wildcards.get("scatteritem")),
        "attempt": settings.attempt,
        "threads": settings.threads,
        "mem_mb": settings.mem_mb or None,
        "binding": settings.binding,
        "boundary": settings.boundary,
        "memory": settings.memory,
        "smt": settings.smt,
        **dict.fromkeys(MEASURED),
        "boot": boot_id() or None,
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "command_sha256": None,
        "log": settings.log,
    }


def append(path, record, once=False):
    """Append a record to a ledger as one line.

    `once`: not where it is there already. Who writes for a killed process must ask: it may have been killed
    just after it wrote.

    O_APPEND makes one write() to a local file atomic whatever its length (PIPE_BUF matters to pipes only).
    The lock does the same on network file systems, where O_APPEND is not atomic, and guards the look at the
    last byte: a line that a full disk cut short is closed first, so that it spoils no other.
    """
    import json

    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError as error:
            say(f"launch.py: {path}: cannot be locked ({error.strerror}); appending all the same")
        size = os.fstat(fd).st_size
        if once and size and is_recorded(fd, record["id"]):
            return
        cut = size and os.pread(fd, 1, size - 1) != b"\n"
        line = ("\n" if cut else "") + json.dumps(record, ensure_ascii=False) + "\n"
        data = line.encode(errors="replace")
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def is_recorded(fd, job_id):
    """Tell whether a ledger that is not empty holds the record of an attempt."""
    from mmap import ACCESS_READ, mmap

    with mmap(fd, 0, access=ACCESS_READ) as ledger:
        return ledger.find(f'"id": "{job_id}"'.encode()) >= 0


def finish(record, journal, settings, cause, message, code, once=False):
    """Write the record (see append), say what failed in one line, return the exit code."""
    record.update(exit_code=code, cause=cause, message=message and message[:1000])
    if cause:
        name = " ".join([settings.step, *record["wildcards"].values()])
        say(f"{name}: {cause}: {record['message']} (log: {settings.log})")
    try:
        append(settings.ledger, record, once)
        journal.close()
    except OSError as error:  # the journal keeps the record until the ledger can take it
        journal.write(record, settings.ledger)
        say(f"{settings.ledger}: the record of this job could not be written: {error.strerror}")
    return code


def say(line, fd=2):
    """Print one line to stderr, or to a log; that nobody reads it is no reason to fail."""
    try:
        os.write(fd, (line + "\n").encode(errors="replace"))
    except OSError:
        return  # there is no other place to say so


# ------------------------------------------------------------------------------------------------------- main


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
    """Read wildcards as Snakemake prints them: "sample=a,unit=b". A value may contain commas."""
    found = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            found[name] = value
        elif found:
            found[list(found)[-1]] += f",{part}"
        else:
            raise ValueError("name=value,name=value")
    return found


def yes(text):
    """Read a switch as profiles and Snakemake print it."""
    return one_of("1", "0", "true", "false", "True", "False")(text) in ("1", "true", "True")


OPTIONS = {  # name: (environment variable, converter, default)
    "step": (None, str, ""),
    "rule": (None, str, ""),
    "wildcards": (None, name_values, {}),
    "threads": (None, at_least(1), 1),
    "mem-mb": (None, at_least(0), 0),
    "log": (None, str, ""),
    "ledger": ("GPD_LEDGER", str, "ledger.jsonl"),
    "run": ("GPD_RUN", str, ""),
    "attempt": (None, at_least(1), 1),
    "binding": ("GPD_BINDING", one_of(*POLICIES), "compact"),
    "boundary": ("GPD_BOUNDARY", one_of(*LEVELS), "l3"),
    "memory": ("GPD_MEMORY", one_of(*MEMORY_POLICIES), "default"),
    "smt": ("GPD_SMT", yes, False),
    "stall-s": ("GPD_STALL_S", at_least(0, float), 0.0),
    "json": (None, yes, False),
    "xml": (None, str, ""),
}
SWITCHES = {"smt", "json"}  # may stand without a value
FILES = ("--outputs", "--inputs")  # all that follows, up to the other one


def parse(arguments):
    """Return (settings, positional arguments). argparse would cost each job as much as all other imports."""
    given = {name: os.environ[env] for name, (env, _, _) in OPTIONS.items() if env and os.environ.get(env)}
    rest, queue, files = [], list(arguments), dict.fromkeys(FILES, ())
    for option in reversed(FILES):
        if option in queue:
            at = queue.index(option)
            queue, files[option] = queue[:at], queue[at + 1 :]
    while queue:
        word = queue.pop(0)
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--"):
            rest.append(word)
        elif name not in OPTIONS:
            raise LauncherError(f"{word}: no such option; see launch.py --help")
        elif equals:
            given[name] = value or given.get(name)
        elif name in SWITCHES and (not queue or queue[0].startswith("--")):
            given[name] = "1"
        else:
            given[name] = (queue.pop(0) if queue else "") or given.get(name)
    values = {name: convert_option(name, given.get(name)) for name in OPTIONS}
    values |= {option[2:]: files[option] for option in FILES}
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


def raise_ended(signum, _frame):
    """Turn a signal into an exception, while waiting; one is enough."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    raise Ended(signum)


def open_log(path):
    """Open a job's log, emptied of what an earlier attempt wrote."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)


def check_environment():
    """Raise LauncherError where tools would fail for want of a folder for temporary files."""
    folder = os.environ.get("TMPDIR")
    if folder and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        raise LauncherError(f"TMPDIR {folder}: no folder that can be written to; make it or unset TMPDIR")


def run(settings):
    """Run one job, the command on stdin; return its exit code."""
    for name in ("step", "rule", "log"):
        if not getattr(settings, name):
            raise LauncherError(f"--{name} is missing; see launch.py --help")
    requester = Requester()
    settings.ledger = os.path.abspath(settings.ledger)
    with open(0, "rb", closefd=False) as stdin:
        command = os.fsdecode(stdin.read())
    runtime = runtime_dir()
    # systemd-tmpfiles leaves alone what lies in a locked folder, however old it is
    folder = os.open(runtime, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(folder, fcntl.LOCK_SH)
    recover(runtime)
    record = new_record(settings)
    journal = Journal(runtime, record)
    journal.write(record, settings.ledger)
    for signum in ENDINGS:
        signal.signal(signum, raise_ended)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would make children vanish unmeasured
    prctl(PDEATHSIG, signal.SIGTERM)
    queued = time.monotonic()
    try:
        if "GPD_JOB" in os.environ:  # within another job (Snakemake run by a job) there is nothing to lease
            settings.binding = "none"
        else:
            wait_for_earlier(runtime, settings.log, requester)
        log_fd = open_log(settings.log)
        check_environment()
        fault = file_fault("found_fault", settings.inputs, log_fd)
        if fault:
            return finish(record, journal, settings, "broken_input", fault, 1)
        lease = Lease() if settings.binding == "none" else acquire(runtime, settings, requester)
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS | {signal.SIGCHLD})
        record["wait_s"] = round(time.monotonic() - queued, 6)
        end_if_gone(requester)
    except Ended as end:
        record["wait_s"] = round(time.monotonic() - queued, 6)
        record["signal"] = int(end.signum)
        message = f"{requester.gone() or end.why} while it waited for CPUs"
        return finish(record, journal, settings, "killed", message, 128 + end.signum)
    except (LauncherError, OSError) as error:
        return finish(record, journal, settings, "launcher_error", str(error), 1)
    record.update(binding=settings.binding, split=lease.split)
    record["cpus"] = None if lease.cpus is None else format_cpus(lease.cpus)
    prctl(SUBREAPER, 1)
    keeper = os.fork()
    if keeper == 0:
        code = 1
        try:
            code = keep(record, journal, command, log_fd, settings, lease, requester)
        except Exception as error:
            say(f"launch.py: {type(error).__name__}: {error}")
            os.kill(os.getpid(), signal.SIGKILL)  # the front takes over
        finally:
            os._exit(code)
    return attend(keeper, requester, record, journal, settings)


def sha256(text):
    """Return the digest by which two jobs' commands are compared."""
    import hashlib

    return hashlib.sha256(os.fsencode(text)).hexdigest()


def topology(settings):
    """Print the cores that may be leased, and the slots that the policy yields; return the exit code."""
    threads = settings.threads
    if settings.xml:
        with open(settings.xml, encoding="utf-8") as xml:
            cores = cores_from_xml(xml.read())
        at_once = len(units(cores, settings.smt))
    else:
        allowed = os.sched_getaffinity(0)
        cores = machine_cores(runtime_dir(), allowed)
        at_once = min(len(units(cores, settings.smt)), usable_cpus(allowed))
        threads = min(threads, usable_cpus(allowed))
    policy = "compact" if settings.binding == "none" else settings.binding
    yielded = slots(cores, threads, policy, settings.boundary, settings.smt)
    described = {
        "cores": [core._asdict() for core in cores],
        "units": at_once,  # threads that may run at once
        "slots": [format_cpus(cpus) for cpus in yielded],
    }
    if settings.json:
        import json

        print(json.dumps(described))
        return 0
    for level in reversed(LEVELS):
        for number, group in sorted(grouped(cores, level).items()):
            cpus = format_cpus(cpu for core in group for cpu in core.cpus)
            print(f"{level:7}{number:4}: {len(group):3} cores, CPUs {cpus}")
    print(f"slots of {settings.threads} ({policy}, {settings.boundary}): {' | '.join(described['slots'])}")
    return 0


def show_limits():
    """Print limits() as JSON; return the exit code."""
    import json

    print(json.dumps(limits()))
    return 0


def main(arguments):
    """Do what the command line asks; return the exit code."""
    if not arguments or "--help" in arguments:
        print(__doc__)
        return 0 if arguments else 2
    try:
        settings, rest = parse(arguments[1:])
        if arguments[0] == "run" and not rest:
            return run(settings)
        if arguments[0] == "topology" and not rest:
            return topology(settings)
        if arguments[0] == "limits" and not rest:
            return show_limits()
        if arguments[0] == "jobs" and not rest:
            return print_jobs()
        raise LauncherError(f"{' '.join(arguments[:1] + rest)}: not understood; see launch.py --help")
    except (LauncherError, OSError) as error:
        say(f"launch.py: {error}")
        return 2


def cli():
    """Be the command line."""
    exit_status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(exit_status)  # nothing is left to tidy up, and a job should not pay for it


if __name__ == "__main__":
    cli()
