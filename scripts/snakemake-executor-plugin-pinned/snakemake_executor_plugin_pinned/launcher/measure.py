"""What a job used: sampled while it runs, and counted by the kernel."""

import os
import time

from .files import file_sizes
from .ledger import utc
from .processes import open_files, reaped_io, stat_fields, threads_of
from .system import MIB, TICK_S, read_text
from .topology import format_cpus

CONTENTION_S, CONTENTION_SHARE = 0.5, 0.1  # of an allocation's CPU time that others have; see contention()
SHORTEST_S, LONGEST_S, SHARE = 0.005, 0.25, 0.01  # between samples; of one CPU, for sampling
PAUSE_S = 2.0  # later than this no busy machine lets us look


def cpu_times(cpus):
    """Return {cpu: clock ticks in user and system mode, stolen by the hypervisor, in all} of these CPUs."""
    rows = map(str.split, read_text("/proc/stat").partition("\nintr")[0].splitlines()) if cpus else ()
    counts = {row[0]: list(map(int, row[1:9])) for row in rows}
    wanted = {cpu: counts.get(f"cpu{cpu}", [0] * 8) for cpu in cpus or ()}
    return {cpu: (sum(ticks[:3]), ticks[7], sum(ticks)) for cpu, ticks in wanted.items()}


def contention(before, after, job_s, wall_s, cpus):
    """Return the record's fields of what else the CPUs of an allocation did, given two cpu_times() and their number.

    `job_s`: CPU seconds of the job and its supervisor. What interrupts took is not counted.

    There is contention where other processes had more than a tenth. Below it lie, as measured: the kernel's threads,
    0.5% of a machine that writes much; what the clock ticks of /proc/stat are wrong by, 0.3% of a job of minutes but
    0.03 s a CPU of any; Snakemake and gpd, which run on any CPU, 20 ms a job and 2.5 s at a start. Those seconds
    are a tenth of a short job, so half a second is the least that counts, and of shorter allocations nothing is said.
    """
    spent = [[end - start for start, end in zip(before[cpu], after[cpu], strict=True)] for cpu in before]
    if any((ticks + 4) * TICK_S < wall_s / 2 for _, _, ticks in spent):
        return {}  # not told, or of other CPUs, as in some containers
    others_s = max(0.0, sum(busy for busy, _, _ in spent) * TICK_S - job_s)
    steal_s = sum(stolen for _, stolen, _ in spent) * TICK_S
    cpu_contention = None
    if wall_s * cpus > CONTENTION_S:
        cpu_contention = others_s > max(CONTENTION_S, CONTENTION_SHARE * wall_s * cpus)
    return {"cpu_contention": cpu_contention, "other_cpu_s": round(others_s, 2), "steal_s": round(steal_s, 2)}


