"""Lanes of samples, by the names of their files and the first reads in them."""

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpd.cohort.file_names import Named, named
from gpd.cohort.notes import Notes, few

LONGEST_LINE = 1 << 20  # bytes
GZIP = b"\x1f\x8b"
MATE_NUMBERS = (b"/1", b"/2", b".1", b".2")  # as the workflow's checks have them
NO_LANE = "L001"  # the unit of a sample whose files name no lane
ALIGNED = "aligned"  # the unit of an alignment


@dataclass(frozen=True)
class Lane:
    """The files of one lane of a sample, R1 and R2 or an alignment, and what is known of it beside."""

    sample: str
    files: tuple[Path, ...]
    unit: str = ""  # "" where files name no lane
    platform: str = ""
    library: str = ""
    condition: str = ""
    sex: str = ""
    is_alignment: bool = False
    named: Named | None = None  # what the first file's name tells, where the name was all there is


@dataclass(frozen=True)
class Found:
    """Lanes, and values of the configuration's keys that they need; "" where any will do. `is_rna`: it is RNA-Seq."""

    lanes: tuple[Lane, ...]
    bam_input: str = ""
    bqsr: str = ""
    strandedness: str = ""
    is_rna: bool = False


@dataclass(frozen=True)
class ReadFile:
    """A file of reads, what its name tells, and with what it begins."""

    path: Path
    named: Named

    @cached_property
    def first_read(self) -> tuple[bytes, bytes]:
        """Name, without the number of the mate, and bases of the first read; empty where the file has none."""
        try:
            with self.path.open("rb") as raw:
                packed = raw.peek(2)[:2] == GZIP
                lines = gzip.GzipFile(fileobj=raw) if packed else raw
                header, bases = lines.readline(LONGEST_LINE), lines.readline(LONGEST_LINE)
        except (OSError, EOFError, zlib.error):  # the workflow says so, with all that is wrong in such a file
            return b"", b""
        name = (header[1:].split(None, 1) or [b""])[0]
        return name[:-2] if name.endswith(MATE_NUMBERS) else name, bases.strip()


Mates = dict[str, ReadFile]  # by number; "" without one
Groups = dict[tuple[str, ...], Mates]


def read_files(paths: Iterable[Path], notes: Notes) -> list[ReadFile]:
    """The files that hold reads of samples."""
    files = [ReadFile(path, named(path.name)) for path in paths]
    index = [file.path for file in files if file.named.is_index]
    unassigned = [file.path for file in files if file.named.sample == "Undetermined" and not file.named.is_index]
    notes.leave_out("index reads", index)
    notes.leave_out("reads of no sample", unassigned)
    return [file for file in files if not file.named.is_index and file.named.sample != "Undetermined"]


def lanes_of(files: Sequence[ReadFile], by_folder: bool, notes: Notes) -> list[Lane]:
    """The lanes that files of reads are, mates together; `by_folder`: samples are called as their files' folders."""
    groups = _groups(files, notes)
    is_paired = any({"1", "2"} <= mates.keys() for mates in groups.values())
    pairs = {(folder, mates["1"].named.sample) for (folder, *_), mates in groups.items() if {"1", "2"} <= mates.keys()}
    lanes = []
    for (folder, *_), mates in groups.items():
        first = min(mates.values(), key=lambda file: file.named.mate)
        if fault := _fault(mates, is_paired, (folder, first.named.sample) in pairs):
            notes.leave_out(fault, (file.path for file in mates.values()))
            continue
        sample = Path(folder).name if by_folder or not first.named.sample else first.named.sample
        lane = Lane(
            sample,
            tuple(mates[number].path for number in sorted(mates)),
            unit=first.named.lane,
            platform=first.named.platform,
            library=first.named.library,
            named=first.named,
        )
        lanes.append(lane)
    return _without_copies(lanes, {file.path: file for file in files}, notes)


def _fault(mates: Mates, is_paired: bool, has_pairs: bool) -> str:
    """Why a lane's files cannot be used, where others are pairs (`is_paired`), also the sample's own (`has_pairs`)."""
    numbers = set(mates)
    if "3" in numbers:
        return "a lane with third reads (R3), of which two are mates: name these in a sheet (--from)"
    if numbers == {"1", "2"} and len({file.first_read[0] for file in mates.values()} - {b""}) > 1:
        return "R1 and R2 begin with different reads"
    if numbers == {"2"} or (numbers == {"1"} and is_paired):
        return "a lane without its mate"
    if numbers == {""} and has_pairs:
        return "reads without mates, of a sample that has pairs"
    return ""


def _groups(files: Iterable[ReadFile], notes: Notes) -> Groups:
    """The files of each lane: what shares folder and all parts of its name but the mate."""
    groups: Groups = defaultdict(dict)
    numbered: Groups = defaultdict(dict)
    for file in files:
        tells = file.named
        convention = tells.convention if tells.mate else ""
        key = (str(file.path.parent), convention, tells.sample, tells.flowcell, tells.tag, tells.lane, tells.part)
        chosen = numbered if tells.convention == "numbers" else groups
        if (other := chosen[key].setdefault(tells.mate, file)) is not file:
            notes.leave_out(f"a second file of this name beside {other.path.name}", [file.path])
    replicates: list[ReadFile] = []
    for of_one, mates in numbered.items():
        if _are_mates(mates):
            groups[of_one] = mates
            continue
        replicates += mates.values()
        for file in mates.values():
            whole = ReadFile(file.path, Named("no mates", file.named.stem, file.named.stem))
            groups[(of_one[0], "", file.named.stem)] = {"": whole}
    if replicates:
        names = few([file.path.name for file in replicates])
        notes.guessed.append(f"numbers that are no mates, for first reads differ or there is a third: {names}")
    return dict(groups)


def _are_mates(files: Mates) -> bool:
    """Whether files whose names end in numbers are mates, not replicates: mates begin with the same read."""
    if not files.keys() <= {"1", "2"}:
        return False
    return len({file.first_read[0] for file in files.values()} - {b""}) < 2


def _without_copies(lanes: Sequence[Lane], files: Mapping[Path, ReadFile], notes: Notes) -> list[Lane]:
    """The lanes without those of a sample that begin with the reads of another one of it."""
    first: dict[tuple[object, ...], Lane] = {}
    for lane in lanes:
        reads = tuple(files[path].first_read for path in lane.files)
        known = (lane.sample, *reads) if all(all(read) for read in reads) else (lane.files,)
        earlier = first.setdefault(known, lane)
        if earlier is not lane:
            notes.leave_out(f"the reads of {earlier.files[0]} once more", lane.files)
    return list(first.values())


def clashes(lanes: Iterable[Lane]) -> list[str]:
    """A line for each sample whose name may be that of several: one lane in two folders, or two numbers in one."""
    places: dict[tuple[str, ...], Lane] = {}
    tags: dict[tuple[str, ...], Lane] = {}
    found: dict[str, str] = {}
    for lane in lanes:
        if not (tells := lane.named):
            continue
        others = [places.setdefault((lane.sample, tells.flowcell, tells.tag, tells.lane, tells.part), lane)]
        if tells.convention == "Illumina":
            one = tags.setdefault((lane.sample, str(lane.files[0].parent)), lane)
            others += [one] if one.named and one.named.tag != tells.tag else []
        for other in others:
            if other is not lane:
                line = f"sample {lane.sample}: {other.files[0]} and {lane.files[0]} have its name"
                found.setdefault(lane.sample, line)
    return list(found.values())
