"""How long a scheduler shall let a job run: by its rule's row in runtimes.tsv, and the bases of its reads.

A row says what is the same for all samples (`minutes`: starts of tools, waits for a shared file system), what comes
with the reads (`core_s_per_gigabase`), and whether more threads share that: all (`threads`), as many as run shards of
the genome (`shards`), or none (`one`). `from` is where the figure comes from. The workflow loads this file by its path.
"""

import csv
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SAFETY = 2  # times what was measured or published: other CPUs, other machines' disks, neighbours
OTHERS = "others"  # the row of rules without one
# Many, so that time is rather given than lacking: of real reads here, FASTQ of a newer sequencer, whose qualities take
# few values, had 2 bases a byte, that of an older one 1.2. Those of BAM and CRAM were not measured.
BASES_A_BYTE = {".gz": 2, ".bam": 2, ".cram": 5}
BASES_A_PLAIN_BYTE = 0.45  # a base, its quality, and their share of the read's name
HEAD_BYTES = 65_536


@dataclass(frozen=True)
class Row:
    """What jobs of a rule take."""

    minutes: float
    core_s_per_gigabase: float
    spread_over: str

    def runtime(self, gigabases: float, threads: int, scatters: bool) -> int:
        """Minutes of a first attempt. `scatters`: whether steps scatter."""
        shared = self.spread_over == "threads" or (self.spread_over == "shards" and scatters)
        of_reads = SAFETY * self.core_s_per_gigabase * gigabases / (threads if shared else 1) / 60
        return math.ceil(self.minutes + of_reads)


def read(path: str | Path, tools: Iterable[str]) -> dict[str, Row]:
    """The rows by rule, of rules that several tools have alternatives of those of `tools`."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        table = [row for row in csv.DictReader(file, delimiter="\t") if row["tool"] in {"", *tools}]
    return {
        row["rule"]: Row(float(row["minutes"]), float(row["core_s_per_gigabase"]), row["spread_over"]) for row in table
    }


def gigabases(unit: Mapping[str, str]) -> float:
    """About how many bases a unit's files hold, by their size; files that are not there count nothing."""
    paths = [Path(unit[column]) for column in ("fq1", "fq2", "bam") if unit[column]]
    return sum(
        path.stat().st_size * BASES_A_BYTE.get(path.suffix, BASES_A_PLAIN_BYTE) / 1e9 for path in paths if path.exists()
    )


def share_of_guessed(path: Path) -> float:
    """What part of its guessed bases a compressed FASTQ file has, by its head; 1 of other files."""
    if path.suffix != ".gz" or not path.exists():
        return 1.0
    with path.open("rb") as file:
        packed = file.read(HEAD_BYTES)
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    lines = unpacker.decompress(packed).split(b"\n")
    read = len(packed) - len(unpacker.unused_data)  # BGZF is of many small streams, of which this is the first
    return sum(map(len, lines[1::4])) / max(1, read) / BASES_A_BYTE[".gz"]
