"""`python -m gpd`."""

from gpd.cli import app

app(prog_name="gpd")
