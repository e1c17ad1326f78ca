"""Write what `gpd size` says of the published figures and of the recorded study beside this file, as Markdown.

    python tests/golden/size/record.py

Look at the differences before they are recorded. Few models are drawn anew, so that it takes seconds.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import recorded_studies

from gpd.commands import size, size_display
from gpd.published import figures
from gpd.sizing import published, sources
from gpd.sizing.needs import Asked

HERE = Path(__file__).parent
REDRAWS = 4
ASKED = Asked(genomes_per_week=200, depth=30, deadline_h=48, nodes=4, carbon_g_per_kwh=300)


def texts() -> dict[str, str]:
    """The files by their names."""
    size.REDRAWS = REDRAWS
    runs = figures.read()
    errors = {"steps": published.errors(published.held_out(runs, published.STEPS_FAMILY))}
    cited = sources.core_hours(runs)

    def text(given: size.Given) -> str:
        needs = size.answer(ASKED, given)
        return size_display.to_markdown(size_display.Shown(needs, errors, cited))

    return {
        "published.md": text(size.Given((), (), None, "4", None, 1)),
        "study.md": text(size.Given((recorded_studies.study(),), (), "100", None, None, 1)),
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
