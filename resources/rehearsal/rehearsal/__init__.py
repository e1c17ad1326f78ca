"""Simulates a genome of human size, and samples of it, for `make rehearsal`."""
