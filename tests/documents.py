"""Markdown documents as tests read them: their prose in sentences, headings, links, fenced blocks and commands."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from conftest import ROOT

from documentation.pages import is_generated, slug

FOLDERS = ("config", "docs", "profiles", "resources", "scripts", "tests", "workflow")
NO_DOCUMENTS = ("docs/_build", "tests/golden")  # the site that was built, and recorded results
FENCE = re.compile(r"^ *(```+|~~~+)[ ]*\{?([\w.-]*)[^\n]*\n(.*?)^ *\1 *$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
INLINE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?[^)]*\)")
ENDS = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<=[.!?])[\"')\]*_]*\s+")
SHELLS = ("sh", "bash", "shell")
OPERATORS = re.compile(r"[|&;<>()]+")


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, and what is in it."""

    language: str
    text: str


@dataclass(frozen=True)
class Document:
    """A Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def size(self) -> int:
        return len(self.text.encode())

    @property
    def is_generated(self) -> bool:
        return is_generated(self.text)

    @cached_property
    def fences(self) -> list[Fence]:
        return [Fence(found[2], found[3]) for found in FENCE.finditer(self.text)]

    @cached_property
    def without_fences(self) -> str:
        return COMMENT.sub("", FENCE.sub("\n", self.text))

    @cached_property
    def without_code(self) -> str:
        """What a reader reads as words: neither blocks nor names in the program's own letters."""
        return INLINE.sub("code", self.without_fences)

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The words of each sentence of running text and lists; headings and tables are none."""
        return [
            words
            for block in self._blocks()
            for sentence in ENDS.split(block)
            if (words := [word for word in sentence.split() if re.search(r"\w", word)])
        ]

    def _blocks(self) -> Iterator[str]:
        """Paragraphs and items of lists, each on one line."""
        lines = []
        for line in self.without_code.splitlines():
            line = re.sub(r"^[ >]+", "", line)
            if re.match(r"[|#]|:::|-{3,}$|<", line):
                line = ""
            elif re.match(r"([-*+]|\d+\.) ", line):
                lines.append("")
            lines.append(line)
        for is_text, group in groupby(lines, bool):
            if is_text:
                text = re.sub(r"^([-*+]|\d+\.) ", "", " ".join(group))
                yield re.sub(r"!\[[^\]]*\]\([^)]*\)", "", re.sub(r"(?<!!)\[([^\]]*)\]\([^)]*\)", r"\1", text))

    @cached_property
    def anchors(self) -> set[str]:
        """What a link may end in: each heading, as GitHub and MyST name it, and targets that are written out."""
        found: list[str] = []
        for heading in re.findall(r"^#+ +(.+?) *$", self.without_fences, re.MULTILINE):
            name = slug(re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading))
            found.append(f"{name}-{found.count(name)}" if name in found else name)
        return {*found, *re.findall(r"^\(([\w-]+)\)=$|<a (?:id|name)=\"([\w-]+)\"", self.without_fences, re.MULTILINE)}

    @property
    def links(self) -> list[str]:
        return LINK.findall(self.without_code)

    @property
    def commands(self) -> list[list[str]]:
        """Commands of our programs, as words: lines of shell blocks, and code within the text."""
        lines = [line for fence in self.fences for line in _command_lines(fence)]
        lines += [" ".join(code.split()) for _, code in INLINE.findall(self.without_fences)]
        return [words for line in lines for words in _commands(line) if words[0] in ("gpd", "make", "snakemake")]


def _command_lines(fence: Fence) -> list[str]:
    lines = fence.text.replace("\\\n", " ").splitlines()
    if fence.language in SHELLS:
        return lines
    return [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]


def _commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, without variables before them and without what goes to files."""
    if not re.search(r"\b(gpd|make|snakemake) ", line) or re.search(r"…|\.\.\.|\[", line):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # prose in the letters of code
        return
    for is_operator, group in groupby(words, lambda word: bool(OPERATORS.fullmatch(word))):
        found = list(group)
        while found and re.fullmatch(r"[A-Z_]+=.*", found[0]):
            del found[0]
        if not is_operator and len(found) > 1:
            yield found


def documents() -> list[Document]:
    """Every document of the project."""
    paths = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    names = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return [Document(path) for name, path in sorted(names.items()) if not name.startswith(NO_DOCUMENTS)]
