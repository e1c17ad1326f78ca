"""Slurm, asked through its own commands."""
