"""Options of the JVM that benches set, and the workflow's own."""

import os
import runpy
from collections.abc import Iterator
from contextlib import contextmanager

from gpd.paths import ROOT

_SCATTER = runpy.run_path(str(ROOT / "workflow/scripts/scatter.py"))
FIRST_ALONE, SECOND_ALONE = str(_SCATTER["FIRST_ALONE"]), str(_SCATTER["SECOND_ALONE"])
# one compiler, in _JAVA_OPTIONS, which wins over a command's own options
ALONE = {"C1": f"-XX:+TieredCompilation {FIRST_ALONE}", "C2": f"{SECOND_ALONE} -XX:TieredStopAtLevel=4"}


@contextmanager
def jvm_options(options: str) -> Iterator[None]:
    """Those of all JVMs; they win over those of a command."""
    name = "_JAVA_OPTIONS"
    before = os.environ.get(name)
    os.environ[name] = options
    try:
        yield
    finally:
        os.environ.pop(name)
        os.environ.update({} if before is None else {name: before})
