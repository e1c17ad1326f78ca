"""Measure how long a cache line takes between two CPUs; a program of its own.

`ping_pong.py LIBRARY WARM_UP SAMPLES ROUNDS` reads pairs of CPUs from stdin, a line each, and prints for each pair the
nanoseconds of half a round trip, sample by sample: `FIRST SECOND NS NS ...`. LIBRARY has `turn` (ping_pong_*.s). Two
processes share the line, each pinned to its CPU.
"""

import ctypes
import mmap
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1  # prctl(2)
LINE_BYTES = 64


def main(library: str, warm_up: int, samples: int, rounds: int) -> None:
    turn = ctypes.PyDLL(library).turn
    turn.argtypes, turn.restype = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64], None
    for line in sys.stdin:
        first, second = map(int, line.split())
        found = measure(turn, first, second, warm_up, samples, rounds)
        print(first, second, *(f"{ns:.2f}" for ns in found), flush=True)


def measure(turn, first: int, second: int, warm_up: int, samples: int, rounds: int) -> list[float]:
    """Half of a round trip in each sample, the mean of its rounds."""
    os.sched_setaffinity(0, {first})
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    shared[:LINE_BYTES] = bytes(LINE_BYTES)  # the line is in memory beside the first CPU
    line = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    asks, partner = os.getpid(), os.fork()
    if not partner:
        answer(turn, line, second, warm_up + samples * rounds, asks)
    turn(line, 0, warm_up)
    found = []
    for _ in range(samples):
        began = time.perf_counter_ns()
        turn(line, 0, rounds)
        found.append((time.perf_counter_ns() - began) / rounds / 2)
    os.waitpid(partner, 0)
    return found


def answer(turn, line: int, cpu: int, rounds: int, asks: int) -> None:
    """The other side: it ends when it has answered all, or with the process that asks."""
    ctypes.PyDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == asks:  # a parent that died before sends no signal
        os.sched_setaffinity(0, {cpu})
        turn(line, 1, rounds)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
