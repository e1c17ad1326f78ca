"""Pages that the lab writes, read back: their elements, and what a reader sees of their text."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img"}
INLINE = {"b", "code", "small", "span"}
UNSEEN = {"style", "svg"}


class Page(HTMLParser):
    """Elements in order, as (tag, attributes); fails where one is not closed.

    `text`: a line for each paragraph and each row of a table, whose runs stand between `|`; figures are left out.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.feed(page)
        assert not self.open

    @property
    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self.parts).replace("\0", "\n").split("\n"))
        return "\n".join(line for line in lines if line)

    def _break(self, tag: str) -> None:
        in_row = "tr" in self.open and tag != "tr"
        self.parts.append(" " if tag in INLINE or in_row else "\0")

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._break(tag)
        if tag in ("th", "td"):
            self.parts.append("|")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self._break(tag)

    def handle_data(self, data):
        if not UNSEEN & set(self.open):
            self.parts.append(" ".join(f" {data} ".split("\n")) if not data.isspace() else " ")


def text_of(page: str) -> str:
    return Page(page).text


def row(text: str, head: str) -> list[str]:
    """The runs of the first row of a table that starts with this head, which a number may stand before."""
    rows = ([spec.strip() for spec in line[1:].split("|")] for line in text.splitlines() if line.startswith("|"))
    return next(specs[1:] for specs in rows if specs[0] == head or specs[0].partition(" ")[2] == head)
