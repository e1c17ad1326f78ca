"""Which samples a cohort goes on without: those of which a job failed, where the configuration says `drop`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from gpd.execution.configuration import Configuration
from gpd.outcomes import COHORT, failures
from gpd.pipelines import Pipeline
from gpd.records.ledger import Attempt

POLICY, LEFT_OUT = "failed_samples", "leave_out"  # keys of the configuration
DROP = "drop"
TOLD = "results/left_out.tsv"  # beside a cohort's results, where they are without any


def dropped(
    pipeline: Pipeline, attempts: Iterable[Attempt], configuration: Configuration, settings: Iterable[str]
) -> list[str]:
    """The samples that are left out from now on, those that the user leaves out among them.

    None where none failed, or none is whole, or the configuration does not want it; `settings` of Snakemake's --config
    go before it.
    """
    pairs = (setting.partition("=") for setting in settings)
    typed = {name: yaml.load(value, yaml.BaseLoader) for name, _, value in pairs if name in (POLICY, LEFT_OUT)}
    config: Mapping[str, Any] = {**configuration.config, **typed}
    failed = failures(attempt for attempt in attempts if attempt.step in pipeline.steps).keys() - {COHORT}
    left_out = failed | set(config[LEFT_OUT])
    others = {row["sample_name"] for row in configuration.samples} - left_out
    return sorted(left_out) if failed and others and config[POLICY] == DROP else []


def setting(names: Sequence[str]) -> str:
    """As Snakemake's --config takes it: no name of a sample has what YAML would read otherwise."""
    return f"{LEFT_OUT}=[{','.join(names)}]"
