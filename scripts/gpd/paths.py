"""Where the parts of the repository are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
