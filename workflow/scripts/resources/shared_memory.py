"""Whether bwa's index may lie in shared memory: containers often have 64 MB of it. Loaded by its path."""

import os
from pathlib import Path

FOLDER = Path("/dev/shm")
LIST, OURS = "bwactl", "bwaidx-gpd-*"  # bwa's own list; the segments that scripts/germline/bwa_shm.py makes


def has_room(size: float, folder: Path = FOLDER) -> bool:
    """Tell whether it has room for so many bytes, or holds an index of ours, and whether we may write there."""
    listed = folder / LIST
    if not os.access(listed if listed.exists() else folder, os.W_OK):
        return False
    segments = [path.stat() for path in folder.glob(OURS)]
    held = sum(each.st_size for each in segments if each.st_uid == os.geteuid())
    system = os.statvfs(folder)
    return held + system.f_bavail * system.f_frsize >= size
