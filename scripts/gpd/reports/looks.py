"""What tells lines and steps of a figure apart: colours, hatches, markers, and the key of steps. Pure."""

from collections.abc import Iterable, Mapping

from matplotlib.patches import Patch

# Okabe and Ito's palette (Color Universal Design, 2008) and a grey: told apart by the colour-blind too. Those that
# run longest are furthest apart; what stands in for the recalibration of variants is hatched besides.
STEP_LOOKS: Mapping[str, tuple[str, str]] = {
    "map_and_sort": ("#0072B2", ""),
    "mark_duplicates": ("#56B4E9", ""),
    "realigner_targets": ("#999999", ""),
    "realign_indels": ("#404040", ""),
    "base_recalibration": ("#F0E442", ""),
    "haplotype_caller": ("#E69F00", ""),
    "genotype_gvcfs": ("#009E73", ""),
    "hard_filter": ("#CC79A7", "////"),
    "variant_recalibration": ("#CC79A7", ""),
    "apply_variant_recalibration": ("#D55E00", ""),
    "train_variant_annotations": ("#CC79A7", "...."),
    "score_variant_annotations": ("#D55E00", "...."),
    "align": ("#0072B2", ""),
    "assemble": ("#56B4E9", ""),
    "merge": ("#999999", ""),
    "quantify": ("#E69F00", ""),
    "differential_expression": ("#009E73", ""),
    "visualize": ("#CC79A7", ""),
}
DARK = {"#0072B2", "#404040", "#D55E00", "#009E73"}  # white can be read on these, black on the others
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040", "#999999")
GREYS = ("#4d4d4d", "#7a7a7a", "#a0a0a0")
HATCHES = ("", "////", "....", "xx")
MARKERS = "os^Dv<>p"
DASHES = ("-", "--", ":", "-.")


def look(step: str, numbers: Mapping[str, str]) -> tuple[str, str]:
    """A step's colour and hatch; where steps are others than ours by its place among them."""
    if numbers.keys() <= STEP_LOOKS.keys():
        return STEP_LOOKS[step]
    at = list(numbers).index(step)
    return LINES[at % len(LINES)], HATCHES[at // len(LINES) % len(HATCHES)]


def ink(colour: str) -> str:
    return "#ffffff" if colour in DARK else "#000000"


def step_key(steps: Iterable[str], numbers: Mapping[str, str]) -> tuple[list, list[str]]:
    looks = [(step, *look(step, numbers)) for step in steps]
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="#fff", linewidth=0.6) for _, colour, hatch in looks]
    return handles, [f"{numbers[step]} {step}" for step, *_ in looks]
