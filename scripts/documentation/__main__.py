"""Write every generated page and drawing of docs/ anew.

    python -m documentation

tests/unit/test_docs.py fails where a committed file differs from what would be written.
"""

from documentation import drawings, everything, rules
from documentation.pages import DOCS

of_rules = {DOCS / "reference" / f"{name}.md": text for name, text in rules.pages().items()}
for path, text in {**everything(), **of_rules}.items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
drawings.write()
