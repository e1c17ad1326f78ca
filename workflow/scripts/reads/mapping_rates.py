"""How many of a sample's reads map, and how well.

    mapping_rates.py sample --least 0.2 NAME UNIT.json ...     fail where a smaller share of the sample's reads maps, or
                                                               of a unit's, as count_reads.py counted them
    mapping_rates.py report --log LOG FILES.tsv > TABLE.tsv    put all samples into one table for the MultiQC page, and
                                                               warn of those that stand out

FILES.tsv has a line for each file, its sample before it: of samtools stats, and counts of count_reads.py (.json) where
alignments may lack reads that do not map.

Standard library only.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

MISMATCHES = 0.05  # of the aligned bases: reads of another species have more, and those of a person less than 0.01
FAR = 0.8  # of the median over the samples: who maps less than this stands out ...
FEWEST = 3  # ... among so many samples

NUMBER = re.compile(r"^SN\t(raw total sequences|reads mapped|bases mapped \(cigar\)|mismatches):\t(\d+)", re.MULTILINE)
MULTIQC_HEADER = (
    "# id: mapping_rates",
    "# section_name: Mapping rates",
    "# description: Share of the reads that map, and of the aligned bases that differ from the reference (NM).",
    "# plot_type: table",
)


@dataclass(frozen=True)
class Rates:
    """Of a sample: its reads, the share of them that maps, and that of their aligned bases that differ, where known."""

    reads: int
    mapped: float | None
    mismatches: float | None = None


class FewMappedError(Exception):
    """Hardly any reads map; the message says of what sample, and why that may be."""


def require_mapped(sample: str, units: Mapping[str, dict], least: float) -> None:
    """Fail where less than this share of the reads of a sample or of a unit maps.

    Counts of earlier versions say nothing of it.
    """
    known = {name: unit for name, unit in units.items() if "mapped" in unit}
    reads, mapped = (sum(unit[kind] for unit in known.values()) for kind in ("reads", "mapped"))
    counts = {sample: (reads, mapped)} | {
        f"{sample}, unit {name}": (unit["reads"], unit["mapped"]) for name, unit in known.items()
    }
    for name, (reads, mapped) in counts.items():
        if mapped < least * reads:
            raise FewMappedError(
                f"{name}: {mapped / reads:.1%} of its {reads} reads map, and min_mapped in the config wants "
                f"{least:.1%}; usual causes: reads or a reference of another species, swapped files, adapters or "
                "contamination; min_mapped: 0 lets it pass"
            )


def read_rates(paths: Iterable[Path]) -> Rates:
    """A sample's rates by its samtools stats; counts of count_reads.py take precedence."""
    stats, counts = {}, {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            counts = json.loads(text)
        else:
            stats = {name: int(value) for name, value in NUMBER.findall(text)}
    reads = counts.get("reads", stats["raw total sequences"])
    mapped = counts.get("mapped") if counts else stats["reads mapped"]
    return Rates(reads, share(mapped, reads), share(stats["mismatches"], stats["bases mapped (cigar)"]))


def share(part: int | None, whole: int) -> float | None:
    return part / whole if part is not None and whole else None


def warnings(rates: Mapping[str, Rates]) -> Iterator[str]:
    """Lines about samples that map badly, by themselves or beside the others."""
    known = [each.mapped for each in rates.values() if each.mapped is not None]
    usual = median(known) if len(known) >= FEWEST else 0.0
    for sample, each in rates.items():
        if each.mapped is not None and each.mapped < FAR * usual:
            yield (
                f"sample {sample}: {each.mapped:.1%} of its reads map, and {usual:.1%} are the median of all samples: "
                "look for swapped or contaminated reads"
            )
        if each.mismatches is not None and each.mismatches > MISMATCHES:
            yield (
                f"sample {sample}: {each.mismatches:.1%} of its aligned bases differ from the reference: look whether "
                "that is of its species, and whether its reads are sound"
            )


def table(rates: Mapping[str, Rates]) -> str:
    """The rates as a table that MultiQC shows."""
    lines = [*MULTIQC_HEADER, "Sample\treads\tmapped\tmismatches"]
    for sample, each in rates.items():
        shares = ("" if value is None else f"{value:.4f}" for value in (each.mapped, each.mismatches))
        lines.append("\t".join([sample, str(each.reads), *shares]))
    return "".join(f"{line}\n" for line in lines)


def report(files: Path, log: Path) -> None:
    paths: dict[str, list[Path]] = {}
    for line in files.read_text(encoding="utf-8").splitlines():
        sample, path = line.split("\t")
        paths.setdefault(sample, []).append(Path(path))
    rates = {sample: read_rates(of_sample) for sample, of_sample in paths.items()}
    lines = list(warnings(rates))
    log.write_text("".join(f"{line}\n" for line in lines))
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)
    sys.stdout.write(table(rates))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommand = subcommands.add_parser("sample")
    subcommand.add_argument("--least", type=float, required=True)
    subcommand.add_argument("name")
    subcommand.add_argument("units", nargs="+", type=Path)
    subcommand = subcommands.add_parser("report")
    subcommand.add_argument("--log", type=Path, required=True)
    subcommand.add_argument("files", type=Path)
    given = parser.parse_args(argv)
    try:
        if given.subcommand == "sample":
            require_mapped(given.name, {path.stem: json.loads(path.read_text()) for path in given.units}, given.least)
        else:
            report(given.files, given.log)
    except FewMappedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
