"""Which keys differ where records have a digest alone: configuration and profile lie beside them in a run's folder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from gpd.comparison.comparability import Difference, holders_of
from gpd.errors import GpdError
from gpd.files import MIB, read_text
from gpd.records.run import RunRecord

CONFIG, PROFILE = Path("config/config.yaml"), Path("profile/config.yaml")
MOST_BYTES = MIB
WHICH_SAMPLES = ("samples", "units", "leave_out")  # keys that say what is read, and not how
THREADS = "set-threads"  # a difference of its own
ABSENT = "not set"

Keys = Mapping[str, Mapping[str, str]]  # by the name of a difference, each key with its value


def keys_of(folder: Path, record: RunRecord) -> Keys:
    """What a run's files and record say of what its digests are of; a package has no such files."""
    own = folder / record.spec.name / record.processes[0].directory
    settings, profile = _read(own / CONFIG), _read(own / PROFILE)
    made = {"commit": record.settings.workflow_commit, "gpd": record.settings.gpd_version}
    return {
        "settings": {key: value for key, value in settings.items() if key not in WHICH_SAMPLES},
        "reference": {key: value for key, value in settings.items() if key.partition(".")[0] == "reference"},
        "profile": {key: value for key, value in profile.items() if key.partition(".")[0] != THREADS},
        "workflow": {key: value for key, value in made.items() if value is not None},
    }


def named_by_key(difference: Difference, keys: Mapping[str, Keys]) -> list[Difference]:
    """A difference of digests as one for each key that differs; as it is where no key is known to differ.

    `keys` are those of each side, by its name.
    """
    names = list(dict.fromkeys(name for own in difference.holders.values() for name in own))
    known = {name: keys.get(name, {}).get(difference.name, {}) for name in names}
    if not difference.is_of_digests or not all(known.values()):
        return [difference]
    found = []
    for key in dict.fromkeys(key for own in known.values() for key in own):
        holders = holders_of((name, own.get(key, ABSENT)) for name, own in known.items())
        if len(holders) > 1:
            found.append(Difference(difference.name, key, holders, difference.by_machine, difference.configuration))
    return found or [difference]


def _read(path: Path) -> dict[str, str]:
    """The keys of a file of YAML, each with its value as text; none where there is no such file."""
    with suppress(OSError, ValueError, GpdError, yaml.YAMLError, RecursionError):
        return dict(_flat(yaml.safe_load(read_text(path, MOST_BYTES)), ()))
    return {}


def _flat(value: Any, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each value that is no mapping, under its keys; of absolute paths the names, for folders differ anyway."""
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from _flat(entry, (*path, str(key)))
    elif path:
        yield ".".join(path), ", ".join(_texts(value)) or "nothing"


def _texts(value: Any) -> Iterable[str]:
    entries = value if isinstance(value, list) else [] if value in (None, {}) else [value]
    return (entry.rpartition("/")[2] if str(entry).startswith("/") else str(entry) for entry in entries)
