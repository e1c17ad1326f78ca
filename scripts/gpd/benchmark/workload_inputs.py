"""The inputs of a workload: simulated here, held against the digests that the repository has, given to its study."""

import gzip
import hashlib
import os
import shutil
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from gpd.benchmark.workload import CALLED, CONFIG, DIGESTS, BenchmarkError, StandardWorkload, read_digests
from gpd.execution import interruption, workflow
from gpd.files import write_text
from gpd.lab.digests import CHUNK_BYTES
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import Changed
from gpd.paths import ROOT
from gpd.text.formats import number

SIMULATOR = ROOT / "resources" / "simulation" / "Snakefile"
SHEETS = ("samples.tsv", "units.tsv")
GIB = 1024**3


@dataclass(frozen=True)
class WorkloadSource(Source):
    """A pool whose reads are known by what they hold: each machine compresses them with a library of its own."""

    known: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def input_digest(self, sample: str) -> str:
        return self.known[sample]


def known_source(source: Source, workload: StandardWorkload) -> WorkloadSource:
    """The pool, with the digests of its samples' reads."""
    own = {each.name: getattr(source, each.name) for each in fields(Source)}
    return WorkloadSource(**own, known={one.name: workload.input_digest(one.name) for one in source.members})


def find_room(workload: StandardWorkload, samples: int, folder: Path) -> None:
    """Raise BenchmarkError where the disk has too little room for what is not there yet."""
    settings = workload.settings
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / GIB
    needed, free = settings.gib_shared + samples * settings.gib, shutil.disk_usage(folder).free / GIB
    if needed - there > free:
        raise BenchmarkError(
            f"{folder}: {workload.name} with {samples} samples takes about {number(needed)} GiB, and {number(free)} "
            "are free: name a folder elsewhere with --directory"
        )


def make(workload: StandardWorkload, samples: Sequence[str], folder: Path, cores: int, changed: Changed) -> None:
    """Simulate what is missing of the inputs. Raises BenchmarkError, and Interrupted where a signal ends it."""
    for name in SHEETS:  # another machine in this place may have another number of cores
        (folder / name).unlink(missing_ok=True)
    for path in (workload.folder / CONFIG, workload.folder / CALLED):
        if path.exists():  # some call the whole genome
            shutil.copyfile(path, folder / path.name)
    command = [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(SIMULATOR), "--directory", str(folder)),
        *("--workflow-profile", "none", "--cores", str(cores)),
        *("--nolock", "--rerun-incomplete", "--rerun-triggers", "mtime"),
        *("--config", f"design={workload.folder}", f"samples={len(samples)}"),
    ]
    ended = workflow.run(command, folder / workflow.LOG, lambda state: changed("", state))
    if ended.exit_code:
        raise BenchmarkError(ended.reason)


def verify(workload: StandardWorkload, samples: Sequence[str], folder: Path) -> None:
    """Hold each input against its digest. Raises BenchmarkError, a line for each that differs."""
    files = workload.inputs(tuple(samples))
    found = contents(folder, files)
    if other := [name for name in files if not found[name] or found[name] != workload.digests.get(name)]:
        lines = [f"{folder / name}: not what {workload.name} has there" for name in other]
        remedy = f"remove {folder} and start again; if that makes the same, report it, for no figure would count"
        raise BenchmarkError("\n".join([*lines, remedy]))


def drafted(workload: StandardWorkload, samples: Sequence[str], folder: Path) -> StandardWorkload:
    """A draft with digests: those of what was first made here, in digests.tsv beside it."""
    noted = folder / DIGESTS
    if not noted.exists():
        write_text(noted, digest_table(contents(folder, workload.inputs(tuple(samples)))))
    return replace(workload, digests=read_digests(noted))


def digest_table(digests: Mapping[str, str]) -> str:
    """The text of digests.tsv."""
    return "".join(f"{file}\t{digest}\n" for file, digest in {"file": "sha256", **digests}.items())


def contents(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """The digest of what each file holds, uncompressed; empty where it is damaged."""
    names = list(files)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(names, pool.map(lambda name: _content(folder / name), names), strict=True))


def _content(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                interruption.check()
                digest.update(chunk)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return ""
    return digest.hexdigest()
