"""The documents that are made from the project's own files: `python -m documentation` writes them."""

from pathlib import Path

from documentation import evidence_pages, reference, registry_pages
from documentation.pages import DOCS


def everything() -> dict[Path, str]:
    """Every generated page, every other that shows recorded output, and what they have to hold."""
    made = {"reference": reference.pages() | registry_pages.pages(), "evidence": evidence_pages.pages()}
    pages = {DOCS / folder / f"{name}.md": text for folder, found in made.items() for name, text in found.items()}
    return pages | evidence_pages.examples()
