"""A run that is cut off: what is kept of it until its jobs have ended, so that it may go on where it was, marked.

Repeats of a batch alone: a stream's window has a clock, and a search acts on what its runs come to.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from gpd.files import FileError, read_text, write_text
from gpd.lab.snakemake_process import LEDGER
from gpd.machines import host
from gpd.records.decoding import decode
from gpd.records.host import Host, machine_differences
from gpd.records.ledger import read_ledger
from gpd.records.run import InputRecord, RunRecord, Settings, Time
from gpd.records.run_spec import INDEPENDENT, SHARED, Count, Name, RunSpec

BEGUN = "begun.json"  # in a run's folder, until its jobs have ended
# what is measured from a start on, and tells nothing of the whole
OF_ONE_START: Mapping[str, Any] = dict.fromkeys(
    ("cpu_s", "snakemake_cpu_s", "peak_disk_mib", "energy_j", "cached", "machine_use")
)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A run at work: its mark, a digest of what it is made with, its machine, its start, and how often it began."""

    run: Name
    digest: str | None = None
    host: Host | None = None
    start: Time | None = None
    starts: Count = 0

    def begin(self, folder: Path, node: Host | None, now: datetime) -> "Begun":
        """As it begins once more; in the folder of one that may be continued that is kept."""
        begun = replace(self, host=node, start=self.start or now, starts=self.starts + 1)
        if self.digest:
            write_text(folder / BEGUN, json.dumps(msgspec.to_builtins(begun)))
        return begun

    def marked(self, record: RunRecord) -> RunRecord:
        """The record of its last start; of one that was continued as the whole run's."""
        if self.starts == 1:
            return record
        return replace(record, start=self.start or record.start, starts=self.starts, **OF_ONE_START)


def digest(
    spec: RunSpec, settings: Settings, inputs: Mapping[str, InputRecord], profile: Mapping[str, Any]
) -> str | None:
    """A digest of what has to be the same in all starts of a run, the machine aside; None: it is never continued."""
    if not spec.repeat or spec.step or spec.mode not in (SHARED, INDEPENDENT):
        return None
    same = [spec, replace(settings, workflow_commit=None), inputs, profile]
    return hashlib.sha256(json.dumps(msgspec.to_builtins(same), sort_keys=True).encode()).hexdigest()


def former(folder: Path, digest: str | None) -> Begun | None:
    """What was cut off in a run's folder and may go on there; None where nothing is won, or something else would."""
    ledgers = [path / LEDGER for path in (folder, *folder.glob("samples/*"))]
    if any(attempt.succeeded for ledger in ledgers for attempt in read_ledger(ledger)):
        with suppress(FileError, OSError, ValueError):
            begun = decode(read_text(folder / BEGUN), Begun)
            return begun if begun.digest == digest and _is_here(begun.host) else None
    return None


def _is_here(node: Host | None) -> bool:
    here = host.look({}, window_s=0.0)
    return node is not None and node.hostname == here.hostname and not machine_differences([node, here])
