"""What results are made of besides the text of their rules: the user's files, and scripts of ours.

Snakemake sees an input that is newer than a result. It sees no older file that took the place of an input, and nothing
of a script that a command calls. Parameters tell it of both (rules/made_of.smk, `scripts` in rules/common.smk).
"""

import ast
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

ENDS = 1 << 16  # bytes that are read of each end of a large file


class SeenFiles:
    """The files that a folder's runs saw under each name: the first one, and the last one.

    The notes are lines of JSON: name, state, digest. A file whose state is as it was last is not read again.
    Reading and planning change none of them: a run writes them before its first job.
    """

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        self.unwritten: list[str] = []
        self.first: dict[str, str] = {}
        self.last: dict[str, tuple[list[int], str]] = {}
        for line in notes.read_text(encoding="utf-8", errors="replace").splitlines() if notes.exists() else ():
            with suppress(ValueError, TypeError):  # a line that a full disk cut off
                self._take(*json.loads(line))

    def others(self, names: Iterable[str]) -> str:
        """Names and digests of those that are not the first seen under their names; what is no file yet is left out.

        So what was made before files were noted stays current.
        """
        found = {name: self._digest(name) for name in names if Path(name).is_file()}
        return ", ".join(f"{name} {found[name]}" for name in found if found[name] != self.first[name])

    @functools.cache  # noqa: B019 - one for the process
    def _digest(self, name: str) -> str:
        status = Path(name).stat()
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        known, found = self.last.get(name, (None, ""))
        if state != known:
            found = digest(Path(name))
            self._take(name, state, found)
            self.unwritten.append(json.dumps([name, state, found]) + "\n")
        return found

    def write(self) -> None:
        """Add to the notes what was seen since they were read."""
        if not self.unwritten:
            return
        # a full disk: the next run reads the files again
        with suppress(OSError):
            self.notes.parent.mkdir(parents=True, exist_ok=True)
            with self.notes.open("a", encoding="utf-8") as file:
                file.writelines(self.unwritten)
        self.unwritten.clear()

    def _take(self, name: str, state: Any, found: str) -> None:
        self.first.setdefault(name, found)
        self.last[name] = (state, found)


def digest(path: Path) -> str:
    """Of the size and both ends; of FASTA all, which keeps its size whatever its bases are."""
    taken = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(ENDS)
        taken.update(b"%d\n%b" % (size, head))
        if not (head.startswith(b">") and head.isascii()):
            file.seek(max(ENDS, size - ENDS))
        while part := file.read(1 << 20):
            taken.update(part)
    return taken.hexdigest()


def script_digest(path: Path) -> str:
    """Of a script's text, of Python's without comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    with suppress(SyntaxError):  # it is no Python
        text = code(text)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def code(text: str) -> str:
    """The lines of Python that do something; what differs in the others alone makes the same results."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    words = [
        node.body[0] for node in statements(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node)
    ]
    left_out = {number for word in words for number in range(word.lineno, word.end_lineno + 1)}
    lines = [line for number, line in enumerate(text.splitlines(), 1) if number not in left_out]
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all statements below it; ast.walk() looks into expressions, too, for four times as long."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, name, ()):
            yield from statements(each)
