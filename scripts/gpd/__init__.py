"""Genomes per Day: the lab that runs the workflows of this repository and measures them."""
