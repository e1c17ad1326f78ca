"""What a job's journal says of its parts (parts.py): they are jobs of their own, so what they use is not the job's."""

import os

from .journal import whole_lines
from .processes import children, reaped_io
from .system import read_text

GATHER = "gather"  # the shard of what makes a job's outputs of those of its parts


class OwnParts:
    """The parts of a job, as its launcher knows them: by what their starters (`launcher parts`) add to the journal.

    parts STARTER; part LAUNCHER; over LAUNCHER     a starter began; a part began; it has ended, by PID
    used STARTER USER SYSTEM HERE MAXRSS IO ...     what a starter's parts used so far; see parts.py
    failed CAUSE MESSAGE                            of the first part that failed, as repr
    """

    def __init__(self, journal):
        self.journal, self.size, self.lines = journal, 0, []
        self.starters, self.launchers = set(), set()
        self.seen, self.inherited = None, [0, 0, 0, 0]  # bytes, as reaped_io() has them

    def look(self):
        """Read what is new; a job without parts pays for the look at a size alone."""
        size = os.fstat(self.journal.fd).st_size
        if size == self.size:
            return
        self.size, self.launchers = size, set()
        self.lines = [line.split(" ", 1) for line in whole_lines(read_text(self.journal.path)) if " " in line]
        for word, rest in self.lines:
            if word == "parts":
                self.starters.add(int(rest))
            elif word == "part":
                self.launchers.add(int(rest))
            elif word == "over":
                self.launchers.discard(int(rest))
        if self.launchers and self.seen is None:
            self.seen = reaped_io()

    def processes(self):
        """Return the processes below this one that are no part's, parents first."""
        self.look()
        found = self.own(os.getpid())
        for pid in found:  # grows as it goes
            found += self.own(pid)
        return found

    def own(self, pid):
        """Return the children of a process that are no part's; some are orphans of a part whose launchers died."""
        found = [] if pid in self.starters else [child for child in children(pid) if child not in self.launchers]
        return [child for child in found if not self.is_other(child)] if self.starters and pid == os.getpid() else found

    def is_other(self, pid):
        """Tell whether a process bears the mark of another job, or none any more: it ends, and may be a part's."""
        mark = f"GPD_JOB={os.path.basename(self.journal.path)}"
        environment = read_text(f"/proc/{pid}/environ").split("\0")
        marks = [each for each in environment if each.startswith("GPD_JOB=")]
        return environment == [""] or (bool(marks) and mark not in marks)

    def took(self, pid):
        """Tell whether a process that this one has reaped is a part's launcher, whose starter was killed."""
        self.look()
        is_part = pid in self.launchers
        if self.launchers:
            now = reaped_io()
            if is_part:
                self.inherited = [a + b - c for a, b, c in zip(self.inherited, now, self.seen, strict=True)]
            self.seen = now
        return is_part

    def used(self):
        """Return what each starter's parts used, in numbers."""
        last = {rest.partition(" ")[0]: rest.split()[1:] for word, rest in self.lines if word == "used"}
        return [list(map(float, numbers)) for numbers in last.values()]

    def taken_off(self, user, system, maxrss):
        """Return CPU seconds and the largest process, of the job with its parts, less theirs; 0: it is not known."""
        self.look()
        used = self.used()
        largest = max((numbers[3] for numbers in used), default=0)
        user, system = (max(0.0, whole - sum(each[at] for each in used)) for at, whole in enumerate((user, system)))
        return user, system, maxrss if maxrss > largest else 0

    def here_s(self):
        """Return the CPU seconds of parts that ran on the job's own CPUs."""
        return sum(numbers[2] for numbers in self.used())

    def moved(self):
        """Return the bytes that parts moved, as reaped_io() has them."""
        known = [map(int, numbers[4:]) for numbers in self.used()]
        return [sum(each) for each in zip(self.inherited, *known, strict=True)]

    def fields(self, record):
        """Return the record's fields that tell of parts: the job itself gathers, on CPUs that it shares with some."""
        if not self.starters:
            return {}
        return {"shard": record["shard"] or GATHER, "gang": record["gang"] or record["id"]}

    def failure(self):
        """Return (cause, message) of the first part that failed, None where none did."""
        found = [rest for word, rest in self.lines if word == "failed"]
        if not found:
            return None
        from ast import literal_eval

        return literal_eval(found[0])
