"""What tests of any input share: documents that are nearly right, and how each has to end: in a result or clear lines.

Each target is one kind of input. `make test-fast` tries a few of each, `make test-faults` MANY in all.
"""

import copy
import json
import math
import os
import random
import re
import signal
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

FEW = 15  # of each kind
MANY = 10_000  # of all kinds together
LONGEST_S = 60  # an input that takes longer hangs
LONGEST_LINE = 10_100
SEED = "GPD_FUZZ_SEED"
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")

TEXTS = (
    *("", " ", "yes", "no", "null", "~", "NaN", "-1", "1e400", "0x10", "1_000", "2026-02-31", "1:2:3", "!!int x"),
    *(
        "a\nb",
        "a\tb",
        "a\r\n",
        "\0",
        "\x1b[2J\x1b]0;x\x07",
        "\x9b31m",
        "\u2028",
        "\u202e",
        "\ufeff",
        "é",
        "名",
        "\U0001f9ec",
    ),
    *("--help", "-rf", "; touch x", "$(touch x)", "`touch x`", "'", '"', "\\", "{sample}", "{", "%s", "|", "*"),
    *("../../x", "/etc/passwd", ".", "..", "<script>", "[/red]", "[bold]x", "S1", "cohort"),
    *("a" * 300, "a" * 5000, "ab" * 3000, "1" * 5000),
)
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 2.0, 0.5, -0.0, 1e300, -1e300, math.nan, math.inf, 2**31, 2**63, 2**64, 10**30),
    *([], {}, [[]], [None], [1, 1], {"a": 1}, [{}], {"": ""}, date(2026, 1, 31), b"\xff\xfe"),
)
YAML = (
    *("a: !!python/object/apply:os.system [touch fuzzed]", "b: 2026-02-31", "c: !!int x", "d: !!bool x"),
    *("e: !!timestamp x", "f: &f [*f]", "g: &g {h: *g}", "<<: 3", "? [a]\n: b", "1: 2", "true: 1", "null: 1"),
    *("2026-01-31: 1", "k: .nan", "l: .inf", "m: " + "9" * 5000, "n: " + "[" * 400, "n: " + "[" * 60 + "]" * 60),
    *("o: !!binary '%%'", "p: !!set {a, b}", "%YAML 9.9", "--- \n...\n---\n", "q: !x y", "r: *unknown", "\t- s"),
    *("t: 'unended", "'u': {v: [w, {x: [y]}]}"),
    "z0: &z0 [x, x]\n" + "\n".join(f"z{n}: &z{n} [{', '.join([f'*z{n - 1}'] * 9)}]" for n in range(1, 10)),
)
UNHEALTHY = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


@dataclass(frozen=True)
class Target:
    """A kind of input: its strategy, what is done with one, how many of MANY it has, and inputs that failed once."""

    name: str
    inputs: st.SearchStrategy
    judge: Callable[[Any], Iterable[str]]
    share: float
    once_failed: tuple[Any, ...] = ()

    def fuzz(self, count: int) -> int:
        """Hold so many inputs, and all that failed once, against the rule; return how many were tried."""
        tried = 0

        def holds(document: Any) -> None:
            nonlocal tried
            tried += 1
            with within(LONGEST_S):
                clear(self.judge(document))

        for document in self.once_failed:
            holds = example(document)(holds)
        bounds = {"deadline": None, "database": None, "suppress_health_check": UNHEALTHY}
        bounded = settings(max_examples=count, derandomize=count <= FEW, **bounds)(given(self.inputs)(holds))
        if count <= FEW and SEED not in os.environ:
            bounded()
            return tried
        drawn = int(os.environ.get(SEED) or random.SystemRandom().getrandbits(32))
        try:
            seed(drawn)(bounded)()
        except BaseException as error:
            error.add_note(f"{self.name}: {SEED}={drawn} in the environment of the test gives the same inputs again")
            raise
        return tried


def clear(lines: Iterable[str]) -> None:
    """Errors are lines that can be printed, and none of them is a traceback."""
    for line in lines:
        assert line.strip(), "an error without a word"
        assert not CONTROL.search(line), repr(line)
        assert len(line) <= LONGEST_LINE, f"{len(line)} characters: {line[:200]}"
        assert "Traceback" not in line, line


