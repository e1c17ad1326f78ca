"""What this process may use of the machine, CPUs, memory, files and processes: by affinity, control groups, Slurm."""

import os
import resource

from .node import slurm_fields
from .system import MIB, read_text

UNITS_MIB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}  # as Slurm writes them
GRANTS = {}  # by job, what Slurm has answered
PATIENCE_S = 30.0  # until a busy slurmctld has answered


def limits(root="", environment=os.environ, affinity=None):
    """Return what this process may use of the machine; other programs ask by `launcher limits`.

    `cpus` is how many it may keep busy at once. Memory is the machine's, or less where a control group or Slurm sets
    a limit; what is available under a limit leaves out what its processes use already, but for their page cache. A
    limit that is not set is None. `open_files` is the hard limit, up to which jobs raise theirs (command.py), and
    `tasks_left` how many processes and threads may still be started. `root` and `affinity` are for tests.
    """
    rows = map(str.split, read_text(f"{root}/proc/meminfo").splitlines())
    memory = {row[0]: int(row[1]) / 1024 for row in rows}
    total, available = memory["MemTotal:"], memory["MemAvailable:"]
    levels = [(limit / MIB, used / MIB) for limit, used in memory_levels(root)]
    limit = min([total, *slurm_memory_mib(environment), *(limit for limit, _ in levels)])
    left = [available, limit, *(max(0, limit - used) for limit, used in levels)]
    return {
        "cpus": usable_cpus(affinity or os.sched_getaffinity(0), root, environment),
        "cpu_quota_cpus": cpu_quota(root),
        "memory_mib": round(limit, 1),
        "memory_limit_mib": round(limit, 1) if limit < total else None,
        "memory_available_mib": round(min(left), 1),
        "open_files": hard_limit(resource.RLIMIT_NOFILE),
        "tasks_left": tasks_left(root),
    }


def hard_limit(kind):
    """Return a limit of this process that it may not raise, None where there is none."""
    _, hard = resource.getrlimit(kind)
    return None if hard == resource.RLIM_INFINITY else hard


def tasks_left(root=""):
    """Return how many processes and threads may still be started, None: no limit; of ulimit -u all count as left."""
    left = [] if os.getuid() == 0 else [hard_limit(resource.RLIMIT_NPROC)]
    for folder in limiting_groups("pids", root):
        limit, used = (read_text(f"{folder}/pids.{name}").strip() for name in ("max", "current"))
        left += [int(limit) - int(used)] if limit.isdecimal() and used.isdecimal() else []
    return min((number for number in left if number is not None), default=None)


def usable_cpus(affinity, root="", environment=os.environ):
    """Return how many CPUs this process may keep busy: those of its affinity, which reflects cpusets, or fewer.

    Control groups limit time rather than CPUs, and so do those of containers; Slurm, where it binds nothing, says only
    what it granted.
    """
    granted = environment.get("SLURM_CPUS_ON_NODE", "") if "SLURM_JOB_ID" in environment else ""
    counts = [len(affinity), cpu_quota(root), int(granted) if granted.isdecimal() else None]
    return max(1, int(min(count for count in counts if count is not None)))


def slurm_memory_mib(environment):
    """Return [the memory that Slurm granted on this node], [] where it granted all of it or this is no Slurm job."""
    if "SLURM_JOB_ID" not in environment:
        return []
    names = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
    of_node, of_cpu, cpus = (int(text) if (text := environment.get(name, "")).isdecimal() else 0 for name in names)
    granted_mib = of_node or of_cpu * cpus
    if not granted_mib and "SLURM_STEP_ID" in environment:  # Snakemake's plugin clears a step's environment of these
        job_id = environment["SLURM_JOB_ID"]
        if job_id not in GRANTS:
            GRANTS[job_id] = granted_memory_mib(slurm_fields(job_id, PATIENCE_S))
        granted_mib = GRANTS[job_id]
    return [granted_mib] if granted_mib else []


def granted_memory_mib(job):
    """Return the memory that Slurm granted a job on each of its nodes, None where it tells of none."""
    granted = dict(part.partition("=")[::2] for part in job.get("TRES", "").split(","))
    number, unit = granted.get("mem", "")[:-1], granted.get("mem", "")[-1:]
    if unit not in UNITS_MIB or not number.replace(".", "", 1).isdecimal():
        return None
    return round(float(number) * UNITS_MIB[unit] / int(job["NumNodes"]), 1)


def cpu_quota(root=""):
    """Return how many CPUs' time the control groups grant, the tightest of all that hold us; None: no limit."""
    quotas = []
    for folder in limiting_groups("cpu", root):
        words = read_text(f"{folder}/cpu.max").split()  # version 2
        words = words or [read_text(f"{folder}/cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        if all(map(str.isdecimal, words)):  # "max" and -1: no limit
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def throttling(root=""):
    """Return (how often, how long in s) the CPU quota of any control group that holds us has held processes.

    Each is None where no group tells.
    """
    periods, seconds = [], []
    for folder in limiting_groups("cpu", root):
        stat = {name: int(value) for name, value in map(str.split, read_text(f"{folder}/cpu.stat").splitlines())}
        periods += [stat["nr_throttled"]] if "nr_throttled" in stat else []
        seconds += [stat["throttled_usec"] / 1e6] if "throttled_usec" in stat else []  # version 2
        seconds += [stat["throttled_time"] / 1e9] if "throttled_time" in stat else []
    return sum(periods) if periods else None, sum(seconds) if seconds else None


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
    """Yield the folders of the control groups that may limit us: our own, and each above as far as is seen.

    A container sees its part of the tree; where our group lies outside of that, what is mounted stands for it.
    """
    paths = {}
    for line in read_text(f"{root}/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            paths["cgroup" if controllers else "cgroup2"] = path  # version 1 or 2
    for line in read_text(f"{root}/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        kind, *_, options = kind.split()
        if kind not in paths or (kind == "cgroup" and controller not in options.split(",")):
            continue
        # the kernel writes blanks and backslashes as octal numbers
        top, point = (field.encode().decode("unicode_escape") for field in fields.split()[3:5])
        top, path = top.rstrip("/"), paths[kind]
        inside = (path + "/").startswith(top + "/") and ".." not in path.split("/")
        folder = f"{point}{path.removeprefix(top)}".rstrip("/") if inside else point
        while folder.startswith(point) and folder != "/":
            yield f"{root}{folder}"
            folder = os.path.dirname(folder)
