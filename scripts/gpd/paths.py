"""Where the parts of the repository are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PINNED = (
    ROOT / "scripts" / "snakemake-executor-plugin-pinned" / "snakemake_executor_plugin_pinned"
)  # Snakemake's executor
