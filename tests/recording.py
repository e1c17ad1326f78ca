"""Records of runs and pools of samples, as tests make them up: what a test does not name is as in any other."""

import json
from pathlib import Path

from gpd.records.decoding import decode
from gpd.records.run import RunRecord


def run_record(spec: dict, **told) -> RunRecord:
    """A record that tells this of its run and of itself."""
    samples = spec.get("samples", ["S1"])
    known = {"study": "study", "name": "run", "pipeline": "germline", "mode": "shared", "binding": "compact"}
    known |= {"schema": 1, "n": len(samples), "repeat": 1, "warm_up": False, "samples": samples}
    known |= {"cache": "as_is", "cores": 2, "profile": "profiles/throughput"}
    times = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:00:01Z", "wall_s": 1.0}
    processes = [{"directory": ".", "samples": samples, "exit_code": 0}]
    return decode(json.dumps({"schema": 1, "spec": known | spec, **times, "processes": processes, **told}), RunRecord)


def write_pool(folder: Path, count: int) -> Path:
    """Samples S1, S2, ... of one lane, in tables that name files which are not there; the folder."""
    names = [f"S{number}" for number in range(1, count + 1)]
    config = folder / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.yaml").write_text("reference: {fasta: genome.fa}\nknown_sites: [known.vcf]\n")
    (config / "samples.tsv").write_text("".join(f"{line}\n" for line in ("sample_name", *names)))
    units = [f"{name}\tL1\t{name}.fq" for name in names]
    (config / "units.tsv").write_text("".join(f"{line}\n" for line in ("sample_name\tunit_name\tfq1", *units)))
    return folder
