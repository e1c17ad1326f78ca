"""A study takes along what is known of the node that it runs on: the record that `gpd node` made of it."""

import platform
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from gpd.errors import GpdError
from gpd.files import replace
from gpd.machines import this_host
from gpd.node.node_measuring import default_folder
from gpd.records.host import IDENTITY, TRAITS, Host
from gpd.records.node import FILE, read_node
from gpd.text.formats import listed

# another machine has another one of these; what else is named of a machine may change while it stays the same one
LASTING = (
    *("hostname", "architecture", "sockets", "threads", "l3_mib"),
    *(trait.key for trait in IDENTITY if not trait.tolerance),
)
REMEDY = "'gpd node' measures this one"


def take(study: Path) -> str:
    """Copy this node's record into a study's folder; return what is to be said of it, empty where all is well.

    A record that can't be taken keeps no study from running.
    """
    path = default_folder(platform.node()) / FILE
    if not path.exists():
        return f"no record of what this node can do: {REMEDY}, and the report then shows it"
    try:
        record = read_node(path)
    except (GpdError, OSError) as error:
        return str(error)
    here = this_host.look({}, window_s=0)
    if others := _differing(LASTING, record.host, here):
        return f"{path}: of another machine, by its {listed(others)}, so not taken: {REMEDY}"
    study.mkdir(parents=True, exist_ok=True)
    replace(study / FILE, partial(shutil.copyfile, path))
    changed = _differing([trait.key for trait in TRAITS if trait.pooled], record.host, here)
    return f"{path}: was measured with another {listed(changed)}: 'gpd node' measures anew" if changed else ""


def _differing(keys: Iterable[str], before: Host, now: Host) -> list[str]:
    """The names of what is not as it was; what one of the two does not tell may be the same."""
    names = {trait.key: trait.name for trait in TRAITS}
    pairs = ((key, getattr(before, key), getattr(now, key)) for key in keys)
    return [names.get(key, key.replace("_", " ")) for key, old, new in pairs if None not in (old, new) and old != new]
