"""How many nodes a number of genomes takes: what was measured of a machine, and what follows from it."""
