"""Whether a test misses each argument that the rules' commands have: it is dropped, and the tests of commands run.

    make mutants-rules                                # some 20 minutes
    make mutants-rules MUTANTS_ARGS="haplotype_caller tophat2"

In a copy of the repository an argument of each rule goes at a time, and one of what rules share. The test of a rule
(tests/workflow/test_planned_commands.py) must fail then. Those that no test missed are printed, and the exit code is 1.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/workflow/test_planned_commands.py",)
OF_JVMS = ("tests/workflow/test_gatk3_commands.py", "tests/workflow/test_jvm.py")  # whose options those leave out
SHARED = ""  # what stands outside of rules
HEAD = re.compile(r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:$|^\S", re.MULTILINE)
LITERAL = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'|#[^\n]*", re.DOTALL)
DOCSTRING = re.compile(r"^ *(?:rule|use rule|def) [^\n]*:\n\s*\Z", re.MULTILINE)  # what stands before one
WITHOUT_COMMANDS = {"preflight.smk", "reruns.smk"}  # theirs are a scheduler's, and messages
# an option, with its value where that is no word that may be another argument
OPTION = re.compile(
    r"""(?<![\w$}\]"'+-])--?[A-Za-z][\w-]*(?:[ =](?:\{[^}\n]*\}|"\$[^"\n]*"|[0-9@][\w.@]*|[A-Z][\w=.]*|\w+=\w+))?"""
)


@dataclass(frozen=True)
class Mutant:
    """An argument that is left out of a file."""

    path: str
    rule: str
    start: int
    end: int
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule or 'shared'}: {self.text}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    text = path.read_text()
    heads = [(found.start(), found[1] or SHARED) for found in HEAD.finditer(text)]
    for literal in LITERAL.finditer(text):
        if literal[0].startswith("#") or DOCSTRING.search(text, 0, literal.start()):
            continue
        start = literal.start() + len(re.match("['\"]+", literal[0])[0])
        for option in OPTION.finditer(text[start : literal.end()]):
            at = start + option.start()
            rule = next((rule for begin, rule in reversed(heads) if begin <= at), SHARED)
            line = text.count("\n", 0, at) + 1
            yield Mutant(str(path.relative_to(ROOT)), rule, at, at + len(option[0]), option[0], line)


def rounds(mutants: list[Mutant]) -> Iterator[list[Mutant]]:
    """One argument of each rule at a time, then those that are shared, each alone: any rule may have them."""
    of_rules = defaultdict(list)
    for mutant in mutants:
        of_rules[mutant.path, mutant.rule].append(mutant)
    alone = [mutant for (_, rule), found in of_rules.items() if rule == SHARED for mutant in found]
    own = [found for (_, rule), found in of_rules.items() if rule != SHARED]
    yield from ([mutant for mutant in each if mutant] for each in zip_longest(*own))
    yield from ([mutant] for mutant in alone)


def failed_tests(copy: Path, tests: tuple[str, ...] = TESTS) -> set[str]:
    """The rules whose tests fail in a copy of the repository."""
    places = [copy / "scripts", copy / "scripts/snakemake-executor-plugin-pinned"]
    told = copy / "told.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={told}", *tests],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    cases = ET.parse(told).iter("testcase")
    failed = (
        case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None
    )
    return {name.partition("[")[2].rstrip("]").partition("-")[2] for name in failed}


def survivors(copy: Path, together: list[Mutant]) -> list[Mutant]:
    """Those of a round that no test missed."""
    originals = {mutant.path: (ROOT / mutant.path).read_text() for mutant in together}
    texts = dict(originals)
    for mutant in sorted(together, key=lambda mutant: mutant.start, reverse=True):
        texts[mutant.path] = texts[mutant.path][: mutant.start] + texts[mutant.path][mutant.end :]
    for path, text in texts.items():
        (copy / path).write_text(text)
    failed = failed_tests(copy)
    if not failed and together[0].rule == SHARED:
        failed = failed_tests(copy, OF_JVMS)
    for path, text in originals.items():
        (copy / path).write_text(text)
    return [mutant for mutant in together if mutant.rule not in failed and not (failed and mutant.rule == SHARED)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", help="these rules alone; shared: what stands outside of rules")
    chosen = {rule.replace("shared", SHARED) for rule in parser.parse_args().rules}
    paths = sorted(path for path in (ROOT / "workflow/rules").rglob("*.smk") if path.name not in WITHOUT_COMMANDS)
    found = [mutant for path in paths for mutant in mutants_of(path) if not chosen or mutant.rule in chosen]
    with tempfile.TemporaryDirectory(prefix="gpd-mutants-") as folder:
        copy = Path(folder, "gpd")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "*-run"), symlinks=True)
        if failed := failed_tests(copy):
            sys.exit(f"tests fail without any mutant: {sorted(failed)}")
        left = []
        for together in rounds(found):
            left += (lived := survivors(copy, together))
            print(f"{len(together)} arguments dropped, {len(lived)} survived", *lived, sep="\n  ", flush=True)
    print(f"{len(found)} mutants, {len(left)} survivors")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
