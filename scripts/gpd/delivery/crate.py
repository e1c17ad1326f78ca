"""RO-Crate metadata of what is handed on: its files, and the software that made them, for machines."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from rocrate.model.softwareapplication import SoftwareApplication
from rocrate.rocrate import ROCrate

from gpd.delivery.methods import read_tools

FORMATS = {  # media types by the end of a name
    **{".vcf.gz": "application/gzip", ".gz": "application/gzip", ".bam": "application/octet-stream"},
    **{".html": "text/html", ".tsv": "text/tab-separated-values", ".md": "text/markdown", ".yaml": "application/yaml"},
    **{".png": "image/png", ".pdf": "application/pdf"},
}


def write(folder: Path, files: Iterable[Path], pipeline: str, versions: Mapping[str, str | None]) -> None:
    """Write ro-crate-metadata.json into `folder`; `files` are relative to it."""
    crate = ROCrate()
    crate.name = f"Results of the {pipeline} workflow of Genomes per Day"
    crate.description = "How they were made: methods.md, settings.yaml and versions.tsv."
    for path in files:
        crate.add_file(folder / path, path.as_posix(), properties=_properties(folder / path))
    named = {command: tool.name for command, tool in read_tools().items()} | {"gpd": "Genomes per Day"}
    made_with = [
        crate.add(SoftwareApplication(crate, f"#{command}", {"name": named.get(command, command), "version": version}))
        for command, version in versions.items()
        if version
    ]
    crate.root_dataset["softwareRequirements"] = made_with
    crate.metadata.write(folder)


def _properties(path: Path) -> dict[str, str]:
    ending = next((end for end in FORMATS if path.name.endswith(end)), "")
    size = {"contentSize": str(path.stat().st_size)}
    return size | ({"encodingFormat": FORMATS[ending]} if ending else {})
