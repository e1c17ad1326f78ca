"""One copy of bwa's index in memory, for all bwa processes of a node.

    bwa_shm.py run PREFIX bwa mem ...   run bwa with the index PREFIX, shared where that can be, else its own
    bwa_shm.py guard                    start the guard, outside of jobs, which end with their processes: it frees what
                                        nobody uses, as long as the caller's shell is there or an index
    bwa_shm.py free                     free now what nobody uses

bwa finds an index in shared memory by the name of its files alone, keeps a list of names (/dev/shm/bwactl) without any
lock, and can only drop all of them (`bwa shm -d`). So an index is shared under a name of its own: that of a folder of
links, `bwa` in the launcher's runtime folder, made of what identifies its files. Where that name is not in memory bwa
reads the files behind the links, so a job that comes too late or too early lacks nothing. PREFIX, too, ends in a name
that nobody else has (mapping() in mapping.smk): where nothing can be shared, bwa looks for it in memory all the same.

Who uses an index holds a lock on NAME.users, which bwa inherits: however it ends, the kernel lets go of it. The guard
frees what nobody has used for a while, and ends. If it was killed, too, the next one frees what was left. Only
segments of our own are ever removed, and only our own lines of the list. All of it belongs to one user.

Standard library only; the launcher's package lies beside $GPD_LAUNCH.
"""

import fcntl
import hashlib
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(os.environ["GPD_LAUNCH"]).parents[1]))

from launcher.limits import limits
from launcher.runtime import lifted, open_file, runtime_dir
from launcher.system import LauncherError, say

SHM = Path("/dev/shm")  # where glibc's shm_open looks
CONTROL = SHM / "bwactl"  # bwa's list
ENDINGS = ("amb", "ann", "bwt", "pac", "sa")
LEAST_BYTES = 1 << 26  # what is left to others in /dev/shm and in memory
LINGER_S = 60.0  # how long an index stays that nobody uses: the next job may be about to start
LOOK_S = 1.0  # how often the guard looks
HEADER = struct.Struct("<HH")  # of bwa's list: how many entries, where they end; an entry: size, name, NUL
SIZE = 8  # bytes


class NotSharedError(Exception):
    """The index can not be shared; the message says why."""


# --- what bwa keeps in /dev/shm ---


def segment(name: str) -> Path:
    return SHM / f"bwaidx-{name}"


