"""Throughput studies whose runs are made up: what a run would leave is written in its place, and no workflow runs."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from recording import BEGIN, ledger_line, write_pool

from gpd.lab import earlier_runs, preparation, provenance, runner, single_run, study_plan
from gpd.lab.study_state import StudyPlan
from gpd.machines import launcher
from gpd.pipelines import PIPELINES, UNAVOIDABLE
from gpd.records.run import Settings
from gpd.records.run_spec import RunSpec
from gpd.tables import collect
from gpd.tables.collect import Tables

PROVEN = [step for step in PIPELINES["germline"].steps if step in UNAVOIDABLE]
SETTINGS = Settings(**dict.fromkeys(earlier_runs.MADE_WITH, "same") | {"tools": {"bwa": "1"}, "environment": {}})
OWN = {"profile_digest": "p", "binding": {"smt": False}}
SILENT = runner.StudyCallbacks(lambda spec, title, state: None, lambda sample, state: None, lambda spec, failed: None)


def _attempt(
    sample: str, step: str, start_s: float, wall_s: float, cpu_s: float = 0.0, cause: str | None = None
) -> str:
    told = {"run": "run", "cpu_s": cpu_s, "exit_code": int(cause is not None), "cause": cause, "message": cause}
    return f"{json.dumps(ledger_line(step, sample, start_s, wall_s, **told, log='log'))}\n"


def _attempts(sample: str, makespan_s: float, cause: str | None) -> str:
    """A sample with a cause fails while it is mapped, another goes through all steps and takes 5 s of CPU."""
    if cause:
        return _attempt(sample, PROVEN[0], 0, 1, cause=cause)
    before = (_attempt(sample, step, at, 0) for at, step in enumerate(PROVEN[:-1]))
    return "".join((*before, _attempt(sample, PROVEN[-1], 4, makespan_s - 4, cpu_s=5.0)))


def write_run(
    folder: Path,
    spec: RunSpec,
    makespan_s: float = 10.0,
    wall_s: float = 0.0,
    causes: Mapping[str, str] | None = None,
    **told: object,
) -> None:
    """What a run leaves that took so long, and whose samples fail for these causes; its record has `told` besides."""
    causes, wall_s = causes or {}, max(wall_s, makespan_s)
    processes = [(f"samples/{sample}", (sample,)) for sample in spec.samples]
    processes = processes if spec.mode == "independent" else [(".", spec.samples)]
    for directory, samples in processes:
        place = folder / spec.name / directory
        place.mkdir(parents=True)
        lines = (_attempts(sample, makespan_s, causes.get(sample)) for sample in samples)
        (place / "ledger.jsonl").write_text("".join(lines))
    (folder / spec.name / "spec.json").write_text(json.dumps(spec.to_dict()))
    record = {
        **{"schema": 1, "run": "run", "spec": spec.to_dict(), "start": BEGIN.isoformat(), "wall_s": wall_s},
        **{"end": (BEGIN + timedelta(seconds=wall_s)).isoformat(), "host": {"sku": "8358"}, **OWN},
        "settings": asdict(SETTINGS),
        "processes": [
            {"directory": name, "samples": list(own), "exit_code": int(any(sample in causes for sample in own))}
            for name, own in processes
        ],
    }
    (folder / spec.name / "run.json").write_text(json.dumps(record | told))


class Lab:
    """A study of six samples. `fails` says by run which of them fail for what, `makespan_s` how long it takes.

    Each takes `wall_s` at least, and its record has what `told` says besides. `ran` has their names, in their order.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **settings: object) -> None:
        self.folder, self.ran = folder, list[str]()
        self.fails, self.told, self.makespan_s, self.wall_s = lambda spec: {}, lambda spec: {}, lambda spec: 10.0, 0.0
        own = {"name": "study", "directory": str(folder / "runs"), "cores": 4, "repeats": 1, "warm_up": 0}
        self.settings = own | {"pipelines": {"germline": {"directory": str(folder / "pool")}}} | settings
        write_pool(folder / "pool", 6)
        patch.setattr(preparation, "prepare", lambda setup, cores, changed: None)
        patch.setattr(single_run, "made_with", lambda spec, source: OWN)
        patch.setattr(single_run, "run", self.run_one)
        patch.setattr(provenance, "settings", lambda source, dictionary: SETTINGS)
        patch.setattr(launcher, "jobs", list)

    def run_one(self, spec: RunSpec, setup: object, changed: object) -> None:
        self.ran.append(spec.name)
        write_run(setup.folder, spec, self.makespan_s(spec), self.wall_s, self.fails(spec), **self.told(spec))

    @property
    def file(self) -> Path:
        return self.folder / "throughput.yaml"

    def write(self, **changes: object) -> Path:
        """The file of the settings, with changes to them."""
        self.file.write_text(yaml.safe_dump(self.settings | changes))
        return self.file

    def plan(self, **changes: object) -> StudyPlan:
        return study_plan.make_plan(self.write(**changes))

    def run(self, **changes: object) -> Tables:
        plan = self.plan(**changes)
        runner.run(plan, SILENT)
        return collect.collect(plan.study.folder)
