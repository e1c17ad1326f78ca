"""What has to hold once a run that was struck has been started again until it was done."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cohorts import Plan
from conftest import script
from launching import PINNED

from gpd.lab import digests
from gpd.records import ledger_check
from gpd.records.ledger import last_attempts

DATABASE = "genomics_db_import"
outputs = script(PINNED / "launcher/outputs.py")


def made(plan: Plan, folder: Path) -> dict[str, str | None]:
    """Digests of what a finished run left, by name: the compared outputs, and alignments where it went no further."""
    results = folder / "results"
    found = {path: alignments_digest(folder / path) for path in plan.targets if path.endswith(".bam")}
    for output in digests.outputs(plan.pipeline, results, list(plan.pairs)):
        found[f"{output.kind} of {', '.join(output.samples)}"] = output.digest
    return found


def alignments_digest(bam: Path) -> str:
    """Of the alignments whatever the order of equals."""
    shown = subprocess.run(["samtools", "view", str(bam)], capture_output=True, check=True).stdout
    return hashlib.sha256(b"\n".join(sorted(shown.splitlines()))).hexdigest()


def wrong(plan: Plan, folder: Path, undisturbed: dict[str, str | None]) -> Iterator[str]:
    """Outputs that are not those of an undisturbed run, or not whole, or lack reads."""
    found = made(plan, folder)
    for name in sorted(undisturbed.keys() | found.keys()):
        if name not in found:
            yield f"{name}: not there"
        elif found[name] != undisturbed.get(name):
            yield f"{name}: differs from that of an undisturbed run"
    for path in sorted((folder / "results").rglob("*")):
        in_database = DATABASE in path.relative_to(folder).parts  # has empty files; what is made of it is compared
        if path.is_file() and not in_database and (fault := outputs.file_fault(str(path))):
            yield f"{path.relative_to(folder)} {fault}"
    for sample in plan.pairs:
        if (reads := reads_out(plan, folder, sample)) != plan.reads(sample):
            yield f"{sample}: {plan.reads(sample)} reads went in, {reads} came out"


def lost(plan: Plan, folder: Path, spoilt: str) -> list[str]:
    """The samples beside the one whose data were spoilt that are not done, though nothing was done to them."""
    others = [name for name in plan.pairs if name != spoilt]
    last = "results/mark_duplicates/{}.bam" if plan.mapping_alone else "results/samtools_stats/{}.txt"
    return [name for name in others if not (folder / last.format(name)).exists()]


def reads_out(plan: Plan, folder: Path, sample: str) -> int | None:
    if not plan.mapping_alone:
        return digests.read_counts(plan.pipeline, folder / "results", sample).get("reads")
    primary = ["samtools", "view", "-c", "-F", "2304", str(folder / f"results/mark_duplicates/{sample}.bam")]
    return int(subprocess.run(primary, capture_output=True, check=True).stdout)


def unsound(folder: Path, at_work: set[str]) -> Iterator[str]:
    """What is wrong with the ledger: a CPU or an attempt twice, a job without a good end, one that was not recorded.

    The last attempt of a job may have failed: at reads that were damaged after it had succeeded, and then put back.
    """
    checked = ledger_check.check(folder / "ledger.jsonl")
    yield from checked.problems
    done = {(attempt.rule, *attempt.wildcards.items()) for attempt in checked.attempts if attempt.succeeded}
    for attempt in last_attempts(checked.attempts):
        if (attempt.rule, *attempt.wildcards.items()) not in done:
            yield f"{attempt.rule} {dict(attempt.wildcards)}: no attempt succeeded, and yet all was done"
    recorded = {" ".join([attempt.rule, *attempt.wildcards.values()]) for attempt in checked.attempts}
    for name in sorted(at_work - recorded):
        yield f"{name}: was at work, and is not in the ledger"
