"""What the jobs of a plan will need: disk, time and memory, by the sizes of the read files.

    needs.py PLAN.json

PLAN has the configuration, complete with its defaults, the units of each sample, and the planned jobs: rule, wildcards,
threads. Prints JSON: bytes of disk that the samples with work left will leave, and the most that one of them takes
besides while at work; core seconds, and seconds of the longest chain of jobs that wait for each other. Seconds rest on
runtimes.tsv, without its margins and without the making of indexes.

It is started in the folder of the run, to which paths are relative.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import disk
import runtimes
from mappers import MAPPERS

TABLE = Path(__file__).resolve().parents[2] / "runtimes.tsv"
TOOLS = ("gatk", "realigner", "aligner", "mapper")  # keys of the configuration by which rows are chosen
ALIGNED_BY = {"germline": "mark_duplicates", "tuxedo": "align"}  # the rule that begins what a sample keeps
Units = Mapping[str, list[Mapping[str, str]]]
Job = Mapping[str, Any]


def gigabases(wildcards: Mapping[str, str], bases: Mapping[str, Mapping[str, float]], whole: float) -> float:
    """About how many billion bases a job reads: of its unit, its sample, or of all samples; of an interval its part."""
    sample = wildcards.get("sample", wildcards.get("callset"))
    if sample in bases:
        own = bases[sample]
        return own.get(wildcards["unit"], 0.0) if "unit" in wildcards else sum(own.values())
    return whole / int(wildcards.get("interval", "1of1").partition("of")[2])


def times(jobs: Iterable[Job], units: Units, config: Mapping, cores: int | None) -> tuple[float, float]:
    """Core seconds of all jobs, and seconds of the longest chain: a sample's jobs, then those of all samples."""
    rows = runtimes.read(TABLE, {config[tool] for tool in TOOLS})
    # sizes of files are looked up once: there are thousands of files, and of jobs of all samples
    bases = {sample: {row["unit_name"]: runtimes.gigabases(row) for row in own} for sample, own in units.items()}
    whole = sum(sum(own.values()) for own in bases.values())
    core_s, longest = 0.0, dict[tuple[str, str], float]()
    for job in jobs:
        row, wildcards = rows.get(job["rule"], rows[runtimes.OTHERS]), job["wildcards"]
        own_s = row.core_s_per_gigabase * gigabases(wildcards, bases, whole)
        spread = {"threads": job["threads"], "shards": cores or 1, "one": 1}[row.spread_over]
        owner = wildcards.get("sample", wildcards.get("callset", ""))
        key = (owner if owner in units else "", job["rule"])
        core_s, longest[key] = core_s + own_s, max(longest.get(key, 0.0), own_s / spread)
    chains = dict[str, float]()
    for (owner, _), seconds in longest.items():
        chains[owner] = chains.get(owner, 0.0) + seconds
    of_all = chains.pop("", 0.0)
    return core_s, of_all + max(chains.values(), default=0.0)


def space(jobs: Iterable[Job], units: Units, config: Mapping) -> tuple[float, float]:
    """Bytes that samples whose alignments are to be made will leave, and the most that one takes besides at work."""
    rules = {(job["rule"], job["wildcards"].get("sample")) for job in jobs}
    begun = [sample for sample in units if (ALIGNED_BY[config["pipeline"]], sample) in rules]
    needs = [disk.of_sample(units[sample], config) for sample in begun]
    is_new = ("reference", None) in rules
    shared = disk.shared(config, genome_bytes(config), needs, MAPPERS[config["mapper"]].disk) if is_new else 0
    return shared + sum(need.kept for need in needs), max((need.both - need.kept for need in needs), default=0)


def genome_bytes(config: Mapping) -> float:
    """About how many bases the reference has; none where its file is not there yet."""
    fasta = Path(config["reference"].get("fasta", ""))
    return fasta.stat().st_size * (4 if fasta.suffix == ".gz" else 1) if fasta.is_file() else 0


def main(path: str) -> None:
    plan = json.loads(Path(path).read_text(encoding="utf-8"))
    kept, at_work = space(plan["jobs"], plan["samples"], plan["config"])
    core_s, chain_s = times(plan["jobs"], plan["samples"], plan["config"], plan["cores"])
    print(json.dumps({"kept": kept, "at_work": at_work, "core_s": core_s, "chain_s": chain_s}))


if __name__ == "__main__":
    main(sys.argv[1])
