"""Configuration of the documentation's site: `make docs` builds it."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Genomes per Day"
author = PROJECT["authors"][0]["name"]
copyright = author
release = version = PROJECT["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True
highlight_language = "none"  # of blocks that name no language: most are output
smartquotes = False  # `--option` stays two dashes

myst_heading_anchors = 4  # headings are link targets under the names that GitHub gives them
myst_enable_extensions = ["colon_fence", "deflist"]

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["registry.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