class Meter:
    """Measures a job, from before its command starts.

    Its processes are sampled: where they run and may run, how much memory they have. That is often at first and up to
    four times a second later, and never takes more than 1% of one CPU. How many files they have open and what its
    TMPDIR, `folder`, holds is not looked at that often: it would make short jobs longer. `parts`: OwnParts; what they
    use is left out.
    """

    def __init__(self, allocation, note_memory, folder, parts):
        import resource

        self.allocation, self.note_memory, self.folder, self.parts = allocation, note_memory, folder, parts
        self.began, self.interval_s = time.monotonic(), SHORTEST_S
        self.peak = self.shared = 0  # bytes
        self.looked, self.open_files, self.temporary = self.began, None, None
        self.paused_s, self.seen_s = 0.0, now_and_asleep()
        self.allowed, self.used = set(), set()
        # a child's peak starts from ours until exec
        self.kernel_ooms, self.floor = kernel_oom_kills(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.cpus, self.own_s = cpu_times(allocation.held), time.process_time()

    def sample(self):
        """Look once, and set when to look next."""
        before = time.monotonic()
        memory = {pid: self.look_at(pid) for pid in self.parts.processes()}
        # a child between vfork and exec shows the memory of its parent once more
        own = [sizes for parent, *sizes in memory.values() if sizes != memory.get(parent, [None])[1:]]
        private = sum(anonymous for _, anonymous, _, _ in own)
        files = max((files for _, _, files, _ in own), default=0)  # libraries, mostly shared
        self.shared = max([self.shared, *(shared for *_, shared in own)])
        self.peak = max(self.peak, private + files)
        self.note_memory((private + files) / MIB)
        if before - self.looked >= LONGEST_S:
            self.looked = before
            self.look_at_files(memory)
        now = time.monotonic()
        usual = min(max((now - self.began) / 20, SHORTEST_S), LONGEST_S)
        self.interval_s = max(usual, (now - before) / SHARE)

    def note_pause(self):
        """Return how much later than meant we are here again, where that is more than a busy machine makes us late.

        A job is suspended (by Slurm, a freezer, SIGSTOP to all below a terminal, a closed laptop) together with us. No
        counter of the kernel's tells it of processes.
        """
        before_s, self.seen_s = self.seen_s, now_and_asleep()
        late_s = self.seen_s - before_s - LONGEST_S
        pause_s = late_s if late_s > PAUSE_S else 0.0
        self.paused_s += pause_s
        return pause_s

    def look_at_files(self, pids):
        """Note the most files that one of these processes has open, and what the job's temporary ones take."""
        self.open_files = max([self.open_files or 0, *map(open_files, pids)])
        temporary = 0
        for size in file_sizes(self.folder):
            temporary += size
            self.go_on()
        self.temporary = max(self.temporary or 0, temporary)

    def go_on(self):
        """Note that we were not suspended: many files take long to look at, one does not."""
        now_s = now_and_asleep()
        if now_s - self.seen_s < PAUSE_S:
            self.seen_s = now_s

    def look_at(self, pid):
        """Note the CPUs of a process's threads; return its parent, and bytes: virtual, anonymous, files', shared."""
        parent = None
        for tid in threads_of(pid):
            fields = stat_fields(pid, f"/task/{tid}")
            if len(fields) < 37:
                continue  # gone meanwhile; one that has ended but is not reaped still tells
            try:
                self.allowed |= os.sched_getaffinity(int(tid))
            except OSError:
                continue
            self.used.add(int(fields[36]))
            parent = int(fields[1])
        rows = read_text(f"/proc/{pid}/status").splitlines()
        fields = dict(row.split(":", 1) for row in rows if row.startswith(("Vm", "Rss")))
        names = ("VmSize", "RssAnon", "RssFile", "RssShmem")
        return [parent, *(int(fields.get(name, "0").split()[0]) * 1024 for name in names)]

    def binding_ok(self):
        """Tell whether all processes stayed on the allocation; None where there was none, or nothing was seen."""
        if self.allocation.cpus is None or not self.allowed:
            return None
        return self.allowed | self.used <= self.allocation.cpus

    def ooms(self):
        """Return how many processes on the node the kernel killed for want of memory."""
        return kernel_oom_kills() - self.kernel_ooms

    def measured(self, outcome, start_ns):
        """Return the record's fields of what a job used."""
        cpus, own_s = cpu_times(self.allocation.held), time.process_time() - self.own_s
        fields = {
            "end": utc(start_ns + round(outcome.wall_s * 1e9)),
            "wall_s": round(outcome.wall_s, 6),
            **cpu_seconds(*outcome.usage),
            **self.memory(outcome.maxrss),
            "peak_open_files": self.open_files or None,
            "peak_temporary_mib": mib(self.temporary),
            "cpus_allowed": format_cpus(self.allowed) or None,
            "cpus_seen": format_cpus(self.used) or None,
            "binding_ok": self.binding_ok(),
            "paused_s": round(self.paused_s, 3),
            **bytes_moved(self.parts.moved()),
        }
        if fields["binding_ok"]:  # one that left its CPUs used others' time, too
            job_s, granted = sum(outcome.usage) + self.parts.here_s() + own_s, len(self.allocation.cpus)
            fields |= contention(self.cpus, cpus, job_s, outcome.wall_s, granted)
        return fields

    def memory(self, maxrss):
        """Return the record's fields of memory: the larger of two figures.

        They are: the sum over processes when sampled, file pages counted once (it is above the true peak only where
        forked processes share pages); and the largest single process (rusage), exact, but near `floor` it is the
        launcher's own from before exec. Shared memory is left out: that other jobs' processes have the same pages (one
        index of bwa's for all) takes no more memory.
        """
        largest, source = self.peak, "sampled"
        if maxrss - self.shared > max(largest, self.floor + MIB):
            largest, source = maxrss - self.shared, "rusage"
        return {"peak_rss_mib": mib(largest or None), "peak_rss_source": source if largest else None}


def now_and_asleep():
    """Return a clock that goes on while the machine sleeps, s."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def bytes_moved(of_parts):
    """Return the record's fields of I/O. All processes are reaped, so this one's counts include theirs."""
    if not read_text("/proc/self/io"):
        return {}
    names = ("read_calls_mib", "write_calls_mib", "read_mib", "write_mib")
    return {name: mib(max(0, whole - part)) for name, whole, part in zip(names, reaped_io(), of_parts, strict=True)}


def cpu_seconds(user, system):
    """Return the record's fields of CPU time."""
    return {"cpu_user_s": round(user, 6), "cpu_system_s": round(system, 6), "cpu_s": round(user + system, 6)}


def mib(count):
    """Return bytes as MiB, None as None."""
    return None if count is None else round(count / MIB, 3)


def kernel_oom_kills():
    """Return how many processes this kernel has killed for want of memory since it started."""
    counts = dict(map(str.split, read_text("/proc/vmstat").splitlines()))
    return int(counts.get("oom_kill", 0))
