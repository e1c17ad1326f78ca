"""Loci that the Cufflinks tools passed over, in one list, counted by sample, and warned of.

    skipped_loci.py --most N [--compared CUFFDIFF_FOLDER ...] --loci LIST.tsv --log LOG < SAMPLES.tsv > COUNTS.tsv

SAMPLES.tsv has a sample a line, and the GTF of what Cufflinks assembled nothing of, where it assembled. Cuffquant says
nothing of what it skips: it is in its CXB file, and shows in Cuffdiff's table of replicates as HIDATA. In Cuffdiff's
tests such a gene has LOWDATA, as has one of too few reads, and values of 0. Standard library only.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SKIPPED, TOO_MANY = "skipped", "HIDATA"
STATUSES = (TOO_MANY, "LOWDATA", "FAIL")
NAMED = 3  # loci in a warning


class Locus(NamedTuple):
    """A locus without a result: the step that passed over it, of which sample or comparison, and why."""

    step: str
    of: str
    gene: str
    locus: str
    status: str


def unassembled(sample: str, gtf: Path) -> Iterator[Locus]:
    """What Cufflinks skipped of a sample; its file has each locus once a strand."""
    with gtf.open(encoding="utf-8") as lines:
        fields = [line.split("\t") for line in lines]
    for contig, _, _, start, end, _, strand, *_ in fields:
        if strand == "+":
            yield Locus("assemble", sample, "", f"{contig}:{start}-{end}", SKIPPED)


def uncompared(folder: Path) -> Iterator[Locus]:
    """What was not counted of a sample, by replicate, and what was not tested."""
    names = {}
    for row in rows(folder / "gene_exp.diff"):
        names[row["test_id"]] = row["gene"] if row["gene"] != "-" else row["gene_id"], row["locus"]
        if row["status"] in STATUSES:
            of = f"{row['sample_1']} vs {row['sample_2']}"
            yield Locus("differential_expression", of, *names[row["test_id"]], row["status"])
    samples = replicates(folder)
    for row in rows(folder / "genes.read_group_tracking"):
        if row["status"] in STATUSES:
            sample = samples[row["condition"], row["replicate"]]
            yield Locus("quantify", sample, *names[row["tracking_id"]], row["status"])


def replicates(folder: Path) -> dict[tuple[str, str], str]:
    """The samples of a comparison by condition and number."""
    files = {(row["condition"], row["replicate_num"]): row["file"] for row in rows(folder / "read_groups.info")}
    return {replicate: Path(file).name.removesuffix(".cxb") for replicate, file in files.items()}


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a table of Cuffdiff's."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def table(found: Iterable[Locus], samples: Iterable[str], assembled: bool, compared: Collection[str]) -> str:
    """The numbers of each sample; what was not looked at is empty. `compared`: the samples that were."""
    counts = Counter((each.of, each.step, each.status) for each in found)
    lines = ["\t".join(["sample_name", "not assembled", *STATUSES])]
    for sample in samples:
        skipped = str(counts[sample, "assemble", SKIPPED]) if assembled else ""
        counted = [str(counts[sample, "quantify", status]) if sample in compared else "" for status in STATUSES]
        lines.append("\t".join([sample, skipped, *counted]))
    return "".join(f"{line}\n" for line in lines)


def warnings(found: Sequence[Locus], most: int) -> list[str]:
    """A line for each thing that was passed over, where there is any."""
    many = f"for max_bundle_frags ({most}) fragments or more: raise that key where they matter, or mask them"
    kinds = {
        f"Cufflinks assembled nothing of {{}}, {many}": ("assemble", (SKIPPED,)),
        f"Cuffquant counted nothing of {{}}, {many}": ("quantify", (TOO_MANY,)),
        "Cuffdiff has no test of {}, which are HIDATA, LOWDATA or FAIL in gene_exp.diff": (
            "differential_expression",
            STATUSES,
        ),
    }
    of_kinds = {
        text: [each for each in found if each.step == step and each.status in statuses]
        for text, (step, statuses) in kinds.items()
    }
    listed = "; results/skipped_loci/skipped_loci.tsv names all"
    return [f"{text.format(_counted(loci))}{listed}" for text, loci in of_kinds.items() if loci]


def _counted(loci: list[Locus]) -> str:
    names = list(dict.fromkeys(f"{each.gene} ({each.locus})" if each.gene else each.locus for each in loci))
    shown = ", ".join(names[:NAMED] + ["..."] * (len(names) > NAMED))
    of = list(dict.fromkeys(each.of for each in loci))
    where = ", ".join(of[:NAMED]) + f" and {len(of) - NAMED} more" * (len(of) > NAMED)
    return f"{len(names)} {'locus' if len(names) == 1 else 'loci'} ({shown}) of {where}"


def report(samples: Mapping[str, str], folders: Iterable[Path], most: int) -> tuple[list[Locus], str, list[str]]:
    """The loci, the numbers of each sample, and warnings; `samples` have the path of their GTF, or none.

    A sample that several comparisons share is counted once.
    """
    found = [locus for sample, gtf in samples.items() if gtf for locus in unassembled(sample, Path(gtf))]
    found += dict.fromkeys(locus for folder in folders for locus in uncompared(folder))
    compared = {sample for folder in folders for sample in replicates(folder).values()}
    return found, table(found, samples, any(samples.values()), compared), warnings(found, most)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, required=True)
    parser.add_argument("--compared", type=Path, action="append", default=[])
    parser.add_argument("--loci", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args(argv)
    samples = {sample: path for sample, _, path in (line.rstrip("\n").partition("\t") for line in sys.stdin)}
    found, text, lines = report(samples, given.compared, given.most)
    given.loci.write_text("".join("\t".join(row) + "\n" for row in (Locus._fields, *found)), encoding="utf-8")
    given.log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stderr.writelines(f"warning: {line}\n" for line in lines)
    sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
