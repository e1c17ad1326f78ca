"""Run a daemon until it ends, or whoever started this does; then leave no process of it.

    python reaper.py COMMAND...

Its pid is printed. What it leaves behind (slurmstepd, a job's processes) becomes a child of this process, whatever
session it is in, and is killed. stdin is the hold: when its last writer is gone, killed or not, the daemon is ended.
"""

import ctypes
import os
import select
import subprocess
import sys

import psutil

SUBREAPER = 36  # of prctl(2)


def main(command: list[str]) -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)
    daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    print(daemon.pid, flush=True)
    select.select([sys.stdin, os.pidfd_open(daemon.pid)], [], [])
    while left := psutil.Process().children(recursive=True):
        for process in left:
            kill(process)
        psutil.wait_procs(left, timeout=1)


def kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
