"""Look at something again and again while a run goes on, and disturb it little."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REST = 20  # times as long as a look takes: a walk over a network file system may take minutes


@contextmanager
def watching(look: Callable[[], None], least_s: float) -> Iterator[None]:
    """Within, look every `least_s`, or less often where a look takes long; and once at the end."""
    over = threading.Event()

    def keep_looking() -> None:
        rest_s = least_s
        while not over.wait(rest_s):
            began = time.monotonic()
            look()
            rest_s = max(least_s, REST * (time.monotonic() - began))

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        look()
