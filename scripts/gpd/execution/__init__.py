"""Runs of Snakemake: started, followed, locked and interrupted."""
