"""The pages of docs/ that are made from the project's own files: `python -m documentation` writes them."""

from pathlib import Path

from documentation import evidence, reference
from documentation.pages import DOCS, ROOT


def everything() -> dict[Path, str]:
    """Every generated file, and what it has to hold."""
    made = {"reference": reference.pages(), "evidence": evidence.pages()}
    pages = {DOCS / folder / f"{name}.md": text for folder, found in made.items() for name, text in found.items()}
    readme = ROOT / "README.md"
    return pages | {readme: evidence.with_figures(readme.read_text(encoding="utf-8"))}
