"""Write every generated page and drawing of docs/ anew.

    python -m documentation

tests/unit/test_docs.py fails where a committed file differs from what would be written.
"""

from documentation import drawings, everything

for path, text in everything().items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
drawings.write()
