"""Sheets of others: sarek's, nf-core/rnaseq's, tables of units of snakemake-workflows, and of runs of the ENA."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from gpd.cohort.notes import Notes, few
from gpd.cohort.read_lanes import Found, Lane
from gpd.cohort.read_search import UNUSABLE
from gpd.errors import GpdError
from gpd.files import read_text
from gpd.text.formats import brief

Row = Mapping[str, str]

NOT_KNOWN = {"", "NA", "N/A", "NONE", "NULL", "."}
STRANDEDNESS = {"unstranded": "fr-unstranded", "forward": "fr-secondstrand", "reverse": "fr-firststrand"}
STRANDEDNESS |= {"none": "fr-unstranded", "yes": "fr-secondstrand"}  # as of units of rna-seq-star-deseq2
PLATFORMS = {"BGISEQ": "DNBSEQ", "ION_TORRENT": "IONTORRENT", "OXFORD_NANOPORE": "ONT", "PACBIO_SMRT": "PACBIO"}
TUMOUR = "1"
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True)
class Kind:
    """How one kind of sheet is read: what its heading has, and columns, of which the first with a value counts."""

    name: str
    heading: frozenset[str]
    sample: tuple[str, ...]
    files: tuple[str, ...]
    unit: tuple[str, ...] = ()
    alignment: tuple[str, ...] = ()
    platform: tuple[str, ...] = ()
    library: tuple[str, ...] = ()


SAMPLES = ("sample_name", "sample")
KINDS = (
    Kind(
        "ENA's table of runs",
        frozenset({"run_accession", "fastq_ftp"}),
        sample=("sample_alias", "secondary_sample_accession", "sample_accession", "run_accession"),
        files=("fastq_ftp",),
        unit=("run_accession",),
        platform=("instrument_platform",),
        library=("library_name",),
    ),
    Kind(
        "nf-core's sheet",
        frozenset({"sample", "fastq_1"}),
        sample=("sample",),
        files=("fastq_1", "fastq_2"),
        unit=("lane",),
        alignment=("cram", "bam"),
        platform=("seq_platform",),
    ),
    Kind(
        "nf-core's sheet of alignments",
        frozenset({"patient", "sample", "bam"}),
        sample=("sample",),
        files=(),
        unit=("lane",),
        alignment=("cram", "bam"),
    ),
    Kind(
        "nf-core's sheet of alignments",
        frozenset({"patient", "sample", "cram"}),
        sample=("sample",),
        files=(),
        unit=("lane",),
        alignment=("cram",),
    ),
    Kind(
        "a table of units",
        frozenset({"fq1"}),
        sample=SAMPLES,
        files=("fq1", "fq2"),
        unit=("unit_name", "unit"),
        alignment=("bam",),
        platform=("platform",),
        library=("library",),
    ),
)


def read(path: Path, found: Iterable[Path], notes: Notes) -> Found:
    """The lanes of a sheet; files lie where it says, also seen from its folder, or have a name that was found.

    Raises GpdError.
    """
    rows = read_rows(path)
    kind = next((kind for kind in KINDS if kind.heading <= rows[0].keys()), None)
    if not kind or not any(column in rows[0] for column in kind.sample):
        kinds = "; ".join(dict.fromkeys(f"{kind.name} has {', '.join(sorted(kind.heading))}" for kind in KINDS))
        has = brief(", ".join(rows[0]))
        raise GpdError(f"{path}: none of the sheets that are known by their columns: {kinds}; it has {has}")
    notes.guessed.append(f"{path.name} is {kind.name}")
    by_name = {file.name: file for file in found}
    described = _described(path, kind)
    lanes = []
    for row in rows:
        if row.get("status") == TUMOUR:
            notes.leave_out("tumour samples: germline variants alone are called here", [known(row, *kind.sample)])
        elif lane := _lane(kind, row, partial(_located, folder=path.parent, by_name=by_name), notes):
            more = described.get(lane.sample, {})
            lanes.append(replace(lane, condition=lane.condition or known(more, "condition")))
    types = {row.get("strandedness", "").lower() for row in rows} - {"", "auto"}
    one_type = STRANDEDNESS.get(types.pop(), "") if len(types) == 1 else ""
    return Found(tuple(lanes), strandedness=one_type, is_rna="strandedness" in rows[0])


def read_rows(path: Path) -> list[Row]:
    """The rows of a sheet, of commas where its heading has no tab; lines with # before the heading are passed over."""
    try:
        text = read_text(path).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise GpdError(f"{path}: not UTF-8") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise GpdError(f"{path}: empty")
    delimiter = "\t" if "\t" in lines[0] else ","
    try:
        heading, *body = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)
    except csv.Error as error:
        raise GpdError(f"{path}: {error}") from None
    if long := [row for row in body if len(row) > len(heading)]:
        row = f"{brief(long[0][0])!r}: {len(long[0])} columns in a row"
        raise GpdError(f"{path}: {row}, and {len(heading)} in the heading")
    names = [name.strip() for name in heading]
    padded = (row + [""] * (len(names) - len(row)) for row in body)
    rows: list[Row] = [dict(zip(names, map(_plain, row), strict=True)) for row in padded]
    if not rows:
        raise GpdError(f"{path}: no row below its heading")
    return rows


