"""How much of this process a package from anybody may take: memory, and CPU time.

What is refused by name (manifest.py) is said better, and none of that knows what it all comes to.
"""

import math
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import psutil

from gpd.packages.manifest import PackageError

MOST_MIB = 4096  # beyond what the process has before
MOST_CPU_S = 600
MIB = 1024**2


class _Exceeded(BaseException):
    """The CPU time is used up; nothing on the way up takes this for a fault of a file."""


@contextmanager
def bounded(path: Path) -> Iterator[None]:
    """Within, this process gets no more, in its main thread alone. Raises PackageError where a package would."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {limit: resource.getrlimit(limit) for limit in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)}
    handler = signal.signal(signal.SIGXCPU, _exceeded)
    _limit(resource.RLIMIT_DATA, _data_bytes() + MOST_MIB * MIB)
    _limit(resource.RLIMIT_CPU, _cpu_s() + MOST_CPU_S)
    try:
        yield
    except MemoryError as error:
        raise PackageError(f"{path}: refused: it takes more than {MOST_MIB:,} MiB of memory to read") from error
    except _Exceeded as error:
        raise PackageError(f"{path}: refused: it takes more than {MOST_CPU_S:,} s of CPU time to read") from error
    finally:
        for limit, known in before.items():
            resource.setrlimit(limit, known)
        signal.signal(signal.SIGXCPU, handler)


def _exceeded(*_: Any) -> NoReturn:
    raise _Exceeded


def _cpu_s() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime)


def _data_bytes() -> int:
    """What counts towards RLIMIT_DATA so far, where the system tells."""
    return getattr(psutil.Process().memory_info(), "data", 0)


def _limit(limit: int, most: int) -> None:
    """Lower a limit, no further than it is already."""
    soft, hard = resource.getrlimit(limit)
    lowest = min(math.inf if end == resource.RLIM_INFINITY else end for end in (soft, hard))
    resource.setrlimit(limit, (int(min(most, lowest)), hard))
