"""A job that takes memory, says that it has it, and keeps it until the guest's script lets go.

python holder.py READY HOLD MIB
"""

import fcntl
import os
import sys

ready, hold, mib = sys.argv[1:]
memory = b"x" * (int(mib) << 20)
with open(f"{ready}.new", "w") as told:  # noqa: PTH123 (pathlib takes longer to import than all else here)
    told.write(str(os.getpid()))
os.rename(f"{ready}.new", ready)  # noqa: PTH104
fcntl.flock(os.open(hold, os.O_RDONLY), fcntl.LOCK_SH)
