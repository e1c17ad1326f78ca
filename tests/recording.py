"""Records of runs and pools of samples, as tests make them up: what a test does not name is as in any other."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from msgspec import Struct

from gpd.records.decoding import decode
from gpd.records.ledger import Attempt
from gpd.records.run import RunRecord
from gpd.tables.collect import Tables
from gpd.tables.columns import RunRow
from gpd.tables.rows import configurations

BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)


def attempt(
    step: str = "map",
    owner: str | None = "S1",
    begin_s: float = 0.0,
    wall_s: float | None = 10.0,
    exit_code: int | None = 0,
    **told: object,
) -> Attempt:
    """An attempt at a job of a sample, of the cohort or of none; without `wall_s` its end is unknown."""
    begin, kind = BEGIN + timedelta(seconds=begin_s), "callset" if owner == "cohort" else "sample"
    known = {"rule": step, "step": step, "wildcards": {kind: owner} if owner else {}, "threads": 1, "start": begin}
    known |= {"end": None if wall_s is None else begin + timedelta(seconds=wall_s), "wall_s": wall_s}
    known |= {"exit_code": exit_code, "message": "it broke" if exit_code else None, "log": f"logs/{step}/{owner}.log"}
    return Attempt(**known | told)


def ledger_line(step: str, sample: str, begin_s: float = 0.0, wall_s: float = 10.0, **told: object) -> dict:
    """What the launcher writes of a job that succeeded, as far as every job has it; `told` is what else it says."""
    times = {"start": BEGIN + timedelta(seconds=begin_s), "end": BEGIN + timedelta(seconds=begin_s + wall_s)}
    names = {"rule": step, "step": step, "wildcards": {"sample": sample} if sample else {}, "log": f"logs/{step}.log"}
    known = {"schema": 1, **names, "threads": 1, "wall_s": wall_s, "exit_code": 0, "message": None}
    return known | {name: moment.isoformat() for name, moment in times.items()} | told


def run_record(spec: dict, **told) -> RunRecord:
    """A record that tells this of its run and of itself."""
    samples = spec.get("samples", ["S1"])
    known = {"study": "study", "name": "run", "pipeline": "germline", "mode": "shared", "binding": "compact"}
    known |= {"schema": 1, "n": len(samples), "repeat": 1, "warm_up": False, "samples": samples}
    known |= {"cache": "as_is", "cores": 2, "profile": "profiles/throughput"}
    times = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:00:01Z", "wall_s": 1.0}
    processes = [{"directory": ".", "samples": samples, "exit_code": 0}]
    return decode(json.dumps({"schema": 1, "spec": known | spec, **times, "processes": processes, **told}), RunRecord)


def row_of(kind: type[Struct], **known: object) -> Struct:
    """A row of a table of which no more is known than this."""
    return kind(**dict.fromkeys(kind.__struct_fields__) | known)


def tables_of(*runs: RunRow) -> Tables:
    """The tables of a study of which no more is known than these rows of runs."""
    empty = dict.fromkeys(("jobs", "samples", "steps", "unfinished", "records"), ())
    return Tables(**empty, runs=runs, configurations=configurations(runs))


def write_pool(folder: Path, samples: int | Sequence[tuple[str, str]], **config: object) -> Path:
    """Samples S1, S2, ..., or these with their conditions, of one lane each; files that tables name are not there."""
    every = [(f"S{number}", "") for number in range(1, samples + 1)] if isinstance(samples, int) else samples
    heads = ("sample_name", "condition") if any(condition for _, condition in every) else ("sample_name",)
    own = folder / "config"
    own.mkdir(parents=True, exist_ok=True)
    known = {"reference": {"fasta": "genome.fa"}, "known_sites": ["known.vcf"]}
    (own / "config.yaml").write_text(yaml.safe_dump(known | config))
    rows = [heads, *(sample[: len(heads)] for sample in every)]
    (own / "samples.tsv").write_text("".join(f"{chr(9).join(row)}\n" for row in rows))
    units = [f"{name}\tL1\t{name}.fq" for name, _ in every]
    (own / "units.tsv").write_text("".join(f"{line}\n" for line in ("sample_name\tunit_name\tfq1", *units)))
    return folder
