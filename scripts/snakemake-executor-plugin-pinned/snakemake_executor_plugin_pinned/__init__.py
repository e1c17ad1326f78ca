"""Snakemake's executor `pinned`: the local one, but each job runs on CPUs of its own and leaves a record of itself."""

from .executor import Executor
from .settings import ExecutorSettings, common_settings
from .snakemake_interface import stand_in

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

stand_in(Executor, common_settings)
