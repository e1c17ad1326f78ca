"""Plan a scaling study, by dry runs of the workflow; the lab runs its runs as those of any other study.

A run is a run of Snakemake for each copy of the step, side by side, each in a folder of its own: the same
configuration and the same sample, the files that the step reads as links, and no rules but the step's. So what is
measured is what runs: the step's own rule through the launcher, whose allocations keep the copies apart. Nothing is
renamed, so that read groups and names in files are those of the sample, and a cohort's steps have copies as a
sample's do.
"""

from dataclasses import dataclass
from pathlib import Path

from gpd.execution import snakemake_log
from gpd.lab import earlier_runs, preparation, snakemake_process
from gpd.lab.pool import Source
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.machines import launcher
from gpd.pipelines import PIPELINES
from gpd.records.study import Pool, Study
from gpd.scaling import scaling_plan
from gpd.scaling.scaling_plan import Node, Options, Step


@dataclass(frozen=True)
class ScalingStudy:
    """A scaling study: its plan, its options, and in lines what of these is not planned, and why."""

    plan: StudyPlan
    options: Options
    left_out: tuple[str, ...]


def make_plan(source: Source, pool: Pool, sample: str, options: Options, folder: Path) -> ScalingStudy:
    """Plan a study of one of the source's samples.

    Raises StudyError, and StudyRunError with what the workflow says of a configuration that it refuses.
    """
    members = [member.name for member in source.members]
    if sample and sample not in members:
        raise StudyError(f"--sample {sample}: no such sample; there are {', '.join(members)}")
    node = Node(launcher.usable_cores(smt=False), int(launcher.limits().memory_mib))
    scaling_plan.refuse_too_many(options, node)
    pipeline = source.config["pipeline"]
    of_cohort = PIPELINES[pipeline].of_cohort
    own = _planned(source, (sample or members[0],), options, node)
    together = _planned(source, tuple(members), options, node) if of_cohort else []
    there = [step for step in own if step.name not in of_cohort] + [step for step in together if step.name in of_cohort]
    names = scaling_plan.chosen_steps(pipeline, options.steps, [step.name for step in there])
    steps = [step for name in names for step in there if step.name == name]
    folder = folder if folder.name.strip(".") else folder.resolve()
    planned, left_out = scaling_plan.specs(options, steps, node, folder.name)
    settings = Study(
        name=folder.name,
        directory=str(folder.parent),
        pipelines={pipeline: pool},
        concurrent_samples=(1,),
        bindings=options.bindings,
        repeats=options.repeats,
        seed=options.seed,
        cores=node.cores,
    )
    made = StudyPlan(settings, {pipeline: source}, node.cores, steps=tuple(planned), mem_mb=node.mem_mb)
    earlier_runs.refuse_changed(StudyState(made))
    return ScalingStudy(made, options, tuple(left_out))


def _planned(source: Source, samples: tuple[str, ...], options: Options, node: Node) -> list[Step]:
    """The steps of these samples, by a dry run with each number of threads, which memory may follow."""
    pipeline = PIPELINES[source.config["pipeline"]]
    rules = [rule for step in pipeline.steps for rule in pipeline.rules_of(step)]
    settings = snakemake_process.of_step(source, samples, options.scatter)
    planned = {}
    for threads in sorted({1, *scaling_plan.thread_counts(options.threads, node.cores)}):
        if threads <= node.cores:
            every = dict.fromkeys(rules, threads)
            output = preparation.plan_dry(source, samples, every, node.cores, node.mem_mb, **settings)
            planned[threads] = snakemake_log.planned_jobs(output)
    return scaling_plan.steps_of(planned, samples, source.config)
