"""What another user of the machine can do: only root can try it."""

import os
from collections.abc import Callable

import pytest

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def as_user(user: int, work: Callable[[], object]) -> str:
    """Do something as another user, in this folder; return what it raised, "" where all went well."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            work()
        except Exception as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        printed = pipe.read()
    os.waitpid(child, 0)
    return printed
