"""The process that asked for the job, and the signals by which its end is asked for."""

import os
import signal
import time

from .processes import parent_of

ENDINGS = {signal.SIGTERM}  # and what was not ignored when we were started, as SIGHUP is under nohup
ENDINGS |= {s for s in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(s) is not signal.SIG_IGN}


DYING_S = 0.3  # how long a process that was killed may still be there


class Ended(Exception):  # noqa: N818 (no error)
    """A signal asked this launcher to end while it waited, or the process that had asked for the job is gone."""

    def __init__(self, signum, why=None):
        super().__init__(signum, why)
        self.signum, self.why = signum, why or signal.Signals(signum).name


def end_if_gone(requester):
    """Raise Ended where the job is not waited for any more."""
    if why := requester.gone():
        raise Ended(signal.SIGTERM, why)


class Requester:
    """Those that asked for the job: bash, and Snakemake behind it. When they are gone, the job must not write on.

    `asked_by`: the process that did, where it says so: it may be gone before we can look for our parent.
    """

    def __init__(self, asked_by=None):
        self.wrapper, self.shell = os.getpid(), str(asked_by or os.getppid())
        self.snakemake = parent_of(self.shell)

    def pids(self):
        """Return those that live as long as the job: the launcher's wrapper, the shell that ran it, Snakemake."""
        return self.wrapper, self.shell, self.snakemake

    def gone(self):
        """Say which of them is gone: its child has got another parent. None: all are there, as far as can be read."""
        of_shell = "the shell that ran the launcher", self.wrapper, self.shell
        for name, child, parent in (of_shell, ("Snakemake", self.shell, self.snakemake)):
            now = parent_of(child)
            if now and parent and now != parent:  # a read that fails is no proof
                return f"{name} (PID {parent}) is gone"
        return None

    def gone_soon(self):
        """Say which is gone, after a signal."""
        return self.gone()


class Parent(Requester):
    """Snakemake itself, whose child we are; the job goes on if Snakemake's own parent is gone, as under nohup."""

    name = "Snakemake"

    def __init__(self, pid=None):
        self.wrapper, self.shell = os.getpid(), str(pid or os.getppid())
        self.snakemake = self.shell

    def pids(self):
        return self.wrapper, self.shell

    def gone(self):
        now = parent_of(self.wrapper)
        return f"{self.name} (PID {self.shell}) is gone" if now and now != self.shell else None

    def gone_soon(self):
        """Say that it is gone, after a signal: Snakemake's threads die one by one, and the first has it sent to us."""
        until = time.monotonic() + DYING_S
        while not (gone := self.gone()) and time.monotonic() < until:
            time.sleep(0.01)
        return gone


class Starter(Parent):
    """The process that runs the parts of a job, of which we are one."""

    name = "the process that runs the parts of its job"

    def gone_soon(self):
        """Say that it is gone, after a signal; it has one thread, so that there is no need to wait."""
        return self.gone()