def _plain(text: str) -> str:
    """A value as a table can hold it: in one line, without tabs."""
    return UNPRINTABLE.sub(" ", text).strip()


def known(row: Row, *columns: str) -> str:
    """What the first of the columns that is filled in says; "" without one."""
    values = (row.get(column, "") for column in columns)
    return next((value for value in values if value.upper() not in NOT_KNOWN), "")


def _described(path: Path, kind: Kind) -> dict[str, Row]:
    """What a table of samples beside a table of units says of each; nothing without one."""
    beside = path.with_name("samples.tsv")
    if "fq1" not in kind.heading or not beside.is_file():
        return {}
    return {known(row, *SAMPLES): row for row in read_rows(beside)}


def _lane(kind: Kind, row: Row, locate: Callable[[str], Path | None], notes: Notes) -> Lane | None:
    """The lane of a row; None where it has none that can be used."""
    sample, unit = known(row, *kind.sample), known(row, *kind.unit)
    where = f"{sample} {unit}".strip()
    if not sample:
        notes.leave_out("rows without a sample", [", ".join(row.values())])
        return None
    names = [known(row, column) for column in kind.files]
    if kind.files == ("fastq_ftp",):
        names = _mates(names[0].split(";"))
    alignment = known(row, *kind.alignment) if not any(names) else ""
    given = [name for name in (names if any(names) else [alignment]) if name]
    located = [locate(name) for name in given]
    if not given:
        notes.leave_out("rows that name no file of reads", [where])
        return None
    if len(given) > 2:
        notes.leave_out("more than two files in a row: which are mates, only you know", [where])
        return None
    if any(path is None for path in located):
        missing = [name for name, path in zip(given, located, strict=True) if path is None]
        notes.leave_out(f"files that are not here ({few(missing)}): name the folder that has them", [where])
        return None
    platform = known(row, *kind.platform).upper().replace(" ", "_")
    return Lane(
        sample,
        tuple(path for path in located if path),
        unit=unit,
        platform=PLATFORMS.get(platform, platform),
        library=known(row, *kind.library),
        condition=known(row, "condition"),
        sex=known(row, "sex"),
        is_alignment=bool(alignment),
    )


def _mates(addresses: Sequence[str]) -> list[str]:
    """Of a run's files R1 and R2, without reads that lack their mates; or the only one."""
    mates = [address for address in addresses if re.search(r"_[12]\.f(ast)?q\.gz$", address)]
    return sorted(mates) if len(mates) == 2 else [*addresses]


def _located(text: str, folder: Path, by_name: Mapping[str, Path]) -> Path | None:
    """Where a file of a sheet lies: as it says, seen from its folder or this one, or where its name was found."""
    name = PurePosixPath(text).name
    if UNUSABLE.search(text):
        return None
    places = [] if re.search(r"^\w+://|^ftp\.", text) else [folder / text, Path(text)]
    return next((place for place in places if _is_file(place)), by_name.get(name))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no name that a file can have
        return False
