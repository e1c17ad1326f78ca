"""What users of the executor may set: for all jobs here, for a rule by its resource `pinned_NAME`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase

from .launcher.options import convert_option
from .launcher.system import LauncherError

common_settings = CommonSettings(
    non_local_exec=False,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
)


def setting(text: str, default: str) -> Any:
    return field(default=default, metadata={"help": text, "env_var": True, "required": False, "type": str})


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    binding: str = setting("How CPUs are chosen: compact, scatter, or none for jobs on any CPU", "compact")
    boundary: str = setting("The finest boundary that an allocation respects: l3, numa or socket", "l3")
    memory: str = setting("Memory policy over the allocation's NUMA nodes: default, local or interleave", "default")
    smt: str = setting("1: hyperthreads are CPUs; 0: whole cores", "0")
    stall_s: str = setting("End a job that does nothing for so many seconds; 0: never", "0")
    checks: str = setting(
        "1: outputs must be whole for their kind, and a program that could not write fails; 0: the exit code tells", "0"
    )
    retries: str = setting("all: Snakemake's retries run; useful: not after a tool's complaint about its input", "all")
    ledger: str = setting("The file of the records, one line of JSON each", "ledger.jsonl")


CONVERTED = ("binding", "boundary", "memory", "smt", "stall_s", "retries")
PREFIX = "pinned_"  # of resources


def of_environment() -> ExecutorSettings:
    """The settings where another executor has the command line, as on a cluster's node: SNAKEMAKE_PINNED_NAME."""
    names = [(each.name, f"SNAKEMAKE_PINNED_{each.name.upper()}") for each in fields(ExecutorSettings)]
    return ExecutorSettings(**{name: os.environ[variable] for name, variable in names if variable in os.environ})


def of_job(settings: ExecutorSettings, resources: Mapping[str, Any]) -> dict[str, Any]:
    """What a job has of the settings, as the launcher takes it. Raises WorkflowError where one is no such value."""
    found = {}
    for each in fields(settings):
        value = str(resources.get(f"{PREFIX}{each.name}", getattr(settings, each.name)))
        try:
            option = each.name.replace("_", "-")
            found[each.name] = convert_option(option, value) if each.name in CONVERTED else value
        except LauncherError as error:
            raise WorkflowError(f"pinned: {each.name}: {str(error).rpartition(': ')[2]}") from error
    found["checks"] = found["checks"] in ("1", "true", "True")
    return found
