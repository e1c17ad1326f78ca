"""The recorded studies and nodes: scripts in tests/golden write their records anew, the same with each process.

    PYTHONPATH=scripts python tests/recorded_studies.py

writes the golden tables anew, tests/golden/*/tables/*.tsv, where a change of columns is meant.
"""

import atexit
import importlib.util
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from gpd.scaling import scaling_results
from gpd.tables import collect

GOLDEN = Path(__file__).parent / "golden"


@cache
def script(name: str) -> ModuleType:
    """The script that writes a study."""
    spec = importlib.util.spec_from_file_location(f"record_{name}", GOLDEN / name / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def study(name: str = "study") -> Path:
    """The folder of a study's records, for reading alone."""
    folder = _folder()
    script(name).write(folder / name)
    return folder / name


@cache
def node(name: str) -> Path:
    """The record of a made-up node, for reading alone."""
    path = _folder() / f"{name}.json"
    path.write_text(script("nodes").make(name).to_json())
    return path


def write_tables(name: str, folder: Path) -> None:
    """Write the tables of a study, as the subcommands write them."""
    if name == "scaling":
        scaling_results.write(scaling_results.read(study(name)), folder)
    else:
        collect.write(collect.collect(study(name)), folder)


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="gpd-recorded-"))
    atexit.register(shutil.rmtree, folder)
    return folder


if __name__ == "__main__":
    for found in ("study", "scaling"):
        write_tables(found, GOLDEN / found / "tables")
        for parquet in (GOLDEN / found / "tables").glob("*.parquet"):
            parquet.unlink()
