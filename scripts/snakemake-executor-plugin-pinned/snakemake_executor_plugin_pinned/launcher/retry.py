"""Whether a retry is worth its time: not after an attempt that failed for its data.

Snakemake repeats jobs whatever they failed of. What a tool itself complains of (`tool_error`: a cut read file, a contig
that the reference lacks) stays as it is, so that the next attempt, at the same inputs, is recorded with that cause and
not run. Everything else may go well another time: with more memory or time, beside others, on another node. So may what
failed without a word.
"""

import os

from .diagnose import SILENT
from .ledger import beside, whole

FOR_DATA = "tool_error"


def refusal(settings):
    """Return (cause, message) of the attempt before, or of a shard of it, where this one would fail of the same."""
    job, known = (settings.rule, settings.wildcards, settings.run or None), []
    for path in beside(settings.ledger):
        with open(path, "rb") as ledger:
            lines = [whole(line) for line in ledger if f'"rule": "{settings.rule}"'.encode() in line]
        known += [each for each in lines if each and (each["rule"], each["wildcards"], each["run"]) == job]
    # without a name for the run, those of earlier ones are among them, whatever their attempts came to
    before = [each for each in known if each["cause"] and each["attempt"] == settings.attempt - 1]
    last = max(before, key=lambda record: record["recorded"], default=None)
    if not last or last["cause"] != FOR_DATA or are_newer(settings.inputs, last["recorded"]):
        return None
    if last["message"].endswith(SILENT):
        return None
    return FOR_DATA, f"{last['message']} (as attempt {last['attempt']}; not tried again)"


def are_newer(paths, recorded):
    """Tell whether any of some files was changed after a time; the record may be of an earlier run without a name."""
    from datetime import datetime

    moment = datetime.fromisoformat(recorded).timestamp()
    there = (path.removeprefix("@") for path in paths)
    return any(os.stat(path).st_mtime > moment for path in there if os.path.exists(path))