def forget(name: str) -> None:
    """Remove an index from memory and from bwa's list, and the list, if it is empty."""
    segment(name).unlink(missing_ok=True)
    try:
        fd = os.open(CONTROL, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return  # there is none, or it is another user's, which never held a name of ours
    try:
        with mmap.mmap(fd, 0) as control:
            if strike(control, name) == 0:
                CONTROL.unlink()
    finally:
        os.close(fd)


def strike(control: mmap.mmap, name: str) -> int:
    """Strike a name from bwa's list; return how many are left."""
    count, end = HEADER.unpack_from(control)
    start = HEADER.size
    for _ in range(count):
        after = control.find(b"\0", start + SIZE, end) + 1
        if control[start + SIZE : after - 1] == name.encode():
            control[start : end - (after - start)] = control[after:end]
            HEADER.pack_into(control, 0, count - 1, end - (after - start))
            return count - 1
        start = after
    return count


# --- names and locks ---


def files_of(prefix: str) -> dict[str, Path]:
    """The index's files by their endings, all that there are."""
    files = {ending: Path(f"{prefix}.{ending}") for ending in (*ENDINGS, "alt")}
    return {ending: path.resolve() for ending, path in files.items() if path.exists()}


def name_of(files: dict[str, Path], folder: Path) -> str:
    """A name that no other index has, nor this one after a change, nor with another bwa, nor in another folder."""
    bwa = Path(shutil.which("bwa") or "bwa").resolve()
    parts = [str(os.geteuid()), str(folder)]
    for path in (bwa, *files.values()):
        stat = path.stat()
        parts.append(f"{path}:{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}")
    return "gpd-" + hashlib.md5("\n".join(parts).encode(), usedforsecurity=False).hexdigest()


def shared_folder() -> Path:
    folder = Path(runtime_dir(), "bwa")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold off whoever else loads or frees an index."""
    fd = open_file(folder / "control")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def lock_of_users(folder: Path, name: str) -> int:
    """Take a share of the lock that users of an index have; return the descriptor, which bwa inherits."""
    while True:
        fd = lifted(open_file(folder / f"{name}.users"))
        fcntl.flock(fd, fcntl.LOCK_SH)
        if os.fstat(fd).st_nlink:
            os.utime(fd)
            os.set_inheritable(fd, True)
            return fd
        os.close(fd)  # the index was freed just now, and the file with it


# --- loading ---


def is_loaded(folder: Path, name: str) -> bool:
    """Tell whether an index was loaded to its end: a file is made then, and no segment that is younger is that one."""
    shared, loaded = segment(name), folder / f"{name}.loaded"
    return shared.exists() and loaded.exists() and loaded.stat().st_mtime_ns >= shared.stat().st_ctime_ns


def require_room(size: int) -> None:
    """Fail where the index, or the copy that bwa makes while it loads it, would not fit in."""
    if not os.access(CONTROL if CONTROL.exists() else SHM, os.W_OK):
        raise NotSharedError(f"{CONTROL} is another user's, or {SHM} may not be written to")
    disk, memory = os.statvfs(SHM), limits()["memory_available_mib"]
    for place, room, needed in ((SHM, disk.f_bavail * disk.f_frsize >> 20, size), ("memory", int(memory), 2 * size)):
        if room << 20 < needed + LEAST_BYTES:
            raise NotSharedError(f"{place} has {room} MiB left, and bwa's index takes {needed >> 20}")


def load(folder: Path, name: str, files: dict[str, Path], users: int) -> None:
    """Load an index into shared memory, unless it is there."""
    with alone(folder):
        if is_loaded(folder, name):
            return
        free_unused(folder, LINGER_S)  # of a guard that was killed
        forget(name)  # what a killed loading left
        require_room(sum(files[ending].stat().st_size for ending in ENDINGS))
        for ending, path in files.items():
            link = folder / f"{name}.{ending}"
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        loading = ["bwa", "shm", str(folder / name)]
        done = subprocess.run(loading, capture_output=True, text=True, errors="replace", pass_fds=[users], check=False)
        if done.returncode != 0 or not segment(name).exists():
            forget(name)
            errors = [line for line in done.stderr.splitlines() if line.startswith("[E::")]
            raise NotSharedError(f"bwa shm ended with {done.returncode}: {' '.join(errors) or 'it gave no reason'}")
        (folder / f"{name}.loaded").touch()


def run(prefix: str, command: list[str]) -> NoReturn:
    """Become bwa, with the shared index in place of PREFIX where it can be had."""
    try:
        files, folder = files_of(prefix), shared_folder()
        name = name_of(files, folder)
        users = lock_of_users(folder, name)
        load(folder, name, files, users)
        command = [str(folder / name) if word == prefix else word for word in command]
    except (NotSharedError, LauncherError, OSError) as error:
        say(f"warning: bwa's index is not shared, this job has its own: {error}")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and bwa would inherit that
    os.execvp(command[0], command)


# --- freeing ---


def free_unused(folder: Path, linger_s: float) -> int:
    """Free the indexes that nobody has used for so long; return how many are left. Call it `alone`."""
    left = 0
    for path in folder.glob("*.users"):
        name = path.name.removesuffix(".users")
        fd = open_file(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left += 1
            os.utime(fd)
        else:
            if time.time() - os.fstat(fd).st_mtime < linger_s:
                left += 1
            else:
                forget(name)
                for ending in (*ENDINGS, "alt", "loaded", "users"):
                    (folder / f"{name}.{ending}").unlink(missing_ok=True)
        finally:
            os.close(fd)
    return left


def has_clients(folder: Path) -> bool:
    """Tell whether the shell of a job that started the guard is still there: its bwa may be about to start."""
    for path in folder.glob("client-*"):
        if not Path("/proc", path.name.removeprefix("client-")).exists():
            path.unlink()
    return any(folder.glob("client-*"))


def start_guard() -> None:
    """Start the guard, if there is none: a process of nobody's, that neither a job nor a run takes with it."""
    folder = shared_folder()
    with alone(folder):
        (folder / f"client-{os.getppid()}").touch()
        seat = open_file(folder / "guard")
        try:
            fcntl.flock(seat, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        command = [sys.executable, "-S", "-E", str(Path(__file__).absolute()), "stand_guard", str(seat)]
        null = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.Popen(command, **null, cwd="/", start_new_session=True, pass_fds=[seat])


def stand_guard(seat: int) -> None:
    """Free what falls out of use, until nothing is left and no job that started the guard is there."""
    folder, linger_s = shared_folder(), float(os.environ.get("GPD_BWA_LINGER_S", LINGER_S))
    while True:
        time.sleep(min(LOOK_S, linger_s / 4))
        with alone(folder):
            if not free_unused(folder, linger_s) and not has_clients(folder):
                os.close(seat)
                return


def main(argv: list[str]) -> int:
    subcommand, *words = argv
    if subcommand == "run":
        run(words[0], words[1:])
    try:
        if subcommand == "guard":
            start_guard()
        elif subcommand == "stand_guard":
            stand_guard(int(words[0]))
        else:
            folder = shared_folder()
            with alone(folder):
                free_unused(folder, 0)
    except (LauncherError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
