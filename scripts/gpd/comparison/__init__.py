"""Studies side by side, where they can be compared."""
