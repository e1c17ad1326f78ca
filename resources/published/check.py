"""Recompute every printed total and genomes-a-day figure from its own rows, and print those that do not follow.

    python resources/published/check.py

What rounding explains is let pass (gpd/published/figures.py). The exit code is 0 all the same.
"""

from gpd.published import curves, figures


def main() -> None:
    runs = figures.read()
    for note in (note for run in runs for note in curves.notes(run)):
        print(note)
    followed = [figure.follows for figure in figures.figures(runs)].count(True)
    print(f"{followed} of {sum(len(run.printed) for run in runs)} printed figures follow from the steps' hours")


if __name__ == "__main__":
    main()
