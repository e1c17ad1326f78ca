"""How many nodes a number of genomes takes: laws of steps, a simulated node, and what follows from them."""
