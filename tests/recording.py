"""Records of runs, as tests make them up: what a test does not name is as in any other record."""

import json

from gpd.records.run import RunRecord


def run_record(cell: dict, **told) -> RunRecord:
    """A record that tells this of its cell and of itself."""
    samples = cell.get("samples", ["S1"])
    known = {"study": "study", "cell": "cell", "pipeline": "germline", "mode": "scheduled", "binding": "compact"}
    known |= {"schema": 1, "n": len(samples), "repeat": 1, "warm_up": False, "samples": samples}
    known |= {"cache": "as_is", "cores": 2, "profile": "profiles/throughput"}
    times = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:00:01Z", "wall_s": 1.0}
    processes = [{"directory": ".", "samples": samples, "exit_code": 0}]
    return RunRecord.from_json(json.dumps({"schema": 1, "cell": known | cell, **times, "processes": processes, **told}))
