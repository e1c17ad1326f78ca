"""Notice what a job's programs could not write or open, whatever they say of it: failed_writes.c is loaded into each.

The library and its notes lie in memory, and programs find them through the supervisor, which lives as long as they do:
there no disk is full, nothing forbids to run what lies there, and no name holds a blank, at which LD_PRELOAD ends it.
"""

import os

LIBRARY = os.path.join(os.path.dirname(__file__), os.pardir, "failed_writes.so")  # as build.py made it
MOST_BYTES = 8192
# The job's bash itself goes without: it tells of what it cannot write, and rules pass over some of that.
PRELOAD = (
    'export LD_PRELOAD="/proc/{0}/fd/{1}${{LD_PRELOAD:+:$LD_PRELOAD}}"'
    ' GPD_FAILED_WRITES="/proc/{0}/fd/{2}" GPD_FAILED_OPENS="/proc/{0}/fd/{3}"; '
)


class Notes:
    """The supervisor's ends: the library, the lines of failed writes, and a file as long as the limit that one met."""

    def __init__(self, settings):
        self.fds, library = (), settings.library or LIBRARY
        if not os.path.exists(library):
            return  # no compiler: said when the run began
        self.fds = tuple(os.memfd_create(name) for name in ("failed_writes.so", "failed_writes", "failed_opens"))
        with open(library, "rb") as file:
            os.write(self.fds[0], file.read())

    def preload(self):
        """Return the shell's words, for the command's first line, by which its programs are loaded with the library."""
        return PRELOAD.format(os.getpid(), *self.fds) if self.fds else ""

    def failed_write(self):
        """Return what the first program said that was ended for a write that failed, or None."""
        if not self.fds:
            return None
        line, _, _ = os.pread(self.fds[1], MOST_BYTES, 0).decode(errors="replace").partition("\n")
        return line or None

    def ran_out_of_files(self):
        """Return how many files a program had open that could open no more for its limit, or None."""
        return os.fstat(self.fds[2]).st_size or None if self.fds else None
