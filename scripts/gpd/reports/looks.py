"""What tells lines and steps of a figure apart: colours, hatches, markers, and the key of steps. Pure."""

from collections.abc import Iterable, Mapping

from matplotlib.patches import Patch

# Okabe and Ito's palette (Color Universal Design, 2008) and a grey: told apart by the colour-blind too.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040", "#999999")
DARK = {"#0072B2", "#404040", "#D55E00", "#009E73"}  # white can be read on these, black on the others
GREYS = ("#4d4d4d", "#7a7a7a", "#a0a0a0")
HATCHES = ("", "////", "....", "xx")
MARKERS = "os^Dv<>p"
DASHES = ("-", "--", ":", "-.")


def look(step: str, numbers: Mapping[str, str]) -> tuple[str, str]:
    """A step's colour and hatch, by its place among the steps of its pipeline."""
    at = list(numbers).index(step)
    return LINES[at % len(LINES)], HATCHES[at // len(LINES) % len(HATCHES)]


def ink(colour: str) -> str:
    return "#ffffff" if colour in DARK else "#000000"


def step_key(steps: Iterable[str], numbers: Mapping[str, str]) -> tuple[list, list[str]]:
    looks = [(step, *look(step, numbers)) for step in steps]
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="#fff", linewidth=0.6) for _, colour, hatch in looks]
    return handles, [f"{numbers[step]} {step}" for step, *_ in looks]
