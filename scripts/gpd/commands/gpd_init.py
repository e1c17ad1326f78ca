"""`gpd init`: a configuration for the reads below a folder, or for those of a sheet."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from gpd.cohort import alignments, names, other_sheets, read_lanes, read_search, references, written
from gpd.cohort.choices import Basis, choices
from gpd.cohort.notes import Notes
from gpd.cohort.read_lanes import Found, Lane
from gpd.cohort.references import Reference
from gpd.cohort.written import NewCohort
from gpd.commands.subcommands import print_grids, print_lines, terminal
from gpd.errors import GpdError
from gpd.records.run_spec import OwnPipeline
from gpd.text.formats import counted, some
from gpd.text.grid import Grid, group

MOST_SHOWN = 20  # samples
MOST_UNITS = 4
FASTA = (".fa", ".fasta", ".fna", ".gz")

SamplesBy = StrEnum("SamplesBy", ["NAME", "FOLDER"])


def command(
    folder: Annotated[Path | None, typer.Argument(help="Where the reads are.", exists=True, file_okay=False)] = None,
    pipeline: Annotated[OwnPipeline | None, typer.Option(help="Default: germline.")] = None,
    reference: Annotated[
        str, typer.Option(help="FASTA file of the reference, or the name of one that gpd reference fetches.")
    ] = "",
    references_in: Annotated[
        Path, typer.Option("--references", help="Where references lie that have a name.", file_okay=False)
    ] = Path("references"),
    known_sites: Annotated[
        list[Path] | None, typer.Option(help="VCF file of known variants, repeatable; without one bqsr: none.")
    ] = None,
    annotation: Annotated[Path | None, typer.Option(help="The genes, as GTF or GFF3, for tuxedo.")] = None,
    sheet: Annotated[
        Path | None,
        typer.Option("--from", help="Sheet: sarek, nf-core/rnaseq, units, runs of ENA.", exists=True, dir_okay=False),
    ] = None,
    samples_by: Annotated[
        SamplesBy | None,
        typer.Option(help="What a sample is where names are not enough: files of one name, or those of one folder."),
    ] = None,
    directory: Annotated[Path, typer.Option(help="Where the run will write.", file_okay=False)] = Path(),
) -> None:
    """Find reads, pair mates, group lanes by sample, and write config/ for a run; nothing is overwritten.

    Says what was guessed, what was left out and why, and what is still to be filled in. Conditions of RNA-Seq are never
    guessed: fill in the column `condition`, or give a sheet that has it.

    Example: gpd init reads --reference resources/genome.fa.gz
    """
    if not folder and not sheet:
        raise GpdError("name the folder of the reads, or a sheet with --from")
    written.refuse_present(directory)
    notes = Notes()
    found = _of_sheet(sheet, folder, notes) if sheet else _of_folder(folder or Path(), samples_by, notes)
    given = Basis(
        pipeline or ("tuxedo" if found.is_rna else "germline"),
        directory,
        _reference(reference, references_in),
        known_sites or [],
        annotation,
    )
    cohort = _cohort(given, found, notes)
    _show(cohort, directory, notes, written.write(cohort, directory))


def _cohort(given: Basis, found: Found, notes: Notes) -> NewCohort:
    """What is written. Raises GpdError where no reads can be used."""
    usable = replace(found, lanes=tuple(_usable(found.lanes, given.pipeline, notes)))
    if not usable.lanes:
        raise GpdError("\n".join(["no reads that can be used", *notes.lines()]))
    named = names.with_usable_names(usable.lanes, notes)
    return NewCohort(given.pipeline, named, [*choices(given, usable, notes)])


def _show(cohort: NewCohort, directory: Path, notes: Notes, paths: Sequence[Path]) -> None:
    console = terminal()
    print_grids(console, [_grid(cohort)])
    print_lines(console, [*notes.lines(), f"written: {', '.join(map(str, paths))}"])
    here = "" if directory == Path() else f" --directory {shlex.quote(str(directory))}"
    print_lines(console, [f"next: gpd run {cohort.pipeline} --dry-run{here}"])


def _reference(given: str, folder: Path) -> Path | Reference | None:
    """A FASTA file, which a path or an ending tells, or a reference by its name."""
    if not given:
        return None
    is_file = "/" in given or Path(given).suffix in FASTA or Path(given).exists()
    return Path(given) if is_file else references.find(given, folder)


def _of_sheet(sheet: Path, folder: Path | None, notes: Notes) -> Found:
    files = read_search.find(folder, notes) if folder else {}
    return other_sheets.read(sheet, chain.from_iterable(files.values()), notes)


def _of_folder(folder: Path, samples_by: SamplesBy | None, notes: Notes) -> Found:
    """Lanes below the folder. Raises GpdError where one name may be that of several samples."""
    files = read_search.find(folder, notes)
    found = read_lanes.lanes_of(read_lanes.read_files(files["reads"], notes), samples_by == SamplesBy.FOLDER, notes)
    if not samples_by and (lines := read_lanes.clashes(found)):
        advice = "is that one sample (--samples-by name), or is each folder one (--samples-by folder)?"
        raise GpdError("\n".join(f"{line}: {advice}" for line in lines[:MOST_SHOWN]))
    if found and all(len(lane.files) == 1 for lane in found):
        notes.guessed.append("single-end reads: no file has a mate")
    aligned = alignments.read(files["alignment"], {lane.sample for lane in found}, notes)
    every = sorted([*found, *aligned.lanes], key=lambda lane: (lane.sample, lane.unit, lane.files))
    return replace(aligned, lanes=tuple(every))


def _usable(found: Sequence[Lane], pipeline: str, notes: Notes) -> Iterator[Lane]:
    """The lanes that the pipeline takes."""
    for lane in found:
        if lane.is_alignment and pipeline == "tuxedo":
            notes.leave_out("alignments: RNA-Seq begins with FASTQ", lane.files)
        else:
            yield lane


def _grid(cohort: NewCohort) -> Grid:
    """The samples, or the first of many."""
    its: dict[str, list[Lane]] = {}
    for lane in cohort.lanes:
        its.setdefault(lane.sample, []).append(lane)
    rows = []
    for sample, lanes_of_it in list(its.items())[:MOST_SHOWN]:
        files = [path for lane in lanes_of_it for path in lane.files]
        units = some([lane.unit for lane in lanes_of_it], MOST_UNITS)
        rows.append((sample, units, str(len(files)), str(files[0])))
    more = len(its) - len(rows)
    notes = (f"and {counted(more, 'more sample')}",) if more else ()
    return Grid("", ("sample", "units", "files", "the first of them"), (group(rows),), notes, numeric=False)
