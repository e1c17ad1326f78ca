"""Samples in BAM and CRAM files, by their headers, which a script of the workflow reads."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gpd.cohort.file_names import stem_of
from gpd.cohort.names import usable
from gpd.cohort.notes import Notes, few
from gpd.cohort.read_lanes import Found, Lane
from gpd.paths import ROOT
from gpd.processes import ProcessError, run_script

HEADERS = ROOT / "workflow" / "scripts" / "checks" / "alignment_headers.py"
MOST_FILES = 1000  # on a command line


@dataclass(frozen=True)
class Header:
    """What a file's header says: samples of its read groups, how many these are; `fault`: why it says nothing."""

    samples: tuple[str, ...] = ()
    read_groups: int = 0
    is_sorted: bool = False
    recalibrated_by: str = ""
    fault: str = ""


def read(paths: Sequence[Path], have_reads: Collection[str], notes: Notes) -> Found:
    """The samples of alignments but for those that `have_reads`, from which they were made."""
    headers = dict(zip(paths, read_headers(paths), strict=True))
    for path in [path for path, header in headers.items() if header.fault]:
        notes.leave_out(headers.pop(path).fault, [path])
    several = [path for path, header in headers.items() if len(header.samples) > 1]
    notes.leave_out("alignments of several samples: split them (samtools split)", several)
    lanes = {}
    for path, header in headers.items():
        sample = header.samples[0] if header.samples else stem_of(path.name)
        if path in several:
            continue
        if sample in have_reads:
            notes.leave_out("alignments of samples whose FASTQ files are here", [path])
        else:
            lanes[path] = Lane(sample, (path,), is_alignment=True)
    return _needs(lanes, headers, notes)


def _needs(lanes: dict[Path, Lane], headers: dict[Path, Header], notes: Notes) -> Found:
    kept_as = {path: lane.sample for path, lane in lanes.items() if headers[path].is_sorted and headers[path].samples}
    again = [path for path in lanes if path not in kept_as or usable(kept_as[path]) != kept_as[path]]
    if again:
        why = "files are not sorted by coordinate, or name no sample that can be kept"
        notes.guessed.append(f"bam_input: remap: {why}: {few([*map(str, again)])}")
        split = [path for path in lanes if headers[path].read_groups > 1]
        notes.leave_out("several read groups, which cannot be mapped again as one: samtools split", split)
        lanes = {path: lane for path, lane in lanes.items() if path not in split}
    done = [headers[path].recalibrated_by for path in lanes if headers[path].recalibrated_by]
    if done:
        notes.guessed.append(f"bqsr: none, for {done[0]} recalibrated base qualities of {len(done)} files already")
    return Found(tuple(lanes.values()), "remap" if again else "", "none" if done else "")


def read_headers(paths: Sequence[Path]) -> Iterator[Header]:
    """What the headers of files say, in order. Raises ProcessError."""
    remaining = iter(paths)
    while some := [*islice(remaining, MOST_FILES)]:
        done = run_script(HEADERS, *(str(path.absolute()) for path in some))
        if done.returncode:
            raise ProcessError(f"{HEADERS.name}: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            values = json.loads(line)
            yield Header(**(values | {"samples": tuple(values.get("samples", ()))}))
