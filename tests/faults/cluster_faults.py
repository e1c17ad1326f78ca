"""Faults that clusters have: quotas and file servers that refuse a write, permissions, inodes, files that grow."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from injection import Strike
from trial import Tool, Trial, mount

LIBRARY = Path(__file__).parent / "refused_writes.c"
# as root, who is denied nothing else; without them permissions count
DENIED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


@dataclass(frozen=True)
class Refused:
    """Each write of a tool to a file fails with an error, which a library gives in the kernel's place."""

    strike: Strike
    error: int
    file: str

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        library = trial.place / "refused_writes.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, LIBRARY], check=True)
        what = f"{self.error} {self.file} {library}"
        with Tool(replace(self.strike, deed="refuse_writes", what=what)).on(trial):
            yield


@dataclass(frozen=True)
class Forbidden:
    """The permissions of a file go as a tool begins, in a run that they bind; then they are as before."""

    strike: Strike

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        if not shutil.which("setpriv"):
            pytest.skip("takes setpriv to be denied as root")
        place = trial.folder / self.strike.what
        mode = place.stat().st_mode
        trial.prefix = DENIED
        with Tool(self.strike).on(trial):
            yield
        trial.prefix = ()
        place.chmod(mode)


@dataclass(frozen=True)
class Grown:
    """Files of reads go on while a tool is at work; then they are as they were."""

    strike: Strike

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        files = [trial.folder / name for name in self.strike.what.split()]
        before = [path.read_bytes() for path in files]
        with Tool(self.strike).on(trial):
            yield
        for path, data in zip(files, before, strict=True):
            assert path.read_bytes() != data
            path.write_bytes(data)


@dataclass(frozen=True)
class WithoutInodes:
    """The small file system on which a folder lies takes no more files once a tool begins; then there is room again."""

    strike: Strike

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        folder = trial.folder / self.strike.what
        mount(trial, folder, "-t", "tmpfs", "-o", "size=32m,nr_inodes=50", "tmpfs")
        with Tool(self.strike).on(trial):
            yield
        for filler in folder.glob("filler_*"):
            filler.unlink()


@dataclass(frozen=True)
class Full:
    """The small file system on which a folder lies is full from the start; then there is room."""

    folder: str

    @contextmanager
    def on(self, trial: Trial) -> Iterator[None]:
        folder = trial.folder / self.folder
        mount(trial, folder, "-t", "tmpfs", "-o", "size=16k", "tmpfs")
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while file.write(bytes(512)):
                continue
        yield
        filler.unlink()
