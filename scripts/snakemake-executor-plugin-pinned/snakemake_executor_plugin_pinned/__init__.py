"""Snakemake's executor `pinned`: the local one, but each job runs on CPUs of its own and leaves a record of itself.

Snakemake finds the executor here. A program that only checks records takes a module of this package, and is not to wait
for the import of Snakemake: so what Snakemake asks for is imported when it asks.
"""

import os
import sys
from importlib import import_module
from typing import Any

MODULES = {"Executor": "executor", "ExecutorSettings": "settings", "common_settings": "settings"}
ASKED_FOR = os.environ.get("SNAKEMAKE_PINNED_EVERYWHERE") == "1"  # stand_in() says what for


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{MODULES[name]}", __name__), name)


if ASKED_FOR and "snakemake_interface_executor_plugins.registry" in sys.modules:
    from .executor import Executor
    from .settings import common_settings
    from .snakemake_interface import stand_in

    stand_in(Executor, common_settings)
