"""What results are made of besides the text of their rules: the user's files, and scripts of ours.

Snakemake sees an input that is newer than a result. It sees no older file that took the place of an input, and nothing
of a script that a command finds through the environment. Parameters tell it of both (rules/made_of.smk).
"""

import ast
import functools
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

ENDS = 1 << 16  # bytes that are read of each end of a large file
# Digests of the scripts with which results were made before Snakemake was told of them: those stay current with these.
# The new digest of one whose change makes no other results belongs here, too.
KNOWN_SCRIPTS = {
    "95534cdb187a352a",
    "397be296616a93bc",
    "81f7f44d395542cd",
    "127470119e0375c5",
    "b993776820010127",
    "29d6c99b61541c0d",
    "a4a727fce17a7bf2",
    "92a3b69786564f16",
    "03065534080de7b3",
    "72b480a2d20ff175",
    "f8a82a803a3284c0",
    "8453d66221c38741",
    "96f3c9ffba9c5414",
    "1daadb12d01d6a74",
    "46cbe9d99d99777b",
    "9c513e7499777199",
    "c1638320505ad1ec",
    "2746cf469d089e91",
    "b506c4d314a84681",
    "a10d32a2123f43d1",
    "3d739f8215b1dbe9",
    "3816f760623f4f00",
    "ac6f6dcf1700fbb7",  # intervals/joint_calling.py, which takes the number of samples into account
}


class SeenFiles:
    """The files that a folder's runs saw under each name: the first one, and the last one.

    The notes are lines of JSON: name, state, digest. A file whose state is as it was last is not read again.
    """

    def __init__(self, notes: Path) -> None:
        self.notes = notes
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
            # a full disk: it is read again by the next run
            with suppress(OSError), self.notes.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, state, found]) + "\n")
        return found

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
    """Of a script's text, of Python's without comments and docstrings; "" where it is one of KNOWN_SCRIPTS."""
    text = path.read_text(encoding="utf-8")
    with suppress(SyntaxError):  # it is no Python
        text = code(text)
    found = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return "" if found in KNOWN_SCRIPTS else found


def code(text: str) -> str:
    """The lines of Python that do something; what differs in the others alone makes the same results."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    words = [
        node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node)
    ]
    left_out = {number for word in words for number in range(word.lineno, word.end_lineno + 1)}
    lines = [line for number, line in enumerate(text.splitlines(), 1) if number not in left_out]
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
