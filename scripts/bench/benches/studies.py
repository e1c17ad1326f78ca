"""Studies of the lab that a bench runs in turns with other ways to take the same samples through a pipeline."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from benches.cohorts import CONFIG
from benches.measurements import timed
from gpd.lab import preparation, single_run, study_plan
from gpd.lab.snakemake_process import Setup
from gpd.lab.study_state import StudyPlan
from gpd.machines import launcher
from gpd.records.run import Settings
from gpd.records.run_spec import INDEPENDENT, RunSpec
from gpd.tables import collect

# a script of ours leaves no statistics of samples, so that no way does
RESULTS_ALONE = ("--omit-from", "samtools_stats")


@dataclass(frozen=True)
class Scripted:
    """A run of a script: wall and CPU seconds, and the folder of what it made."""

    wall_s: float
    cpu_s: float
    folder: Path

    @classmethod
    def of(cls, script: Path, *words: object, folder: Path, **variables: str) -> "Scripted":
        """Run a bash script with these words and variables, and remove the alignments that it made in the folder."""
        wall_s, cpu_s, _ = timed(["bash", script, *map(str, words)], env=os.environ | variables)
        remove_alignments(folder)
        return cls(wall_s, cpu_s, folder)


@dataclass(frozen=True)
class MeasuredStudy:
    """The runs of a choice of settings, and what each of them needs."""

    plan: StudyPlan
    setup: Setup

    @classmethod
    def of(
        cls, name: str, pool: Path, settings: Mapping[str, object], grid: Mapping[str, object], lock: int
    ) -> "MeasuredStudy":
        """Lay it out beside the folder of its pool, and make what its runs share.

        `settings` stand in place of the pool's; `grid` are keys of the study. `lock` is held while its runs run.
        """
        config = yaml.safe_load((pool / CONFIG).read_text()) | settings
        (pool / f"{name}.yaml").write_text(yaml.safe_dump(config))
        pools = {config["pipeline"]: {"directory": str(pool), "config": f"{name}.yaml"}}
        study = {"name": name, "directory": str(pool.parent), "pipelines": pools, "warm_up": 0, **grid}
        path = pool.parent / f"{name}.yaml"
        path.write_text(yaml.safe_dump(study))
        plan = study_plan.make_plan(path)
        setup = Setup(
            folder=plan.study.folder.resolve(),
            source=plan.sources[config["pipeline"]],
            settings=Settings(),
            mem_mb=int(launcher.limits().memory_available_mib),
            keep_results=True,
            lock=lock,
            options=RESULTS_ALONE,
        )
        preparation.prepare(setup, plan.cores, lambda *_: None)
        return cls(plan, setup)

    def spec(self, mode: str, repeat: int) -> RunSpec:
        return next(spec for spec in self.plan.specs if (spec.mode, spec.repeat) == (mode, repeat))

    def run(self, mode: str, repeat: int) -> None:
        """Run its run of a mode and repeat, and remove the alignments."""
        spec = self.spec(mode, repeat)
        print(f"{spec.study}: {spec.name}", file=sys.stderr)
        single_run.run(spec, self.setup, lambda *_: None)
        remove_alignments(self.setup.folder)

    def folder(self, mode: str, repeat: int, sample: str) -> Path:
        """The folder of a run, of independent ones that of a sample's."""
        run = self.setup.folder / self.spec(mode, repeat).name
        return run / "samples" / sample if mode == INDEPENDENT else run

    def table(self, name: str) -> pd.DataFrame:
        """One of the study's tables, as `gpd report` has it, of the runs that have ended."""
        return collect.collect(self.setup.folder).frame(name)

    def runs(self, mode: str) -> pd.DataFrame:
        """What its runs of a mode came to, a row a repeat."""
        return self.table("runs").set_index(["mode", "repeat"]).sort_index().loc[mode]


def remove_alignments(folder: Path) -> None:
    for alignment in folder.rglob("*.bam"):
        alignment.unlink()
