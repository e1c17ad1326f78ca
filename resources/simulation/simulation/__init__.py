"""Simulates a genome and samples of it, as a design says: for `make rehearsal` and `gpd benchmark`."""