@contextmanager
def within(seconds: float):
    """Fail where it takes longer."""

    def hangs(*_: object) -> None:
        raise AssertionError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- documents --------------------------------------------------------------------------------------

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=20))
values = st.one_of(st.sampled_from(VALUES).map(copy.deepcopy), texts, st.integers(), st.floats())


@st.composite
def nearly(draw: Callable, documents: tuple[Any, ...]) -> Any:
    """One of the documents, in which up to three places hold something else, are gone, or have another beside them."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(0, 3))):
        place = document
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place, key=str) if isinstance(place, dict) else range(len(place))))
            if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
                place = place[key]
                continue
            change(draw, place, key)
            break
    return document


def change(draw: Callable, place: Any, key: Any) -> None:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place[draw(texts)] = draw(values)
    elif kind == 2:
        place[key] = nested(place[key], draw(st.sampled_from((1, 20, 200))))
    elif kind == 3 and isinstance(place, list):
        place += [place[key]] * draw(st.sampled_from((1, 3)))
    else:
        place[key] = draw(values)


def nested(value: Any, levels: int) -> Any:
    for level in range(levels):
        value = [value] if level % 2 else {"x": value}
    return value


@st.composite
def as_json(draw: Callable, documents: st.SearchStrategy) -> bytes:
    """JSON of a document, its text perhaps changed, too."""
    text = json.dumps(draw(documents), default=str)
    return spoilt(draw, text)


@st.composite
def as_yaml(draw: Callable, documents: st.SearchStrategy) -> bytes:
    """YAML of a document, perhaps with lines that nobody would write, its text perhaps changed, too."""
    text = yaml.safe_dump(draw(documents), allow_unicode=draw(st.booleans()))
    lines = [text, *draw(st.lists(st.sampled_from(YAML), max_size=2))]
    return spoilt(draw, "\n".join(draw(st.permutations(lines)) if len(lines) > 1 else lines))


@st.composite
def as_table(draw: Callable, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> bytes:
    """A table of tabs, perhaps with other columns, runs and separators, its text perhaps changed, too."""
    lines = [list(header), *map(list, rows)]
    for _ in range(draw(st.integers(0, 3))):
        line = draw(st.sampled_from(lines))
        at = draw(st.integers(0, len(line) - 1))
        match draw(st.integers(0, 7)):
            case 0:
                line.insert(at, draw(texts))
            case 1 if len(line) > 1:
                del line[at]
            case 2:
                lines.append(list(line))
            case 3:
                line[at] = line[draw(st.integers(0, len(line) - 1))]
            case _:
                line[at] = draw(texts)
    separator = draw(st.sampled_from(("\t",) * 9 + (",", " ", "\t\t")))
    return spoilt(draw, "\n".join(map(separator.join, lines)) + "\n")


def spoilt(draw: Callable, text: str) -> bytes:
    """Text as bytes; in one of three cases with another encoding, other line ends, or bytes changed."""
    encoded = text.encode("utf-8", "surrogatepass")
    match draw(st.integers(0, 20)):
        case 0:
            return b"\xef\xbb\xbf" + encoded
        case 1:
            return encoded.replace(b"\n", b"\r\n")
        case 2:
            return text.encode(draw(st.sampled_from(("utf-16", "latin-1", "utf-32"))), "replace")
        case 3:
            return encoded[: draw(st.integers(0, len(encoded)))]
        case 4:
            return encoded + draw(st.binary(max_size=20))
        case 5 | 6:
            at = draw(st.integers(0, len(encoded)))
            return encoded[:at] + draw(st.binary(min_size=1, max_size=4)) + encoded[at + draw(st.integers(0, 4)) :]
        case _:
            return encoded


@st.composite
def changed_bytes(draw: Callable, contents: tuple[bytes, ...]) -> bytes:
    """One of these files, some of its bytes changed, or cut."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(0, 4))):
        if content:
            at = draw(st.one_of(st.integers(0, min(len(content), 64) - 1), st.integers(0, len(content) - 1)))
            content[at] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])
