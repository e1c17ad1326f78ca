"""Write every generated page of docs/ anew, the drawings, and the figures between markers in README.md.

    python -m documentation

tests/unit/test_docs.py and tests/workflow/test_drawings.py fail where a committed file is another than would be.
"""

from documentation import drawings, everything

for path, text in (everything() | dict(drawings.drawings())).items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
