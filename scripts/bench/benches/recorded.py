"""What studies tell the model of a machine, as files: columns of the lab's tables, one TSV for all studies."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from gpd.sizing import study
from gpd.tables import collect

JOB = ("rule", "step", "shard", "threads", "timed", "exit_code", "start_s", "end_s", "cpu_s", "peak_rss_mib")
OUTCOME = ("succeeded", "failed", "failed_data", "makespan_s", "gigabases", "genome_mb")
DISK = ("input_mib", "peak_disk_mib", "kept_disk_mib", "shared_inputs_mib", "shared_outputs_mib")
COLUMNS = {
    "jobs": ("cell", "sample", *JOB),
    "samples": ("cell", "sample", "gigabases"),
    "runs": ("cell", *study.SERIES, "n", "repeat", "counted", "sku", "cores", *OUTCOME, *DISK),
}


def write(folder: Path, found: Mapping[str, collect.Tables]) -> None:
    """`found`: the tables of studies, by the studies' names."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, names in COLUMNS.items():
        frames = [getattr(tables, table)[list(names)].assign(study=name) for name, tables in found.items()]
        (folder / f"{table}.tsv").write_bytes(collect.to_tsv(pd.concat(frames)[["study", *names]]))


def read(folder: Path) -> dict[str, study.Evidence]:
    """Of what write() left, by the studies' names."""
    frames = {table: pd.read_csv(folder / f"{table}.tsv", sep="\t") for table in COLUMNS}
    return {name: study.evidence(name, _of_study(frames, name)) for name in frames["runs"]["study"].unique()}


def _of_study(frames: Mapping[str, pd.DataFrame], name: str) -> collect.Tables:
    own = {table: frame[frame["study"] == name] for table, frame in frames.items()}
    return collect.Tables(**own, steps=pd.DataFrame(), points=pd.DataFrame(), unfinished=(), records=())
