"""What is wrong with a run's inputs, all of it: the files that its configuration and tables name, and what lies there.

The workflow loads this file by its path, and hands it `script`, which loads others by theirs.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# where each pipeline alone puts files of samples, those of each sample in the last one
FOLDERS = {"germline": ("map_and_sort", "take_alignment", "mark_duplicates"), "tuxedo": ("quantify", "align")}
GENES = {"annotation": "results/reference/genes.gtf", "mask": "results/reference/mask.gtf"}  # as an earlier run made it

Script = Callable[[str], ModuleType]
Warn = Callable[[str], object]


def errors(
    cohort: Any, script: Script, place: Callable[[str], str], index_endings: Iterable[str], warn: Warn
) -> list[str]:
    """A line for each error of the cohort that the tables' checks read; `warn` is called with each warning.

    `place` says where results lie, and `index_endings` are those of the mapper's files.
    """
    if not_here := not_fetched(cohort.addresses):
        return not_here
    found = script("checks/inputs.py").check(
        cohort.config,
        cohort.units,
        cached_fai=place("results/reference/genome.fa.fai"),
        index_endings=index_endings,
        warn=warn,
        sex_contigs=script("quality/figures.py").sex_contigs,
    )
    if cohort.config["pipeline"] == "tuxedo" and not cohort.errors:
        found += experiment_errors(cohort, script, place, warn)
    if cohort.config["pipeline"] == "germline" and cohort.config["annotation"]:
        found += gene_errors(cohort.config, script, place)
    if not_trimmed := untrimmed(cohort):
        warn(f"config: trim: units that name a bam are not trimmed: {named(not_trimmed)}")
    if others := strangers(cohort, place):
        warn(
            f"{place('results/')} has results of samples that the tables do not name, and leaves them: " + named(others)
        )
    return found + no_folders(map(place, ("results/", "logs/"))) + mixture(cohort.config["pipeline"], place)


def not_fetched(addresses: Mapping[str, str]) -> list[str]:
    """Files that are named by addresses and are not here; the others can't be held against them."""
    missing = [address for file, address in addresses.items() if not Path(file).exists()]
    return [f"{address} is not here yet: gpd fetch brings it and all others" for address in missing]


def untrimmed(cohort: Any) -> list[str]:
    """The units that are to be trimmed, and are not."""
    rows = (row for lanes in cohort.units.values() for row in lanes.values() if row["bam"])
    return [f"{row['sample_name']} {row['unit_name']}" for row in rows] if cohort.config["trim"] != "none" else []


def no_folders(paths: Iterable[str]) -> list[str]:
    """The errors where a file has the name of a folder that a run writes to."""
    files = [path for path in map(Path, paths) if path.exists() and not path.is_dir()]
    return [f"{path} is no folder, and a run writes there: remove or rename it" for path in files]


def strangers(cohort: Any, place: Callable[[str], str]) -> list[str]:
    """Samples that have results here, and are in none of the tables."""
    known = {*cohort.units, *(row["sample_name"] for row in cohort.left_out)}
    found = Path(place(f"results/{FOLDERS[cohort.config['pipeline']][-1]}"))
    return sorted({path.stem for ending in ("txt", "json") for path in found.glob(f"*.{ending}")} - known)


def named(names: Sequence[str]) -> str:
    """The first of them."""
    return ", ".join(names[:3]) + ", ..." * (len(names) > 3)


def mixture(pipeline: str, place: Callable[[str], str]) -> list[str]:
    """The error where another pipeline's results lie: genome, statistics and page of both would have the same names."""
    folders = [place(f"results/{name}") for other in FOLDERS.keys() - {pipeline} for name in FOLDERS[other]]
    full = [path for path in folders if Path(path).is_dir() and any(os.scandir(path))]
    advice = f"run {pipeline} in another folder (--directory), or remove them"
    return [f"config: pipeline: {path} has another pipeline's results: {advice}" for path in full[:1]]


def experiment_errors(cohort: Any, script: Script, place: Callable[[str], str], warn: Warn) -> Iterator[str]:
    """Of conditions and genes."""
    config, design = cohort.config, script("tuxedo/design.py")
    conditions = design.conditions(cohort.units, cohort.samples)
    wrong = design.errors(config, cohort.units, conditions, cohort.left_out, place("results/quantify/"))
    yield from wrong
    if not config["annotation"]:
        yield "config: annotation: missing: the tuxedo pipeline needs the genes, as GTF or GFF3"
    for key in GENES:
        if config[key]:
            yield from annotation_errors(config, key, script, place, warn)
    for warning in design.warnings(config, conditions) if not wrong else ():
        warn(warning)


def gene_errors(config: Mapping, script: Script, place: Callable[[str], str]) -> Iterator[str]:
    """Of the genes that consequences are told by."""
    inputs, path = script("checks/inputs.py"), config["annotation"]
    contigs, unread = inputs.read_reference(config["reference"], place("results/reference/genome.fa.fai"))
    fault = inputs.path_fault(path) or (not unread and script("germline/gene_models.py").fault(path, contigs))
    if fault:
        yield f"config: annotation {path} {fault}"


def annotation_errors(
    config: Mapping, key: str, script: Script, place: Callable[[str], str], warn: Warn
) -> Iterator[str]:
    """Of the annotation of a key, unless an earlier run has made its own of it."""
    annotation, path, made = script("tuxedo/annotation.py"), Path(config[key]), Path(place(GENES[key]))
    if made.exists() and path.exists() and made.stat().st_mtime >= path.stat().st_mtime:
        return
    where = f"config: {key} {path}"
    try:
        found = annotation.read(config[key])
    except annotation.AnnotationError as error:
        yield f"{where} {error}"
        return
    if key == "mask" and found.format != "GTF":
        yield f"{where} is {found.format}: give GTF (gffread -T makes it)"
        return
    inputs, reference = script("checks/inputs.py"), config["reference"]
    contigs, unread = inputs.read_reference(reference, place("results/reference/genome.fa.fai"))
    wrong, warnings = annotation.compare(found, contigs, reference["fasta"]) if not unread else ([], [])
    if key == "annotation" and config["assembly"] == "reference_only" and not found.has_starts:
        warnings.append(script("tuxedo/design.py").WITHOUT_STARTS)
    yield from (f"{where} {error}" for error in wrong)
    for warning in warnings if not wrong else ():
        warn(f"{where} {warning}")
